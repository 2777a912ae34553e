-- Runs the sections of a benchmark after it has printed what machine and interpreter they run on. It also begins the file for the
-- figures (bench/tsv.lua).
require 'spec.support.lua51' -- the functions of Lua 5.1 that the benchmarks use
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local jit = rawget(_G, 'jit')

local function interpreter()
  return jit and ('%s on %s, JIT %s'):format(jit.version, jit.arch, jit.status() and 'on' or 'off') or _VERSION
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
  print(tsv.processor())
  print(('Accessors: %s'):format(torch.accessors()))
  tsv.open(('%s, %s, accessors %s'):format(interpreter(), tostring(torch), torch.accessors()))
  for _, section in ipairs(found) do
    section()
  end
end
