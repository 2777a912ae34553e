-- The element types that Torch7 does not have. bfloat16 and the 8-bit floats are compared with a model that knows only the list
-- of a format's numbers, and chooses the nearest one. Booleans are in bool_spec.lua.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

after_each(accessors.restore)

-- Bits of the mantissa, bias of the exponent, the largest number, and what larger numbers become (`beyond`, NaN by default).
local FORMATS = {
  BFloat16 = { mantissa = 7, bias = 127, largest = (2 - 2 ^ -7) * 2 ^ 127, beyond = 1 / 0 },
  Float8_e4m3fn = { mantissa = 3, bias = 7, largest = 448 },
  Float8_e5m2 = { mantissa = 2, bias = 15, largest = 57344, beyond = 1 / 0 },
  Float8_e4m3fnuz = { mantissa = 3, bias = 8, largest = 240, one_zero = true },
  Float8_e5m2fnuz = { mantissa = 2, bias = 16, largest = 57344, one_zero = true },
}
local FLOATS = { 'BFloat16', 'Float8_e4m3fn', 'Float8_e5m2', 'Float8_e4m3fnuz', 'Float8_e5m2fnuz' }

-- The numbers of a format in order, starting with 0 at [0]; the last one is the number that would follow the largest.
for _, T in ipairs(FLOATS) do
  local format = FORMATS[T]
  local steps, bits = 2 ^ format.mantissa, 0
  repeat
    local exponent, rest = math.floor(bits / steps), bits % steps
    local number = exponent == 0 and rest / steps * 2 ^ (1 - format.bias)
      or (1 + rest / steps) * 2 ^ (exponent - format.bias)
    format[bits] = number
    bits = bits + 1
  until number > format.largest
  format.last = bits - 1
  format.sign = T == 'BFloat16' and 32768 or 128
end

-- The number that a number becomes in the format, and whether its sign is set.
local function nearest(format, value)
  if value ~= value then
    return value
  end
  local magnitude = math.abs(value)
  local low, high = 0, format.last
  if magnitude >= format[high] then
    low = high
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if format[middle] <= magnitude then
      low = middle
    else
      high = middle
    end
  end
  if low < high then
    local down, up = magnitude - format[low], format[high] - magnitude
    if up < down or up == down and low % 2 == 1 then
      low = high
    end
  end
  local number = low == format.last and (format.beyond or 0 / 0) or format[low]
  local negative = value < 0 or value == 0 and 1 / value < 0
  if format.one_zero and number == 0 then
    negative = false
  end
  return negative and -number or number
end

-- The value of an element with these bits.
local function number_of(format, bits)
  local negative, magnitude = bits >= format.sign, bits % format.sign
  if format.one_zero and bits == format.sign then
    return 0 / 0
  end
  local number = magnitude < format.last and format[magnitude] or magnitude == format.last and format.beyond or 0 / 0
  return negative and -number or number
end

local function same(a, b)
  return a == b and 1 / a == 1 / b or a ~= a and b ~= b
end

local function new(T, ...)
  return torch[T .. 'Storage'](...)
end

local function bytes_of(s)
  return torch.ByteStorage(s:nbytes(), s:data(true)):string()
end

-- Every possible element, in the order of the bits.
local function all(T)
  local bytes = {}
  for i = 0, types.WIDTH[T] == 1 and 255 or 65535 do
    bytes[#bytes + 1] = types.WIDTH[T] == 1 and string.char(i) or string.char(i % 256, math.floor(i / 256))
  end
  return torch[T .. 'Storage'].fromstring(table.concat(bytes))
end

-- The numbers of a format, the midpoints between them, and values just beside: as far as a float and as far as a double can
-- tell.
local function numbers(format)
  local list = { 0 / 0, 1 / 0, -1 / 0, 0, -1 / (1 / 0), 1e300, -1e300, 5e-324, -5e-324, 1e-45, 3.4e38, -3.4e38 }
  for bits = 0, format.last - 1 do
    local middle = (format[bits] + format[bits + 1]) / 2
    for _, number in ipairs { format[bits], middle, middle * (1 + 2 ^ -23), middle * (1 - 2 ^ -24) } do
      list[#list + 1] = number
      list[#list + 1] = -number
    end
  end
  return list
end

for _, T in ipairs(FLOATS) do
  local format = FORMATS[T]

  describe('a ' .. T .. 'Storage', function()
    for _, access in ipairs(accessors.MODES) do
      it('reads the numbers of its format, by accessors ' .. access, function()
        torch.accessors(access)
        local s = all(T)
        local wrong = 0
        local function check(i, x)
          if type(x) ~= 'number' or not same(x, number_of(format, i - 1)) then
            wrong = wrong + 1
          end
        end
        for i = 1, #s do
          check(i, s[i])
        end
        for i, x in s:iter() do
          check(i, x)
        end
        for i, x in ipairs(s:totable()) do
          check(i, x)
        end
        local doubles = s:type 'torch.DoubleStorage'
        for i = 1, #s do
          check(i, doubles[i])
        end
        assert.equal(0, wrong)
      end)

      it('rounds to the nearest number #slow, by accessors ' .. access, function()
        torch.accessors(access)
        local values = torch.DoubleStorage(numbers(format))
        local s = new(T, #values)
        for i = 1, #values do
          s[i] = values[i]
        end
        for i = 1, #values do
          if not same(s[i], nearest(format, values[i])) then
            error(('%.17g is %g, not %g'):format(values[i], s[i], nearest(format, values[i])))
          end
        end
        -- Every way of writing gives the same bits.
        local bytes = bytes_of(s)
        assert.is_true(bytes == bytes_of(new(T, values:totable())), 'a table')
        assert.is_true(bytes == bytes_of(new(T, #values):copy(values)), 'copy')
        assert.is_true(bytes == bytes_of(values:type('torch.' .. T .. 'Storage')), 'type')
        local one = new(T, 1)
        for i = 1, #values, 7 do
          assert.is_true(bytes_of(one:fill(values[i])) == bytes_of(new(T, s, i, 1)), 'fill')
        end
      end)
    end

    it('keeps each NaN a NaN', function()
      for _, access in ipairs(accessors.MODES) do
        torch.accessors(access)
        local s, count = all(T), 0
        for i = 1, #s do
          local x = s[i]
          if x ~= x then
            count = count + 1
            assert.equal('number', type(x))
            assert.is_false(pcall(rawset, {}, x, 1))
            assert.equal('number', type(x + 1))
          end
        end
        local expected = T == 'BFloat16' and 254 or format.one_zero and 1 or format.beyond and 6 or 2
        assert.equal(expected, count)
      end
    end)

    it('is equal to another by value', function()
      local one, other = new(T, { 1, 0, 2 }), new(T, { 1, -1 / (1 / 0), 2 })
      assert.is_true(one:equal(other))
      assert.equal(format.one_zero or false, bytes_of(one) == bytes_of(other))
      one[3] = 3
      assert.is_false(one:equal(other))
      other[3] = 0 / 0
      assert.is_false(other:equal(other))
    end)
  end)
end

describe('bfloat16', function()
  it('rounds only once, from numbers and from 64-bit integers', function()
    for _, access in ipairs(accessors.MODES) do
      torch.accessors(access)
      local s = torch.BFloat16Storage(2)
      -- Rounded to a float first, it would be at a midpoint and go down.
      s[1], s[2] = 1 + 2 ^ -8 + 2 ^ -30, -1 - 2 ^ -8 - 2 ^ -50
      assert.same({ 1.0078125, -1.0078125 }, s:totable())
      assert.equal(1.0078125, torch.BFloat16Storage(1):copy(torch.DoubleStorage { 1 + 2 ^ -8 + 2 ^ -30 })[1])
      assert.equal(2 ^ 30 + 2 ^ 23, torch.BFloat16Storage(1):copy(torch.IntStorage { 2 ^ 30 + 2 ^ 22 + 1 })[1])
      local long = torch.LongStorage { 2 ^ 60 + 2 ^ 52, 1 }
      assert.equal(2 ^ 60, torch.BFloat16Storage(2):copy(long)[1])
      torch.ByteStorage(16, long:data(true))[1] = 1 -- the lowest byte, which does not fit in a double
      assert.equal(2 ^ 60 + 2 ^ 53, torch.BFloat16Storage(2):copy(long)[1])
      if support.luajit then
        s[1] = assert(loadstring 'return 0x1010000000000001LL')()
        assert.equal(2 ^ 60 + 2 ^ 53, s[1])
        s:fill(assert(loadstring 'return 0x8080000000000001ULL')())
        assert.equal(2 ^ 63 + 2 ^ 56, s[2])
      end
    end
  end)

  it('can be byte-swapped, and read at any byte', function()
    support.spit(path 'file', 'x\128\63\0\64\192\127y')
    local s = torch.BFloat16Storage { filename = path 'file', offset = 1, size = 2, shared = true }
    assert.same({ 1, 2 }, s:totable())
    s[2] = -3
    assert.equal('x\128\63\64\192\192\127y', support.slurp(path 'file'))
    assert.equal('\63\128', bytes_of(torch.BFloat16Storage({ 1 }):byteswap()))
    assert.matches('3 bytes', support.failure(torch.BFloat16Storage.fromstring, 'abc'), 1, true)
  end)
end)

describe('the classes that Torch7 does not have', function()
  it('are copied as if their elements were assigned, from every class to every class', function()
    local values =
      { 0, 1, -1, 1.5, -2.5, 0.1, 100, 127, 200.7, 255, 300, 448, 464, 480, -500, 6e4, 61440, 65520, 7e4, 1e5 }
    local rest = { -1 / (1 / 0), 1e-3, 1e-8, 2 ^ 31, -(2 ^ 31) - 1, 2 ^ 40, 2 ^ 53, 1e30, 1e300, 1 / 0, -1 / 0, 0 / 0 }
    for _, value in ipairs(rest) do
      values[#values + 1] = value
    end
    for i = 1, 40 do
      values[#values + 1] = i * 1.37 ^ i
    end
    local is_more = {}
    for _, T in ipairs(types.ADDED) do
      is_more[T] = true
    end
    for _, S in ipairs(types.NUMBERS) do
      local source = new(S, values)
      for _, D in ipairs(types.NUMBERS) do
        if S ~= D and (is_more[S] or is_more[D]) then
          local copied, assigned = new(D, #values):copy(source), new(D, #values)
          for i = 1, #values do
            assigned[i] = support.exact(source, i)
          end
          local wrong = 0
          for i = 1, #values do
            wrong = wrong + (same(copied[i], assigned[i]) and 0 or 1)
          end
          assert.equal(0, wrong, S .. ' to ' .. D)
          assert.is_true(bytes_of(source:type('torch.' .. D .. 'Storage')) == bytes_of(copied), S .. ' to ' .. D)
        end
      end
    end
  end)

  -- Spelled out only here: all other specs take the types from the library, and would not notice a missing one.
  local WIDTHS = 'Byte 1 Char 1 Short 2 Int 4 Long 8 Half 2 Float 4 Double 8 UInt16 2 UInt32 4 UInt64 8 '
    .. 'BFloat16 2 Bool 1 Float8_e4m3fn 1 Float8_e5m2 1 Float8_e4m3fnuz 1 Float8_e5m2fnuz 1 '
    .. 'ComplexFloat 8 ComplexDouble 16 Untyped 1'

  it('are listed after those of Torch7, with these widths in bytes', function()
    local widths = {}
    for i, class in ipairs(require('torch.core').classes) do
      local T = class.name:match '^torch%.(.+)Storage$'
      widths[i] = T .. ' ' .. torch[T .. 'Storage']():elementSize()
    end
    assert.equal(WIDTHS, table.concat(widths, ' '))
  end)

  it('have the names and widths of their rows', function()
    for _, T in ipairs(types.ADDED) do
      local entry = types.ENTRY[T]
      local s = new(T, 3)
      assert.equal('torch.' .. T .. 'Storage', entry.name)
      assert.equal(entry.name, torch.typename(s))
      assert.equal(entry.name, s:type())
      assert.equal(types.WIDTH[T], s:elementSize())
      assert.equal(3 * types.WIDTH[T], s:nbytes())
      assert.matches('%[torch%.' .. T .. 'Storage of size 3%]\n$', tostring(s))
      torch.setdefaulttensortype('torch.' .. T .. 'Tensor')
      assert.equal(torch[T .. 'Storage'], torch.Storage)
      torch.setdefaulttensortype 'torch.DoubleTensor'
    end
  end)

  it('can be found by every name in their rows, like those of Torch7', function()
    local s = torch.IntStorage { 1, 0, 1 }
    for T, entry in pairs(types.ENTRY) do
      local converted = s[entry.cast](s)
      assert.equal(entry.name, converted:type(), entry.cast)
      assert.is_true(T == 'Untyped' or s:equal(converted:int()), entry.cast)
      for name in (T:lower() .. ' ' .. entry.other_names):gmatch '%S+' do
        assert.equal(entry.metatable, torch.getmetatable(name), name)
        assert.equal(entry.name, s:view('torch.' .. name, 0, 0):type(), name)
      end
    end
  end)

  it('are C types to the FFI', function()
    if not support.luajit then
      return
    end
    local ffi = require 'ffi'
    for _, T in ipairs(types.ADDED) do
      local s = new(T, { 1, 0 })
      local data = s:data()
      assert.equal(types.WIDTH[T], ffi.sizeof(types.ENTRY[T].ctype))
      assert.equal(2, tonumber(ffi.cast('TH' .. T .. 'Storage **', s)[0].size))
      assert.equal(2, tonumber(s:cdata().size))
      if types.ENTRY[T].kind ~= 'small float' then
        assert.equal(1, data[0])
      else
        local bytes = bytes_of(s)
        assert.equal(bytes:byte(1) + (types.WIDTH[T] == 2 and 256 * bytes:byte(2) or 0), data[0].x)
      end
      local other = torch[T .. 'Storage'](1, data)
      assert.equal(1, other[1])
    end
  end)

  it('can grow, shrink and be freed in compiled loops', function()
    for _, access in ipairs(accessors.MODES) do
      torch.accessors(access)
      for _, T in ipairs(types.ADDED) do
        local s = new(T, 1)
        for i = 1, 3000 do
          if i > #s then
            s:resize(2 * #s)
          end
          s[i] = i % 2
        end
        local sum = 0
        for i = 1, #s do
          sum = sum + s[i]
        end
        assert.equal(1500, sum)
        local function read(index)
          return s[index]
        end
        s:resize(100)
        for i = 1, 200 do
          assert.equal(i <= 100, (pcall(read, i)))
        end
        s:free()
        assert.matches('storage was freed', support.failure(read, 1), 1, true)
      end
    end
  end)

  it('cannot be saved in .t7 files', function()
    for _, T in ipairs(types.ADDED) do
      local name = 'torch.' .. T .. 'Storage'
      local refused = ('a %s%%s: Torch7 has no such class'):format(name)
      for _, mode in ipairs { 'binary', 'ascii' } do
        local message = support.failure(torch.save, path 'file.t7', { 7, inner = { new(T, 2) } }, mode)
        assert.matches(refused:format ' at inner.1', message, 1, true)
        assert.matches(refused:format '', support.failure(torch.serialize, new(T, 2), mode), 1, true)
      end
      assert.is_nil(io.open(path 'file.t7'))
      -- A file that names one holds an object of an unknown class.
      local file = torch.serialize(torch.record { class = name, version = 1, fields = { x = 5 } })
      local loaded = torch.deserialize(file)
      assert.is_true(torch.isRecord(loaded))
      assert.same({ name, 5 }, { loaded.class, loaded.fields.x })
      -- One with elements, as Torch7 would have written it, is refused.
      local bytes = torch.serialize(torch.ByteStorage { 1, 2, 3 })
      local strange = bytes:gsub('\17%z%z%ztorch.ByteStorage', function()
        return string.char(#name) .. '\0\0\0' .. name
      end)
      assert.is_true(strange ~= bytes)
      assert.equal('string', type(support.failure(torch.deserialize, strange)))
    end
  end)
end)
