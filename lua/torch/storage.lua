-- Builds the public table; sets no global. Classes and functions come from torch.core, names and printing from Lua.
local core = require 'torch.core'
local class = require 'torch.class'
local format = require 'torch.format'

local torch = {}

local FUNCTIONS = [[
  isStorage isequal pointer pushudata setheaptracking
  frombuffer buffer
  fromToken dropToken publish lookup unpublish unlinkSharedMemory
  setnumthreads getnumthreads
]]
for name in FUNCTIONS:gmatch '%a+' do
  torch[name] = core[name]
end

-- All shared memory objects that this process may open, by name, with their bytes, and whether a storage of some process holds
-- them: one that nobody holds was left behind by a process that was killed, or is another program's.
function torch.sharedMemory()
  local list = {}
  for name, bytes, held in core.listshared():gmatch '(%Z+)%z(%d+) (%d)\n' do
    list[#list + 1] = { name = name, bytes = tonumber(bytes), held = held == '1' }
  end
  return list
end
for name, value in pairs(class.functions) do
  torch[name] = value
end
for name, value in pairs(require 'torch.define') do
  torch[name] = value
end
torch.setprintoptions = format.set

-- .t7 files.
for _, file in ipairs { 'torch.records', 'torch.serialization' } do
  for name, value in pairs(require(file).functions) do
    torch[name] = value
  end
end

for _, entry in ipairs(core.classes) do
  local metatable = entry.metatable
  metatable.__tostring = format.tostring
  metatable.__tostring__ = format.tostring
  torch[entry.name:match '^torch%.(.*)$'] = entry.constructor
end

-- Bytes held by the storages of this process, by kind of memory.
function torch.memory()
  local heap, mapped, shared, foreign = core.memory()
  return { heap = heap, mapped = mapped, shared = shared, foreign = foreign }
end

-- torch.data and torch.cdata, and on LuaJIT the FFI side of the classes.
for name, value in pairs(require 'torch.pointers') do
  torch[name] = value
end

-- Elements of complex classes.
require 'torch.complex'

-- Element access: by C, or as LuaJIT compiles it.
torch.accessors = require 'torch.accessors'

-- LuaJIT's string buffers, where it has them, offer their memory by the protocol of frombuffer.
local has_buffers, string_buffer = pcall(require, 'string.buffer')
if has_buffers and debug then
  local metatable = debug.getmetatable(string_buffer.new())
  if type(metatable) == 'table' and rawget(metatable, '__buffer') == nil then
    rawset(metatable, '__buffer', function(buffer)
      return buffer:ref()
    end)
  end
end

-- torch.Storage is the class of the default tensor type, as in Torch7, where the type has the name of a tensor class.
local default

function torch.setdefaulttensortype(name)
  if type(name) ~= 'string' then
    error(("bad argument #1 to 'setdefaulttensortype' (string expected, got %s)"):format(class.type(name)), 2)
  end
  local constructor = name ~= 'torch.UntypedTensor' and torch[(name:match '^torch%.([%w_]+)Tensor$' or '') .. 'Storage']
    or nil
  if name:match '^torch%.[%w_]+Tensor$' == nil or constructor == nil then
    local message = "bad argument #1 to 'setdefaulttensortype' (no tensor type '%s': torch.DoubleTensor ...)"
    error(message:format(name), 2)
  end
  default = name
  torch.Storage = constructor
end

function torch.getdefaulttensortype()
  return default
end

torch.setdefaulttensortype 'torch.DoubleTensor'

return torch
