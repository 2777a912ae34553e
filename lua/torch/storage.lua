-- Builds the public table from the C functions of torch.core and the Lua files of this directory. Sets no global variable.
local found, core = pcall(require, 'torch.core')
if not found then
  local has_reason, reason = pcall(require, 'torch.unloadable')
  error(has_reason and reason(tostring(core)) or core, 0)
end
-- A program that embeds Lua may have left them out.
local compiles = rawget(_G, 'jit') and pcall(require, 'ffi')
for _, name in ipairs { 'table', 'string', 'math', compiles and 'loadstring' or nil } do
  if rawget(_G, name) == nil then
    local advice = 'open all libraries of Lua first, and take them from scripts afterwards'
    error("torch needs '" .. name .. "' while it is opened: " .. advice, 0)
  end
end
local class = require 'torch.class'
local format = require 'torch.format'
local readable = require 'torch.readable'
local tensor_text = require 'torch.tensor_format'

-- torch._VERSION: the version of the library, which Cargo.toml has.
local torch = setmetatable({ _VERSION = core.version }, {
  __index = core.missing,
  __tostring = function(self)
    return 'torch-storage ' .. tostring(rawget(self, '_VERSION'))
  end,
})

-- Raises an error about argument #1 with the position of the caller of the function that calls this.
local function refuse(name, problem)
  error(("bad argument #1 to '%s' (%s)"):format(name, problem), 3)
end

local FUNCTIONS = [[
  isStorage isTensor isequal pointer pushudata setheaptracking
  frombuffer buffer
  fromToken dropToken publish lookup unpublish unlinkSharedMemory
  setnumthreads getnumthreads cosine dist
]]
for name in FUNCTIONS:gmatch '%a+' do
  torch[name] = core[name]
end

local shared_memory = readable(function(object)
  local holder = object.held and 'held by a storage' or 'held by nobody'
  return ('%s: %s bytes, %s'):format(tostring(object.name), tostring(object.bytes), holder)
end)
local all_shared_memory = readable(function(list)
  local lines = {}
  for i, object in ipairs(list) do
    lines[i] = tostring(object)
  end
  return lines[1] and table.concat(lines, '\n') or 'no shared memory'
end)

-- torch.sharedMemory(): lists all shared memory objects that this process may open, with their names, their sizes in bytes, and
-- whether a storage of any process holds them. An object that nobody holds was left behind by a process that was killed, or
-- belongs to another program.
function torch.sharedMemory(...)
  if select('#', ...) > 0 then
    local problem =
      'no argument expected, got %s; torch.FloatStorage{shared = name, size = n, create = true} makes some'
    refuse('sharedMemory', problem:format(class.type((...))))
  end
  local list = {}
  for name, bytes, held in core.listshared():gmatch '(%Z+)%z(%d+) (%d)\n' do
    list[#list + 1] = shared_memory { name = name, bytes = tonumber(bytes), held = held == '1' }
  end
  return all_shared_memory(list)
end
for name, value in pairs(class.functions) do
  torch[name] = value
end
for name, value in pairs(require 'torch.define') do
  torch[name] = value
end
torch.setprintoptions, torch.getprintoptions = format.set, format.get

-- torch.zeros, torch.cat and others.
for name, value in pairs(core.picking) do
  torch[name] = value
end

-- .t7 files.
for _, file in ipairs { 'torch.records', 'torch.serialization' } do
  for name, value in pairs(require(file).functions) do
    torch[name] = value
  end
end

-- torch.safetensors, torch.npy and torch.npz.
for name, value in pairs(require 'torch.formats') do
  torch[name] = value
end

for _, entry in ipairs(core.classes) do
  local metatable = entry.metatable
  metatable.__tostring = format.tostring
  metatable.__tostring__ = format.tostring
  torch[entry.name:match '^torch%.(.*)$'] = entry.constructor
end

for _, entry in ipairs(core.tensors) do
  local metatable = entry.metatable
  metatable.__tostring = tensor_text
  metatable.__tostring__ = tensor_text
  torch[entry.name:match '^torch%.(.*)$'] = entry.constructor
end

local kinds_of_memory = readable(function(bytes)
  local parts = {}
  for i, kind in ipairs { 'heap', 'mapped', 'shared', 'foreign' } do
    parts[i] = kind .. ' ' .. tostring(bytes[kind])
  end
  return 'bytes of memory: ' .. table.concat(parts, ', ')
end)

-- torch.memory(): the number of bytes that the storages of this process hold in each kind of memory.
function torch.memory()
  local heap, mapped, shared, foreign = core.memory()
  return kinds_of_memory { heap = heap, mapped = mapped, shared = shared, foreign = foreign }
end

-- torch.data. On LuaJIT also torch.cdata and torch.buffer, and the methods `data` and `cdata`, which return FFI pointers.
for name, value in pairs(require 'torch.pointers') do
  torch[name] = value
end

-- Complex numbers as Lua values.
require 'torch.complex'

-- Storages of large tables.
require 'torch.from_table'

-- x:iter() of tensors.
require 'torch.iterate'

-- Single elements that several threads and processes access at once.
torch.atomic = require 'torch.atomic'

-- Element access, by C functions or by functions that LuaJIT compiles.
torch.accessors = require 'torch.accessors'

-- Newer LuaJIT versions have string buffers. Their metatable gets the method `__buffer`, so that torch.frombuffer takes them.
-- It gives a string, which is a copy: the next operation on the buffer may move or free the buffer's own memory.
local has_buffers, string_buffer = pcall(require, 'string.buffer')
if has_buffers and debug and not core.hides_addresses then
  local metatable = debug.getmetatable(string_buffer.new())
  if type(metatable) == 'table' and rawget(metatable, '__buffer') == nil then
    rawset(metatable, '__buffer', function(buffer)
      return buffer:tostring()
    end)
  end
end

-- torch.Tensor is the default class of tensors, and torch.Storage is the class of their storages.
local default

function torch.setdefaulttensortype(name)
  if type(name) ~= 'string' then
    refuse('setdefaulttensortype', ("string such as 'torch.FloatTensor' expected, got %s"):format(class.type(name)))
  end
  local element = name:match '^torch%.([%w_]+)Tensor$'
  local constructor = element and element ~= 'Untyped' and rawget(torch, element .. 'Storage') or nil
  if constructor == nil then
    local message = "'%s' is not a tensor type such as 'torch.DoubleTensor'; docs/numbers.md lists the element types"
    refuse('setdefaulttensortype', message:format(name))
  end
  default = name
  core.setdefaultclass(name)
  torch.Storage, torch.Tensor = constructor, torch[element .. 'Tensor']
end

function torch.getdefaulttensortype()
  return default
end

torch.setdefaulttensortype 'torch.DoubleTensor'

if core.restricted then
  require 'torch.restricted'(torch)
end

return torch
