-- Makes the bytes of .t7 files by hand: for files that no program saves, and files of other machines.
--
--   local b64 = made.formats.b64                          also b32, ascii, big64, big32 (big endian)
--   b64.table(1, { b64.number(1), b64.string 'x' })       the table { 'x' } with the index 1
--
-- Every function returns a string. An index is the number that refers to an object.
local torch = require 'torch'

local made = { formats = {}, NAMES = { 'b64', 'b32', 'ascii', 'big64', 'big32' } }

-- The largest long, which a Lua number cannot represent.
made.MAX_LONG = '9223372036854775807'

-- The tags of the kinds of objects.
made.NIL, made.NUMBER, made.STRING, made.TABLE, made.TORCH, made.BOOLEAN = 0, 1, 2, 3, 4, 5

-- An integer as `width` bytes in two's complement, lowest byte first.
local function integer(n, width)
  if n == made.MAX_LONG then
    return ('\255'):rep(width - 1) .. '\127'
  end
  if n < -2 ^ (8 * width - 1) or n >= 2 ^ (8 * width) then
    error(('%.0f does not fit in %d bytes'):format(n, width))
  end
  local bytes = {}
  for i = 1, width do
    bytes[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(bytes)
end

-- One element of a float class. The sign of a NaN is always positive, whatever the interpreter makes.
local function floating(T, value)
  if value ~= value then
    local bytes = { Half = '\0\126', Float = '\0\0\192\127', Double = '\0\0\0\0\0\0\248\127' }
    return bytes[T]
  end
  return torch[T .. 'Storage']({ value }):string()
end

local WIDTH = { Byte = 1, Char = 1, Short = 2, Int = 4, Half = 2, Float = 4, Double = 8 }

-- Writers of elements and fields for binary files.
local function binary(long, big)
  local function turned(bytes)
    return big and bytes:reverse() or bytes
  end
  local way = {}

  function way.elements(T, values)
    local parts = {}
    for i, value in ipairs(values) do
      if T == 'Float' or T == 'Double' or T == 'Half' then
        parts[i] = turned(floating(T, value))
      else
        parts[i] = turned(integer(value, T == 'Long' and long or WIDTH[T]))
      end
    end
    return table.concat(parts)
  end

  function way.raw(s)
    return s
  end
  return way
end

local function text(T, value)
  if type(value) == 'string' then
    return value
  elseif value ~= value then
    return 'nan'
  elseif T == 'Double' then
    return ('%.17g'):format(value)
  elseif T == 'Float' or T == 'Half' then
    return ('%.9g'):format(torch[T .. 'Storage']({ value })[1])
  end
  return ('%.0f'):format(value)
end

local function ascii()
  local way = {}

  function way.elements(T, values)
    if #values == 0 then
      return ''
    end
    local parts = {}
    for i, value in ipairs(values) do
      parts[i] = (T == 'Byte' or T == 'Char') and string.char(value % 256) or text(T, value)
    end
    return table.concat(parts, (T == 'Byte' or T == 'Char') and '' or ' ') .. '\n'
  end

  function way.raw(s)
    return s == '' and '' or s .. '\n' -- as Torch7 does: no line for no elements
  end
  return way
end

-- The functions of a format, given its writers of elements.
local function format(way)
  local f = {}

  function f.elements(T, values)
    return way.elements(T, values)
  end

  function f.int(...)
    return way.elements('Int', { ... })
  end

  function f.long(...)
    return way.elements('Long', { ... })
  end

  function f.double(...)
    return way.elements('Double', { ... })
  end

  -- A string with its length before it, or with the false length `length`.
  function f.bytes(s, length)
    return f.int(length or #s) .. way.raw(s)
  end

  f.null = f.int(made.NIL)

  function f.number(n)
    return f.int(made.NUMBER) .. f.double(n)
  end

  function f.string(s, length)
    return f.int(made.STRING) .. f.bytes(s, length)
  end

  function f.boolean(b)
    return f.int(made.BOOLEAN) .. f.int(b and 1 or 0)
  end

  -- A table of the keys and values that alternate in the list, with its count or the false count `count`.
  function f.pairs(index, objects, count)
    return f.int(made.TABLE) .. f.int(index) .. f.int(count or #objects / 2) .. table.concat(objects)
  end

  -- An array of objects.
  function f.table(index, objects)
    local both = {}
    for i, object in ipairs(objects) do
      both[2 * i - 1] = f.number(i)
      both[2 * i] = object
    end
    return f.pairs(index, both)
  end

  -- A reference to an object that came before.
  function f.reference(tag, index)
    return f.int(tag) .. f.int(index)
  end

  -- The header of a torch object. It has no version if `version` is false.
  function f.head(index, class, version)
    local first = version == false and '' or f.bytes('V ' .. (version or 1))
    return f.int(made.TORCH) .. f.int(index) .. first .. f.bytes(class)
  end

  -- A storage with its size, or with the false size `size`.
  function f.storage(index, T, values, size)
    return f.head(index, 'torch.' .. T .. 'Storage') .. f.long(size or #values) .. f.elements(T, values)
  end

  -- A tensor. `storage` is the bytes of its storage object.
  function f.tensor(index, class, size, stride, offset, storage, dimensions)
    return f.head(index, class)
      .. f.int(dimensions or #size)
      .. f.elements('Long', size)
      .. f.elements('Long', stride)
      .. f.long(offset)
      .. storage
  end

  -- A function. Tag 6 has no index.
  function f.code(tag, index, code, upvalues)
    return f.int(tag) .. (tag == 6 and '' or f.int(index)) .. f.bytes(code) .. upvalues
  end
  return f
end

made.formats.b64 = format(binary(8, false))
made.formats.b32 = format(binary(4, false))
made.formats.big64 = format(binary(8, true))
made.formats.big32 = format(binary(4, true))
made.formats.ascii = format(ascii())

return made
