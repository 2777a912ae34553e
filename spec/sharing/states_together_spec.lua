-- Several Lua states in one process that use the same storages at the same time, also in compiled code, and that are closed
-- while the others still hold storages made there.
-- Interpreters: luajit, luajit -joff, lua5.1, lua5.4
local host = require 'spec.support.host'
local support = require 'spec.support'

describe('Lua states that use one storage at once #process', function()
  -- Each state has its own accessors. Some elements of the 8 states lie in the same word.
  it('write all their own elements, also in compiled loops', function()
    host.run(
      8,
      [[
      local SIZE = 8 * 20000
      for _, T in ipairs(require('spec.support.types').TORCH7) do
        if me == 1 then
          torch.publish(T, torch[T .. 'Storage'](SIZE))
        end
        meet()
        local s = torch.lookup(T)
        for round = 1, 3 do
          for i = me, SIZE, 8 do
            s[i] = s[i] + me * round
          end
        end
        meet()
        local wrong = 0
        for i, v in s:iter() do
          wrong = wrong + (v == 6 * ((i - 1) % 8 + 1) and 0 or 1)
        end
        equal(0, wrong)
        local part = torch[T .. 'Storage'](s, (me - 1) * 20000 + 1, 20000)
        meet()
        part:fill(me)
        meet()
        for i = 1, 8 do
          equal(i, s[20000 * i])
          equal(i, s[20000 * (i - 1) + 1])
        end
        meet()
        if me == 8 then
          torch.unpublish(T)
        end
      end
      if rawget(_G, 'jit') then
        equal(jit.status() and 'ffi' or 'c', torch.accessors())
      end
    ]]
    )
  end)

  -- The first view of a storage turns its memory into memory shared with views: here all states do so at the same time.
  it('make views of it, inspect it and release it at once', function()
    host.run(
      8,
      [[
      local name = os.tmpname()
      local file = io.open(name, 'wb')
      file:write(('x'):rep(400))
      file:close()
      for round = 1, 500 do
        if me == 1 then
          torch.publish('round', round % 2 == 0 and torch.IntStorage(100) or torch.IntStorage(name))
        end
        meet()
        local s = torch.lookup 'round'
        meet()
        if round % 3 == 0 then
          torch.unpublish 'round'
        end
        local view = torch.IntStorage(s, 10 * me, 5)
        if round % 2 == 1 then
          equal(true, s:check())
          s:advise 'random'
        end
        equal(round % 2 == 1, s:isMapped())
        if round % 4 < 2 then
          s:free()
        end
        view:fill(round)
        meet()
        equal(round, view[5])
        torch.unpublish 'round'
        meet()
      end
      os.remove(name)
    ]]
    )
  end)

  it('choose their accessors independently', function()
    if not support.luajit then
      return
    end
    host.run(
      4,
      [[
      local mode = me % 2 == 0 and 'c' or 'ffi'
      torch.accessors(mode)
      if me == 1 then
        torch.publish('s', torch.IntStorage(4000))
      end
      meet()
      equal(mode, torch.accessors())
      local s = torch.lookup 's'
      for i = me, #s, 4 do
        s[i] = i
      end
      meet()
      for i = 1, #s do
        equal(i, s[i])
      end
      meet()
      if me == 1 then
        torch.unpublish 's'
      end
    ]]
    )
  end)
end)

describe('Lua states that are closed #process', function()
  -- Each state has storages of all other states: as userdata, as views, and in finalizers that still use them.
  it('leave the storages that the others hold intact, in any order', function()
    local orders = { '12345', '54321', '31524', '24135', '51423' }
    for _, order in ipairs(orders) do
      local output = host.run(5, ('local order = %q\n'):format(order) .. [[
        local mine = torch.DoubleStorage(1000):fill(me)
        for to = 1, count do
          send(to, me .. ' ' .. mine:token())
        end
        local theirs, views, guards = {}, {}, {}
        for _ = 1, count do
          local from, token = receive():match '^(%d) (.*)$'
          from = tonumber(from)
          local s = torch.fromToken(token)
          local view = torch.DoubleStorage(s, 501)
          theirs[from], views[from] = s, view
          -- It runs before the finalizers of older objects. An error in it would be lost, but printed text is not.
          local guard = newproxy(true)
          getmetatable(guard).__gc = function()
            local ok, got = pcall(function()
              return view[500] + s[1]
            end)
            io.write(ok and got == 2 * from and 'right\n' or 'wrong: ' .. tostring(got) .. '\n')
          end
          guards[from] = guard
        end
        meet()
        local index = order:find(me, 1, true)
        if index > 1 then
          closed(tonumber(order:sub(index - 1, index - 1)))
        end
        collect()
        for i = 1, count do
          equal(i, theirs[i][1])
          equal(i, views[i][500])
        end
        if index % 2 == 0 then
          theirs, views, guards = nil, nil, nil
          collect()
        end
      ]])
      assert.equal(('right\n'):rep(25), output .. '\n')
    end
  end)

  it('all at once, while tokens are still on their way, release everything', function()
    host.run(
      6,
      [[
      local mine = torch.IntStorage(100):fill(me)
      for i = 1, 200 do
        send(me % count + 1, mine:token())
      end
      local kept = {}
      for i = 1, 200 do
        kept[i] = torch.fromToken(receive())
      end
      equal((me - 2) % count + 1, kept[200][100])
    ]]
    )
  end)
end)
