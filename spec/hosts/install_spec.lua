-- The files installed by `luarocks make` and `make install` are complete: the library works with nothing else on the paths.
local support = require 'spec.support'

-- Prints results of a file map, a conversion and a store, which only the real library gives, and where it was loaded from.
local PROGRAM = [[
local torch = require 'torch'
local bytes = torch.ByteStorage(arg[1])
local sum = 0
for i = 1, #bytes do
  sum = sum + bytes[i]
end
local doubles = torch.DoubleStorage(#bytes):copy(bytes)
doubles[1] = -1
print(sum, torch.type(doubles), doubles[1], doubles[2], torch.ByteStorage(1):fill(doubles[1])[1])
for line in io.lines('/proc/self/maps') do
  local library = line:match('%s(/%S*/torch/core%.so)$')
  if library then
    print(library)
    break
  end
end
]]
local RESULT = '512\ttorch.DoubleStorage\t-1\t111\t255\n' -- 512 = T + o + r + c + h

-- The version of Lua, and the interpreters that share its files.
local VERSION = _VERSION:match '[%d.]+'
local INTERPRETERS = VERSION == '5.1' and { 'lua5.1', 'luajit', 'luajit -joff' } or { support.interpreter }

-- Removes the settings of `make test` from the environment.
local CLEAR = 'unset LUA_PATH LUA_CPATH LUA_INIT'
for _, version in ipairs { '5_2', '5_3', '5_4', '5_5' } do
  CLEAR = ('%s LUA_CPATH_%s LUA_INIT_%s'):format(CLEAR, version, version)
end

local function files(directory)
  return support.sh("cd '" .. directory .. "' && find . -type f | LC_ALL=C sort")
end

-- Runs PROGRAM in another directory with only the installed files on the paths.
local function compute(interpreter, directory, share, lib)
  support.spit(directory .. '/program.lua', PROGRAM)
  support.spit(directory .. '/input', 'Torch')
  local paths = ("LUA_PATH='%s/?.lua;%s/?/init.lua' LUA_CPATH='%s/?.so'"):format(share, share, lib)
  return support.sh(("%s; cd '%s' && %s %s program.lua input"):format(CLEAR, directory, paths, interpreter))
end

local function check(directory, prefix, include)
  local share, lib = prefix .. '/share/lua/' .. VERSION, prefix .. '/lib/lua/' .. VERSION
  assert.equal(files 'lua', files(share))
  assert.equal('./torch/core.so', files(lib))
  assert.equal(support.slurp 'include/torch_storage.h', support.slurp(include .. '/torch_storage.h'))
  for _, interpreter in ipairs(INTERPRETERS) do
    assert.equal(RESULT .. lib .. '/torch/core.so', support.plain(compute(interpreter, directory, share, lib)))
  end
end

-- Runs a command in an environment without the settings of `make test`.
local function run(command)
  local output, status = support.execute(CLEAR .. '; unset MAKEFLAGS; ' .. command)
  assert.equal(0, status, output)
end

-- The installation depends on the version of Lua only: lua5.1 does the work for LuaJIT too.
local once = support.luajit and pending or describe

once('installation #slow #process', function()
  local directory
  before_each(function()
    directory = support.directory()
  end)
  after_each(function()
    support.remove(directory)
  end)

  it('with luarocks gives a tree, which lua5.1 and luajit share', function()
    local tree = directory .. '/tree'
    if VERSION == '5.5' then
      pending 'LuaRocks does not know Lua 5.5 yet'
    end
    local luarocks = ("luarocks --lua-version=%s --tree '%s' "):format(VERSION, tree)
    run(luarocks .. 'make --no-doc torch-storage-dev-1.rockspec')
    check(directory, tree, support.sh(luarocks .. 'show --rock-dir torch-storage') .. '/include')
  end)

  it('with make honours DESTDIR and PREFIX', function()
    run(("make install LUA='%s' PREFIX=/opt/torch DESTDIR='%s/stage'"):format(support.interpreter, directory))
    assert.equal('opt', support.sh("ls '" .. directory .. "/stage'"))
    local prefix = directory .. '/stage/opt/torch'
    check(directory, prefix, prefix .. '/include')
  end)
end)
