-- torch.atomic.wait and notify in one process: time-outs, hooks, and storages that change during a wait.
-- Interpreters: luajit, luajit -joff, lua5.1, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

local atomic = torch.atomic

local function seconds_of(f, ...)
  local begun = tonumber(support.sh 'date +%s.%N')
  local result = f(...)
  return tonumber(support.sh 'date +%s.%N') - begun, result
end

-- Calls atomic.wait(...), and `act` once, in the second hook that runs while it waits.
local function with_hook(act, ...)
  local calls = 0
  debug.sethook(function()
    local caller = debug.getinfo(3, 'f')
    if caller and caller.func == atomic.wait then
      calls = calls + 1
      if calls == 2 then
        act()
      end
    end
  end, 'c')
  local ok, result = pcall(atomic.wait, ...)
  debug.sethook()
  assert.equal(2, calls)
  return ok, result
end

describe('torch.atomic.wait', function()
  for _, T in ipairs { 'Int', 'UInt32', 'Long', 'UInt64' } do
    it(('compares an element of a %sStorage, and waits as long as it is told'):format(T), function()
      local s = torch[T .. 'Storage']({ 7, 0 }):shareMemory()
      assert.equal('not-equal', atomic.wait(s, 1, 8, 10))
      assert.equal('not-equal', atomic.wait(s, 1, 8))
      assert.equal('timed-out', atomic.wait(s, 1, 7, 0))
      assert.equal('timed-out', atomic.wait(s, 1, 7, -5))
      assert.equal('timed-out', atomic.wait(s, 1, '7', 0))
      local seconds, result = seconds_of(atomic.wait, s, 1, 7, 0.12)
      assert.equal('timed-out', result)
      assert.is_true(seconds >= 0.12 and seconds < 10, seconds)
      assert.equal(0, atomic.notify(s, 1))
      assert.equal(0, atomic.notify(s, 1, 0))
      assert.equal(0, atomic.notify(s, 1, 2.5))
      assert.equal(0, atomic.notify(s, 1, math.huge))
      assert.same({ 7, 0 }, s:totable())
    end)
  end

  it('compares all 64 bits', function()
    local s = torch.LongStorage { 0 }
    for _, value in ipairs { 2 ^ 32, '9007199254740993', '-1' } do
      s[1] = value
      assert.equal('timed-out', atomic.wait(s, 1, value, 0))
      assert.equal('not-equal', atomic.wait(s, 1, 0, 0))
      assert.equal('not-equal', atomic.wait(s, 1, 1, 0))
    end
  end)

  it('is an error if nobody could ever wake it', function()
    local s = torch.IntStorage(2)
    local text = 'nobody can wake this thread: no other thread or process has this memory'
    support.fails(text, atomic.wait, s, 1, 0)
    support.fails(text, atomic.wait, s, 1, 0, math.huge)
    assert.equal('timed-out', atomic.wait(s, 1, 0, 0.001))
    local name = os.tmpname()
    torch.IntStorage(name, true, 2):free()
    support.fails(text, atomic.wait, torch.IntStorage(name), 1, 0)
    os.remove(name)
    -- Somebody may look it up, or take the view of it.
    local key = 'wait ' .. torch.pointer {}
    torch.publish(key, s)
    assert.equal('not-equal', atomic.wait(s, 1, 1))
    assert.equal('not-equal', atomic.wait(torch.IntStorage(s, 2, 1), 1, 1))
    torch.unpublish(key)
    support.collect()
    local token = s:token()
    assert.equal('not-equal', atomic.wait(s, 1, 1))
    torch.dropToken(token)
    support.fails(text, atomic.wait, s, 1, 0)
    assert.equal('not-equal', atomic.wait(s:shareMemory(), 1, 1))
  end)

  it('lets hooks run, which may end it', function()
    local s = torch.IntStorage(1):shareMemory()
    local ok, message = with_hook(function()
      error 'interrupted!'
    end, s, 1, 0)
    assert.is_false(ok)
    assert.matches('interrupted!', message, 1, true)
  end)

  it('sees what a hook does to the storage', function()
    local s = torch.IntStorage(4):shareMemory()
    local ok, result = with_hook(function()
      s[4] = 1
    end, s, 4, 0)
    assert.same({ true, 'ok' }, { ok, result })

    local heap = torch.IntStorage(4)
    local done, message = with_hook(function()
      heap:resize(2)
    end, heap, 4, 0, 20)
    assert.is_false(done)
    assert.matches('index 4 is out of range: the storage has 2 elements', message, 1, true)

    s[4] = 0
    done, message = with_hook(function()
      s:free()
    end, s, 4, 0)
    assert.is_false(done)
    assert.matches('storage was freed', message, 1, true)
  end)

  it('ends by Ctrl-C #process', function()
    local source = [[
      local torch = require 'torch'
      local s = torch.IntStorage(1):shareMemory()
      io.stdout:write 'waits\n' io.stdout:flush()
      torch.atomic.wait(s, 1, 0)
    ]]
    local name = os.tmpname()
    support.spit(name, source)
    local command = '%s %s >%s.out 2>&1 & pid=$!; until grep -qs waits %s.out; do sleep 0.05; done; '
      .. 'sleep 0.2; kill -INT $pid; wait $pid; status=$?; cat %s.out; rm %s.out; exit $status'
    local text, status = support.execute(
      ("timeout 60 sh -c '%s'"):format(command:format(support.interpreter, name, name, name, name, name))
    )
    assert.matches('^waits\n.*interrupted!', text)
    assert.equal(1, status)
    os.remove(name)
  end)
end)
