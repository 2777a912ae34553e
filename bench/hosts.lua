-- Measures `s[i]` next to a C function that makes the least checks (bench/hosts.c), and next to a Lua table.
--
--   lua5.4 bench/hosts.lua
--
-- Each line has the time for an element in nanoseconds: minimum and median of the rounds. In every round the storage, the C
-- function and the table take turns, so that a change of the machine's speed affects all of them. `to C` and `to table` are the
-- ratios of the minima, and beside them the medians of the ratios of the rounds. The file in C is compiled first, with the
-- headers of the running interpreter.
-- On LuaJIT with the JIT on, storages are measured with their C functions too (`torch.accessors 'c'`).
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'
local arrays = require('spec.support.c_module').of_benchmark 'hosts'
local jit = rawget(_G, 'jit')

local ROUNDS, ELEMENTS, PASSES = 31, 1000, 100
local GOAL = _VERSION > 'Lua 5.2' and 1.15 -- for the ratio to C

-- A loop of its own for each value, so that LuaJIT compiles it for that value.
local function loop(body, a)
  local text = 'local a, m = ... return function(n) local sum = 0 for _ = 1, n do for i = 1, m do '
    .. body
    .. ' end end return sum end'
  return assert(loadstring(text))(a, ELEMENTS)
end

local function nanoseconds(run)
  local started = os.clock()
  run(PASSES)
  return (os.clock() - started) / (PASSES * ELEMENTS) * 1e9
end

local function sorted(times)
  table.sort(times)
  return times[1], times[math.ceil(#times / 2)]
end

-- Prints a line: the times of `runs`, which are a storage, the C function and a table.
local function measure(class, title, runs)
  local times, ratios = {}, { {}, {} }
  for n = 1, 3 do
    times[n] = {}
    nanoseconds(runs[n])
  end
  for round = 1, ROUNDS do
    for n = 1, 3 do
      times[n][round] = nanoseconds(runs[n])
    end
    for n = 1, 2 do
      ratios[n][round] = times[1][round] / times[n + 1][round]
    end
  end
  local line = ('  %-24s'):format(title)
  local fastest, medians = {}, {}
  for n = 1, 3 do
    fastest[n], medians[n] = sorted(times[n])
    line = line .. (' %8.2f %7.2f'):format(fastest[n], medians[n])
  end
  for n = 1, 2 do
    local _, ratio = sorted(ratios[n])
    line = line .. ('   %6.3f %6.3f'):format(fastest[1] / fastest[n + 1], ratio)
    tsv.row {
      section = ('%s, accessors %s'):format(class, torch.accessors()),
      case = title,
      unit = 'ns/element',
      min = fastest[1],
      median = medians[1],
      reference = n == 1 and 'C function' or 'Lua table',
      reference_min = fastest[n + 1],
      reference_median = medians[n + 1],
      ratio = ratio,
    }
  end
  local ratio = fastest[1] / fastest[2]
  if GOAL then
    line = line .. ('   <= %.2f %s'):format(GOAL, ratio <= GOAL and 'ok' or 'MISSED')
  end
  print(line)
end

local LOOPS = {
  { 'read', 'sum = sum + a[i]' },
  { 'write an integer', 'a[i] = 7' },
  { 'write a float', 'a[i] = 2.0' },
  { 'write i', 'a[i] = i' },
}

local function access()
  for _, class in ipairs { 'Double', 'Int', 'Byte' } do
    local head = '\n%-26s %8s %7s %8s %7s %8s %7s   %6s %6s   %6s %6s'
    print(
      head:format(class, 'storage', 'median', 'C', 'median', 'table', 'median', 'to C', 'median', 'table', 'median')
    )
    local storage, array, numbers = torch[class .. 'Storage'](ELEMENTS), arrays[class](ELEMENTS), {}
    for i = 1, ELEMENTS do
      storage[i], array[i], numbers[i] = i % 100, i % 100, i % 100
    end
    for _, case in ipairs(LOOPS) do
      local runs = { loop(case[2], storage), loop(case[2], array), loop(case[2], numbers) }
      measure(class, case[1], runs)
    end
  end
end

local function access_by_c()
  if torch.accessors() == 'ffi' then
    torch.accessors 'c'
    access()
    torch.accessors 'ffi'
  end
end

run_sections { { 'access', access }, jit and { 'c', access_by_c } or nil }
