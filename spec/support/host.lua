-- Runs a script in several Lua states at once, each in its own thread, with the program built from spec/support/states.c.
local support = require 'spec.support'

local host = {}

-- The start of every script. State 0 runs after all other states are closed and checks that nothing is left.
local HEAD = [[
if %s then jit.off() end
dofile 'spec/support/lua51.lua'
local torch = require 'torch'

-- Calls f(...), which has to raise a string that contains `fragment`.
local function refuses(fragment, f, ...)
  local ok, message = pcall(f, ...)
  if ok then
    error('an error was expected: ' .. fragment, 2)
  elseif type(message) ~= 'string' or not message:find(fragment, 1, true) then
    error(('expected: %%s\n  got: %%s'):format(fragment, tostring(message)), 2)
  end
end

-- Whole floats may be written with .0, from Lua 5.3 on.
local function equal(expected, got)
  if type(expected) == 'string' and type(got) == 'string' then
    got = got:gsub('(%%d)%%.0%%f[%%D]', '%%1')
  end
  if expected ~= got then
    error(('expected: %%s\n  got: %%s'):format(tostring(expected), tostring(got)), 2)
  end
end

local function collect()
  collectgarbage()
  collectgarbage()
end

local function nothing_held()
  for kind, bytes in pairs(torch.memory()) do
    if bytes ~= 0 then
      error(('%%d bytes of %%s memory are held'):format(bytes, kind), 2)
    end
  end
end

if me == 0 then
  nothing_held()
  for i = 1, count do
    equal(nil, torch.lookup('left ' .. i))
  end
  return print 'all closed, nothing held'
end

]]

local SOUND = 'all closed, nothing held'

-- Runs the script in `count` states at once and returns what they print. The script has to end without an error and without
-- memory left. The environment variable STATES_UNDER may name a command to run the program under, for example valgrind.
function host.run(count, script)
  -- What tools/need puts into .tools/bin starts its children with its own library of LuaJIT, so they run on that.
  local program = (os.getenv 'BUILD' or 'build')
    .. '/states-'
    .. (support.luajit and 'luajit' or _VERSION:lower():gsub(' ', ''))
  if not io.open(program) then
    error(program .. ' is missing: make ' .. program, 2)
  end
  local off = support.luajit and not require('jit').status()
  local name = os.tmpname()
  support.spit(name, HEAD:format(tostring(off)) .. script)
  local command = ("%s %s %d '%s'"):format(os.getenv 'STATES_UNDER' or '', program, count, name)
  local output, status = support.execute(command)
  os.remove(name)
  if status ~= 0 or output:sub(-#SOUND) ~= SOUND then
    error(('status %d: %s'):format(status, output), 2)
  end
  return (output:sub(1, -#SOUND - 1):gsub('\n$', ''))
end

return host
