-- Prints what is in a .t7, safetensors, npy or npz file. The file is mapped, so only the elements that are printed are read.
--
--   luajit examples/dump.lua FILE [OPTIONS]

-- The other files of this program are in the directory files beside it.
package.path = (arg[0]:match '^(.*/)' or './') .. '?.lua;' .. package.path
local torch = require 'torch.storage'
local arguments = require 'files.arguments'
local csv = require 'files.csv'
local export = require 'files.export'
local read = require 'files.read'
local text = require 'files.text'
local values = require 'files.values'
local exact, plain, counted, quoted = text.exact, text.plain, text.counted, text.quoted

local HELP = [[
dump.lua FILE [OPTIONS] prints what is in a .t7, .safetensors, .safetensors.index.json, .npy or .npz file:
the tree of its tables and objects, and of each tensor the class, the sizes, the bytes and the first elements.

  FILE             the file
  --depth N        prints N levels below the top (20)
  --values N       prints the first N elements (8)
  --csv NAME       prints nothing but all elements of the tensor or storage NAME, as CSV: the last dimension is a line.
                   NAME is the path in the tree with dots, such as layers.1.weight, or the name of the file without its
                   end if the file is nothing but this tensor.
  --dtype DTYPE    says what the elements are for which an npy file has no type, for example bfloat16
  --export FOLDER  writes every tensor and storage to a file that is named after its path: for NumPy (--npy, the default),
                   or the bare elements (--bin)

The exit status is 0, 1 after an error, and 2 if the options are wrong.
]]
local OPTIONS = {
  depth = 'a number',
  values = 'a number',
  csv = 'the name of a tensor',
  dtype = 'the name of a dtype',
  export = 'a folder',
  npy = '',
  bin = '',
}

-- The first `limit` of `count` values, with `...` after them if there are more.
local function first(count, limit, show)
  local shown = {}
  for n = 1, math.min(count, limit) do
    shown[n] = show(n)
  end
  if count > limit then
    shown[#shown + 1] = '...'
  end
  return #shown > 0 and ': ' .. table.concat(shown, ' ') or ''
end

local function sizes_of(list, none)
  local sizes = {}
  for n, size in ipairs(list) do
    sizes[n] = exact(size)
  end
  return #sizes > 0 and table.concat(sizes, 'x') or none
end

-- The line of a tensor. `in_file` has its dtype and its shape in the file, if those have names there.
local function show_tensor(value, limit, in_file)
  local tensor = values.shape_of(value)
  local count, _, gapless = values.extent(value)
  local line = { plain(tensor.class) .. ' ' .. sizes_of(tensor.size, 'scalar') }
  if in_file then
    local sizes = sizes_of(in_file.shape, 'scalar')
    local other = sizes ~= sizes_of(tensor.size, 'scalar') and ' of ' .. sizes or ''
    line[1] = ('%s (%s%s)'):format(line[1], in_file.dtype, other)
  end
  if not gapless and count > 0 then
    line[#line + 1] = 'strides ' .. sizes_of(tensor.stride)
  end
  if tensor.offset ~= 1 then
    line[#line + 1] = 'offset ' .. exact(tensor.offset)
  end
  local storage = tensor.storage
  line[#line + 1] = counted(count * (storage and storage:elementSize() or 0), 'byte')
  local shown = ''
  if storage and count > 0 then
    local show, next_index = text.shower(storage), values.indices(value)
    shown = first(count, limit, function()
      local index = next_index()
      return index >= 1 and index <= #storage and show(index) or '?'
    end)
  end
  return table.concat(line, ', ') .. shown
end

-- Whether a table is a list of numbers, which is shown in one line.
local function is_numbers(list)
  for n, child in ipairs(list) do
    if type(child.value) ~= 'number' or child.label ~= ('[%d]'):format(n) then
      return false
    end
  end
  return #list > 0
end

-- Returns the line of an item, and whether that line already shows everything below the item.
local function describe(item, limit, in_file)
  local value, kind = item.value, values.kind_of(item.value)
  if kind == 'storage' then
    local shown = first(#value, limit, text.shower(value))
    return ('%s, %s, %s%s'):format(
      torch.typename(value),
      counted(#value, 'element'),
      counted(value:nbytes(), 'byte'),
      shown
    )
  elseif kind == 'tensor' then
    return show_tensor(value, limit, in_file)
  elseif kind == 'table' then
    local list = values.children_of(item)
    local numbers = is_numbers(list)
    local shown = numbers and first(#list, limit, function(n)
      return exact(list[n].value)
    end) or ''
    return 'table, ' .. counted(list.entries, 'entry', 'entries') .. shown, numbers
  elseif kind == 'function' then
    local code = counted(#value.code, 'byte')
    return ('function, %s of code, %s'):format(code, counted(values.children_of(item).entries, 'upvalue'))
  elseif kind then
    return plain(value.class) .. (value.version and value.version ~= 1 and ' version ' .. exact(value.version) or '')
  elseif type(value) == 'number' then
    return exact(value)
  elseif type(value) == 'string' then
    return quoted(value)
  end
  return tostring(value)
end

-- Prints the tree of `contents.root`, as read.open returns it. `found` is the result of values.survey.
local function print_tree(contents, options, found)
  local numbers, last = {}, 0
  values.walk(contents, function(item)
    local value = item.value
    local before = ('  '):rep(item.level) .. (item.label and item.label .. ': ' or '')
    if numbers[value] ~= nil then
      io.write(before, '-> #', numbers[value], '\n')
      return false
    end
    local shared = (found.times[value] or 0) > 1
    if shared then
      last = last + 1
      numbers[value] = last
      before = before .. '#' .. last .. ' '
    end
    local line, complete = describe(item, options.values or 8, contents.in_file and contents.in_file[item.part])
    -- A tensor that shows all of its storage needs no line for the storage.
    if values.kind_of(value) == 'tensor' then
      complete = not contents.storages
        or select(2, values.extent(value)) and found.times[values.shape_of(value).storage] == 1
    end
    local cut = not complete and item.level >= (options.depth or 20) and #values.children_of(item) > 0
    io.write(before, line, cut and ' ...\n' or '\n')
    return not complete and not cut
  end)
end

arguments.run('dump', OPTIONS, HELP, function(options)
  local path = options[1]
  if not path then
    arguments.wrong 'give a file, or --help'
  elseif options[2] then
    arguments.wrong('one file at a time: %s or %s', path, options[2])
  elseif options.npy and options.bin then
    arguments.wrong 'give --npy or --bin'
  elseif (options.npy or options.bin) and not options.export then
    arguments.wrong('--%s goes with --export FOLDER', options.npy and 'npy' or 'bin')
  elseif options.csv and options.export then
    arguments.wrong 'give --csv or --export'
  end
  local contents = read.open(path, options.dtype)
  if options.csv then
    csv(read.array(contents, options.csv))
    return
  end
  print(path .. ': ' .. contents.title)
  if contents.metadata and next(contents.metadata) then
    local metadata = { root = contents.metadata, label = 'metadata' }
    print_tree(metadata, options, values.survey(metadata))
  end
  local found = values.survey(contents)
  print_tree(contents, options, found)
  if options.export then
    local files, bytes = export(contents, options.export, options.bin and 'bin' or 'npy', found)
    print(('wrote %s, %s of elements, to %s'):format(counted(files, 'file'), counted(bytes, 'byte'), options.export))
  end
end)
