-- Complex numbers as Lua values: `complex` of LuaJIT's FFI, and on other hosts tables { re =, im = }; read as z.re and z.im.
local core = require 'torch.core'

local has_ffi, ffi = pcall(require, 'ffi')
-- C calls these in the middle of our functions: what they use is not looked up anew.
local type, rawget, tostring, tonumber, find = type, rawget, tostring, tonumber, string.find

-- The parts of { re =, im = } or of a pair; nothing for another table.
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
  core.setcomplex(function(re, im)
    return { re = re, im = im }
  end, of_table)
  return {}
end

local new, istype = ffi.new, ffi.istype
local double, single = ffi.typeof 'complex', ffi.typeof 'complex float'
local number_of_double, number_of_single = tonumber(double), tonumber(single)

-- Whether a value is a complex number of the FFI. A ctype passes for one of its own values, and counts as its number: a complex
-- number that has this number may be one, and is left to C.
local function is_complex(v)
  if type(v) ~= 'cdata' then
    return false
  elseif istype(double, v) then
    return tonumber(v) ~= number_of_double
  end
  return istype(single, v) and tonumber(v) ~= number_of_single
end

local function is_ctype(v)
  return find(tostring(v), 'ctype<', 1, true) == 1
end

core.setcomplex(function(re, im)
  return new(double, re, im)
end, function(v)
  if type(v) == 'table' then
    return of_table(v)
  elseif (istype(double, v) or istype(single, v)) and (is_complex(v) or not is_ctype(v)) then
    return v.re, v.im
  end
end)

return { new = new, complex = double, is_complex = is_complex }
