-- Chooses how elements are accessed: by C functions, or on LuaJIT by Lua functions over the FFI, which LuaJIT compiles. The
-- source of those, and the reason for each of their checks, is in accessor_source.lua.
local core = require 'torch.core'

-- A Lua state may load this file several times, but its metatables are the same each time. The first load has changed them.
if core.accessors then
  return core.accessors
end

local has_ffi, ffi = pcall(require, 'ffi')
local jit = rawget(_G, 'jit')

-- What an error says that it got in place of a mode.
local function got(mode)
  return type(mode) == 'string' and "'" .. mode .. "'" or core.typename(mode) or type(mode)
end

if not has_ffi or not jit then
  -- torch.accessors without LuaJIT's FFI: there are only the C functions.
  return function(mode)
    if mode ~= nil and mode ~= 'c' then
      error("bad argument #1 to 'accessors' ('c' expected, got " .. got(mode) .. "; 'ffi' needs LuaJIT)", 2)
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

-- The C functions of the library that are called through the FFI, without Lua's C API.
local function direct_functions()
  local direct = {}
  for _, entry in ipairs(core.direct) do
    direct[entry.name] = cast(ffi.typeof(entry.ctype), cast('intptr_t', entry.address))
  end
  return direct
end

local NAMES = {
  '__index',
  '__newindex',
  '__len',
  '__len__',
  'size',
  'get',
  'set',
  'exact',
  'fill',
  'copy',
  'iter',
  'totable',
}

local function c_functions(metatable)
  local c = {}
  for _, name in ipairs(NAMES) do
    c[name] = metatable[name]
  end
  return c
end

-- LuaJIT of 2022 and OpenResty's compile this loop wrongly in 7 of 100 processes: the tables `c` then lack all names but one.
-- So it is not compiled. In a finalizer, where jit.off is an error, nothing is.
pcall(jit.off, c_functions)

-- For each class its metatable, the table `c` of its C functions by name, and the table `ffi` of the functions that replace
-- them, which is made when it is needed first.
local sides = {}
for _, entry in ipairs(core.classes) do
  sides[#sides + 1] = { metatable = entry.metatable, c = c_functions(entry.metatable) }
end

-- Makes the FFI versions for every class. Each chunk gets two tables: what belongs to its class, and what all chunks share.
local function build()
  local direct = direct_functions()
  local convert = ffi.typeof 'uint16_t (*)(double)'
  local shared = {
    cast = cast,
    getmetatable = getmetatable,
    type = type,
    tonumber = tonumber,
    min = math.min,
    floor = math.floor,
    ceil = math.ceil,
    huge = math.huge,
    tobit = bit.tobit,
    band = bit.band,
    bor = bit.bor,
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
  -- For the two halves of a magic word, as in a payload.
  local word = ffi.new 'union { uintptr_t magic; struct { int32_t low, high; }; }'
  for number, entry in ipairs(core.classes) do
    local source, payload = accessor_source(entry, core.fields)
    word.magic = entry.magic
    local make = assert(loadstring(source, '=torch.accessors.' .. entry.element))
    sides[number].ffi = make({
      payloads = ffi.typeof(payload .. ' *'),
      metatable = entry.metatable,
      magic = magics[entry.metatable],
      magic_low = word.low,
      magic_high = word.high,
      c = sides[number].c,
      step = (entry.constructor():iter()),
      numbers = entry.bits and direct.numbers(number - 1),
      bits_of = entry.bits and cast(convert, cast('intptr_t', entry.bits)),
    }, shared)
  end
end

local current = 'c'

-- Replaces the functions in the metatables by those of `mode`. Functions that the program itself has replaced stay.
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

-- torch.accessors([mode]): chooses how elements are accessed, by 'ffi' or 'c', and returns the mode in force.
function core.accessors(mode)
  if mode ~= nil then
    if mode ~= 'ffi' and mode ~= 'c' then
      error("bad argument #1 to 'accessors' ('ffi' or 'c' expected, got " .. got(mode) .. ')', 2)
    end
    install(mode)
  end
  return current
end

-- With the JIT off, the functions over the FFI would be 7 times as slow as the C functions.
if jit.status() then
  install 'ffi'
end

return core.accessors
