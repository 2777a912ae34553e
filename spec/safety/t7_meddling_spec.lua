-- Hooks, finalizers and the debug library interfere with a .t7 file in use: whatever they do, the process survives. Each test
-- runs in a child process.
local support = require 'spec.support'

local path = support.temporary()

local function survives(source)
  assert.equal('fine', support.child(source):match '[^\n]*$')
end

-- `file()` finds the file in use in the calling functions. `set(n, value)` sets a local of every function of the library there.
local PRELUDE = [[
  local torch = require 'torch'
  local core = require 'torch.core'
  local class = torch.newmetatable 'A'
  class.__factory = function() return setmetatable({}, class) end
  local function file()
    for level = 2, 40 do
      if not debug.getinfo(level, 'f') then return end
      for n = 1, 12 do
        local name, value = debug.getlocal(level, n)
        if not name then break end
        local metatable = type(value) == 'userdata' and debug.getmetatable(value)
        if metatable and rawget(metatable, '__index') == core.t7methods then return value end
      end
    end
  end
  local function set(index, value)
    for level = 2, 40 do
      local info = debug.getinfo(level, 'Sf')
      if not info then return end
      if info.what == 'C' and info.func ~= pcall then
        if debug.getlocal(level, index) then debug.setlocal(level, index, value) end
      end
    end
  end
]]

describe('a .t7 file in use', function()
  it('survives that its temporary values are replaced', function()
    survives(PRELUDE .. [[
      local index, value
      local function meddle()
        set(index, value)
        collectgarbage()
      end
      function class:write(f) meddle() end
      function class:read(f) meddle() end
      local one = class.__factory()
      local object = { { one, class.__factory(), 5, { 7 }, x = class.__factory() }, torch.IntStorage(3), torch.ByteStorage(100) }
      object[4] = torch.IntStorage(6):view(2, 3)
      index = 99
      local bytes = torch.serialize(object)
      local values = { false, 1.5, 'x', print, torch.IntStorage(2), {}, torch.IntStorage(2):view(2) }
      for n = 1, 12 do
        for _, v in ipairs(values) do
          index, value = n, v
          pcall(torch.serialize, object)
          pcall(torch.serialize, object, { progress = meddle })
          local ok, loaded = pcall(torch.deserialize, bytes, { keeporder = true, progress = meddle })
          if ok then pcall(torch.serialize, loaded) end
        end
      end
      print 'fine'
    ]])
  end)

  it('survives that values are replaced while a tensor waits for its storage', function()
    survives(PRELUDE .. [[
      local shorts = torch.getmetatable 'torch.ShortStorage'
      local index, value, meets
      local function meddle()
        meets = meets + 1
        set(index, value)
        collectgarbage()
      end
      function shorts.write(s, f) meddle() f:writeInt(#s) end
      function shorts.read(s, f) s:resize(f:readInt()) meddle() end
      -- A tensor without a storage: its storage could not be read.
      local waiting
      function class:read(f) waiting = f:readObject() error 'x' end
      local text = torch.serialize(torch.IntStorage(2):view(2), 'ascii')
      text = text:gsub('4\n2\n3\nV 1\n16\ntorch.IntStorage.*', '4\n2\n3\nV 1\n1\nA\n4\n1\n')
      assert(not pcall(torch.deserialize, text, 'ascii') and torch.type(waiting) == 'torch.IntTensor')
      index, meets = 99, 0
      local s = torch.ShortStorage { 1, 2, 3, 4 }
      local object = { s:view(2, 2), { s:view(4), torch.IntStorage(2):view(2) } }
      local bytes = torch.serialize(object)
      assert(torch.deserialize(bytes)[2][1]:size(1) == 4 and meets == 2)
      local values = { false, 'x', torch.ShortStorage(1), torch.ShortStorage(1):view(1), torch.IntStorage(9):view(3, 3), waiting, {} }
      for n = 1, 12 do
        for _, v in ipairs(values) do
          index, value = n, v
          pcall(torch.serialize, object)
          local ok, loaded = pcall(torch.deserialize, bytes)
          if ok and type(loaded) == 'table' and torch.isTensor(loaded[1]) then
            local x = loaded[1]
            for i = 1, x:nElement() > 0 and x:dim() or 0 do x = x:select(1, x:size(1)) end
          end
          for _, tensor in ipairs { waiting, values[4], values[5] } do pcall(tensor.fill, tensor, 1) pcall(tensor.get, tensor, 1) end
        end
      end
      assert(not pcall(waiting.get, waiting, 1))
      assert(values[5]:size(1) == 3 and meets > 100)
      print 'fine'
    ]])
  end)

  it('survives finalizers and hooks that use, close and restart it', function()
    survives(PRELUDE .. [[
      local names, calls = {}, 0
      for name, f in pairs(core) do
        if name:find '^t7' and type(f) == 'function' then names[#names + 1] = f end
      end
      for name, f in pairs(core.t7methods) do names[#names + 1] = f end
      local arguments = { 0, -1, 3.5, 'x', {}, torch.IntStorage(3), true, torch.IntStorage(3):view(3) }
      local at, busy = 0, false
      local function meddle()
        if busy then return end
        busy = true
        local own = file()
        if own then
          for _ = 1, 3 do
            at = at + 1
            local f = names[at % #names + 1]
            pcall(f, own, arguments[at % #arguments + 1])
            calls = calls + 1
          end
          -- Closing ends everything, so it happens only now and then.
          if at % 5 == 0 then pcall(debug.getmetatable(own).__gc, own) end
          if at % 7 == 0 then set(at % 9 + 1, arguments[at % #arguments + 1]) end
          if at % 11 == 0 then collectgarbage() end
        end
        busy = false
      end
      local function litter()
        for _ = 1, 3 do getmetatable(newproxy(true)).__gc = meddle end
      end
      function class:write(f) litter() pcall(f.writeInt, f, 1) f:writeObject(self[1]) end
      function class:read(f) litter() pcall(f.readInt, f) pcall(f.readObject, f) end
      local name = os.tmpname()
      local long = ('x'):rep(300000)
      for round = 1, 40 do
        local object = { torch.FloatStorage(10), setmetatable({ { 1 } }, class), long .. round, torch.ByteStorage(300000), x = { setmetatable({}, class) } }
        object[5] = object[1]:view(2, 5)
        collectgarbage 'setstepmul'
        debug.sethook(function() if not busy then meddle() end end, round % 2 == 0 and 'cr' or '', round % 7 + 1)
        pcall(function()
          litter()
          pcall(torch.save, name, object)
          litter()
          pcall(torch.load, name, { keeporder = true, mmap = round % 3 == 0 })
          local ok, bytes = pcall(torch.serialize, object, round % 4 == 0 and 'ascii' or nil)
          if ok then pcall(torch.deserialize, bytes) end
        end)
        debug.sethook()
      end
      os.remove(name)
      assert(calls > 100, 'not enough was done')
      print 'fine'
    ]])
  end)

  it('raises an error when memory runs out, and leaves nothing behind #process', function()
    local program = support.spit(
      path 'program.lua',
      [[
      local torch = require 'torch'
      local name = arg[1] .. '/x.t7'
      local parts = {}
      for n = 1, 4 do parts[n] = torch.FloatStorage(8e6):fill(n) end
      -- More than the memory limit: some parts have to be read again.
      local saved, message = pcall(torch.save, name, parts)
      assert(saved, message)
      parts = nil
      collectgarbage()
      local kept = {}
      for _ = 1, 6 do
        local ok, loaded = pcall(torch.load, name)
        if ok then kept[#kept + 1] = loaded else assert(type(loaded) == 'string' and loaded:find 'memory', loaded) end
      end
      assert(#kept < 6, 'the limit is too high')
      assert(not pcall(function() torch.serialize { kept, ('x'):rep(1e8) } end))
      kept = nil
      collectgarbage()
      assert(torch.load(name)[4][8e6] == 4)
      print 'fine'
    ]]
    )
    local output, status =
      support.execute('ulimit -v 450000; ' .. support.interpreter .. ' ' .. program .. ' ' .. path())
    assert.same({ 'fine', 0 }, { output:match '[^\n]*$', status })
    assert.equal('program.lua\nx.t7', support.sh('ls -A ' .. path()))
  end)
end)
