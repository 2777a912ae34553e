-- A queue in shared memory: one process puts numbers in, and another one takes them out. Each sleeps while it has nothing to do.
local HELP = [[
queue.lua [NUMBERS] starts a process, and sends it numbers through a ring in shared memory. The process sends back their sum.

  NUMBERS  how many, from 1 to 1e7 (100000)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'
local atomic = torch.atomic

local SIZE = 1024 -- the places of the ring
-- The elements of `state`. They are 64 bytes apart, because different processes write them.
local PUT, TAKEN, RESULT = 1, 9, 17

local function say(text, ...)
  print(text:format(...))
end

local function fail(text)
  io.stderr:write('queue: ', text, '\n')
  os.exit(1)
end

-- Waits until the element is larger than `least`, and returns it. Sleeps only if it is not.
local function more_than(state, i, least)
  local now = atomic.load(state, i)
  while now <= least do
    if atomic.wait(state, i, now, 30) == 'timed-out' then
      fail 'the other process does nothing any more'
    end
    now = atomic.load(state, i)
  end
  return now
end

-- Puts a number into the ring. `before` is how many were put in already. There is room if fewer than SIZE of them wait to be
-- taken.
local function put(ring, state, number, before)
  if before >= SIZE then
    more_than(state, TAKEN, before - SIZE)
  end
  ring[before % SIZE + 1] = number -- a plain write, which the next line announces
  atomic.store(state, PUT, before + 1)
  atomic.notify(state, PUT)
end

-- Calls act(number) for each number, in the order in which they were put in.
local function take(ring, state, count, act)
  local taken = 0
  while taken < count do
    local there = more_than(state, PUT, taken)
    for n = taken, there - 1 do
      act(ring[n % SIZE + 1])
    end
    taken = there
    atomic.store(state, TAKEN, taken) -- the places are free again
    atomic.notify(state, TAKEN)
  end
end

-- The other process runs this file, too. Its arguments are the name of the shared memory, and how many numbers come.
local name, count = arg[1], tonumber(arg[2])
if count then
  local ring = torch.DoubleStorage { shared = name } -- attaches to all of it
  local state = torch.LongStorage { shared = name .. '-state' }
  local sum = 0
  take(ring, state, count, function(number)
    sum = sum + number
  end)
  atomic.store(state, RESULT, sum)
  atomic.notify(state, RESULT)
  return
end

count = tonumber(arg[1] or 100000)
if #arg > 1 or not count or count < 1 or count > 1e7 or count % 1 ~= 0 then
  fail 'give how many numbers to send, from 1 to 1e7, or nothing'
end

-- Wall time, because os.clock() does not count while this process sleeps.
local function time()
  local file = assert(io.open '/proc/uptime')
  local seconds = file:read '*n'
  file:close()
  return seconds
end

-- Quotes a word for the shell.
local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The command that runs this file: the interpreter, its options, and the file.
local words, lowest = {}, -1
while arg[lowest - 1] do
  lowest = lowest - 1
end
for i = lowest, 0 do
  words[#words + 1] = quote(arg[i])
end

-- The number of this process makes the name unique.
name = ('torch-queue-%d'):format(assert(io.open '/proc/self/stat'):read '*n')
say('1. Shared memory %s: a ring of %d numbers', name, SIZE)
local ring = torch.DoubleStorage { shared = name, size = SIZE, create = true }
local state = torch.LongStorage { shared = name .. '-state', size = 24, create = true }

say('2. Another process takes %d numbers out of it', count)
local pipe = assert(io.popen(('%s %s %d 2>&1'):format(table.concat(words, ' '), name, count)))
local started, sum = time(), 0
for n = 1, count do
  local number = n * n % 1000
  sum = sum + number
  put(ring, state, number, n - 1)
end
local result = more_than(state, RESULT, 0)
say('   It took %.2f seconds.', time() - started)
local output = pipe:read '*a'
pipe:close()
if output ~= '' or result ~= sum then
  fail(('the sum of the other process is %d, and not %d %s'):format(result, sum, output))
end
say('3. Both have the same sum: %d', sum)

-- The last holder that lets go removes the names. At exit that would happen by itself.
ring:free()
state:free()
for _, object in ipairs(torch.sharedMemory()) do
  if object.name:find(name, 1, true) then
    fail(object.name .. ' is still there')
  end
end
say '4. The last holder has let go: the names are gone'
