-- Classes by name: the one table of them, type tests and look-ups, and the operators of all classes.
local core = require 'torch.core'

local class = { functions = {} }
local functions = class.functions

-- However often this file is loaded in a Lua state, the classes are the same.
--   metatables  class name -> metatable
--   names       metatable -> class name, of every class but the storages', which C knows
--   parents     metatable -> the parent's metatable; `children` has lists of the other direction
--   constructors, hiddens  metatable -> the metatables of its constructor table and of itself, of classes that Lua code made
--   ctypes      number of an FFI type -> class name
local registry = core.registry
if not registry then
  registry = { metatables = {}, names = {}, parents = {}, children = {}, constructors = {}, hiddens = {}, ctypes = {} }
  for _, entry in ipairs(core.classes) do
    registry.metatables[entry.name] = entry.metatable
  end
  core.registry = registry
end
local metatables, names, parents = registry.metatables, registry.names, registry.parents
class.registry = registry

functions.typename = core.typename

-- The class name of a storage or of an object, Lua's type of everything else.
function class.type(...)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'type' (value expected)", 2)
  end
  local object = ...
  return core.typename(object) or type(object)
end
functions.type = class.type

-- 'bad argument #n to name (... expected, got ...)'.
function class.mismatch(n, name, expected, object, count)
  local got = count < n and 'no value' or class.type(object)
  return ("bad argument #%d to '%s' (%s expected, got %s)"):format(n, name, expected, got)
end
local mismatch = class.mismatch

-- The metatable of a class name; of a storage class also by PyTorch's name of the dtype, or by the class itself.
local function by_name(name, count, caller)
  local storage_class = core.classname(name)
  if type(name) ~= 'string' and not storage_class then
    error(mismatch(1, caller, 'string', name, count), 3)
  end
  return metatables[name] or metatables[storage_class]
end

-- The metatable of a class name; nothing for an unknown one.
function functions.getmetatable(...)
  local metatable = by_name((...), select('#', ...), 'getmetatable')
  if metatable then
    return metatable
  end
end

-- The constructor table of a class name; nothing for an unknown one.
function functions.getconstructortable(...)
  local metatable = by_name((...), select('#', ...), 'getconstructortable')
  if metatable then
    return rawget(metatable, '__constructor')
  end
end

-- The function that makes an empty object of a class; nil for an unknown one. Looked up now: `__factory` may be replaced. Raw:
-- a parent's would make an object of the parent.
function functions.factory(...)
  local metatable = by_name((...), select('#', ...), 'factory')
  return metatable and rawget(metatable, '__factory')
end

-- What is behind `__metatable`: a constructor table shows its class's metatable there, and has another.
local true_metatable = debug and debug.getmetatable or getmetatable

-- The metatable of the class an object is of; of anything else its own, or nil.
function class.of(object)
  if type(object) == 'cdata' then
    return metatables[core.typename(object)]
  end
  return true_metatable(object)
end

-- The `__version` of an object's class; nothing for an object without metatable.
function functions.version(...)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'version' (value expected)", 2)
  end
  local metatable = class.of((...))
  if type(metatable) == 'table' then
    return rawget(metatable, '__version')
  end
end

-- No tensors here.
function functions.isTensor()
  return false
end

-- The name of the storage class that a metatable is of.
function class.storage_class(metatable)
  local name = rawget(metatable, '__typename')
  return metatables[name] == metatable and name or nil
end

-- The parent of a class, and its name: by torch.class, or as the metatable of a metatable that torch.metatype has been given.
local function parent_of(metatable)
  local parent = parents[metatable] or true_metatable(metatable)
  if type(parent) == 'table' then
    return parent, names[parent] or class.storage_class(parent)
  end
end

-- The name of the class that is meant by a class, which is its metatable or its constructor, or by an object of it.
local function name_of(wanted)
  local name = core.typename(wanted)
  if name == nil and type(wanted) == 'table' then
    name = names[wanted] or rawget(wanted, '__typename')
    if name == nil then
      local metatable = getmetatable(wanted)
      name = type(metatable) == 'table' and rawget(metatable, '__typename')
    end
  end
  return type(name) == 'string' and name or nil
end

-- Whether the object is of a class or of one that inherits from it. The class is given by its name, by a Lua pattern that
-- matches the name, by its constructor, by its metatable, or by another object.
function functions.isTypeOf(...)
  local object, wanted = ...
  local pattern = type(wanted) == 'string'
  local name = pattern and wanted or name_of(wanted)
  if name == nil then
    error(mismatch(2, 'isTypeOf', 'class name, class or object of one', wanted, select('#', ...)), 2)
  end
  local own = core.typename(object)
  local metatable = own and metatables[own]
  while own do
    if own == name then
      return true
    elseif pattern then
      -- As in Torch7 a pattern has to match the whole name.
      local well_formed, first, last = pcall(own.find, own, name)
      if not well_formed then
        error(("bad argument #2 to 'isTypeOf' ('%s' is no Lua pattern)"):format(name), 2)
      elseif first == 1 and last == #own then
        return true
      end
    end
    metatable, own = parent_of(metatable)
  end
  return false
end

-- For .t7 files: the function by which a class reads or writes its objects ('read', 'write'), its own or a parent's.
function class.metamethod(name, event)
  local metatable = metatables[name]
  local method = metatable and (metatable['__' .. event] or metatable[event])
  return type(method) == 'function' and method or nil
end

-- The elements of a storage as a table.
function functions.totable(...)
  local object = ...
  if not core.isStorage(object) then
    error(mismatch(1, 'totable', 'torch.*Storage', object, select('#', ...)), 2)
  end
  local address, message = core.look(object)
  if not address then
    error(("bad argument #1 to 'totable' (%s)"):format(message), 2)
  end
  return object:totable()
end

-- The value of a class's own field, or of the nearest parent's that has it. A storage class passes nothing on: what it does with
-- indices and printing takes storages only.
function class.inherited(metatable, key)
  while metatable do
    local value = rawget(metatable, key)
    if value ~= nil then
      return value
    end
    metatable = parents[metatable]
    if not names[metatable] then
      return nil
    end
  end
end
local inherited = class.inherited

-- Operators look for `__add__` and so on in the classes of the operands, the first one's first; storages have none. The texts are
-- Torch7's.
local binary = {
  __add = 'addition',
  __sub = 'substraction',
  __mul = 'multiplication',
  __div = 'division',
  __mod = 'modulo',
  __pow = 'power',
  __concat = 'concat',
  __lt = 'less-than',
  __le = 'less-equal',
}
local unary = { __unm = 'negation', __call = 'call' }

local function method(event, a, b)
  return inherited(class.of(a), event) or inherited(class.of(b), event)
end

local function operand(object)
  return core.typename(object) or '(null)'
end

-- Gives a class its operators. Each has its own functions: Lua compares objects that have the same only, so those of different
-- classes are not compared, as in Torch7.
function class.set_operators(metatable)
  for event, name in pairs(binary) do
    local own = event .. '__'
    metatable[event] = function(a, b)
      local f = method(own, a, b)
      if not f then
        error(('both %s and %s have no %s operator'):format(operand(a), operand(b), name), 2)
      end
      return f(a, b)
    end
  end
  for event, name in pairs(unary) do
    local own = event .. '__'
    metatable[event] = function(object, ...)
      local f = method(own, object)
      if not f then
        error(('%s has no %s operator'):format(operand(object), name), 2)
      end
      return f(object, ...)
    end
  end
end

for _, entry in ipairs(core.classes) do
  class.set_operators(entry.metatable)
end

return class
