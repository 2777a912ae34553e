-- BoolStorage: one byte per element, 0 for false and any other value for true; Lua sees the numbers 0 and 1.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

after_each(accessors.restore)

local all_bytes = {}
for byte = 0, 255 do
  all_bytes[#all_bytes + 1] = string.char(byte)
end
all_bytes = table.concat(all_bytes)

local function bytes_of(s)
  return torch.ByteStorage(s:nbytes(), s:data(true)):string()
end

describe('a BoolStorage', function()
  for _, access in ipairs(accessors.MODES) do
    it('reads as 0 or 1, whatever the byte, by accessors ' .. access, function()
      torch.accessors(access)
      local s = torch.BoolStorage.fromstring(all_bytes)
      for i = 1, 256 do
        assert.equal(i == 1 and 0 or 1, s[i])
      end
      local sum = 0
      for i, x in s:iter() do
        sum = sum + (x == (i == 1 and 0 or 1) and 1 or 0)
      end
      assert.equal(256, sum)
      for _, T in ipairs(types.NUMBERS) do
        local copy = torch[T .. 'Storage'](256):copy(s)
        assert.equal('0 1 1 1', support.joined({ copy[1], copy[2], copy[3], copy[256] }, ' '), T)
      end
      local ones = torch.BoolStorage(256):fill(1)
      ones[1] = 0
      assert.is_true(s:equal(ones))
      ones[2] = 0
      assert.is_false(s:equal(ones))
    end)

    it('takes numbers and booleans, by accessors ' .. access, function()
      torch.accessors(access)
      local s = torch.BoolStorage(300)
      local values =
        { true, false, 1, 0, -1, 0.5, 0 / 0, 1 / 0, -1 / (1 / 0), 256, 5e-324, '0', '2', 2 ^ 64, false, true }
      local expected = { 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1 }
      for _ = 1, 100 do
        for i = 1, #values do
          s[i] = values[i]
        end
      end
      for i = 1, #values do
        assert.equal(expected[i], s[i], tostring(values[i]))
      end
      assert.is_true(bytes_of(s):sub(1, #values) == string.char(unpack(expected)))
      for i = 1, 300 do
        s[i] = i % 3 == 0
      end
      assert.equal(100, select(2, bytes_of(s):gsub('\1', '')))
      for i = 1, 300 do
        s[i] = i % 3
      end
      assert.equal(200, select(2, bytes_of(s):gsub('\1', '')))
      assert.same({ 1, 0, 1 }, torch.BoolStorage({ true, false, '7' }):totable())
      assert.same({ 0, 1, 1, 0 }, torch.BoolStorage(4):fill(true, 2, 3):totable())
      assert.same({ 1, 1 }, torch.BoolStorage(2):fill(true):totable())
      assert.same({ 0, 0 }, torch.BoolStorage({ 1, 1 }):fill(false):totable())
      if support.luajit then
        s[1], s[2] = assert(loadstring 'return 0x100000000LL, 0ULL')()
        assert.same({ 1, 0 }, { s[1], s[2] })
      end
    end)

    it('refuses other values, and other classes refuse booleans, by accessors ' .. access, function()
      torch.accessors(access)
      local s = torch.BoolStorage { 1 }
      for _, value in ipairs { 'true', {}, print, '' } do
        local assign = function()
          s[1] = value
        end
        assert.matches('number or boolean expected, got ' .. type(value), support.failure(assign), 1, true)
        assert.matches('number or boolean expected', support.failure(s.fill, s, value), 1, true)
        assert.matches('number or boolean expected', support.failure(torch.BoolStorage, { value }), 1, true)
      end
      assert.matches('boolean expected, got no value', support.failure(s.fill, s), 1, true)
      assert.equal(1, s[1])
      for _, T in ipairs(types.NUMBERS) do
        if T ~= 'Bool' then
          local other = torch[T .. 'Storage'] { 1, 1 }
          local assign = function()
            other[2] = true
          end
          assert.matches('number expected, got boolean', support.failure(assign), 1, true)
          assert.matches('number expected, got boolean', support.failure(other.fill, other, false), 1, true)
          assert.matches('number expected, got boolean', support.failure(torch[T .. 'Storage'], { true }), 1, true)
          assert.same({ 1, 1 }, other:totable())
        end
      end
      -- A boolean is not an index either.
      assert.is_nil(s[true])
      assert.matches('number expected, got boolean', support.failure(s.resize, s, true), 1, true)
    end)
  end

  it('is printed as numbers', function()
    assert.equal(' 1\n 0\n 1\n[torch.BoolStorage of size 3]\n', tostring(torch.BoolStorage { true, false, 5 }))
  end)
end)
