-- Checks that the library, its declarations in lua/torch/meta.lua and the specs agree: what the library has is declared and
-- used in a spec, and what is declared is in the library. docs/api.md is made from the declarations.
--
--   luajit tools/check_api.lua     (after a build, from the project's directory: only LuaJIT has the whole API)
local torch = require 'torch.storage'

-- The classes, and the methods that convert to them. The specs go through these class by class.
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

-- What the library has: public methods with the classes that have them, functions, and other fields, which are the constructors
-- and `_VERSION`.
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
  if not name:find '^__' then
    (type(value) == 'function' and functions or constructors)[name] = true
  end
end

-- The methods of the file that a class's `read` and `write` get. A method that exists for every element type is declared once.
local file_methods = {}
for name in pairs(require('torch.core').t7methods) do
  local verb, element = name:match '^(%l+)(%u%l+)$'
  -- `readBool` reads a Lua boolean, not an element of a BoolStorage.
  local of_each = element and element ~= 'Bool' and torch[element .. 'Storage']
  file_methods[of_each and verb .. 'Int' or name] = true
end

-- What lua/torch/meta.lua declares. A method of the base class is a method of all classes.
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

-- The text of all specs. A spec uses a name by `:name(`, `.name` or `'name'`.
local specs = {}
local listing = assert(io.popen 'ls spec/*/*_spec.lua')
for file in listing:lines() do
  specs[#specs + 1] = read(file)
end
listing:close()
assert(#specs > 0, 'no specs')
specs = table.concat(specs, '\n')
local function in_specs(name)
  return specs:find(':' .. name .. '%s*%(') or specs:find('%.' .. name .. '%f[^%w_]') or specs:find("'" .. name .. "'")
end

local function compare(what, library, declared, tested)
  for _, name in ipairs(sorted(library)) do
    if not declared[name] then
      problem('lua/torch/meta.lua has no %s %s', what, name)
    end
    if tested and not casts[name] and not in_specs(name) then
      problem('no spec uses the %s %s', what, name)
    end
  end
  for _, name in ipairs(sorted(declared)) do
    if not library[name] then
      problem('lua/torch/meta.lua declares the %s %s, which the library does not have', what, name)
    end
  end
end

compare('method', methods, meta.methods, true)
compare('function', functions, meta.functions, true)
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
compare('constructor', constructors, meta.constructors)
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
