-- What compiled code does without calling C: rounding to halves, iteration, indices beyond 32 bits.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local jit = rawget(_G, 'jit')

-- The bytes of a storage, through a map of its memory that exists for every class.
local function bytes_of(s)
  return torch.ByteStorage(s:nbytes(), s:data(true)):string()
end

if support.luajit then
  describe('a number written to a HalfStorage', function()
    after_each(accessors.restore)

    -- Every finite half, the midpoint to the next one, and its neighbours as floats and as doubles.
    local function numbers()
      local bits = torch.ShortStorage(31744)
      for i = 1, #bits do
        bits[i] = i - 1
      end
      local halves = torch.HalfStorage.fromstring(bytes_of(bits))
      local list = {}
      for i = 1, #halves do
        local this, following = halves[i], halves[i + 1 <= #halves and i + 1 or i]
        if i == #halves then
          following = 65536
        end
        local middle = (this + following) / 2
        for _, factor in ipairs { 1, 1 - 2 ^ -24, 1 + 2 ^ -23, 1 - 2 ^ -25, 1 + 2 ^ -25, 1 - 2 ^ -53, 1 + 2 ^ -52 } do
          list[#list + 1] = middle * factor
          list[#list + 1] = -middle * factor
        end
        list[#list + 1] = this
        list[#list + 1] = -this
      end
      local rests = { 65519.996, 65520, 65536, 65537, 131008, 1e9, 3e38, 3.5e38, 1e300, 1 / 0, 2 ^ -26, 1e-300 }
      for _, rest in ipairs(rests) do
        list[#list + 1] = rest
        list[#list + 1] = -rest
      end
      return torch.DoubleStorage(list)
    end

    local function written(values, access)
      torch.accessors(access)
      local s = torch.HalfStorage(#values)
      for i = 1, #values do
        s[i] = values[i]
      end
      return bytes_of(s)
    end

    it('is rounded as C rounds it, around every half', function()
      local values = numbers()
      assert.is_true(#values > 5e5)
      assert.is_true(written(values, 'ffi') == written(values, 'c'))
    end)

    it('keeps NaN a NaN', function()
      for _, access in ipairs { 'c', 'ffi' } do
        torch.accessors(access)
        local s = torch.HalfStorage(200):fill(1)
        for i = 1, 200 do
          s[i] = 0 / 0 * i
        end
        for i = 1, 200 do
          assert.is_true(s[i] ~= s[i])
        end
      end
    end)
  end)
end

for _, access in ipairs(support.luajit and { 'c', 'ffi' } or { 'c' }) do
  describe("iteration, accessors '" .. access .. "',", function()
    before_each(function()
      torch.accessors(access)
    end)
    after_each(accessors.restore)

    for _, T in ipairs(types.TORCH7) do
      it('gives every index and element of a ' .. T, function()
        local s, indices, elements = torch[T .. 'Storage'](1000), 0, 0
        for i = 1, 1000 do
          s[i] = i % 100
        end
        for i, v in s:iter() do
          indices, elements = indices + i, elements + v
        end
        assert.equal(500500, indices)
        assert.equal(49500, elements)
      end)

      it('follows the size of a ' .. T .. ' and ends with it', function()
        local s, seen = torch[T .. 'Storage'](300):fill(3), 0
        for i, v in s:iter() do
          seen = seen + v
          if i == 200 then
            s:resize(400)
          elseif i == 390 then
            s:resize(395)
          end
        end
        assert.equal(900, seen)
        assert.equal(395, #s)
      end)

      it('of a ' .. T .. ' that is freed in the loop is an error there', function()
        local s = torch[T .. 'Storage'](300)
        local message = support.failure(function()
          for i in s:iter() do
            if i == 250 then
              s:free()
            end
          end
        end)
        assert.matches('^spec/jit/compiled_spec%.lua:%d+: .*storage was freed', message)
      end)
    end

    it('takes unusual control values as C does', function()
      local s = torch.IntStorage { 5, 6, 7 }
      local step = s:iter()
      local got = {}
      for _, control in ipairs { 0, 1, 2, 3, 1.5, 0.9, -0.5, 2.999, '1', 1e300 } do
        local i, v = step(s, control)
        got[#got + 1] = tostring(i) .. ':' .. tostring(v)
      end
      assert.same({ '1:5', '2:6', '3:7', 'nil:nil', '2:6', '1:5', '1:5', '3:7', '2:6', 'nil:nil' }, got)
      for _, control in ipairs { 'x', {}, true } do
        assert.matches('number expected', support.failure(step, s, control), 1, true)
      end
      assert.matches('IntStorage expected', support.failure(step, torch.ByteStorage(1), 0), 1, true)
    end)
  end)
end

describe('a storage of more than 2^31 elements #large', function()
  it('is read and written at both ends', function()
    local size = 2 ^ 31 + 300
    local s = torch.ByteStorage(size)
    local ends, sum = { 0, 2 ^ 31 - 150, size - 300 }, 0
    for _, start in ipairs(ends) do
      for i = 1, 300 do
        s[start + i] = i % 256
      end
      for i = 1, 300 do
        sum = sum + s[start + i]
      end
    end
    local expected = 0
    for i = 1, 300 do
      expected = expected + i % 256
    end
    assert.equal(3 * expected, sum)
    assert.equal(size, #s)
    for _, outside in ipairs { size + 1, 0, 2 ^ 32 + 1, -2 ^ 31 } do
      assert.is_false((pcall(function()
        return s[outside]
      end)))
      assert.is_false((pcall(function()
        s[outside] = 1
      end)))
    end
    if jit then
      jit.flush()
    end
  end)
end)
