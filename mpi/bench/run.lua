-- Compares torch.mpi with the same program in C: luajit mpi/bench/run.lua MPIRUN [ROUNDS]. Jobs of both run alternately, and each
-- figure is the least of all rounds. The last column shows what the agreement before a collective costs.
package.path = 'mpi/spec/?.lua;' .. package.path
local jobs = require 'jobs'

local mpirun, rounds = arg[1] or 'mpirun', tonumber(arg[2] or 5)
local MB = 2 ^ 20

local function measure(command)
  local output, status = jobs.run {
    ranks = 2,
    mpirun = mpirun,
    command = command,
    limit = 200,
    environment = 'OMPI_MCA_mpi_yield_when_idle=0',
  }
  return tonumber(output:match '[%d.e-]+%s*$') or error(('%s: exit status %d\n%s'):format(command, status, output))
end

-- Short rounds and many of them, so that some fall into moments in which nothing else runs.
local function repeats(bytes)
  local count = math.max(1, math.min(200, math.floor(4 * MB / bytes)))
  return count, math.max(4, math.min(500, math.floor(512 * MB / bytes / count)))
end

print 'what\tbytes\tC, us\ttorch.mpi, us\tdifference, us\tC/torch.mpi\tMB/s\twithout agreement, us'
for _, what in ipairs { 'message', 'allreduce' } do
  for _, bytes in ipairs { 8, 64, 1024, 8192, 65536, MB, 16 * MB, 256 * MB } do
    local best = { math.huge, math.huge, math.huge }
    for _ = 1, rounds do
      local task = ('%s %d %d %d'):format(what, bytes, repeats(bytes))
      best[1] = math.min(best[1], measure('build/mpi_bench ' .. task))
      best[2] = math.min(best[2], measure('luajit mpi/bench/job.lua ' .. task .. ' on'))
      if what == 'allreduce' then
        best[3] = math.min(best[3], measure('luajit mpi/bench/job.lua ' .. task .. ' off'))
      end
    end
    local c, ours, unchecked = best[1] * 1e6, best[2] * 1e6, best[3] * 1e6
    local last = unchecked < math.huge and ('%.2f'):format(unchecked) or ''
    print(
      ('%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%s'):format(
        what,
        bytes,
        c,
        ours,
        ours - c,
        c / ours,
        bytes / ours * 1e6 / MB,
        last
      )
    )
    io.stdout:flush()
  end
end
