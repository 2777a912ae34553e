-- What loads from .t7 files without a class of its own in the running program: records, tables that are saved back as what they
-- were. And the ways of classes that the program has: their `read`, `write` and `__factory`.
local core = require 'torch.core'
local class = require 'torch.class'

local records = { functions = {} }
local functions = records.functions

-- The metatable of records, by which they are known.
local Record = {}

local true_metatable = debug and debug.getmetatable or getmetatable

-- Class name -> name of the element: torch.CudaTensor has floats.
local tensors, cuda_storages = {}, { ['torch.CudaStorage'] = 'Float' }
tensors['torch.CudaTensor'] = 'Float'
local storage_class = {}
-- Classes of storages that Torch7 does not have: nobody knows what is in a file that names one.
local unknown = {}
for _, entry in ipairs(core.classes) do
  local element = entry.name:match '^torch%.(.+)Storage$'
  if entry.in_torch7 then
    storage_class[element] = entry.name
    tensors['torch.' .. element .. 'Tensor'] = element
    tensors['torch.Cuda' .. element .. 'Tensor'] = element
    cuda_storages['torch.Cuda' .. element .. 'Storage'] = element
  else
    unknown[entry.name] = true
  end
end

local function new(record)
  return setmetatable(record, Record)
end

function functions.isRecord(object)
  return type(object) == 'table' and true_metatable(object) == Record
end

-- Classes of storages whose `read`, `write` or `__factory` the program has replaced ------------------------------------

local factories = {}
for _, entry in ipairs(core.classes) do
  factories[entry.metatable] = entry.metatable.__factory
end

local function has_own_ways(name, metatable)
  return class.metamethod(name, 'read')
    or class.metamethod(name, 'write')
    or metatable.__factory ~= factories[metatable]
end

-- A bit for each class, in the order of core.classes.
function records.own_ways()
  local bits = 0
  for n, entry in ipairs(core.classes) do
    if has_own_ways(entry.name, entry.metatable) then
      bits = bits + 2 ^ (n - 1)
    end
  end
  return bits
end

-- Loading --------------------------------------------------------------------------------------------------------------
-- What core calls for an object of a class, or a function: gives the object and, where a value belongs to it that comes next in
-- the file, the function that takes it, and its name; or nil and what is wrong. The function gives what is wrong, or nothing.

local function take_upvalues(record, upvalues)
  record.upvalues = upvalues
end

local function take_fields(record, fields)
  record.fields = fields
end

local function copy_fields(object, fields)
  if type(fields) ~= 'table' then
    return ('a table expected, the fields of a %s, got %s'):format(class.type(object), class.type(fields))
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
    return nil, ('the class %s has no __factory that makes an object'):format(name)
  end
  objects[index] = object
  local read = class.metamethod(name, 'read')
  if read then
    read(object, file, version)
    return object
  elseif core.isStorage(object) then
    -- Read before there is room for them in the object: a file can announce any number.
    local elements = core.t7elements(file, core.typename(object))
    object:resize(#elements)
    object:copy(elements)
    return object
  elseif type(object) == 'table' then
    return object, copy_fields
  end
  return nil, ('the class %s has no read'):format(name)
end

-- Why a storage, or nil, is not that of a tensor. The storage of a CUDA tensor is given as the record that a file has of it.
local function storage_of(record, value)
  if functions.isRecord(value) and cuda_storages[value.class] then
    value = value.storage
  end
  local wanted = storage_class[tensors[record.class]]
  if value ~= nil and core.typename(value) ~= wanted then
    return nil, ('the storage of a %s expected, a %s, got %s'):format(record.class, wanted, class.type(value))
  end
  return value
end

-- Why a storage of so many elements does not hold a tensor, or nothing.
local function misfit(sizes, strides, offset, available)
  local fits, why = pcall(core.checktensor, sizes, strides, offset, available)
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
      problem = problem or misfit(sizes, strides, offset, storage and #storage)
      tensor.storage = storage
      return problem
    end,
    'storage'
end

-- A version as a record has it: 0 is no version at all, and what a number would not give back stays text.
local function version_of(text)
  local number = tonumber(text or 0)
  if text == '0' or number == nil or text and tostring(number) ~= text then
    return text
  end
  return number
end

local function meet(name, text, index, file, objects)
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
  if tensors[name] then
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

-- Beyond that a number of Lua has gaps.
local LARGEST = 2 ^ 53

local function is_whole(value)
  return type(value) == 'number' and value % 1 == 0 and value >= -LARGEST and value <= LARGEST
end

-- Whether this is written as a version, and read as that again.
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

-- Sizes and strides of a tensor's record as LongStorages, and its storage; or nil and what is wrong.
local function tensor_of(record)
  local sizes, strides = longs(record.size), longs(record.stride)
  if not (sizes and strides) then
    return nil, ('the record of a %s has size and stride, lists of whole numbers'):format(record.class)
  elseif not is_whole(record.offset) then
    return nil, ('the record of a %s has an offset, a whole number from 1'):format(record.class)
  end
  local storage, problem = storage_of(record, record.storage)
  problem = problem or misfit(sizes, strides, record.offset, storage and #storage)
  if problem then
    return nil, problem
  end
  return sizes, strides, storage
end

-- What is wrong with a record, or nothing.
local function problem_of(record)
  local name, version = record.class, record.version
  if type(name) ~= 'string' then
    return ('a record has a class, the name, got %s'):format(class.type(name))
  elseif version ~= nil and not is_version(version) then
    local got = type(version) == 'string' and ("'%s'"):format(version) or class.type(version)
    return ('the version of a %s is a number, got %s'):format(name, got)
  elseif version == 0 and is_version(name:match '^V (.*)$') then
    return ('without a version, the class name %s is read as one'):format(name)
  elseif name == 'function' then
    local tag = record.tag
    if not (tag == 6 or tag == 7 or tag == 8) or type(record.code) ~= 'string' then
      return 'the record of a function has a tag, 6, 7 or 8, and its code, a string'
    end
  elseif cuda_storages[name] then
    local wanted = storage_class[cuda_storages[name]]
    if core.typename(record.storage) ~= wanted then
      return ('the record of a %s has a storage, a %s, got %s'):format(name, wanted, class.type(record.storage))
    end
  elseif tensors[name] then
    local sizes, problem = tensor_of(record)
    return not sizes and problem or nil
  elseif storage_class[name:match '^torch%.(%a+)Storage$' or ''] then
    return ('a %s is no record: it is saved as it is'):format(name)
  end
end

-- Makes a table a record: it is saved as the object that it describes. Returns it.
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

-- The elements of a tensor's record in a new storage, in row-major order.
function functions.contiguous(...)
  local record = ...
  if type(record) ~= 'table' or not tensors[rawget(record, 'class')] then
    local got = select('#', ...) == 0 and 'no value' or class.type(record)
    error(("bad argument #1 to 'contiguous' (record of a tensor expected, got %s)"):format(got), 2)
  end
  local sizes, strides, storage = tensor_of(record)
  if not sizes then
    error(("bad argument #1 to 'contiguous' (%s)"):format(strides), 2)
  elseif not storage then
    return class.functions.getconstructortable(storage_class[tensors[record.class]])()
  end
  local fine, elements = pcall(core.gather, storage, sizes, strides, record.offset)
  if not fine then
    error(elements, 2)
  end
  return elements
end

-- Saving ---------------------------------------------------------------------------------------------------------------
-- What core calls for what it does not know. Gives nothing where that is no object of a class; true when it is written; true,
-- true and the value that is left to be written after it; or false and what is wrong.

local TABLE_OBJECT = 4

-- Writes tag and index, and the first time version and class. Whether it was written before.
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
    return false, ('a record: %s,'):format(problem)
  end
  local version = record.version or 1
  if name == 'function' then
    return save_function(record, file)
  elseif cuda_storages[name] then
    local storage = record.storage
    -- The same storage can be in the file as itself, too: that is another object.
    local guise = name == 'torch.CudaStorage' and 1 or 2
    if not write_header(file, storage, name, version, guise) then
      file:writeLong(#storage)
      file['write' .. cuda_storages[name]](file, storage)
    end
    return true
  end
  if write_header(file, record, name, version) then
    return true
  elseif not tensors[name] then
    return true, true, record.fields
  end
  local sizes, strides, storage = tensor_of(record)
  file:writeInt(#sizes)
  file:writeLong(sizes)
  file:writeLong(strides)
  file:writeLong(record.offset)
  local cuda = name:gsub('Tensor$', 'Storage')
  if storage and cuda_storages[cuda] then
    storage = new { class = cuda, version = 1, storage = storage }
  end
  return true, true, storage
end

local function emit(object, file)
  if functions.isRecord(object) then
    return save_record(object, file)
  end
  local name = core.typename(object)
  if not name then
    return
  end
  local version = class.functions.version(object) or 1
  if not is_version(version) then
    return false, ('a %s, whose __version is no number but a %s,'):format(name, class.type(version))
  end
  if write_header(file, object, name, version) then
    return true
  end
  local write = class.metamethod(name, 'write')
  if write then
    write(object, file)
    return true
  elseif core.isStorage(object) then
    file:writeLong(#object)
    file['write' .. element_of(object)](file, object)
    return true
  elseif type(object) ~= 'table' then
    return false, ('a %s, which has no write,'):format(name)
  end
  local fields = {}
  for key, value in next, object do
    fields[key] = value
  end
  return true, true, fields
end

-- One function for both: core has one place for it in an open file.
records.loading, records.saving = meet, emit

return records
