-- Which file of src/ imports which, and whether files import each other in a circle.
--
--   luajit tools/check_imports.lua [DIRECTORY]     (from the project's directory; DIRECTORY is `src` if it is left out)
--
-- A file imports another one if it names something that the other one defines: in a `use`, or by a path such as
-- `crate::bulk::copy` or `stream::LINE`. A name that a module passes on (`pub use`) counts as an import of the file that defines
-- it. To declare a module (`mod child;`) or to pass its names on is not an import, and a child is a part of its parent: it may
-- name what its parent defines. Test modules (`#[cfg(test)]`) are left out.
--
-- Prints the imports that make a circle, with the names that they are for, and fails if there are any.
local files = require 'tools.files'

local root = arg[1] or 'src'

-- The code without comments, texts and characters, none of which may look like a path.
local function strip(text)
  local out, i = {}, 1
  local function skip_comment(from)
    local depth, at = 1, from + 2
    while depth > 0 and at <= #text do
      local two = text:sub(at, at + 1)
      local change = two == '/*' and 1 or two == '*/' and -1 or 0
      depth, at = depth + change, at + (change == 0 and 1 or 2)
    end
    return at
  end
  while i <= #text do
    local two = text:sub(i, i + 1)
    local raw = text:match('^b?r(#*)"', i)
    if two == '//' then
      i = text:find('\n', i, true) or #text + 1
    elseif two == '/*' then
      i = skip_comment(i)
    elseif raw and not text:sub(i - 1, i - 1):find '[%w_]' then
      local _, stop = text:find('"' .. raw, text:find('"', i, true) + 1, true)
      out[#out + 1], i = '""', stop + 1
    elseif text:sub(i, i) == '"' then
      local at = i + 1
      while text:sub(at, at) ~= '"' do
        at = at + (text:sub(at, at) == '\\' and 2 or 1)
      end
      -- The file name of a `#[path = "..."]` is kept.
      out[#out + 1], i = text:sub(i, at):find '^"[%w_/.]*"$' and text:sub(i, at) or '""', at + 1
    elseif text:find("^'\\?[^'\n]'", i) or text:find("^'\\[xu][%x{}]+'", i) then
      local _, stop = text:find("^'\\?[^'\n]'", i)
      if not stop then
        _, stop = text:find("^'\\[xu][%x{}]+'", i)
      end
      out[#out + 1], i = ' ', stop + 1
    else
      out[#out + 1], i = text:sub(i, i), i + 1
    end
  end
  return table.concat(out)
end

local function tokens_of(text)
  local tokens, i = {}, 1
  while i <= #text do
    local word = text:match('^[%a_][%w_]*', i)
      or text:match('^::', i)
      or text:match('^"[^"]*"', i)
      or text:match('^%S', i)
    if word then
      tokens[#tokens + 1] = word
    end
    i = i + (word and #word or 1)
  end
  return tokens
end

-- Modules by path (`crate::bulk::cast`). An inline module belongs to the file that it is in.
local modules, order = {}, {}
local function new_module(path, parent, file)
  local module = { path = path, parent = parent, file = file, children = {}, aliases = {}, mentions = {} }
  modules[path], order[#order + 1] = module, module
  return module
end

local load_file

-- The paths of a `use`: `add(path, alias)` for each. Returns the index behind it.
local function use_tree(tokens, i, prefix, add)
  local path = { unpack(prefix) }
  while true do
    local token = tokens[i]
    if token == '{' then
      i = i + 1
      while tokens[i] ~= '}' do
        i = use_tree(tokens, i, path, add)
        i = tokens[i] == ',' and i + 1 or i
      end
      return i + 1
    elseif token == '*' then
      add(path, nil)
      return i + 1
    elseif token == '::' then
      i = i + 1
    elseif token:find '^[%a_$]' and token ~= 'as' then
      if token ~= '$' then
        path[#path + 1] = token
      end
      i = i + 1
    else
      break
    end
  end
  local alias = path[#path]
  if alias == 'self' then
    path[#path] = nil
    alias = path[#path]
  end
  if tokens[i] == 'as' then
    alias, i = tokens[i + 1], i + 2
  end
  add(path, alias)
  return i
end

-- The end of the block or statement that begins at `i`.
local function skip_item(tokens, i)
  local depth = 0
  while tokens[i] do
    if tokens[i] == '{' then
      depth = depth + 1
    elseif tokens[i] == '}' then
      depth = depth - 1
    end
    if depth == 0 and (tokens[i] == '}' or tokens[i] == ';') then
      return i + 1
    end
    i = i + 1
  end
  return i
end

local function scan(module, tokens, directory)
  local stack, closing, depth, i = { module }, {}, 0, 1
  local attributes, path_attribute = '', nil
  local word_before
  while tokens[i] do
    local token, current = tokens[i], stack[#stack]
    if token == '#' and (tokens[i + 1] == '[' or tokens[i + 2] == '[') then
      local open, from = 0, i
      repeat
        i = i + 1
        open = open + (tokens[i] == '[' and 1 or tokens[i] == ']' and -1 or 0)
      until open == 0 and tokens[i] == ']'
      local text = table.concat(tokens, ' ', from, i)
      attributes = attributes .. text
      path_attribute = text:match '^# %[ path = "(.-)" %]$' or path_attribute
      i = i + 1
    elseif attributes:find('cfg ( test )', 1, true) or attributes:find('cfg ( all ( test', 1, true) then
      attributes, path_attribute = '', nil
      i = skip_item(tokens, i)
    elseif token == 'mod' and tokens[i + 2] == ';' then
      local name = tokens[i + 1]
      local child = load_file(current, name, directory, path_attribute)
      current.children[name] = current.children[name] or child
      i, attributes, path_attribute = i + 3, '', nil
    elseif token == 'mod' and tokens[i + 2] == '{' then
      local name = tokens[i + 1]
      local child = new_module(current.path .. '::' .. name, current, current.file)
      current.children[name] = child
      stack[#stack + 1], closing[#closing + 1] = child, depth
      depth, i, attributes = depth + 1, i + 3, ''
    elseif token == 'use' and tokens[i + 1] ~= '<' then
      local public = word_before == 'pub' or word_before == ')'
      i = use_tree(tokens, i + 1, {}, function(path, alias)
        if alias then
          current.aliases[alias] = { path = path, public = public }
        else
          current.mentions[#current.mentions + 1] = { path = path }
        end
      end) + 1
      attributes, token = '', ';'
    elseif token:find '^[%a_]' then
      local path = { token }
      local at = i + 1
      while tokens[at] == '::' and (tokens[at + 1] or ''):find '^[%a_]' do
        path[#path + 1], at = tokens[at + 1], at + 2
      end
      if word_before ~= '.' and word_before ~= 'fn' then
        current.mentions[#current.mentions + 1] = { path = path }
      end
      token = tokens[at - 1]
      i = at
      if token ~= 'pub' and token ~= 'crate' and token ~= 'super' and token ~= 'unsafe' then
        attributes, path_attribute = '', nil
      end
    else
      if token == '{' then
        depth = depth + 1
      elseif token == '}' then
        depth = depth - 1
        if closing[#closing] == depth then
          stack[#stack], closing[#closing] = nil, nil
        end
      end
      i = i + 1
    end
    word_before = token
  end
end

function load_file(parent, name, directory, path_attribute)
  local file
  for _, candidate in ipairs { path_attribute or name .. '.rs', name .. '/mod.rs' } do
    local at = (path_attribute and directory:match '^(.*)/[^/]*$' or directory) .. '/' .. candidate
    file = file or (files.exists(at) and at)
  end
  if not file then
    error(('%s: there is no file of module %s'):format(parent.file, name))
  end
  local path = parent.path .. '::' .. name
  -- Two files for one module (one for each system): the second has a name of its own.
  local module = new_module(modules[path] and path .. '@' .. file or path, parent, file)
  scan(module, tokens_of(strip(files.read(file))), directory .. '/' .. name)
  return module
end

local crate = new_module('crate', nil, root .. '/lib.rs')
scan(crate, tokens_of(strip(files.read(crate.file))), root)

-- What a path leads to: a module, or the file that defines a name and the name. Nothing for what other crates define.
local resolve
local function resolve_in(module, path, from, seen)
  for i = from, #path do
    local name = path[i]
    local alias = module.aliases[name]
    if name == 'super' then
      module = module.parent
    elseif name ~= 'self' and module.children[name] then
      module = module.children[name]
    elseif alias then
      local key = module.path .. ' ' .. name
      if seen[key] then
        return nil
      end
      seen[key] = true
      local target, defined = resolve(module, alias.path, seen)
      if not target or defined then
        return target, defined
      end
      module = target
    elseif name ~= 'self' then
      return module, name
    end
  end
  return module, nil
end
function resolve(module, path, seen)
  seen = seen or {}
  local first = path[1]
  if first == 'crate' then
    return resolve_in(crate, path, 2, seen)
  elseif first == 'super' or first == 'self' or module.children[first] then
    return resolve_in(module, path, 1, seen)
  elseif module.aliases[first] and module.aliases[first].path ~= path then
    return resolve_in(module, path, 1, seen)
  end
  return nil
end

local function is_ancestor(ancestor, module)
  while module and module.file ~= ancestor.file do
    module = module.parent
  end
  return module ~= nil
end

-- imports[file][other] = names
local imports, importing = {}, {}
local function import(module, path)
  local target, name = resolve(module, path)
  if target and name and target.file ~= module.file and not is_ancestor(target, module) then
    local of_file = imports[module.file] or {}
    imports[module.file] = of_file
    of_file[target.file] = of_file[target.file] or {}
    of_file[target.file][name] = true
  end
end
for _, module in ipairs(order) do
  if not imports[module.file] then
    imports[module.file] = {}
    importing[#importing + 1] = module.file
  end
end
for _, module in ipairs(order) do
  local mentioned = {}
  for _, mention in ipairs(module.mentions) do
    mentioned[mention.path[1]] = true
    import(module, mention.path)
  end
  for name, alias in pairs(module.aliases) do
    if not alias.public or mentioned[name] then
      import(module, alias.path)
    end
  end
end
table.sort(importing)

-- The files that lead from `start` to another one, and from there back: a circle, if there are any.
local function reached_from(start)
  local reached, queue, first = {}, { start }, 1
  while queue[first] do
    for other in pairs(imports[queue[first]]) do
      if not reached[other] then
        reached[other], queue[#queue + 1] = true, other
      end
    end
    first = first + 1
  end
  return reached
end
local reached = {}
for _, file in ipairs(importing) do
  reached[file] = reached_from(file)
end

local function sorted(set)
  local names = {}
  for name in pairs(set) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local known, count = {}, 0
for _, file in ipairs(importing) do
  if reached[file][file] and not known[file] then
    count = count + 1
    print(('Circle %d:'):format(count))
    for _, member in ipairs(importing) do
      if reached[file][member] and reached[member][file] then
        known[member] = true
        for _, other in ipairs(sorted(imports[member])) do
          if reached[file][other] and reached[other][file] then
            print(('  %s imports %s (%s)'):format(member, other, table.concat(sorted(imports[member][other]), ', ')))
          end
        end
      end
    end
  end
end
if count > 0 then
  print(('%d circles of imports in %d files'):format(count, #importing))
  os.exit(1)
end
print(('No circle of imports in %d files'):format(#importing))
