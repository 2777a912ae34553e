-- What the specs of torch.mpi share. Each spec file runs on every rank: mpirun starts it, and each rank writes what it has found
-- into a file of its own, which run.lua compares. So a test passes if it passes on all ranks.
local mpi = require 'torch.mpi'
local torch = require 'torch'

local ranks = { mpi = mpi, torch = torch, world = mpi.world, rank = mpi.world:rank(), size = mpi.world:size() }

local report = assert(io.open(('%s/%d'):format(assert(os.getenv 'TORCH_MPI_REPORT'), ranks.rank), 'w'))
report:setvbuf 'line'

-- Runs a test. The others wait for this rank, also after an error.
function ranks.test(name, body)
  report:write('begin\t', name, '\n')
  local works, why = xpcall(body, debug.traceback)
  report:write(works and 'ok\t' or 'not ok\t', name, works and '' or '\t' .. tostring(why):gsub('\n', '\\n'), '\n')
end

-- The last line of a file: without it, the file did not run to its end.
function ranks.done()
  report:write 'done\n'
  report:close()
end

function ranks.equal(expected, got, what)
  if expected ~= got then
    error(('%s: %s expected, got %s'):format(what or 'value', tostring(expected), tostring(got)), 2)
  end
end

-- The function fails, and its error contains the text.
function ranks.raises(text, body, ...)
  local works, why = pcall(body, ...)
  if works then
    error(('an error with %q expected'):format(text), 2)
  end
  if not tostring(why):find(text, 1, true) then
    error(('an error with %q expected, got %q'):format(text, tostring(why)), 2)
  end
end

-- All elements of a storage or tensor are those of the table.
function ranks.elements(expected, s, what)
  local flat = torch.isStorage(s) and s or s:storage()
  ranks.equal(#expected, #flat, (what or 'elements') .. ', size')
  for i = 1, #expected do
    if flat[i] ~= expected[i] then
      error(('%s: element %d: %s expected, got %s'):format(what or 'elements', i, tostring(expected[i]), tostring(flat[i])), 2)
    end
  end
end

-- The classes of storages: 'Float' for torch.FloatStorage.
ranks.classes, ranks.kind = {}, {}
for _, entry in ipairs(require('torch.core').classes) do
  table.insert(ranks.classes, entry.element)
  ranks.kind[entry.element] = entry.kind
end

function ranks.storage(class, ...)
  return torch[class .. 'Storage'](...)
end

-- Small numbers that every class has: 1 for Bool, whose elements are 0 and 1, and bytes for Untyped.
function ranks.number(class, n)
  return class == 'Bool' and n % 2 or n % 7 + 1
end

-- A storage whose elements follow from a seed.
function ranks.filled(class, size, seed)
  local s = ranks.storage(class, size)
  local bytes = class == 'Untyped' and s:view 'torch.ByteStorage'
  for i = 1, size do
    (bytes or s)[i] = ranks.number(class, i + seed)
  end
  return s
end

-- What `filled` gives, as numbers, read from a storage of this process: computed without MPI.
function ranks.same(s, other, what)
  if not torch.isStorage(s) or s:string() ~= other:string() then
    error((what or 'elements') .. ' differ', 2)
  end
end

local function read(name)
  local file = assert(io.open(name))
  local text = file:read '*a'
  file:close()
  return text
end

-- Memory that this process holds, in kilobytes, and its descriptors.
function ranks.resident()
  return tonumber(read('/proc/self/status'):match 'VmRSS:%s*(%d+)')
end

function ranks.descriptors()
  local pipe = io.popen('ls /proc/' .. ranks.process() .. '/fd | wc -l')
  local count = tonumber(pipe:read '*a')
  pipe:close()
  return count
end

function ranks.process()
  return read('/proc/self/stat'):match '^%d+'
end

return ranks
