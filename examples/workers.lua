-- Several processes fill parts of one array in shared memory. Nothing is copied, and nothing is left when they have ended.
local HELP = [[
workers.lua [PROCESSES] starts processes that fill one array in shared memory: each counts, for some numbers, the steps of the
Collatz sequence (n/2 or 3n+1, until 1).

  PROCESSES  their number, from 1 to 100 (4)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local NUMBERS = 100000

local function say(text, ...)
  print(text:format(...))
end

local function fail(text)
  io.stderr:write('workers: ', text, '\n')
  os.exit(1)
end

-- Sets elements 1, 2 ... of `steps` to the numbers of steps for `first`, `first` + 1 ...
local function count(steps, first)
  for i = 1, #steps do
    local n, taken = first + i - 1, 0
    while n ~= 1 do
      n = n % 2 == 0 and n / 2 or 3 * n + 1
      taken = taken + 1
    end
    steps[i] = taken
  end
end

-- The workers run this file too. Their arguments are the name of the shared memory, the number of the worker, and how many
-- there are.
local name, worker, workers = arg[1], tonumber(arg[2]), tonumber(arg[3])
if worker then
  local steps = torch.IntStorage { shared = name } -- without a size: attaches to all of it
  local seconds = torch.DoubleStorage { shared = name .. '-seconds' }
  local first, last = math.floor(#steps * (worker - 1) / workers) + 1, math.floor(#steps * worker / workers)
  count(torch.IntStorage(steps, first, last - first + 1), first)
  seconds[worker] = os.clock()
  return
end

workers = tonumber(arg[1] or 4)
if #arg > 1 or not workers or workers < 1 or workers > 100 or workers % 1 ~= 0 then
  fail 'give a number of processes from 1 to 100, or none'
end

-- Wall time, because os.clock() does not count while this process waits for the others.
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
local this = table.concat(words, ' ')

-- The number of this process makes the name unique.
name = 'torch-workers-' .. assert(io.open '/proc/self/stat'):read '*n'

say('1. Shared memory %s: %d elements, all 0', name, NUMBERS)
local steps = torch.IntStorage { shared = name, size = NUMBERS, create = true }
local seconds = torch.DoubleStorage { shared = name .. '-seconds', size = workers, create = true }
local clock = os.clock()
for _ = 1, 100 do
  torch.IntStorage({ shared = name }):free()
end
say('   Attaching to it takes %.0f microseconds.', (os.clock() - clock) / 100 * 1e6)

say('2. %d processes fill a part each', workers)
local started, pipes = time(), {}
for i = 1, workers do
  pipes[i] = assert(io.popen(('%s %s %d %d 2>&1'):format(this, name, i, workers)))
end
-- Reading the output of a worker waits for its end. A program that waits for an element to change instead has to call a
-- function in its loop (os.time, for example): otherwise LuaJIT may read the element only once.
for i, pipe in ipairs(pipes) do
  local output = pipe:read '*a'
  pipe:close()
  if output ~= '' or seconds[i] == 0 then
    fail(('process %d failed: %s'):format(i, output))
  end
  say('   Process %d worked for %.3f seconds.', i, seconds[i])
end
local together = time() - started
say('   All of them took %.2f seconds.', together)

say '3. Check: this process computes the same alone'
started = time()
local alone = torch.IntStorage(NUMBERS)
count(alone, 1)
say('   It took %.2f seconds.', time() - started)
if not steps:equal(alone) then
  fail 'the elements are not the same'
end
local longest = 1
for n, taken in steps:iter() do
  longest = taken > steps[longest] and n or longest
end
say('   All %d elements are the same.', #steps)
say('   The number %d has the longest sequence: %d steps.', longest, steps[longest])

-- The last holder that lets go removes the names. At exit that would happen by itself.
steps:free()
seconds:free()
for _, object in ipairs(torch.sharedMemory()) do
  if object.name:find(name, 1, true) then
    fail(object.name .. ' is still there')
  end
end
say '4. The last holder has let go: the names are gone'
