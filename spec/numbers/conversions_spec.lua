-- The recorded number conversions of Torch7, row by row and bit by bit: tests/data/conversions.tsv.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local ROWS = { copy = 2122, fill = 775, set = 793, table = 842 }
local POSITIONS = 67 -- long enough for a vector body and a tail at every width

-- The columns of the file: op, src, dst, input, output, in_bits, out_bits, note. Bits are in big-endian hexadecimal.
local function bytes_of(bits)
  local bytes = bits:gsub('%x%x', function(pair)
    return string.char(tonumber(pair, 16))
  end)
  return bytes:reverse()
end

-- Whether the input is a decimal integer in a string of more than 32 bits. Here these are exact: see exact_spec.lua.
local function is_exact(src, input)
  local digits = src == 'string' and input:match '^"%s*([+-]?%d+)%s*"$'
  return digits and math.abs(tonumber(digits)) >= 2 ^ 31
end

-- rows[op][dst] in the order of the file, without rows that this interpreter cannot represent or that have exact integers.
local function read(name)
  local rows, counts = {}, {}
  local other = support.luajit and 'lua51 only' or 'luajit only'
  for line in io.lines(name) do
    local columns = {}
    for column in (line .. '\t'):gmatch '(.-)\t' do
      columns[#columns + 1] = column
    end
    local op, src, dst, input, output, in_bits, out_bits, note = unpack(columns)
    if ROWS[op] then
      counts[op] = (counts[op] or 0) + 1
      if not note:find(other, 1, true) and not is_exact(src, input) then
        rows[op] = rows[op] or {}
        rows[op][dst] = rows[op][dst] or {}
        local row = { src = src, input = input, text = line, raises = output == 'ERROR' }
        row.before, row.after = bytes_of(in_bits), bytes_of(out_bits)
        table.insert(rows[op][dst], row)
      end
    end
  end
  return rows, counts
end

local rows, counts = read 'tests/data/conversions.tsv'

-- 0/0 as x86 makes it, with the sign set; other processors leave the sign clear.
local NAN = torch.DoubleStorage.fromstring('\0\0\0\0\0\0\248\255')[1]

-- What tonumber does not read in every Lua, or reads as an integer, which has no -0. LuaJIT of 2022 reads the literal -0.0 as 0
-- on ARM64.
local NUMBERS = { inf = math.huge, ['-inf'] = -math.huge, ['-0'] = 0 / -1 }

local function value_of(row)
  if row.src == 'string' then
    return assert(loadstring('return ' .. row.input))()
  elseif row.input == 'nan' then
    return NAN
  end
  return assert(NUMBERS[row.input] or tonumber(row.input), row.text)
end

-- The bytes of a number as an integer of `width` bytes, lowest first: the number is truncated, and the low bits are kept.
local function integer_bytes(value, width)
  if value ~= value or value == math.huge or value == -math.huge then
    value = 0
  end
  value = math.fmod(value < 0 and math.ceil(value) or math.floor(value), 2 ^ (8 * width))
  local negative = value < 0
  local carry, bytes = 1, {}
  value = math.abs(value)
  for i = 1, width do
    local byte = value % 256
    value = (value - byte) / 256
    if negative then -- the two's complement
      byte = 255 - byte + carry
      carry = byte == 256 and 1 or 0
      byte = byte % 256
    end
    bytes[i] = string.char(byte)
  end
  return table.concat(bytes)
end

-- The bytes of a decimal integer of any length as an integer of `width` bytes, lowest first; nil for any other text.
local function decimal_bytes(text, width)
  local sign, digits = text:match '^%s*([+-]?)(%d+)%s*$'
  if not digits then
    return nil
  end
  local bytes = {}
  for i = 1, width do
    bytes[i] = 0
  end
  for digit in digits:gmatch '%d' do
    local carry = tonumber(digit)
    for i = 1, width do
      local sum = 10 * bytes[i] + carry
      bytes[i] = sum % 256
      carry = (sum - bytes[i]) / 256
    end
  end
  local carry = 1
  for i = 1, width do
    if sign == '-' then
      local sum = 255 - bytes[i] + carry
      carry = sum == 256 and 1 or 0
      bytes[i] = sum % 256
    end
    bytes[i] = string.char(bytes[i])
  end
  return table.concat(bytes)
end

-- A NaN that was computed has the sign that the processor gives it: set on x86, clear on ARM64. So the NaNs of floats are
-- compared without it.
local HAS_SIGN = { Float = true, Double = true }
local function without_sign(bytes)
  return bytes and bytes:sub(1, -2) .. string.char(bytes:byte(-1) % 128)
end

local INTEGER = { Byte = true, Char = true, Short = true, Int = true, Long = true }

-- The expected bytes, or nil for an error. Torch7 read strings by other rules in tables than elsewhere. Here a decimal integer
-- keeps its low bits, and Lua's rules apply to all other strings, as they did for floating point.
local function expected(_, dst, row)
  -- Since Lua 5.2, `nan` and `inf` are not numbers.
  if row.src == 'string' and not tonumber(value_of(row)) and not support.luajit then
    return nil
  elseif row.src == 'string' and INTEGER[dst] then
    local text, width = value_of(row), types.WIDTH[dst]
    local value = tonumber(text)
    return decimal_bytes(text, width) or (value and integer_bytes(value, width))
  end
  return not row.raises and row.after or nil
end

local function hex(bytes)
  return bytes and bytes:reverse():gsub('.', function(c)
    return ('%02x'):format(c:byte())
  end) or 'an error'
end

describe('the recorded conversions', function()
  local directory, maps

  -- A file that is mapped by a storage of each class and by a byte storage, which shows the bits of any class.
  setup(function()
    directory, maps = support.directory(), {}
    for _, T in ipairs(types.TORCH7) do
      local name = directory .. '/' .. T
      maps[T] = {
        elements = torch[T .. 'Storage'](name, true, POSITIONS),
        bytes = torch.ByteStorage(name, true, POSITIONS * types.WIDTH[T]),
      }
    end
  end)

  teardown(function()
    maps = nil
    support.collect()
    support.remove(directory)
  end)

  local function bytes(T, storage)
    local map, size = maps[T], storage:size()
    torch[T .. 'Storage'](map.elements, 1, size):copy(storage)
    return map.bytes:string():sub(1, size * types.WIDTH[T])
  end

  it('are complete', function()
    assert.same(ROWS, counts)
  end)

  it('of strings agree with the rule that this spec uses', function()
    for op, classes in pairs(rows) do
      for dst, list in pairs(classes) do
        for _, row in ipairs(list) do
          if row.src == 'number' and INTEGER[dst] then
            local result = integer_bytes(value_of(row), types.WIDTH[dst])
            assert.equal(hex(row.after), hex(result), op .. ': ' .. row.text)
          end
        end
      end
    end
  end)

  local store = {
    fill = function(dst, value)
      return torch[dst .. 'Storage'](1):fill(value)
    end,
    set = function(dst, value)
      local s = torch[dst .. 'Storage'](1)
      s[1] = value
      return s
    end,
    table = function(dst, value)
      return torch[dst .. 'Storage'] { value }
    end,
  }

  for op, make in pairs(store) do
    for _, dst in ipairs(types.TORCH7) do
      it(op .. ' into ' .. dst, function()
        local wrong = {}
        for _, row in ipairs(rows[op][dst]) do
          local want = expected(op, dst, row)
          local ok, result = pcall(make, dst, value_of(row))
          local got = ok and bytes(dst, result) or nil
          if row.input == 'nan' and HAS_SIGN[dst] then
            got, want = without_sign(got), without_sign(want)
          end
          if got ~= want then
            wrong[#wrong + 1] = ('%s: %s, got %s'):format(row.text, hex(want), hex(got))
          elseif not ok and not result:find('number', 1, true) then
            wrong[#wrong + 1] = row.text .. ': ' .. result
          end
        end
        assert.equal('', support.joined(wrong, '\n'))
      end)
    end
  end

  for _, dst in ipairs(types.TORCH7) do
    it('copy into ' .. dst .. ', each value alone', function()
      local wrong = {}
      for _, row in ipairs(rows.copy[dst]) do
        local source = torch[row.src .. 'Storage'].fromstring(row.before)
        local got = bytes(dst, torch[dst .. 'Storage'](1):copy(source))
        if got ~= row.after then
          wrong[#wrong + 1] = ('%s: got %s'):format(row.text, hex(got))
        end
      end
      assert.equal('', support.joined(wrong, '\n'))
    end)

    -- An array with all recorded values, rotated step by step: every value at every position.
    it('copy into ' .. dst .. ', each value at every position', function()
      local by_source = {}
      for _, row in ipairs(rows.copy[dst]) do
        by_source[row.src] = by_source[row.src] or {}
        table.insert(by_source[row.src], row)
      end
      local width = types.WIDTH[dst]
      for src, list in pairs(by_source) do
        for shift = 0, #list - 1 do
          local before, after, order = {}, {}, {}
          for i = 1, POSITIONS do
            order[i] = list[(i + shift) % #list + 1]
            before[i], after[i] = order[i].before, order[i].after
          end
          local source = torch[src .. 'Storage'].fromstring(table.concat(before))
          local got = bytes(dst, torch[dst .. 'Storage'](POSITIONS):copy(source))
          if got ~= table.concat(after) then
            for i = 1, POSITIONS do
              local one = got:sub((i - 1) * width + 1, i * width)
              assert.equal(hex(after[i]), hex(one), ('%s at position %d'):format(order[i].text, i))
            end
          end
        end
      end
    end)
  end
end)
