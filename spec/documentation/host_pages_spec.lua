-- Runs the Lua blocks of the pages that are for another program, in that program: the blocks of a page that begin with
-- ```lua (Neovim), (LÖVE), (Tarantool) or (OpenResty). They have to print what their `-->` comments say.
-- Interpreters: luajit, lua5.4
local blocks = require 'tools.blocks'
local nginx_host = require 'spec.support.nginx_host'
local pages = require 'spec.support.pages'
local program = require 'spec.support.program'
local support = require 'spec.support'

local path = support.temporary()
local root = support.sh 'pwd'

local function lacks(name)
  return support.sh('command -v ' .. name) == '' and name .. ' is missing: tools/need --try ' .. name or nil
end

-- A host says why it is missing, and runs a Lua program: run(source) returns what it prints and its exit status.
local hosts = {}

hosts.Neovim = {
  missing = function()
    return lacks 'nvim'
  end,
  -- Neovim's `print` writes messages, which are not lines of the output.
  head = [[
    function print(...)
      io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), '\t'), '\n')
    end
  ]],
  run = function(source)
    local file = support.spit(path 'page.lua', source .. "\nvim.cmd 'qall!'")
    local command = "cd '%s' && timeout 60 nvim --headless -u NONE -i NONE -n -c 'luafile %s' -c 'cquit 9' </dev/null"
    local output, status = support.execute(command:format(path(), file))
    return output:gsub('\r', ''), status
  end,
}

hosts['LÖVE'] = {
  missing = function()
    return lacks 'love'
  end,
  -- LÖVE does not read LUA_PATH and LUA_CPATH. Its threads get the same lines.
  head = [[
    local PATHS = 'package.path, package.cpath = os.getenv "LUA_PATH" .. package.path, os.getenv "LUA_CPATH" .. package.cpath '
    loadstring(PATHS)()
    local new_thread = love.thread.newThread
    function love.thread.newThread(code)
      return new_thread(PATHS .. code)
    end
  ]],
  run = function(source)
    support.spit(path 'conf.lua', support.slurp 'examples/love/conf.lua')
    support.spit(path 'main.lua', source .. '\nlove.event.quit(0)')
    return support.execute(("cd '%s' && SDL_VIDEODRIVER=dummy timeout 120 love . </dev/null"):format(path()))
  end,
}

hosts.Tarantool = {
  missing = function()
    return lacks(root .. '/.tools/bin/tarantool') and lacks 'tarantool'
  end,
  head = '',
  run = function(source)
    local tarantool = lacks(root .. '/.tools/bin/tarantool') and 'tarantool' or root .. '/.tools/bin/tarantool'
    support.spit(path 'page.lua', source .. '\nos.exit(0)')
    return support.execute(("cd '%s' && timeout 60 '%s' page.lua </dev/null"):format(path(), tarantool))
  end,
}

hosts.OpenResty = {
  missing = nginx_host.missing,
  -- A request runs the program, and its answer is what the program prints.
  head = [[
    local printed = {}
    function print(...)
      for i = 1, select('#', ...) do
        printed[#printed + 1] = (i > 1 and '\t' or '') .. tostring((select(i, ...)))
      end
      printed[#printed + 1] = '\n'
    end
  ]],
  run = function(source)
    local server = nginx_host.start()
    local ok, output = pcall(server.eval, server, source .. '\nreturn table.concat(printed)')
    local log = server:stop()
    return ok and output or output .. log, ok and 0 or 1
  end,
}

local _, test_once = program.tests(function() end)

describe('the examples of the pages #process', function()
  local found = {}

  for name, host in pairs(hosts) do
    for _, page in ipairs(blocks.pages()) do
      local list, statements = {}, {}
      for _, block in ipairs(blocks.of(page)) do
        if block.info == ('lua (%s)'):format(name) then
          list[#list + 1] = block
          statements[#statements + 1] = pages.chunk(page, block)
        end
      end
      if #list > 0 then
        found[name] = true
        local function run()
          if host.missing() then
            support.skip(run, host.missing())
          end
          local source = pages.program(host.head .. pages.HEAD, statements)
          pages.check(page, list, host.run(source))
        end
        test_once(('for %s, of %s, print what they say'):format(name, page), run)
      end
    end
  end

  it('are there for each of these programs', function()
    for name in pairs(hosts) do
      assert.is_true(found[name], name)
    end
  end)
end)
