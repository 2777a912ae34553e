-- Compiles modules in C for the interpreter that runs the specs, with include/torch_storage.h.
local support = require 'spec.support'

local c_module = {}

-- The directory of the interpreter's lua.h, or nil. The headers of LuaJIT 2.1 serve all its versions.
function c_module.headers()
  local version = _VERSION:match '%d+%.%d+'
  local places = {
    '/usr/include/lua' .. version,
    '/usr/local/include/lua' .. version,
    support.sh 'pwd' .. '/.tools/lua' .. version .. '/include',
  }
  if support.luajit then
    places = { '/usr/include/luajit-2.1', '/usr/local/include/luajit-2.1' }
  end
  for _, directory in ipairs(places) do
    local file = io.open(directory .. '/lua.h')
    if file then
      file:close()
      return directory
    end
  end
end

-- Why modules cannot be compiled for this interpreter, or nil.
function c_module.missing()
  if not c_module.headers() then
    return 'lua.h of ' .. (support.luajit and 'LuaJIT' or _VERSION) .. ' is missing'
  elseif support.sh 'command -v cc' == '' then
    return 'a C compiler is missing'
  end
end

c_module.STRICT = '-Wall -Wextra -Werror -pedantic'

-- Compiles a file to `target`, a library that `require` loads. `options` are more options of the compiler, and `command` is the
-- compiler with the standard. Returns the messages of the compiler, and its exit status.
function c_module.compile(source, target, options, command)
  local line = '%s %s -O2 -g -fPIC -shared -pthread %s -Iinclude -I%s -o %s %s'
  return support.execute(
    line:format(command or 'cc -std=c99', c_module.STRICT, options or '', c_module.headers(), target, source)
  )
end

-- Compiles a file as `compile` does, and returns the function that opens the module `name`.
function c_module.open(source, name, target, options)
  local messages, status = c_module.compile(source, target, options)
  if status ~= 0 then
    error(messages, 2)
  end
  return assert(package.loadlib(target, 'luaopen_' .. name))
end

-- The module of the benchmark bench/NAME.c. If it cannot be compiled here, this says why and ends the program.
function c_module.of_benchmark(name)
  local missing = c_module.missing()
  if missing then
    print(missing)
    os.exit()
  end
  local target = os.tmpname()
  local open = c_module.open(('bench/%s.c'):format(name), name, target)
  os.remove(target)
  return open()
end

return c_module
