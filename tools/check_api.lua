-- The API in four places, which have to agree: the library itself, its types (lua/torch/meta.lua), the tables of
-- README.md, and the specs. Prints what is missing where, or there but not in the library, and fails if it printed any.
--
--   luajit tools/check_api.lua     (after a build, from the project's directory: LuaJIT has the whole API)
local torch = require 'torch.storage'

-- The classes, and the methods that convert to them. The README and the specs go through the latter class by class:
-- tools/dtypes.lua writes the README's table of classes.
local TYPES, casts = {}, {}
for _, entry in ipairs(require('torch.core').classes) do
  TYPES[#TYPES + 1] = entry.element
  casts[entry.cast] = true
end

local function read(name)
  local file = assert(io.open(name, 'rb'))
  local text = file:read '*a'
  file:close()
  return text
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

-- The library: public methods with the classes that have them, functions, constructors.
local methods, functions, constructors = {}, {}, {}
for _, type_name in ipairs(TYPES) do
  local class = type_name .. 'Storage'
  local metatable = assert(torch.getmetatable('torch.' .. class), class .. ' is missing')
  for name, value in pairs(metatable) do
    if type(name) == 'string' and not name:find '^__' and type(value) == 'function' then
      methods[name] = methods[name] or {}
      methods[name][class] = true
    end
  end
end
for name, value in pairs(torch) do
  if not name:find '^_' then
    (type(value) == 'function' and functions or constructors)[name] = true
  end
end

-- What .t7 files offer to `read` and `write` of a class. Of a method that there is for every class, one declaration will do.
local file_methods = {}
for name in pairs(require('torch.core').t7methods) do
  local verb, element = name:match '^(%l+)(%u%l+)$'
  -- `readBool` is of a boolean, not of an element.
  local of_each = element and element ~= 'Bool' and torch[element .. 'Storage']
  file_methods[of_each and verb .. 'Int' or name] = true
end

-- lua/torch/meta.lua: declarations of the base class hold for all classes.
local meta = { methods = {}, functions = {}, constructors = {}, file_methods = {} }
for line in read('lua/torch/meta.lua'):gmatch '[^\n]+' do
  local owner, name = line:match '^function ([%w_.]+)[.:]([%w_]+)%('
  local constructor = line:match '^torch%.([%w_]+) ='
  if constructor then
    meta.constructors[constructor] = true
  elseif owner == 'torch' then
    meta.functions[name] = true
  elseif owner == 'File' then
    meta.file_methods[name] = true
  elseif owner then
    local classes = meta.methods[name] or {}
    meta.methods[name] = classes
    for _, type_name in ipairs(TYPES) do
      local class = type_name .. 'Storage'
      if owner == 'Storage' or owner == 'torch.' .. class then
        classes[class] = true
      end
    end
  end
end

-- README.md: the code in the first column of the tables under `## API`.
local readme = { methods = {}, functions = {}, constructors = {} }
local text = read 'README.md'
local section = assert(text:match '\n## API\n(.-)\n## ', 'README.md has no section API')
for cell in section:gmatch '\n|([^|]*)|' do
  for code in cell:gmatch '`([^`]+)`' do
    local method = code:match '^s[.:]([%w_]+)%(' or code:match '^torch%.TYPEStorage%.([%w_]+)%('
    local name = code:match '^torch%.(%w+)%('
    if method then
      readme.methods[method] = true
    elseif name == 'TYPEStorage' then
      for _, type_name in ipairs(TYPES) do
        readme.constructors[type_name .. 'Storage'] = true
      end
    elseif name and name:find '^%u%w*Storage$' then
      readme.constructors[name] = true
    elseif name then
      readme.functions[name] = true
    end
  end
end
for code in text:gmatch '`torch%.(%u[%w_]*)`' do -- classes and the alias are named outside that column
  if code:find 'Storage$' and code ~= 'TYPEStorage' then
    readme.constructors[code] = true
  end
end

-- The specs: `:name(`, `.name` or `'name'`.
local specs = {}
local listing = assert(io.popen 'ls spec/*_spec.lua')
for file in listing:lines() do
  specs[#specs + 1] = read(file)
end
listing:close()
assert(#specs > 0, 'no specs')
specs = table.concat(specs, '\n')
local function in_specs(name)
  return specs:find(':' .. name .. '%s*%(') or specs:find('%.' .. name .. '%f[^%w_]') or specs:find("'" .. name .. "'")
end

local function compare(what, library, types, tables, tested)
  for _, name in ipairs(sorted(library)) do
    if not types[name] then
      problem('lua/torch/meta.lua has no %s %s', what, name)
    end
    if not tables[name] and not casts[name] then
      problem('README.md has no row for the %s %s', what, name)
    end
    if tested and not casts[name] and not in_specs(name) then
      problem('no spec uses the %s %s', what, name)
    end
  end
  for _, name in ipairs(sorted(types)) do
    if not library[name] then
      problem('lua/torch/meta.lua declares the %s %s, which the library does not have', what, name)
    end
  end
  for _, name in ipairs(sorted(tables)) do
    if not library[name] then
      problem('README.md describes the %s %s, which the library does not have', what, name)
    end
  end
end

compare('method', methods, meta.methods, readme.methods, true)
compare('function', functions, meta.functions, readme.functions, true)
for name in pairs(file_methods) do
  if not meta.file_methods[name] then
    problem('lua/torch/meta.lua has no method %s of torch.File', name)
  elseif not in_specs(name) then
    problem('no spec uses the method %s of a file', name)
  end
end
for name in pairs(meta.file_methods) do
  if not file_methods[name] then
    problem('lua/torch/meta.lua declares the method %s of torch.File, which the library does not have', name)
  end
end
compare('constructor', constructors, meta.constructors, readme.constructors)
for _, name in ipairs(sorted(methods)) do
  for _, type_name in ipairs(TYPES) do
    local class = type_name .. 'Storage'
    local declared = meta.methods[name] and meta.methods[name][class]
    if meta.methods[name] and (declared or false) ~= (methods[name][class] or false) then
      problem('lua/torch/meta.lua and the library differ on whether torch.%s has %s', class, name)
    end
  end
end

print(
  ('%d methods, %d functions, %d constructors: %d problems'):format(
    #sorted(methods),
    #sorted(functions),
    #sorted(constructors),
    problems
  )
)
os.exit(problems == 0 and 0 or 1)
