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
      error(
        ('%s: element %d: %s expected, got %s'):format(what or 'elements', i, tostring(expected[i]), tostring(flat[i])),
        2
      )
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

-- The numbers of `ranks.number` repeat after so many.
local PERIOD = 14
local LONGEST = 300000
local patterns = {}

-- A long storage whose element i is number i.
local function pattern(class)
  if not patterns[class] then
    local s = ranks.storage(class, LONGEST)
    local numbers = class == 'Untyped' and s:view 'torch.ByteStorage' or s
    for i = 1, PERIOD do
      numbers[i] = ranks.number(class, i)
    end
    local done = PERIOD
    while done < LONGEST do
      local more = math.min(done, LONGEST - done)
      ranks.storage(class, s, done + 1, more):copy(ranks.storage(class, s, 1, more))
      done = done + more
    end
    patterns[class] = s
  end
  return patterns[class]
end

-- A storage whose element i is number i + seed.
function ranks.filled(class, size, seed)
  if size == 0 then
    return ranks.storage(class, 0)
  end
  return ranks.storage(class, pattern(class), seed % PERIOD + 1, size):clone()
end

-- Two storages have the same bytes.
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
