-- Chooses how elements of storages and tensors are accessed: by C functions, or on LuaJIT by Lua functions over the FFI, which
-- LuaJIT compiles. The source of those, and the reason for each of their checks, is in accessor_source.lua and
-- tensor_accessor_source.lua.
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

-- Functions below run when a class is used first. A program may have replaced global functions until then.
local getmetatable, type, tonumber, loadstring = getmetatable, type, tonumber, loadstring
-- In a restricted state objects have other metatables than these, which then get the functions.
local seal = core.seal
local assert, ipairs, pairs, pcall, rawequal = assert, ipairs, pairs, pcall, rawequal
local accessor_source = require 'torch.accessor_source'
local tensor_accessor_source = require 'torch.tensor_accessor_source'
local complex = require 'torch.complex'
local cast, typeof = ffi.cast, ffi.typeof
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
    direct[entry.name] = cast(typeof(entry.ctype), cast('intptr_t', entry.address))
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
local TENSOR_NAMES = { '__index', '__newindex', 'get', 'set', 'dim', 'nDimension', 'size', 'nElement', 'numel' }

local function c_functions(metatable, names)
  local c = {}
  for _, name in ipairs(names) do
    c[name] = metatable[name]
  end
  return c
end

-- LuaJIT of 2022 and OpenResty's compile this loop wrongly in 7 of 100 processes: the tables `c` then lack all names but one.
-- So it is not compiled, nor are the loops below. In a finalizer, where jit.off is an error, nothing is.
pcall(jit.off, c_functions)

-- For each class of storages, and then of tensors: its metatable; the table `c` of its C functions by name; and the table `ffi`
-- of the functions that replace them, which is made when it is needed first. Until a program uses the class, `ffi` is `first`.
local sides = {}
for _, entry in ipairs(core.classes) do
  sides[#sides + 1] = { metatable = entry.metatable, c = c_functions(entry.metatable, NAMES) }
end
for _, entry in ipairs(core.tensors) do
  sides[#sides + 1] = { metatable = entry.metatable, c = c_functions(entry.metatable, TENSOR_NAMES) }
end

-- Which functions of the sides are in force.
local current = 'c'

-- Most programs use few classes, and making and compiling the source of a class takes half a millisecond. So it is done when
-- one of the functions in `first` is called, which replace the C functions until then. They call what has been compiled. `make`
-- returns the functions.
local function compile_when_called(side, make)
  local compiled
  local function compile()
    local made = make()
    -- A finalizer may have called one of the functions in between.
    if compiled then
      return
    end
    compiled = made
    side.ffi = compiled
    for key, first in pairs(side.first) do
      if rawequal(side.metatable[key], first) then
        side.metatable[key] = compiled[key]
      end
    end
    if current == 'ffi' then
      seal(side.metatable, compiled)
    end
  end
  pcall(jit.off, compile)
  side.first = {}
  for key in pairs(side.c) do
    side.first[key] = function(...)
      if not compiled then
        compile()
      end
      return compiled[key](...)
    end
  end
  side.ffi = side.first
end
pcall(jit.off, compile_when_called)

-- Makes the FFI versions for every class. Each chunk gets two tables: what belongs to its class, and what all chunks share.
local function build()
  local direct = direct_functions()
  local convert = typeof 'uint16_t (*)(double)'
  -- The cells of the floats: see accessor_kinds.lua. The bits of a single float are the low half of `loaded`.
  local single = typeof(
    ('union { int64_t loaded; struct { %s union { float value; int32_t bits; }; }; }'):format(
      ffi.abi 'le' and '' or 'int32_t high;'
    )
  )
  local double = typeof(
    ('union { double value; int64_t bits, loaded; struct { int32_t %s; }; }'):format(
      ffi.abi 'le' and 'low, high' or 'high, low'
    )
  )
  local shared = {
    cast = cast,
    getmetatable = getmetatable,
    type = type,
    tonumber = tonumber,
    min = math.min,
    max = math.max,
    floor = math.floor,
    ceil = math.ceil,
    huge = math.huge,
    select = select,
    rawget = rawget,
    tobit = bit.tobit,
    band = bit.band,
    bor = bit.bor,
    lshift = bit.lshift,
    rshift = bit.rshift,
    single = single(),
    double = double(),
    stored_single = single(),
    stored_double = double(),
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
  -- For the halves and quarters of a magic word, as in a payload.
  local word_of = typeof 'union { uintptr_t magic; int32_t halves[2]; uint16_t quarters[4]; }'
  -- Compiles the functions of a class. `own` has what belongs to tensors or storages only, and `payload` is the C type of a
  -- payload.
  local function compiled(side, name, source, payload, entry, own)
    local word = word_of(own.magic)
    own.magic_low, own.magic_high = word.halves[0], word.halves[1]
    local quarters = word.quarters
    own.magic_0, own.magic_1, own.magic_2, own.magic_3 = quarters[0], quarters[1], quarters[2], quarters[3]
    own.metatable, own.c = side.metatable, side.c
    own.payloads = typeof(payload .. ' *')
    own.numbers = entry.bits and direct.numbers(own.number - 1)
    if entry.bits and own.numbers == nil then
      error 'not enough memory'
    end
    own.bits_of = entry.bits and cast(convert, cast('intptr_t', entry.bits))
    return assert(loadstring(source, '=torch.accessors.' .. name))(own, shared)
  end
  local fields, tensor_fields = core.fields, core.tensorfields
  for number, entry in ipairs(core.classes) do
    local side, step = sides[number], entry.constructor():iter()
    compile_when_called(side, function()
      local source, payload = accessor_source(entry, fields)
      return compiled(side, entry.element, source, payload, entry, {
        magic = magics[entry.metatable],
        step = step,
        number = number,
      })
    end)
  end
  for n, tensor in ipairs(core.tensors) do
    local entry = core.classes[tensor.number]
    local side = sides[#core.classes + n]
    -- `large` has the functions for tensors that are too large for these.
    local function functions(name, large)
      local source, payload = tensor_accessor_source(entry, fields, tensor_fields, large == side.c)
      return compiled(side, name, source, payload, entry, {
        magic = cast('uintptr_t', tensor.magic),
        number = tensor.number,
        large = large,
      })
    end
    compile_when_called(side, function()
      -- These are in no metatable, so only the functions of `side` call them.
      local large = { metatable = {}, c = side.c }
      compile_when_called(large, function()
        return functions(tensor.name .. '.large', side.c)
      end)
      return functions(tensor.name, large.first)
    end)
  end
end

-- Replaces the functions in the metatables by those of `mode`. Functions that the program itself has replaced stay.
local function install(mode)
  if mode == 'ffi' and not sides[1].ffi then
    build()
  end
  for _, side in ipairs(sides) do
    for name, old in pairs(side[current]) do
      local now = side.metatable[name]
      if rawequal(now, old) or current == 'ffi' and rawequal(now, side.first[name]) then
        side.metatable[name] = side[mode][name]
      end
    end
    seal(side.metatable, side[mode])
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
elseif core.hides_addresses then
  -- A Rust program may hide the FFI from its scripts, and the functions can use it. So what they consist of is collected before a
  -- script can replace functions of the libraries.
  build()
end

return core.accessors
