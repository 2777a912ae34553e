-- docs/c-modules.md: its first module is compiled by the command on the page, and prints what the page says.
-- Interpreters: luajit, lua5.4
local c_module = require 'spec.support.c_module'
local files = require 'tools.files'
local markdown = require 'tools.markdown'
local support = require 'spec.support'

local PAGE = 'docs/c-modules.md'

local missing = c_module.missing()

-- The blocks of the page that begin with ```LANGUAGE.
local function blocks(language)
  local found = {}
  markdown.walk(files.read(PAGE), nil, function(info, lines)
    if info:match '^%a*' == language then
      found[#found + 1] = lines
    end
  end)
  return found
end

describe(PAGE .. ' #process', function()
  local path = support.temporary()

  it('shows a first module that prints what the page says', function()
    if missing then
      pending(missing)
    end
    support.spit(path 'first.c', table.concat(blocks('c')[1], '\n') .. '\n')
    local command = table.concat(blocks('sh')[1], '\n')
    command = command:gsub('/usr/local/include', support.sh 'pwd' .. '/include')
    command = command:gsub('/usr/include/lua5.1', function()
      return (c_module.headers())
    end)
    local messages, status = support.execute(("cd '%s' && %s"):format(path(), command))
    assert.equal(0, status, messages)
    assert.equal('', messages)
    local program = table.concat(blocks('lua')[1], '\n')
    local output = support.child(("package.cpath = '%s/?.so;' .. package.cpath\n%s"):format(path(), program))
    assert.equal(program:match '%-%-> ([^\n]+)', output)
  end)
end)
