-- How integers, floats and strings become elements on every Lua: integers exactly, floats by the rule of numbers
-- (docs/numbers.md), and strings as `tonumber` reads them.
local torch = require 'torch'
local generator = require 'spec.support.generator'
local support = require 'spec.support'

local INTEGER = { signed = true, unsigned = true, untyped = true }

local classes = {}
for _, entry in ipairs(require('torch.core').classes) do
  classes[#classes + 1] = {
    name = entry.element,
    bytes = entry.width,
    is_integer = INTEGER[entry.kind] or false,
    is_complex = entry.kind == 'complex',
    new = torch[entry.element .. 'Storage'],
    tensor = torch[entry.element .. 'Tensor'],
  }
end

-- The bytes of the element that `value` becomes. Every way to store it has to give the same bytes.
local function stored(class, value)
  local s = class.new(1)
  s[1] = value
  local bytes = s:string()
  local others = {
    class.new(1):set(1, value),
    class.new(1):fill(value),
    class.new { value },
    class.new(20):fill(value, 7, 7):sub(7, 7),
  }
  local by_hand = class.new(1)
  getmetatable(by_hand).__newindex__(by_hand, 1, value)
  others[#others + 1] = by_hand
  if class.tensor then
    others[#others + 1] = class.tensor(1):fill(value):storage()
    others[#others + 1] = class.tensor(1):set(1, value):storage()
    others[#others + 1] = class.tensor({ { value } }):storage()
    local x = class.tensor(1)
    x[1] = value
    others[#others + 1] = x:storage()
  end
  for way, other in ipairs(others) do
    if other:string() ~= bytes then
      error(('%s of %s: way %d differs'):format(class.name, tostring(value), way), 2)
    end
  end
  return bytes
end

-- Integers of Lua 5.3: those around powers of 2, and random ones. All are written as expressions of their own Lua.
local function integers()
  local text = [[
    local random = ...
    local numbers = { 0, math.maxinteger, math.mininteger, 3000000000, -3000000000, 16777217, -16777217 }
    for bit = 0, 62 do
      for _, near in ipairs { -1, 0, 1 } do
        numbers[#numbers + 1] = (1 << bit) + near
        numbers[#numbers + 1] = -(1 << bit) + near
      end
    end
    for _ = 1, 60 do
      numbers[#numbers + 1] = (random(1 << 24) << 48 | random(1 << 24) << 24 | random(1 << 24)) >> random(64) - 1
    end
    return numbers
  ]]
  return assert(loadstring(text))(generator(17))
end

for _, class in ipairs(classes) do
  describe('a ' .. class.name, function()
    it('stores the same bits for a whole number with and without a point', function()
      local pairs_of_texts = {
        { '3000000000', '3e9' },
        { '-3000000000', '-3e9' },
        { '0', '0.0' },
        { '255', '255.0' },
        { '-1', '-1.0' },
        { '9007199254740991', '9007199254740991.0' },
        { '-9007199254740992', '-9007199254740992.0' },
        { '4611686018427387904', '0x1p62' },
      }
      for _, texts in ipairs(pairs_of_texts) do
        local whole, float =
          assert(loadstring(('return %s, %s'):format(texts[1], texts[2]:gsub('0x1p62', '2.0 ^ 62'))))()
        assert.equal(stored(class, float), stored(class, whole), texts[1])
        assert.equal(stored(class, float), stored(class, texts[1]), texts[1])
        assert.equal(
          stored(class, float),
          stored(class, texts[2]:gsub('0x1p62', '4611686018427387904.0') .. ''),
          texts[1]
        )
      end
    end)

    it('stores every integer of 64 bits exactly, or rounded once', function()
      if not support.has_integers then
        -- A decimal string is exact on every Lua.
        assert.equal(stored(class, 9007199254740992), stored(class, '9007199254740992'))
        return
      end
      local wrong = {}
      for _, n in ipairs(integers()) do
        local bytes = stored(class, n)
        local digits = ('%d'):format(n)
        local expected = class.is_integer and string.pack('<i8', n):sub(1, class.bytes)
          or class.name == 'Double' and string.pack('<d', n + 0.0)
          or stored(class, digits)
        if bytes ~= expected or bytes ~= stored(class, digits) then
          wrong[#wrong + 1] = digits
        end
        -- A float of the same value has the same bits. Other floats go by the rule of numbers.
        if n == n + 0.0 and stored(class, n + 0.0) ~= bytes then
          wrong[#wrong + 1] = digits .. ' as a float'
        end
      end
      assert.same({}, wrong)
    end)

    it('takes a string for what tonumber says', function()
      local texts = {
        '1',
        ' 7 ',
        '0x10',
        '-0x10',
        '1e2',
        '0x1p4',
        '.5',
        '5.',
        '-0',
        '-0.0',
        '1e400',
        '9007199254740993.0',
        '\t3\n',
        '00012',
      }
      for _, text in ipairs { '0xffffffffffffffff', '0x7fffffffffffffff', '0x10000000000000001' } do
        texts[#texts + 1] = support.has_integers and text or nil
      end
      for _, text in ipairs(texts) do
        local number = tonumber(text)
        if number then
          -- A decimal integer is -0 in a float class, where `tonumber` of Lua 5.3 gives the integer 0.
          local expected = text == '-0' and not class.is_integer and stored(class, '-0') or stored(class, number)
          assert.equal(expected, stored(class, text), text)
        end
      end
      local wrong = { '', ' ', 'x', '1 2', '1_0', '0x', '1e', '--1', '1\0', '1\0002', 'nan(', '1,5', '0b1', '١' }
      for _, text in ipairs(wrong) do
        -- Lua 5.1 stops at the zero byte.
        if tonumber(text) == nil then
          local s = class.new(1)
          support.failure(s.set, s, 1, text)
          support.failure(s.fill, s, text)
          support.failure(class.new, { text })
          support.failure(function()
            s[1] = text
          end)
          assert.is_true(s:equal(class.new(1)))
        end
      end
    end)
  end)
end

describe('a decimal integer in a string', function()
  it('is exact modulo 2^64 on every Lua, even where tonumber gives a float', function()
    local s = torch.LongStorage { '18446744073709551615', '9223372036854775809', '-9223372036854775809' }
    assert.equal('-1', s:decimal(1))
    assert.equal('-9223372036854775807', s:decimal(2))
    assert.equal('9223372036854775807', s:decimal(3))
  end)
end)

describe('an integer', function()
  it('is rounded once in a FloatStorage, not first to a double', function()
    -- Above the middle of two floats by 1. As a double it would be the middle, which rounds down, to the even one.
    local s = torch.FloatStorage { '1152921573326323713' }
    assert.is_true(s[1] == 2.0 ^ 60 + 2.0 ^ 37)
    if support.has_integers then
      s[1] = assert(loadstring 'return 1152921573326323713')()
      assert.is_true(s[1] == 2.0 ^ 60 + 2.0 ^ 37)
    end
  end)

  it('is true in a BoolStorage unless it is 0', function()
    local s = torch.BoolStorage { 0, 1, 256, -1, support.has_integers and math.mininteger or 2 ^ 63 }
    assert.equal('0 1 1 1 1', table.concat(s:totable(), ' '))
  end)

  it('becomes the real part of a complex number', function()
    local z = torch.ComplexDoubleStorage { 3, { 4, 5 } }
    z:set(1, 7, 8)
    assert.equal(7, z[1].re)
    assert.equal(8, z[1].im)
    assert.equal(support.has_integers and 'float' or 'number', (math.type or type)(z[2].re))
  end)
end)
