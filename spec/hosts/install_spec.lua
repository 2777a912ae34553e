-- The files installed by `luarocks make` and `make install` are complete: the library works with nothing else on the paths.
local installation = require 'spec.support.installation'
local support = require 'spec.support'

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
    if installation.version == '5.5' then
      pending 'LuaRocks does not know Lua 5.5 yet'
    end
    local tree = directory .. '/tree'
    installation.run(installation.luarocks(tree) .. 'make torch-storage-dev-1.rockspec')
    installation.check_rock(directory, tree)
  end)

  it('with make honours DESTDIR and PREFIX', function()
    installation.run(
      ("make install LUA='%s' PREFIX=/opt/torch DESTDIR='%s/stage'"):format(support.interpreter, directory)
    )
    assert.equal('opt', support.sh("ls '" .. directory .. "/stage'"))
    local prefix = directory .. '/stage/opt/torch'
    installation.check(directory, prefix, prefix .. '/include', prefix .. '/share/doc/torch-storage')
  end)
end)
