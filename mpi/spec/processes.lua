-- What happens to the processes of a job: their begin, their end, and their ends by accident. Each test starts jobs of its own.
local jobs = require 'jobs'

local function has(text, output)
  if not output:find(text, 1, true) then
    error(('output with %q expected, got:\n%s'):format(text, output), 2)
  end
end

local function lacks(text, output)
  if output:find(text, 1, true) then
    error(('output without %q expected, got:\n%s'):format(text, output), 2)
  end
end

local function ended(status, output)
  if status ~= 0 then
    error(('exit status 0 expected, got %d. Output:\n%s'):format(status, output), 2)
  end
end

-- The job failed, and it was not `timeout` that ended it.
local function failed(status, output)
  if status == 0 or status == 124 or status == 137 then
    error(('a job that fails by itself expected, got exit status %d. Output:\n%s'):format(status, output), 2)
  end
end

local BEGIN = [[
local mpi = require 'torch.mpi'
local torch = require 'torch'
local world = mpi.world
local rank, size = world:rank(), world:size()
]]

return function(interpreter)
  local tests = {}

  local function test(name, body)
    tests[#tests + 1] = { name = name, body = body }
  end

  local function run(text, more)
    return jobs.lua(interpreter, more and more.ranks or 2, BEGIN .. text, more)
  end

  test('a job that ends well', function()
    local output, status = run "world:barrier() print('rank ' .. rank .. ' of ' .. size)"
    ended(status, output)
    has('rank 0 of 2', output)
    has('rank 1 of 2', output)
  end)

  -- Rule 3.
  test('an error on one rank ends the others', function()
    local output, status = run "if rank == 1 then error 'this rank fails' end world:recv(torch.IntStorage(1))"
    failed(status, output)
    has('this rank fails', output)
  end)

  test('an error on one rank ends a rank that waits at its end', function()
    local output, status = run "if rank == 1 then os.execute 'sleep 1' error 'this rank fails' end"
    failed(status, output)
  end)

  test('os.exit(3) ends the others', function()
    local output, status = run 'if rank == 1 then os.exit(3) end world:barrier()'
    failed(status, output)
    if status ~= 3 then
      error('exit status 3 expected, got ' .. status)
    end
  end)

  test('os.exit(0) ends well, and does not close the state', function()
    local output, status = run "world:barrier() io.write('text ' .. rank .. '\\n') os.exit(0)"
    ended(status, output)
    has('text 0', output)
    has('text 1', output)
  end)

  test('abort ends all ranks, and what was printed is not lost', function()
    local output, status =
      run "io.stdout:setvbuf 'full' io.write 'printed' if rank == 1 then world:abort(5) end world:barrier()"
    if status ~= 5 then
      error('exit status 5 expected, got ' .. status .. '\n' .. output)
    end
    has('printed', output)
  end)

  test('mpi.main ends all ranks after an error', function()
    local output, status = run [[
      assert(select('#', mpi.main(function(...) return ... end, 1, nil, 3)) == 3)
      print(pcall(mpi.main, 4))
      mpi.main(function() if rank == 1 then error 'this rank fails' end world:barrier() end)]]
    failed(status, output)
    has('torch.mpi: rank 1: ', output)
    has('this rank fails', output)
    has('stack traceback', output)
    has('a function expected, got number', output)
  end)

  test('a killed rank ends the others', function()
    local output, status = run [[
      local file = io.open '/proc/self/stat'
      local process = file:read '*a':match '%d+'
      if rank == 1 then os.execute('kill -9 ' .. process) end
      world:recv(torch.IntStorage(1))]]
    if status == 124 then
      error('the job did not end:\n' .. output)
    end
    assert(status ~= 0, output)
  end)

  -- The end.
  test('calls after mpi.finalize are errors', function()
    local output, status = run [[
      local request = world:irecv(torch.IntStorage(1))
      mpi.finalize()
      print(pcall(world.barrier, world))
      print(pcall(world.send, world, torch.IntStorage(1), 0))
      print(pcall(mpi.finalize))
      print(select(2, pcall(request.wait, request)))
      print(world:rank())]]
    ended(status, output)
    has('MPI has ended: mpi.finalize() was called', output)
  end)

  test('a message whose request nobody keeps arrives before the end', function()
    local output, status = run [[
      if rank == 0 then
        world:isend(torch.IntStorage(1000000):fill(7), 1)
      else
        os.execute 'sleep 0.5'
        local got = torch.IntStorage(1000000)
        world:recv(got)
        print('got ' .. got[1000000])
      end]]
    ended(status, output)
    has('got 7', output)
  end)

  test('a message that nobody receives is an error at the end, and no hang', function()
    local output, status = run 'if rank == 0 then world:isend(torch.IntStorage(1000000), 1) end'
    failed(status, output)
    has('messages that rank 0 sends were never received: 1', output)
  end)

  test('a receive that gets no message ends well', function()
    local output, status = run 'kept = world:irecv(torch.IntStorage(1))'
    ended(status, output)
  end)

  -- Rule 4.
  test('a child made by fork cannot use MPI, and its end does no harm', function()
    local output, status = run [[
      local host = require 'mpi_host'
      local request = world:irecv(torch.IntStorage(1), 1 - rank)
      local child = host.fork()
      if child == 0 then
        print(pcall(world.barrier, world))
        print(pcall(request.test, request))
        request = nil
        collectgarbage()
        os.exit(rank == 0 and 0 or 4)
      end
      assert(host.wait(child) == (rank == 0 and 0 or 4))
      world:barrier()
      world:send(torch.IntStorage { 5 }, 1 - rank)
      assert(request:wait() == 1)
      print 'fine']]
    ended(status, output)
    has('MPI does not work in a child made by fork', output)
    has('fine', output)
    lacks('true', output)
  end)

  test('os.execute and io.popen work', function()
    local output, status = run [[
      assert(os.execute 'true')
      local pipe = io.popen 'echo from a child'
      assert(pipe:read '*l' == 'from a child')
      pipe:close()
      world:barrier()]]
    ended(status, output)
  end)

  -- Rule 6.
  test('without mpirun a program is rank 0 of 1', function()
    local output, status = jobs.alone(interpreter, BEGIN .. [[
      assert(rank == 0 and size == 1)
      local s = torch.IntStorage { 4 }
      world:allreduce(s, 'sum')
      world:bcast(s)
      world:barrier()
      local t = torch.IntStorage(1)
      world:sendrecv(s, 0, t, 0)
      assert(t[1] == 4)
      print 'fine']])
    ended(status, output)
    has('fine', output)
  end)

  test('the mpirun of another MPI is an error', function()
    -- A variable of the other one; MPI itself reads its own.
    local variable = os.getenv 'MPI' == 'mpich' and 'OMPI_COMM_WORLD_SIZE=2 ' or 'PMI_SIZE=2 '
    local output, status = jobs.alone(interpreter, BEGIN .. "print 'began'", variable)
    assert(status ~= 0, output)
    has('by the mpirun of another MPI', output)
    lacks('began', output)
    local other = os.getenv 'MPI' == 'mpich' and 'mpirun.openmpi' or 'mpirun.mpich'
    if jobs.shell('command -v ' .. other) ~= '' then
      output, status = run("print 'began'", { mpirun = other })
      assert(status ~= 0, output)
      has('by the mpirun of another MPI', output)
      lacks('began', output)
    end
  end)

  -- Rule 3, the last sentence, and rule 9.
  test('two states of a process share one MPI', function()
    local output, status = run [[
      local host = require 'mpi_host'
      local said = host.state("local mpi = require 'torch.mpi' local torch = require 'torch' " ..
        "local s = torch.IntStorage { mpi.world:rank() + 1 } mpi.world:allreduce(s, 'sum') " ..
        "kept = mpi.world:isend(torch.IntStorage { 6 }, 1 - mpi.world:rank()) return 'sum ' .. s[1]")
      print(said)
      -- That state is closed now. Its message arrives, and MPI goes on.
      local got = torch.IntStorage(1)
      world:recv(got, 1 - rank)
      print('got ' .. got[1])
      world:barrier()]]
    ended(status, output)
    has('sum 3', output)
    has('got 6', output)
  end)

  test('another thread cannot use MPI', function()
    local output, status = run [[
      local host = require 'mpi_host'
      print(host.thread "require 'torch.mpi'")
      assert(host.level() == 1)
      world:barrier()]]
    ended(status, output)
    has('MPI runs in another thread of this process', output)
  end)

  -- Rule 7.
  test('errors of MPI are strings with its text', function()
    local output, status = run [[
      -- Without the agreement MPI itself finds that a message is too long.
      mpi.check(false)
      local s = torch.IntStorage(1000)
      local works, why = pcall(world.bcast, world, torch.IntStorage(s, 1, rank == 0 and 10 or 5))
      if rank == 1 then
        assert(not works and type(why) == 'string')
        print(why)
      end]]
    ended(status, output)
    has('truncated', output)
  end)

  -- The examples, with mpirun and without. There is no difference but the number of ranks.
  local function example(command, ranks)
    if ranks then
      return jobs.run { ranks = ranks, command = interpreter .. ' ' .. command }
    end
    return jobs.shell(('timeout -k 5 60 %s %s'):format(interpreter, command))
  end

  -- The interpreter writes and reads the files: this process may be of another Lua, which cannot load its library.
  local function files(text, ...)
    local output, status = jobs.alone(interpreter, "local torch = require 'torch'\n" .. text:format(...))
    ended(status, output)
  end

  test('examples/mpi_sum.lua', function()
    local name = os.tmpname()
    files('local s = torch.DoubleStorage(%q, true, 1001) for i = 1, #s do s[i] = i end', name)
    for _, ranks in ipairs { 1, 2, 3 } do
      local output, status = example('examples/mpi_sum.lua ' .. name, ranks > 1 and ranks)
      ended(status, output)
      has(('1001 numbers, %d ranks, sum 501501'):format(ranks), output)
    end
    local output, status = example('examples/mpi_sum.lua ' .. name .. '.missing', 2)
    failed(status, output)
    has('No such file or directory', output)
    os.remove(name)
  end)

  test('examples/mpi_average.lua', function()
    local directory = jobs.directory()
    local names = ''
    for n = 1, 4 do
      local name = ('%s/%d.safetensors'):format(directory, n)
      names = names .. ' ' .. name
      files(
        [[
          local n = %d
          torch.safetensors.save(%q, {
            weight = torch.FloatTensor(2, 3):fill(n),
            half = torch.HalfTensor(4):fill(2 * n),
            steps = torch.LongTensor(2):fill(7),
          })]],
        n,
        name
      )
    end
    for _, ranks in ipairs { 1, 2, 4 } do
      local target = directory .. '/average.safetensors'
      local output, status = example(('examples/mpi_average.lua %s%s'):format(target, names), ranks > 1 and ranks)
      ended(status, output)
      has(('the average of 4 files, 2 tensors, %d ranks'):format(ranks), output)
      files(
        [[
          local average = torch.safetensors.load(%q)
          assert(average.weight:get(2, 3) == 2.5 and torch.type(average.weight) == 'torch.FloatTensor')
          assert(average.half:get(4) == 5 and torch.type(average.half) == 'torch.HalfTensor')
          assert(average.steps:get(2) == 7)]],
        target
      )
      os.remove(target)
    end
    os.execute(("rm -rf '%s'"):format(directory))
  end)

  -- The rocks are built for the MPI library that `make` takes by default.
  local version = jobs.shell(interpreter .. [[ -e 'print((_VERSION:match "[%d.]+"))']])
  if os.getenv 'MPI' ~= 'mpich' and version ~= '5.5' then
    test('the rocks of torch-storage and torch-mpi, with nothing else on the paths', function()
      local directory = jobs.directory()
      local tree = directory .. '/tree'
      for _, rockspec in ipairs { 'torch-storage-dev-1.rockspec', 'mpi/torch-mpi-dev-1.rockspec' } do
        local command = 'unset MAKEFLAGS; timeout -k 5 900 luarocks --lua-version=%s --tree %s make --no-doc %s'
        local output, status = jobs.shell(command:format(version, tree, rockspec))
        ended(status, output)
      end
      local share, lib = tree .. '/share/lua/' .. version, ("'%s/lib/lua/%s/?.so'"):format(tree, version)
      local environment = ("LUA_PATH='%s/?.lua;%s/?/init.lua' LUA_CPATH=%s LUA_CPATH_%s=%s"):format(
        share,
        share,
        lib,
        (version:gsub('%.', '_')),
        lib
      )
      local output, status = run(
        [[
          local s = torch.DoubleTensor(2, 2):fill(rank + 1)
          world:allreduce(s, 'sum')
          print(('rank %d of %d: %g'):format(rank, size, s:get(2, 2)))]],
        { environment = environment }
      )
      ended(status, output)
      has('rank 0 of 2: 3', output)
      has('rank 1 of 2: 3', output)
      os.execute(("rm -rf '%s'"):format(directory))
    end)
  end

  return tests
end
