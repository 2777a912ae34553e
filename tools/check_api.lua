-- Checks that the library, its declarations (lua/torch/meta*.lua) and the specs agree: what the library has is declared and used
-- in a spec, and what is declared is in the library. Every function and method that is declared has an example. The pages
-- docs/api*.md are made from the declarations, and specs run the examples that stand there.
--
--   luajit tools/check_api.lua     (after a build, from the project's directory: only LuaJIT has the whole API)
local files = require 'tools.files'
local parser = require 'tools.declarations'
local torch = require 'torch.storage'
local core = require 'torch.core'

-- The families of classes: the names of their classes, and the methods that the library has and those that are declared, both as
-- sets of classes by the name of the method. What the declarations call `Storage` is the base class of all storages.
local families = {
  Storage = { classes = {}, methods = {}, declared = {}, specs = 'spec/*/*_spec.lua' },
  Tensor = {
    classes = {},
    methods = {},
    declared = {},
    specs = 'spec/tensors/*_spec.lua spec/answers/*_spec.lua spec/picking/*_spec.lua',
  },
}
-- The methods that convert to a class. The specs go through these class by class.
local casts = {}
for _, entry in ipairs(core.classes) do
  table.insert(families.Storage.classes, entry.name)
  casts[entry.cast] = true
end
for _, entry in ipairs(core.tensors) do
  table.insert(families.Tensor.classes, entry.name)
end

local problems = 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end

local function sorted(set)
  local names = {}
  for name in pairs(set) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

-- What the library has: public methods of each family, functions, and other fields, which are the constructors and `_VERSION`.
local functions, constructors = {}, {}
for _, family in pairs(families) do
  for _, class in ipairs(family.classes) do
    for name, value in pairs(assert(torch.getmetatable(class), class .. ' is missing')) do
      if type(name) == 'string' and not name:find '^__' and type(value) == 'function' then
        family.methods[name] = family.methods[name] or {}
        family.methods[name][class] = true
      end
    end
  end
end
for name, value in pairs(torch) do
  -- A table of functions, such as torch.npy.
  if type(value) == 'table' and value == core[name] then
    for own, f in pairs(value) do
      if type(f) == 'function' then
        functions[name .. '.' .. own] = true
      end
    end
  end
  if not name:find '^__' then
    (type(value) == 'function' and functions or constructors)[name] = true
  end
end

-- The methods of the file that a class's `read` and `write` get. A method that exists for every element type is declared once.
local file_methods = {}
for name in pairs(core.t7methods) do
  local verb, element = name:match '^(%l+)(%u%l+)$'
  -- `readBool` reads a Lua boolean, not an element of a BoolStorage.
  local of_each = element and element ~= 'Bool' and torch[element .. 'Storage']
  file_methods[of_each and verb .. 'Int' or name] = true
end

-- The methods of an open safetensors file.
local formats_methods = {}
for name in pairs(core.safetensorsmethods) do
  formats_methods[name] = true
end

-- What the declarations have. A method of the base class is a method of all classes of the family.
local meta = { functions = {}, constructors = {}, file_methods = {}, formats_methods = {} }
local function declare_method(owner, name)
  for base, family in pairs(families) do
    for _, class in ipairs(family.classes) do
      if owner == base or owner == class then
        family.declared[name] = family.declared[name] or {}
        family.declared[name][class] = true
      end
    end
  end
end
local declarations = files.read 'lua/torch/meta.lua'
  .. files.read 'lua/torch/meta_tensor.lua'
  .. files.read 'lua/torch/meta_answers.lua'
  .. files.read 'lua/torch/meta_formats.lua'
for line in declarations:gmatch '[^\n]+' do
  local owner, name = line:match '^function ([%w_.]+)[.:]([%w_]+)%('
  local constructor = line:match '^torch%.([%w_]+) ='
  if constructor then
    meta.constructors[constructor] = true
  elseif owner == 'torch' then
    meta.functions[name] = true
  elseif owner and owner:find '^torch%.' then
    meta.functions[owner:match '^torch%.(.*)$' .. '.' .. name] = true
  elseif owner == 'File' then
    meta.file_methods[name] = true
  elseif owner == 'SafetensorsFile' then
    meta.formats_methods[name] = true
  elseif owner then
    declare_method(owner, name)
  end
end

-- The text of all specs that a shell pattern names.
local function text_of(pattern)
  local texts = {}
  for _, file in ipairs(files.list('ls ' .. pattern)) do
    texts[#texts + 1] = files.read(file)
  end
  assert(#texts > 0, 'no specs')
  return table.concat(texts, '\n')
end
-- A spec uses a name by `:name(`, `.name`, `'name'`, or `name = {` in a table of cases.
local function is_in(text, name)
  for _, pattern in ipairs { ':%s%%s*[%%({"\']', '%%.%s%%f[^%%w_]', "'%s'", '%%f[%%w_]%s = {' } do
    if text:find(pattern:format(name)) then
      return true
    end
  end
  -- Specs have a table of functions in a variable of its own name.
  return name:find('.', 1, true) and text:find('%f[%w_]' .. name .. '%f[^%w_]') ~= nil
end

local function compare(what, library, declared, text)
  for _, name in ipairs(sorted(library)) do
    if not declared[name] then
      problem('the declarations have no %s %s', what, name)
    end
    if text and not casts[name] and not is_in(text, name) then
      problem('no spec uses the %s %s', what, name)
    end
  end
  for _, name in ipairs(sorted(declared)) do
    if not library[name] then
      problem('the declarations have the %s %s, and the library does not', what, name)
    end
  end
end

local count = 0
for base, family in pairs(families) do
  local what = 'method of ' .. base
  compare(what, family.methods, family.declared, text_of(family.specs))
  count = count + #sorted(family.methods)
  for name, classes in pairs(family.methods) do
    for _, class in ipairs(family.classes) do
      local declared = family.declared[name]
      if declared and (declared[class] or false) ~= (classes[class] or false) then
        problem('the declarations and the library differ on whether %s has %s', class, name)
      end
    end
  end
end

local specs = text_of 'spec/*/*_spec.lua'
compare('function', functions, meta.functions, specs)
compare('constructor', constructors, meta.constructors)
compare('method of a file', file_methods, meta.file_methods, specs)
compare('method of a safetensors file', formats_methods, meta.formats_methods, specs)

-- An example fits into the width of a page of the book.
local WIDEST = 100

local function check_width(file, name, lines)
  for _, line in ipairs(lines) do
    local width = 0
    for before, tab in line:gmatch '([^\t]*)(\t?)' do
      width = width + #before
      width = tab == '' and width or width + 8 - width % 8
    end
    if width > WIDEST then
      problem('lua/torch/%s.lua: a line of the example of %s has %d columns', file, name, width)
    end
  end
end

-- The functions that are declared, and those of them whose comment has an example that runs, uses them, and says what it prints.
local without, examples = {}, 0
for _, file in ipairs { 'meta', 'meta_tensor', 'meta_answers', 'meta_formats', 'meta_mpi' } do
  local text = files.read('lua/torch/' .. file .. '.lua')
  for name in text:gmatch '\nfunction ([%w_.:]+)' do
    without[name] = file
  end
  for _, section in ipairs(parser.sections(text)) do
    for _, entry in ipairs(section.entries) do
      local name = (entry.declaration or ''):match '^function ([%w_.:]+)'
      for _, part in ipairs(name and parser.parts(entry.text) or {}) do
        local code = part.kind == 'code' and table.concat(part.lines, '\n') or ''
        check_width(file, name, part.lines or {})
        local uses = code:find('%f[%w_]' .. name:match '[%w_]+$' .. '%f[^%w_]')
        if uses and code:find('-->', 1, true) and not code:find 'does not run' and without[name] then
          without[name], examples = nil, examples + 1
        end
      end
    end
  end
end
for _, name in ipairs(sorted(without)) do
  problem('lua/torch/%s.lua: no example shows what %s does', without[name], name)
end

print(
  ('%d methods, %d functions, %d constructors, %d examples: %d problems'):format(
    count,
    #sorted(functions),
    #sorted(constructors),
    examples,
    problems
  )
)
os.exit(problems == 0 and 0 or 1)
