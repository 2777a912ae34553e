-- What all specs share: temporary files, the interpreter under test, child processes, and counts of what this process holds.
local support = {}

support.luajit = rawget(_G, 'jit') ~= nil

-- Whether numbers can be integers of 64 bits, since Lua 5.3. Before, all numbers are floats.
support.has_integers = math.type ~= nil

-- An element with its number: as an integer of Lua 5.3, one of a UInt64 may be wrapped, so its digits are taken.
function support.exact(s, i)
  local is_wrapped = support.has_integers and s:type() == 'torch.UInt64Storage'
  return is_wrapped and s:decimal(i) or s:exact(i)
end

-- A text with whole floats as they are written before Lua 5.3: 1 and not 1.0.
function support.plain(text)
  return support.has_integers and text:gsub('(%d)%.0%f[%D]', '%1') or text
end

-- The elements of a list, or of a storage or tensor, as such a text.
function support.joined(list, separator, ...)
  return (support.plain(table.concat(list, separator, ...)))
end

-- The command line of the interpreter that runs this spec, with its options: a child of `luajit -joff` runs with -joff too.
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

-- A shell command's output, as `sh` gives it, and its exit status as a number: 0 for success, 128 + n for a death by signal n.
function support.execute(command)
  local output, status = support.sh(command .. '; echo "status:$?"'):match '^(.-)\n?status:(%d+)$'
  return output, tonumber(status)
end

-- Makes a new directory. The caller removes it with support.remove.
function support.directory()
  return (support.sh 'mktemp -d')
end

function support.remove(name)
  assert(#name > 5, 'a short path is a mistake')
  support.sh("rm -rf '" .. name .. "'")
end

-- Temporary files for the tests of a file, or of the `describe` it is called in. Returns a function: path(name) is a file in a
-- directory of the running test, path() is the directory itself. It is made when it is asked for and removed after the test.
function support.temporary()
  local busted = require 'busted' -- not available in child processes, which have no tests
  local directory
  busted.after_each(function()
    if directory then
      support.remove(directory)
      directory = nil
    end
  end)
  return function(name)
    directory = directory or support.directory()
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

-- Runs Lua source as `run` does. The process has to end with exit status 0. Returns its output.
function support.child(source, interpreter)
  local output, status = support.run(source, interpreter)
  if status ~= 0 then
    error(('the child process ended with exit status %d: %s'):format(status, output), 2)
  end
  return output
end

-- Ends the running test, which is counted as skipped, and tells why. `f` is the function of the test: the `pending` of
-- `require 'busted'` does not end a test.
function support.skip(f, why)
  getfenv(f).pending(why)
end

-- How often a test repeats something: in `make test`, and in `make test-all`. Under an emulator, a tenth as often as in
-- `make test`.
function support.rounds(few, all)
  return os.getenv 'EVERYTHING' and all or os.getenv 'EMULATED' and math.floor(few / 10) or few
end

-- The entries of a list for long tests. Under an emulator, which takes ten times as long or more, these are every n-th of
-- them, from the first on. The scripts in tools/platforms set EMULATED.
function support.some(n, list)
  local chosen = {}
  for i = 1, #list, os.getenv 'EMULATED' and n or 1 do
    chosen[#chosen + 1] = list[i]
  end
  return chosen
end

-- Makes a test as `it` does. It is about code that LuaJIT compiles: it runs on Lua 5.1 too, and is skipped on later Luas.
function support.compiled(name, f)
  require('busted').it(name, function()
    if _VERSION ~= 'Lua 5.1' then
      support.skip(f, 'made for the compiled code of LuaJIT')
    end
    f()
  end)
end

-- Makes a test of each entry of a table: its title is `title` with the entry's key for %s, and it calls body(value, key).
function support.cases(title, cases, body)
  local it = require('busted').it
  local names = {}
  for name in pairs(cases) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    it(title:format(name), function()
      body(cases[name], name)
    end)
  end
end

-- The resident memory of this process in bytes (Linux).
function support.resident()
  return tonumber(support.slurp('/proc/self/status'):match 'VmRSS:%s*(%d+)') * 1024
end

-- The number of open descriptors of this process (Linux). It is counted without a child process, whose pipe would count too.
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

-- The number of mappings of this process, or of matches of a pattern in their list (Linux).
function support.mappings(pattern)
  local _, count = support.slurp('/proc/self/maps'):gsub(pattern or '\n', '')
  return count
end

-- Calls f(...), which has to raise a string, and returns that message.
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

-- Calls f(...), which has to raise a string that contains `text`.
function support.fails(text, f, ...)
  local ok, message = pcall(f, ...)
  if ok or type(message) ~= 'string' or not message:find(text, 1, true) then
    error(('expected an error: %s\n  got: %s'):format(text, ok and 'none' or tostring(message)), 2)
  end
end

-- Runs two full collections: the second frees what the finalizers of the first released.
function support.collect()
  collectgarbage()
  collectgarbage()
end

return support
