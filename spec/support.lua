-- What the specs share: temporary files, the interpreter under test, child processes, and what this process holds.
local support = {}

-- The classes by the names of their elements, in the library's order. TYPES: those of Torch7, for what Torch7 gave and for whole
-- numbers below 128, which all of these keep. MORE: the others. ALL: both. COMPLEX: their elements are no numbers, so they have
-- specs of their own, as the untyped class has. ENTRY and WIDTH say by name what the library says of each.
support.TYPES, support.MORE, support.ALL, support.COMPLEX, support.ENTRY, support.WIDTH = {}, {}, {}, {}, {}, {}
for _, entry in ipairs(require('torch.core').classes) do
  local T = entry.element
  support.ENTRY[T], support.WIDTH[T] = entry, entry.width
  if entry.kind == 'complex' then
    table.insert(support.COMPLEX, T)
  elseif entry.kind ~= 'untyped' then
    table.insert(entry.in_torch7 and support.TYPES or support.MORE, T)
    table.insert(support.ALL, T)
  end
end
support.luajit = rawget(_G, 'jit') ~= nil

-- The command line of the interpreter that runs this spec, its options included (so a child of `luajit -joff` has it off too).
local words, lowest = {}, 0
while arg[lowest - 1] do
  lowest = lowest - 1
end
for i = lowest, -1 do
  words[#words + 1] = arg[i]
end
support.interpreter = table.concat(words, ' ')

function support.slurp(name)
  local file = assert(io.open(name, 'rb'))
  local bytes = file:read '*a'
  file:close()
  return bytes
end

function support.spit(name, bytes)
  local file = assert(io.open(name, 'wb'))
  assert(file:write(bytes))
  file:close()
  return name
end

-- A shell command's output (standard error included) without its last newline.
function support.sh(command)
  local pipe = assert(io.popen('{ ' .. command .. '\n} 2>&1', 'r'))
  local output = pipe:read '*a'
  pipe:close()
  return (output:gsub('\n$', ''))
end

-- A shell command's output, as of `sh`, and its exit status as a number: 0 for success, 128 + n for a death by signal n.
function support.execute(command)
  local output, status = support.sh(command .. '; echo "status:$?"'):match '^(.-)\n?status:(%d+)$'
  return output, tonumber(status)
end

-- A fresh directory; remove it with support.remove.
function support.directory()
  return (support.sh 'mktemp -d')
end

function support.remove(name)
  assert(#name > 5, 'a short path is a mistake')
  support.sh("rm -rf '" .. name .. "'")
end

-- Gives each test of the file or of the `describe` that it is called in a fresh directory, and removes it afterwards. Returns a
-- function: path(name) is in the directory, path() the directory itself.
function support.directories()
  local busted = require 'busted' -- a child process has none, and no tests either
  local directory
  busted.before_each(function()
    directory = support.directory()
  end)
  busted.after_each(function()
    support.remove(directory)
  end)
  return function(name)
    return name and directory .. '/' .. name or directory
  end
end

-- Runs Lua source in a new process of the same interpreter. Returns its output (both streams) and its exit status.
function support.run(source, interpreter)
  local name = os.tmpname()
  support.spit(name, source)
  local output, status = support.execute((interpreter or support.interpreter) .. ' ' .. name)
  os.remove(name)
  return output, status
end

-- Memory in use by this process, in bytes (Linux).
function support.resident()
  return tonumber(support.slurp('/proc/self/status'):match 'VmRSS:%s*(%d+)') * 1024
end

-- Open descriptors of this process (Linux). Not by a child that lists them: it may come before its pipe is closed here.
function support.descriptors()
  local count = 0
  for number = 0, 1023 do
    local file = io.open('/proc/self/fdinfo/' .. number)
    if file then
      file:close()
      count = count + 1
    end
  end
  return count
end

-- Mappings of this process, or lines of them that a pattern finds (Linux).
function support.mappings(pattern)
  local _, count = support.slurp('/proc/self/maps'):gsub(pattern or '\n', '')
  return count
end

-- The message of the error that f(...) raises: it has to raise, and a string.
function support.failure(f, ...)
  local ok, message = pcall(f, ...)
  if ok then
    error('an error was expected', 2)
  end
  if type(message) ~= 'string' then
    error('the error is a ' .. type(message) .. ', not a string', 2)
  end
  return message
end

-- f(...) has to raise a string with this text in it.
function support.fails(text, f, ...)
  local ok, message = pcall(f, ...)
  if ok or type(message) ~= 'string' or not message:find(text, 1, true) then
    error(('expected an error: %s\n  got: %s'):format(text, ok and 'none' or tostring(message)), 2)
  end
end

-- Two full collections: the second frees what the finalizers of the first let go.
function support.collect()
  collectgarbage()
  collectgarbage()
end

return support
