-- A process that runs the lines of Lua code it reads and answers each with one line. spec/support/processes.lua starts it.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'

local input, output = io.stdin, io.stdout

-- Everything that the lines use or make is global, so that it lives until the very end of the process.
rawset(_G, 'torch', torch)
rawset(_G, 'support', support)

local function pid()
  return tonumber(support.slurp('/proc/self/stat'):match '^%d+')
end

rawset(_G, 'pid', pid)

-- Forks the process (LuaJIT only). The child continues in this loop with three files of its own; both answer with the child's
-- id.
local function fork(path)
  local ffi = require 'ffi'
  pcall(ffi.cdef, 'int fork(void); int close(int); unsigned alarm(unsigned);')
  local child = ffi.C.fork()
  assert(child >= 0, 'no fork')
  if child == 0 then
    ffi.C.alarm(240) -- ends the child if nobody else does
    ffi.C.close(0)
    input = assert(io.open(path .. '.in'))
    ffi.C.close(1)
    output = assert(io.open(path .. '.out', 'w'))
    ffi.C.close(2)
    local errors = assert(io.open(path .. '.err', 'w'))
    -- These files must not be collected: that would close the descriptors of this process.
    rawset(_G, 'files', { input, output, errors, rawget(_G, 'files') })
    child = pid()
  end
  return child
end
rawset(_G, 'fork', fork)

local function answer(ok, ...)
  local texts = {}
  for i = 1, select('#', ...) do
    texts[i] = recorded.show((select(i, ...)))
  end
  output:write(ok and '= ' or '! ', table.concat(texts, ', '), '\n')
  output:flush()
end

for line in
  function()
    return input:read()
  end
do
  if line == 'return' then
    break
  elseif line == 'error' then
    error('planned', 0)
  end
  local code = assert(loadstring('return ' .. line) or loadstring(line))
  answer(pcall(code))
end
