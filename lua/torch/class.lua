-- The registry of all classes, the functions that look classes up or test the type of a value, and the operators of objects.
local core = require 'torch.core'
local versions = require 'torch.versions'

local class = { functions = {} }
local functions = class.functions

-- A Lua state may load this file several times, but it has one registry of classes:
--   metatables    class name -> metatable
--   names         metatable -> class name, except for classes of storages and tensors, whose names C knows
--   parents       metatable -> metatable of the parent
--   children      metatable -> list of the metatables of its children
--   constructors  metatable -> metatable of its constructor table, for classes made by Lua code
--   hiddens       metatable -> metatable of the metatable itself, for classes made by Lua code
--   ctypes        number of an FFI type -> class name
local registry = core.registry
if not registry then
  registry = { metatables = {}, names = {}, parents = {}, children = {}, constructors = {}, hiddens = {}, ctypes = {} }
  for _, entry in ipairs(core.classes) do
    registry.metatables[entry.name] = entry.metatable
  end
  for _, entry in ipairs(core.tensors) do
    registry.metatables[entry.name] = entry.metatable
  end
  core.registry = registry
end
local metatables, names, parents = registry.metatables, registry.names, registry.parents
class.registry = registry

functions.typename = core.typename

-- The class name of a storage or an object. For any other value, its Lua type.
function class.type(...)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'type' (value expected)", 2)
  end
  local object = ...
  return core.typename(object) or type(object)
end
functions.type = class.type

-- The message "bad argument #n to 'name' (... expected, got ...)". `count` is the number of arguments that the caller got.
function class.mismatch(n, name, expected, object, count)
  local got = count < n and 'no value' or class.type(object)
  return ("bad argument #%d to '%s' (%s expected, got %s)"):format(n, name, expected, got)
end
local mismatch = class.mismatch

-- The metatable of the class that `name` names. A storage class may also be given by PyTorch's name of its dtype, or as the
-- class.
local function by_name(name, count, caller)
  local storage_class = core.classname(name)
  if type(name) ~= 'string' and not storage_class then
    error(mismatch(1, caller, 'string', name, count), 3)
  end
  return metatables[name] or metatables[storage_class]
end

-- torch.getmetatable(name): the metatable of a class. Returns nothing for an unknown name.
function functions.getmetatable(...)
  local metatable = by_name((...), select('#', ...), 'getmetatable')
  if metatable then
    return metatable
  end
end

-- torch.getconstructortable(name): the constructor table of a class. Returns nothing for an unknown name.
function functions.getconstructortable(...)
  local metatable = by_name((...), select('#', ...), 'getconstructortable')
  if metatable then
    return rawget(metatable, '__constructor')
  end
end

-- torch.factory(name): the function that makes an empty object of a class. Returns nil for an unknown name.
--
-- `__factory` is looked up at each call, because a program may replace it. It is looked up with rawget, because the factory of
-- a parent would make an object of the parent.
function functions.factory(...)
  local metatable = by_name((...), select('#', ...), 'factory')
  return metatable and rawget(metatable, '__factory')
end

-- Returns the true metatable, whatever `__metatable` shows. A constructor table shows the metatable of its class there, but has
-- another one. Scripts of a restricted state may replace the functions that get it here, so there it is the one that they see.
local true_metatable = not core.restricted and debug and debug.getmetatable or getmetatable

-- The metatable of an object's class. For a value that is not an object, its own metatable or nil.
function class.of(object)
  if type(object) == 'cdata' then
    return metatables[core.typename(object)]
  end
  return true_metatable(object)
end

-- torch.version(object): the `__version` of its class. Returns nothing for a value without a metatable.
function functions.version(...)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'version' (value expected)", 2)
  end
  local metatable = class.of((...))
  if type(metatable) == 'table' then
    return rawget(metatable, '__version')
  end
end

-- The name of the storage class whose metatable this is, or nil.
function class.storage_class(metatable)
  local name = rawget(metatable, '__typename')
  return metatables[name] == metatable and name or nil
end

-- The metatable and the name of a class's parent. The parent is known from torch.class. For a metatable that was passed to
-- torch.metatype, it is the metatable of that metatable.
local function parent_of(metatable)
  local parent = parents[metatable] or true_metatable(metatable)
  if type(parent) == 'table' then
    return parent, names[parent] or class.storage_class(parent)
  end
end

-- The name of the class that `wanted` stands for: a metatable, a constructor table or an object.
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

-- torch.isTypeOf(object, class): whether the object is of that class, or of a class that inherits from it. The class is given
-- by its name, a Lua pattern that matches the name, its constructor table, its metatable, or another object.
function functions.isTypeOf(...)
  local object, wanted = ...
  local pattern = type(wanted) == 'string'
  local name = pattern and wanted or name_of(wanted)
  if name == nil then
    error(mismatch(2, 'isTypeOf', 'class name, class or object', wanted, select('#', ...)), 2)
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
        error(("bad argument #2 to 'isTypeOf' ('%s' is not a Lua pattern)"):format(name), 2)
      elseif first == 1 and last == #own then
        return true
      end
    end
    metatable, own = parent_of(metatable)
  end
  return false
end

-- The method `read` or `write` (`event`) with which a class reads its objects from .t7 files or writes them, or nil. The class
-- may have it from a parent.
function class.metamethod(name, event)
  local metatable = metatables[name]
  local method = metatable and (metatable['__' .. event] or metatable[event])
  return type(method) == 'function' and method or nil
end

-- torch.totable(storage or tensor): the elements as a table. That of a tensor is nested.
function functions.totable(...)
  local object = ...
  if core.isTensor(object) then
    return object:totable()
  elseif not core.isStorage(object) then
    error(mismatch(1, 'totable', 'torch.*Storage', object, select('#', ...)), 2)
  end
  local address, message = core.look(object)
  if not address then
    error(("bad argument #1 to 'totable' (%s)"):format(message), 2)
  end
  return object:totable()
end

-- The value of a field of a class, or of the nearest parent that has the field. Nothing is inherited from a storage class,
-- because its functions for indexing and printing take only storages.
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

-- An operator calls the method `__add__`, `__sub__` and so on of the first operand's class, or else of the second operand's
-- class. Storage classes have no such methods. The names of the operators are those of Torch7.
local binary = {
  __add__ = 'addition',
  __sub__ = 'substraction',
  __mul__ = 'multiplication',
  __div__ = 'division',
  __mod__ = 'modulo',
  __pow__ = 'power',
  __concat__ = 'concat',
  __lt__ = 'less-than',
  __le__ = 'less-equal',
}
local unary = { __unm__ = 'negation', __call__ = 'call' }

-- The metamethod of each.
local events = {}
for _, list in ipairs { binary, unary } do
  for event in pairs(list) do
    events[event:sub(1, -3)] = event
  end
end

-- What to do instead with storages and tensors. The other operators are arithmetic.
local instead = {
  __concat__ = 'tostring(x) is its text',
  __lt__ = 'x[i] < y[i] compares elements',
  __le__ = 'x[i] <= y[i] compares elements',
  __call__ = 'x[i] is an element, and methods are called as in x:size()',
}
local ARITHMETIC = 'write a loop over the elements, or give the class a method %s'

-- The message for operands without such a method.
local function no_operator(event, a, b)
  local has_elements = core.isStorage(a) or core.isTensor(a) or core.isStorage(b) or core.isTensor(b)
  local advice = has_elements and ': ' .. (instead[event] or ARITHMETIC:format(event)) or ''
  if unary[event] then
    return ('%s has no %s operator%s'):format(class.type(a), unary[event], advice)
  end
  return ('both %s and %s have no %s operator%s'):format(class.type(a), class.type(b), binary[event], advice)
end

local level = versions.caller_level

local function method(event, a, b)
  return inherited(class.of(a), event) or inherited(class.of(b), event)
end

local function binary_operator(event)
  return function(a, b)
    local f = method(event, a, b)
    if f then
      return f(a, b)
    end
    return error(no_operator(event, a, b), level)
  end
end

local function unary_operator(event)
  return function(object, ...)
    local f = method(event, object)
    if f then
      return f(object, ...)
    end
    return error(no_operator(event, object), level)
  end
end

local function operator(event)
  return (unary[event] and unary_operator or binary_operator)(event)
end

-- The operator of storages and tensors, which have no such methods unless a program gives them one. PUC Lua shows a function that
-- calls `error` in the traceback, so the error is raised in C there.
local function operator_in_c(event)
  return core.operator(function(a, b)
    local f = method(event, a, not unary[event] and b or nil)
    return f, not f and no_operator(event, a, b) or nil
  end)
end

-- Gives a class its operators, each made by `make`. Lua 5.1 compares two objects only if both have the same function for it. Each
-- class has its own, so objects of different classes cannot be compared, as in Torch7.
local function set_operators(metatable, make, made)
  for name, event in pairs(events) do
    made[name] = made[name] or make(event)
    metatable[name] = made[name]
  end
  metatable.__lt, metatable.__le = make '__lt__', make '__le__'
end

local of_objects, of_storages = {}, {}

-- Gives a class that is made by Lua code its operators.
function class.set_operators(metatable)
  set_operators(metatable, operator, of_objects)
end

for _, list in ipairs { core.classes, core.tensors } do
  for _, entry in ipairs(list) do
    set_operators(entry.metatable, level == 2 and operator_in_c or operator, of_storages)
  end
end

return class
