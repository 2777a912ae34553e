-- Every method on storages of complex numbers.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local complex = require 'spec.support.complex'
local support = require 'spec.support'
local types = require 'spec.support.types'
local PART, OTHER, text_of = complex.PART, complex.OTHER, complex.text_of

local ffi = support.luajit and require 'ffi'
local path = support.temporary()

after_each(accessors.restore)

local NAN, NEGATIVE = 0 / 0, -1 / (1 / 0)

-- Complex numbers, as Lua represents them, as text.
local function text_of_values(...)
  local elements = {}
  for i = 1, select('#', ...) do
    local z = select(i, ...)
    elements[i] = ('%g,%g'):format(z.re, z.im)
  end
  return table.concat(elements, ' ')
end

for _, access in ipairs(accessors.MODES) do
  for _, T in ipairs(types.COMPLEX) do
    local class, width, Part = torch[T .. 'Storage'], types.WIDTH[T], torch[PART[T] .. 'Storage']
    local Other = torch[OTHER[T] .. 'Storage']
    local s

    describe(('on a %sStorage, by accessors %s,'):format(T, access), function()
      before_each(function()
        torch.accessors(access)
        s = class { { 1, -2 }, { 3, 4 }, { -5, 6 } }
      end)

      it('fill and zero set all elements', function()
        assert.is_true(rawequal(s:fill { 1, 2 }, s))
        assert.equal('1,2 1,2 1,2', text_of(s))
        assert.equal('7,0 7,0 7,0', text_of(s:fill(7)))
        assert.equal('7,0 0,-1 7,0', text_of(s:fill({ re = 0, im = -1 }, 2, 2)))
        assert.equal('7,0 5,0 5,0', text_of(s:fill('5', 2)))
        assert.equal('7,0 0,-1 0,-1', text_of(s:fill(Other({ { 0, -1 } })[1], 2)))
        assert.equal('7,0 0,-1 0,-1', text_of(s:fill({ 9, 9 }, 3, 2)))
        support.fails('out of', s.fill, s, { 1, 1 }, 0, 2)
        support.fails('out of', s.fill, s, { 1, 1 }, 1, 4)
        assert.equal('0,0 0,0 0,0', text_of(s:zero()))
        assert.is_true(rawequal(s:zero(), s))
        for _, size in ipairs { 1, 31, 33, 4097, 2 ^ 18 + 1 } do
          local t = class(size + 2):fill({ 0.5, -0.25 }, 2, size + 1)
          assert.equal('0,0 0.5,-0.25', text_of(class(t, 1, 2)))
          assert.equal('0.5,-0.25 0,0', text_of(class(t, size + 1, 2)))
          local parts = t:view(PART[T] .. 'Storage')
          assert.is_true(class(t, 2, size):equal(class(size):copy(class(size):fill { 0.5, -0.25 })))
          assert.equal(0.5, parts[2 * size + 1])
          assert.equal(-0.25, parts[2 * size + 2])
          assert.equal(0, parts[2 * size + 3])
        end
        -- zero gives +0, and fill with -0 keeps the sign.
        assert.equal(('\0'):rep(3 * width), s:fill({ 1, 1 }):fill(0):string())
        assert.is_false(s:fill({ 0, NEGATIVE }):string() == ('\0'):rep(3 * width))
        -- A Lua number cannot hold every value that fills.
        if ffi then
          assert.equal('9.22337e+18,0', text_of(s:fill(ffi.new('uint64_t', 2 ^ 63)):sub(1, 1)))
        end
      end)

      it('copy and rawcopy copy both parts', function()
        local t = class(5)
        assert.is_true(rawequal(t:copy(s, 2), t))
        assert.equal('0,0 1,-2 3,4 -5,6 0,0', text_of(t))
        assert.equal('0,0 1,-2 3,4 -5,6 3,4', text_of(t:copy(s, 5, 2, 1)))
        assert.equal('0,0 1,-2 3,4 3,0 -5,0', text_of(t:copy(s:double(), 4, 2)))
        assert.equal('1,0', text_of(t:copy(torch.IntStorage { 1 }, 1)):sub(1, 3))
        support.fails('do not fit', t.copy, t, s, 4)
        support.fails('size mismatch: 5 elements expected, got 3', t.copy, t, s)
        support.fails('expected', t.copy, t, s[1])
        assert.equal('1,-2 3,4 -5,6', text_of(class(3):rawcopy(s)))
        assert.equal('1,-2 3,4 -5,6', text_of(class(3):rawcopy(s:view(PART[T] .. 'Storage'))))
      end)

      it('byteswap reverses the bytes of each part', function()
        local bytes = s:string()
        assert.is_true(rawequal(s:byteswap(), s))
        assert.equal(bytes:gsub(('.'):rep(width / 2), string.reverse), s:string())
        assert.equal('1,-2 3,4 -5,6', text_of(s:byteswap()))
        for _, word in ipairs { 1, 2, 4, 8 } do
          local expected = bytes:gsub(('.'):rep(word), string.reverse)
          assert.is_true(expected == s:byteswap(word):string(), word)
          assert.is_true(bytes == s:byteswap(word):string(), word)
        end
        for _, word in ipairs { 0, 3, 16 } do
          support.fails('a word has 1, 2, 4 or 8 bytes', s.byteswap, s, word)
        end
        for _, size in ipairs { 1, 31, 33, 4097 } do
          local numbers = {}
          for i = 1, 2 * size do
            numbers[i] = i * 1.25 - 1000
          end
          local parts = Part(numbers)
          local t = class.fromstring(parts:string())
          assert.is_true(t:byteswap():string() == parts:byteswap():string())
        end
      end)

      it('resize and reserve keep the elements', function()
        assert.is_true(rawequal(s:resize(5), s))
        assert.equal('1,-2 3,4 -5,6 0,0 0,0', text_of(s))
        assert.equal('1,-2', text_of(s:resize(1)))
        assert.equal('1,-2 0,0', text_of(s:resize(2)))
        local before = s:reserve(1000):dataptr()
        s:resize(1000):set(1000, 7, 8)
        assert.equal(before, s:dataptr())
        assert.equal('7 8', support.joined({ s:get(1000) }, ' '))
        for _, size in ipairs { -1, NAN, 2 ^ 60, 2 ^ 62 } do
          assert.is_false((pcall(s.resize, s, size)))
          assert.equal(1000, #s)
        end
        assert.is_true(s:resizable())
        assert.is_false(class(s, 1):resizable())
        -- Beyond the size of small blocks, which another allocator provides.
        local large = class(2):fill { 1, 2 }
        large:resize(2 ^ 17)
        assert.equal('1,2 1,2 0,0', text_of(class(large, 1, 3)))
        assert.equal('0,0', text_of(class(large, 2 ^ 17)))
      end)

      it('size, nbytes, elementSize and type describe the storage', function()
        assert.equal(3, #s)
        assert.equal(3, s:size())
        assert.equal(3 * width, s:nbytes())
        assert.equal(width, s:elementSize())
        assert.equal(width, class.elementSize())
        assert.equal('torch.' .. T .. 'Storage', s:type())
        assert.equal('torch.' .. T .. 'Storage', torch.typename(s))
        assert.equal('cpu', s:device())
        assert.is_true(s:cpu() == s and s:to 'cpu' == s)
        assert.is_nil(s:filename())
        assert.is_false(s:isMapped() or s:isShared() or s:isView() or s:isReadOnly())
        assert.equal(3, #s:pin())
        assert.is_true(s:isPinned())
      end)

      it('iter, totable and unpack give the elements', function()
        local seen = {}
        for i, z in s:iter() do
          seen[i] = z
        end
        assert.equal('1,-2 3,4 -5,6', text_of_values(unpack(seen)))
        assert.equal('1,-2 3,4 -5,6', text_of_values(unpack(s:totable())))
        assert.equal('3,4 -5,6', text_of_values(unpack(s:totable(2))))
        assert.equal('3,4', text_of_values(unpack(s:totable(2, 2))))
        assert.same({}, s:totable(3, 2))
        assert.same({}, class():totable())
        support.fails('out of', s.totable, s, 0, 1)
        support.fails('out of', s.totable, s, 1, 4)
        assert.equal('1,-2 3,4 -5,6', text_of_values(s:unpack()))
        assert.equal('3,4 -5,6', text_of_values(s:unpack(2)))
        assert.equal('1,-2 3,4', text_of_values(s:unpack(1, 2)))
        assert.equal(0, select('#', s:unpack(2, 1)))
        assert.equal(0, select('#', class():unpack()))
        assert.equal(5, #{ s:unpack(1, 2), s[1], s:unpack() })
        local long = class(7000)
        long:set(7000, 7, 8)
        assert.equal(7000, select('#', long:unpack()))
        assert.equal('7,8', text_of_values((select(7000, long:unpack()))))
        support.fails('too many results to unpack: 8000 elements; totable() has no such limit', function()
          return class(8000):unpack()
        end)
        support.fails('too many results', class(2 ^ 20).unpack, class(2 ^ 20))
        local table_of_all = class(100000):fill({ 1, 2 }):totable()
        assert.equal(100000, #table_of_all)
        assert.equal('1,2', text_of_values(table_of_all[100000]))
        assert.is_false(rawequal(table_of_all[1], table_of_all[2]))
        -- The storage gets shorter during the iteration.
        local count = 0
        for i in long:iter() do
          count = i
          if i == 10 then
            long:resize(20)
          end
        end
        assert.equal(20, count)
      end)

      it('equal compares both parts', function()
        assert.is_true(s:equal(s:clone()))
        assert.is_true(class():equal(class()))
        assert.is_true(class({ { 0, NEGATIVE } }):equal(class { { NEGATIVE, 0 } }))
        for _, part in ipairs { { NAN, 0 }, { 0, NAN }, { NAN, NAN } } do
          local t = class { part }
          assert.is_false(t:equal(t))
          assert.is_false(t:equal(class(1)))
        end
        assert.is_true(class({ { 1 / 0, -1 / 0 } }):equal(class { { 1 / 0, -1 / 0 } }))
        assert.is_false(class({ { 1 / 0, -1 / 0 } }):equal(class { { 1 / 0, 1 / 0 } }))
        assert.is_false(s:equal(class(2)))
        assert.is_false(class({ 1 }):equal(Other { 1 }))
        assert.is_false(class({ 1 }):equal(Part { 1 }))
        support.fails('expected', s.equal, s, s[1])
        for _, size in ipairs { 1, 2, 3, 31, 33, 4097 } do
          local a, b = class(size):fill { 1, 2 }, class(size):fill { 1, 2 }
          assert.is_true(a:equal(b))
          for _, index in ipairs { 1, math.ceil(size / 2), size } do
            b:set(index, 1, 3)
            assert.is_false(a:equal(b))
            b:set(index, 3, 2)
            assert.is_false(a:equal(b))
            b:set(index, 1, 2)
            assert.is_true(a:equal(b))
          end
        end
        assert.is_false(s == s:clone())
        assert.is_true(s == s)
      end)

      it('string returns and sets the bytes', function()
        local bytes = Part({ 1, -2, 3, 4, -5, 6 }):string()
        assert.equal(bytes, s:string())
        assert.equal(bytes:sub(width + 1, 2 * width), s:string(2, 2))
        assert.equal(bytes:sub(width + 1), s:string(2, 3))
        assert.is_true(rawequal(s:string(bytes:sub(1, width)), s))
        assert.equal('1,-2', text_of(s))
        assert.equal('1,-2 3,4 -5,6', text_of(s:string(bytes)))
        support.fails('not a multiple of the ' .. width .. '-byte element size', s.string, s, bytes .. 'x')
        support.fails('not a multiple of the', s.string, s, 'abc')
        assert.equal('1,-2 3,4 -5,6', text_of(s))
      end)

      it('view, untyped and sub share the memory', function()
        local parts = s:view(PART[T] .. 'Storage')
        assert.equal('1 -2 3 4 -5 6', support.joined(parts:totable(), ' '))
        parts[2] = 9
        assert.equal('1,9 3,4 -5,6', text_of(s))
        s:set(3, 7, 8)
        assert.equal('1 9 3 4 7 8', support.joined(parts:totable(), ' '))
        assert.equal('1,9 3,4 7,8', text_of(parts:view(T .. 'Storage')))
        assert.equal('9,3 4,7', text_of(parts:view(class, width / 2, 2)))
        assert.equal(3 * width, #s:untyped())
        assert.equal(s:string(), s:untyped():string())
        assert.equal('1,9 3,4 7,8', text_of(s:untyped():view(T == 'ComplexFloat' and 'cfloat' or 'cdouble')))
        support.fails(
          'not a multiple of the',
          torch.UntypedStorage(width + 1).view,
          torch.UntypedStorage(width + 1),
          class
        )
        -- A loop that reads one storage and writes the other.
        local wrong = 0
        for i = 1, 500 do
          local index = i % 3 + 1
          parts[2 * index] = i
          local _, im = s:get(index)
          wrong = wrong + (im == i and s[index].im == i and 0 or 1)
          s:set(index, -i, i)
          wrong = wrong + (parts[2 * index - 1] == -i and 0 or 1)
        end
        assert.equal(0, wrong)
        s = class { { 1, -2 }, { 3, 4 }, { -5, 6 } }
        assert.equal('3,4 -5,6', text_of(s:sub(2)))
        assert.equal('-5,6', text_of(s:sub(-1)))
        assert.equal('1,-2 3,4', text_of(s:sub(1, -2)))
        assert.equal('', text_of(s:sub(4)))
        s:sub(2):set(1, 0, 1)
        assert.equal('1,-2 0,1 -5,6', text_of(s))
        -- At any byte offset.
        local odd = torch.UntypedStorage('x' .. s:string()):view(class, 1)
        assert.equal('1,-2 0,1 -5,6', text_of(odd))
        odd:set(1, 4, 4)
        odd[2] = { 5, 5 }
        assert.equal('4,4 5,5 -5,6', text_of(odd))
        assert.equal('4,4 5,5 -5,6', text_of(class(3):copy(odd)))
        assert.equal('4,4 5,5 -5,6', text_of(Other(3):copy(odd)))
        assert.equal('7,7 7,7 7,7', text_of(odd:fill { 7, 7 }))
      end)

      it('clone and new copy the elements', function()
        local t = class(s, 2):clone()
        assert.equal('3,4 -5,6', text_of(t))
        t:set(1, 0, 0)
        assert.equal('1,-2 3,4 -5,6', text_of(s))
        assert.is_false(t:isView())
        assert.equal('0,0 0,0', text_of(s.new(2)))
        assert.equal('3,4 -5,6', text_of(s:new(2)))
      end)

      it('conversions by name convert the real parts', function()
        for _, entry in ipairs(require('torch.core').classes) do
          local D = entry.name:match '^torch%.(.*)Storage$'
          local method = D:gsub('(%l)(%u)', '%1_%2'):lower()
          method = D == 'BFloat16' and 'bfloat16' or method
          if D ~= 'Untyped' then
            local converted = s[method](s)
            assert.equal(entry.name, converted:type(), method)
            assert.is_true(converted:string() == s:type(entry.name):string())
            assert.is_true(converted:string() == entry.constructor(3):copy(s):string())
            assert.equal(D == T, rawequal(converted, s))
          end
        end
        assert.equal('1,-2 3,4 -5,6', text_of(s:complex_float()))
        assert.equal('1,-2 3,4 -5,6', text_of(s:complex_double()))
        assert.equal('1 3 -5', support.joined(s:float():totable(), ' '))
        assert.equal('1 3 251', support.joined(s:byte():totable(), ' '))
        assert.equal(
          '1 1 1 0',
          support.joined(class({ { 0, 1 }, { NAN, 0 }, { 0, NAN }, { NEGATIVE, 0 } }):bool():totable(), ' ')
        )
        assert.equal('1,0 0,0', text_of(torch.BoolStorage({ true, false }):type(class)))
        for _, name in ipairs {
          T .. 'Storage',
          'torch.' .. T .. 'Storage',
          class,
          T == 'ComplexFloat' and 'complex64' or 'complex128',
        } do
          assert.is_true(rawequal(s, s:type(name)))
          assert.equal('5,0', text_of(torch.IntStorage({ 5 }):type(name)))
        end
      end)

      it('tokens, publications and references keep the storage alive', function()
        local token = s:token()
        local again = torch.fromToken(token)
        assert.is_true(again == s)
        again:set(1, 8, 9)
        assert.equal('8,9 3,4 -5,6', text_of(s))
        support.fails('', torch.fromToken, token)
        torch.publish('complex-methods-spec', s)
        assert.equal('8,9 3,4 -5,6', text_of(torch.lookup 'complex-methods-spec'))
        torch.unpublish 'complex-methods-spec'
        s:retain()
        local third = torch.pushudata(torch.pointer(s), 'torch.' .. T .. 'Storage')
        assert.is_true(third == s)
        s:free()
        support.fails('storage was freed', s.get, s, 1)
        assert.equal('8,9 3,4 -5,6', text_of(third))
        third:free()
        again:free()
        support.fails('storage was freed', again.totable, again)
        for _, name in ipairs {
          'totable',
          'unpack',
          'iter',
          'clone',
          'zero',
          'byteswap',
          'string',
          'size',
          'complex_float',
          'sub',
        } do
          support.fails('storage was freed', s[name], s, name == 'sub' and 1 or nil)
        end
        support.fails('storage was freed', tostring, s)
      end)

      it('shareMemory and the methods of maps work', function()
        assert.is_true(rawequal(s:shareMemory(), s))
        assert.equal('1,-2 3,4 -5,6', text_of(s))
        assert.is_true(s:isShared())
        support.fails('not resizable', s.resize, s, 4)
        support.spit(path 'file', s:string())
        local map = class(path 'file', true)
        assert.is_true(map:isMapped() and map:check() and map:isShared())
        assert.equal(path 'file', map:filename())
        map:fill({ 1, 1 }):flush():advise 'random'
        assert.equal(Part({ 1, 1, 1, 1, 1, 1 }):string(), support.slurp(path 'file'))
        support.fails('', s.flush, s)
      end)

      it('data and buffers give the memory', function()
        assert.equal(s:dataptr(), tonumber((s:data(true))))
        assert.equal('1,-2 3,4 -5,6', text_of(class(3, s:data())))
        assert.equal(0, class():dataptr())
        local _, bytes, read_only = torch.buffer(s)
        assert.equal(3 * width, bytes)
        assert.is_false(read_only)
        local v = torch.frombuffer(s, { dtype = class, offset = width, count = 1 })
        v:set(1, 0, 0)
        assert.equal('1,-2 0,0 -5,6', text_of(s))
      end)
    end)
  end
end
