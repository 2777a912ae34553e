-- Functions of Lua 5.1 that later Luas do not have, for the specs and their child processes. tools/test lets those Luas run this
-- file before anything else, by the environment variable LUA_INIT_5_4 and the like. The library itself is checked by luacheck to
-- use none of them.
unpack = unpack or table.unpack
loadstring = loadstring or load

-- The number of the upvalue that holds the global variables of a function, or nil.
local function environment_of(f)
  for n = 1, 255 do
    local name = debug.getupvalue(f, n)
    if name == '_ENV' or not name then
      return name and n
    end
  end
end

if not setfenv then
  -- The environment is a new upvalue, so that other functions of the same chunk keep theirs.
  function setfenv(f, environment)
    local n = environment_of(f)
    if n then
      debug.upvaluejoin(f, n, function()
        return environment
      end, 1)
    end
    return f
  end

  function getfenv(f)
    local n = type(f) == 'function' and environment_of(f)
    return n and select(2, debug.getupvalue(f, n)) or _G
  end
end

-- Before Lua 5.2, os.execute gives the exit status alone.
if _VERSION ~= 'Lua 5.1' then
  local execute = os.execute
  function os.execute(command)
    local _, what, status = execute(command)
    return what == 'exit' and status or what and 128 + status
  end
end

-- A new userdata. It is a closed file, which had a finalizer from the beginning: Lua would not call one that is set later.
if not newproxy then
  function newproxy(metatable)
    local proxy = assert(io.open '/dev/null')
    proxy:close()
    if metatable == true then
      metatable = {}
    elseif metatable then
      metatable = debug.getmetatable(metatable)
    end
    return debug.setmetatable(proxy, metatable or nil)
  end
end

if _VERSION == 'Lua 5.5' then
  -- Errors in finalizers are not shown, as on Lua 5.4.
  warn '@off'

  -- The options of the collector have other names.
  local collect = collectgarbage
  local parameters = { setpause = 'pause', setstepmul = 'stepmul' }
  function collectgarbage(option, ...)
    if parameters[option] then
      return collect('param', parameters[option], ...)
    end
    return collect(option, ...)
  end

  -- There are no assignments to the variables of a loop. Busted and Penlight have some: their loops get variables of their own.
  table.insert(package.searchers, 2, function(name)
    local theirs = name:find '^pl%.' or name:find '^busted%.'
    local path = theirs and package.searchpath(name, package.path)
    if not path then
      return nil
    end
    local file = assert(io.open(path))
    local source = file:read '*a'
    file:close()
    source = source:gsub('for ([%w_, ]+) in ([^\n]-) do\n', 'for %1 in %2 do local %1 = %1\n')
    return assert(load(source, '@' .. path)), path
  end)
end
