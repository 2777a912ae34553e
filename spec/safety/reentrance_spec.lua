-- Lua code that runs during a call and changes the storage of the call: finalizers at every point where the collector may run,
-- and hooks while FFI values are inspected. The call returns a correct result or raises an error.
local support = require 'spec.support'

local PRELUDE = [[
  local torch = require 'torch'
  local size = SIZE

  -- The value of element i before the action.
  local original = {}
  for i = 1, size do original[i] = i % 100 end

  -- The actions on the storage during the call. `sizes` lists the sizes that the storage may have afterwards.
  local actions = {
    free = function(s) s:free() end,
    gc = function(s) getmetatable(s).__gc(s) end,
    empty = function(s) s:resize(0) end,
    shrink = function(s) s:resize(5) end,
    grow = function(s) s:resize(4 * size) end,
    move = function(s) local v = torch.ByteStorage(s) s:resize(7) v:fill(238) end,
    reserve = function(s) s:reserve(9 * size) end,
  }
  local sizes = { [0] = true, [5] = true, [7] = true, [size] = true, [4 * size] = true, [5000] = true }

  -- Reuses memory that was freed, and overwrites it.
  local function churn()
    local kept = {}
    for i = 1, 8 do kept[i] = torch.ByteStorage(size):fill(238) end
  end

  -- Returns what is wrong with the elements in a table: each has to be the storage's own, or one added by growing. Only a view
  -- of the memory that the storage has left may see the bytes written there.
  local function wrong(elements, name)
    if not sizes[#elements] and not elements.partly then return #elements .. ' elements' end
    for i = 1, #elements do
      local expected = original[i] or 0
      if elements[i] ~= expected and not (name == 'move' and elements[i] % 256 == 238) then
        return ('element %d is %s'):format(i, tostring(elements[i]))
      end
    end
  end

  local points = 0
  -- `during(n, f, s, action)` returns the results of pcall, or nil if the call has no n-th point.
  local function try(calls, most, during)
    for call, f in pairs(calls) do
      for name, action in pairs(actions) do
        for n = 1, most do
          local s = torch.ByteStorage(original)
          local ok, result = during(n, f, s, function() action(s) churn() end)
          if ok == nil then break end
          points = points + 1
          if type(result) == 'string' and ok then
            local bytes = {}
            for i = 1, #result do bytes[i] = result:byte(i) end
            result = bytes
          elseif torch.isStorage(result) then
            result = result:totable()
          end
          local fault
          if not ok then
            fault = (type(result) ~= 'string' or result:find('internal error', 1, true)) and tostring(result)
          elseif type(result) == 'table' then
            fault = wrong(result, name)
          end
          if fault then error(('%s, %s at %d: %s'):format(call, name, n, fault)) end
        end
      end
    end
    print(points)
  end
]]

-- The collector completes a cycle at each point where it may run; the action is a finalizer in the n-th of them.
local COLLECTOR = [[
  local function during(n, f, s, action)
    local open, ran = false, false
    local function trap()
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = function()
        if not open then return end
        n = n - 1
        if n == 0 then
          ran = true
          action()
        else
          trap()
        end
      end
      return proxy
    end
    collectgarbage()
    collectgarbage 'stop'
    local holder = { trap() }
    collectgarbage('setpause', 0)
    collectgarbage('setstepmul', 100000000)
    open = true
    holder[1] = nil
    collectgarbage 'restart'
    local ok, result = pcall(f, s)
    open = false
    collectgarbage('setpause', 200)
    collectgarbage('setstepmul', 200)
    if ran then return ok, result end
  end
  local calls = {
    string = function(s) return s:string() end,
    totable = function(s) return s:totable() end,
    unpack = function(s) return { s:unpack(1, math.min(#s, 5000)) } end,
    clone = function(s) return s:clone() end,
    cast = function(s) return s:type 'torch.DoubleStorage' end,
    view = function(s) return torch.ByteStorage(s) end,
    viewed = function(s) return torch.ByteStorage(s, 1, #s):string() end,
    copy = function(s) return torch.IntStorage(#s):copy(s) end,
    stored = function(s) return torch.IntStorage(s:totable()) end,
    fromstring = function(s) return torch.ByteStorage.fromstring(s:string()) end,
    filename = function(s) return s:filename() end,
    pushed = function(s)
      s:retain()
      return torch.pushudata(torch.pointer(s), 'torch.ByteStorage')
    end,
    ['tensor string'] = function(s) return s:view(-1):string() end,
    ['tensor clone'] = function(s) return s:view(-1):clone():storage() end,
    ['tensor type'] = function(s) return s:view(-1):type('torch.DoubleTensor'):storage() end,
    ['tensor copy'] = function(s) return torch.IntTensor(#s):copy(s:view(-1)):storage() end,
    ['tensor token'] = function(s) torch.dropToken(s:view(-1):token()) return {} end,
    ['tensor buffer'] = function(s) return torch.frombuffer(s:view(-1), { dtype = 'uint8' }) end,
    set = function(s)
      local t = torch.ByteStorage()
      s.resize(s, 3)
      return t:string(s:string() .. 'x') and {}
    end,
    -- The argument is a table, which the action empties.
    table = function(s)
      local t = s:totable()
      getmetatable(newproxy(true)).__gc = function()
        for i = #t, 6, -1 do t[i] = nil end
      end
      return torch.ByteStorage(t)
    end,
  }
]]

local function points(source, size)
  local output = support.child((PRELUDE .. source):gsub('SIZE', tostring(size), 1) .. '')
  return assert(tonumber(output), output)
end

describe('a finalizer in the middle of a call #process', function()
  it('leaves a call on a small storage correct', function()
    assert.is_true(points(COLLECTOR .. [[
      calls.elements = function(s) local t = { partly = true } for i = 1, #s do t[i] = s[i] end return t end
      calls.iter = function(s) local t = { partly = true } for i, v in s:iter() do t[i] = v end return t end
      calls.text = function(s) assert(tostring(s):find 'torch.ByteStorage of size %d+]') return {} end
      try(calls, 25, during)
    ]], 300) > 100)
  end)

  it('leaves a call on a storage with its own pages correct', function()
    assert.is_true(points(COLLECTOR .. ' try(calls, 4, during)', 140000) > 40)
  end)
end)

-- A collection at each construction of a storage, as when many were dropped.
describe('a collection at the start of a call #process', function()
  it('may free the arguments', function()
    local output = support.child [[
      local torch = require 'torch'
      local tried, ran = 0, 0
      local calls = {
        function(s) return torch.IntStorage(s, 90, 11) end,
        function(s) return s.new(s, 2) end,
        function(s) return s:clone() end,
        function(s) return s:type 'torch.LongStorage' end,
        function(s) return s:resize(200) end,
        function(s) return s:reserve(200) end,
      }
      for i = 1, 60 do
        for shrink = 1, 3 do
          local s = torch.IntStorage(100):fill(5)
          local proxy = newproxy(true)
          getmetatable(proxy).__gc = function()
            ran = ran + 1
            if shrink == 1 then s:free() elseif shrink == 2 then s:resize(0) else s:resize(95) end
          end
          collectgarbage()
          collectgarbage 'stop'
          proxy = nil
          -- From here on only memory pressure starts the collector.
          local kept, before = {}, ran
          while ran == before do
            kept[1] = torch.ByteStorage(2 ^ 23)
            local ok, result = pcall(calls[i % #calls + 1], s)
            tried = tried + 1
            if ok then
              assert(#result == 0 or result[1] == 5 or shrink == 2 and result[1] == 0)
            else
              assert(ran > before and type(result) == 'string', result)
            end
          end
        end
      end
      print(ran)
    ]]
    assert.equal('180', output)
  end)
end)

if not support.luajit then
  return
end

-- Lua code inside the call determines the kind of an FFI value. A hook runs at each of its instructions.
local HOOKS = [[
  local ffi = require 'ffi'
  jit.off()
  local function during(n, f, s, action)
    local ran = false
    local step = function()
      n = n - 1
      if n == 0 then
        ran = true
        action()
      end
    end
    debug.sethook(step, '', 1)
    local ok, result = pcall(f, s)
    debug.sethook()
    if ran then return ok, result end
  end
  local file = os.tmpname()
  local out = io.open(file, 'wb')
  out:write(('x'):rep(4096))
  out:close()
  local address = {}
  local calls = {
    unpack = function(s) return { s:unpack(1LL, SIZELL) } end,
    ['unpack from the end'] = function(s) s:unpack(SIZELL - 3, SIZELL) return {} end,
    ['unpack with one bound'] = function(s) return { s:unpack(1LL) } end,
    index = function(s) local x = s[5LL] assert(x == 5 or x == 238) return {} end,
    ['last index'] = function(s) local x = s[SIZELL] assert(x == SIZE % 100 or x == 238) return {} end,
    assign = function(s) s[SIZELL] = 7LL return {} end,
    ['assign by hand'] = function(s) getmetatable(s).__newindex__(s, 300ULL, 7ULL) return {} end,
    ['index by hand'] = function(s) getmetatable(s).__index__(s, 300ULL) return {} end,
    fill = function(s) s:fill(238LL) return {} end,
    ['fill of a tensor'] = function(s) s:view(-1):fill(238LL) return {} end,
    resize = function(s) s:resize(5LL) return {} end,
    grow = function(s) s:resize(100000LL) return {} end,
    reserve = function(s) s:reserve(100000LL) return {} end,
    view = function(s) torch.ByteStorage(s, 200LL, 101LL):fill(238) return {} end,
    ['view of the rest'] = function(s) torch.ByteStorage(s, 300LL):fill(238) return {} end,
    step = function(s) local f, state = s:iter() f(state, 299LL) return {} end,
    pushed = function(s)
      s:retain()
      return torch.pushudata(ffi.cast('int64_t', torch.pointer(s)), 'torch.ByteStorage')
    end,
    table = function(s)
      local t = {}
      for i = 1, 50 do t[i] = 7LL end
      address[1] = t
      local made = torch.LongStorage(t)
      assert(#made == 50 and made[50] == 7)
      return {}
    end,
    foreign = function(s)
      local array = ffi.new('int64_t[10]', 7)
      local made = torch.LongStorage(10LL, array)
      assert(made[10] == 7)
      return {}
    end,
    map = function(s) assert(torch.ByteStorage(file, false, 3LL):string() == 'xxx') return {} end,
    pointer = function(s) assert(torch.pointer(5LL) > 0) return {} end,
    made = function(s) assert(#torch.ByteStorage(300LL) == 300) return {} end,
  }
  -- The table passed to a constructor loses its elements while it is read.
  actions.table = function() for i = 50, 1, -1 do if address[1] then address[1][i] = nil end end end
]]

describe('a hook while an FFI value is inspected #process', function()
  it('finds the storage in the same state as a call outside', function()
    for _, size in ipairs { 300, 5000 } do
      local count = points(HOOKS:gsub('SIZE', size) .. ' try(calls, 400, during) os.remove(file)', size)
      assert.is_true(count > 3000, count)
    end
  end)

  it('may fail', function()
    local output = support.child [[
      local torch = require 'torch'
      jit.off()
      local s, failed = torch.IntStorage { 1, 2, 3 }, 0
      for n = 1, 300 do
        local count, armed = 0, false
        debug.sethook(function()
          count = count + 1
          if armed and count >= n then armed = false error 'a hook failed' end
        end, '', 1)
        local ok, message = pcall(function()
          armed = true
          s[1LL] = 5ULL
          s:resize(3LL)
          s:fill(5LL)
          local t = { s:unpack(1LL, 3LL) }
          armed = false
        end)
        debug.sethook()
        failed = failed + (ok and 0 or 1)
        assert(ok or type(message) == 'string')
        assert(#s == 3)
      end
      print(failed > 50)
    ]]
    assert.equal('true', output)
  end)
end)
