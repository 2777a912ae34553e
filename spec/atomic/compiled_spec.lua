-- torch.atomic in code that LuaJIT compiles: the traces, what a trace does when it is left, values that pretend to be storages,
-- and the same results as in C.
-- Interpreters: luajit, luajit -joff, .tools/bin/luajit-rolling
local torch = require 'torch'
local support = require 'spec.support'

local atomic, exact = torch.atomic, torch.atomic.exact
local jit = rawget(_G, 'jit')
local is_compiled = jit ~= nil and jit.status()

local CALLS = {
  load = 'local x = atomic.load(s, i)',
  add = 'atomic.add(s, i, 1)',
  max = 'local x = atomic.max(s, i, i)',
  exchange = 'local x = atomic.exchange(s, i, i)',
  compareExchange = 'local x, w = atomic.compareExchange(s, i, i, i + 1)',
  store = 'atomic.store(s, i, i)',
}

describe('torch.atomic in a loop', function()
  support.cases('is compiled to a call of a C function: %s', CALLS, function(call)
    if not is_compiled then
      return
    end
    local listing = support.child(([[
      local torch = require 'torch'
      local atomic, s, t = torch.atomic, torch.LongStorage(300), {}
      for i = 1, 300 do t[i] = i end
      collectgarbage() collectgarbage()
      require('jit.dump').on('i', '-')
      for i = 1, 300 do %s local y = t[i] + 0 end
      require('jit.dump').off()
    ]]):format(call))
    assert.matches('CALLXS', listing, 1, true)
    assert.is_nil(listing:find('abort', 1, true), listing)
  end)

  -- The element of `t` is no number, so the trace is left behind the call, and the interpreter goes on there.
  it('does nothing twice where a trace is left', function()
    for _, T in ipairs { 'Int', 'Long', 'Double' } do
      local s, t = torch[T .. 'Storage'](2), {}
      for i = 1, 300 do
        t[i] = i
      end
      local passes = 0
      local function f()
        for i = 1, 300 do
          atomic.add(s, 1, 1)
          local old, written = atomic.compareExchange(s, 2, passes, passes + 1)
          assert(written and old == passes)
          passes = passes + 1
          local _ = t[i] + 0
        end
      end
      for _ = 1, 5 do
        f()
      end
      t[200] = 'x'
      pcall(f)
      assert.same({ 5 * 300 + 200, 5 * 300 + 200, 1700 }, { passes, s[1], s[2] })
    end
  end)

  -- Each NaN is left to the C function.
  it('does nothing twice where an element is NaN', function()
    local s = torch.DoubleStorage(3)
    local results = {}
    for i = 1, 400 do
      if i % 100 == 0 then
        s[2] = 0 / 0
      end
      atomic.add(s, 1, 1)
      local old = atomic.exchange(s, 2, i)
      results[i] = old == old and old or 'nan'
      atomic.add(s, 3, i % 150 == 0 and 0 / 0 or 1)
      if i % 150 == 0 then
        assert.is_true(s[3] ~= s[3])
        s[3] = 0
      end
    end
    assert.same({ 400, 400, 100 }, { s[1], s[2], s[3] })
    for i = 1, 400 do
      assert.equal(i % 100 == 0 and 'nan' or i - 1, results[i])
    end
  end)

  it('finds the storage as a finalizer left it #process', function()
    local text = support.child [[
      local torch = require 'torch'
      local atomic, s, armed = torch.atomic, nil, nil
      local acts = {
        free = function() s:free() end,
        resize = function() s:resize(0) end,
        move = function() local view = torch.LongStorage(s, 1, 1) s:resize(5e5) view:free() end,
      }
      local ran, failed, kept = 0, 0, {}
      collectgarbage('setpause', 0)
      for name, act in pairs(acts) do
        for round = 1, 200 do
          s = torch.LongStorage(1e5)
          local function f()
            for i = 1, 100 do
              atomic.add(s, 100, 1)
              atomic.max(s, 1e5, i)
              kept[i] = { atomic.load(s, i) } -- the collector runs here
            end
          end
          pcall(f)
          local proxy = newproxy(true)
          getmetatable(proxy).__gc = function() ran = ran + 1 pcall(act) end
          proxy = nil
          collectgarbage('setstepmul', 1 + round)
          local ok, message = pcall(f)
          assert(ok or message:find 'freed' or message:find 'range', message)
          failed = failed + (ok and 0 or 1)
        end
      end
      print('whole', ran > 100, failed > 0)
    ]]
    assert.equal('whole\ttrue\ttrue', text)
  end)

  it('knows values that pretend to be storages #process', function()
    local text = support.child [[
      local torch = require 'torch'
      local atomic, s = torch.atomic, torch.IntStorage { 1, 2 }
      local class = torch.getmetatable 'torch.IntStorage'
      local locked = newproxy(true)
      getmetatable(locked).__metatable = class
      local mine = newproxy(true)
      debug.setmetatable(mine, class)
      local file = io.tmpfile()
      debug.setmetatable(file, class)
      local other = torch.ByteStorage(1)
      debug.setmetatable(other, class)
      local function all(...)
        for _, value in ipairs { ... } do
          for _, f in ipairs { atomic.add, atomic.store, atomic.compareExchange, atomic.load } do
            for i = 1, 100 do
              f(s, 1, 0, 0)
            end
            local ok, message = pcall(f, value, 1, 0, 0)
            assert(not ok and message:find 'expected, got' or value == other, message)
          end
        end
      end
      all(locked, mine, file, 'text', 5, print, other, coroutine.create(function() end))
      -- All light userdata get the metatable of the class.
      local light = require('torch.core').light
      debug.setmetatable(light, class)
      all(light)
      assert(atomic.add(s, 1, 5) == 0 and s[1] == 5)
      debug.setmetatable(light, nil)
      print 'whole'
    ]]
    assert.equal('whole', text)
  end)

  it('gives the same results as the functions in C', function()
    local seed = 1
    local function dice(bound)
      seed = (seed * 16807) % 2147483647
      return math.floor(seed / 8) % bound + 1
    end
    local VALUES =
      { 0, 1, -1, 2, 255, 256, -129, 65535, 1.9, -1.9, 2 ^ 31, 2 ^ 32 - 1, -2 ^ 31, 2 ^ 53, 1e300, 1 / 0, -1 / 0, 3 }
    local NAMES = { 'add', 'sub', 'band', 'bor', 'bxor', 'min', 'max', 'exchange', 'store', 'load', 'compareExchange' }
    for _, entry in ipairs(require('torch.core').classes) do
      if atomic.isLockFree(entry.constructor) then
        local s, o = entry.constructor(4), entry.constructor(4)
        for round = 1, support.rounds(2000, 20000) do
          local name, i, v, w = NAMES[dice(#NAMES)], dice(4), VALUES[dice(#VALUES)], VALUES[dice(#VALUES)]
          if name == 'compareExchange' and dice(2) == 1 then
            v = s[i]
          end
          local ok, a, b = pcall(atomic[name], s, i, v, w)
          local same, c, d = pcall(exact[name], o, i, v, w)
          if not ok then
            a, c = nil, nil
          elseif type(c) ~= 'number' then
            c = torch.DoubleStorage({ c })[1] -- an FFI integer, or text
          end
          if ok ~= same or not (a == c or a ~= a and c ~= c) or b ~= d or s:string() ~= o:string() then
            error(
              ('%s %s(%d, %s, %s), round %d: %s %s, %s %s'):format(
                entry.name,
                name,
                i,
                tostring(v),
                tostring(w),
                round,
                tostring(a),
                tostring(b),
                tostring(c),
                tostring(d)
              )
            )
          end
        end
      end
    end
  end)
end)
