-- The commands of the pages that install an archive or a rock of a release, tried with an archive that is made here: README.md,
-- docs/getting-started.md, docs/openresty.md, docs/neovim.md, docs/love.md and docs/tarantool.md.
-- Interpreters: lua5.1
local blocks = require 'tools.blocks'
local installation = require 'spec.support.installation'
local nginx_host = require 'spec.support.nginx_host'
local processes = require 'spec.support.processes'
local support = require 'spec.support'

local VERSION = support.slurp('Cargo.toml'):match '\nversion = "([^"]+)"'
local ARCHIVE = ('torch-storage-%s-x86_64-unknown-linux-gnu'):format(VERSION)
local here = support.sh 'pwd'

-- The blocks of a page that this spec runs, by their language.
local function blocks_of(page)
  local found = {}
  for _, block in ipairs(blocks.of(page)) do
    if block.mark == 'spec/hosts/archive_spec.lua' then
      found[block.language] = found[block.language] or {}
      table.insert(found[block.language], block.source)
    end
  end
  return found
end

local function lacks(test, name)
  if support.sh('command -v ' .. name) == '' then
    support.skip(test, name .. ' is missing: tools/need --try ' .. name)
  end
end

-- LuaJIT has the same files as lua5.1, which does the work for both.
local once = (support.luajit or installation.version ~= '5.1') and pending or describe

once('an archive of a release #slow #process', function()
  local directory, folder
  -- The folder `release` has the files of a release, and `folder` is where a user works. RELEASE names a folder of files that
  -- `make release` has made; without it they are packed here, with the libraries that `make test` has built.
  setup(function()
    directory = support.directory()
    support.sh(("chmod 755 '%s'"):format(directory)) -- the workers of nginx run as another user
    local release = os.getenv 'RELEASE'
    local command
    if release then
      command = ("cp -r '%s' '%s/release' && tar xzf '%s/%s.tar.gz' -C '%s/release'"):format(
        release,
        directory,
        release,
        ARCHIVE,
        directory
      )
    else
      command = ([[
        for version in 5.1 5.4; do
          library=build/$version/torch/core.so
          [ $version = 5.4 ] || library=build/torch/core.so
          [ ! -e $library ] || { mkdir -p '%s/parts/'$version/torch && cp $library '%s/parts/'$version/torch; }
        done
        export FILES='%s/release'
        tools/release/pack archive x86_64-unknown-linux-gnu '%s/parts' &&
          tools/release/pack rock %s-unknown-linux-gnu 5.1 build/torch/core.so && tar xzf "$FILES/%s.tar.gz" -C "$FILES"
      ]]):format(directory, directory, directory, directory, support.sh 'uname -m', ARCHIVE)
    end
    assert.equal('', support.sh(command))
  end)
  before_each(function()
    folder = directory .. '/work'
    support.sh(("mkdir '%s'"):format(folder))
  end)
  after_each(function()
    support.remove(folder)
    processes.clean()
  end)
  teardown(function()
    support.remove(directory)
  end)

  -- Runs commands as a user whose home directory is the folder, with nothing of this project on the paths. Returns the output.
  local function run(commands)
    support.spit(folder .. '/commands', 'set -e\n' .. commands)
    local command = "cd '%s' && HOME='%s' ADDRESS='file://%s/release' sh -c '. ./commands'"
    return installation.run(command:format(folder, folder, directory))
  end

  local function last_line(text)
    return text:match '([^\n]*)$'
  end

  it('is unpacked and loaded by the commands of README.md and docs/getting-started.md', function()
    for _, page in ipairs { 'README.md', 'docs/getting-started.md' } do
      local commands = blocks_of(page).sh[1]
      assert.equal('torch-storage ' .. VERSION, last_line(run(commands)))
      local program = '\n%s -e "print(require(\'torch\').IntStorage({ 1, 2, 3 }):nbytes())"'
      -- The library of Lua 5.4 is there if it was built.
      local has_54 = ("test -e '%s/release/%s/lib/5.4' && echo yes"):format(directory, ARCHIVE)
      for _, interpreter in ipairs { 'luajit', 'lua5.1', 'lua5.4' } do
        if interpreter ~= 'lua5.4' or support.sh(has_54) == 'yes' then
          assert.equal('12', last_line(run(commands .. program:format(interpreter))))
        end
      end
      support.sh(("rm -r '%s/%s'"):format(folder, ARCHIVE))
    end
  end)

  it('has a rock beside it, which LuaRocks installs by the commands of README.md', function()
    local commands = blocks_of('README.md').sh[2]
    -- Whatever this machine is, the rock that was made is taken.
    local rock = support.sh(("cd '%s/release/rocks/5.1' && ls *.rock"):format(directory))
    commands = commands:gsub('torch%-storage%-[^ ]*%.rock', rock)
    for _, interpreter in ipairs { 'luajit', 'lua5.1' } do
      local output = run(('%s\n%s -e "print(require \'torch\')"'):format(commands, interpreter))
      assert.equal('torch-storage ' .. VERSION, last_line(output))
    end
  end)

  it('gives nginx the library by the lines of docs/openresty.md', function()
    if nginx_host.missing() then
      support.skip(debug.getinfo(1, 'f').func, nginx_host.missing())
    end
    local found = blocks_of 'docs/openresty.md'
    local archive, target = found.dockerfile[1]:match 'ADD (%S+) (%S+)'
    assert.equal('', support.sh(("tar xzf '%s/release/%s' -C '%s'"):format(directory, archive, folder)))
    local lines = found.nginx[1]:gsub(target .. '/', folder .. '/')
    local configuration = nginx_host.CONFIGURATION:gsub('  lua_package_path.-\n.-\n', function()
      return lines .. '\n'
    end)
    local server = nginx_host.start("requests = require('torch').LongStorage(3):shareMemory()", configuration)
    local ok, result = pcall(server.eval, server, 'requests[2] = 7 return tostring(torch) .. " " .. requests[2]')
    local log = server:stop()
    assert.is_true(ok, tostring(result) .. log)
    assert.equal(('torch-storage %s 7'):format(VERSION), result)
  end)

  it('is part of a Neovim plugin by the command of docs/neovim.md, also in its threads', function()
    lacks(debug.getinfo(1, 'f').func, 'nvim')
    local plugin = folder .. '/.local/share/nvim/site/pack/torch/start/torch'
    support.sh(("mkdir -p '%s'"):format(plugin))
    run(("cd '%s'\n%s"):format(plugin, blocks_of('docs/neovim.md').sh[1]))
    support.spit(
      folder .. '/init.lua',
      [[
        local torch = require 'torch'
        local sum
        local work = vim.loop.new_work(function(token)
          return require('torch').fromToken(token)[2]
        end, function(element)
          sum = element
        end)
        work:queue(torch.IntStorage({ 1, 20 }):token())
        vim.wait(10000, function()
          return sum ~= nil
        end)
        io.stdout:write(tostring(torch), ' ', tostring(sum), '\n')
        vim.cmd 'qall!'
      ]]
    )
    local output = run "timeout 60 nvim --headless -i NONE -n -c 'luafile init.lua' -c 'cquit 9' </dev/null"
    assert.equal(('torch-storage %s 20'):format(VERSION), (output:gsub('\r', '')))
  end)

  it('is in the folder of a game of LÖVE by the lines of docs/love.md', function()
    lacks(debug.getinfo(1, 'f').func, 'love')
    support.sh(("tar xzf '%s/release/%s.tar.gz' -C '%s'"):format(directory, ARCHIVE, folder))
    local lines = blocks_of('docs/love.md').lua[1]
    support.spit(folder .. '/conf.lua', support.slurp 'examples/love/conf.lua')
    support.spit(folder .. '/thread.lua', lines .. '\ntorch.fromToken((...))[2] = 20')
    support.spit(folder .. '/main.lua', lines .. [[

          local numbers = torch.IntStorage { 1, 2 }
          local thread = love.thread.newThread 'thread.lua'
          thread:start(numbers:token())
          thread:wait()
          print(torch, thread:getError(), numbers[2])
          love.event.quit(0)
        ]])
    local output = run 'SDL_VIDEODRIVER=dummy timeout 120 love . </dev/null'
    assert.equal(('torch-storage %s\tnil\t20'):format(VERSION), last_line(output))
  end)

  it('is found by Tarantool after the commands of docs/tarantool.md', function()
    local test, tarantool = debug.getinfo(1, 'f').func, here .. '/.tools/bin/tarantool'
    if support.sh(("test -x '%s' && echo yes"):format(tarantool)) == '' then
      lacks(test, 'tarantool')
      tarantool = 'tarantool'
    end
    local commands = blocks_of('docs/tarantool.md').sh[1]
    support.spit(folder .. '/program.lua', "print(require 'torch') os.exit(0)")
    local output = run(("%s\ntimeout 60 '%s' program.lua </dev/null"):format(commands, tarantool))
    assert.equal('torch-storage ' .. VERSION, last_line(output))
  end)
end)
