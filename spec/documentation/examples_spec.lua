-- The examples together: each is in the index examples/README.md, explains itself with --help, and is run by a spec.
-- Interpreters: luajit
local support = require 'spec.support'

local function lines(command)
  local list = {}
  for line in support.sh(command):gmatch '[^\n]+' do
    list[#list + 1] = line
  end
  return list
end

-- What every help looks like: the program, its arguments in capitals and what it does; a line for each argument; the status.
local function check_help(text, name)
  local usage = text:match '^([^\n]+)'
  assert.equal(name .. ' ', usage:sub(1, #name + 1))
  local arguments = usage:sub(#name + 2):match '^([%u%d_%[%] .]*)%l'
  for argument in arguments:gsub('OPTIONS', ''):gmatch '%u+' do
    assert.is_truthy(
      text:find('\n  [%u ]*%f[%u]' .. argument .. '%f[%U][%u ]*%l'),
      argument .. ' is not explained: ' .. text
    )
  end
  assert.is_truthy(text:find('\n\n  %S'), text)
  assert.is_truthy(text:find '\n\nThe exit status is 0, [^\n]*1 after an error[^\n]*%.\n?$', text)
  for line in text:gmatch '[^\n]+' do
    assert.is_true(#line <= 130, line)
  end
end

describe('examples #process', function()
  for _, name in ipairs(lines 'cd examples && ls *.lua') do
    it(name .. ' explains itself', function()
      local text, status = support.execute(('%s examples/%s --help'):format(support.interpreter, name))
      assert.equal(0, status, text)
      check_help(text, name)
    end)
  end

  it('of LÖVE and of Rust explain themselves in the same way', function()
    -- spec/hosts/love_spec.lua lets LÖVE print it.
    check_help(support.slurp('examples/love/main.lua'):match 'local HELP = %[=%[\n(.-)%]=%]', 'love')
    check_help(support.slurp('examples/host.rs'):match 'const HELP: &str = "\\\n(.-)";', 'host')
  end)

  it('are all in the index', function()
    local index = support.slurp 'examples/README.md'
    for _, file in ipairs(lines 'cd examples && ls -d *.lua *.rs *.txt */*.c */*.conf */main.lua */plugin') do
      local name = file:gsub('/plugin$', '/lua/numbers.lua')
      assert.is_truthy(index:find('](' .. name .. ')', 1, true), name .. ' is missing')
    end
  end)

  it('are all run by a spec or a test', function()
    local specs = support.sh 'cat spec/*/*_spec.lua mpi/spec/*.lua Makefile'
    for _, file in ipairs(lines 'cd examples && ls -d *.lua *.rs *.txt */*.c */*.conf love neovim nginx/vectors.lua') do
      local is_run = specs:find('examples/' .. file, 1, true)
        or specs:find('--example ' .. file:match '^[%w_]+', 1, true)
      assert.is_truthy(is_run, 'no spec runs examples/' .. file)
    end
  end)
end)
