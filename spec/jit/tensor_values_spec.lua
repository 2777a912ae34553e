-- Elements of tensors in compiled loops: NaN with any bits, views of another class, numbers beyond 32 bits, and lists that are
-- not made.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

local jit = rawget(_G, 'jit')

describe('an element of a tensor', function()
  after_each(accessors.restore)

  for _, mode in ipairs(accessors.MODES) do
    -- LuaJIT recognizes the kind of a value by its NaN bits: a NaN that is loaded with its bits unchanged becomes another value.
    it('is a number, whatever the bits of a NaN, by ' .. mode, function()
      torch.accessors(mode)
      for T, words in pairs { Double = 2, Float = 1, ComplexDouble = 4, ComplexFloat = 2 } do
        local bits = torch.IntStorage(64 * words):fill(-0x20000 + 0x7000)
        for i = 1, #bits do
          -- Each word is the upper half of a NaN that LuaJIT takes for a string, a table, and so on.
          bits[i] = -0x8000 * (i % 24 + 1) + 0x4141
        end
        local x = bits:view('torch.' .. T .. 'Storage'):view(8, 8)
        local function use()
          local list = {}
          for i = 1, 8 do
            for j = 1, 8 do
              local re, im = x:get(i, j)
              local z, column = x[{ i, j }], x:select(2, j)[i]
              if T:find 'Complex' then
                z, column = z.im, column.re
              end
              for _, v in ipairs { re, im or 0, z, column } do
                list[#list + 1] = v + 0
              end
            end
          end
          return list
        end
        for _ = 1, 10 do
          local list = use()
          support.collect()
          for _, v in ipairs(list) do
            assert.equal('number', type(v))
          end
          assert.equal(256, #list)
        end
      end
    end)

    it('is the one that a view of another class has written, by ' .. mode, function()
      torch.accessors(mode)
      local bytes = torch.UntypedStorage(400 * 8)
      for T, other in pairs { Double = 'Long', Float = 'Int', Int = 'Float', Long = 'Double', Short = 'Half' } do
        bytes:fill(0)
        local x = bytes:view('torch.' .. T .. 'Storage'):view(20, -1)
        local y = bytes:view('torch.' .. other .. 'Storage'):view(20, -1)
        local count = 0
        for i = 1, 20 do
          for j = 1, 20 do
            local before = x:get(i, j)
            y:set(i, j, 1)
            local between = x[{ i, j }]
            y[{ i, j }] = 0
            count = count + (before == 0 and between ~= 0 and x:get(i, j) == 0 and 1 or 0)
          end
        end
        assert.equal(400, count, T)
      end
    end)

    it('may lie beyond 2^31 elements, by ' .. mode, function()
      torch.accessors(mode)
      local s = torch.ByteStorage(2 ^ 31 + 1000)
      local x, tail = s:view(2, -1), torch.ByteTensor(s, 2 ^ 31 + 1, { 10, 100 })
      local whole, columns = s:view(-1), torch.ByteTensor(s, 1, { 2, 3 }, { 2 ^ 31, 1 })
      local half = 2 ^ 30 + 500
      for i = 1, 100 do
        x:set(2, half - 1000 + i, i)
        assert.equal(i, whole[2 * half - 1000 + i])
        tail[{ 2, i }] = i + 100
        assert.equal(i + 100, whole:get(2 ^ 31 + 100 + i))
        whole[2 ^ 31 + 2] = i
        assert.equal(i, columns:get(2, 2))
        assert.equal(i, x[{ 2, half - 998 }])
      end
      assert.equal(2 ^ 31 + 1000, whole:size(1))
      assert.equal(2 ^ 31 + 1000, x:nElement())
      assert.same({ 2, half }, x:size():totable())
      support.fails('out of range', whole.get, whole, 2 ^ 31 + 1001)
      support.fails('out of range', x.set, x, 2, half + 1, 1)
    end)
  end
end)

if jit and jit.status() then
  describe('a compiled loop over a tensor', function()
    it('makes no list for x[{i, j}]', function()
      local x = torch.DoubleTensor(300, 4)
      local function loop(n)
        local sum = 0
        for _ = 1, n do
          for i = 1, 300 do
            x[{ i, 2 }] = i
            sum = sum + x[{ i, 2 }]
          end
        end
        return sum
      end
      loop(10)
      collectgarbage()
      collectgarbage 'stop'
      local before = collectgarbage 'count'
      loop(100)
      local made = collectgarbage 'count' - before
      collectgarbage 'restart'
      -- 60,000 tables would take more than a megabyte.
      assert.is_true(made < 100, made)
    end)
  end)
end
