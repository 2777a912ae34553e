-- Runs the sections of a benchmark after it has printed what machine and interpreter they run on.
require 'spec.support.lua51' -- the functions of Lua 5.1 that the benchmarks use
local torch = require 'torch.storage'
local jit = rawget(_G, 'jit')

local function interpreter()
  return jit and ('%s on %s, JIT %s'):format(jit.version, jit.arch, jit.status() and 'on' or 'off') or _VERSION
end

local function processor()
  local file = io.open '/proc/cpuinfo'
  local text = file and file:read '*a' or ''
  if file then
    file:close()
  end
  return text:match 'model name%s*:%s*([^\n]+)' or 'unknown processor'
end

-- Runs the sections in order, each { name, function }. If the command line names one, only that one runs.
return function(sections)
  local only, found, names = arg[1], {}, {}
  for _, section in ipairs(sections) do
    names[#names + 1] = section[1]
    if not only or only == section[1] then
      found[#found + 1] = section[2]
    end
  end
  if #found == 0 then
    io.stderr:write(('there is no section %s; the sections are %s\n'):format(only, table.concat(names, ', ')))
    os.exit(1)
  end
  print(interpreter())
  print(processor())
  print(('Accessors: %s'):format(torch.accessors()))
  for _, section in ipairs(found) do
    section()
  end
end
