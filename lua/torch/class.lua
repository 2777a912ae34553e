-- Classes by name: type tests, look-ups, and the operators that storages do not have.
local core = require 'torch.core'

local class = { functions = {} }
local functions = class.functions

-- Class name -> metatable.
local metatables = {}
for _, entry in ipairs(core.classes) do
  metatables[entry.name] = entry.metatable
end

-- The class name of a storage, Lua's type of everything else.
function class.type(...)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'type' (value expected)", 2)
  end
  local object = ...
  return core.typename(object) or type(object)
end
functions.type = class.type

-- Raises 'bad argument #n to name (...)' with the position of the caller of the function that calls this.
local function bad_argument(n, name, expected, object, count)
  local got = count < n and 'no value' or class.type(object)
  error(("bad argument #%d to '%s' (%s expected, got %s)"):format(n, name, expected, got), 3)
end

local function by_name(name, count, caller)
  if type(name) ~= 'string' then
    local got = count == 0 and 'no value' or class.type(name)
    error(("bad argument #1 to '%s' (string expected, got %s)"):format(caller, got), 3)
  end
  return metatables[name]
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
    return metatable.__constructor
  end
end

-- The function that makes an empty object of a class; nil for an unknown one. Looked up now: `__factory` may be replaced.
function functions.factory(...)
  local metatable = by_name((...), select('#', ...), 'factory')
  return metatable and metatable.__factory
end

-- What is behind `__metatable`: a constructor table shows its class's metatable there, and has another.
local true_metatable = debug and debug.getmetatable or getmetatable

-- The `__version` of an object's class; nothing for an object without metatable.
function functions.version(...)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'version' (value expected)", 2)
  end
  local metatable = true_metatable((...))
  if type(metatable) == 'table' then
    return rawget(metatable, '__version')
  end
end

-- No tensors here.
function functions.isTensor()
  return false
end

-- Whether the object is a storage of a class, given by its name, by a Lua pattern that matches the name, by its constructor
-- or by another storage.
function functions.isTypeOf(...)
  local object, wanted = ...
  local name
  if type(wanted) == 'string' then
    name = wanted
  elseif core.isStorage(wanted) then
    name = core.typename(wanted)
  else
    local metatable = type(wanted) == 'table' and getmetatable(wanted)
    name = type(metatable) == 'table' and rawget(metatable, '__typename')
    if type(name) ~= 'string' then
      bad_argument(2, 'isTypeOf', 'class name, class or storage', wanted, select('#', ...))
    end
  end
  local own = core.typename(object)
  if own == nil then
    return false
  end
  -- As in Torch7 a pattern has to match the whole name.
  local well_formed, found = pcall(own.find, own, '^' .. name .. '$')
  if not well_formed then
    error(("bad argument #2 to 'isTypeOf' ('%s' is no Lua pattern)"):format(name), 2)
  end
  return own == name or found ~= nil
end

-- The elements of a storage as a table.
function functions.totable(...)
  local object = ...
  if not core.isStorage(object) then
    bad_argument(1, 'totable', 'torch.*Storage', object, select('#', ...))
  end
  local address, message = core.look(object)
  if not address then
    error(("bad argument #1 to 'totable' (%s)"):format(message), 2)
  end
  return object:totable()
end

-- Operators: Torch7 registers them for every class, and those of storages raise. The texts are Torch7's.
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

local function operand(object)
  return core.typename(object) or '(null)'
end

for _, metatable in pairs(metatables) do
  for event, name in pairs(binary) do
    metatable[event] = function(a, b)
      error(('both %s and %s have no %s operator'):format(operand(a), operand(b), name), 2)
    end
  end
  for event, name in pairs(unary) do
    metatable[event] = function(object)
      error(('%s has no %s operator'):format(operand(object), name), 2)
    end
  end
end

return class
