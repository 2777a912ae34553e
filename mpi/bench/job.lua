-- The benchmark of torch.mpi, which does what plain.c does: job.lua WHAT BYTES REPEATS ROUNDS CHECK. With CHECK `off`, the ranks
-- do not agree before a collective.
local mpi = require 'torch.mpi'
local torch = require 'torch'

local what, bytes, repeats, rounds = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
mpi.check(arg[5] ~= 'off')
local world = mpi.world
local rank = world:rank()
local data = torch.FloatStorage(bytes / 4):fill(0)
local best = math.huge

for _ = 1, rounds do
  world:barrier()
  local start = mpi.time()
  if what == 'allreduce' then
    for _ = 1, repeats do
      world:allreduce(data, 'sum')
    end
  elseif rank == 0 then
    for _ = 1, repeats do
      world:send(data, 1)
      world:recv(data, 1)
    end
  elseif rank == 1 then
    for _ = 1, repeats do
      world:recv(data, 0)
      world:send(data, 0)
    end
  end
  best = math.min(best, (mpi.time() - start) / repeats / (what == 'allreduce' and 1 or 2))
end
if rank == 0 then
  print(('%.9g'):format(best))
end
