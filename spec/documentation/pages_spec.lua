-- Runs the examples in README.md and docs/*.md. The ```lua blocks of a page run in order in one process, each as a chunk of its
-- own, and have to print exactly what their `-->` comments say, one line each.
--
-- A block that cannot run starts with ```lua (does not run: REASON), one that needs LuaJIT with ```lua (LuaJIT), one that needs
-- Lua 5.3 or later with ```lua (Lua 5.3), and one that mpi/spec/examples.lua runs with ```lua (2 ranks).
local markdown = require 'tools.markdown'
local support = require 'spec.support'

local MARK = '== end of a block =='

-- Returns the blocks of a page that this interpreter can run: { number =, source =, promise = }.
local function blocks_of(page)
  local blocks = {}
  markdown.walk(markdown.read(page), nil, function(info, lines, number)
    if info:find '^lua' then
      local reason = info:match '^lua %(does not run: (.+)%)$'
      local version = info:match '^lua %((Lua 5%.%d)%)$'
      local is_known = info == 'lua' or info == 'lua (LuaJIT)' or info == 'lua (2 ranks)' or version or reason
      assert(is_known, ('%s:%d: a block begins with ```%s'):format(page, number, info))
      if info == 'lua' or info == 'lua (LuaJIT)' and support.luajit or version and _VERSION >= version then
        local promise = {}
        for _, line in ipairs(lines) do
          promise[#promise + 1] = line:match '%-%-> ?(.*)$'
        end
        blocks[#blocks + 1] = { number = number, source = table.concat(lines, '\n'), promise = promise }
      end
    end
  end)
  return blocks
end

-- Returns a program that runs all blocks. It ends at the first block that fails.
local function program(page, blocks)
  local parts = { 'local run = function(source, name) return assert(loadstring(source, name))() end' }
  for _, block in ipairs(blocks) do
    parts[#parts + 1] = ('run(%q, %q) print %q'):format(block.source, ('=%s:%d'):format(page, block.number), MARK)
  end
  return table.concat(parts, '\n')
end

local function outputs(text)
  local found, from = {}, 1
  while true do
    local first, last = text:find(MARK .. '\n?', from)
    if not first then
      return found, text:sub(from)
    end
    found[#found + 1] = text:sub(from, first - 1)
    from = last + 1
  end
end

describe('the examples #process', function()
  local path = support.temporary()
  local pages = { 'README.md' }
  for name in support.sh('ls docs/*.md'):gmatch '[^\n]+' do
    pages[#pages + 1] = name
  end
  local promising = 0

  for _, page in ipairs(pages) do
    local blocks = blocks_of(page)
    for _, block in ipairs(blocks) do
      promising = promising + (#block.promise > 0 and 1 or 0)
    end
    if #blocks > 0 then
      it('of ' .. page .. ' print what their comments say', function()
        local interpreter = "cd '" .. path() .. "' && " .. support.interpreter
        local text, status = support.run(program(page, blocks), interpreter)
        local printed, rest = outputs(text)
        for i, block in ipairs(blocks) do
          local where = ('%s:%d: %s'):format(page, block.number, rest)
          assert(printed[i], where)
          local promise = table.concat(block.promise, '\n')
          promise = promise .. (#block.promise > 0 and '\n' or '')
          assert.equal(support.plain(promise), support.plain(printed[i]), where)
        end
        assert.equal(0, status, rest)
      end)
    end
  end

  it('say in at least 20 blocks what is printed', function()
    assert.is_true(promising >= 20, promising .. ' examples promise output')
  end)
end)
