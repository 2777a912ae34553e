-- Several Lua states in one process that hold the same storage: which may resize it, retain() and pushudata across states, and
-- memory that stays in its state. Simultaneous use and closing are in states_together_spec.lua.
-- Interpreters: luajit, luajit -joff, lua5.1, lua5.4
local host = require 'spec.support.host'
local support = require 'spec.support'

describe('a storage that another Lua state holds #process', function()
  -- Operations on `s` that have to be refused now, and leave it unchanged.
  local STAYS = [[
    local HELD = 'another Lua state, a token or a publication holds the storage'
    local function stays(s)
      local size, first, data = #s, s[1], s:data(true)
      for n = 0, 200000, 100000 do
        refuses(HELD, s.resize, s, n)
        refuses(HELD, s.reserve, s, n)
      end
      refuses(HELD, s.shareMemory, s)
      refuses(HELD, s.shareMemory, s, 'name-that-nobody-gets')
      equal(size, #s)
      equal(first, s[1])
      equal(data, s:data(true))
      equal(false, s:isShared())
    end
    local function moves(s)
      local size = #s
      equal(size + 100000, #s:resize(size + 100000))
      equal(size, #s:resize(size))
      s:reserve(300000)
    end
  ]]

  it('cannot be moved until the other state releases it', function()
    host.run(2, STAYS .. [[
      for _, way in ipairs { 'free', 'collector', '__gc' } do
        local s
        if me == 1 then
          s = torch.IntStorage { 1, 2, 3 }
          moves(s)
          send(2, s:token())
          stays(s) -- held by the token
          meet()
          stays(s) -- held by the other state
          meet()
          meet() -- released
          moves(s)
          equal(77, s[3])
          s:shareMemory()
          equal(true, s:isShared())
          equal(77, s[3])
        else
          s = torch.fromToken(receive())
          stays(s)
          s[3] = 77
          meet()
          meet()
          if way == 'free' then
            s:free()
          elseif way == 'collector' then
            s = nil
            collect()
          else
            torch.getmetatable('torch.IntStorage').__gc(s)
          end
          meet()
        end
      end
    ]])
  end)

  it('cannot be moved while it is published, or looked up by another state', function()
    host.run(2, STAYS .. [[
      if me == 1 then
        local s = torch.IntStorage { 1, 2, 3 }
        torch.publish('p', s)
        stays(s)
        meet()
        meet() -- looked up
        equal(true, torch.unpublish 'p')
        stays(s)
        meet()
        meet() -- released
        moves(s)
        torch.publish('p', s)
        torch.publish('q', s)
        torch.unpublish 'p'
        stays(s)
        torch.unpublish 'q'
        moves(s)
      else
        meet()
        local s = torch.lookup 'p'
        stays(s)
        meet()
        meet() -- unpublished
        s:free()
        meet()
      end
    ]])
  end)

  it('can be moved by its last holder, wherever it was made', function()
    host.run(3, STAYS .. [[
      local s
      if me == 1 then
        s = torch.IntStorage { 1, 2, 3 }
        for to = 2, 3 do
          send(to, s:token())
        end
        return
      end
      s = torch.fromToken(receive())
      closed(1)
      meet = function() send(5 - me, '') receive() end -- luacheck: ignore
      meet()
      stays(s)
      meet()
      if me == 2 then
        s = nil
        return
      end
      closed(2)
      moves(s)
      s:shareMemory()
    ]])
  end)

  it('keeps the retains of one state when another frees its userdata', function()
    host.run(2, STAYS .. [[
      if me == 1 then
        local s = torch.IntStorage { 1, 2, 3 }
        s:retain()
        torch.publish('retained', s)
        meet()
        meet() -- the other state has looked it up and freed its userdata
        equal(true, torch.unpublish 'retained')
        local address = torch.pointer(s)
        s:free()
        s:free()
        refuses('no storage with an outstanding retain', torch.pushudata, address, 'torch.IntStorage')
      else
        meet()
        local s = torch.lookup 'retained'
        s:free()
        refuses('storage was freed', s.size, s)
        meet()
      end
    ]])
  end)

  it('is held by retains and userdata of other states, not by those of its own', function()
    host.run(2, STAYS .. [[
      if me == 1 then
        local s = torch.IntStorage { 1, 2, 3 }
        s:retain()
        moves(s)
        local again = torch.pushudata(torch.pointer(s), 'torch.IntStorage')
        moves(again)
        for _ = 1, 3 do
          s:retain()
        end
        moves(s)
        send(2, ('%.0f'):format(torch.pointer(s)))
        meet()
        meet() -- the other state has taken over one of our retains
        stays(s)
        meet()
        meet() -- it has retained the storage once more and dropped its userdata
        stays(s)
        meet()
        meet() -- all of its own are released
        moves(s)
        again:free() -- a retain
        again:free() -- a retain
        moves(s)
        equal('1 2 3', table.concat(s:totable(), ' '))
      else
        local address = tonumber(receive())
        meet()
        local s = torch.pushudata(address, 'torch.IntStorage')
        equal(3, s[3])
        equal(address, torch.pointer(s))
        stays(s)
        meet()
        meet()
        s:retain()
        torch.getmetatable('torch.IntStorage').__gc(s) -- releases the userdata's own reference; the retain stays
        s = nil
        meet()
        meet()
        s = torch.pushudata(address, 'torch.IntStorage') -- its own retain is released before those of other states
        torch.getmetatable('torch.IntStorage').__gc(s)
        refuses('storage was freed', function() return #s end)
        meet()
      end
    ]])
  end)

  it('keeps its old bytes for views that other states got before it was resized', function()
    host.run(
      2,
      [[
      if me == 1 then
        local s = torch.IntStorage { 1, 2, 3, 4 }
        local view = torch.IntStorage(s, 2, 2)
        send(2, view:token())
        view:free()
        meet()
        s:resize(100000):fill(7) -- the view is another storage: only we hold this one
        meet()
        equal(7, s[2])
        meet()
      else
        local view = torch.fromToken(receive())
        meet()
        meet()
        equal('2 3', table.concat(view:totable(), ' '))
        refuses('not resizable', view.resize, view, 3)
        refuses('only heap memory can move', view.shareMemory, view)
        view:fill(9)
        meet()
      end
    ]]
    )
  end)
end)

describe('retain and pushudata across Lua states #process', function()
  it('accept only an address with an outstanding retain, and its class', function()
    host.run(
      2,
      [[
      if me == 1 then
        local s = torch.IntStorage { 1, 2, 3 }
        send(2, ('%.0f'):format(torch.pointer(s)))
        meet()
        s:retain()
        meet()
        meet() -- taken over, and released
        s = nil
        collect()
        meet()
        meet()
      else
        local address = tonumber(receive())
        refuses('no storage with an outstanding retain', torch.pushudata, address, 'torch.IntStorage')
        meet()
        meet()
        refuses('is a torch.IntStorage, not a torch.FloatStorage', torch.pushudata, address, 'torch.FloatStorage')
        torch.pushudata(address, 'torch.IntStorage'):free()
        refuses('no storage with an outstanding retain', torch.pushudata, address, 'torch.IntStorage')
        meet()
        meet()
        refuses('no storage with an outstanding retain', torch.pushudata, address, 'torch.IntStorage')
        meet()
      end
    ]]
    )
  end)

  it('keep the storage of a state that is closed', function()
    host.run(
      2,
      [[
      if me == 1 then
        local s = torch.DoubleStorage { 1, 2, 3 }
        s:retain()
        s:retain()
        send(2, ('%.0f'):format(torch.pointer(s)))
      else
        local address = tonumber(receive())
        closed(1)
        collect()
        local s = torch.pushudata(address, 'torch.DoubleStorage')
        equal(3, s[3])
        local t = torch.pushudata(address, 'torch.DoubleStorage')
        equal(true, s == t)
        s:resize(10):fill(1)
        equal(1, t[10])
      end
    ]]
    )
  end)

  -- All states retain and release one storage at the same time; in the end its count is unchanged. A userdata's own reference
  -- ends through `__gc`, because `free` would first release a retain, even one of another state.
  it('count correctly when all states do it at once', function()
    host.run(
      8,
      [[
      if me == 1 then
        local s = torch.IntStorage { 42 }
        torch.publish('counted', s)
      end
      meet()
      local s = torch.lookup 'counted'
      local address, class = torch.pointer(s), 'torch.IntStorage'
      local give_back = torch.getmetatable(class).__gc
      for i = 1, 20000 do
        s:retain()
        local t = torch.pushudata(address, class)
        t:retain()
        local u = torch.lookup 'counted'
        t:free()
        equal(42, u[1])
        if i % 4 > 0 then
          give_back(t)
          give_back(u)
        end
      end
      collect()
      meet()
      -- Nobody has an outstanding retain now.
      refuses('no storage with an outstanding retain', torch.pushudata, address, class)
      meet()
      if me == 1 then
        torch.unpublish 'counted'
      end
    ]]
    )
  end)
end)

if support.luajit then
  describe('memory that a Lua value owns #process', function()
    it('stays in its Lua state: tokens, publications, retains and those of views are refused', function()
      host.run(
        2,
        [[
        local ffi = require 'ffi'
        local OWNED = 'belongs to a value of one Lua state'
        if me == 1 then
          local array = ffi.new('int[4]', { 1, 2, 3, 4 })
          for _, pointer in ipairs { array, ffi.cast('int *', array) } do
            local s = torch.IntStorage(4, pointer)
            local view = torch.IntStorage(s, 2)
            for _, one in ipairs { s, view, torch.IntStorage(view, 2) } do
              refuses(OWNED, one.token, one)
              refuses(OWNED, torch.publish, 'owned', one)
              equal(nil, torch.lookup 'owned')
              one:retain()
              send(2, ('%.0f'):format(torch.pointer(one)))
              meet()
              meet()
              local again = torch.pushudata(torch.pointer(one), 'torch.IntStorage')
              equal(4, again[#again])
              torch.dropToken(s:clone():token())
            end
          end
          local address = torch.IntStorage(4, tonumber(ffi.cast('intptr_t', array)))
          torch.dropToken(address:token()) -- the caller vouches for an address given as a number
        else
          for _ = 1, 6 do
            local address = tonumber(receive())
            meet()
            refuses(OWNED, torch.pushudata, address, 'torch.IntStorage')
            meet()
          end
        end
      ]]
      )
    end)
  end)
end
