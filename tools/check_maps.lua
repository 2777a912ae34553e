-- Checks that the maps of modules at the top of Rust files are true: a map lists exactly the modules that exist.
--
--   luajit tools/check_maps.lua     (from the project's directory)
--
-- A map is a block ```text in the file's documentation. Each of its lines has the names of one or more modules with commas
-- between them, then at least two spaces, then what they are for. An indented line is about modules of the module above it.
local files = require 'tools.files'

local MAPS = {
  'src/lib.rs',
  'src/lua.rs',
  'src/lua/file.rs',
  'src/lua/formats.rs',
  'src/lua/methods.rs',
  'src/lua/t7.rs',
  'src/lua/tensor.rs',
}

local problems = 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end

-- The modules that a file declares, without those for tests.
local function modules_of(file)
  local found, for_tests = {}, false
  for line in files.read(file):gmatch '[^\n]+' do
    local name = line:match '^mod ([%w_]+);' or line:match '^pub mod ([%w_]+);' or line:match '^pub%b() mod ([%w_]+);'
    if name and not for_tests then
      found[name] = true
    end
    for_tests = line:find('#[cfg(test)]', 1, true) ~= nil or for_tests and not name
  end
  return found
end

local function file_of(parent, name)
  local folder = parent:gsub('lib%.rs$', ''):gsub('%.rs$', '/')
  return folder .. name .. '.rs'
end

for _, file in ipairs(MAPS) do
  local map = files.read(file):match '//! ```text\n(.-)//! ```'
  local listed, below, top = {}, {}, nil
  for line in map:gmatch '//! ?([^\n]*)\n' do
    local indent, names = line:match '^( *)([%w_, ]-)  +%S'
    for name in (names or ''):gmatch '[%w_]+' do
      if indent == '' then
        top, listed[name] = name, true
      else
        below[top] = below[top] or {}
        below[top][name] = true
      end
    end
  end
  local function compare(where, names, parent)
    local modules = modules_of(parent)
    for name in pairs(names) do
      if not modules[name] then
        problem("the map of %s has %s'%s', which is not a module of %s", file, where, name, parent)
      end
    end
    for name in pairs(modules) do
      if not names[name] then
        problem("the map of %s lacks %s'%s', a module of %s", file, where, name, parent)
      end
    end
  end
  compare('', listed, file)
  for name, names in pairs(below) do
    compare(name .. ' / ', names, file_of(file, name))
  end
end
print(('%d maps: %d problems'):format(#MAPS, problems))
os.exit(problems == 0 and 0 or 1)
