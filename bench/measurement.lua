-- Measures loops next to a reference, and judges the ratios by the project's goals.
--
-- Every line has a reference that is measured in the same rounds, alternating with it, so that a change of the machine's
-- speed affects both. `min` and `median` are nanoseconds per element or call, `reference` is the median of the reference, and
-- `ratio` is the median of the ratios of the rounds. If the project has a goal for the ratio, it follows, with whether it is
-- met. If TSV is set, the figures go to a file, too (bench/tsv.lua). What follows ` : ` in the name of a case, or else in the
-- heading, is the name of its reference.
local tsv = require 'bench.tsv'
local jit = rawget(_G, 'jit')
local ROUNDS = 7
local ROUND_SECONDS = 0.005

local measurement = {}
local verdicts = { ok = 0, missed = {} }

-- Every measured loop is compiled from its own text, so that LuaJIT specialises it to its values, as in a program that does one
-- thing. `n` counts the passes, and `a` to `d` are the values that the loop works on.
function measurement.compile(body, ...)
  local text = 'local a, b, c, d = ... return function(n) local sum = 0 ' .. body .. ' return sum end'
  return assert(loadstring(text))(...)
end

-- Processor time per pass, in nanoseconds.
local function time(run, n)
  local started = os.clock()
  run(n)
  return (os.clock() - started) / n * 1e9
end

-- Warms up, and returns the number of passes that fill about one round.
local function passes(run)
  local n, round = 1, ROUND_SECONDS * 1e9
  while time(run, n) * n < round / 4 do
    n = n * 2
  end
  return math.max(1, math.floor(round / math.max(time(run, n), 1)))
end

local function median(times)
  table.sort(times)
  return times[math.floor(#times / 2) + 1]
end

local function judge(name, ratio, goal)
  if ratio <= goal then
    verdicts.ok = verdicts.ok + 1
    return ('<= %.2f ok'):format(goal)
  end
  table.insert(verdicts.missed, ('%s: %.2f, goal %.2f'):format(name, ratio, goal))
  return ('<= %.2f MISSED'):format(goal)
end

-- Writes a measured line to the file. Its times are sorted.
local section_title
local function write_row(case, times, references, ratio)
  local name, reference = case.name:match '^(.-) : (.+)$'
  local section = section_title
  if not name then
    name = case.name
    section, reference = section_title:match '^(.-) : (.+)$'
  end
  local middle, unit = median(times), (case.unit or 1) > 1 and 'ns/element' or 'ns/call'
  local row = { section = section or section_title, case = name, unit = unit, min = times[1], median = middle }
  row.reference, row.reference_min, row.reference_median = reference, references[1], median(references)
  row.ratio = ratio
  tsv.row(row)
  if case.original then
    row.reference, row.reference_min, row.reference_median = 'Torch7, recorded', case.original, nil
    row.ratio = middle / case.original
    tsv.row(row)
  end
end

-- Measures one line. A case has `name`; `run` and `reference`, functions of n; `unit`, the elements of a pass; `n`, the
-- passes of a round (without it, they are determined); `goal` for the ratio; `original`, Torch7's figure, and
-- `goal_of_original` for the ratio to it.
function measurement.measure(case)
  if jit then
    jit.flush() -- traces of other cases must neither be used here nor fill the area for machine code
  end
  collectgarbage()
  local unit = case.unit or 1
  local n, n_reference = case.n, case.n
  if n then
    time(case.run, n)
    time(case.reference, n)
  else
    n, n_reference = passes(case.run), passes(case.reference)
  end
  local times, references, ratios = {}, {}, {}
  for round = 1, ROUNDS do
    times[round] = time(case.run, n) / unit
    references[round] = time(case.reference, n_reference) / unit
    ratios[round] = times[round] / references[round]
  end
  local middle, ratio = median(times), median(ratios)
  local line = ('  %-38s %9.3f %9.3f %9.3f %8.3f'):format(case.name, times[1], middle, median(references), ratio)
  write_row(case, times, references, ratio)
  local full_name = section_title .. ', ' .. case.name
  if case.goal then
    line = line .. '  ' .. judge(full_name, ratio, case.goal)
  end
  if case.original then
    -- Our median is compared with the minimum of the original, which is the harder comparison.
    line = ('%s  Torch7 %.1f, ratio %.3f'):format(line, case.original, middle / case.original)
    if case.goal_of_original then
      line = line .. ' ' .. judge(full_name .. ' to Torch7', middle / case.original, case.goal_of_original)
    end
  end
  print(line)
end

-- Prints the heading of some lines.
function measurement.title(text)
  section_title = text
  print(('\n%-40s %9s %9s %9s %8s'):format(text, 'min', 'median', 'reference', 'ratio'))
end

-- Prints how many goals were met, and those that were missed.
function measurement.report()
  print(('\n%d goals met, %d missed'):format(verdicts.ok, #verdicts.missed))
  for _, text in ipairs(verdicts.missed) do
    print('  ' .. text)
  end
end

return measurement
