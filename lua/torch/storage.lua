-- Builds the public table; sets no global. Classes and functions come from torch.core, names and printing from Lua.
local core = require 'torch.core'
local class = require 'torch.class'
local format = require 'torch.format'

local torch = {}

for _, name in ipairs { 'isStorage', 'isequal', 'pointer', 'pushudata', 'setheaptracking', 'typename' } do
  torch[name] = core[name]
end
for name, value in pairs(class.functions) do
  torch[name] = value
end
torch.setprintoptions = format.set

for _, entry in ipairs(core.classes) do
  local metatable = entry.metatable
  metatable.__tostring = format.tostring
  metatable.__tostring__ = format.tostring
  torch[entry.name:match '^torch%.(.*)$'] = entry.constructor
end

-- Bytes held by the storages of this process, by kind of memory.
function torch.memory()
  local heap, mapped, foreign = core.memory()
  return { heap = heap, mapped = mapped, foreign = foreign }
end

-- torch.data and torch.cdata, and on LuaJIT the FFI side of the classes.
for name, value in pairs(require 'torch.pointers') do
  torch[name] = value
end

-- Element access: by C, or as LuaJIT compiles it.
torch.accessors = require 'torch.accessors'

-- torch.Storage is the class of the default tensor type, as in Torch7, where the type has the name of a tensor class.
local default

function torch.setdefaulttensortype(name)
  if type(name) ~= 'string' then
    error(("bad argument #1 to 'setdefaulttensortype' (string expected, got %s)"):format(class.type(name)), 2)
  end
  local constructor = torch[(name:match '^torch%.(%a+)Tensor$' or '') .. 'Storage']
  if name:match '^torch%.%a+Tensor$' == nil or constructor == nil then
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
