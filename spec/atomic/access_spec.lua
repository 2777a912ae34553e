-- torch.atomic: what each function does to an element of each class, and what it returns.
local torch = require 'torch'
local support = require 'spec.support'

local atomic = torch.atomic
local INTEGERS = { 'Byte', 'Char', 'Short', 'Int', 'Long', 'UInt16', 'UInt32', 'UInt64' }
local BITS = { Byte = 8, Char = 8, Short = 16, UInt16 = 16, Int = 32, UInt32 = 32, Long = 64, UInt64 = 64 }

-- Calls f often enough that LuaJIT compiles it.
local function often(f)
  for n = 1, 150 do
    f(n)
  end
end

-- The element as `s[i]` gives it, and nil if a function returned something else than that.
local function same(expected, ...)
  assert.equal(1, select('#', ...))
  assert.equal(expected, (...))
end

describe('torch.atomic', function()
  for _, T in ipairs(INTEGERS) do
    it(('counts and exchanges elements of a %sStorage'):format(T), function()
      often(function()
        local s = torch[T .. 'Storage'] { 5, 100 }
        same(5, atomic.load(s, 1))
        same(5, atomic.add(s, 1, 3))
        same(8, atomic.sub(s, 1, 6))
        same(2, atomic.exchange(s, 1, 12))
        same(12, atomic.band(s, 1, 10))
        same(8, atomic.bor(s, 1, 3))
        same(11, atomic.bxor(s, 1, 1))
        same(10, atomic.min(s, 1, 7))
        same(7, atomic.min(s, 1, 9))
        same(7, atomic.max(s, 1, 9))
        same(9, atomic.max(s, 1, 3))
        same(44, atomic.store(s, 1, 44))
        local old, written = atomic.compareExchange(s, 1, 45, 46)
        assert.same({ 44, false, 44 }, { old, written, s[1] })
        old, written = atomic.compareExchange(s, 1, 44, 46)
        assert.same({ 44, true, 46, 100 }, { old, written, s[1], s[2] })
      end)
    end)

    it(('adds modulo 2^bits to elements of a %sStorage, and compares in its order'):format(T), function()
      local s = torch[T .. 'Storage'](1)
      local bits = BITS[T]
      local signed = T == 'Char' or T == 'Short' or T == 'Int' or T == 'Long'
      local least, most = signed and -2 ^ (bits - 1) or 0, tostring(signed and 2 ^ (bits - 1) - 1 or 2 ^ bits - 1)
      if bits == 64 then
        most = signed and '9223372036854775807' or '18446744073709551615'
      end
      often(function()
        s[1] = most
        atomic.add(s, 1, 1)
        assert.equal(tostring(torch[T .. 'Storage']({ least }):decimal(1)), s:decimal(1))
        atomic.sub(s, 1, 1)
        assert.equal(torch[T .. 'Storage']({ most }):decimal(1), s:decimal(1))
        atomic.add(s, 1, 2)
        atomic.sub(s, 1, -1)
        assert.equal(T == 'Long' and '-9223372036854775806' or ('%d'):format(least + 2), s:decimal(1))
        s[1] = 0
        atomic.max(s, 1, -1)
        assert.equal(signed and '0' or torch[T .. 'Storage']({ -1 }):decimal(1), s:decimal(1))
        s[1] = 0
        atomic.min(s, 1, -1)
        assert.equal(signed and '-1' or '0', s:decimal(1))
      end)
    end)
  end

  for _, T in ipairs { 'Float', 'Double' } do
    it(('counts elements of a %sStorage'):format(T), function()
      often(function()
        local s = torch[T .. 'Storage'] { 0.5, 7 }
        assert.equal(0.5, atomic.add(s, 1, 0.25))
        assert.equal(0.75, atomic.sub(s, 1, 1))
        assert.equal(-0.25, atomic.min(s, 1, -3))
        assert.equal(-3, atomic.max(s, 1, 1.5))
        assert.equal(1.5, atomic.exchange(s, 1, -8))
        assert.equal(-8, atomic.load(s, 1))
        assert.equal(2.5, atomic.store(s, 1, 2.5))
        local old, written = atomic.compareExchange(s, 1, 2.5, 3)
        assert.same({ 2.5, true, 3, 7 }, { old, written, s[1], s[2] })
      end)
    end)

    it(('compares elements of a %sStorage by their bits'):format(T), function()
      -- Lua 5.1 takes a constant -0 for 0, and so does LuaJIT of 2022 on ARM64 for `-zero`.
      local zero, minus = 1 / math.huge, -1 / math.huge
      local s = torch[T .. 'Storage'] { minus }
      local old, written = atomic.compareExchange(s, 1, zero, 1)
      assert.same({ 0, false }, { old, written })
      _, written = atomic.compareExchange(s, 1, minus, 1)
      assert.is_true(written)
      s[1] = zero
      _, written = atomic.compareExchange(s, 1, minus, 1)
      assert.is_false(written)
    end)

    it(('keeps NaN in a %sStorage, which is neither smaller nor larger'):format(T), function()
      often(function()
        local s = torch[T .. 'Storage'] { 0 / 0, 1 }
        local function is_nan(x)
          assert.is_true(x ~= x)
        end
        is_nan(atomic.load(s, 1))
        is_nan(atomic.min(s, 1, 3))
        is_nan(atomic.add(s, 1, 1))
        is_nan(s[1])
        is_nan(atomic.exchange(s, 1, 2))
        assert.equal(2, atomic.max(s, 1, 0 / 0))
        assert.equal(2, s[1])
        is_nan(atomic.store(s, 2, 0 / 0))
        is_nan(s[2])
        atomic.store(s, 2, math.huge)
        assert.equal(math.huge, atomic.add(s, 2, -math.huge))
        is_nan(s[2])
      end)
    end)
  end

  it('reads a Bool as 0 or 1, whatever its byte is', function()
    often(function()
      local bytes = torch.ByteStorage { 7, 0 }
      local s = bytes:view 'bool'
      same(1, atomic.load(s, 1))
      same(1, atomic.band(s, 1, true))
      local old, written = atomic.compareExchange(s, 1, true, false)
      assert.same({ 1, true, 0 }, { old, written, bytes[1] })
      same(0, atomic.exchange(s, 1, 3))
      same(1, bytes[1])
      same(1, atomic.bxor(s, 1, 1))
      same(0, atomic.bor(s, 1, true))
      same(1, atomic.store(s, 2, 0.5))
      old, written = atomic.compareExchange(s, 2, 0, 1)
      assert.same({ 1, false }, { old, written })
    end)
  end)

  it('converts values by the rule of numbers', function()
    often(function()
      local s = torch.ByteStorage { 100 }
      same(100, atomic.max(s, 1, 300))
      same(100, s[1])
      same(100, atomic.min(s, 1, 300))
      same(44, s[1])
      local old, written = atomic.compareExchange(s, 1, 300, 5.9)
      assert.same({ 44, true, 5 }, { old, written, s[1] })
      same(255, atomic.store(s, 1, -1.9))
      same(0, atomic.store(s, 1, 0 / 0))
      same(12, atomic.store(s, 1, '12'))
      same(12, atomic.load(s, '1'))
      same(12, atomic.load(s, 1.9))
    end)
  end)

  it('never rounds an integer of 64 bits that it compares', function()
    local s = torch.LongStorage { '9007199254740993' }
    local old, written = atomic.compareExchange(s, 1, '9007199254740992', 1)
    assert.same({ false, '9007199254740993' }, { written, s:decimal(1) })
    assert.equal(s[1], old)
    written = select(2, atomic.compareExchange(s, 1, s:exact(1), '9007199254740995'))
    assert.same({ true, '9007199254740995' }, { written, s:decimal(1) })
    atomic.add(s, 1, '9223372036854775807')
    assert.equal('-9214364837600034814', s:decimal(1))
    local unsigned = torch.UInt64Storage { '18446744073709551615' }
    written = select(2, atomic.compareExchange(unsigned, 1, '18446744073709551615', '18446744073709551614'))
    assert.same({ true, '18446744073709551614' }, { written, unsigned:decimal(1) })
    often(function()
      s[1] = 2 ^ 53
      old, written = atomic.compareExchange(s, 1, 2 ^ 53, 2 ^ 60)
      assert.same({ 2 ^ 53, true }, { old, written })
      old, written = atomic.compareExchange(s, 1, 1, 2)
      assert.same({ 2 ^ 60, false }, { old, written })
      old, written = atomic.compareExchange(s, 1, 2 ^ 60, -2 ^ 52)
      assert.same({ 2 ^ 60, true, '-4503599627370496' }, { old, written, s:decimal(1) })
    end)
  end)

  it('works on views, on mapped files and on shared memory', function()
    local name = os.tmpname()
    local file = torch.IntStorage(name, true, 4)
    for _, s in ipairs {
      torch.IntStorage(8),
      torch.IntStorage(torch.IntStorage(8), 3, 4),
      file,
      torch.IntStorage(4):shareMemory(),
    } do
      often(function(n)
        assert.equal(n - 1, atomic.add(s, 2, 1))
      end)
      assert.same({ 0, 150, 0, 0 }, { s[1], s[2], s[3], s[4] })
    end
    assert.equal(150, atomic.load(torch.IntStorage { filename = name, readonly = true }, 2))
    file:free()
    os.remove(name)
  end)

  it('tells which classes it can access', function()
    for _, entry in ipairs(require('torch.core').classes) do
      local can = BITS[entry.element] ~= nil
        or entry.element == 'Bool'
        or entry.element == 'Float'
        or entry.element == 'Double'
      assert.equal(can, atomic.isLockFree(entry.name))
      assert.equal(can, pcall(atomic.load, entry.constructor(1), 1))
    end
    assert.is_true(atomic.isLockFree 'int64')
    assert.is_false(atomic.isLockFree(torch.HalfStorage))
  end)

  it('has a table of the same functions that lose no bits', function()
    local exact = atomic.exact
    for name in pairs(atomic) do
      assert.equal(name ~= 'exact', exact[name] ~= nil, name)
    end
    local s = torch.LongStorage { '9007199254740993' }
    local function is(expected, value)
      assert.equal(expected, torch.LongStorage({ value }):decimal(1))
    end
    is('9007199254740993', exact.load(s, 1))
    is('9007199254740993', exact.add(s, 1, 1))
    is('9007199254740994', exact.sub(s, 1, 2))
    is('9007199254740992', exact.exchange(s, 1, '-9007199254740993'))
    is('-9007199254740993', exact.max(s, 1, '9007199254740993'))
    is('9007199254740993', exact.min(s, 1, '9007199254740993'))
    is('9007199254740993', exact.band(s, 1, 3))
    is('1', exact.bor(s, 1, '9007199254740992'))
    is('9007199254740993', exact.bxor(s, 1, '9007199254740993'))
    is('9007199254740993', exact.store(s, 1, '9007199254740993'))
    local old, written = exact.compareExchange(s, 1, exact.load(s, 1), 5)
    is('9007199254740993', old)
    assert.is_true(written)
    assert.equal(5, exact.load(torch.ByteStorage { 5 }, 1))
    assert.equal('torch.atomic', tostring(atomic))
    assert.equal('torch.atomic.exact', tostring(exact))
    if support.luajit then
      assert.equal('5LL', tostring(exact.load(s, 1)))
    end
  end)
end)
