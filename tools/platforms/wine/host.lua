-- What the specs need from a program on Windows, under Wine: modules in C that busted uses, and functions that run Unix
-- commands. `host` is a table of host.c.
local host = host

-- The spec file, for helper.lua: the last argument.
host.script = arg[#arg] or ''

-- Busted and Penlight put names of files together with the separator of the system. Wine takes both.
package.preload.lfs = function()
  return {
    attributes = function(name, what)
      local mode = host.mode(name)
      if not mode then
        return nil, name .. ': No such file or directory'
      end
      return what and mode or { mode = mode }
    end,
    currentdir = host.directory,
    chdir = host.change,
    dir = function(name)
      return io.popen(("ls -a '%s'"):format((name:gsub('\\', '/')))):lines()
    end,
  }
end

package.preload['system.core'] = function()
  return { gettime = host.time, monotime = host.time, sleep = host.sleep }
end

package.preload['term.core'] = function()
  return {
    isatty = function()
      return false
    end,
  }
end

-- A file that is mapped cannot be emptied. The maps of earlier tests may be garbage that is not collected yet.
local open = io.open
function io.open(name, mode)
  -- The server of Wine opens the files of Unix, so this is about the server. A spec that ended itself by this number ended all.
  if name == '/proc/self/stat' then
    return nil, name .. ': No such file or directory', 2
  end
  local file, message, number = open(name, mode)
  if not file and mode and mode:find '^w' then
    collectgarbage()
    collectgarbage()
    file, message, number = open(name, mode)
  end
  return file, message, number
end

local count = 0
local stem = ('/tmp/torch-storage-%d-%d-'):format(host.process(), os.time())

function os.tmpname()
  count = count + 1
  local name = stem .. count
  assert(io.open(name, 'wb')):close()
  return name
end

-- The output of a command, as a file that is read while the command runs. Wine cannot connect a Unix program with a pipe.
local Output = {}
Output.__index = Output

function Output:more()
  repeat
    local ended = host.mode(self.name .. '.done')
    self.file:seek('cur', 0) -- forgets that the end was met
    local bytes = self.file:read(65536)
    if bytes then
      self.bytes = self.bytes .. bytes
      return true
    end
    host.sleep(0.002)
  until ended
  return false
end

function Output:read(what)
  if what == '*a' or what == 'a' then
    while self:more() do
    end
    local all = self.bytes
    self.bytes = ''
    return all
  end
  local line = self.bytes:match '^([^\n]*)\n'
  while not line and self:more() do
    line = self.bytes:match '^([^\n]*)\n'
  end
  if not line then
    line = self.bytes ~= '' and self.bytes or nil
    self.bytes = ''
    return line
  end
  self.bytes = self.bytes:sub(#line + 2)
  return line
end

function Output:lines()
  return function()
    return self:read()
  end
end

function Output:close()
  self.file:close()
  for _, ending in ipairs { '', '.sh', '.done' } do
    os.remove(self.name .. ending)
  end
  return true
end

-- The command is in a file, because the system has other rules for what is between quotation marks.
function io.popen(command)
  local name = os.tmpname()
  local file = assert(io.open(name .. '.sh', 'wb'))
  -- The parent of the shell is not this process, so a script must not kill it.
  file:write 'PPID=unknown\n'
  -- Wine does not start with little memory.
  file:write 'ulimit() { [ "$1" = -v ] || command ulimit "$@"; }\n'
  file:write('(\n', command, '\n) >', name, '\n>', name, '.done\n')
  file:close()
  host.start('\\\\?\\unix\\bin\\sh ' .. name .. '.sh')
  return setmetatable({ name = name, file = assert(io.open(name, 'rb')), bytes = '' }, Output)
end

-- Wine does not say how a Unix command ends. Its output goes to that of this process.
function os.execute(command)
  if not command then
    return _VERSION == 'Lua 5.1' and 1 or true
  end
  local pipe = io.popen('( ' .. command .. '\n) </dev/null; echo "status:$?"')
  local output, status = pipe:read('*a'):match '^(.*)status:(%d+)\n$'
  pipe:close()
  io.write(output or '')
  status = tonumber(status)
  if _VERSION == 'Lua 5.1' then
    return status
  end
  return status == 0 or nil, 'exit', status
end

if _VERSION ~= 'Lua 5.1' then
  -- That of lua51.lua opens a file each time, which takes long under Wine.
  function newproxy(metatable)
    local is_new = metatable == true
    return debug.setmetatable(host.proxy(), is_new and {} or metatable and debug.getmetatable(metatable) or nil)
  end
  dofile 'spec/support/lua51.lua'
end
