-- How t7dump shows numbers, strings, names and elements of storages.
local torch = require 'torch.storage'

local text = {}

local LONGEST_STRING = 60

-- A string that a terminal can show: control characters and bytes that are not UTF-8 become \ddd.
function text.printable(bytes)
  return (
    bytes:gsub('[%z\1-\31\\\127-\255]+', function(run)
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

-- The shortest text from which Lua reads exactly this number.
function text.exact(number)
  if number ~= number then
    return 'nan' -- interpreters differ in whether they show its sign
  elseif number % 1 == 0 and math.abs(number) < 2 ^ 53 then
    return ('%.0f'):format(number)
  end
  for digits = 15, 17 do
    local shown = ('%.' .. digits .. 'g'):format(number)
    if tonumber(shown) == number or digits == 17 then
      return shown
    end
  end
end

-- All digits of a 64-bit element, which a Lua number may not hold. Ascii .t7 files contain them.
local function long(storage, i)
  return (torch.serialize(storage:sub(i, i), 'ascii'):match '(%-?%d+)\n$')
end

-- For each class: NumPy's name of the element type, and a function that shows an element.
local function whole(storage, i)
  return ('%d'):format(storage[i])
end
local function digits(n)
  return function(storage, i)
    return ('%.' .. n .. 'g'):format(storage[i])
  end
end
text.ELEMENTS = {
  ['torch.ByteStorage'] = { descr = '|u1', show = whole },
  ['torch.CharStorage'] = { descr = '|i1', show = whole },
  ['torch.ShortStorage'] = { descr = '<i2', show = whole },
  ['torch.IntStorage'] = { descr = '<i4', show = whole },
  ['torch.LongStorage'] = { descr = '<i8', show = long },
  ['torch.HalfStorage'] = { descr = '<f2', show = digits(4) },
  ['torch.FloatStorage'] = { descr = '<f4', show = digits(7) },
  ['torch.DoubleStorage'] = {
    descr = '<f8',
    show = function(storage, i)
      return text.exact(storage[i])
    end,
  },
}

return text
