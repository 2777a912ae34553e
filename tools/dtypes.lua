-- Writes the tables and declarations that follow from the list of dtypes (src/element.rs) into the files that contain them:
-- the types for editors (lua/torch/meta.lua and lua/torch/meta_tensor.lua), and the tables in docs. Each stands between two lines
-- with its name in them, `[dtypes: NAME]` and `[end dtypes: NAME]`, and everything between these lines is overwritten.
--
--   make dtypes
--
-- `luajit tools/dtypes.lua --check`, a part of `make check`, changes nothing. It prints which of them are out of date, and fails
-- if there are any.
local core = require 'torch.core'
local torch = require 'torch.storage'
local files = require 'tools.files'
local classes = core.classes

-- The first line that a row says about the elements, and the rest as lines.
local function about(entry)
  local lines = {}
  for line in entry.about:gmatch ' ?([^\n]*)\n' do
    lines[#lines + 1] = line
  end
  return table.remove(lines, 1), lines
end

-- PyTorch's names of the dtype. PyTorch has no dtype for the untyped class.
local function names_in_pytorch(entry)
  local names = {}
  for name in entry.other_names:gmatch '%S+' do
    names[#names + 1] = name
  end
  if #names == 0 and entry.kind ~= 'untyped' then
    names[1] = entry.element:lower()
  end
  return names
end

-- What the declaration of a class says because of its kind.
local REMARKS = {
  ['small float'] = { '`data()[i].x` has the bits.' },
  complex = { 'An element is read and written as `torch.complex` says.' },
  untyped = {
    'One string alone is taken as the bytes. So `torch.UntypedStorage("data.bin")` reads no file: `fromfile` maps one,',
    'and so does `{filename = ...}`. A string with one more argument, which may be nil, is the name of a file and',
    'whether it is shared: see `torch.Storage`. Elements are stored as in a `torch.ByteStorage`.',
  },
}

-- The lines of an example, each of which begins a line or prints: the printing ones get their results as comments.
local function example(...)
  local lines, results = { ... }, {}
  local function record(...)
    local texts = {}
    for i = 1, select('#', ...) do
      texts[i] = tostring((select(i, ...)))
    end
    results[#results + 1] = table.concat(texts, '\t')
  end
  setfenv(assert(loadstring(table.concat(lines, '\n'))), { torch = torch, print = record })()
  for i, line in ipairs(lines) do
    if line:find '^print' then
      lines[i] = line .. ' --> ' .. table.remove(results, 1)
    end
  end
  table.insert(lines, 1, '```lua')
  table.insert(lines, '```')
  return lines
end

-- An example of the constructor: how numbers become elements. What it prints is the same in every Lua.
local function class_example(entry)
  local name, kind, width = entry.name, entry.kind, entry.width
  if kind == 'untyped' then
    return example(("local bytes = %s 'RIFF'"):format(name), 'print(bytes[1], bytes:string())')
  elseif kind == 'bool' then
    return example(('print(%s({ true, false, 0.5, 0 }):unpack())'):format(name))
  elseif kind == 'complex' then
    return example(('local s = %s { { 3, -4 }, 0.5 }'):format(name), 'print(s[1].re, s[1].im, s[2].re, s[2].im)')
  elseif kind == 'float' or kind == 'small float' then
    return example(('local s = %s { 0.1, 1000000 }'):format(name), 'print(s:decimal(1), s:decimal(2))')
  elseif width == 8 then
    local most = "local s = %s { '9223372036854775807', -1 } -- as numbers they would be rounded"
    return example(most:format(name), 'print(s:decimal(1), s:decimal(2))')
  end
  return example(('print(%s({ 1.9, -1, %d }):unpack())'):format(name, 2 ^ (8 * width - 1)))
end

-- The type of the elements in a table that makes a storage.
local ELEMENTS = { bool = '(torch.number|boolean)[]', complex = '(torch.number|torch.complex|number[])[]' }

local function class_declaration(entry)
  local name, kind = entry.name, entry.kind
  local summary, rest = about(entry)
  local lines = { summary }
  local function add(...)
    for _, line in ipairs { ... } do
      lines[#lines + 1] = line
    end
  end
  add(unpack(rest))
  if REMARKS[kind] then
    add('', unpack(REMARKS[kind]))
  end
  local dtypes = names_in_pytorch(entry)
  local origin = #dtypes > 0 and ("PyTorch's %s."):format(table.concat(dtypes, ', ')) or "PyTorch's UntypedStorage."
  if not entry.in_torch7 then
    origin = origin .. ' Not in Torch7, and not in `.t7` files.'
  end
  add('', 'Constructors: see `torch.Storage`. ' .. origin)
  add(unpack(class_example(entry)))
  add(('@class %s : torch.Storage'):format(name))
  if kind == 'complex' then
    add '@field [integer] torch.complex'
  end
  local function overload(arguments)
    add(('@overload fun(%s): %s'):format(arguments, name))
  end
  overload 'size?: torch.number'
  overload 'size: torch.number, ptr: torch.pointer'
  overload(('elements: %s'):format(ELEMENTS[kind] or 'torch.number[]'))
  if kind == 'untyped' then
    overload 'bytes: string'
  end
  overload(('storage: %s, offset?: torch.number, size?: torch.number'):format(name))
  local shared = kind == 'untyped' and 'shared: boolean?' or 'shared?: boolean'
  overload(('filename: string, %s, size?: torch.number, sharedmemory?: boolean'):format(shared))
  overload 'options: torch.MapOptions'
  overload 'options: torch.SharedOptions'
  return '---' .. table.concat(lines, '\n---') .. ('\n%s = {}\n'):format(name)
end

local function tensor_declaration(tensor)
  local name, entry = tensor.name, classes[tensor.number]
  local lines = { ('Tensors over a `%s`.'):format(entry.name), (about(entry)) }
  if not entry.in_torch7 then
    lines[3] = 'Not in Torch7, and not in `.t7` files.'
  end
  local function add(text, ...)
    lines[#lines + 1] = text:format(...)
  end
  add('@class %s : torch.Tensor', name)
  if entry.kind == 'complex' then
    add '@field [integer] torch.complex|torch.Tensor'
  end
  for _, arguments in ipairs {
    '...: torch.sizes',
    'sizes: torch.LongStorage, strides: torch.list',
    'rows: table',
    ('storage: %s, offset?: torch.number, ...: torch.sizes'):format(entry.name),
    ('tensor: %s'):format(name),
  } do
    add('@overload fun(%s): %s', arguments, name)
  end
  return '---' .. table.concat(lines, '\n---') .. ('\n%s = {}\n'):format(name)
end

-- A method for each class, { name =, cast =, entry = }, that converts to it. The examples show numbers that most classes change.
local function conversions(list, owner, variable, source, elements, element)
  local parts = {}
  for _, class in ipairs(list) do
    local wide = class.entry.kind == 'unsigned' and class.entry.width == 8
    local shown = class.entry.kind == 'complex' and ':get' .. element or wide and ':decimal' .. element or elements
    local code = example(source, ('print(%s:%s()%s)'):format(variable, class.cast, shown))
    local declaration = "---The same as `%s:type('%s')`.\n---%s\n---@return %s\nfunction %s:%s() end\n"
    parts[#parts + 1] =
      declaration:format(variable, class.name, table.concat(code, '\n---'), class.name, owner, class.cast)
  end
  return table.concat(parts, '\n')
end

-- The functions that make the blocks, by the names of these.
local BLOCKS = {
  -- lua/torch/meta.lua
  ['class names'] = function()
    local lines = { '---The name of a class of storages.', '---@alias torch.classname' }
    for _, entry in ipairs(classes) do
      lines[#lines + 1] = ("---| '%s' # %s"):format(entry.name, (about(entry)))
    end
    return table.concat(lines, '\n') .. '\n'
  end,
  conversions = function()
    local list = {}
    for _, entry in ipairs(classes) do
      if entry.kind ~= 'untyped' then -- `untyped` makes a view; its declaration is written by hand
        list[#list + 1] = { name = entry.name, cast = entry.cast, entry = entry }
      end
    end
    return conversions(list, 'Storage', 's', 'local s = torch.DoubleStorage { 2.75, -1.5, 200 }', ':unpack()', '(2)')
  end,
  classes = function()
    local parts = {}
    for number, entry in ipairs(classes) do
      parts[number] = class_declaration(entry)
    end
    return table.concat(parts, '\n')
  end,

  -- lua/torch/meta_tensor.lua
  ['tensor class names'] = function()
    local lines = { '---The name of one of the classes of tensors.', '---@alias torch.tensorclassname' }
    for _, tensor in ipairs(core.tensors) do
      lines[#lines + 1] = ("---| '%s' # Tensors over a `%s`."):format(tensor.name, classes[tensor.number].name)
    end
    return table.concat(lines, '\n') .. '\n'
  end,
  ['tensor conversions'] = function()
    local list = {}
    for i, tensor in ipairs(core.tensors) do
      list[i] = { name = tensor.name, cast = classes[tensor.number].cast, entry = classes[tensor.number] }
    end
    local source = 'local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }'
    return conversions(list, 'Tensor', 'x', source, ':storage():unpack()', '(1, 2)')
  end,
  ['tensor classes'] = function()
    local parts = {}
    for i, tensor in ipairs(core.tensors) do
      parts[i] = tensor_declaration(tensor)
    end
    return table.concat(parts, '\n')
  end,

  -- docs/numbers.md
  ['table of classes'] = function()
    local lines = { '| class | elements | bytes | conversion |', '|---|---|---|---|' }
    for _, entry in ipairs(classes) do
      local row = '| `%s` | %s | %d | `s:%s()` |'
      lines[#lines + 1] = row:format(entry.name, about(entry):gsub('%.$', ''), entry.width, entry.cast)
    end
    return table.concat(lines, '\n') .. '\n'
  end,

  -- docs/pytorch.md
  ['classes and PyTorch'] = function()
    local lines = { '| PyTorch | here |', '|---|---|' }
    for _, entry in ipairs(classes) do
      local names = names_in_pytorch(entry)
      for i, name in ipairs(names) do
        names[i] = ('`torch.%s`'):format(name)
      end
      local theirs = names[1] and table.concat(names, ', ') or ('`%s`'):format(entry.name)
      lines[#lines + 1] = ('| %s | `%s` |'):format(theirs, entry.name)
    end
    return table.concat(lines, '\n') .. '\n'
  end,
}

local check = arg[1] == '--check'
local problems, found = 0, {}
local function problem(...)
  problems = problems + 1
  print(string.format(...))
end

-- The text of a file with every block as the list of dtypes has it.
local function filled(name, text)
  local function fill(first, block, old, last, ended)
    if not BLOCKS[block] or block ~= ended then
      problem("%s: no block can be called '%s' and end as '%s'", name, block, ended)
      return nil
    end
    found[block] = true
    local new = (name:find '%.lua$' and '\n%s\n' or '%s'):format(BLOCKS[block]())
    if check and old ~= new then
      problem("%s: '%s' does not agree with the list of dtypes; run `make dtypes`", name, block)
    end
    return first .. new .. last
  end
  return (text:gsub('(%[dtypes: ([%w ]+)%][^\n]*\n)(.-)([^\n]*%[end dtypes: ([%w ]+)%])', fill))
end

for _, name in ipairs(files.list 'ls README.md docs/*.md lua/torch/meta*.lua') do
  local text = files.read(name)
  local new = filled(name, text)
  if not check and new ~= text then
    files.write(name, new)
    print(name .. ' is written')
  end
end
for block in pairs(BLOCKS) do
  if not found[block] then
    problem("no file has a place for '%s'", block)
  end
end

if check then
  print(('%d dtypes: %d problems'):format(#classes, problems))
end
os.exit(problems == 0 and 0 or 1)
