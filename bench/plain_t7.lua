-- The binary .t7 format in plain Lua 5.1, for tables, strings, numbers and booleans. bench/t7.lua compares the library with it.
local byte, char, sub = string.byte, string.char, string.sub
local floor, frexp, ldexp, huge = math.floor, math.frexp, math.ldexp, math.huge

local plain = {}

local function int(n)
  return char(n % 256, floor(n / 256) % 256, floor(n / 65536) % 256, floor(n / 16777216) % 256)
end

-- The tag and the 8 bytes of a number.
local function number(n)
  local sign, exponent, mantissa = 0, 0, 0
  if n < 0 or n == 0 and 1 / n < 0 then
    sign, n = 128, -n
  end
  if n ~= n then
    exponent, mantissa = 2047, 2 ^ 51
  elseif n == huge then
    exponent = 2047
  elseif n >= 2 ^ -1022 then
    mantissa, exponent = frexp(n)
    mantissa, exponent = (mantissa * 2 - 1) * 2 ^ 52, exponent + 1022
  else
    mantissa = n * 2 ^ 537 * 2 ^ 537
  end
  local low = mantissa % 4294967296
  local high = (mantissa - low) / 4294967296
  return char(
    1,
    0,
    0,
    0,
    low % 256,
    floor(low / 256) % 256,
    floor(low / 65536) % 256,
    floor(low / 16777216),
    high % 256,
    floor(high / 256) % 256,
    floor(high / 65536) + exponent % 16 * 16,
    sign + floor(exponent / 16)
  )
end

function plain.serialize(object)
  local parts, count, indices, objects = {}, 0, {}, 0

  local function write(value)
    local kind = type(value)
    count = count + 1
    if kind == 'number' then
      parts[count] = number(value)
    elseif kind == 'string' then
      parts[count] = '\2\0\0\0' .. int(#value) .. value
    elseif kind == 'boolean' then
      parts[count] = value and '\5\0\0\0\1\0\0\0' or '\5\0\0\0\0\0\0\0'
    elseif kind == 'table' then
      local index = indices[value]
      if index then
        parts[count] = '\3\0\0\0' .. int(index)
        return
      end
      objects = objects + 1
      indices[value] = objects
      local header, first, entries = count, objects, 0
      for key, inner in next, value do
        entries = entries + 1
        write(key)
        write(inner)
      end
      parts[header] = '\3\0\0\0' .. int(first) .. int(entries)
    elseif kind == 'nil' then
      parts[count] = '\0\0\0\0'
    else
      error('cannot save a ' .. kind)
    end
  end

  write(object)
  return table.concat(parts)
end

function plain.deserialize(bytes)
  local position, objects = 1, {}

  local function read_int()
    local a, b, c, d = byte(bytes, position, position + 3)
    position = position + 4
    return a + b * 256 + c * 65536 + d * 16777216
  end

  local function read()
    local tag = byte(bytes, position)
    position = position + 4
    if tag == 1 then
      local a, b, c, d, e, f, g, h = byte(bytes, position, position + 7)
      position = position + 8
      local exponent = h % 128 * 16 + floor(g / 16)
      local mantissa = ((g % 16 * 65536 + f * 256 + e) * 4294967296) + a + b * 256 + c * 65536 + d * 16777216
      local value
      if exponent == 2047 then
        value = mantissa == 0 and huge or huge - huge
      elseif exponent == 0 then
        value = ldexp(mantissa, -1074)
      else
        value = ldexp(1 + mantissa / 4503599627370496, exponent - 1023)
      end
      return h < 128 and value or -value
    elseif tag == 2 then
      local first = position + 4
      local length = read_int()
      position = first + length
      return sub(bytes, first, position - 1)
    elseif tag == 3 then
      local index = read_int()
      local known = objects[index]
      if known then
        return known
      end
      local object = {}
      objects[index] = object
      for _ = 1, read_int() do
        local key = read()
        object[key] = read()
      end
      return object
    elseif tag == 5 then
      return read_int() == 1
    elseif tag == 0 then
      return nil
    end
    error('unknown tag at byte ' .. position - 5)
  end

  return read()
end

return plain
