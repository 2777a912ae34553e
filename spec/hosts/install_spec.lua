-- The files installed by `luarocks make` and `make install` are complete: the library works with nothing else on the paths.
local blocks = require 'tools.blocks'
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

  it('with the commands of README.md gives what the interpreters find', function()
    if installation.version == '5.5' then
      pending 'LuaRocks does not know Lua 5.5 yet'
    end
    local commands
    for _, block in ipairs(blocks.of 'README.md') do
      commands = block.mark == 'spec/hosts/install_spec.lua' and block.source or commands
    end
    commands = commands:gsub('luarocks ', ('luarocks --lua-version=%s '):format(installation.version))
    support.spit(directory .. '/program.lua', "print(require('torch').IntStorage(3):nbytes())")
    -- HOME is where the rock goes. No cargo is found there, and none is needed: `make test` has built the library.
    local log = directory .. '/log'
    local settings = ("export HOME='%s'; { %s; } >'%s' 2>&1 || cat '%s'; "):format(
      directory,
      commands:gsub('\n', ' && '),
      log,
      log
    )
    for _, interpreter in ipairs(installation.interpreters) do
      local output = installation.run(("%s cd '%s' && %s program.lua"):format(settings, directory, interpreter))
      assert.equal('12', output)
    end
  end)

  it('is not needed by make prompt', function()
    if installation.version == '5.5' then
      pending 'the interpreter of .tools has no prompt'
    end
    local command = "cd '%s' && echo 'print(2 * torch.IntStorage({ 1234 })[1])' | make -s -C '%s' prompt LUA='%s'"
    local here = support.sh 'pwd'
    local output = installation.run(command:format(directory, here, support.interpreter))
    assert.truthy(output:find '2468', output)
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
