-- Converts between .t7, safetensors, npy and npz files. The input is mapped, so files may be larger than memory.
--
--   luajit examples/convert.lua IN OUT [OPTIONS]

-- The other files of this program are in the directory files beside it.
package.path = (arg[0]:match '^(.*/)' or './') .. '?.lua;' .. package.path
local torch = require 'torch.storage'
local arguments = require 'files.arguments'
local progress = require 'files.progress'
local read = require 'files.read'
local text = require 'files.text'
local values = require 'files.values'

local HELP = [[
convert.lua IN OUT [OPTIONS] converts between .t7, .safetensors, .npy and .npz files. The first bytes of IN say what it
is, and the name of OUT says what it becomes.

  IN             the file that is read, or the index of a model in several safetensors files
  OUT            the file that is written; after a failure an old one is as it was
  --name NAME    converts only the tensor NAME. If IN is nothing but one tensor, NAME is its name in OUT.
  --skip         leaves out what OUT cannot hold, such as the numbers and strings of a .t7 file
  --dtype DTYPE  says what the elements are for which an npy file has no type, for example bfloat16
  --progress     shows how far it is. Without it, a bar is shown for large files on a terminal.

The tensors and storages in the tables and objects of a .t7 file are named after their paths: the weight of layers[1] is
layers.1.weight. The tensor of an npy file has the name of the file. From one .t7 file to another everything is kept.

The exit status is 0, 1 after an error, and 2 if the options are wrong.
]]
local OPTIONS = { name = 'the name of a tensor', skip = '', dtype = 'the name of a dtype', progress = '' }

local LONGEST_NAME = 1000

-- What OUT does not have, to be said when it is written.
local notes = {}

local function note(message, ...)
  notes[#notes + 1] = message:format(...)
end

-- What a value that is not a tensor or storage is, or nil for a table or object that has not been seen before.
local function obstacle(value, seen)
  local kind = values.kind_of(value)
  if kind == nil or kind == 'function' then
    return 'a ' .. (kind or type(value))
  elseif seen[value] then
    return 'the same as ' .. seen[value]
  end
end

-- Returns the tensors and storages of a file by their names. A value of another kind is an error, or left out if `skip` is true.
local function arrays_in(contents, skip)
  local arrays, seen = {}, {}
  local left_out, example = 0, nil
  values.walk({ root = contents.root, name = contents.name }, function(item)
    local value, kind = item.value, values.kind_of(item.value)
    local path = values.path_of(item, LONGEST_NAME)
    if not path then
      arguments.fail('%s has a path of more than %d bytes', contents.path, LONGEST_NAME)
    elseif kind == 'tensor' or kind == 'storage' then
      if arrays[path] then
        arguments.fail('%s has two tensors with the path %s', contents.path, text.plain(path))
      end
      arrays[path] = values.array_of(value)
      return false
    end
    local what = obstacle(value, seen)
    if what then
      left_out, example = left_out + 1, example or ('%s (%s)'):format(text.plain(path), what)
      return false
    end
    seen[value] = text.plain(path)
    return true
  end)
  if left_out > 0 then
    local number = text.counted(left_out, 'value')
    if not skip then
      arguments.fail(
        'OUT cannot hold %s of %s, such as %s: --skip leaves out what it cannot hold',
        number,
        contents.path,
        example
      )
    end
    note('%s left out, such as %s', number, example)
  end
  return arrays
end

-- Each of these writes a file. `arrays` has them by their names.
local save = {}

function save.t7(path, arrays, contents, show)
  -- A file that is nothing but a tensor becomes one that is.
  local single = type(contents.root) ~= 'table' and next(arrays)
  torch.save(path, single and arrays[single] or arrays, { progress = show })
end

function save.safetensors(path, arrays, contents, show)
  torch.safetensors.save(path, arrays, contents.metadata, { progress = show })
end

function save.npy(path, arrays, contents, show)
  local count = 0
  for _ in pairs(arrays) do
    count = count + 1
  end
  if count ~= 1 then
    arguments.fail('an npy file has one tensor, and %s has %d: --name NAME takes one', contents.path, count)
  end
  local _, array = next(arrays)
  torch.npy.save(path, array, { progress = show })
end

function save.npz(path, arrays, _, show)
  torch.npz.save(path, arrays, { progress = show })
end

-- Elements whose type an npy file does not say.
local UNTYPED = { BFloat16 = 'bfloat16' }
for _, name in ipairs { 'float8_e4m3fn', 'float8_e4m3fnuz', 'float8_e5m2fnuz' } do
  UNTYPED[name:gsub('^f', 'F')] = name
end

local function note_losses(contents, arrays, format)
  if format ~= 'safetensors' and contents.metadata and next(contents.metadata) then
    note('the metadata is left out, because only safetensors files have metadata')
  end
  for name, array in pairs(arrays) do
    local in_file = contents.in_file and contents.in_file[name].dtype or 'U8'
    if torch.typename(array) == 'torch.ByteTensor' and in_file ~= 'U8' then
      note('%s has elements of type %s, which become bytes', text.plain(name), in_file)
    end
    local dtype = UNTYPED[torch.typename(array):match '^torch%.(.*)Tensor$']
    if dtype and format:find '^np' then
      note('the type of %s is not in the file: load it with the dtype %s', text.plain(name), dtype)
    end
  end
end

local function convert(options)
  local source, target = options[1], options[2]
  if not target or options[3] then
    arguments.wrong 'give two files, IN and OUT, or --help'
  end
  local format = read.format_by_name(target)
  if not save[format] then
    arguments.wrong('%s does not end in .t7, .safetensors, .npy or .npz', target)
  end
  local contents = read.open(source, options.dtype)
  local show, remove = progress.bar(options.progress)
  local write
  if contents.format == 't7' and format == 't7' and not options.name then
    function write()
      torch.save(target, contents.root, { progress = show })
    end
  else
    local arrays
    if options.name and values.kind_of(contents.root) == 'table' then
      arrays = { [options.name] = values.array_of(read.array(contents, options.name)) }
    else
      contents.name = options.name or contents.name
      arrays = arrays_in(contents, options.skip)
    end
    function write()
      note_losses(contents, arrays, format)
      save[format](target, arrays, contents, show)
    end
  end
  local done, problem = pcall(write)
  remove()
  if not done then
    error(problem, 0)
  end
  table.sort(notes)
  for _, line in ipairs(notes) do
    io.stderr:write('convert: ', line, '\n')
  end
end

arguments.run('convert', OPTIONS, HELP, convert)
