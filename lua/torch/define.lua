-- The functions that make classes in Lua: torch.class, torch.newmetatable, torch.metatype, torch.setmetatable.
local core = require 'torch.core'
local class = require 'torch.class'
local versions = require 'torch.versions'
local objects = require 'torch.objects'

local functions = {}

local has_ffi, ffi = pcall(require, 'ffi')
local registry = class.registry
local metatables, names, parents = registry.metatables, registry.names, registry.parents
local constructors, hiddens, ctypes = registry.constructors, registry.hiddens, registry.ctypes
local mismatch = class.mismatch

-- Tells torch.typename the class names of values that are not storages.
core.setnames(names, function(cdata)
  return next(ctypes) and ctypes[tonumber(ffi.typeof(cdata))]
end)

-- Names ---------------------------------------------------------------------------------------------------------------

-- Called under pcall, because a program may have made reading an undeclared global variable an error.
local function get(container, key)
  return container[key]
end

-- The table that `word` names at the beginning of a class name: a global variable or a loaded package.
local function outermost(word)
  local found, value = pcall(get, versions.globals(), word)
  if not found or type(value) ~= 'table' then
    value = package.loaded[word]
  end
  if type(value) ~= 'table' and word == 'torch' then
    value = package.loaded['torch.storage']
  end
  return value
end

-- The table and the key under which the constructor of a class is stored. If there is no such table, nil and a message.
local function destination(name, module)
  local path, key = name:match '^(.*)%.([^.]*)$'
  if module then
    return module, key or name
  elseif not path then
    return versions.globals(), name
  end
  local container, so_far
  for word in path:gmatch '[^.]+' do
    so_far = so_far and so_far .. '.' .. word or word
    if container then
      container = container[word]
    else
      container = outermost(word)
    end
    if type(container) ~= 'table' then
      return nil,
        ("class '%s': there is no table '%s'; make it first, or pass a table for the class"):format(name, so_far)
    end
  end
  return container, key
end

local function is_name(name)
  return name ~= '' and not ('.' .. name .. '.'):find('..', 1, true)
end

-- Making classes ------------------------------------------------------------------------------------------------------

local function is_storage_class(metatable)
  return metatable ~= nil and not names[metatable]
end

-- Whether `metatable` is `child`, or a class that `child` inherits from.
local function is_ancestor(metatable, child)
  while child do
    if child == metatable then
      return true
    end
    child = parents[child]
  end
  return false
end

local function has_constructor(metatable)
  local own = constructors[metatable]
  return own ~= nil and own.__new ~= nil
end

-- Why these parts cannot be added to an existing class, or nil if they can.
local function conflict(metatable, name, parts)
  if parts.parent then
    if is_storage_class(metatable) then
      return ("class '%s' is a storage class, and a storage class has no parent"):format(name)
    elseif parents[metatable] or getmetatable(metatable) then
      return ("class '%s' has a parent already"):format(name)
    elseif is_ancestor(metatable, parts.parent) then
      return ("class '%s' would inherit from itself"):format(name)
    end
  end
  local taken = parts.constructor and (is_storage_class(metatable) or has_constructor(metatable)) and 'constructor'
    or parts.destructor and rawget(metatable, '__gc') and 'destructor'
    or parts.factory and rawget(metatable, '__factory') and 'factory'
  return taken and ("class '%s' has a %s already"):format(name, taken) or nil
end

-- Makes a class, or adds parts that an existing class does not have yet. Everything is checked before anything is changed. If a
-- check fails, returns nil and the problem with argument #1.
local function define(name, parts, module)
  if not is_name(name) then
    return nil, ("'%s' is not a class name: words with dots between them expected"):format(name)
  end
  local metatable = metatables[name]
  local problem = metatable and conflict(metatable, name, parts)
  if problem then
    return nil, problem
  end
  local container, key = destination(name, module)
  if not container then
    return nil, key
  end

  metatable = metatable or objects.new_metatable(name)
  local constructor = rawget(metatable, '__constructor')
  local own = constructors[metatable] or {}
  if not constructor then
    constructor = objects.new_constructor(metatable, own)
  end
  if module == nil and container == versions.globals() then
    rawset(container, key, constructor)
  else
    container[key] = constructor
  end

  if not metatables[name] then
    metatables[name], names[metatable] = metatable, name
  end
  rawset(metatable, '__constructor', constructor)
  if not is_storage_class(metatable) then
    constructors[metatable] = own
    if hiddens[metatable] or not getmetatable(metatable) then
      objects.set_parent(metatable, parts.parent)
    end
  end
  if parts.constructor then
    own.__new = parts.constructor
    rawset(metatable, 'new', parts.constructor)
  end
  rawset(metatable, '__gc', rawget(metatable, '__gc') or parts.destructor)
  rawset(metatable, '__factory', rawget(metatable, '__factory') or parts.factory)
  return metatable
end

-- Raises for argument `n` with the position of the caller of the function that calls this.
local function refuse(n, name, problem)
  error(("bad argument #%d to '%s' (%s)"):format(n, name, problem), 3)
end

-- torch.class(name [, parent] [, module]): a new class of tables. Returns its metatable and the parent's.
function functions.class(...)
  local count = select('#', ...)
  local name, parent_name, module = ...
  if count == 2 and type(parent_name) == 'table' then
    parent_name, module = nil, parent_name
  end
  if type(name) ~= 'string' then
    error(mismatch(1, 'class', 'string', name, count), 2)
  elseif parent_name ~= nil and type(parent_name) ~= 'string' then
    error(mismatch(2, 'class', count == 2 and 'name of the parent or table' or 'name of the parent', parent_name, 2), 2)
  elseif module ~= nil and type(module) ~= 'table' then
    error(mismatch(3, 'class', 'table', module, 3), 2)
  end
  local parent = parent_name and metatables[parent_name]
  if parent_name and not parent then
    refuse(2, 'class', ("there is no class '%s'"):format(parent_name))
  end
  local known = metatables[name]
  if known and (is_storage_class(known) or rawget(known, '__factory') or has_constructor(known)) then
    refuse(1, 'class', ("class '%s' is defined already"):format(name))
  end

  local metatable, problem
  local function constructor(...)
    local object = setmetatable({}, metatable)
    local init = object.__init
    if init then
      init(object, ...)
    end
    return object
  end
  local function factory()
    return setmetatable({}, metatable)
  end
  metatable, problem = define(name, { parent = parent, constructor = constructor, factory = factory }, module)
  if not metatable then
    refuse(1, 'class', problem)
  end
  return metatable, parent
end

-- torch.newmetatable(name [, parent [, constructor [, destructor [, factory [, module]]]]]): makes a class of whatever values
-- the constructor makes, or adds these parts to an existing class that does not have them. Returns its metatable.
function functions.newmetatable(...)
  local count = select('#', ...)
  local name, parent_name, constructor, destructor, factory, module = ...
  if type(name) ~= 'string' then
    error(mismatch(1, 'newmetatable', 'string', name, count), 2)
  elseif parent_name ~= nil and type(parent_name) ~= 'string' then
    error(mismatch(2, 'newmetatable', 'name of the parent or nil', parent_name, count), 2)
  end
  for n = 3, 5 do
    local part = select(n, name, parent_name, constructor, destructor, factory)
    if part ~= nil and type(part) ~= 'function' then
      error(mismatch(n, 'newmetatable', 'function or nil', part, count), 2)
    end
  end
  if module ~= nil and type(module) ~= 'table' then
    error(mismatch(6, 'newmetatable', 'table or nil', module, count), 2)
  end
  local parent = parent_name and metatables[parent_name]
  if parent_name and not parent then
    refuse(2, 'newmetatable', ("there is no class '%s'"):format(parent_name))
  end
  local parts = { parent = parent, constructor = constructor, destructor = destructor, factory = factory }
  local metatable, problem = define(name, parts, module)
  if not metatable then
    refuse(1, 'newmetatable', problem)
  end
  return metatable
end

-- The number of an FFI type, given as a ctype, as its text, or as a value of it. If there is no such type, nil and a message.
local function ctype_number(ctype)
  if not has_ffi then
    return nil, 'FFI types need LuaJIT'
  end
  local known, found = pcall(ffi.typeof, ctype)
  if not known then
    return nil, 'not an FFI type: ' .. tostring(found)
  end
  return tonumber(found)
end

-- torch.metatype(name, metatable [, ctype]): makes a class of all values that have this metatable, and of the values of an FFI
-- type.
function functions.metatype(...)
  local count = select('#', ...)
  local name, metatable, ctype = ...
  if type(name) ~= 'string' then
    error(mismatch(1, 'metatype', 'string', name, count), 2)
  elseif type(metatable) ~= 'table' then
    error(mismatch(2, 'metatype', 'table', metatable, count), 2)
  end
  local known = names[metatable] or class.storage_class(metatable)
  if metatables[name] and metatables[name] ~= metatable then
    refuse(1, 'metatype', ("class '%s' is defined already, with another metatable"):format(name))
  elseif known and known ~= name then
    refuse(2, 'metatype', ("the metatable already belongs to class '%s'"):format(known))
  end
  if ctype ~= nil then
    local number, problem = ctype_number(ctype)
    if not number then
      refuse(3, 'metatype', problem)
    elseif ctypes[number] and ctypes[number] ~= name then
      refuse(3, 'metatype', ("the FFI type already belongs to class '%s'"):format(ctypes[number]))
    elseif is_storage_class(metatables[name]) then
      refuse(1, 'metatype', ("class '%s' is a storage class, and an FFI value is not a storage"):format(name))
    end
    ctypes[number] = name
  end
  if not known then
    metatables[name], names[metatable] = metatable, name
  end
end

-- torch.setmetatable(table, name): makes the table an object of that class, and returns it.
function functions.setmetatable(...)
  local count = select('#', ...)
  local object, name = ...
  if type(object) ~= 'table' then
    error(mismatch(1, 'setmetatable', 'table', object, count), 2)
  elseif type(name) ~= 'string' then
    error(mismatch(2, 'setmetatable', 'string', name, count), 2)
  end
  local metatable = metatables[name]
  if not metatable then
    refuse(2, 'setmetatable', ("there is no class '%s'"):format(name))
  elseif is_storage_class(metatable) then
    refuse(2, 'setmetatable', ("class '%s' is a storage class, and a table is not a storage"):format(name))
  end
  objects.set_metatable(object, metatable)
  return object
end

return functions
