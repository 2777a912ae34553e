-- examples/states.lua, run as by a user in one state, and in the states of a host that has several.
-- Interpreters: luajit, lua5.4
local host = require 'spec.support.host'
local support = require 'spec.support'

describe('examples/states.lua #process', function()
  it('passes storages on, and releases all of them', function()
    local output, status = support.execute(support.interpreter .. ' examples/states.lua')
    assert.equal(
      [[
nothing is published as 'squares' yet
published 'squares': 1000 elements, 8000 bytes
resizing what is published: another Lua state, a token or a publication holds the storage: ...
looked up: squares[12] is 144
a token brought: 1 2 3
a token brought: 2 4 6
a token brought: 3 6 9
unpublished: true; looking it up now gives nil
the storage that was looked up before still has squares[1000] = 1000000
bytes held in the end: 0]],
      output
    )
    assert.equal(0, status)
  end)

  -- The two halves of the file, with the host's channel instead of the example's.
  it('works in a host with several states', function()
    local source = support.slurp 'examples/states.lua'
    local produce = source:match '(local function produce%(%).-\nend\n)'
    local consume = source:match '(local function consume%(%).-\nend\n)'
    local output = host.run(2, [[
      local function say(text, ...) io.write(text:format(...), '\n') end
      local to = send
      local function send(text) to(2, text) end
      local left = 3
      local take = receive
      local function receive()
        left = left - 1
        return left >= 0 and take() or nil
      end
      ]] .. produce .. consume .. [[
      if me == 1 then
        produce()
        meet()
        meet()
        equal(true, torch.unpublish 'squares')
      else
        meet()
        consume()
        meet()
      end
    ]])
    assert.is_truthy(output:find('looked up: squares[12] is 144\na token brought: 1 2 3\n', 1, true), output)
    assert.is_truthy(output:find('a token brought: 3 6 9', 1, true), output)
  end)
end)
