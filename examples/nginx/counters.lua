-- Counts the requests of all workers of nginx, and how long they took, in one array. counters.conf uses it, and says how to
-- start it.
--
--   GET /metrics     the numbers of all workers, as Prometheus reads them
--
-- Each number has a fixed place in shared memory, so a worker counts without a lock and without looking for a name.
local torch = require 'torch'

local add, load = torch.atomic.add, torch.atomic.load

local counters = {}

local APART = 8 -- places are 64 bytes apart, so that workers do not wait for each other's
local BOUNDS = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, math.huge } -- seconds

-- The places: requests by the first digit of their status, requests by their time, and the sum of their times in microseconds.
local STATUS = 0
local BUCKET = STATUS + 5
local SUM = BUCKET + #BOUNDS + 1

-- This file is loaded once, in init_by_lua, before nginx forks its workers. Memory with a name would stay over a reload.
local counts = torch.LongStorage((SUM + 1) * APART):shareMemory()

local function place(n)
  return n * APART + 1
end

-- Counts a request with its status and its time in seconds. Any worker calls it at any time.
function counters.count(status, seconds)
  add(counts, place(STATUS + math.floor(status / 100) - 1), 1)
  local n = 1
  while seconds > BOUNDS[n] do
    n = n + 1
  end
  add(counts, place(BUCKET + n), 1)
  add(counts, place(SUM), seconds * 1e6)
end

-- The text of a number: whole ones without a point or an exponent.
local function shown(number)
  return number == math.huge and '+Inf' or ('%.15g'):format(number)
end

-- All numbers, as Prometheus reads them.
function counters.text()
  local lines = { '# TYPE nginx_requests_total counter' }
  local function line(text, ...)
    lines[#lines + 1] = text:format(...)
  end
  for n = 1, 5 do
    line('nginx_requests_total{status="%dxx"} %s', n, shown(load(counts, place(STATUS + n - 1))))
  end
  line '# TYPE nginx_request_seconds histogram'
  local sum = load(counts, place(SUM))
  local total = 0
  for n, bound in ipairs(BOUNDS) do
    total = total + load(counts, place(BUCKET + n)) -- a bucket of Prometheus has the smaller ones in it
    line('nginx_request_seconds_bucket{le="%s"} %s', shown(bound), shown(total))
  end
  line('nginx_request_seconds_sum %s', shown(sum / 1e6))
  line('nginx_request_seconds_count %s', shown(total))
  return table.concat(lines, '\n') .. '\n'
end

return counters
