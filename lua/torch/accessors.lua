-- Element access and small methods as LuaJIT compiles them: Lua functions over the FFI in place of the C functions, where the JIT
-- is on. Their source, and why nothing in it can be left out, is in accessor_source.lua.
local core = require 'torch.core'

-- However often this file is loaded in a Lua state, its metatables are the same: the first load has changed them already.
if core.accessors then
  return core.accessors
end

local has_ffi, ffi = pcall(require, 'ffi')
local jit = rawget(_G, 'jit')

if not has_ffi or not jit then
  -- torch.accessors on PUC Lua: there is only C.
  return function(mode)
    if mode ~= nil and mode ~= 'c' then
      error("bad argument #1 to 'accessors' (only 'c' here: 'ffi' needs LuaJIT)", 2)
    end
    return 'c'
  end
end

local getmetatable, type, tonumber, loadstring = getmetatable, type, tonumber, loadstring
local accessor_source = require 'torch.accessor_source'
local complex = require 'torch.complex'
local cast = ffi.cast
local bit = require 'bit'
local has_new_table, new_table = pcall(require, 'table.new')
if not has_new_table then
  new_table = function()
    return {}
  end
end

local magics = {}
for _, entry in ipairs(core.classes) do
  magics[entry.metatable] = cast('uintptr_t', entry.magic)
end

-- The functions of the library that are called without Lua's C API.
local function direct_functions()
  local direct = {}
  for _, entry in ipairs(core.direct) do
    direct[entry.name] = cast(ffi.typeof(entry.ctype), cast('intptr_t', entry.address))
  end
  return direct
end

-- Per class: the metatable, and by name the C functions and, once they have been asked for, their FFI versions.
local sides = {}
for _, entry in ipairs(core.classes) do
  local c = {}
  for _, name in ipairs {
    '__index',
    '__newindex',
    '__len',
    '__len__',
    'size',
    'get',
    'set',
    'fill',
    'copy',
    'iter',
    'totable',
  } do
    c[name] = entry.metatable[name]
  end
  sides[#sides + 1] = { metatable = entry.metatable, c = c }
end

local function build()
  local direct = direct_functions()
  local convert = ffi.typeof 'uint16_t (*)(double)'
  -- What the functions of all classes use.
  local shared = {
    cast = cast,
    getmetatable = getmetatable,
    type = type,
    tonumber = tonumber,
    min = math.min,
    huge = math.huge,
    band = bit.band,
    bor = bit.bor,
    lshift = bit.lshift,
    rshift = bit.rshift,
    single = ffi.new 'union { float value; int32_t bits; }',
    double = ffi.new(
      ('union { double value; int64_t bits; struct { int32_t %s; }; }'):format(
        ffi.abi 'le' and 'low, high' or 'high, low'
      )
    ),
    fence = direct.fence,
    fill = direct.fill,
    copy = direct.copy,
    light = core.light,
    magics = magics,
    new_table = new_table,
    new = complex.new,
    complex = complex.complex,
    is_finite = complex.is_finite,
    of_table = complex.of_table,
  }
  for number, entry in ipairs(core.classes) do
    local source, payload = accessor_source(entry, core.fields)
    local make = assert(loadstring(source, '=torch.accessors.' .. entry.element))
    sides[number].ffi = make({
      payloads = ffi.typeof(payload .. ' *'),
      metatable = entry.metatable,
      magic = magics[entry.metatable],
      c = sides[number].c,
      step = (entry.constructor():iter()),
      numbers = entry.bits and direct.numbers(number - 1),
      bits_of = entry.bits and cast(convert, cast('intptr_t', entry.bits)),
    }, shared)
  end
end

local current = 'c'

-- Puts the functions of `mode` in the place of the others; what a program has replaced stays.
local function install(mode)
  if mode == 'ffi' and not sides[1].ffi then
    build()
  end
  for _, side in ipairs(sides) do
    for name, old in pairs(side[current]) do
      if rawequal(side.metatable[name], old) then
        side.metatable[name] = side[mode][name]
      end
    end
  end
  current = mode
end

-- torch.accessors([mode]): 'ffi' or 'c' chooses how elements are accessed; returns what is in force. With the JIT off FFI
-- accesses are slower than C by far.
function core.accessors(mode)
  if mode ~= nil then
    if mode ~= 'ffi' and mode ~= 'c' then
      local got = type(mode) == 'string' and "'" .. mode .. "'" or core.typename(mode) or type(mode)
      error("bad argument #1 to 'accessors' ('ffi' or 'c' expected, got " .. got .. ')', 2)
    end
    install(mode)
  end
  return current
end

-- With the JIT off they would be slower than C.
if jit.status() then
  install 'ffi'
end

return core.accessors
