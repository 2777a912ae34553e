-- Measures views of a large storage as another class. Nothing is copied, so 1 GiB costs the same as 8 bytes.
--
--   luajit bench/views.lua
--
-- The figures are microseconds per call, with the collection of the garbage: the minimum and the median of the rounds, and in
-- brackets the median for a storage of 8 bytes.
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'

local ROUNDS, CALLS = 15, 20000
local SIZE = 2 ^ 30

local function microseconds(f, s)
  for _ = 1, 1000 do
    f(s)
  end
  local times = {}
  for round = 1, ROUNDS do
    collectgarbage()
    local started = os.clock()
    for _ = 1, CALLS do
      f(s)
    end
    collectgarbage()
    times[round] = (os.clock() - started) / CALLS * 1e6
  end
  table.sort(times)
  return times[1], times[math.floor(ROUNDS / 2) + 1]
end

local INTEGERS = { dtype = 'int32' }
local cases = {
  {
    "s:view('int32')",
    function(s)
      return s:view 'int32'
    end,
  },
  {
    "s:view('uint8', 1, 4)",
    function(s)
      return s:view('uint8', 1, 4)
    end,
  },
  {
    's:untyped()',
    function(s)
      return s:untyped()
    end,
  },
  {
    'torch.frombuffer(s)',
    function(s)
      return torch.frombuffer(s)
    end,
  },
  {
    'torch.frombuffer(s, options)',
    function(s)
      return torch.frombuffer(s, INTEGERS)
    end,
  },
  {
    's:sub(1)',
    function(s)
      return s:sub(1)
    end,
  },
}

-- The same for memory of other values.
local object_metatable = {
  __buffer = function(object)
    return torch.buffer(object.storage)
  end,
}
local function frombuffer(buffer)
  return torch.frombuffer(buffer)
end

local function views()
  local large, small = torch.FloatStorage(SIZE / 4), torch.FloatStorage(2)
  large[SIZE / 4] = 0.5
  print(('\n%-34s %8s %8s'):format('of 1 GiB, microseconds', 'min', 'median'))
  local function line(name, f, big, little)
    local least, median = microseconds(f, big)
    local least_of_little, of_little = microseconds(f, little)
    print(('  %-32s %8.3f %8.3f  (%.3f)'):format(name, least, median, of_little))
    tsv.row {
      section = 'of 1 GiB',
      case = name,
      unit = 'us/call',
      min = least,
      median = median,
      reference = 'of 8 bytes',
      reference_min = least_of_little,
      reference_median = of_little,
    }
  end
  for _, case in ipairs(cases) do
    line(case[1], case[2], large, small)
  end
  local function object(s)
    return setmetatable({ storage = s }, object_metatable)
  end
  line('torch.frombuffer(object)', frombuffer, object(large), object(small))
  line('torch.frombuffer(string), 64 MiB', frombuffer, ('x'):rep(2 ^ 26), 'xxxxxxxx')
  local resident = torch.memory().heap
  local view = large:view 'int32'
  assert(torch.memory().heap == resident and view[SIZE / 4] == 0x3f000000)
end

run_sections { { 'views', views } }
