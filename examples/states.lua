-- One array for several Lua states of a process: found by name (publish, lookup), or handed over by a text (token).
--
--   luajit examples/states.lua
--
-- A program with several threads gives each a Lua state of its own: a web server's workers, an editor's background jobs, a game.
-- Tables cannot go from one state to another, and what is sent between them is copied. A storage is not: all states see the same
-- memory. The states of such a program run the two functions below, `produce` in one and `consume` in others; here both run in
-- one state, where they work the same.
local torch = require 'torch'

local function say(text, ...)
  print(text:format(...))
end

-- What the host carries between its states: texts. Take its queue, pipe, or arguments of a job instead.
local channel = {}
local function send(text)
  channel[#channel + 1] = text
end
local function receive()
  return table.remove(channel, 1)
end

-- In one state: publishes a table of squares for everybody, and sends results of its own.
local function produce()
  local squares = torch.DoubleStorage(1000)
  for i = 1, #squares do
    squares[i] = i * i
  end
  torch.publish('squares', squares)
  say("published 'squares': %d elements, %d bytes", #squares, squares:nbytes())

  for first = 1, 3 do
    local result = torch.IntStorage { first, 2 * first, 3 * first }
    send(result:token())
    -- The token holds the result now: this state may forget it, or end.
    result:free()
  end

  -- What others may hold does not move: its size is fixed until they let go.
  local ok, message = pcall(squares.resize, squares, 10)
  say('resizing what is published: %s', ok and 'done' or message:match 'another.-:' .. ' ...')
end

-- In any other state.
local function consume()
  local squares = torch.lookup 'squares'
  if not squares then
    return say "nothing is published as 'squares' yet"
  end
  say('looked up: squares[12] is %d', squares[12])

  for token in receive do
    local result = torch.fromToken(token)
    say('a token brought: %s', table.concat(result:totable(), ' '))
    -- Each token is good for one taking, so a result has one owner, who need not lock anything.
    if pcall(torch.fromToken, token) then
      error 'a token was taken twice'
    end
  end
end

consume()
produce()
consume()

-- A token that never arrives keeps its storage: who finds that out gives it back.
local lost = torch.IntStorage(1000):token()
torch.dropToken(lost)

-- Who published ends it, or anybody else. Those who have looked the storage up keep it.
local kept = torch.lookup 'squares'
local ended = torch.unpublish 'squares'
say('unpublished: %s, and looking it up gives %s', tostring(ended), tostring(torch.lookup 'squares'))
say('the one that was looked up before still has squares[1000] = %d', kept[1000])

kept:free()
collectgarbage()
collectgarbage()
say('bytes that are held in the end: %d', torch.memory().heap)

-- Threads that write the same elements must take turns, as in C; the library locks only who holds what. For other processes in
-- place of other states use shared memory: see torch.TYPEStorage(name, true, size, true) and s:shareMemory().
