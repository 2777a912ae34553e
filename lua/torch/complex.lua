-- Complex numbers as Lua values. On LuaJIT they are values of the FFI type `complex`, on other hosts tables { re =, im = }. Both
-- are read as z.re and z.im, and printed as 1+2i.
local core = require 'torch.core'
local readable = require 'torch.readable'

local has_ffi, ffi = pcall(require, 'ffi')
-- C calls the functions below in the middle of an operation. They use no global variables, because a program can
-- replace those.
local type, rawget, tostring, tonumber, find = type, rawget, tostring, tonumber, string.find
local huge, nan = math.huge, 0 / 0

-- The parts of a table { re =, im = } or of a pair { re, im }. Returns nothing for any other table.
local function of_table(t)
  local re, im = rawget(t, 're'), rawget(t, 'im')
  if re == nil and im == nil and rawget(t, 3) == nil then
    re, im = rawget(t, 1), rawget(t, 2)
  end
  if type(re) == 'number' and type(im) == 'number' then
    return re, im
  end
end

if not has_ffi then
  -- The text of LuaJIT's complex numbers: what is not a finite number ends with I.
  local complex = readable(function(z)
    local re, im = tostring(z.re), tostring(z.im)
    return re .. (find(im, '^%-') and '' or '+') .. im .. (find(im, '%d$') and 'i' or 'I')
  end)
  core.setcomplex(function(re, im)
    return complex { re = re, im = im }
  end, of_table)
  return {}
end

local new, typeof = ffi.new, ffi.typeof
local double = typeof 'complex'

-- The parts of an FFI value may have any bits, and LuaJIT loads a NaN as it is. A NaN with the wrong bits would be another Lua
-- value. So the bits of a part are tested as integers before the part is loaded as a number.
local little = ffi.abi 'le'
local bits = typeof(
  'union { complex value; struct { double re, im; }; struct { uint16_t '
    .. (little and 'rest[3], re_top, others[3], im_top' or 're_top, rest[3], im_top, others[3]')
    .. '; }; struct { uint32_t '
    .. (little and 're_low, re_high, im_low, im_high' or 're_high, re_low, im_high, im_low')
    .. '; }; }'
)
local cell = new(bits)
-- The upper 16 bits of a finite double are less than this, the sign left out.
local LIMIT = 0x7ff0

-- The FFI types that were seen, by their number, which never changes. For a complex type the entry is the upper 16 bits of that
-- number as a double, for any other type false. The name of the type decides, because `ffi.istype` also takes arrays and vectors
-- of two floats for complex numbers.
local kinds = {}

local function kind_of(v)
  local number = tonumber(typeof(v))
  if kinds[number] == nil then
    local name = tostring(typeof(v))
    cell.re = number
    kinds[number] = (name == 'ctype<complex>' or name == 'ctype<complex float>') and cell.re_top
  end
  return kinds[number]
end

-- Whether a value is an FFI complex number with two finite parts.
--
-- To the FFI a ctype looks like one of its own values: the number of the type. So a value whose parts look like that number is
-- turned down here, and the C function decides.
local function is_finite(v)
  if type(v) ~= 'cdata' then
    return false
  end
  local upper = kind_of(v)
  if not upper then
    return false
  end
  cell.value = v
  local re, im = cell.re_top, cell.im_top
  return re % 32768 < LIMIT and im % 32768 < LIMIT and (re ~= upper or im ~= 0)
end

-- The number of a part that is not finite, from its two words.
local function infinite(high, low)
  if high % 0x80000000 ~= 0x7ff00000 or low ~= 0 then
    return nan
  end
  return high < 0x80000000 and huge or -huge
end

core.setcomplex(function(re, im)
  return new(double, re, im)
end, function(v)
  if type(v) == 'table' then
    return of_table(v)
  end
  local upper = kind_of(v)
  if not upper then
    return
  end
  -- This call has a cell of its own, because a debug hook could change the shared one between two steps.
  local own = new(bits)
  own.value = v
  local re, im = own.re_top, own.im_top
  if re == upper and im == 0 and find(tostring(v), 'ctype<', 1, true) == 1 then
    return
  end
  return re % 32768 < LIMIT and own.re or infinite(own.re_high, own.re_low),
    im % 32768 < LIMIT and own.im or infinite(own.im_high, own.im_low)
end)

return { new = new, complex = double, is_finite = is_finite, of_table = of_table }
