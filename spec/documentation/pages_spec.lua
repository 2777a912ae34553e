-- Runs the examples of the pages. The Lua, console and Python blocks of a page run in order, in one directory; its Lua blocks
-- run in one process, each as a chunk of its own. Lua and Python blocks have to print exactly what their `-->` comments say, and
-- commands what is below them. tools/blocks.lua lists all kinds of blocks, and what runs them.
-- Interpreters: luajit, lua5.4
local blocks = require 'tools.blocks'
local pages = require 'spec.support.pages'
local support = require 'spec.support'

local python = support.sh 'pwd' .. '/target/numpy/bin/python'
local has_python = support.sh("'" .. python .. "' -c 'import numpy, safetensors' && echo yes") == 'yes'

local function can_run(block)
  local version = block.mark and block.mark:match '^Lua (5%.%d)$'
  return block.info == 'lua'
    or block.info == 'console'
    or block.info == 'lua (LuaJIT)' and support.luajit
    or block.info == 'python' and has_python
    or version and _VERSION >= 'Lua ' .. version
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The command that runs a block. `luajit` and `lua` at the beginning of a line are the interpreter under test.
local function command(block)
  if block.language == 'python' then
    return ('%s -c %s 2>&1'):format(python, quote(block.source))
  end
  local lines = {}
  for i, entry in ipairs(blocks.commands(block)) do
    local interpreter, rest = entry.command:match '^(%l+)( .*)$'
    local is_lua = interpreter == 'luajit' or interpreter == 'lua'
    lines[i] = is_lua and support.interpreter .. rest or entry.command
  end
  return ('sh -c %s 2>&1 </dev/null'):format(quote(table.concat(lines, '\n')))
end

local HEAD = pages.HEAD .. 'local function execute(command) io.stdout:flush() os.execute(command) end'

local function program(page, list)
  local statements = {}
  for i, block in ipairs(list) do
    statements[i] = block.language == 'lua' and pages.chunk(page, block) or ('execute(%q)'):format(command(block))
  end
  return pages.program(HEAD, statements)
end

describe('the examples #process', function()
  local path = support.temporary()
  local promising = 0

  for _, page in ipairs(blocks.pages()) do
    local list = {}
    for _, block in ipairs(blocks.of(page)) do
      if can_run(block) then
        list[#list + 1] = block
        promising = promising + (pages.promise(block) ~= '' and 1 or 0)
      end
    end
    if #list > 0 then
      it('of ' .. page .. ' print what they say', function()
        -- Commands find the files of the project, and write beside them.
        support.sh(('ln -s "$PWD"/* %s'):format(quote(path())))
        local interpreter = "cd '" .. path() .. "' && " .. support.interpreter
        pages.check(page, list, support.run(program(page, list), interpreter))
      end)
    end
  end

  it('say in at least 100 blocks what is printed', function()
    assert.is_true(promising >= 100, promising .. ' examples promise output')
  end)

  it('have a test that runs each of them', function()
    for _, page in ipairs(blocks.pages()) do
      for _, block in ipairs(blocks.of(page)) do
        local runner, problem = blocks.runner(page, block)
        assert(runner, ('%s:%d: %s'):format(page, block.number, tostring(problem)))
      end
    end
  end)

  it('are refused if nothing runs them', function()
    local function refused(info, source)
      local block = { info = info, language = info:match '^%S+', mark = info:match '%((.+)%)', source = source or '' }
      block.lines = { block.source }
      local runner, problem = blocks.runner('docs/memory.md', block)
      assert.is_nil(runner)
      return problem
    end
    assert.matches('nothing runs', refused 'lua (does not run: it is slow)', 1, true)
    assert.matches('nothing runs', refused 'rust', 1, true)
    assert.matches('nothing runs the command `luarocks install x`', refused('sh', 'luarocks install x'), 1, true)
    assert.matches('there is no file', refused 'c (examples/c/none.c)', 1, true)
    assert.matches('is not a part of', refused('c (examples/c/stats.c)', 'int main() {}'), 1, true)
    assert.matches('does not name the page', refused('c (spec/documentation/tour_spec.lua)', ''), 1, true)
    assert.matches('no test and no make target', refused('text (LICENSE)', 'Redistribution and use'), 1, true)
  end)
end)
