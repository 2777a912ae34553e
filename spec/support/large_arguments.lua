-- The calls of every declared function (lua/torch/meta*.lua) with a large string in the place of one argument, and a child
-- process that makes them with little memory left: INTERPRETER spec/support/large_arguments.lua BYTES BYTE MEGABYTES FIRST FOLDER
package.path = './?.lua;' .. package.path
local files = require 'tools.files'
local parser = require 'tools.declarations'
local torch = require 'torch'

-- torch.mpi is a library of its own, which needs other processes.
local DECLARATIONS = { 'meta', 'meta_tensor', 'meta_answers', 'meta_formats' }

-- The classes whose constructors are called. Their functions are the same for all classes, by kind of element.
local CLASSES = { 'Float', 'Long', 'Bool', 'ComplexDouble', 'Untyped' }

local bytes, byte, megabytes, first, folder =
  tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4]), arg[5]

local function path(name)
  return folder .. '/' .. name
end

local storage = torch.FloatStorage { 1, 2, 3, 4 }
local tensor = torch.FloatTensor { { 1, 2 }, { 3, 4 } }
torch.save(path 'a.t7', storage)
torch.safetensors.save(path 'a.safetensors', { x = tensor }, { key = 'text' })
torch.npy.save(path 'a.npy', tensor)
torch.npz.save(path 'a.npz', { x = tensor })

-- A class whose objects get the file when they are saved and loaded, and call the method of it that is tested.
local in_file
local InFile = torch.class('spec.InFile', {})
function InFile.write(_, file)
  if in_file then
    in_file(file)
  end
end
function InFile:read(file)
  self.read = nil
  if in_file then
    in_file(file)
  end
end

local small = string.char(byte):rep(9)

-- Whether a parameter, or a field of options, is the path of a file.
local function is_path(name)
  return name == 'path' or name == 'filename'
end

-- The string that is tested. A small one would be the name of a file in the working directory, so it gets the folder.
local function tested(name, value)
  return is_path(name) and value == small and path(value) or value
end

-- Something that a parameter of a type may be, in calls that test another parameter. Pointers are never valid.
local function sample(of_type, name, owner)
  local literal = of_type:match "^'(.-)'"
  if is_path(name) then
    local format = owner:match '^torch%.(%l+)%.'
    return path('a.' .. (format or 't7'))
  elseif literal then
    return literal
  elseif of_type:find '^torch%.pointer' then
    return false
  elseif of_type:find '^torch%.number' or of_type:find '^integer' or of_type:find '^number' or of_type == 'any' then
    return 1
  elseif of_type:find '^torch%.sizes' then
    return 2
  elseif of_type:find '^boolean' then
    return true
  elseif of_type:find '^torch%.Tensor' then
    return tensor
  elseif of_type:find '^torch%.tensorclass' then
    return 'torch.FloatTensor'
  elseif of_type:find '^torch%.class' then
    return 'torch.FloatStorage'
  elseif of_type:find '^torch%.Mode' then
    return 'binary'
  elseif of_type:find '^torch%.%a*Storage' or of_type:find '^torch%.Buffer' then
    return torch.FloatStorage { 1, 2, 3, 4 }
  elseif of_type:find '^fun' then
    return function() end
  elseif of_type:find '^table<string' then
    return { x = tensor }
  elseif of_type:find '^string' then
    return 'text'
  end
  return {}
end

-- The fields of the tables of options, by the name of their class.
local fields = {}
local sections = {}
for _, file in ipairs(DECLARATIONS) do
  for _, section in ipairs(parser.sections(files.read('lua/torch/' .. file .. '.lua'))) do
    table.insert(sections, section)
    for _, entry in ipairs(section.entries) do
      if entry.class then
        fields[entry.class] = entry.fields
      end
    end
  end
end

local cases = {}

-- Adds the calls of one function: `call` gets the arguments. Those of a method begin with the object.
local function add(name, params, call)
  for n, param in ipairs(params) do
    -- `value` makes the argument from the large string.
    local function case(what, value)
      local function make(large)
        local args = {}
        for k, other in ipairs(params) do
          args[k] = k == n and value(large) or k ~= n and sample(other.type, other.name, name) or nil
        end
        return args
      end
      table.insert(cases, { name = name .. ': ' .. what, call = call, make = make, count = #params })
    end
    case(param.name, function(large)
      return tested(param.name, large)
    end)
    local is_table = param.type:find 'table' or param.type:find '%[%]' or param.type:find 'sizes' or param.type == 'any'
    if is_table then
      case(param.name .. '[1]', function(large)
        return { large }
      end)
      case(param.name .. '[1][1]', function(large)
        return { { large } }
      end)
      case(param.name .. '[large]', function(large)
        return { [large] = large }
      end)
      case(param.name .. '[large] = object', function(large)
        return { [large] = tensor }
      end)
      case(param.name .. '.key', function(large)
        return { key = large }
      end)
    end
    for class in param.type:gmatch 'torch%.%a+' do
      for _, field in ipairs(fields[class] or {}) do
        if class:find 'Options$' or class:find 'Record$' then
          case(param.name .. '.' .. field.name, function(large)
            local options = { [field.name] = tested(field.name, large) }
            if class:find 'Map' and field.name ~= 'filename' then
              options.filename = path 'a.t7'
            end
            return options
          end)
          case(param.name .. '.' .. field.name .. '[1]', function(large)
            return { [field.name] = { large } }
          end)
        end
      end
      if class:find 'Options$' then
        case(param.name .. '[large]', function(large)
          return { [large] = 1 }
        end)
      end
    end
  end
end

local function method_of(family)
  return function(name)
    local metatable = torch.getmetatable(family)
    return function(...)
      return metatable[name](...)
    end
  end
end

-- Calls a method of the file of an object that is saved or loaded.
local function method_of_file(name)
  return function(file, ...)
    local arguments = { ... }
    local count = select('#', ...)
    local ok, message = true, nil
    in_file = function(own)
      ok, message = pcall(function()
        local f = (type(file) == 'table' and own or own)[name]
        return f(file == 'file' and own or file, unpack(arguments, 1, count))
      end)
    end
    local is_reading = name:find '^read' or name == 'position'
    local bytes_of = torch.serialize(setmetatable({}, InFile))
    if is_reading then
      pcall(torch.deserialize, bytes_of)
    end
    in_file = nil
    if not ok then
      error(message, 0)
    end
  end
end

local function method_of_safetensors(name)
  return function(file, ...)
    local open = torch.safetensors.open(path 'a.safetensors')
    return open[name](file == 'file' and open or file, ...)
  end
end

local finders = {
  Storage = method_of 'torch.FloatStorage',
  Tensor = method_of 'torch.FloatTensor',
  File = method_of_file,
  SafetensorsFile = method_of_safetensors,
}
local selves = {
  Storage = 'torch.Storage',
  Tensor = 'torch.Tensor',
  File = "'file'",
  SafetensorsFile = "'file'",
}

-- The parameters in `name: type, name?: type` of an overload.
local function parameters(text)
  local params, depth, start = {}, 0, 1
  for i = 1, #text + 1 do
    local character = text:sub(i, i)
    if character:find '[%(<{%[]' then
      depth = depth + 1
    elseif character:find '[%)>}%]]' then
      depth = depth - 1
    elseif (character == ',' or character == '') and depth == 0 then
      local name, of_type = text:sub(start, i - 1):match '^%s*([%w_.]+)%??:%s*(.-)%s*$'
      if name then
        table.insert(params, { name = name, type = of_type })
      end
      start = i + 1
    end
  end
  return params
end

local wanted = {}
for _, class in ipairs(CLASSES) do
  wanted[class .. 'Storage'], wanted[class .. 'Tensor'] = true, true
end

for _, section in ipairs(sections) do
  for _, entry in ipairs(section.entries) do
    local declaration = entry.declaration or ''
    local owner, separator, name = declaration:match '^function ([%w_.]+)([.:])([%w_]+)%('
    local constructor = declaration:match '^torch%.([%w_]+) ='
    if constructor and wanted[constructor] then
      for _, overload in ipairs(entry.overloads) do
        local params = parameters(overload:match '^fun%((.-)%)%s*:' or overload:match '^fun%((.*)%)')
        add('torch.' .. constructor, params, function(...)
          return torch[constructor](...)
        end)
      end
    elseif owner and owner:find '^torch' then
      local full = (owner .. '.' .. name):gsub('^torch%.', '')
      add('torch.' .. full, entry.params, function(...)
        local f = torch
        for part in full:gmatch '[%w_]+' do
          f = f[part]
        end
        return f(...)
      end)
    elseif owner and finders[owner] then
      local params = {}
      if separator == ':' then
        table.insert(params, { name = 'self', type = selves[owner] })
      end
      for _, param in ipairs(entry.params) do
        table.insert(params, param)
      end
      add(owner .. separator .. name, params, finders[owner](name))
    end
  end
end

-- Operators, which no declaration lists.
for _, class in ipairs(CLASSES) do
  for _, family in ipairs { 'Storage', 'Tensor' } do
    local full = class .. family
    if torch[full] then
      local function object()
        return torch[full](class == 'Untyped' and 4 or { 1, 2, 3, 4 })
      end
      local params = { { name = 'key', type = 'any' }, { name = 'value', type = 'any' } }
      add(full .. ' o[key]', { params[1] }, function(key)
        return object()[key]
      end)
      add(full .. ' o[key] = value', params, function(key, value)
        object()[key] = value
      end)
      add(full .. ' o == value, o .. value', { params[2] }, function(value)
        local o = object()
        return o == value, o .. value
      end)
      add(full .. ' o + value', { params[2] }, function(value)
        return object() + value
      end)
      add(full .. ' o(value)', { params[2] }, function(value)
        return object()(value)
      end)
    end
  end
end

if not bytes then
  return cases
end

-- All cases run once with a small string: what is loaded or compiled at the first use is there afterwards.
local function run(case, value)
  local ok, message = pcall(function()
    return case.call(unpack(case.make(value), 1, case.count))
  end)
  assert(ok or type(message) == 'string', case.name)
end

local out = assert(io.open(path 'progress', 'a'))
out:setvbuf 'no'
if first == 1 then
  for number, case in ipairs(cases) do
    out:write(number, ' small ', case.name, '\n')
    run(case, small)
  end
end
local large = string.char(byte):rep(bytes)
collectgarbage()
collectgarbage()
local status = files.read '/proc/self/status'
local size = tonumber(status:match 'VmSize:%s*(%d+)') * 1024
local process = tonumber(files.read('/proc/self/stat'):match '^%d+')
assert(os.execute(('prlimit --pid %d --as=%d'):format(process, size + megabytes * 2 ^ 20)))
for number = first, #cases do
  out:write(number, ' large ', cases[number].name, '\n')
  run(cases[number], large)
  collectgarbage()
end
out:write(#cases, ' done\n')
os.exit(0)
