-- Memory that Lua does not see: dropped storages are collected in time, live ones stay, and all memory is returned.
-- Interpreters: luajit, lua5.1, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

-- The start of every child: functions for the memory it holds, and for the peak of it while `step` runs.
local PRELUDE = [[
  local torch = require 'torch'
  local function resident()
    local file = io.open '/proc/self/status'
    local kilobytes = file:read('*a'):match 'VmRSS:%s*(%d+)'
    file:close()
    return kilobytes / 1024
  end
  local function peak(count, step)
    local most = 0
    for i = 1, count do
      step(i)
      if i % 4 == 0 then
        most = math.max(most, resident(), torch.memory().heap / 2 ^ 20)
      end
    end
    return most
  end
]]

-- Runs a child, which has to end without an error, and returns what it prints.
local function child(source, interpreter)
  local output = support.child(PRELUDE .. source, interpreter)
  return output
end

local function megabytes(source, interpreter)
  return assert(tonumber(child(source, interpreter)))
end

describe('dropped storages #process #slow', function()
  it('stay under 200 MB when 400 of 8 MB are made', function()
    local most = megabytes [[
      print(peak(400, function(i)
        local s = torch.DoubleStorage(2 ^ 20):fill(i)
        assert(s[2 ^ 20] == i)
      end))
    ]]
    assert.is_true(most < 200, most)
    assert.is_true(most > 8, most)
  end)

  -- All other ways to get memory. Fifty of these storages would be 400 MB.
  local makers = {
    ['clone'] = 'base:clone()',
    ['type'] = "floats:type 'torch.DoubleStorage'",
    ['fromstring'] = 'torch.LongStorage.fromstring(text)',
    ['resize'] = 'torch.DoubleStorage():resize(2 ^ 20):fill(i)',
    ['resize, step by step'] = 'local s = torch.DoubleStorage() for k = 1, 16 do s:resize(k * 2 ^ 16) end s:fill(i)',
    ['reserve'] = 'torch.DoubleStorage():reserve(2 ^ 20):resize(2 ^ 20):fill(i)',
    ['string'] = 'torch.ByteStorage():string(text)',
    ['argsort'] = 'base:argsort()',
    ['topk'] = 'base:topk(#base)',
    ['search'] = 'base:search(base)',
    ['sort of a tensor'] = 'base:view(-1):sort()',
    ['a sum along a dimension'] = 'base:view(1, #base):sum(1)',
    ['a least element along a dimension'] = 'base:view(1, #base):min(1)',
    ['mv'] = 'base:view(#base, 1):mv(torch.DoubleTensor { 1 })',
    ['nearest'] = 'base:view(#base, 1):nearest(torch.DoubleTensor { 1 }, #base)',
    ['cat'] = 'torch.cat(base, base)',
    ['column'] = "base:untyped():column('float64', 0, 8)",
    ['a view alone'] = 'local s = base:clone() local v = torch.DoubleStorage(s, 2) s:free()',
    ['a view of what has moved'] = 'local s = base:clone() local v = torch.DoubleStorage(s, 2) s:resize(0)',
    ['a coroutine'] = 'coroutine.wrap(function() local s = base:clone() coroutine.yield(s) s:fill(0) end)()',
    ['a table'] = 'local t = { base:clone() } t[1][1] = 2',
    ['pushudata'] = [[
      local s = base:clone()
      s:retain()
      local address = torch.pointer(s)
      s:free()
      s:retain()
      s:free()
      s = base:clone()
      s:retain()
      torch.pushudata(torch.pointer(s), 'torch.DoubleStorage')
    ]],
    ['a failing call'] = 'pcall(torch.DoubleStorage, base:clone(), 2 ^ 40)',
  }
  support.cases('stay under 200 MB when made by: %s', makers, function(code)
    local most = megabytes([[
      local base = torch.DoubleStorage(2 ^ 20):fill(7)
      local floats = torch.FloatStorage(2 ^ 20):fill(7)
      local text = ('x'):rep(2 ^ 23)
      print(peak(50, function(i) ]] .. code .. [[ end))
    ]])
    assert.is_true(most < 200, most)
  end)

  it('stay under 200 MB when a million of 1 KB are made', function()
    local most = megabytes [[
      print(peak(1000, function()
        for i = 1, 1000 do
          torch.FloatStorage(256):fill(i)
        end
      end))
    ]]
    assert.is_true(most < 200, most)
  end)

  it('stay under 200 MB when a million empty ones and views are made', function()
    local most = megabytes [[
      local s = torch.IntStorage(10)
      print(peak(1000, function()
        for i = 1, 500 do
          torch.IntStorage(0)
          torch.IntStorage(s, 2, 3)
        end
      end))
    ]]
    assert.is_true(most < 200, most)
  end)

  it('do not cause a collection each', function()
    -- 400 storages of 8 MB are 3,200 MB: one collection per 64 MB makes 50 collections.
    local collections = megabytes [[
      local collections = 0
      local function sentinel()
        getmetatable(newproxy(true)).__gc = function()
          collections = collections + 1
          sentinel()
        end
      end
      sentinel()
      collectgarbage()
      collections = 0
      for i = 1, 400 do
        torch.DoubleStorage(2 ^ 20)
      end
      print(collections)
    ]]
    assert.is_true(collections >= 20 and collections <= 80, collections)
  end)

  it('cause fewer collections when much memory is live', function()
    -- With 400 MB alive, another 400 MB may be allocated before a collection is worthwhile, but not three times as much.
    local most = megabytes [[
      local live = {}
      for i = 1, 50 do
        live[i] = torch.DoubleStorage(2 ^ 20):fill(i)
      end
      local most = peak(200, function(i)
        torch.DoubleStorage(2 ^ 20):fill(i)
      end)
      for i = 1, 50 do
        assert(live[i]:equal(torch.DoubleStorage(2 ^ 20):fill(i)))
      end
      print(most)
    ]]
    assert.is_true(most < 1000, most)
    assert.is_true(most > 400, most)
  end)

  it("are left to Lua's own collector after setheaptracking(false)", function()
    local off, on = child([[
      collectgarbage()
      torch.setheaptracking(false)
      local off = peak(60, function(i) torch.DoubleStorage(2 ^ 20):fill(i) end)
      torch.setheaptracking(true)
      torch.DoubleStorage(1)
      print(off .. ' ' .. torch.memory().heap / 2 ^ 20)
    ]]):match '^(%S+) (%S+)$'
    assert.is_true(tonumber(off) > 400, off)
    assert.is_true(tonumber(on) < 10, on)
    -- Tracking does not start a collector that was stopped.
    assert.equal(
      'false',
      child [[
        collectgarbage()
        collectgarbage 'stop'
        torch.setheaptracking(false)
        local collected = false
        getmetatable(newproxy(true)).__gc = function() collected = true end
        for _ = 1, 60 do torch.DoubleStorage(2 ^ 20) end
        print(collected)
      ]]
    )
  end)

  it('are collected when the system has no memory left', function()
    -- Tracking is off, so collections are caused only by failed allocations, in each of the ways to get memory.
    for _, code in ipairs {
      'torch.ByteStorage(3e8)',
      'torch.ByteStorage(1):resize(3e8):fill(i)',
      'torch.ByteStorage(1):reserve(3e8)',
      "torch.DoubleStorage(small):type 'torch.CharStorage'",
    } do
      local output = support.child(
        PRELUDE
          .. 'local small = torch.DoubleStorage(8) torch.setheaptracking(false) for i = 1, 8 do '
          .. code
          .. ' end print "done"',
        'ulimit -v 1200000; ' .. support.interpreter
      )
      assert.equal('done', output)
    end
    -- Live storages stay, and the error is raised in the end.
    local output = support.run(PRELUDE .. [[
        local live = {}
        local ok, message = pcall(function()
          for i = 1, 20 do live[i] = torch.ByteStorage(3e8) end
        end)
        assert(not ok and #live > 0 and #live < 5)
        assert(live[1][3e8] == 0)
        print(message)
      ]], 'ulimit -v 1200000; ' .. support.interpreter)
    assert.is_truthy(output:find('not enough memory: 300000000 bytes', 1, true), output)
  end)
end)

describe('memory', function()
  it('is released by the collector, by free and by resize', function()
    support.collect()
    local base = torch.memory().heap
    local kept = {}
    for i, T in ipairs(types.NUMBERS) do
      kept[i] = torch[T .. 'Storage'](1000 * i)
    end
    local expected = 0
    for i, T in ipairs(types.NUMBERS) do
      expected = expected + 1000 * i * types.WIDTH[T]
    end
    assert.equal(expected, torch.memory().heap - base)
    kept[8]:free()
    assert.equal(expected - 64000, torch.memory().heap - base)
    kept[5]:resize(1)
    assert.equal(expected - 64000 - 40000 + 8, torch.memory().heap - base)
    kept[5]:reserve(1000)
    assert.equal(expected - 64000 - 40000 + 8000, torch.memory().heap - base)
    kept[5]:reserve(0)
    assert.equal(expected - 64000 - 40000 + 8, torch.memory().heap - base)
    kept = nil -- luacheck: ignore
    support.collect()
    assert.equal(base, torch.memory().heap)
  end)

  it('of maps and pointers is counted separately', function()
    local name = support.spit(path 'f', ('x'):rep(100000))
    support.collect()
    local base = torch.memory()
    local map = torch.IntStorage(name)
    local views = { torch.IntStorage(map, 2), torch.IntStorage(map, 5, 0) }
    assert.equal(100000, torch.memory().mapped - base.mapped)
    local foreign = torch.IntStorage(10, map:data())
    assert.equal(40, torch.memory().foreign - base.foreign)
    map:free()
    foreign:free()
    assert.equal(0, torch.memory().foreign - base.foreign)
    assert.equal(100000, torch.memory().mapped - base.mapped)
    assert.equal(24999, #views[1])
    views = nil -- luacheck: ignore
    support.collect()
    assert.same(base, torch.memory())
  end)

  -- Storages of 40 MiB all of it, and smaller ones all but 64 MiB.
  it('is returned to the system #process', function()
    for size, left in pairs { [2 ^ 23] = 72, [5 * 2 ^ 23] = 8 } do
      local before, during, after = child(([[
        local before, kept = resident(), {}
        for i = 1, 2 ^ 28 / %d do
          kept[i] = torch.ByteStorage(%d):fill(i)
        end
        local during = resident()
        kept = nil
        collectgarbage()
        collectgarbage()
        print(before .. ' ' .. during .. ' ' .. resident())
      ]]):format(size, size)):match '^(%S+) (%S+) (%S+)$'
      assert.is_true(during - before > 200)
      assert.is_true(after - before < left, after)
    end
  end)

  it('does not grow with a hundred thousand caught errors #process #slow', function()
    local growth = megabytes [[
      local s = torch.IntStorage(3)
      local calls = {
        function() return s[4] end,
        function() s:copy(torch.DoubleStorage(2)) end,
        function() torch.IntStorage(-1) end,
        function() torch.IntStorage(2 ^ 61) end,
        function() torch.IntStorage { 1, 2, 'x' } end,
        function() torch.IntStorage('/nonexistent/' .. #s) end,
        function() torch.IntStorage(s, 9) end,
        function() s:resize(2 ^ 62) end,
        function() torch.pushudata(77777, 'torch.IntStorage') end,
        function() s:type 'nothing' end,
      }
      local function errors(count)
        for i = 1, count do
          local ok, message = pcall(calls[i % #calls + 1])
          assert(not ok and type(message) == 'string')
        end
        collectgarbage()
        collectgarbage()
        return resident()
      end
      local before = errors(20000)
      print(errors(100000) - before)
    ]]
    assert.is_true(growth < 4, growth)
  end)

  it('does not grow with a million storages that are made and freed by hand #process #slow', function()
    local growth = megabytes [[
      local function round(count)
        for i = 1, count do
          local s = torch.ByteStorage(i % 5000)
          local v = torch.ByteStorage(s)
          s:retain()
          s:resize(i % 3000)
          s:free()
          s:free()
          v:free()
          -- Since Lua 5.3, the collector takes what has a finalizer for live when it decides when to run again, so Lua's own
          -- heap grows in such a loop.
          if math.type and i % 10000 == 0 then collectgarbage() end
        end
        collectgarbage()
        collectgarbage()
        return resident()
      end
      local before = round(20000)
      print(round(250000) - before)
    ]]
    assert.is_true(growth < 8, growth)
  end)
end)
