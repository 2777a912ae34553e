-- Failing access to complex elements: wrong indices, wrong storages, freed ones, read-only memory. Also `get` and `set` of all
-- classes, which allocate nothing.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local complex = require 'spec.support.complex'
local support = require 'spec.support'
local types = require 'spec.support.types'
local show = complex.show

local ffi = support.luajit and require 'ffi'
local jit = rawget(_G, 'jit')
local path = support.temporary()

after_each(accessors.restore)

local function literal(text)
  return assert(loadstring('return ' .. text))()
end

local function new(T, ...)
  return torch[T .. 'Storage'](...)
end

for _, T in ipairs(types.COMPLEX) do
  for _, access in ipairs(accessors.MODES) do
    describe(('the elements of a %sStorage, by accessors %s,'):format(T, access), function()
      before_each(function()
        torch.accessors(access)
      end)

      it('cannot be reached by a wrong index, with a wrong self, or in a freed storage', function()
        local s = new(T, { { 1, 2 }, { 3, 4 }, { 5, 6 } })
        local bytes = s:string()
        local keys = { 0, 4, -1, 0 / 0, 1 / 0, -1 / 0, '0', 2 ^ 53 }
        if ffi then
          keys[9], keys[10] = ffi.new('int64_t', 4), ffi.new('uint64_t', 0)
        end
        for _, key in ipairs(keys) do
          local text = 'is out of range: the storage has 3 elements, 1 to 3'
          support.fails(text, s.get, s, key)
          support.fails(text, s.set, s, key, 1)
          support.fails(text, s.set, s, key, 1, 2)
          support.fails(text, s.set, s, key, { 1, 2 })
          support.fails(text, function()
            return s[key]
          end)
          support.fails(text, function()
            s[key] = { 1, 2 }
          end)
        end
        for _, key in ipairs { 'x', '', 'size', {}, true, print } do
          support.fails('(number expected, got ' .. type(key), s.get, s, key)
          support.fails('(number expected, got ' .. type(key), s.set, s, key, 1, 2)
        end
        assert.equal(bytes, s:string())
        local other = T == 'ComplexFloat' and 'ComplexDouble' or 'ComplexFloat'
        local strangers = { torch.FloatStorage { 1, 2 }, new(other, { 1 }), 'x', 5, {}, io.stdout, newproxy(true) }
        for _, self in ipairs(strangers) do
          local text = ('(torch.%sStorage expected, got '):format(T)
          support.fails(text, s.get, self, 1)
          support.fails(text, s.set, self, 1, 2)
          support.fails(text, s.set, self, 1, 2, 3)
        end
        support.fails('got no value', s.get)
        support.fails('got no value', s.set)
        local dead = s:clone()
        dead:free()
        for _, f in ipairs {
          function()
            return dead[1]
          end,
          function()
            dead[1] = { 1, 2 }
          end,
          function()
            dead:get(1)
          end,
          function()
            dead:set(1, 2, 3)
          end,
          function()
            dead:set(1, { 2, 3 })
          end,
        } do
          support.fails('storage was freed', f)
        end
      end)

      it('are set by a key to one value, whatever arguments follow it', function()
        local s = new(T, { 1, 2 })
        local set_index, raw_set_index = getmetatable(s).__newindex, getmetatable(s).__newindex__
        for _, behind in ipairs { 7, 'x', {} } do
          set_index(s, 1, torch.ComplexDoubleStorage({ { 3, 4 } })[1], behind)
          assert.equal('3 4', show(s:get(1)))
          set_index(s, 1, '5', behind)
          assert.equal('5 0', show(s:get(1)))
          assert.is_true(raw_set_index(s, 1, { 6, 7 }, behind))
          assert.equal('6 7', show(s:get(1)))
        end
      end)

      it('can be read but not written in read-only memory', function()
        local text = ('\0\0\128\63'):rep(16)
        support.spit(path 'file', 'x' .. text)
        local class = torch[T .. 'Storage']
        for _, s in ipairs {
          class.frombuffer(text),
          class { filename = path 'file', offset = 1, readonly = true },
          class.frombuffer(text):sub(2),
        } do
          local before = s:string()
          local free = s:clone()
          for _, f in ipairs {
            function(t)
              t[1] = 5
            end,
            function(t)
              t[1] = { 5, 6 }
            end,
            function(t)
              t[1] = free[2]
            end,
            function(t)
              t:set(1, 5)
            end,
            function(t)
              t:set(1, 5, 6)
            end,
            function(t)
              t:fill { 5, 6 }
            end,
          } do
            local done = 0
            support.fails('read-only', function()
              for i = 1, 150 do
                f(i < 150 and free or s)
                done = i
              end
            end)
            assert.equal(149, done)
          end
          assert.equal(before, s:string())
          assert.equal(free:fill(s[1]):string(1, 1), s:string(1, 1))
        end
      end)

      it('can be added, removed and freed under compiled loops', function()
        local s = new(T, 1)
        for i = 1, 3000 do
          if i > #s then
            s:resize(2 * #s)
          end
          s:set(i, i, -i)
        end
        local re, im = 0, 0
        for i = 1, 3000 do
          local a, b = s:get(i)
          local z = s[i]
          s[i] = z
          re, im = re + a + z.re, im + b + z.im
        end
        assert.equal('9003000 -9003000', show(re, im))
        local function read(i)
          return s:get(i)
        end
        s:resize(100)
        for i = 1, 200 do
          assert.equal(i <= 100, (pcall(read, i)))
        end
        s:free()
        support.fails('storage was freed', read, 1)
      end)

      it('are read and written by get and set without allocation', function()
        -- Interpreted FFI accesses allocate pointers; programs use these only if they ask for them.
        if access == 'ffi' and not jit.status() then
          return
        end
        local s = new(T, 100)
        local function run()
          for i = 1, 100000 do
            local k = i % 100 + 1
            local re, im = s:get(k)
            s:set(k, re + 1, im - 2)
          end
        end
        run()
        run()
        support.collect()
        collectgarbage 'stop'
        local before = collectgarbage 'count'
        run()
        local after = collectgarbage 'count'
        collectgarbage 'restart'
        -- In kilobytes: one value per access would be thousands. The compiler may need a little for a trace.
        assert.is_true(after - before < 100, after - before)
        assert.equal('3000 -6000', show(s:get(7)))
      end)
    end)
  end
end

describe('get and set of a real class', function()
  for _, access in ipairs(accessors.MODES) do
    it('read and write elements, without an imaginary part, by accessors ' .. access, function()
      torch.accessors(access)
      for _, T in ipairs { 'Untyped', unpack(types.NUMBERS) } do
        local s = torch[T .. 'Storage'](200)
        for i = 1, 200 do
          assert.is_true(rawequal(s:set(i, i % 2), s))
        end
        for i = 1, 200 do
          assert.equal(i % 2, (s:get(i)))
          assert.equal(1, select('#', s:get(i)))
        end
        assert.equal(1, s:set('2', '1'):get '2')
        assert.equal(0, s:set(2, 0, nil):get(2))
        local text = ('(elements of a torch.%sStorage have no imaginary part)'):format(T)
        support.fails(text, s.set, s, 1, 0, 0)
        support.fails(text, s.set, s, 1, 0, 'x')
        support.fails('expected, got table', s.set, s, 1, { 1, 2 })
        support.fails('expected, got no value', s.set, s, 1)
        support.fails('index 201 is out of range', s.get, s, 201)
        local z = torch.ComplexFloatStorage { 1 }
        local got = ffi and 'cdata' or 'table'
        support.fails('expected, got ' .. got, s.set, s, 1, z[1])
        support.fails('expected, got ' .. got, s.fill, s, z[1])
        support.fails('expected, got ' .. got, torch[T .. 'Storage'], { z[1] })
        support.fails('expected, got ' .. got, function()
          s[1] = z[1]
        end)
        assert.equal(1, s[1])
      end
      if ffi then
        local long = torch.LongStorage(1):set(1, literal '0x20000000000001LL')
        assert.equal(literal '0x20000000000001LL', long:data()[0])
      end
    end)
  end
end)
