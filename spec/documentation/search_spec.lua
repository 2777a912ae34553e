-- examples/search.lua, run as by a user: lines that share words with a question are found first.
-- Interpreters: luajit, lua5.1, lua5.4
local support = require 'spec.support'

local path = support.temporary()

local function search(arguments)
  return support.execute(('%s examples/search.lua %s'):format(support.interpreter, arguments))
end

describe('examples/search.lua #process', function()
  it('finds the lines that are most similar to a question', function()
    local text, index = path 'text', path 'index.npy'
    local lines = {}
    for i = 1, 2000 do
      lines[i] = ('line %d about nothing in particular'):format(i)
    end
    lines[700] = 'How do processes share memory?'
    lines[1500] = 'Two processes share the memory of a file.'
    support.spit(text, table.concat(lines, '\n') .. '\n')
    local output, status = search(("'%s' '%s'"):format(index, text))
    assert.equal(0, status, output)
    assert.matches('2000 lines, 1024000 bytes', output, 1, true)
    assert.matches('100 %', output, 1, true)
    output, status = search(("'%s' '%s' shared memory of processes"):format(index, text))
    assert.equal(0, status, output)
    local first, second = output:match '^%d%.%d+  ([^\n]*)\n%d%.%d+  ([^\n]*)\n'
    local found = { [first] = true, [second] = true }
    assert.same({ [lines[700]] = true, [lines[1500]] = true }, found)
  end)

  it('says what is wrong', function()
    local output, status = search ''
    assert.equal(1, status)
    assert.equal('search: give a file of vectors and a text, or --help', output)
    local text, index = path 'short', path 'short.npy'
    support.spit(text, 'one\ntwo\n')
    assert.equal(0, select(2, search(("'%s' '%s'"):format(index, text))))
    support.spit(text, 'one\ntwo\nthree\n')
    output, status = search(("'%s' '%s' one"):format(index, text))
    assert.equal(1, status)
    assert.matches('was made of 2 lines, and', output, 1, true)
    output, status = search(("'%s' '%s' one"):format(path 'none', text))
    assert.equal(1, status)
    assert.matches('cannot open file', output, 1, true)
  end)
end)
