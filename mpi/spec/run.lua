-- Runs the specs of torch.mpi and counts them: luajit mpi/spec/run.lua INTERPRETER...
--
-- Files *_ranks.lua run on every rank, started by mpirun. Each rank writes what it found into a file of its own, and a test
-- passes if it passes on all ranks. What mpirun itself prints or returns does not count, because mpirun can fail after all ranks
-- have ended well. processes.lua has tests that start jobs of their own, for example to kill a rank, and examples.lua runs the
-- examples of docs/api-mpi.md.
--
-- Environment: MPIRUN, RANKS ('2 3 4'), SPECS (files), LIMIT (seconds for a file), LARGE (also messages of more than 2 GB).
-- The last line is `N passed, N failed`.
package.path = 'mpi/spec/?.lua;' .. package.path
local jobs = require 'jobs'

local passed, failed, failures = 0, 0, {}

local function fail(name, why)
  failed = failed + 1
  failures[#failures + 1] = ('%s: %s'):format(name, (why:gsub('\\n', '\n    ')))
end

local function split(text)
  local words = {}
  for word in (text or ''):gmatch '%S+' do
    words[#words + 1] = word
  end
  return words
end

-- What the ranks have written: the tests in their order, and for each test the ranks that passed it.
local function read_reports(directory, ranks)
  local order, reports, complete = {}, {}, 0
  for rank = 0, ranks - 1 do
    local file = io.open(('%s/%d'):format(directory, rank))
    local open
    for line in file and file:lines() or function() end do
      local word, name, why = line:match '^([^\t]*)\t?([^\t]*)\t?(.*)$'
      if word == 'done' then
        complete = complete + 1
      elseif word == 'begin' then
        if not reports[name] then
          reports[name] = { passed = 0, failures = {} }
          order[#order + 1] = name
        end
        open = name
      else
        open = nil
        local report = reports[name]
        if word == 'ok' then
          report.passed = report.passed + 1
        else
          table.insert(report.failures, ('rank %d: %s'):format(rank, why))
        end
      end
    end
    if open then
      table.insert(reports[open].failures, ('rank %d did not come to the end of it'):format(rank))
    end
    if file then
      file:close()
    end
  end
  return order, reports, complete
end

local function run_file(spec, interpreter, ranks)
  local directory = jobs.directory()
  local output, _, seconds = jobs.run {
    ranks = ranks,
    command = ('%s %s'):format(interpreter, spec),
    environment = ("TORCH_MPI_REPORT='%s'"):format(directory),
    limit = tonumber(os.getenv 'LIMIT') or 200,
  }
  local order, reports, complete = read_reports(directory, ranks)
  os.execute(("rm -rf '%s'"):format(directory))
  local title = ('%s, %d ranks, %s'):format(interpreter, ranks, spec)
  local good = 0
  for _, name in ipairs(order) do
    local report = reports[name]
    if report.passed == ranks then
      good = good + 1
    else
      fail(
        title .. ', ' .. name,
        table.concat(report.failures, '\n    ') .. (' (%d of %d ranks passed it)'):format(report.passed, ranks)
      )
    end
  end
  passed = passed + good
  if complete < ranks then
    fail(title, ('%d of %d ranks came to the end. Output:\n%s'):format(complete, ranks, output))
  end
  print(('%s: %d of %d tests passed, %.1f seconds'):format(title, good, #order, seconds))
  io.stdout:flush()
end

local function run_jobs(name, interpreter)
  local tests = require(name)(interpreter)
  local start, good = jobs.time(), 0
  for _, test in ipairs(tests) do
    local works, why = xpcall(test.body, debug.traceback)
    if works then
      good = good + 1
    else
      fail(('%s, %s'):format(interpreter, test.name), tostring(why))
    end
  end
  passed = passed + good
  print(
    ('%s, mpi/spec/%s.lua: %d of %d tests passed, %.1f seconds'):format(
      interpreter,
      name,
      good,
      #tests,
      jobs.time() - start
    )
  )
end

local specs = split(os.getenv 'SPECS')
local all = #specs == 0
if all then
  for _, name in ipairs { 'point', 'collective', 'random' } do
    specs[#specs + 1] = ('mpi/spec/%s_ranks.lua'):format(name)
  end
  if os.getenv 'LARGE' then
    specs[#specs + 1] = 'mpi/spec/large_ranks.lua'
  end
end

for _, interpreter in ipairs(arg) do
  for _, ranks in ipairs(split(os.getenv 'RANKS' or '2')) do
    for _, spec in ipairs(specs) do
      if spec:find '_ranks.lua$' then
        run_file(spec, interpreter, tonumber(ranks))
      end
    end
  end
  for _, name in ipairs { 'processes', 'examples' } do
    if all or table.concat(specs, ' '):find(name .. '.lua', 1, true) then
      run_jobs(name, interpreter)
    end
  end
end

if #failures > 0 then
  print '\nFailed:'
  for _, failure in ipairs(failures) do
    print('  ' .. failure)
  end
end
print(('\n%d passed, %d failed'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
