-- How objects of the classes behave that Lua code makes: finding fields, operators, inheritance. What makes them is torch.define.
--
-- The metatable of a class is the table of its methods. Behind it is a second metatable, which nobody sees: it finds what a
-- parent has, and notices when `__index__` or `__newindex__` is defined. Until then the objects are indexed by tables alone.
local class = require 'torch.class'

local objects = {}

local names, parents, children, hiddens =
  class.registry.names, class.registry.parents, class.registry.children, class.registry.hiddens
local class_of, inherited = class.of, class.inherited
local rawget, rawset, setmetatable, type = rawget, rawset, setmetatable, type

-- Without the debug library only what has no protected metatable can be given another.
objects.set_metatable = debug and debug.setmetatable or setmetatable
local rawlen = rawget(_G, 'rawlen') or function(object)
  return #object
end

-- Indexing ------------------------------------------------------------------------------------------------------------

-- `__index__` gives the value and true, or false for "look among the methods".
local function indexer(metatable)
  return function(object, key)
    local hook = inherited(metatable, '__index__')
    if hook then
      local value, handled = hook(object, key)
      if handled then
        return value
      end
    end
    return metatable[key]
  end
end

-- `__newindex__` gives true, or false for "store it as it is".
local function newindexer(metatable)
  return function(object, key, value)
    local hook = inherited(metatable, '__newindex__')
    if hook and hook(object, key, value) then
      return
    elseif type(object) ~= 'table' then
      error(('the class %s cannot be indexed'):format(names[metatable]), 2)
    end
    rawset(object, key, value)
  end
end

-- Objects are indexed by functions where their class or a parent wants it. What a program has put there itself stays.
local function refresh(metatable)
  if rawget(metatable, '__index') == metatable and inherited(metatable, '__index__') then
    rawset(metatable, '__index', indexer(metatable))
  end
  if rawget(metatable, '__newindex') == nil and inherited(metatable, '__newindex__') then
    rawset(metatable, '__newindex', newindexer(metatable))
  end
  for _, child in ipairs(children[metatable] or {}) do
    refresh(child)
  end
end

local function define_field(metatable, key, value)
  rawset(metatable, key, value)
  if key == '__index__' or key == '__newindex__' then
    refresh(metatable)
  end
end

-- Operators that mean something without a method.
local function to_string(object)
  local own = inherited(class_of(object), '__tostring__')
  if type(own) == 'function' then
    return own(object)
  end
  return own or class.type(object)
end

local function length(object)
  local own = inherited(class_of(object), '__len__')
  if own then
    return own(object)
  elseif type(object) == 'table' then
    return rawlen(object)
  end
  error(('%s has no length operator'):format(class.type(object)), 2)
end

-- Classes -------------------------------------------------------------------------------------------------------------

-- The metatable of a new class.
function objects.new_metatable(name)
  local metatable = { __typename = name, __version = 1, __tostring = to_string, __len = length }
  class.set_operators(metatable)
  -- As with the other operators: only objects of one class are compared by it.
  function metatable.__eq(a, b)
    local own = inherited(metatable, '__eq__')
    if own then
      return own(a, b)
    end
    return rawequal(a, b)
  end
  metatable.__index = metatable
  metatable.__metatable = metatable
  return metatable
end

-- Puts the second metatable behind the first; `getmetatable` sees the parent there, as in Torch7.
function objects.set_parent(metatable, parent)
  local hidden = hiddens[metatable]
  if not hidden then
    hidden = { __newindex = define_field, __metatable = false }
    hiddens[metatable] = hidden
    objects.set_metatable(metatable, hidden)
  end
  if parent then
    hidden.__index = parent
    hidden.__metatable = parent
    parents[metatable] = parent
    children[parent] = children[parent] or {}
    table.insert(children[parent], metatable)
    refresh(metatable)
  end
end

-- The table that is called to make objects. Reading it finds the methods, writing to it adds one.
--
-- `own` becomes its metatable; the function that makes an object is the field `__new` of that.
function objects.new_constructor(metatable, own)
  own.__index = metatable
  own.__metatable = metatable
  function own.__newindex(_, key, value)
    define_field(metatable, key, value)
  end
  function own.__call(_, ...)
    local new = own.__new
    if not new then
      error(('the class %s has no constructor'):format(names[metatable]), 2)
    end
    return new(...)
  end
  return setmetatable({}, own)
end

return objects
