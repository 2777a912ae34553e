-- torch.atomic in a real nginx: all workers count in the same elements, also while nginx reloads, and
-- examples/nginx/counters.conf shows what they have counted.
-- Interpreters: luajit, lua5.1
local support = require 'spec.support'
local nginx_host = require 'spec.support.nginx_host'
local program = require 'spec.support.program'

local test, test_once = program.tests(nginx_host.missing)

local server
local function start(...)
  server = nginx_host.start(...)
  return server
end

describe('the workers of nginx #process', function()
  after_each(function()
    if server then
      server:stop()
      server = nil
    end
  end)

  test('lose no count', function()
    start [[
      local torch = require 'torch'
      counts = torch.LongStorage(2):shareMemory()
      function count(n)
        local add = require('torch').atomic.add
        for _ = 1, n do add(counts, 1, 1) end
        return ngx.worker.id()
      end
    ]]
    local code = support.spit(server.directory .. '/count', 'return count(20000)')
    local one = ("curl -s -m 20 -H 'Connection: close' --data-binary '@%s' 'http://127.0.0.1:%d/eval'"):format(
      code,
      server.port
    )
    -- Twelve requests at once, to any worker.
    local answers = support.sh(('for i in 1 2 3 4 5 6 7 8 9 10 11 12; do %s & done; wait'):format(one))
    local _, count = answers:gsub('ok %d', '')
    assert.equal(12, count, answers)
    assert.equal('240000', server:eval 'return counts[1]')
  end)

  test('wake a timer of another worker that looks at an element', function()
    start 'state = require("torch").LongStorage(2):shareMemory()'
    server:eval(
      [[
      local atomic = require('torch').atomic
      local function look(premature)
        if not premature and atomic.load(state, 1) == 0 then
          return ngx.timer.at(0.01, look)
        end
        atomic.store(state, 2, ngx.worker.id() + 1)
      end
      ngx.timer.at(0, look)
    ]],
      1
    )
    server:eval("require('torch').atomic.store(state, 1, 1)", 0)
    nginx_host.wait('the timer', function()
      return server:eval('return state[2]', 0) == '2'
    end)
  end)

  -- The value of a line of the text.
  local function value_of(text, name)
    for line in text:gmatch '[^\n]+' do
      local found, value = line:match '^(%S+) (%S+)$'
      if found == name then
        return tonumber(value)
      end
    end
    error(name .. ' is not in ' .. text)
  end

  test_once('show what they have counted, as Prometheus reads it', function()
    start('', support.slurp 'examples/nginx/counters.conf')
    assert.equal(4, #server:workers())
    local before = value_of(server:get '/metrics', 'nginx_requests_total{status="2xx"}')
    assert.matches('counted', server:get('/', 30))
    server:get('/nothing', 7)
    local text
    nginx_host.wait('the last requests to be logged', function()
      text = server:get '/metrics'
      return value_of(text, 'nginx_request_seconds_count') == before + 37
    end)
    assert.equal(before + 30, value_of(text, 'nginx_requests_total{status="2xx"}'))
    assert.equal(7, value_of(text, 'nginx_requests_total{status="4xx"}'))
    assert.equal(0, value_of(text, 'nginx_requests_total{status="5xx"}'))
    assert.is_true(value_of(text, 'nginx_request_seconds_sum') >= 0)
    -- Each bucket has what is in those before it.
    local last, buckets = 0, 0
    for value in text:gmatch 'nginx_request_seconds_bucket{le="[%d.+Inf]+"} (%d+)\n' do
      assert.is_true(tonumber(value) >= last)
      last, buckets = tonumber(value), buckets + 1
    end
    assert.same({ 9, before + 37 }, { buckets, last })
    assert.matches('# TYPE nginx_request_seconds histogram\n', text, 1, true)
  end)
end)
