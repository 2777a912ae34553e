-- Processes that count, exchange and wait with the same elements at once, also after a fork, and that are killed meanwhile.
-- ATOMIC_ROUNDS in the environment repeats everything that often; 1e6 takes some minutes.
-- Interpreters: luajit, luajit -joff, .tools/bin/luajit-rolling, lua5.1, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local processes = require 'spec.support.processes'

local atomic = torch.atomic
local ROUNDS = tonumber(os.getenv 'ATOMIC_ROUNDS') or 2000

-- Waits until an element of an IntStorage is (or is not) a number. It sleeps only if that takes long.
local UNTIL_IS = 'function until_is(i, n, is) local tries = 0 while (atomic.load(s, i) == n) ~= is do '
  .. 'tries = tries + 1 if tries > 300 then atomic.wait(s, i, atomic.load(s, i), 0.001) end end end'

-- Starts processes that have the same shared memory as `s` here. Returns its name, too.
local function start(count, class, size)
  local name, started = processes.name(), {}
  local s = torch[class .. 'Storage'](name, true, size, true)
  for n = 1, count do
    started[n] = processes.start()
    started[n]:tell(UNTIL_IS)
    started[n]:tell('s, atomic, me = torch.%sStorage(%q, true, nil, true), torch.atomic, %d', class, name, n)
  end
  return s, started, name
end

-- Runs a line in all processes at once.
local function all(started, line, ...)
  for _, process in ipairs(started) do
    process:send(line:format(...))
  end
  for _, process in ipairs(started) do
    process:hear()
  end
end

local function finish(started)
  for _, process in ipairs(started) do
    process:finish 'return'
  end
end

describe('processes that use the same elements #process', function()
  after_each(processes.clean)

  for _, T in ipairs { 'Byte', 'Char', 'Short', 'Int', 'Long', 'UInt16', 'UInt32', 'UInt64', 'Float', 'Double' } do
    it(('lose no count in a %sStorage'):format(T), function()
      local s, started = start(4, T, 3)
      all(started, 'for _ = 1, %d do atomic.add(s, 2, 3) atomic.sub(s, 2, 1) end', ROUNDS)
      all(
        started,
        'for _ = 1, %d do local old, written = s[3], false '
          .. 'repeat old, written = atomic.compareExchange(s, 3, old, old + 1) until written end',
        ROUNDS
      )
      local expected = torch[T .. 'Storage'] { 8 * ROUNDS, 4 * ROUNDS }
      if T ~= 'Float' or 12 * ROUNDS <= 2 ^ 24 then
        assert.same({ 0, expected[1], expected[2] }, s:totable())
      end
      finish(started)
    end)
  end

  it('take turns by an element that they exchange', function()
    local s, started = start(4, 'Int', 20)
    all(
      started,
      'for _ = 1, %d do while atomic.exchange(s, 1, 1) == 1 do until_is(1, 1, false) end '
        .. 'for i = 11, 20 do s[i] = s[i] + 1 end atomic.store(s, 1, 0) end',
      ROUNDS
    )
    for i = 11, 20 do
      assert.equal(4 * ROUNDS, s[i])
    end
    finish(started)
  end)

  it('see what was written before a store', function()
    local s, started = start(2, 'Int', 12)
    all(
      started,
      'for n = 1, %d do '
        .. 'until_is(me, me == 1 and n - 1 or n, true) '
        .. 'for i = 3, 12 do if me == 1 then s[i] = n * i elseif s[i] ~= n * i then error(n) end end '
        .. 'atomic.store(s, 3 - me, n) end',
      ROUNDS
    )
    assert.same({ ROUNDS, ROUNDS }, { s[1], s[2] })
    finish(started)
  end)

  for _, T in ipairs { 'Int', 'Long' } do
    it(('wake each other in a %sStorage, and no wake-up is lost'):format(T), function()
      local s, started = start(2, T, 1)
      all(
        started,
        'for n = 1, %d do '
          .. 'while atomic.load(s, 1) %% 2 ~= me - 1 do '
          .. "if atomic.wait(s, 1, 2 - me, 60) == 'timed-out' then error 'lost' end end "
          .. 'atomic.store(s, 1, me %% 2) atomic.notify(s, 1) end',
        ROUNDS
      )
      assert.equal(0, s[1])
      finish(started)
    end)
  end

  it('wake each other through a shared map of a file that one of them only reads', function()
    local name = os.tmpname()
    local s = torch.LongStorage(name, true, 2)
    local reader = processes.start()
    reader:tell('s = torch.LongStorage { filename = %q, readonly = true }', name)
    reader:send 'torch.atomic.wait(s, 2, 0, 60)'
    while atomic.notify(s, 2) == 0 do -- until it waits
      support.sh 'sleep 0.01'
    end
    assert.equal("'ok'", (reader:hear():gsub('"', "'")))
    reader:finish 'return'
    s:free()
    os.remove(name)
  end)

  it('are left with whole elements when one is killed', function()
    local s, started, name = start(1, 'Long', 4)
    s:fill(0)
    for round = 1, support.rounds(8, 60) do
      local process = started[1]
      local line = 'while true do for i = 1, 2 ^ 20 do atomic.store(s, 1, i * %s) atomic.add(s, 2, %s) end end'
      process:send((line:gsub('%%s', '4294967297'))) -- both halves are the same
      support.sh(('sleep 0.%03d'):format(5 + round * 7 % 40))
      process:finish 'kill'
      for i = 1, 2 do
        local high, low = s:view('uint32')[2 * i - 1], s:view('uint32')[2 * i]
        assert.equal(high, low)
      end
      local before = atomic.load(s, 2)
      assert.equal(before, atomic.add(s, 2, 0))
      started[1] = processes.start()
      -- Processes that were killed leave the name, and the next one takes it.
      started[1]:tell('s, atomic = torch.LongStorage(%q, true, nil, true), torch.atomic', name)
    end
    finish(started)
  end)

  it('wake nobody by being killed', function()
    local s, started = start(3, 'Int', 1)
    started[1]:send 'atomic.wait(s, 1, 0, 60)'
    started[2]:send 'atomic.wait(s, 1, 0, 0.4)'
    support.sh 'sleep 0.15'
    started[1]:finish 'kill'
    assert.matches('timed%-out', started[2]:hear())
    assert.equal(0, atomic.notify(s, 1))
    started[3]:send 'atomic.wait(s, 1, 0, 60)'
    while atomic.notify(s, 1, 5) == 0 do
      support.sh 'sleep 0.01'
    end
    assert.matches('ok', started[3]:hear())
    started[2]:finish 'return'
    started[3]:finish 'return'
  end)

  if support.luajit then
    it('wake and count with the child that they fork', function()
      local parent = processes.start()
      parent:tell 's, atomic = torch.LongStorage(2):shareMemory(), torch.atomic'
      local child = parent:fork()
      child:send 'atomic.wait(s, 1, 0, 60)'
      parent:tell 'while atomic.notify(s, 1) == 0 do os.execute "sleep 0.01" end'
      assert.matches('ok', child:hear())
      all({ parent, child }, 'for _ = 1, %d do atomic.add(s, 2, 1) end', ROUNDS)
      assert.equal(tostring(2 * ROUNDS), parent:tell 's[2]')
      child:finish 'return'
      parent:finish 'return'
    end)
  end
end)
