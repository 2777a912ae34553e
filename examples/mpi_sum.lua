-- Sums the numbers of a file on several machines: each rank maps a part of the file and adds up its numbers, and MPI adds up the
-- sums. No rank reads what others read, and the file may be larger than memory.
local HELP = [[
mpi_sum.lua FILE [TYPE] adds up the numbers of a file on several machines: mpirun -n 4 luajit examples/mpi_sum.lua FILE
Without mpirun one process does all of it.

  FILE  a file of nothing but numbers, in the byte order of this machine
  TYPE  their type, such as Float or Int (Double)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'
local mpi = require 'torch.mpi'

local function sum_part(name, class, world)
  local Storage = torch[class .. 'Storage']
  local file = assert(io.open(name, 'rb'))
  local size = math.floor(file:seek 'end' / Storage.elementSize())
  file:close()

  -- Rank r has the elements after the first `r/ranks` of the file.
  local rank, ranks = world:rank(), world:size()
  local first, last = math.floor(size * rank / ranks), math.floor(size * (rank + 1) / ranks)
  if first == last then
    return 0, 0
  end
  local numbers = Storage {
    filename = name,
    offset = first * Storage.elementSize(),
    size = last - first,
    readonly = true,
    advise = 'sequential',
  }
  local sum = 0
  for i = 1, #numbers do
    sum = sum + numbers[i]
  end
  return sum, #numbers
end

local function main()
  local name, class = arg[1], arg[2] or 'Double'
  if not name or not torch[class .. 'Storage'] then
    error('give a file and a type such as Double, or --help', 0)
  end
  local world = mpi.world
  local sum, count = sum_part(name, class, world)
  local both = torch.DoubleStorage { sum, count }
  world:reduce(both, 'sum', 0)
  if world:rank() == 0 then
    print(('%d numbers, %d ranks, sum %.17g'):format(both[2], world:size(), both[1]))
  end
end

-- An error on one rank ends the others too.
mpi.main(main)
