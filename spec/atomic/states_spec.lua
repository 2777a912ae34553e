-- Lua states in threads that count, exchange and wait with the same elements at once.
-- ATOMIC_ROUNDS in the environment repeats everything that often; 1e6 takes some minutes.
-- Interpreters: luajit, luajit -joff, .tools/bin/luajit-rolling, lua5.1, lua5.4
local host = require 'spec.support.host'

local ROUNDS = tonumber(os.getenv 'ATOMIC_ROUNDS') or 2000

-- Runs a script in four states. `s` is the same storage in all of them.
local function together(class, size, script)
  host.run(
    4,
    ([[
      local atomic, ROUNDS = torch.atomic, %d
      if me == 1 then
        torch.publish('shared', torch.%sStorage(%d))
      end
      meet()
      local s = torch.lookup 'shared'
      -- Waits until an element of an IntStorage is (or is not) a number. It sleeps only if that takes long.
      local function until_is(i, n, is)
        local tries = 0
        while (atomic.load(s, i) == n) ~= is do
          tries = tries + 1
          if tries > 300 then
            atomic.wait(s, i, atomic.load(s, i), 0.001)
          end
        end
      end
      meet()
      %s
      meet()
      if me == 1 then
        torch.unpublish 'shared'
      end
    ]]):format(ROUNDS, class, size, script)
  )
end

describe('Lua states that use the same elements #process', function()
  for _, T in ipairs { 'Byte', 'Char', 'Short', 'Int', 'Long', 'UInt16', 'UInt32', 'UInt64', 'Float', 'Double' } do
    it(('lose no count in a %sStorage'):format(T), function()
      together(T, 3, [[
        for _ = 1, ROUNDS do
          atomic.add(s, 2, 3)
          atomic.sub(s, 2, 1)
        end
        for _ = 1, ROUNDS do
          local old, written = s[3], false
          while not written do
            old, written = atomic.compareExchange(s, 3, old, old + 1)
            if written then break end
          end
        end
        meet()
        local expected = torch.]] .. T .. [[Storage { 2 * 4 * ROUNDS, 4 * ROUNDS }
        if s:type():find 'Float' then
          -- Sums beyond 2^24 are rounded.
          assert(4 * ROUNDS * 3 > 2 ^ 24 or s[2] == expected[1], s[2])
        else
          equal(expected[1], s[2])
          equal(expected[2], s[3])
        end
        equal(0, s[1])
      ]])
    end)
  end

  it('take turns by an element that they exchange', function()
    together(
      'Int',
      64,
      [[
      local counts = torch.IntStorage(s, 33, 32)
      for _ = 1, ROUNDS do
        while atomic.exchange(s, 1, 1) == 1 do
          until_is(1, 1, false)
        end
        for i = 1, 32 do
          counts[i] = counts[i] + 1
        end
        atomic.store(s, 1, 0)
      end
      meet()
      for i = 1, 32 do
        equal(4 * ROUNDS, counts[i])
      end
    ]]
    )
  end)

  it('set bits and keep extremes', function()
    together(
      'UInt32',
      4,
      [[
      atomic.store(s, 3, 4e9)
      meet()
      for n = 1, ROUNDS do
        atomic.bor(s, 1, 2 ^ (8 * (me - 1)))
        atomic.bxor(s, 2, 2 ^ (me + 3))
        atomic.max(s, 4, 10 * n + me)
        atomic.min(s, 3, 4e9 - 10 * n - me)
      end
      meet()
      equal(16843009, s[1])
      equal(ROUNDS % 2 * 240, s[2])
      equal(10 * ROUNDS + 4, s[4])
      equal(4e9 - 10 * ROUNDS - 4, s[3])
    ]]
    )
  end)

  it('see what was written before a store', function()
    together(
      'Int',
      40,
      [[
      -- States 1 and 3 write a message, 2 and 4 read it.
      local base = me <= 2 and 0 or 20
      for n = 1, ROUNDS do
        if me % 2 == 1 then
          until_is(base + 1, n - 1, true)
          for i = 3, 12 do
            s[base + i] = n * i
          end
          atomic.store(s, base + 2, n)
        else
          until_is(base + 2, n, true)
          for i = 3, 12 do
            equal(n * i, s[base + i])
          end
          atomic.store(s, base + 1, n)
        end
      end
    ]]
    )
  end)

  for _, T in ipairs { 'Int', 'Long' } do
    it(('wake each other in a %sStorage, and no wake-up is lost'):format(T), function()
      together(
        T,
        2,
        [[
        local turn = me <= 2 and 1 or 2
        local mine = (me - 1) % 2
        for n = 0, ROUNDS - 1 do
          local wanted = 2 * n + mine
          while true do
            local now = atomic.load(s, turn)
            if now == wanted then break end
            local result = atomic.wait(s, turn, now, 60)
            assert(result ~= 'timed-out', 'a wake-up was lost')
          end
          atomic.add(s, turn, 1)
          atomic.notify(s, turn)
        end
        meet()
        equal(2 * ROUNDS, s[turn])
      ]]
      )
    end)
  end

  it('are woken one by one, and all at once, although nothing has changed', function()
    together(
      'Long',
      3,
      [[
      if me > 1 then
        equal('ok', atomic.wait(s, 1, 0, 60))
        atomic.add(s, 2, 1)
        equal('ok', atomic.wait(s, 3, 0, 60))
      else
        for _ = 1, 3 do
          while atomic.notify(s, 1, 1) == 0 do end
        end
        while atomic.load(s, 2) < 3 do end
        local woken = 0
        while woken < 3 do
          woken = woken + atomic.notify(s, 3)
        end
        equal(3, woken)
      end
    ]]
    )
  end)
end)
