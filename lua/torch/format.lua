-- The text of a storage, which `tostring` and `print` show, by the rules of Torch7. Of a long storage only both ends are shown.
-- The text of a tensor, in torch.tensor_format, has elements of the same formats.
--
-- Torch7 chooses one format for all elements, so that the column lines up. The format depends on the least and the greatest
-- magnitude of an element, and on whether all elements are whole numbers. The host's string.format rounds.
local core = require 'torch.core'
local readable = require 'torch.readable'
local versions = require 'torch.versions'

local format = {}

local type, tonumber, pcall, error, pairs, unpack = type, tonumber, pcall, error, pairs, versions.unpack
local string_format, rep, concat = string.format, string.rep, table.concat
local floor, log10, abs, huge = math.floor, versions.log10, math.abs, math.huge
local getinfo = debug and debug.getinfo

local ELISION = ' ...\n'

-- A storage of more than `threshold` elements shows only the first and last `edgeitems` of them.
local options = { threshold = 1000, edgeitems = 10 }

-- The number of digits before the decimal point: 1 for 1 to 9.99, 0 for 0.1 to 0.99, -1 for 0.01 to 0.099. Zero has 1, as in
-- Torch7.
local function digits(magnitude)
  if magnitude == 0 then
    return 1
  end
  return floor(log10(magnitude)) + 1
end

-- The current LuaJIT has an error: in the format %f it shows numbers below 2^-507 as large ones. They should look like zeros.
local misprints = string_format('%.4f', 1e-300) ~= '0.0000'

local function without_tiny(values)
  for i = 1, #values do
    local v = values[i]
    if v > -1e-99 and v < 1e-99 then
      values[i] = v * 0
    end
  end
end

-- The format of an element, and the divisor of all elements, or nil if there is none.
local function layout(values, count)
  local least, greatest, whole = huge, 0, true
  for i = 1, count do
    local v = values[i]
    if v ~= v then
      return '%f'
    end
    if v < 0 then
      v = -v
    end
    if v > greatest then
      greatest = v
    end
    if v < least then
      least = v
    end
    -- An infinity counts as a whole number. It needs its own test, because its remainder is NaN.
    if whole and v % 1 ~= 0 and v ~= huge then
      whole = false
    end
  end
  local most, fewest = digits(greatest), digits(least)
  if whole then
    if most > 9 then
      return '%11.4e'
    end
    return '%' .. most + 1 .. 'd'
  elseif most - fewest > 4 then
    return (abs(most) > 99 or abs(fewest) > 99) and '%12.4e' or '%11.4e'
  elseif most > 5 or most < 0 then
    -- tonumber rounds correctly on every version of Lua, even to subnormal numbers. The operator `^` does not.
    return '%7.4f', tonumber('1e' .. most - 1)
  elseif most == 0 then
    return '%7.4f'
  end
  return '%' .. most + 6 .. '.4f'
end

-- Appends the lines of the elements `first` to `last`. A line shows `per` values. One call of string.format makes many lines,
-- because a call and a string for each element would cost more than the digits.
local BLOCK = 100

local function append(lines, item, values, per, first, last)
  local line = item .. '\n'
  local block = rep(line, BLOCK)
  while last - first + 1 >= BLOCK do
    lines[#lines + 1] = string_format(block, unpack(values, (first - 1) * per + 1, (first + BLOCK - 1) * per))
    first = first + BLOCK
  end
  if first <= last then
    lines[#lines + 1] = string_format(rep(line, last - first + 1), unpack(values, (first - 1) * per + 1, last * per))
  end
end

-- The parts of complex elements in one list: the real and the imaginary part of the first element, then those of the second.
local function parts_of(elements)
  local parts = {}
  for i = 1, #elements do
    parts[2 * i - 1], parts[2 * i] = elements[i].re, elements[i].im
  end
  return parts
end

-- The format of a complex element, such as ` 1.0000 - 2.5000i`, and the values that are filled in. Both parts have the same
-- number format. The sign of the imaginary part is a value of its own.
local function with_signs(item, parts)
  local values = {}
  for i = 1, #parts, 2 do
    local re, im = parts[i], parts[i + 1]
    local count = #values
    local is_negative = im < 0 or im == 0 and 1 / im < 0
    values[count + 1], values[count + 2], values[count + 3] = re, is_negative and '-' or '+', abs(im)
  end
  local unsigned = item:gsub('^%%(%d+)', function(width)
    return '%' .. tonumber(width) - 1
  end)
  return item .. ' %s ' .. unsigned .. 'i', values
end

-- The elements as floats, where Lua has integers too: the least integer has no magnitude, and those of a UInt64 are wrapped.
local function as_floats(values, is_wrapped)
  for i = 1, #values do
    local v = values[i] + 0.0
    values[i] = is_wrapped and v < 0 and v + 2.0 ^ 64 or v
  end
end

-- Chooses the format of a list of elements of a class, which it changes. Returns the format of an element, the values that are
-- filled in, how many of them an element takes, and the line with the factor, or nil if there is none.
function format.prepare(values, name)
  local per, is_complex = 1, type(values[1]) ~= 'number'
  if is_complex then
    values = parts_of(values)
  elseif versions.has_integers then
    as_floats(values, name:find('^torch%.UInt64') ~= nil)
  end
  local item, scale = layout(values, #values)
  if scale then
    for i = 1, #values do
      values[i] = values[i] / scale
    end
  end
  if misprints and item:find 'f$' then
    without_tiny(values)
  end
  if is_complex then
    item, values = with_signs(item, values)
    per = 3
  end
  return item, values, per, scale and string_format('%g *\n', scale)
end

-- The elements that are shown. If some are left out, also the number of elements that are shown before them.
local function shown(s, size)
  local edge = options.edgeitems
  if size <= options.threshold or size <= 2 * edge then
    return s:totable()
  end
  local values = {}
  for i = 1, edge do
    values[i] = s[i]
    values[edge + i] = s[size - edge + i]
  end
  return values, edge
end

-- The name of the class or type of a value.
function format.typename(value)
  return core.typename(value) or type(value)
end

-- Raises an error of a function that `tostring` calls, at the position of the innermost Lua code outside of that function.
-- Between the two there may be any number of C functions, such as tostring and print.
function format.raise(message)
  local level = 3
  while getinfo do
    local info = getinfo(level, 'l')
    if not info then
      break
    elseif info.currentline > 0 then
      error(message, level)
    end
    level = level + 1
  end
  error(message, 0)
end

local function facts(s)
  return s:size(), s:type()
end

-- The text of a storage, which ends in a newline.
function format.tostring(s)
  local ok, size, name = pcall(facts, s)
  if not ok then
    local freed = type(size) == 'string' and size:find('storage was freed', 1, true)
    if not freed and core.isStorage(s) then
      error(size, 0) -- an error of the host: the stack overflowed, or a hook raised it
    end
    local fact = freed and 'storage was freed' or 'torch.*Storage expected, got ' .. format.typename(s)
    format.raise("bad argument #1 to 'tostring' (" .. fact .. ')')
  end
  local lines = {}
  if size > 0 then
    local values, edge = shown(s, size)
    local count = #values
    local item, per
    item, values, per, lines[1] = format.prepare(values, name)
    append(lines, item, values, per, 1, edge or count)
    if edge then
      lines[#lines + 1] = ELISION
      append(lines, item, values, per, edge + 1, count)
    end
  end
  lines[#lines + 1] = '[' .. name .. ' of size ' .. versions.whole(size) .. ']\n'
  return concat(lines)
end

-- The problem with the value of an option, or nil if there is none.
local function fault(key, value)
  if options[key] == nil then
    return 'no option ' .. tostring(key) .. ': the options are threshold and edgeitems'
  elseif type(value) ~= 'number' then
    return key .. ': number expected, got ' .. format.typename(value)
  elseif key == 'threshold' and value == huge then
    return nil -- all elements are always shown
  elseif not (value >= 0 and value < huge and value == floor(value)) then
    return key .. ': whole number of at least 0 expected, got ' .. tostring(value)
  end
end

-- torch.setprintoptions{threshold =, edgeitems =}: changes the options that are given. If one of them is wrong, none is changed.
-- `threshold` is a number of elements or math.huge.
function format.set(...)
  local given = ...
  if type(given) ~= 'table' then
    local got = select('#', ...) == 0 and 'no value' or format.typename(given)
    error("bad argument #1 to 'setprintoptions' (table expected, got " .. got .. ')', 2)
  end
  for key, value in pairs(given) do
    local message = fault(key, value)
    if message then
      error("bad argument #1 to 'setprintoptions' (" .. message .. ')', 2)
    end
  end
  for key, value in pairs(given) do
    options[key] = value
  end
end

local print_options = readable(function(copy)
  return ('print options: threshold %s, edgeitems %s'):format(tostring(copy.threshold), tostring(copy.edgeitems))
end)

-- torch.getprintoptions(): a copy of the options in force, which torch.setprintoptions takes.
function format.get()
  return print_options { threshold = options.threshold, edgeitems = options.edgeitems }
end

return format
