-- Prints what a .t7 file holds, with objects of any class: the tree of its tables and objects, sizes and strides, and the first
-- values.
--
--   luajit examples/t7dump.lua FILE.t7 [--depth N] [--values N] [--export FOLDER [--npy|--bin]]
--
--   --depth N        prints N levels below the top (20)
--   --values N       prints the first N elements (8)
--   --export FOLDER  writes every storage and tensor, row by row, to a file that is named after its path in the object:
--                    for NumPy (--npy, the default), or the bare elements (--bin)
--
-- The file is mapped, so only the parts of a large file that are printed are read.
local torch = require 'torch.storage'

-- The other files of this program are in the directory t7dump beside it.
package.path = (arg[0]:match '^(.*/)' or './') .. '?.lua;' .. package.path
local text = require 't7dump.text'
local values = require 't7dump.values'
local export = require 't7dump.export'
local exact, plain, counted, quoted = text.exact, text.plain, text.counted, text.quoted

-- Raises an error whose message is printed as it is.
local function fail(message, ...)
  error(select('#', ...) > 0 and message:format(...) or message, 0)
end

local function whole_number(word, option)
  local number = tonumber(word)
  if not number or number < 0 or number % 1 ~= 0 then
    fail('%s needs a whole number from 0 up, got %s', option, word or 'nothing')
  end
  return number
end

local function read_arguments(words)
  local options, position = { depth = 20, values = 8 }, 1
  local function following()
    position = position + 1
    return words[position]
  end
  while words[position] do
    local word = words[position]
    if word == '--depth' or word == '--values' then
      options[word:sub(3)] = whole_number(following(), word)
    elseif word == '--export' then
      options.folder = following() or fail '--export needs a folder'
    elseif word == '--npy' or word == '--bin' then
      if options.format and options.format ~= word:sub(3) then
        fail 'give --npy or --bin'
      end
      options.format = word:sub(3)
    elseif word:find '^%-%-' then
      fail('no option %s: there are --depth, --values, --export, --npy, --bin', word)
    elseif options.file then
      fail('one file at a time: %s or %s', options.file, word)
    else
      options.file = word
    end
    position = position + 1
  end
  if not options.file then
    fail 'give a file: t7dump.lua FILE.t7 [--depth N] [--values N] [--export FOLDER [--npy|--bin]]'
  elseif options.format and not options.folder then
    fail('--%s goes with --export FOLDER', options.format)
  end
  options.format = options.format or 'npy'
  return options
end

-- Printing -------------------------------------------------------------------------------------------------------------

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

local function show_tensor(value, limit)
  local tensor, count = values.shape_of(value), values.extent(value)
  local name = plain(tensor.class)
  if count == 0 then
    return name .. ', empty'
  end
  local sizes, strides, at = {}, {}, {}
  for n in ipairs(tensor.size) do
    sizes[n], strides[n], at[n] = exact(tensor.size[n]), exact(tensor.stride[n]), 0
  end
  local storage = tensor.storage
  local show = text.ELEMENTS[torch.typename(storage)].show
  local index = tensor.offset
  local shown = first(count, limit, function()
    local element = index >= 1 and index <= #storage and show(storage, index) or '?'
    for n = #at, 1, -1 do
      at[n], index = at[n] + 1, index + tensor.stride[n]
      if at[n] < tensor.size[n] then
        break
      end
      at[n], index = 0, index - tensor.stride[n] * tensor.size[n]
    end
    return element
  end)
  local offset = tensor.offset ~= 1 and ', offset ' .. exact(tensor.offset) or ''
  return ('%s %s, strides %s%s%s'):format(name, table.concat(sizes, 'x'), table.concat(strides, 'x'), offset, shown)
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
local function describe(item, limit)
  local value, kind = item.value, values.kind_of(item.value)
  if kind == 'storage' then
    local name = torch.typename(value)
    local shown = first(#value, limit, function(i)
      return text.ELEMENTS[name].show(value, i)
    end)
    return ('%s, %s%s'):format(name, counted(#value, 'element'), shown)
  elseif kind == 'tensor' then
    return show_tensor(value, limit)
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

local function print_tree(root, options, found)
  local numbers, last = {}, 0
  values.walk(root, function(item)
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
    local line, complete = describe(item, options.values)
    -- A tensor that shows all of its storage needs no line for the storage.
    if values.kind_of(value) == 'tensor' and select(2, values.extent(value)) then
      complete = complete or found.times[values.shape_of(value).storage] == 1
    end
    local cut = not complete and item.level >= options.depth and #values.children_of(item) > 0
    io.write(before, line, cut and ' ...\n' or '\n')
    return not complete and not cut
  end)
end

-- All of it ------------------------------------------------------------------------------------------------------------

local function main(words)
  local options = read_arguments(words)
  local loaded, root, info = pcall(torch.load, options.file, { mmap = true, info = true })
  if not loaded then
    error(root, 0)
  end
  local mode = info.mode
  if info.longsize then
    mode = ('%s, %d-byte longs, %s endian'):format(mode, info.longsize, info.byteorder)
  end
  print(options.file .. ': ' .. mode)
  local found = values.survey(root)
  print_tree(root, options, found)
  if options.folder then
    local files, bytes = export(root, options, found)
    print(('wrote %s, %s of elements, to %s'):format(counted(files, 'file'), counted(bytes, 'byte'), options.folder))
  end
end

io.stdout:setvbuf 'full'
local done, problem = pcall(main, arg)
io.stdout:flush()
if not done then
  io.stderr:write('t7dump: ', (tostring(problem):gsub('%s*\n%s*', ' ')), '\n')
  os.exit(1)
end
