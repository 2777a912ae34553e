-- Objects of classes in .t7 files, except storages and tensors. An object whose class the program has is loaded and saved by the
-- methods `read`, `write` and `__factory` of the class. Any other object becomes a record: a table that describes the object,
-- and is saved back as that object.
local core = require 'torch.core'
local class = require 'torch.class'

local records = { functions = {} }
local functions = records.functions

-- The metatable of all records.
local Record = {}

local true_metatable = debug and debug.getmetatable or getmetatable

-- The element names by class name. torch.CudaTensor has floats.
local cuda_tensors, cuda_storages = { ['torch.CudaTensor'] = 'Float' }, { ['torch.CudaStorage'] = 'Float' }
local storage_class = {}
-- The classes of storages and tensors that Torch7 has, each with the word for its objects, and those that Torch7 does not have.
-- The format does not define the data of the latter.
local words, unknown = {}, {}
for _, entry in ipairs(core.classes) do
  local element = entry.element
  local tensor = 'torch.' .. element .. 'Tensor'
  if entry.in_torch7 then
    storage_class[element] = entry.name
    cuda_tensors['torch.Cuda' .. element .. 'Tensor'] = element
    cuda_storages['torch.Cuda' .. element .. 'Storage'] = element
    words[entry.name], words[tensor] = 'storage', 'tensor'
  else
    unknown[entry.name], unknown[tensor] = true, true
  end
end

-- The text of a record, such as "[record of torch.CudaTensor of size 2x3]", whatever fields the program has given it.
function Record.__tostring(record)
  local name = record.class
  local of = name == 'function' and 'a function' or type(name) == 'string' and name or 'no class'
  local sizes = {}
  if cuda_tensors[name] and type(record.size) == 'table' then
    for _, size in ipairs(record.size) do
      sizes[#sizes + 1] = type(size) == 'number' and size or '?'
    end
  elseif cuda_storages[name] and core.look(record.storage) then
    sizes[1] = #record.storage
  end
  return ('[record of %s%s]'):format(of, #sizes > 0 and ' of size ' .. table.concat(sizes, 'x') or '')
end

local function new(record)
  return setmetatable(record, Record)
end

function functions.isRecord(object)
  return type(object) == 'table' and true_metatable(object) == Record
end

-- Classes of storages and tensors whose objects the program loads or saves itself -----------------------------------------

-- The metatables of these classes, and the factories that they have at first.
local metatables, factories = {}, {}
for _, list in ipairs { core.classes, core.tensors } do
  for _, entry in ipairs(list) do
    metatables[entry.name], factories[entry.name] = entry.metatable, entry.metatable.__factory
  end
end

-- Whether the objects of a class are loaded or saved by methods of the program. torch.core asks this for the first storage or
-- tensor of a dtype in a file.
function records.overridden(loading, name)
  local metatable = metatables[name]
  if loading then
    return class.metamethod(name, 'read') ~= nil or metatable.__factory ~= factories[name]
  end
  return class.metamethod(name, 'write') ~= nil or rawget(metatable, '__version') ~= 1
end

-- Loading --------------------------------------------------------------------------------------------------------------
-- torch.core calls `load_record` for an object of a class or a function. It returns the object, or nil and a message.
-- If a value follows in the file that belongs to the object, it also returns a function that takes this value, and the
-- value's name for messages. That function returns a message if the value is wrong, and otherwise nothing.

local function take_upvalues(record, upvalues)
  record.upvalues = upvalues
end

local function take_fields(record, fields)
  record.fields = fields
end

local function copy_fields(object, fields)
  if type(fields) ~= 'table' then
    return ('the fields of a %s must be a table, got %s'):format(class.type(object), class.type(fields))
  end
  for key, value in pairs(fields) do
    object[key] = value
  end
end

local function element_of(storage)
  return core.typename(storage):match '^torch%.(%a+)Storage$'
end

local function load_registered(name, version, index, file, objects)
  local factory = class.functions.factory(name)
  local object = factory and factory(file)
  if object == nil then
    return nil, ('the __factory of class %s is missing or made no object'):format(name)
  end
  objects[index] = object
  local read = class.metamethod(name, 'read')
  if read then
    read(object, file, version)
    return object
  elseif core.isStorage(object) then
    -- The elements are read before the object is resized, because a file can announce any number.
    local elements = core.t7elements(file, core.typename(object))
    object:resize(#elements)
    object:copy(elements)
    return object
  elseif type(object) == 'table' then
    return object, copy_fields
  end
  return nil, ('class %s has no method read'):format(name)
end

-- The storage for the record of a CUDA tensor, or nil. Also returns a message if `value` has the wrong class. In a file the value
-- is the record of a CUDA storage.
local function storage_of(record, value)
  if functions.isRecord(value) and cuda_storages[value.class] then
    value = value.storage
  end
  local wanted = storage_class[cuda_tensors[record.class]]
  if value ~= nil and core.typename(value) ~= wanted then
    return nil, ('the storage of a %s must be a %s, got %s'):format(record.class, wanted, class.type(value))
  end
  return value
end

-- A message if a storage does not have all elements of a tensor, otherwise nil. The storage may be nil.
local function misfit(sizes, strides, offset, storage)
  local fits, why = pcall(core.checktensor, sizes, strides, offset, storage and #storage or 0)
  return not fits and why or nil
end

local function load_tensor(record, file)
  local dimensions = file:readInt()
  local sizes, strides = file:readLong(dimensions), file:readLong(dimensions)
  record.size, record.stride, record.offset = sizes:totable(), strides:totable(), file:readLong()
  local offset = record.offset
  return record,
    function(tensor, value)
      local storage, problem = storage_of(tensor, value)
      problem = problem or misfit(sizes, strides, offset, storage)
      tensor.storage = storage
      return problem
    end,
    'storage'
end

-- The version for a record. 0 means that the file has none. The text '0', and a text that differs from its number,
-- stays a text.
local function version_of(text)
  local number = tonumber(text or 0)
  if text == '0' or number == nil or text and tostring(number) ~= text then
    return text
  end
  return number
end

function records.load_record(name, text, index, file, objects)
  if type(name) == 'number' then
    local record = new { class = 'function', tag = name, code = text }
    if index then
      objects[index] = record
    end
    return record, take_upvalues, 'upvalues'
  end
  if class.functions.getmetatable(name) and not (unknown[name] and not class.metamethod(name, 'read')) then
    return load_registered(name, tonumber(text) or 0, index, file, objects)
  end
  local version = version_of(text)
  local record = new { class = name, version = version }
  objects[index] = record
  if cuda_tensors[name] then
    record.version = version ~= 1 and version or nil
    return load_tensor(record, file)
  elseif cuda_storages[name] then
    record.storage = core.t7elements(file, storage_class[cuda_storages[name]])
    return record
  end
  return record, take_fields, ('fields<%s>'):format(name)
end

-- Checking -------------------------------------------------------------------------------------------------------------

local new_longs = class.functions.getconstructortable('torch.LongStorage').new

-- Larger whole numbers are not exact in Lua.
local LARGEST = 2 ^ 53

local function is_whole(value)
  return type(value) == 'number' and value % 1 == 0 and value >= -LARGEST and value <= LARGEST
end

-- Whether `version` can be written as a version, and is read back as the same.
local function is_version(version)
  return type(version) == 'number' or type(version) == 'string' and tonumber(version) and not version:find '[%s%z]'
end

local function longs(list)
  if type(list) ~= 'table' then
    return nil
  end
  for _, value in ipairs(list) do
    if not is_whole(value) then
      return nil
    end
  end
  local fine, storage = pcall(new_longs, list)
  return fine and storage or nil
end

-- The sizes and strides of a CUDA tensor's record as LongStorages, and its storage. Otherwise nil and a message.
local function tensor_of(record)
  local sizes, strides = longs(record.size), longs(record.stride)
  if not (sizes and strides) then
    return nil, ('size and stride in the record of a %s must be lists of whole numbers'):format(record.class)
  elseif not is_whole(record.offset) then
    return nil, ('offset in the record of a %s must be a whole number from 1'):format(record.class)
  end
  local storage, problem = storage_of(record, record.storage)
  problem = problem or misfit(sizes, strides, record.offset, storage)
  if problem then
    return nil, problem
  end
  return sizes, strides, storage
end

-- A message if a record is not valid, otherwise nothing.
local function problem_of(record)
  local name, version = record.class, record.version
  if type(name) ~= 'string' then
    return ('class in a record must be a string, got %s'):format(class.type(name))
  elseif version ~= nil and not is_version(version) then
    local got = type(version) == 'string' and ("'%s'"):format(version) or class.type(version)
    return ('version in the record of a %s must be a number, got %s'):format(name, got)
  elseif version == 0 and is_version(name:match '^V (.*)$') then
    return ('version must not be 0, because the class name %s would be read as a version'):format(name)
  elseif name == 'function' then
    local tag = record.tag
    if not (tag == 6 or tag == 7 or tag == 8) or type(record.code) ~= 'string' then
      return 'the record of a function must have a tag (6, 7 or 8) and a code (a string)'
    end
  elseif cuda_storages[name] then
    local wanted = storage_class[cuda_storages[name]]
    if core.typename(record.storage) ~= wanted then
      return ('storage in the record of a %s must be a %s, got %s'):format(name, wanted, class.type(record.storage))
    end
  elseif cuda_tensors[name] then
    local sizes, problem = tensor_of(record)
    return not sizes and problem or nil
  elseif words[name] then
    return ('a %s cannot be a record: save the %s itself'):format(name, words[name])
  end
end

-- Turns a table into a record, which is saved as the object that it describes. Returns the table.
function functions.record(...)
  local record = ...
  if type(record) ~= 'table' or true_metatable(record) ~= nil and true_metatable(record) ~= Record then
    local got = select('#', ...) == 0 and 'no value' or class.type(record)
    error(("bad argument #1 to 'record' (table without metatable expected, got %s)"):format(got), 2)
  end
  local problem = problem_of(record)
  if problem then
    error(("bad argument #1 to 'record' (%s)"):format(problem), 2)
  end
  return new(record)
end

-- The elements of a CUDA tensor's record, in row-major order, in a new storage.
function functions.contiguous(...)
  local record = ...
  if type(record) ~= 'table' or not cuda_tensors[rawget(record, 'class')] then
    local got = select('#', ...) == 0 and 'no value' or class.type(record)
    local problem =
      "bad argument #1 to 'contiguous' (record of a CUDA tensor expected, got %s; a tensor has x:contiguous())"
    error(problem:format(got), 2)
  end
  local sizes, strides, storage = tensor_of(record)
  if not sizes then
    error(("bad argument #1 to 'contiguous' (%s)"):format(strides), 2)
  elseif not storage then
    return class.functions.getconstructortable(storage_class[cuda_tensors[record.class]])()
  end
  local fine, elements = pcall(core.gather, storage, sizes, strides, record.offset)
  if not fine then
    error(elements, 2)
  end
  return elements
end

-- Saving ---------------------------------------------------------------------------------------------------------------
-- torch.core calls `save_record` for a value that may be an object of a class. It returns nothing if the value is not
-- one, and true if it has written the object. If another value has to be written after it, it returns true, true and
-- that value. If the object cannot be saved, it returns false, a description of the object and a message.

local TABLE_OBJECT = 4

-- Writes the tag and the index of an object. Returns true if the object was written before. Otherwise writes its
-- version and class too.
local function write_header(file, identity, name, version, guise)
  local index, known = core.t7index(file, identity, guise)
  file:writeInt(TABLE_OBJECT)
  file:writeInt(index)
  if known then
    return true
  end
  if version ~= 0 then
    local text = 'V ' .. tostring(version)
    file:writeInt(#text)
    file:writeString(text)
  end
  file:writeInt(#name)
  file:writeString(name)
end

local function save_function(record, file)
  file:writeInt(record.tag)
  if record.tag ~= 6 then
    local index, known = core.t7index(file, record)
    file:writeInt(index)
    if known then
      return true
    end
  end
  file:writeInt(#record.code)
  file:writeString(record.code)
  return true, true, record.upvalues
end

local function save_record(record, file)
  local name = record.class
  local problem = problem_of(record)
  if problem then
    return false, 'a record', problem
  end
  local version = record.version or 1
  if name == 'function' then
    return save_function(record, file)
  elseif cuda_storages[name] then
    local storage = record.storage
    -- The file can also have the same storage as itself. That is another object.
    local guise = name == 'torch.CudaStorage' and 1 or 2
    if not write_header(file, storage, name, version, guise) then
      file:writeLong(#storage)
      file['write' .. cuda_storages[name]](file, storage)
    end
    return true
  end
  if write_header(file, record, name, version) then
    return true
  elseif not cuda_tensors[name] then
    return true, true, record.fields
  end
  local sizes, strides, storage = tensor_of(record)
  file:writeInt(#sizes)
  file:writeLong(sizes)
  file:writeLong(strides)
  file:writeLong(record.offset)
  if storage then
    storage = new { class = (name:gsub('Tensor$', 'Storage')), version = 1, storage = storage }
  end
  return true, true, storage
end

-- The name of the class whose constructor table a value is, or nil. Such a table is empty, so it cannot be saved as a table.
local function class_name_of(object)
  if type(object) ~= 'table' then
    return nil
  end
  local own = true_metatable(object)
  local metatable = own and rawget(own, '__index')
  if metatable and class.registry.constructors[metatable] == own then
    return class.registry.names[metatable]
  end
  return core.classname(object)
end

function records.save_record(object, file)
  if functions.isRecord(object) then
    return save_record(object, file)
  end
  local name = core.typename(object)
  if not name then
    local class_name = class_name_of(object)
    if class_name then
      return false, 'the class ' .. class_name, 'a class is not data; save its name instead'
    end
    return
  end
  local version = class.functions.version(object) or 1
  if not is_version(version) then
    return false, 'a ' .. name, ('its __version must be a number, got %s'):format(class.type(version))
  end
  if write_header(file, object, name, version) then
    return true
  end
  local write = class.metamethod(name, 'write')
  if write then
    write(object, file)
    return true
  elseif unknown[name] then
    return false, 'a ' .. name, 'Torch7 has no such class, and the class has no method write'
  elseif core.isStorage(object) then
    file:writeLong(#object)
    file['write' .. element_of(object)](file, object)
    return true
  elseif core.isTensor(object) then
    return true, true, core.t7layout(file, object)
  elseif type(object) ~= 'table' then
    return false, 'a ' .. name, 'its class has no method write'
  end
  local fields = {}
  for key, value in next, object do
    fields[key] = value
  end
  return true, true, fields
end

return records
