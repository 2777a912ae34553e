-- The rocks of the release, as tools/release/pack makes them: LuaRocks installs them into a bare tree, for lua5.1, luajit and
-- lua5.4, and a Lua that a binary rock is not for refuses it.
local installation = require 'spec.support.installation'
local support = require 'spec.support'

local version = installation.version
local rocks_of = { ['5.1'] = true, ['5.4'] = true }

-- LuaRocks is asked once for each ABI: lua5.1 does the work for LuaJIT too.
local once = not support.luajit and rocks_of[version] and describe or pending

once('a rock #slow #process', function()
  -- LuaJIT takes the rocks of Lua 5.1. The source rock is built only for these, because that takes long.
  local of_lua51 = version == '5.1' and it or function() end
  local directory, tree
  setup(function()
    directory = support.directory()
    -- `make test` has built the library. That of a release is built for older systems, and packed in the same way.
    local platform = support.sh 'uname -m' .. '-unknown-linux-gnu'
    local library = ('build/%s/torch/core.so'):format(version == '5.1' and '.' or version)
    installation.run(("FILES='%s' tools/release/pack rock %s %s %s"):format(directory, platform, version, library))
  end)
  before_each(function()
    tree = directory .. '/tree'
  end)
  after_each(function()
    support.remove(tree)
  end)
  teardown(function()
    support.remove(directory)
  end)

  local function binary_rock()
    return support.sh(("ls '%s'/rocks/%s/torch-storage-*.rock"):format(directory, version))
  end

  it('with a library is installed from another folder', function()
    local install = installation.luarocks(tree) .. "install '" .. binary_rock() .. "'"
    installation.run("cd '" .. directory .. "' && " .. install)
    installation.check_rock(directory, tree)
    local removed = installation.run(installation.luarocks(tree) .. 'remove torch-storage')
    assert.is_truthy(removed:find('Removal successful', 1, true), removed)
    assert.equal('', support.sh("find '" .. tree .. "' -name '*torch*'"))
  end)

  of_lua51('with a library is installed by a LuaRocks that is set up for LuaJIT', function()
    local settings = support.spit(
      directory .. '/luajit.lua',
      "lua_interpreter = 'luajit' variables = { LUA_INCDIR = '/usr/include/luajit-2.1' }"
    )
    local luarocks = ("LUAROCKS_CONFIG='%s' %s"):format(settings, installation.luarocks(tree))
    assert.equal('luajit', installation.run(luarocks .. 'config lua_interpreter'))
    installation.run(luarocks .. "install '" .. binary_rock() .. "'")
    installation.check_rock(directory, tree)
  end)

  it('with a library is refused by another Lua', function()
    local other = version == '5.1' and '5.4' or '5.1'
    local output, status =
      installation.execute(("luarocks --lua-version=%s --tree '%s' install '%s'"):format(other, tree, binary_rock()))
    assert.is_true(status ~= 0)
    local next_version = '5.' .. tonumber(version:match '%d$') + 1
    local refusal = ('Could not satisfy dependency lua >= %s, < %s: Rock lua %s-1 is already provided'):format(
      version,
      next_version,
      other
    )
    assert.is_truthy(output:find(refusal, 1, true), output)
    assert.equal('', support.sh("find '" .. tree .. "' -name core.so"))
  end)

  of_lua51('with the sources builds the library', function()
    installation.run(("FILES='%s' tools/release/pack sources"):format(directory))
    -- The library is built with little optimisation, and what it depends on is kept from test to test: that takes less time.
    local settings = 'CARGO_TARGET_DIR="$PWD/target/source-rock"'
    for _, setting in ipairs { 'OPT_LEVEL=0', 'LTO=off', 'CODEGEN_UNITS=16', 'DEBUG=0' } do
      settings = settings .. ' CARGO_PROFILE_RELEASE_' .. setting
    end
    local rock = support.sh(("ls '%s'/rocks/torch-storage-*.src.rock"):format(directory))
    installation.run(('%s %s install %s'):format(settings, installation.luarocks(tree), rock))
    installation.check_rock(directory, tree)
  end)
end)
