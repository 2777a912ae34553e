-- examples/queue.lua, run as by a user: both processes have the same sum, and nothing is left behind.
-- Interpreters: luajit, lua5.1, lua5.4
local support = require 'spec.support'

local function queue(arguments)
  return support.execute(('timeout 60 %s examples/queue.lua %s'):format(support.interpreter, arguments))
end

-- The sum of what the example sends.
local function sum_of(count)
  local sum = 0
  for n = 1, count do
    sum = sum + n * n % 1000
  end
  return sum
end

describe('examples/queue.lua #process', function()
  local function check(arguments, count)
    local output, status = queue(arguments)
    assert.equal(0, status, output)
    local name, sent = output:match 'Shared memory (%S+): .*takes (%d+) numbers'
    assert.equal(tostring(count), sent, output)
    assert.is_truthy(output:find(('Both have the same sum: %d\n'):format(sum_of(count)), 1, true), output)
    assert.equal('', support.sh(("ls /dev/shm | grep -F '%s' || true"):format(name)))
  end

  it('sends as many numbers as it is told, more and fewer than the ring has places', function()
    check('', 100000)
    check('1', 1)
    check('1024', 1024)
    check('1025', 1025)
  end)

  it('refuses other arguments', function()
    for _, arguments in ipairs { '0', '1.5', 'x', '1e8', '1 x' } do
      local output, status = queue(arguments)
      assert.equal(1, status)
      assert.equal('queue: give how many numbers to send, from 1 to 1e7, or nothing', output)
    end
  end)
end)
