-- Measures what the functions for C modules cost (include/torch_storage.h), next to a C function that does nothing.
--
--   lua5.1 bench/c_api.lua
--
-- `ns` is the median of the rounds for a call from Lua, and `more` is what that is above a C function that does nothing, in the
-- same rounds. It compiles bench/c_api.c first.
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'
local c_api = require('spec.support.c_module').of_benchmark 'c_api'
local jit = rawget(_G, 'jit')

local ROUNDS, CALLS = 15, 200000

local function nanoseconds(f, value, calls)
  local started = os.clock()
  for _ = 1, calls do
    f(value)
  end
  return (os.clock() - started) / calls * 1e9
end

local function median(times)
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

local function calls()
  local s, x = torch.FloatStorage(4), torch.FloatTensor(2, 2)
  local cases = {
    { 'a C function that does nothing', c_api.nothing, s },
    { 'luaL_checkudata of an own userdata', c_api.checkudata, c_api.own() },
    { 'torch_storage_check, table in an upvalue', c_api.check, s },
    { 'torch_storage_check, table from the registry', c_api.check_registry, s },
    { 'torch_tensor_check', c_api.check_tensor, x },
    { 'torch_storage_retain and release', c_api.retain, s, 10 },
    { 'torch_storage_new of 4 elements', c_api.new, s, 10 },
    { 'torch_storage_wrap', c_api.wrap, s, 10 },
  }
  local times, more = {}, {}
  for n = 1, #cases do
    times[n], more[n] = {}, {}
  end
  for round = 0, ROUNDS do
    local nothing
    for n, case in ipairs(cases) do
      collectgarbage()
      local time = nanoseconds(case[2], case[3], CALLS / (case[4] or 1))
      nothing = nothing or time
      if round > 0 then -- round 0 warms up
        times[n][round], more[n][round] = time, time - nothing
      end
    end
  end
  print(('\n%-50s %9s %9s'):format('A call', 'ns', 'more'))
  for n, case in ipairs(cases) do
    print(('  %-48s %9.1f %9.1f'):format(case[1], median(times[n]), median(more[n])))
    tsv.row {
      section = 'A call',
      case = case[1],
      unit = 'ns/call',
      min = times[n][1],
      median = median(times[n]),
      reference = cases[1][1],
      reference_min = times[1][1],
      reference_median = median(times[1]),
    }
  end
end

if jit then
  jit.off(nanoseconds) -- a loop that calls C functions is not compiled by every LuaJIT
end
run_sections { { 'calls', calls } }
