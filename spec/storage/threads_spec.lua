-- The number of threads for large operations: setting it, reading it, and getting the same results.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

describe('the number of threads', function()
  local before = torch.getnumthreads()

  after_each(function()
    torch.setnumthreads(0)
    support.collect()
  end)

  it('is at first the number of cores that the process may use', function()
    assert.equal(tonumber((support.sh 'nproc')), before)
  end)

  it('is what was set; 0 means as many as there are cores', function()
    for _, n in ipairs { 1, 2, 7 } do
      torch.setnumthreads(n)
      assert.equal(n, torch.getnumthreads())
    end
    torch.setnumthreads(0)
    assert.equal(before, torch.getnumthreads())
    for _, bad in ipairs { -1, 0 / 0, 'x', {}, true } do
      assert.is_false((pcall(torch.setnumthreads, bad)))
      assert.equal(before, torch.getnumthreads())
    end
  end)

  it('does not change results, and leaves no thread behind #large', function()
    local function threads()
      return tonumber(support.slurp('/proc/self/status'):match 'Threads:%s*(%d+)')
    end
    local alive = threads()
    local size = 5e6
    local ramp = torch.IntStorage(size)
    for i = 1, size, 997 do
      ramp[i] = i
    end
    local results = {}
    for _, n in ipairs { 1, 2, 3 } do
      torch.setnumthreads(n)
      local doubles = torch.DoubleStorage(size):fill(0.5):copy(ramp)
      results[#results + 1] = doubles:type 'torch.FloatStorage'
      -- A thread that has finished may still be exiting.
      local deadline = os.time() + 5
      while threads() > alive and os.time() < deadline do
        os.execute 'sleep 0.01'
      end
      assert.equal(alive, threads())
    end
    assert.is_true(results[1]:equal(results[2]) and results[1]:equal(results[3]))
    assert.equal(998, results[3][998])
    assert.equal(0, results[3][999])
  end)
end)
