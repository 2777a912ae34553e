-- How objects behave whose classes are made by Lua code: fields, operators, inheritance. torch.define makes the classes.
--
-- The metatable of a class is also the table of its methods. It has a hidden metatable of its own, which finds the methods of the
-- parent, and notices when a program defines `__index__` or `__newindex__`. Until then no function is called to index an object.
local class = require 'torch.class'
local versions = require 'torch.versions'

local objects = {}

local names, parents, children, hiddens =
  class.registry.names, class.registry.parents, class.registry.children, class.registry.hiddens
local class_of, inherited = class.of, class.inherited
local rawget, rawset, setmetatable, type = rawget, rawset, setmetatable, type

-- Without the debug library, only values whose metatable is not protected can get another one.
objects.set_metatable = debug and debug.setmetatable or setmetatable

-- Indexing ------------------------------------------------------------------------------------------------------------

-- `__index__` returns the value and true, or false if the field has to be looked up among the methods.
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

-- `__newindex__` returns true if it has stored the value, or false if it has to be stored in the object as it is.
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

-- Lets functions index the objects of a class and its children if the class or a parent defines `__index__` or `__newindex__`. An
-- `__index` or `__newindex` that the program itself has set stays.
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

-- The two operators that also work without a method of the class.
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
    return versions.rawlen(object)
  end
  error(('%s has no length operator'):format(class.type(object)), 2)
end

-- Classes -------------------------------------------------------------------------------------------------------------

-- The metatable of a new class.
function objects.new_metatable(name)
  local metatable = { __typename = name, __version = 1, __tostring = to_string, __len = length }
  class.set_operators(metatable)
  -- Each class has a function of its own, so that Lua does not compare objects of different classes with it. Since Lua 5.3 it
  -- does.
  function metatable.__eq(a, b)
    local own = inherited(metatable, '__eq__')
    if own and not (versions.has_integers and class_of(a) ~= class_of(b)) then
      return own(a, b)
    end
    return rawequal(a, b)
  end
  metatable.__index = metatable
  metatable.__metatable = metatable
  return metatable
end

-- The text of a class: its name.
local function to_name(metatable)
  return names[metatable]
end

-- Gives a class its hidden metatable and its parent. `getmetatable(metatable)` returns the parent, as in Torch7.
function objects.set_parent(metatable, parent)
  local hidden = hiddens[metatable]
  if not hidden then
    hidden = { __newindex = define_field, __metatable = false, __tostring = to_name }
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

-- The constructor table of a class: calling it makes an object, reading a field of it finds a method, and writing a field adds
-- one.
--
-- `own` becomes the metatable of the constructor table. Its field `__new` is the function that makes an object.
function objects.new_constructor(metatable, own)
  own.__index = metatable
  own.__metatable = metatable
  function own.__tostring()
    return names[metatable]
  end
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
