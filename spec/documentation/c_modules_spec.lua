-- docs/c-modules.md: its first module is compiled and run, and its other C code is that of examples/c/stats.c.
local c_module = require 'spec.support.c_module'
local markdown = require 'tools.markdown'
local support = require 'spec.support'

local PAGE = 'docs/c-modules.md'

local missing = c_module.missing()

-- The blocks of the page that begin with ```LANGUAGE.
local function blocks(language)
  local found = {}
  markdown.walk(markdown.read(PAGE), nil, function(info, lines)
    if info:match '^%a*' == language then
      found[#found + 1] = lines
    end
  end)
  return found
end

-- A text without comments, and with single spaces.
local function plain(text)
  return (text:gsub('/%*.-%*/', ''):gsub('%s+', ' '))
end

describe(PAGE .. ' #process', function()
  local path = support.temporary()

  it('shows a first module that prints what the page says', function()
    if missing then
      pending(missing)
    end
    support.spit(path 'first.c', table.concat(blocks('c')[1], '\n') .. '\n')
    local messages, status = c_module.compile(path 'first.c', path 'first.so')
    assert.equal(0, status, messages)
    local program = table.concat(blocks('lua')[1], '\n')
    local output = support.child(("package.cpath = '%s/?.so;' .. package.cpath\n%s"):format(path(), program))
    assert.equal(program:match '%-%-> ([^\n]+)', output)
  end)

  it('has the same code as examples/c/stats.c', function()
    local example, count = plain(support.slurp 'examples/c/stats.c'), 0
    for n, lines in ipairs(blocks 'c') do
      if n > 1 then
        local code = plain(table.concat(lines, '\n')):gsub('^ ', ''):gsub(' $', '')
        assert.is_truthy(example:find(code, 1, true), 'not in the example: ' .. code)
        count = count + 1
      end
    end
    assert.is_true(count > 5)
  end)
end)
