-- Several Lua states of one process use the same array: they find it by name (publish, lookup), or hand it over as a string
-- (token).
--
-- A program with several threads gives each its own Lua state: the workers of a web server, the background jobs of an editor,
-- a game. A table cannot go from one state to another, so such programs copy what they send. A storage is not copied: all
-- states see the same memory. In a real program one state runs `produce` and the others run `consume`. Here both run in one
-- state, where they do the same.
local HELP = [[
states.lua shows how the Lua states of a process use the same array: they find it by name, or hand it over as a string.

  It takes no arguments.

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function say(text, ...)
  print(text:format(...))
end

-- Stands for the channel that the host program has between its states: a queue, a pipe, or the arguments of a job.
local channel = {}
local function send(text)
  channel[#channel + 1] = text
end
local function receive()
  return table.remove(channel, 1)
end

-- Runs in one state: publishes an array of squares for all states, and sends some results.
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
    -- The token now holds the result, so this state may forget it, or end.
    result:free()
  end

  -- A storage that others may hold cannot be resized until they have let go of it.
  local ok, message = pcall(squares.resize, squares, 10)
  say('resizing what is published: %s', ok and 'done' or message:match 'another.-:' .. ' ...')
end

-- Runs in any other state.
local function consume()
  local squares = torch.lookup 'squares'
  if not squares then
    return say "nothing is published as 'squares' yet"
  end
  say('looked up: squares[12] is %d', squares[12])

  for token in receive do
    local result = torch.fromToken(token)
    say('a token brought: %s', table.concat(result:totable(), ' '))
    -- A token can be taken once, so each result has one owner, who does not need a lock.
    if pcall(torch.fromToken, token) then
      error 'a token was taken twice'
    end
  end
end

consume()
produce()
consume()

-- A token that never arrives would keep its storage forever. Whoever notices that drops the token.
local lost = torch.IntStorage(1000):token()
torch.dropToken(lost)

-- Any state can end the publication. States that have looked the storage up keep it.
local kept = torch.lookup 'squares'
local ended = torch.unpublish 'squares'
say('unpublished: %s; looking it up now gives %s', tostring(ended), tostring(torch.lookup 'squares'))
say('the storage that was looked up before still has squares[1000] = %d', kept[1000])

kept:free()
collectgarbage()
collectgarbage()
say('bytes held in the end: %d', torch.memory().heap)

-- Threads that write the same elements must take turns, as in C: the library does not lock elements. Processes share memory in
-- another way: see torch.TYPEStorage { shared = name } and s:shareMemory().
