-- Measures making, filling and dropping storages of several sizes, and growing them.
--
--   luajit bench/growth.lua [section]     (making or growing; without one, both)
--
-- Every line is measured in rounds that alternate with those of its group, so that a change of the machine's
-- speed affects all of them. `min` and `median` are microseconds of processor time per turn. `ratio` is the ratio to the
-- median of the first line of the group, measured in the same run. Some lines have a goal for it, others Torch7's figure.
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'
local jit = rawget(_G, 'jit')
local has_ffi, ffi = pcall(require, 'ffi')
has_ffi = has_ffi and jit ~= nil

local ROUNDS = 9
local ROUND_SECONDS = 0.05
local Byte, Double = torch.ByteStorage, torch.DoubleStorage

-- Microseconds per call of Torch7's own binding, which does not clear new elements. It is not available here: these figures
-- were recorded on a machine like the one of docs/performance.md.
local TORCH7 = jit and { made = 1.079, grown = 41.55 } or { made = 1.217, grown = 0.5455 }

local function seconds(run, n)
  collectgarbage()
  local started = os.clock()
  run(n)
  collectgarbage() -- dropping the objects is part of the round
  return os.clock() - started
end

-- Measures the cases of a group. The first one is the reference.
local function measure(title, group)
  print(('\n%-50s %12s %12s %8s'):format(title, 'min', 'median', 'ratio'))
  for _, case in ipairs(group) do
    case.n, case.times = 1, {}
    while seconds(case.run, case.n) < ROUND_SECONDS and case.n < 2 ^ 20 do -- this warms up as well
      case.n = case.n * 2
    end
  end
  for round = 1, ROUNDS do
    for _, case in ipairs(group) do
      case.times[round] = seconds(case.run, case.n) / case.n / (case.calls or 1) * 1e6
    end
  end
  local first = group[1]
  for _, case in ipairs(group) do
    table.sort(case.times)
    local median = case.times[math.ceil(ROUNDS / 2)]
    case.median = median
    local ratio, note = median / first.median, ''
    if case.goal then
      note = ('  goal <= %.2f %s'):format(case.goal, ratio <= case.goal and 'ok' or 'MISSED')
    elseif case.torch7 then
      note = ('  Torch7 %.2f, ratio %.2f'):format(case.torch7, median / case.torch7)
    end
    print(('  %-48s %12.2f %12.2f %8.2f%s'):format(case.name, case.times[1], median, ratio, note))
    local row = { section = title, case = case.name, unit = 'us', min = case.times[1], median = median }
    row.reference, row.reference_min, row.reference_median = first.name, first.times[1], first.median
    tsv.row(row)
    if case.torch7 then
      row.reference, row.reference_min, row.reference_median = 'Torch7, recorded', case.torch7, nil
      row.ratio = median / case.torch7
      tsv.row(row)
    end
  end
end

local function times(act)
  return function(n)
    for _ = 1, n do
      act()
    end
  end
end

-- Memory from the C library, as Torch7 used it, but cleared (calloc), as ours is. It is freed at once.
local function calloc(bytes, fill)
  return times(function()
    local memory = ffi.cast('char *', ffi.C.calloc(bytes, 1))
    if fill then
      ffi.fill(memory, bytes, 1)
    end
    ffi.C.free(memory)
  end)
end

local function making()
  if has_ffi then
    ffi.cdef 'void *calloc(size_t, size_t); void free(void *);'
  end
  for _, bytes in ipairs { 80, 64e3, 256e3, 1e6, 4e6, 80e6 } do
    local function made()
      return Byte(bytes)
    end
    local function filled()
      return Byte(bytes):fill(1)
    end
    local group = { { name = 'made and dropped', run = times(made), torch7 = bytes == 1e6 and TORCH7.made or nil } }
    if has_ffi then
      group[2] = { name = 'calloc and free', run = calloc(bytes) }
    end
    measure(('%d bytes, us'):format(bytes), group)
    group = { { name = 'made, filled and dropped', run = times(filled) } }
    if has_ffi then
      group[2] = { name = 'calloc, ffi.fill and free', run = calloc(bytes, true) }
    end
    measure(('%d bytes, us'):format(bytes), group)
  end
end

local function growing()
  for _, power in ipairs { 17, 22, 27 } do
    local function once()
      Double(2 ^ power):fill(1):free()
    end
    -- The view that fills the new half is freed, so that the storage can grow in place.
    local function doubling()
      local s = Double(1):fill(1)
      for step = 1, power do
        local half = 2 ^ (step - 1)
        s:resize(2 * half)
        local view = Double(s, half + 1, half)
        view:fill(1):free()
      end
      s:free()
    end
    measure(('2^%d doubles, us'):format(power), {
      { name = 'made and filled once', run = times(once) },
      { name = 'grown by doubling, each new half filled', run = times(doubling), goal = 2.5 },
    })
  end
  local function untouched()
    local s = Double(1)
    for power = 1, 22 do
      s:resize(2 ^ power)
    end
  end
  local function in_steps()
    local s = Double()
    for step = 1, 1000 do
      s:resize(step * 1000)
    end
  end
  local function reserved()
    local s = Double():reserve(1e6)
    for step = 1, 1000 do
      s:resize(step * 1000)
    end
  end
  measure('only growing, us per call', {
    { name = 'doubled 22 times', run = times(untouched), calls = 22, torch7 = TORCH7.grown },
    { name = 'a thousand steps to 1e6 elements', run = times(in_steps), calls = 1000 },
    { name = 'the same after reserve', run = times(reserved), calls = 1000 },
  })
end

run_sections { { 'making', making }, { 'growing', growing } }
