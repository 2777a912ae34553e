-- How numbers, strings, names and elements of storages are shown.
local torch = require 'torch.storage'

local text = {}

local LONGEST_STRING = 60

-- A string that a terminal can show: control characters and bytes that are not UTF-8 become \ddd.
function text.printable(bytes)
  return (
    bytes:gsub('[%c\\\127-\255]+', function(run)
      local shown, i = {}, 1
      while i <= #run do
        local first, second = run:byte(i, i + 1)
        local length = first < 194 and 1 or first < 224 and 2 or first < 240 and 3 or first < 245 and 4 or 1
        local character = run:sub(i, i + length - 1)
        if
          length == 1
          or first == 194 and second and second < 160 -- control characters
          or not character:find('^.' .. ('[\128-\191]'):rep(length - 1) .. '$')
        then
          length = 1
          character = first == 92 and '\\\\' or ('\\%03d'):format(first)
        end
        shown[#shown + 1] = character
        i = i + length
      end
      return table.concat(shown)
    end)
  )
end

function text.quoted(bytes)
  if #bytes <= LONGEST_STRING then
    return "'" .. text.printable(bytes) .. "'"
  end
  local last = LONGEST_STRING
  while last > LONGEST_STRING - 3 and bytes:byte(last + 1) >= 128 and bytes:byte(last + 1) < 192 do
    last = last - 1 -- does not cut a UTF-8 character
  end
  return ("'%s...' (%d bytes)"):format(text.printable(bytes:sub(1, last)), #bytes)
end

-- The name of a class or a field, in quotes if it has unusual characters.
function text.plain(name)
  return name:find '^[%a_][%w_.]*$' and #name <= LONGEST_STRING and name or text.quoted(name)
end

function text.counted(n, one, many)
  return ('%.0f %s'):format(n, n == 1 and one or many or one .. 's')
end

-- How many digits a float is shown with: as few as tell it apart from other floats of its type, between these two numbers.
local DIGITS = {
  Double = { 15, 17 },
  Float = { 6, 9 },
  Half = { 3, 5 },
  BFloat16 = { 3, 4 },
  Float8_e4m3fn = { 3, 3 },
  Float8_e5m2 = { 3, 3 },
  Float8_e4m3fnuz = { 3, 3 },
  Float8_e5m2fnuz = { 3, 3 },
}

-- Returns a function that shows floats of this type, as text from which the same float is read.
local function float_shower(kind)
  local fewest, most = DIGITS[kind][1], DIGITS[kind][2]
  local read = torch[kind .. 'Storage'](1)
  return function(number)
    if number ~= number then
      return 'nan' -- interpreters differ in whether they show its sign
    elseif number % 1 == 0 and math.abs(number) < 2 ^ 53 then
      return ('%.0f'):format(number)
    end
    for digits = fewest, most - 1 do
      local shown = ('%.' .. digits .. 'g'):format(number)
      read[1] = tonumber(shown) or number -- `inf` is not a number in every Lua
      if read[1] == number then
        return shown
      end
    end
    return ('%.' .. most .. 'g'):format(number)
  end
end

-- The shortest text from which Lua reads exactly this number.
text.exact = float_shower 'Double'

-- Returns a function that shows element `i` of a storage. Complex numbers are shown as Python does: 1-2j.
function text.shower(storage)
  local kind = torch.typename(storage):match '^torch%.(.*)Storage$'
  local part = kind:match '^Complex(.*)$'
  if part then
    local show = float_shower(part)
    return function(i)
      local re, im = storage:get(i)
      im = show(im)
      return show(re) .. (im:find '^-' and '' or '+') .. im .. 'j'
    end
  elseif DIGITS[kind] then
    local show = float_shower(kind)
    return function(i)
      return show(storage[i])
    end
  end
  return function(i)
    return storage:decimal(i)
  end
end

return text
