-- Writes docs/api.md, docs/api-tensors.md, docs/api-answers.md, docs/api-formats.md and docs/api-mpi.md from the declarations and
-- comments (LuaCATS) of lua/torch/meta.lua, meta_tensor.lua, meta_answers.lua, meta_formats.lua and meta_mpi.lua.
--
--   luajit tools/api.lua             writes the pages
--   luajit tools/api.lua --check     fails if a page is not what this program would write
local declarations = require 'tools.declarations'
local files = require 'tools.files'
local markdown = require 'tools.markdown'

local WIDTH = 126

local PAGES = {
  {
    name = 'api.md',
    source = 'lua/torch/meta.lua',
    introduction = [[
# API reference

This page describes every class, method and function of the library, except those of [tensors](api-tensors.md),
[sums and searches](api-answers.md), [safetensors, npy and npz files](api-formats.md), and [MPI](api-mpi.md).

`tools/api.lua` makes it from `lua/torch/meta.lua`. In the signatures `s` is a storage, `TYPE` is the name of an element type
such as `Int` or `Float`, and brackets enclose arguments that may be left out. The last words of an entry say where it comes
from: from Torch7, from PyTorch, or from this library. The examples assume this line:

```lua
local torch = require 'torch'
```
]],
  },
  {
    name = 'api-tensors.md',
    source = 'lua/torch/meta_tensor.lua',
    introduction = [[
# API reference: tensors

This page describes the classes of tensors and every method of a tensor. [api.md](api.md) describes the rest of the library, and
[tensors.md](tensors.md) explains tensors from the beginning.

`tools/api.lua` makes it from `lua/torch/meta_tensor.lua`. In the signatures `x` is a tensor, `TYPE` is the name of an element type
such as `Int` or `Float`, and brackets enclose arguments that may be left out. The last words of an entry say where it comes
from: from Torch7, from PyTorch, or from this library. The examples assume this line:

```lua
local torch = require 'torch'
```
]],
  },
  {
    name = 'api-answers.md',
    source = 'lua/torch/meta_answers.lua',
    introduction = [[
# API reference: sums, extremes, products and searches

This page describes the functions that make one number of many elements, find elements, or put them in order.
[answers.md](answers.md) explains them, and [api.md](api.md) describes the rest of the library.

`tools/api.lua` makes it from `lua/torch/meta_answers.lua`. In the signatures `s` is a storage, `x` is a tensor, and brackets
enclose arguments that may be left out. The last words of an entry say where it comes from: from Torch7, from NumPy, or from this
library. The examples assume this line:

```lua
local torch = require 'torch'
```
]],
  },
  {
    name = 'api-formats.md',
    source = 'lua/torch/meta_formats.lua',
    introduction = [[
# API reference: safetensors, npy and npz files

This page describes the functions for safetensors, npy and npz files. [api.md](api.md) describes the rest of the library.

`tools/api.lua` makes it from `lua/torch/meta_formats.lua`. In the signatures `file` is an open safetensors file, and brackets
enclose arguments that may be left out. The last words of an entry say where it comes from: from Python's safetensors, from NumPy,
or from this library. The examples assume this line:

```lua
local torch = require 'torch'
```
]],
  },
  {
    name = 'api-mpi.md',
    source = 'lua/torch/meta_mpi.lua',
    introduction = [[
# API reference: MPI

This page describes the functions of `torch.mpi` and the methods of its communicators and requests. [mpi.md](mpi.md) explains them.

`tools/api.lua` makes it from `lua/torch/meta_mpi.lua`. In the signatures `world` is a communicator and `request` a message that was
begun, and brackets enclose arguments that may be left out. Ranks and tags are counted from 0. The last words of an entry say where it
comes from: which function of MPI it is. The examples assume these lines, and `mpirun -n 2`. They show what both ranks print, rank 0
first; MPI itself keeps no order between them.

```lua (2 ranks)
local torch, mpi = require 'torch', require 'torch.mpi'
local world, rank = mpi.world, mpi.world:rank()
```
]],
  },
}

-- What an entry is called on the page, and how it is called in a program; nil if the page does not show it.
local OWNERS = {
  Storage = 's',
  Tensor = 'x',
  File = 'file',
  SafetensorsFile = 'file',
  torch = 'torch',
  mpi = 'mpi',
  Communicator = 'world',
  Request = 'request',
}

local function name_of(doc)
  local owner, separator, name, params = (doc.declaration or ''):match '^function ([%w_.]+)([.:])([%w_]+)%((.-)%)'
  if owner then
    local shown = OWNERS[owner] or owner
    if separator == '.' and not owner:find '^torch' and owner ~= 'mpi' then
      shown = 'torch.TYPE' .. owner
    end
    return shown .. separator .. name, params
  end
  -- A type may have the name of a function: torch.Record and torch.record have the same anchor.
  local constructor = (doc.declaration or ''):match '^(torch%.[%w_]+) ='
  local of_type = doc.alias or doc.class
  return constructor or of_type and of_type .. ' (type)'
end

-- Arguments that may be left out, and all that follow them, stand in brackets.
local function signature(params, name)
  local text, open = '', 0
  for i, param in ipairs(params) do
    if param.optional then
      text, open = text .. '[', open + 1
    end
    text = text .. (i > 1 and ', ' or '') .. param.name
  end
  return ('`%s(%s%s)`'):format(name, text, (']'):rep(open))
end

-- The signatures of a function: that of its parameters, and those of its overloads, such as `fun(self: TYPE, i?: TYPE): TYPE`.
local function signatures(doc)
  local list = { signature(doc.params, doc.name) }
  for _, overload in ipairs(doc.overloads) do
    local params = {}
    for part in overload:match('^fun(%b())'):sub(2, -2):gmatch '[^,]+' do
      local name, mark = part:match '^ *([%w_.]+)(%??)'
      if name ~= 'self' then
        table.insert(params, { name = name, optional = mark == '?' })
      end
    end
    table.insert(list, signature(params, doc.name))
  end
  return table.concat(list, ', ')
end

-- Writing ---------------------------------------------------------------------------------------------------------------

-- Entries that are all alike become a list in their section, without headings: the conversions, and the classes of tensors.
local function is_conversion(doc)
  return doc.text[1] and doc.text[1]:find '^The same as `[sx]:type%(' ~= nil
end

local function is_tensor_class(doc)
  return doc.text[1] and doc.text[1]:find '^Tensors over a `' ~= nil
end

-- { kind = 'function' or 'type', page = name, list = the title of the section that has it in a list, anchor = } by name
local headings = {}
for _, page in ipairs(PAGES) do
  page.sections = declarations.sections(files.read(page.source))
  for _, section in ipairs(page.sections) do
    for _, doc in ipairs(section.entries) do
      doc.name = name_of(doc)
      if doc.name then
        local kind = (doc.declaration or ''):match '^function' or 'type'
        local list = is_tensor_class(doc) and section.title or nil
        headings[doc.name] = { kind = kind, page = page.name, list = list, anchor = markdown.anchor(list or doc.name) }
      end
    end
  end
end

-- The lines of the page that is written, and its name.
local lines, page_name
local function write(text, ...)
  lines[#lines + 1] = select('#', ...) > 0 and text:format(...) or text
end

-- The heading that describes a name. `torch.Storage` is both a type and an alias of a class, and the type says more.
local function heading_of(name)
  local of_type = name .. ' (type)'
  if headings[name] and headings[name].kind == 'function' then
    return name
  end
  return headings[of_type] and of_type or headings[name] and name
end

local function link(name, heading)
  heading = heading or heading_of(name)
  local page = headings[heading].page
  return ('[`%s`](%s#%s)'):format(name, page == page_name and '' or page, headings[heading].anchor)
end

-- Prose: names of the library become links to their entries, and names of pages links to these.
local function prose(text, own_name)
  text = text:gsub('(%[?)`(torch%.[%w_.]+)`', function(bracket, name)
    if bracket == '' and heading_of(name) and heading_of(name) ~= own_name then
      return link(name)
    end
  end)
  return (text:gsub('docs/([%w-]+%.md)(#?[%w-]*)', '[%1](%1%2)'))
end

-- Writes a paragraph in lines of at most WIDTH characters.
local function write_paragraph(text)
  local line = ''
  for word in text:gmatch '%S+' do
    if line ~= '' and #line + 1 + #word > WIDTH then
      write(line)
      line = ''
    end
    line = line .. (line == '' and '' or ' ') .. word
  end
  write(line .. '\n')
end

-- Writes a comment. `arguments()`, if there is one, writes what follows the first paragraphs.
local function write_text(comment, own_name, arguments)
  for _, part in ipairs(declarations.parts(comment)) do
    if arguments and part.kind ~= 'text' then
      arguments()
      arguments = nil
    end
    if part.kind == 'code' then
      write(table.concat(part.lines, '\n') .. '\n')
    else
      write_paragraph(prose(part.text, own_name))
    end
  end
  if arguments then
    arguments()
  end
end

-- A type as code; names that have an entry become links.
local function type_text(text)
  local heading = text .. ' (type)'
  return headings[heading] and link(text, heading) or heading_of(text) and link(text) or '`' .. text .. '`'
end

local function explained(text)
  return text ~= '' and ': ' .. prose(text) or ''
end

local function write_params(list)
  for _, param in ipairs(list) do
    local of_type = type_text(param.type) .. (param.optional and ', optional' or '')
    write('- `%s` (%s)%s', param.name, of_type, explained(param.text))
  end
  if #list > 0 then
    write ''
  end
end

local function write_returns(returns, noun)
  local words = {}
  for i, value in ipairs(returns) do
    local name = value.name and value.name ~= '...' and ('`%s` '):format(value.name) or ''
    -- A name tells a new object of the same class from the object itself.
    if value.type == 'self' then
      words[i] = name == '' and ('the %s itself'):format(noun) or ('%s(a %s of the same class)'):format(name, noun)
    elseif value.type == 'self | number' then
      words[i] = ('%s(a %s of the same class, or a number)'):format(name, noun)
    else
      words[i] = name .. (name ~= '' and '(' .. type_text(value.type) .. ')' or type_text(value.type))
      words[i] = words[i] .. (value.name == '...' and ', any number of them' or '') .. explained(value.text)
    end
  end
  if #words > 0 then
    write('Returns %s.\n', table.concat(words, '; '))
  end
end

local function write_function(doc)
  write(signatures(doc) .. '\n')
  write_text(doc.text, doc.name, function()
    write_params(doc.params)
    write_returns(doc.returns, doc.declaration:find '^function Tensor' and 'tensor' or 'storage')
  end)
end

local function write_type(doc)
  if doc.alias_type and doc.alias_type ~= '' then
    write('`%s`\n', doc.alias_type)
  end
  write_text(doc.text, doc.name, function()
    -- A list of classes that is a section already is not repeated.
    local first = doc.values[1] and headings[heading_of(doc.values[1].name)]
    if first and first.list then
      write('See [%s](#%s).\n', first.list, first.anchor)
    elseif first then
      for _, value in ipairs(doc.values) do
        write('- %s: %s', link(value.name), prose(value.text))
      end
      write ''
    end
    local fields = {}
    for _, field in ipairs(doc.fields) do
      if not field.name:find '^%[' then
        table.insert(fields, field)
      end
    end
    write_params(fields)
  end)
end

-- Writes conversions as a list, and their examples as one block. Their first lines are the same.
local function write_conversions(docs)
  if #docs == 0 then
    return
  end
  local code = {}
  for i, doc in ipairs(docs) do
    write('- `%s()`: %s', doc.name, doc.text[1]:gsub('^T', 't'))
    for _, part in ipairs(declarations.parts(doc.text)) do
      for n = i == 1 and 1 or 3, part.lines and #part.lines - 1 or 0 do
        table.insert(code, part.lines[n])
      end
    end
  end
  write('\n%s\n```\n', table.concat(code, '\n'))
end

-- The text of a page.
local function text_of(page)
  lines, page_name = {}, page.name
  write(page.introduction)
  for _, section in ipairs(page.sections) do
    local names = {}
    for _, doc in ipairs(section.entries) do
      if doc.name then
        local name = doc.name:gsub(' %(type%)$', '')
        local has_heading = not is_conversion(doc) and not is_tensor_class(doc)
        table.insert(names, has_heading and link(name, doc.name) or ('`%s`'):format(name))
      end
    end
    write('- [%s](#%s): %s', section.title, markdown.anchor(section.title), table.concat(names, ', '))
  end
  write ''

  for _, section in ipairs(page.sections) do
    write('## %s\n', section.title)
    write_text(section.introduction)
    local list = {}
    for _, doc in ipairs(section.entries) do
      if doc.name and is_conversion(doc) then
        table.insert(list, doc)
      elseif doc.name and is_tensor_class(doc) then
        write('- `%s`: %s', doc.name, prose(table.concat(doc.text, ' ')):gsub('^T', 't'))
      elseif doc.name then
        write_conversions(list)
        list = {}
        if lines[#lines]:find '^%- ' then
          write ''
        end
        write('### %s\n', doc.name)
        local is_function = (doc.declaration or ''):find '^function'
        local writer = is_function and write_function or write_type
        writer(doc)
      end
    end
    write_conversions(list)
  end
  local text = table.concat(lines, '\n'):gsub('\n+$', '\n')
  return (text:gsub('\n\n\n+', '\n\n'))
end

local is_true = true
for _, page in ipairs(PAGES) do
  local name, text = 'docs/' .. page.name, text_of(page)
  if arg[1] == '--check' then
    if files.read_if_there(name) == text then
      print(name .. ' is up to date')
    else
      print(name .. ' is not what tools/api.lua writes: run `luajit tools/api.lua` and commit the page')
      is_true = false
    end
  else
    files.write(name, text)
  end
end
os.exit(is_true and 0 or 1)
