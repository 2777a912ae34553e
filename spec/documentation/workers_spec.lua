-- examples/workers.lua, run as by a user: its count agrees with another count, and it leaves nothing behind.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'

local function workers(arguments)
  return support.execute(('timeout 60 %s examples/workers.lua %s'):format(support.interpreter, arguments))
end

-- The number below `limit` that takes the most steps, and that number of steps, with the steps of smaller numbers remembered.
local function longest(limit)
  local known, best = { [1] = 0 }, 1
  for i = 2, limit do
    local n, steps = i, 0
    while n >= i do
      n = n % 2 == 1 and 3 * n + 1 or n / 2
      steps = steps + 1
    end
    known[i] = steps + known[n]
    best = known[i] > known[best] and i or best
  end
  return best, known[best]
end

describe('examples/workers.lua #process', function()
  local function check(output, status, count)
    assert.equal(0, status, output)
    local name, size = output:match 'Shared memory (%S+): (%d+) elements'
    local number, steps = longest(tonumber(size))
    assert.is_truthy(output:find(('All %s elements are the same.'):format(size), 1, true), output)
    local found = ('The number %d has the longest sequence: %d steps'):format(number, steps)
    assert.is_truthy(output:find(found, 1, true), output)
    local processes = 0
    for index, seconds in output:gmatch 'Process (%d+) worked for ([%d.]+) seconds' do
      processes = processes + 1
      assert.equal(processes, tonumber(index))
      assert.is_true(tonumber(seconds) > 0)
    end
    assert.equal(count, processes)
    assert.is_truthy(output:find('the names are gone', 1, true), output)
    assert.equal('', support.sh(("ls /dev/shm | grep -F '%s' || true"):format(name)))
  end

  it('counts with four processes, and with a given number of them', function()
    local output, status = workers ''
    check(output, status, 4)
    output, status = workers '3'
    check(output, status, 3)
  end)

  it('refuses an invalid number of processes with a message', function()
    for _, arguments in ipairs { '0', '-1', '1.5', 'x', '101', '2 x' } do
      local output, status = workers(arguments)
      assert.equal(1, status)
      assert.equal('workers: give a number of processes from 1 to 100, or none', output)
    end
  end)
end)
