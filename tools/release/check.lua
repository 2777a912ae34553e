-- Looks at a library of a release, and fails if a user of its platform could not load it: the symbols that it needs are too new
-- or are not there, it is larger than it should be, or it names folders of the machine that built it.
--
--   luajit tools/release/check.lua PLATFORM LUA FILE
local files = require 'tools.files'

local platform, lua, name = arg[1], arg[2], arg[3]
-- Sums, order and searches are 0.8 MB of it. Functions on Windows save ten vector registers that they do not save elsewhere,
-- which is 0.4 MB of code. The libraries for musl have an unwinder inside.
local LARGEST = platform:find 'windows' and 4200000 or platform:find 'musl' and 3900000 or 3800000

-- The oldest systems that it is promised for have these versions of glibc and libgcc_s.
local NEWEST = { GLIBC = '2.17', GCC = '4.2.0' }

-- What a library may load, as patterns.
local NEEDED = {
  gnu = {
    '^libc%.so%.6$',
    '^libm%.so%.6$',
    '^libdl%.so%.2$',
    '^libpthread%.so%.0$',
    '^librt%.so%.1$',
    '^ld%-linux.*%.so%.%d$',
    '^libgcc_s%.so%.1$',
  },
  musl = { '^libc%.so$' },
  darwin = { '^/usr/lib/libSystem%.B%.dylib$', '^@rpath/core%.so' },
  windows = {
    '^' .. lua:gsub('%.', '') .. '%.dll$',
    '^kernel32%.dll$',
    '^ntdll%.dll$',
    '^msvcrt%.dll$',
    '^userenv%.dll$',
    '^ws2_32%.dll$',
    '^bcryptprimitives%.dll$',
    '^api%-ms%-win%-core%-synch',
  },
}

local problems = 0
local function problem(text, ...)
  problems = problems + 1
  io.stderr:write(('%s: %s\n'):format(name, text:format(...)))
end

local programs = files.list 'dirname "$(rustc --print target-libdir)"'[1] .. '/bin/'
local function output(command)
  return files.list(("'%s'%s '%s'"):format(programs .. command:match '^%S+', command:match '^%S+(.*)$', name))
end

local function older(version, newest)
  local numbers = newest:gmatch '%d+'
  for part in version:gmatch '%d+' do
    local limit = tonumber(numbers() or 0)
    if tonumber(part) ~= limit then
      return tonumber(part) < limit
    end
  end
  return true
end

local contents = files.read(name)
if #contents > LARGEST then
  problem('it has %d bytes, and %d are the most', #contents, LARGEST)
end
for _, folder in ipairs { os.getenv 'PWD', os.getenv 'HOME' } do
  -- The home folder of root is the beginning of many words.
  if contents:find(folder .. '/', 1, true) then
    problem("it contains the path '%s'", contents:match('[%w_./-]*' .. folder:gsub('%p', '%%%0') .. '[%w_./-]*'))
  end
end

local system = platform:match 'windows' or platform:match 'darwin' or platform:match 'musl' or 'gnu'
local needed, exported = {}, {}
if system == 'windows' then
  for _, line in ipairs(output 'llvm-readobj --coff-imports --coff-exports') do
    local found = line:match '^  Name: (%S+)'
    if found then
      local list = found:lower():find '%.dll$' and needed or exported
      list[#list + 1] = found
    end
  end
elseif system == 'darwin' then
  for _, line in ipairs(output 'llvm-objdump --macho --dylibs-used') do
    needed[#needed + 1] = line:match '^%s+(%S+) %('
  end
  for _, line in ipairs(output 'llvm-nm --extern-only --defined-only') do
    exported[#exported + 1] = line:match ' T _(%S+)$'
  end
  local oldest
  for _, line in ipairs(output 'llvm-objdump --macho --private-headers') do
    oldest = oldest or line:match '^%s*minos (%S+)'
  end
  if oldest ~= '11.0' then
    problem('it needs macOS %s, and 11.0 is promised', oldest or 'of an unknown version')
  end
else
  local stays = false
  for _, line in ipairs(output 'llvm-readobj --dynamic-table') do
    needed[#needed + 1] = line:match 'NEEDED%s+Shared library: %[(.*)%]'
    stays = stays or line:find 'FLAGS_1%s.*NODELETE' ~= nil
  end
  if not stays then
    problem 'it does not stay loaded when a Lua state is closed: the flag NODELETE is missing'
  end
  for _, line in ipairs(output 'llvm-nm --dynamic --undefined-only') do
    local symbol, set, version = line:match '(%S+)@(%u+)_([%d.]+)$'
    if symbol and not older(version, NEWEST[set] or '0') then
      problem('%s is of %s %s, and %s is promised', symbol, set, version, NEWEST[set] or 'nothing')
    end
  end
  for _, line in ipairs(output 'llvm-nm --dynamic --defined-only') do
    exported[#exported + 1] = line:match '(%S+)$'
  end
end

if table.concat(exported, ' ') ~= 'luaopen_torch_core' then
  problem(
    'it exports %s, and not luaopen_torch_core alone',
    #exported > 0 and table.concat(exported, ', ') or 'nothing'
  )
end
for _, library in ipairs(needed) do
  local known = false
  for _, pattern in ipairs(NEEDED[system]) do
    known = known or (system == 'windows' and library:lower() or library):find(pattern) ~= nil
  end
  if not known then
    problem('it needs %s', library)
  end
end
os.exit(problems == 0 and 0 or 1)
