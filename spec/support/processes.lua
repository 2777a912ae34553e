-- Child processes that a spec commands one line at a time: it starts them, forks them and ends them in every way. Also fresh
-- names for shared memory.
local torch = require 'torch'
local support = require 'spec.support'

local processes = {}

-- A process that runs longer than this many seconds counts as hanging and is ended.
local LIMIT = 240

local Process = {}
Process.__index = Process

local this = support.slurp('/proc/self/stat'):match '^%d+'
local count, alive, directory = 0, {}, nil

-- A path that is not used yet.
local function path()
  if not directory then
    directory = support.directory()
    os.execute('chmod 777 ' .. directory) -- for processes that change their user id
  end
  count = count + 1
  return directory .. '/' .. count
end

local function add(process)
  alive[process] = true
  return setmetatable(process, Process)
end

-- Starts a process that runs spec/support/worker.lua.
function processes.start()
  local files = path()
  local output = assert(io.popen(([[
    mkfifo -m 666 %s.in && echo
    { (exec timeout -k 1 %d %s spec/support/worker.lua <%s.in 2>%s.err); echo "status $?"; } 2>/dev/null
  ]]):format(files, LIMIT, support.interpreter, files, files)))
  output:read()
  -- Opened for reading and writing, so that opening and writing neither wait nor fail when the process is not there.
  local process = add { input = assert(io.open(files .. '.in', 'r+')), output = output, files = files }
  process.pid = tonumber(process:tell 'pid()')
  return process
end

-- Forks the process and returns the child. LuaJIT only.
function Process:fork()
  local files = path()
  assert(os.execute(('mkfifo -m 666 %s.in %s.out'):format(files, files)) == 0)
  local output = assert(io.popen(('timeout %d cat %s.out'):format(LIMIT, files)))
  local child = add { input = assert(io.open(files .. '.in', 'r+')), output = output, files = files, forked = true }
  child.pid = tonumber(self:tell(("fork '%s'"):format(files)))
  assert(tonumber(child:hear()) == child.pid)
  return child
end

function Process:errors()
  local file = io.open(self.files .. '.err', 'rb')
  local text = file and file:read '*a' or ''
  if file then
    file:close()
  end
  return text
end

function Process:send(line)
  assert(not line:find '\n')
  self.input:write(line, '\n')
  self.input:flush()
end

function Process:hear()
  local text = self.output:read() or ''
  local kind, value = text:match '^([=!]) (.*)$'
  if kind == '=' then
    return value
  end
  error(value or ('the process has ended: %s %s'):format(text, self:errors()), 3)
end

-- Runs a line of code in the process. Returns its values as text in the notation of spec/support/recorded.lua, or raises its
-- error.
function Process:tell(line, ...)
  self:send(select('#', ...) > 0 and line:format(...) or line)
  return (self:hear())
end

-- Waits until a process has closed everything it had open: it has ended, or is a zombie.
local function wait(pid)
  local deadline = os.time() + LIMIT
  repeat
    local file = io.open('/proc/' .. pid .. '/stat')
    local state = file and (file:read '*a' or ''):match '%) (%a)'
    if file then
      file:close()
    end
    if not state or state == 'Z' or state == 'X' then
      return
    end
  until os.time() > deadline
  error('process ' .. pid .. ' does not end')
end

local function kill(pid)
  os.execute('kill -9 ' .. pid .. ' 2>/dev/null')
end

local STATUS = { ['return'] = 0, ['os.exit'] = 0, error = 1, kill = 137 }

-- Ends the process by 'return' (the end of its script), 'os.exit', 'error' or 'kill'. Waits until it has ended, and checks that
-- it ended in this way and printed nothing else.
function Process:finish(how)
  if how == 'kill' then
    kill(self.pid)
  else
    self:send(how == 'os.exit' and 'os.exit(0)' or how)
  end
  local rest = self.output:read '*a'
  self.output:close()
  self.input:close()
  wait(self.pid)
  alive[self] = nil
  local errors, status = self:errors(), tonumber(rest:match '^status (%d+)\n$')
  if status ~= (not self.forked and STATUS[how] or nil) then
    error(('ended by %s with status %s: %s %s'):format(how, tostring(status), rest, errors), 2)
  end
  local first = errors:match '[^\n]*'
  if how == 'error' and not first:find '^%S+: planned$' or how ~= 'error' and errors ~= '' then
    error(('ended by %s: %s'):format(how, errors), 2)
  elseif how == 'error' and errors:lower():find('shared', 1, true) then
    error('more than the error that was planned: ' .. errors, 2)
  end
end

local prefix = ('torch-spec-%s-%d'):format(this, os.time())
local names = 0

-- A name for shared memory that no other process uses.
function processes.name()
  names = names + 1
  return prefix .. '-' .. names
end

-- Whether a shared memory object of that name exists in the file system.
function processes.exists(name)
  local file = io.open('/dev/shm/' .. name, 'rb')
  if file then
    file:close()
  end
  return file ~= nil
end

-- The names made by processes.name() that exist in the file system.
function processes.left()
  return support.sh(("ls /dev/shm | grep '^%s' || true"):format(prefix))
end

-- What torch.sharedMemory() reports for a name: its bytes and 'held' or 'free', or nil.
function processes.listed(name)
  for _, object in ipairs(torch.sharedMemory()) do
    if object.name == name then
      return object.bytes .. (object.held and ' held' or ' free')
    end
  end
end

-- Ends and removes everything that a test has left; for after_each.
function processes.clean()
  for process in pairs(alive) do
    if process.pid then
      kill(process.pid)
    end
    process.output:close()
    process.input:close()
  end
  alive = {}
  support.collect()
  os.execute(("rm -f '/dev/shm/%s'*"):format(prefix))
  if directory then
    support.remove(directory)
    directory = nil
  end
end

return processes
