-- The examples of docs/mpi.md, on every rank: they print what their `-->` comments say.
package.path = 'tools/?.lua;' .. package.path
local ranks = require 'ranks'
local blocks = require 'blocks'

local PAGE = 'docs/mpi.md'

-- Runs a block, and returns what it prints.
local function run(block)
  local lines, print_before = {}, print
  function _G.print(...)
    local words = { ... }
    for i = 1, select('#', ...) do
      words[i] = tostring(words[i])
    end
    lines[#lines + 1] = table.concat(words, '\t') .. '\n'
  end
  local works, why = pcall(assert((loadstring or load)(block.source, ('=%s:%d'):format(PAGE, block.number))))
  _G.print = print_before
  assert(works, why)
  return table.concat(lines)
end

local count = 0
for _, block in ipairs(blocks.of(PAGE)) do
  if block.info == 'lua (MPI)' then
    count = count + 1
    ranks.test(('%s:%d'):format(PAGE, block.number), function()
      ranks.equal(blocks.promise(block), run(block), 'output')
    end)
  end
end

ranks.test('the page has examples', function()
  assert(count > 1, count)
end)

ranks.done()
