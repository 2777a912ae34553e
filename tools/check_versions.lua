-- Checks that everything that names the version of the library names the same one: the crates and their lock files, the newest
-- release in CHANGELOG.md, the release rockspec, which is the development rockspec but for its version and its source, the
-- dependency that src/host.rs shows, the archives and rocks that the pages name, and the library itself.
--
--   luajit tools/check_versions.lua     (after a build, from the project's directory)
local torch = require 'torch.storage'
local blocks = require 'tools.blocks'
local files = require 'tools.files'

local version = files.read('Cargo.toml'):match '\nversion = "([^"]+)"'

local problems = 0
local function compare(where, found)
  if found ~= version then
    problems = problems + 1
    print(('%s: the version is %s, and %s in Cargo.toml'):format(where, found or 'missing', version))
  end
end

compare('mpi/Cargo.toml', files.read('mpi/Cargo.toml'):match '\nversion = "([^"]+)"')
for lock, crate in pairs {
  ['Cargo.lock'] = 'torch-storage',
  ['fuzz/Cargo.lock'] = 'torch-storage',
  ['mpi/Cargo.lock'] = 'torch-mpi',
} do
  compare(lock, files.read(lock):match('\nname = "' .. crate:gsub('-', '%%-') .. '"\nversion = "([^"]+)"'))
end
compare('CHANGELOG.md', files.read('CHANGELOG.md'):match '\n## %[(%d[^%]]*)%]')
compare('examples/session.txt', files.read('examples/session.txt'):match '\ntorch%-storage ([%d.]+)')
-- The example of a dependency takes every release that is compatible with this one, as Cargo understands it: 0.2 or 1.
local series = version:match '^0%.%d+' or version:match '^%d+'
local shown = files.read('src/host.rs'):match 'torch%-storage = { version = "([^"]+)"'
compare('the dependency in src/host.rs', shown == series and version or shown)
-- The names of archives and rocks on the pages.
for _, page in ipairs(blocks.pages()) do
  for found in files.read(page):gmatch 'torch%-storage%-(%d[%d.]*%d)' do
    if found ~= version then
      compare('a name in ' .. page, found)
    end
  end
end
compare('torch._VERSION, after `make build`', torch._VERSION)

-- The values of a rockspec. It is a chunk of Lua that sets global variables.
local function rockspec(name)
  local values = {}
  local chunk = loadfile(name)
  if chunk then
    setfenv(chunk, values)()
  end
  return values
end

-- A value as text, with the fields of tables in order.
local function text(value)
  if type(value) ~= 'table' then
    return tostring(value)
  end
  local fields = {}
  for name, field in pairs(value) do
    fields[#fields + 1] = name .. '=' .. text(field)
  end
  table.sort(fields)
  return '{' .. table.concat(fields, ' ') .. '}'
end

local name = ('rockspecs/torch-storage-%s-1.rockspec'):format(version)
local release, development = rockspec(name), rockspec 'torch-storage-dev-1.rockspec'
compare(name, (release.version or ''):match '^(.*)%-1$')
compare('the directory of the archive in ' .. name, ((release.source or {}).dir or ''):match '^torch%-storage%-(.*)$')
release.version, release.source, development.version, development.source = nil, nil, nil, nil
if text(release) ~= text(development) then
  problems = problems + 1
  print(name .. ' and torch-storage-dev-1.rockspec differ in more than the version and the source')
end

-- LuaRocks takes the only rockspec in a directory, and asks for one if there are several.
for folder, only in pairs { ['.'] = 'torch-storage-dev-1', mpi = 'torch-mpi-dev-1' } do
  for _, found in ipairs(files.list(('cd %s && ls *.rockspec'):format(folder))) do
    if found ~= only .. '.rockspec' then
      problems = problems + 1
      print(('%s/%s: the only rockspec there is %s, those of releases are in rockspecs'):format(folder, found, only))
    end
  end
end

print(('version %s: %d problems'):format(version, problems))
os.exit(problems == 0 and 0 or 1)
