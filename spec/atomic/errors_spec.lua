-- Wrong arguments of torch.atomic: an error says what is wrong, and no element has changed.
local torch = require 'torch'
local support = require 'spec.support'

local atomic = torch.atomic
local SETTERS = { 'store', 'exchange', 'add', 'sub', 'band', 'bor', 'bxor', 'min', 'max', 'compareExchange' }
local ALL_BITS, NUMBERS = 'Byte, Char, Short, Int, Long, UInt16, UInt32, UInt64 or Bool', 'UInt64, Float or Double'

-- Calls f(...), which has to raise an error that contains `text`. Later Luas know that it is a function of the module
-- torch.atomic.
local function fails_now(text, f, ...)
  local message = support.failure(f, ...):gsub("'torch%.atomic%.", "'")
  assert.matches(text, message, 1, true)
end

-- Does this before and after a loop with right arguments that LuaJIT compiles.
local function fails(text, f, ...)
  fails_now(text, f, ...)
  local right = torch.IntStorage(1)
  for n = 1, 120 do
    if n % 60 == 0 then
      fails_now(text, f, ...)
    else
      f(right, 1, 0, 0)
    end
  end
end

describe('torch.atomic', function()
  it('refuses indices out of range', function()
    local s = torch.IntStorage { 1, 2, 3 }
    for _, name in ipairs(SETTERS) do
      fails('index 4 is out of range: the storage has 3 elements, 1 to 3', atomic[name], s, 4, 7, 7)
      fails('index 0 is out of range: the storage has 3 elements, 1 to 3; indices begin at 1', atomic[name], s, 0, 7, 7)
      fails('index nan is out of range', atomic[name], s, 0 / 0, 7, 7)
      fails('index 1 is out of range: the storage is empty', atomic[name], torch.IntStorage(), 1, 7, 7)
    end
    fails('index -1 is out of range', atomic.load, s, -1)
    fails('index 4 is out of range', atomic.wait, s, 4, 0, 0)
    fails('index 4 is out of range', atomic.notify, s, 4)
    assert.same({ 1, 2, 3 }, s:totable())
  end)

  it('refuses elements that are not aligned', function()
    local bytes = torch.ByteStorage(64)
    for T, width in pairs { Short = 2, UInt16 = 2, Int = 4, UInt32 = 4, Float = 4, Long = 8, UInt64 = 8, Double = 8 } do
      local s = bytes:view(torch[T .. 'Storage'], width - 1, 2)
      local text =
        'not aligned: elements of a torch.%sStorage are accessed at once where their address is a multiple of '
      text = text:format(T) .. width
      for _, name in ipairs(SETTERS) do
        if not (name:find '^b' and (T == 'Float' or T == 'Double')) then
          fails(text, atomic[name], s, 2, 7, 7)
        end
      end
      fails(text, atomic.load, s, 1)
      if T == 'Long' then
        fails(text .. ', and the first one is 7 bytes behind such an address', atomic.wait, s, 1, 0, 0)
        fails(text, atomic.notify, s, 1)
      end
      local aligned = bytes:view(torch[T .. 'Storage'], width, 2)
      assert.equal(0, atomic.add(aligned, 1, 0))
    end
    assert.equal(('\0'):rep(64), bytes:string())
  end)

  it('refuses to write to storages that are read-only, and reads them', function()
    local s = torch.frombuffer('abcdefgh', { dtype = 'int32' })
    for _, name in ipairs(SETTERS) do
      fails('read-only: the storage is read-only memory of the caller', atomic[name], s, 1, 7, 7)
    end
    assert.equal(s[2], atomic.load(s, 2))
    assert.equal('not-equal', atomic.wait(s, 1, 0, 0.01))
    assert.equal('timed-out', atomic.wait(s, 1, s[1], 0.01))
    assert.equal(0, atomic.notify(s, 1))
    assert.equal('abcdefgh', s:string())
  end)

  it('refuses storages that were freed', function()
    local s = torch.IntStorage(3)
    s:free()
    for _, name in ipairs(SETTERS) do
      fails(("bad argument #1 to '%s' (storage was freed)"):format(name), atomic[name], s, 1, 7, 7)
    end
    for _, name in ipairs { 'load', 'wait', 'notify' } do
      fails_now('storage was freed', atomic[name], s, 1, 0)
    end
  end)

  it('refuses other classes, and says which it takes', function()
    for _, T in ipairs { 'Half', 'BFloat16', 'Float8_e5m2', 'ComplexFloat', 'ComplexDouble', 'Untyped' } do
      local s = torch[T .. 'Storage'](8)
      for _, name in ipairs { 'load', 'store', 'exchange', 'compareExchange' } do
        local text = "bad argument #1 to '%s' (storage of Byte, Char, Short, Int, Long, UInt16, UInt32, UInt64, Bool, "
          .. 'Float or Double expected, got torch.%sStorage)'
        fails(text:format(name, T), atomic[name], s, 1, 0, 0)
      end
      fails(('expected, got torch.%sStorage'):format(T), atomic.add, s, 1, 0)
    end
    for _, name in ipairs { 'add', 'sub', 'min', 'max' } do
      fails(NUMBERS .. ' expected, got torch.BoolStorage', atomic[name], torch.BoolStorage(1), 1, 1)
    end
    for _, name in ipairs { 'band', 'bor', 'bxor' } do
      fails(ALL_BITS .. ' expected, got torch.FloatStorage', atomic[name], torch.FloatStorage(1), 1, 1)
      fails(ALL_BITS .. ' expected, got torch.DoubleStorage', atomic[name], torch.DoubleStorage(1), 1, 1)
    end
    for _, T in ipairs { 'Byte', 'Short', 'Bool', 'Float', 'Double', 'Half' } do
      local text = 'storage of Int, UInt32, Long or UInt64 expected, got torch.%sStorage'
      fails_now(text:format(T), atomic.wait, torch[T .. 'Storage'](1), 1, 0, 0)
      fails_now(text:format(T), atomic.notify, torch[T .. 'Storage'](1), 1)
    end
  end)

  it('refuses what is not a storage', function()
    local x = torch.IntTensor(2)
    for _, name in ipairs(SETTERS) do
      local text = "bad argument #1 to '%s' (torch.*Storage expected, got torch.IntTensor: x:storage() is its storage)"
      fails(text:format(name), atomic[name], x, 1, 0, 0)
      fails(("bad argument #1 to '%s' (torch.*Storage expected, got nil)"):format(name), atomic[name], nil, 1, 0, 0)
      fails('expected, got userdata', atomic[name], io.stdout, 1, 0, 0)
      fails('expected, got table', atomic[name], {}, 1, 0, 0)
      fails_now(("bad argument #1 to '%s' (torch.*Storage expected, got no value)"):format(name), atomic[name])
    end
    fails_now('torch.*Storage expected, got torch.IntTensor', atomic.wait, x, 1, 0, 0)
  end)

  it('refuses values that are no numbers', function()
    local s, b = torch.IntStorage(1), torch.BoolStorage(1)
    for _, name in ipairs(SETTERS) do
      fails(("bad argument #2 to '%s' (number expected, got boolean)"):format(name), atomic[name], s, true, 0, 0)
      fails(("bad argument #2 to '%s' (number expected, got nil)"):format(name), atomic[name], s, nil, 0, 0)
      fails(("bad argument #3 to '%s' (number expected, got boolean)"):format(name), atomic[name], s, 1, true, 0)
      fails(("bad argument #3 to '%s' (number expected, got string)"):format(name), atomic[name], s, 1, 'x', 0)
      fails_now(("bad argument #3 to '%s' (number expected, got no value)"):format(name), atomic[name], s, 1)
    end
    fails("bad argument #4 to 'compareExchange' (number expected, got table)", atomic.compareExchange, s, 1, 0, {})
    fails("bad argument #3 to 'store' (number or boolean expected, got nil)", atomic.store, b, 1, nil)
    fails_now('a time-out is a number of seconds, got nan', atomic.wait, s, 1, 0, 0 / 0)
    fails_now("bad argument #4 to 'wait' (number expected, got boolean)", atomic.wait, s, 1, 0, true)
    fails_now('a number of waiters from 0 on is expected, got -1', atomic.notify, s, 1, -1)
    fails_now('a number of waiters from 0 on is expected, got nan', atomic.notify, s, 1, 0 / 0)
    fails_now("bad argument #1 to 'isLockFree' (class", atomic.isLockFree)
    fails_now("no class 'x'", atomic.isLockFree, 'x')
    assert.same({ 0, 0 }, { s[1], b[1] })
  end)

  it('says at which line of the program it failed', function()
    local s = torch.IntStorage(1)
    local message = support.failure(function()
      atomic.add(s, 2, 1)
    end)
    assert.matches('^spec/atomic/errors_spec.lua:%d+: index 2 is out of range', message)
  end)
end)
