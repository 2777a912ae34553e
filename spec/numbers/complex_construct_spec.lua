-- Every way to make a storage of complex numbers.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local complex = require 'spec.support.complex'
local support = require 'spec.support'
local types = require 'spec.support.types'
local OTHER, PART, text_of = complex.OTHER, complex.PART, complex.text_of

local ffi = support.luajit and require 'ffi'
local path = support.temporary()

after_each(accessors.restore)

local NAMES = { ComplexFloat = { 'complex64', 'cfloat' }, ComplexDouble = { 'complex128', 'cdouble' } }

-- The bytes of the numbers as parts, one after the other.
local function bytes_of(T, ...)
  return torch[PART[T] .. 'Storage']({ ... }):string()
end

for _, access in ipairs(accessors.MODES) do
  for _, T in ipairs(types.COMPLEX) do
    local class, width = torch[T .. 'Storage'], types.WIDTH[T]

    describe(('a %sStorage, by accessors %s,'):format(T, access), function()
      before_each(function()
        torch.accessors(access)
      end)

      it('is made with a size', function()
        assert.equal('', text_of(class()))
        assert.equal('', text_of(class(0)))
        assert.equal('0,0 0,0 0,0', text_of(class(3)))
        assert.equal('0,0 0,0', text_of(class(2.9)))
        assert.equal('0,0 0,0', text_of(class.new(2)))
        assert.equal(5 * width, class(5):nbytes())
        for _, size in ipairs { -1, 0 / 0, 2 ^ 63, true } do
          assert.is_false((pcall(class, size)))
        end
        -- 2^61 elements of 8 or 16 bytes overflow the number of bytes.
        assert.is_false((pcall(class, 2 ^ 60)))
        assert.is_false((pcall(class, 2 ^ 61)))
        -- A complex number is not a size.
        support.fails('number expected, got ' .. (ffi and 'cdata' or 'table'), class(1).resize, class(1), class(1)[1])
      end)

      it('is made from a table of all kinds of elements', function()
        local of_other = torch[OTHER[T] .. 'Storage'] { { 0.5, -0.25 } }
        assert.equal(
          '1,0 2,3 4,-5 6,0 0.5,-0.25',
          text_of(class { 1, { 2, 3 }, { re = 4, im = -5 }, '6', of_other[1] })
        )
        assert.equal('', text_of(class {}))
        assert.equal('1,0', text_of(class { 1, nil }))
        assert.equal('0,1 1,0', text_of(class { { 0, 1 }, { 1, 0 }, x = 5, [7] = 'x' }))
        if ffi then
          local list =
            { ffi.new('complex', 1, 2), ffi.new('complex float', 3, 4), ffi.new('int64_t', 5), ffi.new('uint64_t', 6) }
          assert.equal('1,2 3,4 5,0 6,0', text_of(class(list)))
        end
        -- From the totable of the other complex class, and from its own.
        local long = class(1000)
        for i = 1, 1000 do
          long:set(i, i, 1 - i)
        end
        assert.is_true(class(long:totable()):equal(long))
        assert.is_true(class(torch.ShortStorage({ 5, 6 }):totable()):equal(class { 5, 6 }))
        for index, list in ipairs { { 'x', 1 }, { 1, {} }, { 1, 2, { 'x', 'y' } }, { 1, 2, 3, true } } do
          support.fails(
            ('element %d of the table: number, {re=, im=}, {re, im} or FFI complex expected'):format(index),
            class,
            list
          )
        end
        support.fails(
          'the table is a complex number; a storage of this element is made of a table of it',
          class,
          { re = 1, im = 2 }
        )
        -- The list is read raw: no metamethod is called.
        assert.equal('', text_of(class(setmetatable({}, { __index = error, __len = error }))))
      end)

      it('is made as a view of another', function()
        local s = class { { 1, 2 }, { 3, 4 }, { 5, 6 } }
        local v = class(s, 2)
        assert.equal('3,4 5,6', text_of(v))
        assert.equal('3,4', text_of(class(s, 2, 1)))
        assert.equal('5,6', text_of(s:new(3)))
        assert.equal('5,6', text_of(class(v, 2)))
        assert.equal('', text_of(class(s, 4)))
        v:set(1, 7, 8)
        assert.equal('1,2 7,8 5,6', text_of(s))
        assert.is_true(v:isView())
        s:resize(1000)
        v:set(1, 9, 9)
        assert.equal('7,8', ('%g,%g'):format(s:get(2)))
        assert.equal('9,9 5,6', text_of(v))
        support.fails('out of bounds', class, s, 1002)
        support.fails('out of bounds', class, s, 2, 1000)
        support.fails(
          ('torch.%sStorage expected, got torch.%sStorage'):format(T, OTHER[T]),
          class,
          torch[OTHER[T] .. 'Storage'](1)
        )
        support.fails(
          ('torch.%sStorage expected, got torch.%sStorage'):format(T, PART[T]),
          class,
          torch[PART[T] .. 'Storage'](2)
        )
      end)

      it('is made as a map of a file, private or shared', function()
        local name = support.spit(path 'file', bytes_of(T, 1, 2, 3, 4))
        local private, shared = class(name), class(name, true)
        assert.equal('1,2 3,4', text_of(private))
        private:set(1, 9, 9)
        assert.equal('1,2 3,4', text_of(shared))
        shared[2] = { 5, -5 }
        assert.equal(bytes_of(T, 1, 2, 5, -5), support.slurp(name))
        assert.equal('1,2', text_of(class(name, false, 1)))
        local longer = class(name, true, 3)
        longer:set(3, 0, 7)
        assert.equal(bytes_of(T, 1, 2, 5, -5, 0, 7), support.slurp(name))
        assert.equal('1,2 5,-5 0,7', text_of(class.fromfile(name)))
        assert.equal('1,2', text_of(class.fromfile(name, false, 1)))
        local made = class(path 'new', true, 2)
        made[1] = { 1, 1 }
        assert.equal(bytes_of(T, 1, 1, 0, 0), support.slurp(path 'new'))
      end)

      it('is made as a map with options, from any byte', function()
        local name = support.spit(path 'file', 'xyz' .. bytes_of(T, 1, 2, 3, 4, 5, 6) .. 'end')
        for _, options in ipairs {
          { offset = 3 },
          { offset = 3, readonly = true },
          { offset = 3, shared = true, size = 3 },
        } do
          options.filename = name
          local s = class(options)
          assert.equal('1,2 3,4 5,6', text_of(s))
          assert.equal('3,4', text_of(class(s, 2, 1)))
          -- Also in compiled loops.
          local re, im = 0, 0
          for i = 1, 300 do
            local a, b = s:get(i % 3 + 1)
            local z = s[i % 3 + 1]
            re, im = re + a - z.re + a, im + b - z.im + b
          end
          assert.equal('900 1200', support.joined({ re, im }, ' '))
        end
        local part = class { filename = name, offset = 3 + width / 2, size = 2 }
        assert.equal('2,3 4,5', text_of(part))
        for i = 1, 300 do
          part:set(i % 2 + 1, i, -i)
          part[i % 2 + 1] = { i, -i }
        end
        assert.equal('300,-300 299,-299', text_of(part))
      end)

      it('is made in shared memory with a name', function()
        local name = ('complex-spec-%.0f'):format(torch.pointer {})
        local s = class(name, true, 2, true)
        s:set(2, 3, -4)
        assert.equal('0,0 3,-4', text_of(class(name, true, nil, true)))
        assert.equal(bytes_of(T, 0, 0, 3, -4), torch[PART[T] .. 'Storage'](name, true, nil, true):string())
        local moved = class({ { 1, 2 } }):shareMemory()
        assert.is_true(moved:isShared())
        assert.equal('1,2', text_of(moved))
      end)

      it('is made over foreign memory that is aligned for its parts', function()
        local memory = torch[PART[T] .. 'Storage'] { 0, 1, 2, 3, 4, 5, 6, 7 }
        local base = memory:dataptr()
        -- It starts at a part: aligned to 8 bytes, and for one of the classes not to 16.
        for skipped = 1, 2 do
          local s = class(3, base + skipped * width / 2)
          assert.equal(skipped == 1 and '1,2 3,4 5,6' or '2,3 4,5 6,7', text_of(s))
          local sum = 0
          for i = 1, 300 do
            local z = s[i % 3 + 1]
            sum = sum + z.re - z.im
            s[i % 3 + 1] = z
            s:set(i % 3 + 1, s:get(i % 3 + 1))
          end
          assert.equal(-300, sum)
          local other = torch[OTHER[T] .. 'Storage'](3):copy(s)
          assert.equal(text_of(s), text_of(other))
          assert.equal(text_of(s), text_of(s:clone()))
          assert.equal('0,0 0,0 0,0', text_of(class(3):copy(s):copy(class(3))))
        end
        class(1, memory:data()):set(1, 8, 9)
        assert.equal('8 9', support.joined({ memory[1], memory[2] }, ' '))
        for off = 1, width / 2 - 1 do
          local text = ("address %.0f is not aligned to the element's parts of %d bytes"):format(base + off, width / 2)
          support.fails(text, class, 1, base + off)
        end
        support.fails(('write torch.%sStorage{1, 2}'):format(T), class, 1, 2)
        support.fails('got table', class, 1, { 1, 2 })
        support.fails('expected', class, 1, class(1)[1])
      end)

      it('is made over a string', function()
        local bytes = bytes_of(T, 1, -2, 3, 4)
        assert.equal('1,-2 3,4', text_of(class.fromstring(bytes)))
        local whole = 'not a multiple of the ' .. width .. '-byte element size'
        support.fails(whole, class.fromstring, bytes .. 'x')
        support.fails(whole, class.fromstring, bytes_of(T, 1, 2, 3))
        local s = class.frombuffer(bytes)
        assert.equal('1,-2 3,4', text_of(s))
        assert.is_true(s:isReadOnly())
        for _, name in ipairs(NAMES[T]) do
          for _, dtype in ipairs { name, 'torch.' .. name, class, T .. 'Storage' } do
            local t = torch.frombuffer('xy' .. bytes, { dtype = dtype, offset = 2, count = 2 })
            assert.equal('torch.' .. T .. 'Storage', t:type())
            assert.equal('1,-2 3,4', text_of(t))
          end
        end
        support.fails(whole, torch.frombuffer, bytes .. 'x', { dtype = NAMES[T][1] })
        support.fails('no class', torch.frombuffer, bytes, { dtype = 'complex32' })
      end)

      it('from the other byte order has the bytes of its parts reversed, not its parts swapped', function()
        local bytes = bytes_of(T, 1, -2, 3, 4)
        local turned = bytes:gsub(('.'):rep(width / 2), string.reverse)
        local native = torch.ShortStorage.fromstring('\1\0')[1] == 1 and 'little' or 'big'
        local foreign = native == 'little' and 'big' or 'little'
        for _, dtype in ipairs(NAMES[T]) do
          local s = torch.frombuffer(turned, { dtype = dtype, byteorder = foreign })
          assert.equal('1,-2 3,4', text_of(s))
          assert.equal(bytes, s:string())
          assert.is_false(s:isReadOnly())
          assert.is_true(s:resizable())
          assert.equal('3,4', text_of(class.frombuffer(turned, { byteorder = foreign, offset = width })))
          assert.equal('1,-2 3,4', text_of(torch.frombuffer(bytes, { dtype = dtype, byteorder = native })))
        end
        assert.equal(turned, class.fromstring(bytes):byteswap():string())
      end)

      if ffi then
        it('is made over an FFI array or pointer', function()
          local ctype = T == 'ComplexFloat' and 'complex float' or 'complex'
          local array = ffi.new(ctype .. '[3]')
          for i = 0, 2 do
            array[i] = ffi.new(ctype, i, 0 - i)
          end
          local s = class(3, array)
          assert.equal('0,0 1,-1 2,-2', text_of(s))
          s:set(1, 5, 6)
          assert.equal('5 6', tonumber(array[0].re) .. ' ' .. tonumber(array[0].im))
          assert.equal('1,-1', text_of(class(1, array + 1)))
          assert.equal('2,-2', text_of(class(1, ffi.cast('int64_t', ffi.cast('intptr_t', array + 2)))))
          assert.equal('5,6 1,-1 2,-2', text_of(class.frombuffer(array)))
          support.fails('the array has ' .. 3 * width .. ' bytes', class, 4, array)
          local parts = ffi.new(T == 'ComplexFloat' and 'float[4]' or 'double[4]', 1, 2, 3, 4)
          assert.equal('1,2 3,4', text_of(class(2, parts)))
          -- The array lives as long as the storage.
          local kept = class(100, ffi.new(ctype .. '[100]'))
          for i = 1, 100 do
            kept:set(i, i, i)
          end
          for _ = 1, 50 do
            support.collect()
            local _ = ffi.new(ctype .. '[100]')
          end
          assert.equal('100,100', ('%g,%g'):format(kept:get(100)))
          -- Its own pointer has a C type that the FFI knows.
          local pointer = kept:data()
          assert.is_true(ffi.istype(ffi.typeof(ctype .. ' *'), pointer))
          assert.equal(7, pointer[6].re)
          pointer[6] = ffi.new(ctype, -1, 1)
          assert.equal('-1,1', ('%g,%g'):format(kept:get(7)))
          assert.equal(100, tonumber(kept:cdata().size))
          assert.equal(width, ffi.sizeof(ctype))
          -- A single complex number is not accepted as memory for elements.
          support.fails('expected', class, 1, ffi.new(ctype, 1, 2))
        end)
      end
    end)
  end
end
