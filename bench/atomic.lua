-- Measures torch.atomic next to a C function that does nothing but check the index and count, next to `s[i] = v`, and next to
-- eventfds.
--
--   luajit bench/atomic.lua [section]     (count, access, wake or nginx; without one, all)
--
-- In every round what is measured and its reference take turns, so that a change of the machine's speed affects both. Each line
-- has the minimum and the median of both, in nanoseconds, and the median of the ratios of the rounds. It compiles
-- bench/atomic.c first. `nginx` counts in a real nginx with two workers, next to `ngx.shared`: it needs what
-- spec/hosts/nginx_spec.lua needs.
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'
local c = require('spec.support.c_module').of_benchmark 'atomic'
local jit = rawget(_G, 'jit')
local is_compiled = jit ~= nil and jit.status()
local loadstring = loadstring or load

local ROUNDS = 21

local function sorted(times)
  table.sort(times)
  return times[1], times[math.ceil(#times / 2)]
end

local function title(text)
  print(('\n%-52s %9s %9s %9s %9s %8s'):format(text, 'min', 'median', 'reference', 'median', 'ratio'))
end

-- Measures `run` next to `reference`, functions that do `n` passes. `clock` is that of the processor, or one that runs on.
local function measure(section, name, run, reference, n, goal, clock)
  local times, references, ratios = {}, {}, {}
  clock = clock or os.clock
  local function time(f)
    collectgarbage()
    local begun = clock()
    f(n)
    return (clock() - begun) / n * 1e9
  end
  if jit then
    jit.flush()
  end
  time(run)
  time(reference)
  for round = 1, ROUNDS do
    times[round], references[round] = time(run), time(reference)
    ratios[round] = times[round] / references[round]
  end
  local least, middle = sorted(times)
  local reference_least, reference_middle = sorted(references)
  local _, ratio = sorted(ratios)
  local line = ('  %-50s %9.2f %9.2f %9.2f %9.2f %8.3f'):format(
    name,
    least,
    middle,
    reference_least,
    reference_middle,
    ratio
  )
  if goal then
    line = line .. ('  <= %.2f %s'):format(goal, ratio <= goal and 'ok' or 'MISSED')
  end
  print(line)
  tsv.row {
    section = section,
    case = name,
    unit = 'ns/call',
    min = least,
    median = middle,
    reference = 'reference',
    reference_min = reference_least,
    reference_median = reference_middle,
    ratio = ratio,
  }
end

-- A loop of its own for each case, so that LuaJIT compiles it for these values.
local function loop(body, ...)
  return assert(
    loadstring('local a, f, v = ... return function(n) local sum = 0 for i = 1, n do ' .. body .. ' end return sum end')
  )(...)
end

local N = is_compiled and 1e6 or 2e5

-- The reference: on LuaJIT with its JIT on, a C function that the FFI calls.
local function reference()
  local array = c.array(8)
  if not is_compiled then
    return array, c.add, ''
  end
  local ffi = require 'ffi'
  local add = ffi.cast('int64_t (*)(void *, int64_t, int64_t)', ffi.cast('intptr_t', c.address()))
  return array, add, 'tonumber'
end

local function count()
  title 'add, next to a C function : lock xadd'
  local array, add, number = reference()
  for _, class in ipairs { 'Long', 'Int', 'Double' } do
    local s = torch[class .. 'Storage'](8)
    measure(
      'count',
      class .. ', the result is used',
      loop('sum = sum + f(a, 3, 1)', s, torch.atomic.add),
      loop('sum = sum + ' .. number .. '(f(a, 3, 1))', array, add),
      N,
      is_compiled and class ~= 'Double' and 1.3 or nil
    )
    measure(
      'count',
      class .. ', the result is not used',
      loop('f(a, 3, 1)', s, torch.atomic.add),
      loop('f(a, 3, 1)', array, add),
      N,
      is_compiled and class ~= 'Double' and 1.6 or nil
    )
  end
end

local function access()
  title 'functions, next to s[i] = v and s[i]'
  for _, class in ipairs { 'Long', 'Int', 'Double' } do
    local s = torch[class .. 'Storage'](8)
    local write, read = loop('a[3] = i', s), loop('sum = sum + a[3]', s)
    local goal = not is_compiled and 1.2 or nil
    measure('access', class .. ': add, s[i] = v', loop('f(a, 3, i)', s, torch.atomic.add), write, N, goal)
    measure('access', class .. ': store, s[i] = v', loop('f(a, 3, i)', s, torch.atomic.store), write, N)
    measure('access', class .. ': exchange, s[i] = v', loop('f(a, 3, i)', s, torch.atomic.exchange), write, N)
    measure('access', class .. ': max, s[i] = v', loop('f(a, 3, i)', s, torch.atomic.max), write, N)
    measure(
      'access',
      class .. ': compareExchange, s[i] = v',
      loop('f(a, 3, i, i)', s, torch.atomic.compareExchange),
      write,
      N
    )
    measure('access', class .. ': load, s[i]', loop('sum = sum + f(a, 3)', s, torch.atomic.load), read, N)
  end
end

local function wake()
  title 'a round trip between two processes : eventfds in C'
  local atomic = torch.atomic
  for _, class in ipairs { 'Int', 'Long' } do
    local s = torch[class .. 'Storage'](1):shareMemory()
    -- Waits for `mine`, and makes the element `other`.
    local function turns(n, mine, other)
      for _ = 1, n do
        while atomic.load(s, 1) ~= mine do
          atomic.wait(s, 1, other, 10)
        end
        atomic.store(s, 1, other)
        atomic.notify(s, 1, 1)
      end
    end
    local function round_trips(n)
      local child = c.fork()
      if child == 0 then
        turns(n, 1, 0)
        c.leave()
      end
      turns(n, 0, 1)
      while atomic.load(s, 1) == 1 do
        atomic.wait(s, 1, 1, 10)
      end
      c.join(child)
    end
    measure('wake', class .. 'Storage', round_trips, c.round_trips, 5000, nil, c.clock)
  end
end

-- In a real nginx with two workers: one of them counts alone, and then both at once. The times are those that the workers
-- measure.
local function nginx()
  local nginx_host = require 'spec.support.nginx_host'
  if nginx_host.missing() then
    return print(nginx_host.missing())
  end
  title 'nginx: add : ngx.shared.DICT:incr'
  local configuration = nginx_host.CONFIGURATION:gsub('worker_processes 3', 'worker_processes 2')
  configuration = configuration:gsub('http {', 'http {\n  lua_shared_dict counts 1m;', 1)
  local server = nginx_host.start(
    [[
      local counts = require('torch').LongStorage(8):shareMemory()
      local add, shared = require('torch').atomic.add, ngx.shared.counts
      local KEYS = { 'requests', 'nginx_http_requests_total{host="example.com",status="200"}' }
      for _, key in ipairs(KEYS) do shared:set(key, 0) end
      local function time(f, n)
        ngx.update_time()
        local begun = os.clock()
        f(n)
        return (os.clock() - begun) / n * 1e9
      end
      local function by_add(n) for _ = 1, n do add(counts, 1, 1) end end
      local function by_incr(key) return function(n) for _ = 1, n do shared:incr(key, 1) end end end
      local incr = { by_incr(KEYS[1]), by_incr(KEYS[2]) }
      -- One round of both, in turns.
      function round(n, key)
        return ('%.3f %.3f'):format(time(by_add, n), time(incr[key], n))
      end
    ]],
    configuration
  )
  local ok, problem = pcall(function()
    local support = require 'spec.support'
    for case = 1, 4 do
      local together, key = case > 2, (case - 1) % 2 + 1
      local name = (together and 'two workers at once, ' or 'one worker, ')
        .. ({ 'a key of 8 bytes', 'a key of 57 bytes' })[key]
      local times, references, ratios = {}, {}, {}
      for n = 0, ROUNDS do
        if together then
          -- The other worker does the same meanwhile.
          local file = support.spit(server.directory .. '/other', 'return round(300000, ' .. key .. ')')
          local command = "for i in 1 2 3 4; do curl -s -o '%s/ignored' -H 'Connection: close' --data-binary '@%s' "
            .. "'http://127.0.0.1:%d/eval?worker=1'; done &"
          os.execute(command:format(server.directory, file, server.port))
        end
        local time, other = server:eval('return round(100000, ' .. key .. ')', 0):match '(%S+) (%S+)'
        if n > 0 then -- round 0 warms up
          times[n], references[n] = tonumber(time), tonumber(other)
          ratios[n] = times[n] / references[n]
        end
      end
      local least, middle = sorted(times)
      local reference_least, reference_middle = sorted(references)
      local _, ratio = sorted(ratios)
      local line = '  %-50s %9.2f %9.2f %9.2f %9.2f %8.3f'
      line = line:format(name, least, middle, reference_least, reference_middle, ratio)
      print(together and line or line .. ('  <= 0.20 %s'):format(ratio <= 0.2 and 'ok' or 'MISSED'))
    end
  end)
  server:stop()
  assert(ok, problem)
end

run_sections { { 'count', count }, { 'access', access }, { 'wake', wake }, { 'nginx', nginx } }
