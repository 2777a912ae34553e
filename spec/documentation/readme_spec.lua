-- Runs the README's examples: every ```lua block runs by itself in a child process, and prints exactly what its `-->` comments
-- say, one line each.
local support = require 'spec.support'

local function examples(text)
  local found, current = {}, nil
  local number = 0
  for line in (text .. '\n'):gmatch '(.-)\n' do
    number = number + 1
    if line == '```lua' then
      current = { line = number, source = {}, promise = {} }
    elseif line == '```' and current then
      found[#found + 1] = current
      current = nil
    elseif current then
      current.source[#current.source + 1] = line
      current.promise[#current.promise + 1] = line:match '%-%-> ?(.*)$'
    end
  end
  assert(not current, 'the last block is not closed')
  return found
end

describe('README.md #process', function()
  local found = examples(support.slurp 'README.md')
  local path = support.temporary()

  it('has at least five examples with output', function()
    local promising = 0
    for _, example in ipairs(found) do
      promising = promising + (#example.promise > 0 and 1 or 0)
    end
    assert.is_true(promising >= 5)
    assert.are.equal(#found, promising)
  end)

  for _, example in ipairs(found) do
    it('has a correct example in line ' .. example.line, function()
      local interpreter = "cd '" .. path() .. "' && " .. support.interpreter
      local output = support.child(table.concat(example.source, '\n'), interpreter)
      assert.are.equal(table.concat(example.promise, '\n'), output)
    end)
  end
end)
