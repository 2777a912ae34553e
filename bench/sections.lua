-- The sections of a benchmark: all of them, or the one that the command line names, below the machine they are measured on.
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

-- Runs the sections in order, each { name, function }; if the command line names one, only that.
return function(sections)
  local only, found, names = arg[1], {}, {}
  for _, section in ipairs(sections) do
    names[#names + 1] = section[1]
    if not only or only == section[1] then
      found[#found + 1] = section[2]
    end
  end
  if #found == 0 then
    io.stderr:write(('no section %s: there are %s\n'):format(only, table.concat(names, ', ')))
    os.exit(1)
  end
  print(interpreter())
  print(processor())
  print(('Accessors: %s'):format(torch.accessors()))
  for _, section in ipairs(found) do
    section()
  end
end
