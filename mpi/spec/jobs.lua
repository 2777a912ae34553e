-- Jobs of mpirun: what starts them, and what they return.
local jobs = {}

local MPIRUN = os.getenv 'MPIRUN' or 'mpirun'

-- Open MPI refuses to start more ranks than there are processors, and to run as root. MPICH takes no notice of these.
local ENVIRONMENT = 'OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 '
  .. 'OMPI_MCA_mpi_yield_when_idle=1 '
  .. 'LUA_PATH=\'mpi/spec/?.lua;\'"$LUA_PATH" '

function jobs.directory()
  local pipe = assert(io.popen 'mktemp -d')
  local name = pipe:read '*l'
  pipe:close()
  return name
end

function jobs.time()
  local pipe = assert(io.popen 'date +%s.%N')
  local text = pipe:read '*l'
  pipe:close()
  return tonumber(text)
end

-- Writes a file in a directory of its own, and returns its name.
function jobs.file(text)
  local name = os.tmpname()
  local file = assert(io.open(name, 'w'))
  file:write(text)
  file:close()
  return name
end

-- Runs a shell command. Returns its output, both streams, its exit status, and how many seconds it took.
function jobs.shell(command)
  local start = jobs.time()
  local pipe = assert(io.popen(('{ %s\n} 2>&1 </dev/null; echo "status:$?"'):format(command)))
  local output, status = pipe:read('*a'):match '^(.-)\n?status:(%d+)\n$'
  pipe:close()
  return output, tonumber(status), jobs.time() - start
end

-- Runs a command on some ranks: { ranks, command, environment, limit, mpirun }. A job that hangs is ended, with status 124 or
-- 137.
function jobs.run(job)
  local start = ('%s %s timeout -k 5 %d %s -n %d '):format(
    ENVIRONMENT,
    job.environment or '',
    job.limit or 60,
    job.mpirun or MPIRUN,
    job.ranks
  )
  return jobs.shell(start .. job.command)
end

-- The same for a text in Lua.
function jobs.lua(interpreter, ranks, text, more)
  local name = jobs.file(text)
  local job = { ranks = ranks, command = ('%s %s'):format(interpreter, name) }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  local output, status, seconds = jobs.run(job)
  os.remove(name)
  return output, status, seconds
end

-- Without mpirun.
function jobs.alone(interpreter, text, environment)
  local name = jobs.file(text)
  local output, status =
    jobs.shell(('%s timeout -k 5 60 %s %s'):format(ENVIRONMENT .. (environment or ''), interpreter, name))
  os.remove(name)
  return output, status
end

return jobs
