-- Several Lua states in one process, each in its own thread: tokens and publications between them. One state is in
-- exchange_spec.lua, holding storages is in states_hold_spec.lua.
-- Interpreters: luajit, luajit -joff, lua5.1, lua5.4
local host = require 'spec.support.host'
local support = require 'spec.support'

-- The number of passes per state; a run under valgrind makes fewer.
local PASSES = tonumber(os.getenv 'STATES_PASSES') or 100000

local path = support.temporary()

-- A name for shared memory that no other test uses.
local function unique()
  return (path():match '[^/]+$')
end

after_each(function()
  for name in support.sh('ls /dev/shm'):gmatch '[^\n]+' do
    if name:find(unique(), 1, true) then
      os.remove('/dev/shm/' .. name)
    end
  end
end)

-- Runs a script with its own directory and name.
local function run(count, script)
  local head = ("local directory, unique = '%s', '%s'\n"):format(path(), unique())
  return host.run(count, head .. script)
end

-- Storages in every kind of memory, whose elements are 100 * n. The scripts of the states share this text.
local KINDS = [[
local kinds = { 'heap', 'view', 'private map', 'shared map', 'read-only map', 'shared memory', 'unnamed', 'foreign' }
local function make(kind, n)
  local s = torch.IntStorage(10)
  if kind == 'view' then
    s = torch.IntStorage(torch.IntStorage(30), 11, 10)
  elseif kind == 'foreign' then
    s = torch.IntStorage(10, base:data(true) + 40 * (me - 1))
  elseif kind == 'shared memory' then
    s = torch.IntStorage(unique .. '-' .. n, true, 10, true)
  elseif kind == 'unnamed' then
    s:shareMemory()
  elseif kind:find 'map' then
    local name = ('%s/%s %d'):format(directory, kind, n)
    torch.IntStorage(name, true, 10):fill(100 * n)
    s = torch.IntStorage { filename = name, shared = kind == 'shared map', readonly = kind == 'read-only map' }
  end
  return kind == 'read-only map' and s or s:fill(100 * n)
end
]]

describe('several Lua states #process', function()
  it('belong to the interpreter that runs this spec', function()
    -- Only OpenResty's LuaJIT has thread.exdata; its version is that of Debian's other LuaJIT.
    local script = [[
      local jit = rawget(_G, 'jit')
      print(jit and jit.version or _VERSION, jit and jit.status() or false, (pcall(require, 'thread.exdata')))
    ]]
    assert.equal(support.child(script), run(1, script))
  end)
end)

describe('tokens between Lua states #process', function()
  -- Each state starts with a storage in another kind of memory, and three small ones. A state that gets a storage adds one to
  -- it and passes it on. It keeps the old userdata for a while, so that several states hold the same storage, and ends them
  -- both with `free` and through the collector.
  it(('can be passed on %d times by each of 8 states without a loss'):format(PASSES), function()
    local output = run(8, 'base = torch.IntStorage(80)\n' .. KINDS .. [[
      local PASSES = ]] .. PASSES .. [[

      local following = me % count + 1
      local mine = kinds[me] == 'read-only map' and 'heap' or kinds[me]
      local keep = { base }
      meet()
      for _, s in ipairs { make(mine, me):zero(), torch.LongStorage(1), torch.ByteStorage(4), torch.DoubleStorage(1) } do
        send(following, s:token())
      end
      for i = 1, PASSES do
        local s = torch.fromToken(receive())
        local n = #s > 4 and 3 or 1
        s[n] = (s[n] + 1) % 251
        send(following, s:token())
        local old = i % 16 + 2
        if i % 3 > 0 and keep[old] then
          keep[old]:free()
        end
        keep[old] = s
      end
      -- Every state has made all its passes: the remaining storages are on their way to somebody.
      meet()
      local sum = 0
      for _ = 1, 4 do
        local s = torch.fromToken(receive())
        sum = sum + (#s > 4 and s[3] or s[1])
      end
      -- An element counts modulo 251, so the sum of all is correct modulo 251.
      for i = 1, count do
        send(i, tostring(sum))
      end
      local total = 0
      for _ = 1, count do
        total = total + tonumber(receive())
      end
      equal(count * PASSES % 251, total % 251)
      meet() -- `base`, which owns the foreign memory, is needed until here
    ]])
    assert.equal('', output)
  end)

  it('carry every kind of memory, which outlives the state that made it', function()
    run(2, 'base = torch.IntStorage(20)\n' .. KINDS .. [[
      if me == 1 then
        for i, kind in ipairs(kinds) do
          if kind ~= 'foreign' then
            send(2, make(kind, i):token())
          end
        end
        return
      end
      closed(1)
      for i, kind in ipairs(kinds) do
        if kind ~= 'foreign' then
          local s = torch.fromToken(receive())
          equal('torch.IntStorage', torch.type(s))
          equal(10, #s)
          equal(1000 * i, s[1] + s[10] + 800 * i)
          equal(kind == 'view', s:isView())
          equal(kind:find 'map' ~= nil, s:isMapped())
          equal(kind == 'shared map' or kind == 'shared memory' or kind == 'unnamed', s:isShared())
          equal(kind == 'read-only map', s:isReadOnly())
          equal(kind == 'heap', s:resizable())
          if kind == 'read-only map' then
            refuses('read-only', s.fill, s, 1)
          else
            equal(8, s:fill(8)[10])
          end
          if kind:find 'map' then
            equal(('%s/%s %d'):format(directory, kind, i), s:filename())
          elseif kind == 'shared memory' then
            equal(unique .. '-' .. i, s:filename())
          end
          collect()
          equal(kind == 'read-only map' and 100 * i or 8, s[5])
        end
      end
    ]])
    assert.equal('', support.sh(("ls /dev/shm | grep '%s'"):format(unique())))
  end)

  it('carry every class', function()
    run(
      2,
      [[
      for _, T in ipairs(require('spec.support.types').TORCH7) do
        if me == 1 then
          send(2, torch[T .. 'Storage']({ 1, 2, 127 }):token())
        else
          local s = torch.fromToken(receive())
          equal('torch.' .. T .. 'Storage', torch.typename(s))
          equal('1 2 127', table.concat(s:totable(), ' '))
          s[2] = 5
          equal(5, s[2])
        end
      end
    ]]
    )
  end)

  it('can be taken once, in any state, and not after dropToken', function()
    run(
      3,
      [[
      local s
      if me == 1 then
        s = torch.IntStorage { 5 }
        local taken, dropped, left = s:token(), s:token(), s:token()
        for to = 2, 3 do
          send(to, taken)
          send(to, dropped)
        end
        meet()
        torch.dropToken(left)
        meet()
        refuses('already taken or dropped', torch.fromToken, taken)
        refuses('already taken or dropped', torch.fromToken, left)
        s:resize(2) -- all have released it
        return
      end
      local taken, dropped = receive(), receive()
      meet()
      -- Both try at once, and exactly one of them gets it.
      local got, result = pcall(torch.fromToken, taken)
      local gone, why = pcall(torch.dropToken, dropped)
      send(5 - me, tostring(got))
      send(5 - me, tostring(gone))
      equal(tostring(not got), receive())
      equal(tostring(not gone), receive())
      if got then
        equal(5, result[1])
        result:free()
      else
        assert(result:find 'already taken or dropped', result)
      end
      assert(gone or why:find 'already taken or dropped', why)
      meet()
    ]]
    )
  end)

  it('of another process are recognized', function()
    run(
      2,
      ([[
      local command = "%s -e 'io.write(require [=[torch]=].IntStorage(3):token())'"
      local pipe = io.popen(command)
      local token = pipe:read '*a'
      pipe:close()
      assert(token:find '^torch%%-storage:%%d+:', token)
      for _, f in ipairs { torch.fromToken, torch.dropToken } do
        refuses('the token is from process ' .. token:match ':(%%d+):', f, token)
      end
      -- A different random part also means another process, one that had the same process id.
      local mine = torch.IntStorage(3):token()
      refuses('the token is from process', torch.fromToken, (mine:gsub(':(%%x+):(%%d+)$', ':1:%%2')))
      torch.dropToken(mine)
    ]]):format(support.interpreter)
    )
  end)
end)

describe('publications between Lua states #process', function()
  it('are found, used and ended by all', function()
    run(
      4,
      [[
      if me == 1 then
        torch.publish('numbers', torch.DoubleStorage(4))
      end
      meet()
      local s = torch.lookup 'numbers'
      equal('torch.DoubleStorage', torch.type(s))
      s[me] = me
      meet()
      equal('1 2 3 4', table.concat(s:totable(), ' '))
      equal(true, torch.lookup 'numbers' == s)
      equal(nil, torch.lookup 'number')
      equal(nil, torch.lookup 'numbers\0')
      refuses("another storage is published as 'numbers'", torch.publish, 'numbers', torch.DoubleStorage(4))
      torch.publish('numbers', s) -- the same storage, so nothing has to be done
      meet()
      if me == 3 then
        equal(true, torch.unpublish 'numbers')
      end
      meet()
      equal(false, torch.unpublish 'numbers')
      equal(nil, torch.lookup 'numbers')
      equal(10, s[1] + s[2] + s[3] + s[4])
      s = nil
      collect()
      meet()
      nothing_held()
      meet()
    ]]
    )
  end)

  -- The classes differ, so that a lookup may find another class than it expects.
  it('of one name by all states at once never mix up', function()
    local output = run(
      8,
      [[
      local T = ({ 'Byte', 'Int', 'Double', 'Half' })[me % 4 + 1]
      local done = { 0, 0, 0 }
      meet()
      for i = 1, 20000 do
        local s = torch[T .. 'Storage'](3):fill(me)
        if pcall(torch.publish, 'contended', s) then
          done[1] = done[1] + 1
        end
        local ok, found = pcall(torch.lookup, 'contended')
        if ok and found then
          local owner = found[1]
          equal(owner, found[3])
          equal('torch.' .. ({ 'Byte', 'Int', 'Double', 'Half' })[owner % 4 + 1] .. 'Storage', torch.type(found))
          done[2] = done[2] + 1
        elseif not ok then
          assert(found:find 'has just been changed', found)
        end
        if i % 2 == 0 and torch.unpublish 'contended' then
          done[3] = done[3] + 1
        end
      end
      meet()
      torch.unpublish 'contended'
      io.write(('%d %d %d\n'):format(unpack(done)))
    ]]
    )
    local states, sums = 0, { 0, 0, 0 }
    for published, found, ended in output:gmatch '(%d+) (%d+) (%d+)' do
      states = states + 1
      for i, n in ipairs { published, found, ended } do
        sums[i] = sums[i] + tonumber(n)
      end
    end
    assert.equal(8, states)
    assert.is_true(sums[1] >= 1000 and sums[2] >= 1000 and sums[3] >= 1000, output)
  end)

  it('outlive the state that made them', function()
    run(
      3,
      [[
      if me == 1 then
        torch.publish('left', torch.IntStorage { 1, 2, 3 })
        return
      end
      closed(1)
      collect()
      equal('1 2 3', table.concat(torch.lookup('left'):totable(), ' '))
      if me == 2 then
        return
      end
      closed(2)
      local s = torch.lookup 'left'
      equal(true, torch.unpublish 'left')
      s:resize(5):reserve(1000)[5] = 9
      equal('1 2 3 0 9', table.concat(s:totable(), ' '))
    ]]
    )
  end)

  it('can have a name of any bytes', function()
    run(
      2,
      [[
      local names = { '', '\0', '\0\0', ('x'):rep(1e5), '\255\254', '%s%n', 'a\nb' }
      for i, name in ipairs(names) do
        if me == 1 then
          torch.publish(name, torch.IntStorage { i })
        end
        meet()
        equal(i, torch.lookup(name)[1])
        meet()
        if me == 2 then
          equal(true, torch.unpublish(name))
        end
      end
    ]]
    )
  end)
end)
