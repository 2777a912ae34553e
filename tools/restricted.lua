-- Writes the table of docs/restricted.md from src/lua/restricted.txt, the list of what restricted Lua states may call, and checks the list:
-- each function and method of lua/torch/meta*.lua is allowed or refused there, and each name of the list is a function of the library.
--
--   luajit tools/restricted.lua
--
-- With --check, a part of `make check`, it changes nothing, and fails if the page is out of date.
local files = require 'tools.files'
local torch = require 'torch.storage'
local core = require 'torch.core'

local PAGE = 'docs/restricted.md'
local problems = 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end

-- The lines of the list: { word = 'allowed' or 'refused', place =, names =, reason = or nil }, and the word for each function by its name.
local list, decided = {}, {}
for line in files.read('src/lua/restricted.txt'):gmatch '[^\n]+' do
  local word, place, names = line:match '^(%l+) (%S+) ([^|]+)'
  if word then
    local entry = { word = word, place = place, names = {}, reason = line:match '| (.+)$' }
    for name in names:gmatch '%S+' do
      table.insert(entry.names, name)
      decided[place .. name] = word
    end
    table.insert(list, entry)
  end
end

-- The declared functions, in the words of the list.
local declared = {}
local function declare(owner, name)
  if owner:find '^torch%.%u' or owner == 'Storage' or owner == 'Tensor' then
    declared[(owner:find 'Tensor' and 'Tensor:' or 'Storage:') .. name] = true
  elseif owner == 'torch' or owner:find '^torch%.' then
    declared[owner .. '.' .. name] = true
  else
    declared[owner .. ':' .. name] = true
  end
end
for _, file in ipairs(files.list 'ls lua/torch/meta.lua lua/torch/meta_tensor.lua lua/torch/meta_answers.lua lua/torch/meta_formats.lua') do
  for owner, name in files.read(file):gmatch '\nfunction ([%w_.]+)[.:]([%w_]+)%(' do
    declare(owner, name)
  end
end
for name in pairs(declared) do
  if not decided[name] then
    problem('src/lua/restricted.txt neither allows nor refuses %s', name)
  end
end

-- What the library has.
local function has(place, name)
  local tables = {
    ['torch.'] = torch,
    ['core.'] = core,
    ['Storage:'] = torch.getmetatable 'torch.FloatStorage',
    ['Tensor:'] = torch.getmetatable 'torch.FloatTensor',
    ['File:'] = core.t7methods,
    ['SafetensorsFile:'] = core.safetensorsmethods,
    ['torch.atomic.'] = torch.atomic,
    ['torch.atomic.exact.'] = torch.atomic.exact,
    ['torch.npy.'] = torch.npy,
    ['torch.npz.'] = torch.npz,
    ['torch.safetensors.'] = torch.safetensors,
  }
  return rawget(tables[place], name) ~= nil
end
-- These are only in libraries that are linked with a host program.
local OF_HOSTS = { fromprogram = true, toprogram = true, getmetatable = true, memoryinuse = true, setmemorylimit = true }
for _, entry in ipairs(list) do
  for _, name in ipairs(entry.names) do
    local is_of_host = entry.place == 'core.' and OF_HOSTS[name]
    -- Methods of classes that the two above are not.
    local is_of_other = entry.place == 'Storage:' and rawget(torch.getmetatable 'torch.UntypedStorage', name)
    if not (has(entry.place, name) or is_of_host or is_of_other) then
      problem('src/lua/restricted.txt has %s%s, which the library does not have', entry.place, name)
    end
  end
end

-- The table of the page: a row for each place and reason.
local SHOWN = { ['Storage:'] = 's:', ['Tensor:'] = 'x:', ['File:'] = 'file:', ['SafetensorsFile:'] = 'file:' }
local function rows(word)
  local order, names = {}, {}
  for _, entry in ipairs(list) do
    local key = entry.place .. (entry.reason or '')
    if entry.word == word and entry.place ~= 'core.' then
      if not names[key] then
        names[key] = { place = entry.place, reason = entry.reason }
        table.insert(order, key)
      end
      for _, name in ipairs(entry.names) do
        table.insert(names[key], ('`%s`'):format(name))
      end
    end
  end
  local lines = {}
  for n, key in ipairs(order) do
    local entry = names[key]
    local first = ('`%s`'):format(SHOWN[entry.place] or entry.place)
    local reason = entry.reason and (' | ' .. entry.reason) or ''
    lines[n] = ('| %s | %s%s |'):format(first, table.concat(entry, ', '), reason)
  end
  return table.concat(lines, '\n')
end
local function section(name, head, text)
  local first, last = ('<!-- [restricted: %s] written by tools/restricted.lua -->'):format(name), '<!-- [end restricted: %s] -->'
  return first, last:format(name), head .. '\n' .. text
end

local page = files.read(PAGE)
local new = page
for name, head in pairs {
  allowed = '| before the name | allowed |\n|---|---|',
  refused = '| before the name | refused | because |\n|---|---|---|',
} do
  local first, last, text = section(name, head, rows(name))
  local from, to = new:find(first, 1, true), new:find(last, 1, true)
  if from and to then
    new = new:sub(1, from + #first - 1) .. '\n\n' .. text .. '\n\n' .. new:sub(to)
  else
    problem('%s has no lines %s and %s', PAGE, first, last)
  end
end
if new ~= page then
  if arg[1] == '--check' then
    problem('%s is out of date: run luajit tools/restricted.lua', PAGE)
  else
    files.write(PAGE, new)
  end
end
os.exit(problems == 0)
