-- The unsigned integers of 16, 32 and 64 bits: what is special about them. The specs that go over all classes test the rest.
local torch = require 'torch'
local support = require 'spec.support'

local CLASSES = {
  { name = 'UInt16', dtype = 'uint16', bits = 16, width = 2 },
  { name = 'UInt32', dtype = 'uint32', bits = 32, width = 4 },
  { name = 'UInt64', dtype = 'uint64', bits = 64, width = 8 },
}

-- A number from 0 to 2^64 as an element of a UInt64 reads: as an integer it is wrapped, since Lua 5.3.
local function wrapped(class, number)
  if support.has_integers and class.bits == 64 and number >= 2 ^ 63 then
    return number == 2 ^ 63 and math.mininteger or math.tointeger(number - 2 ^ 64) - (number == 2 ^ 64 and 1 or 0)
  end
  return number
end

for _, class in ipairs(CLASSES) do
  describe('torch.' .. class.name .. 'Storage', function()
    local new = torch[class.name .. 'Storage']
    local largest = wrapped(class, 2 ^ class.bits - 1) -- for 64 bits a float is rounded to 2^64

    it('has numbers from 0 to 2^' .. class.bits .. ' - 1', function()
      local s = new { 0, 1, -1, 2 ^ (class.bits - 1) }
      assert.same({ 0, 1, largest, wrapped(class, 2 ^ (class.bits - 1)) }, s:totable())
      assert.equal(class.width, s:elementSize())
      assert.equal(('\255'):rep(class.width), s:sub(3, 3):untyped():string())
    end)

    it('is made in every way', function()
      assert.equal(3, #new(3))
      assert.same({ 1, 2 }, new({ 1, 2 }):totable())
      assert.same({ 2 }, new(new { 1, 2 }, 2):totable())
      assert.same({ largest }, new.fromstring(('\255'):rep(class.width)):totable())
      assert.same({ largest }, torch.frombuffer(('\255'):rep(8), { dtype = class.dtype, count = 1 }):totable())
      assert.same({ 7 }, torch.Storage({ 7 }):type(class.dtype):totable())
      assert.same({ 7 }, torch.Storage({ 7 })[class.dtype](torch.Storage { 7 }):totable())
      local file = os.tmpname()
      new(file, true, 4):fill(-1)
      assert.equal(('\255'):rep(4 * class.width), support.slurp(file))
      assert.equal(largest, new(file)[4])
      os.remove(file)
    end)

    it('has the names of PyTorch', function()
      assert.equal('torch.' .. class.name .. 'Storage', torch.Storage():type(class.dtype):type())
      assert.equal('torch.' .. class.name .. 'Storage', new():type('torch.' .. class.dtype):type())
    end)

    it('becomes a float by one rounding of the whole number', function()
      local s = new { -1, 2 ^ (class.bits - 1) + 1 }
      local exact = { [16] = { 65535, 32769 }, [32] = { 2 ^ 32, 2 ^ 31 }, [64] = { 2 ^ 64, 2 ^ 63 } }
      assert.same(exact[class.bits], s:float():totable())
    end)

    it('prints whole numbers', function()
      assert.equal(('   1\n 255\n[torch.%sStorage of size 2]\n'):format(class.name), tostring(new { 1, 255 }))
    end)

    it('keeps negative and computed numbers in a compiled loop', function()
      local s = new(200)
      for i = 1, 200 do
        s[i] = -i
      end
      for i = 1, 200 do
        local expected = support.has_integers and class.bits == 64 and -i or 2 ^ class.bits - i
        assert.equal(expected, s[i])
      end
      local xor = 0
      for i = 1, 200 do
        s[i] = i * 2 ^ 31 + 0.5
        xor = xor + s[i]
      end
      local expected = 0
      for i = 1, 200 do
        expected = expected + (i * 2 ^ 31) % 2 ^ class.bits
      end
      assert.equal(expected, xor)
    end)

    it('is an element of other classes with its low bits, and the other way round', function()
      local s = new { -2 }
      assert.equal(-2, s:char()[1])
      assert.equal(254, s:byte()[1])
      assert.equal(class.bits == 16 and 65534 or -2, s:int()[1])
      assert.equal(
        support.has_integers and class.bits == 64 and -2 or 2 ^ class.bits - 2,
        new(1):copy(torch.CharStorage { -2 })[1]
      )
      assert.equal(1, s:bool()[1])
    end)

    it('cannot be saved in a .t7 file, and the error says so', function()
      local message = support.failure(torch.serialize, new(2))
      assert.matches('torch.' .. class.name .. 'Storage', message, 1, true)
    end)
  end)
end

describe('64-bit integers without a sign', function()
  if support.luajit then
    it('come from cdata with all bits', function()
      local ffi = require 'ffi'
      local s = torch.UInt64Storage(2)
      s[1] = ffi.cast('uint64_t', ffi.cast('int64_t', -1))
      s[2] = ffi.cast('int64_t', -2)
      assert.equal(('\255'):rep(8) .. '\254' .. ('\255'):rep(7), s:untyped():string())
    end)
  end

  it('are compared and swapped with all bits', function()
    local s = torch.UInt64Storage.fromstring '\1\2\3\4\5\6\7\8'
    assert.is_false(s:equal(torch.UInt64Storage.fromstring '\2\2\3\4\5\6\7\8'))
    assert.equal('\8\7\6\5\4\3\2\1', s:byteswap():untyped():string())
  end)
end)
