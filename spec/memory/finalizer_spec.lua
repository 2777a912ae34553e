-- Finalizers may make, change and free storages whenever the collector runs them, even when the Lua state closes.
local support = require 'spec.support'

local path = support.temporary()

-- The start of most children. The proxy is kept in a local until its finalizer is set, so that it is not collected before.
local PRELUDE = [[
  local torch = require 'torch'
  local function finalizer(f)
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = f
  end
]]

-- Runs a child, which has to end without an error, and returns what it prints with spaces instead of tabs.
local function child(source)
  local output = support.child(source)
  return (output:gsub('\t', ' '))
end

-- The current LuaJIT writes a line to standard error for each error in a finalizer. Other hosts drop the error.
local function without_reports(output)
  return (output:gsub('ERROR in finalizer: [^\n]*\n', ''))
end

describe('a finalizer #process', function()
  it('can make a storage, in each of five thousand pending finalizers', function()
    assert.equal(
      '5000 true',
      child(PRELUDE .. [[
        local built, right = 0, true
        local function build(i)
          finalizer(function()
            local s = torch.IntStorage(8192):fill(i)
            right = right and s[8192] == i and torch.IntStorage(s, 2):clone():equal(torch.IntStorage(s, 2))
            built = built + 1
          end)
        end
        for i = 1, 5000 do
          build(i)
        end
        collectgarbage()
        collectgarbage()
        print(built, right)
      ]])
    )
  end)

  it('can make a storage that starts the collector again', function()
    -- 5,000 pending finalizers of 128 KB each: the limit is passed at construction after construction. Collections inside
    -- collections would overflow the C stack.
    assert.equal(
      '5000',
      child(PRELUDE .. [[
        local built = 0
        local function build()
          finalizer(function()
            torch.ByteStorage(2 ^ 17)
            built = built + 1
          end)
        end
        collectgarbage 'stop'
        for _ = 1, 5000 do
          build()
        end
        collectgarbage 'restart'
        for _ = 1, 100 do
          torch.ByteStorage(2 ^ 20)
        end
        collectgarbage()
        print(built)
      ]])
    )
  end)

  it('can create an object with a finalizer that does the same, a thousand levels deep', function()
    assert.equal(
      'true 1000',
      child(PRELUDE .. [[
        local deep, rounds = 0, 0
        local function bequeath()
          finalizer(function()
            local s = torch.DoubleStorage(2 ^ 14)
            s[2 ^ 14] = 1
            deep = deep + s[2 ^ 14]
            if deep < 1000 then
              bequeath()
            end
          end)
        end
        bequeath()
        while deep < 1000 do
          torch.DoubleStorage(2 ^ 14)
          rounds = rounds + 1
          if rounds % 20 == 0 then
            collectgarbage()
          end
        end
        print(rounds > 500, ('%d'):format(deep))
      ]])
    )
  end)

  it('that fails does not affect the construction that started the collector', function()
    assert.equal(
      '30 true',
      without_reports(child(PRELUDE .. [[
        local failed, live = 0, torch.IntStorage { 1, 2, 3 }
        local function fail(round)
          finalizer(function()
            failed = failed + 1
            if round % 3 == 0 then
              return live[99]
            elseif round % 3 == 1 then
              error 'a finalizer failed'
            end
            error({})
          end)
        end
        local most = 0
        for round = 1, 30 do
          -- While the collector is stopped, only constructions start it.
          collectgarbage 'stop'
          fail(round)
          local built = 0
          while failed < round and built < 500 do
            local s = torch.ByteStorage(2 ^ 20)
            assert(#s == 2 ^ 20 and s[1] == 0 and s[2 ^ 20] == 0)
            built = built + 1
          end
          most = math.max(most, built)
        end
        print(failed, most > 20 and most < 500)
      ]]))
    )
  end)

  it('runs in the coroutine that makes a storage', function()
    assert.equal(
      'true true',
      child(PRELUDE .. [[
        local inside = 0
        local function sentinel()
          finalizer(function()
            inside = inside + (coroutine.running() and 1 or 0)
            local s = torch.IntStorage(100)
            assert(not pcall(function() return s[101] end))
            coroutine.wrap(function() coroutine.yield(torch.IntStorage(100)) end)()
            sentinel()
          end)
        end
        sentinel()
        local co = coroutine.wrap(function()
          for i = 1, 300 do
            coroutine.yield(torch.ByteStorage(2 ^ 20 + i))
          end
        end)
        for i = 1, 300 do
          assert(#co() == 2 ^ 20 + i)
        end
        print(inside > 2, torch.memory().heap < 300 * 2 ^ 20)
      ]])
    )
  end)

  it('may stop, restart and run the collector itself', function()
    assert.equal(
      'true 0',
      child(PRELUDE .. [[
        local ways, count = {
          function() collectgarbage() end,
          function() collectgarbage 'stop' end,
          function() collectgarbage 'restart' end,
          function() collectgarbage 'step' end,
          function() torch.setheaptracking(false) end,
          function() torch.setheaptracking(true) end,
          function() pcall(torch.ByteStorage, 2 ^ 55) end,
        }, 0
        local function sentinel()
          finalizer(function()
            count = count + 1
            ways[count % #ways + 1]()
            torch.ByteStorage(2 ^ 20)
            sentinel()
          end)
        end
        sentinel()
        for i = 1, 1500 do
          local s = torch.ByteStorage(2 ^ 20)
          s[2 ^ 20] = 5
          if i % 50 == 0 then
            collectgarbage()
            torch.setheaptracking(true)
          end
        end
        sentinel = function() end
        collectgarbage()
        collectgarbage()
        collectgarbage()
        print(count > 30, torch.memory().heap)
      ]])
    )
  end)

  it('of an object older than the library works when the state closes', function()
    local name = support.spit(path 'f', 'abcdefgh')
    local source = ([[
      local older = newproxy(true)
      local another = newproxy(true)
      local torch, live, map
      local function close(who)
        -- Storages may have been finalized before; then their methods report it.
        local ok, value = pcall(function() return live[2] end)
        assert((ok and value == 42) or value:find('storage was freed', 1, true), value)
        ok, value = pcall(function() return map:string() end)
        assert((ok and value == 'abcdefgh') or value:find('storage was freed', 1, true), value)
        assert(not pcall(function() live[99] = 1 end))
        pcall(function() live:resize(100) end)
        pcall(function() live:free() end)
        local s = torch.LongStorage { 1, 2, 3 }
        s:resize(100000):fill(2)
        local sum = 0
        for _, v in torch.LongStorage(s, 99991):iter() do sum = sum + v end
        s:retain()
        local again = torch.pushudata(torch.pointer(s), 'torch.LongStorage')
        local text = torch.ByteStorage('FILE', false, 3):string()
        for _ = 1, 200 do torch.ByteStorage(2 ^ 20) end
        ok = pcall(torch.IntStorage, -1)
        print(who, sum, #again, text, ok, (tostring(torch.IntStorage { 7 }):gsub('%s', ' ')))
      end
      getmetatable(older).__gc = function() close 'older' end
      getmetatable(another).__gc = function() close 'another' end
      torch = require 'torch'
      live = torch.IntStorage { 41, 42, 43 }
      map = torch.ByteStorage 'FILE'
      local younger = newproxy(true)
      getmetatable(younger).__gc = function() close 'younger' end
      print 'end of script'
    ]]):gsub('FILE', name)
    local lines = {}
    for line in (child(source) .. '\n'):gmatch '(.-)\n' do
      lines[#lines + 1] = line
    end
    assert.equal('end of script', table.remove(lines, 1))
    table.sort(lines)
    local rest = ' 20 100000 abc false  7 [torch.IntStorage of size 1] '
    assert.same({ 'another' .. rest, 'older' .. rest, 'younger' .. rest }, lines)
  end)

  it('of an older object may be the first to load the library', function()
    assert.equal(
      '3',
      child [[
        local older = newproxy(true)
        getmetatable(older).__gc = function()
          local torch = require 'torch'
          print(#torch.IntStorage { 1, 2, 3 })
        end
      ]]
    )
  end)

  it('of a storage that lives to the end of the state works like any other', function()
    assert.equal(
      'end',
      child(PRELUDE .. [[
        kept = {}
        for i = 1, 2000 do
          kept[i] = torch.DoubleStorage(i)
          kept[-i] = torch.DoubleStorage(kept[i], i)
          if i % 2 == 0 then kept[i]:retain() end
          if i % 3 == 0 then kept[i]:free() end
          if i % 5 == 0 then getmetatable(kept[i]).__gc(kept[-i]) end
        end
        print 'end'
      ]])
    )
  end)
end)
