-- What the values in a file are: their kinds, their children, their paths, and which of them occur more than once.
local torch = require 'torch.storage'
local text = require 'files.text'

local values = {}

-- The kind of a loaded value: 'storage', 'tensor', 'function', 'wrapper' (of a storage), 'object', 'table', or nil for others.
function values.kind_of(value)
  if torch.isStorage(value) then
    return 'storage'
  elseif torch.isTensor(value) then
    return 'tensor'
  elseif type(value) ~= 'table' then
    return nil
  elseif not torch.isRecord(value) then
    return 'table'
  elseif rawget(value, 'code') then
    return 'function'
  elseif rawget(value, 'size') then
    return 'tensor'
  end
  return rawget(value, 'storage') and 'wrapper' or 'object'
end

-- One value for each storage: the objects of two tensors on one storage differ.
local storages = {}

local function only(value)
  if not torch.isStorage(value) then
    return value
  end
  local address = torch.pointer(value)
  storages[address] = storages[address] or value
  return storages[address]
end

-- What the record of a CUDA tensor has as fields, for a tensor: class, size, stride, offset and storage.
local shapes = {}

function values.shape_of(tensor)
  if not torch.isTensor(tensor) then
    return tensor
  end
  local shape = shapes[tensor]
  if not shape then
    shape = { class = torch.typename(tensor), size = tensor:size():totable(), stride = tensor:stride():totable() }
    shape.offset, shape.storage = tensor:storageOffset(), only(tensor:storage())
    shapes[tensor] = shape
  end
  return shape
end

-- Returns how many elements a tensor has, whether they are all of its storage in order, and whether they lie there without
-- gaps.
function values.extent(value)
  local tensor, count, gapless = values.shape_of(value), 1, true
  for n = #tensor.size, 1, -1 do
    gapless = gapless and (tensor.stride[n] == count or tensor.size[n] == 1)
    count = count * tensor.size[n]
  end
  -- The record of a CUDA tensor without sizes has no elements. Other tensors without sizes are scalars.
  if not tensor.storage or #tensor.size == 0 and not torch.isTensor(value) then
    count = 0
  end
  return count, gapless and tensor.storage and tensor.offset == 1 and count == #tensor.storage, gapless
end

-- Returns a function that gives the index in the storage of one element of a tensor after the other, in row-major order.
function values.indices(value)
  local tensor = values.shape_of(value)
  local index, at = tensor.offset, {}
  for n in ipairs(tensor.size) do
    at[n] = 0
  end
  return function()
    local current = index
    for n = #at, 1, -1 do
      at[n], index = at[n] + 1, index + tensor.stride[n]
      if at[n] < tensor.size[n] then
        break
      end
      at[n], index = 0, index - tensor.stride[n] * tensor.size[n]
    end
    return current
  end
end

-- Returns a storage or a tensor as it is, and makes a tensor of the record of a CUDA tensor.
function values.array_of(value)
  if not torch.isRecord(value) then
    return value
  end
  local class = value.storage and torch.typename(value.storage):match '^torch%.(.*)Storage$' or 'Float'
  local make = torch[class .. 'Tensor']
  return #value.size > 0 and make(value.storage, value.offset, value.size, value.stride) or make()
end

-- Keys are shown in this order: numbers, strings, booleans, then objects by their kind and class.
local RANKS = { number = 1, string = 2, boolean = 3 }

local function sort_text(key)
  local kind = values.kind_of(key)
  local class = torch.typename(key) or kind ~= 'table' and key.class or ''
  return (kind or '') .. class .. (kind == 'storage' and #key or '')
end

local function precedes(a, b)
  local first, second = RANKS[type(a)] or 4, RANKS[type(b)] or 4
  if first ~= second then
    return first < second
  elseif first <= 2 then
    return a < b
  elseif first == 3 then
    return not a and b
  end
  return sort_text(a) < sort_text(b)
end

-- A child has `label`, the text before it in the tree; `part`, its part of the path; and `value`. An object that is a key is a
-- child too. `entries` counts the pairs of key and value.
local function add_entries(list, fields)
  local keys = {}
  for key in next, fields do
    keys[#keys + 1] = key
  end
  table.sort(keys, precedes)
  local objects = 0
  for _, key in ipairs(keys) do
    local label, part
    if type(key) == 'string' then
      label = text.plain(key) == key and key or '[' .. text.quoted(key) .. ']'
      part = key
    elseif RANKS[type(key)] then
      part = type(key) == 'number' and text.exact(key) or tostring(key)
      label = '[' .. part .. ']'
    else
      objects = objects + 1
      label = ('[key %d]'):format(objects)
      part = 'key' .. objects
      list[#list + 1] = { label = ('key %d'):format(objects), part = part .. '.key', value = key }
    end
    list[#list + 1] = { label = label, part = part, value = fields[key] }
  end
  list.entries = #keys
end

local function children(value)
  local list, kind = { entries = 0 }, values.kind_of(value)
  if kind == 'table' then
    add_entries(list, value)
  elseif kind == 'tensor' or kind == 'wrapper' then
    local storage = values.shape_of(value).storage
    list[1] = storage and { label = 'storage', part = 'storage', value = storage } or nil
  elseif kind == 'function' or kind == 'object' then
    local fields = value.upvalues
    if kind == 'object' then
      fields = value.fields
    end
    if values.kind_of(fields) == 'table' then
      add_entries(list, fields)
    elseif fields ~= nil then
      list[1] = { label = 'fields', part = 'fields', value = fields }
    end
  end
  return list
end

function values.children_of(item)
  item.list = item.list or children(item.value)
  return item.list
end

-- The path of an item, such as layers.1.weight, or nil if it has more than `longest` bytes.
function values.path_of(item, longest)
  local parts, bytes = {}, -1
  repeat
    table.insert(parts, 1, item.part)
    bytes = bytes + 1 + #item.part
    item = item.parent
  until bytes > longest or not item or not item.parent -- the root has a name only if there is nothing else
  return bytes <= longest and table.concat(parts, '.') or nil
end

-- Visits the value `contents.root` and all that is below it. It is not recursive, because files may be nested deeper than Lua's
-- stack allows. `visit(item)` returns whether to go below the item, which has `label`, `part`, `value`, `level`, and `parent`
-- (another item). Storages of tensors are visited if `contents.storages` is true.
function values.walk(contents, visit)
  local waiting = { { value = contents.root, level = 0, part = contents.name, label = contents.label } }
  while #waiting > 0 do
    local item = table.remove(waiting)
    item.value = only(item.value)
    if visit(item) and (contents.storages or values.kind_of(item.value) ~= 'tensor') then
      local list = values.children_of(item)
      for n = #list, 1, -1 do
        local child = list[n]
        child.level, child.parent = item.level + 1, item
        waiting[#waiting + 1] = child
      end
    end
  end
end

-- Counts how often each object occurs (`times`), and finds the storages that occur outside of tensors (`bare`) and those that a
-- tensor shows completely (`covered`).
function values.survey(contents)
  local found = { times = {}, bare = {}, covered = {} }
  local times = found.times
  values.walk(contents, function(item)
    local value, kind = item.value, values.kind_of(item.value)
    if not kind then
      return false
    end
    if kind == 'storage' and (not item.parent or values.kind_of(item.parent.value) ~= 'tensor') then
      found.bare[value] = true
    elseif kind == 'tensor' and select(2, values.extent(value)) then
      found.covered[values.shape_of(value).storage] = true
    end
    times[value] = (times[value] or 0) + 1
    return times[value] == 1
  end)
  return found
end

return values
