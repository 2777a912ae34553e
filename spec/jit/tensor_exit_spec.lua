-- Finalizers that run in the middle of access to a tensor: at the exit from compiled code, and between two steps of the
-- interpreter. They resize the storage, move it to other memory, or call `__gc` of the tensor.
-- Interpreters: luajit, luajit -joff, .tools/bin/luajit-rolling
local support = require 'spec.support'
local types = require 'spec.support.types'

-- What the finalizers do. `class` is the class of storages of type TYPE, `s` a storage of it, and `x` a tensor on all of it with
-- two dimensions.
local SETUP = [[
  local torch = require 'torch'
  local TYPE, ACT, size = '%s', '%s', %s
  local class, tensor = torch[TYPE .. 'Storage'], torch[TYPE .. 'Tensor']
  local columns = 1000
  local s, x, other, keep
  local function again()
    -- A finalizer that runs in between changes the old ones.
    local storage = class(size)
    x = tensor(storage, 1, { size / columns, columns })
    s = storage
  end
  local acts = {
    resize = function() s:resize(0) end,
    shrink = function() s:resize(10) end,
    -- The end of the memory is given back.
    trim = function() s:resize(size - math.floor(size / 4)) end,
    move = function() local view = class(s, 1, 1) s:resize(size + 1) view:free() s:resize(size) end,
    -- The last holder of the storage gives it back, and other memory is written.
    collect = function()
      s:free()
      getmetatable(x).__gc(x)
      keep = torch.LongStorage(size):fill(-0x2000000000000 + 0x4141)
    end,
    free = function() s:free() keep = torch.LongStorage(size):fill(-0x2000000000000 + 0x4141) end,
  }
]]

-- As in trace_exit_spec.lua: after `pend`, one of many finalizers calls the function given to `arm` at the next step of the
-- collector, which happens at an exit from a trace.
local PRELUDE = [[
  again()
  local ran, armed = 0, nil
  local function pend()
    collectgarbage() collectgarbage('setstepmul', 1)
    ran = 0
    for _ = 1, 2000 do
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = function()
        ran = ran + 1
        local act = armed
        armed = nil
        if act then act() end
      end
    end
    while ran == 0 do collectgarbage('step', 0) end
  end
  local done = 0
  local function arm(act) armed = function() done = done + 1 act() end end
  local t = {} for i = 1, 300 do t[i] = i end
  local y = x[2]
]]
local FAILS = ' local y = t[i] + 0 '
local USE = [[
  for _ = 1, 5 do f(300) end
  pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
]]
local function before_what_fails(text)
  return ('local function f(n) local sum = 0 for i = 1, n do %s end return sum end'):format(text .. FAILS) .. USE
end
local TOO_SMALL = [[
  local get, set = x.get, x.set
  local function f(n) for i = 1, n do pcall(%s) end end
  s:resize(size - columns)
  for _ = 1, 5 do f(300) end
  s:resize(size)
  pend() arm(acts[ACT]) f(3)
]]
local PROGRAMS = {
  ['a read'] = before_what_fails 'local v = x:get(2, i) sum = v',
  ['a read by a list'] = before_what_fails 'local v = x[{ 3, i }] sum = v',
  ['a read of one dimension'] = before_what_fails 'local v = y[i] sum = v',
  ['a write'] = before_what_fails 'x:set(2, i, i)',
  ['a write by a list'] = before_what_fails 'x[{ 3, i }] = i',
  ['a write of one dimension'] = before_what_fails 'y[i] = i',
  ['an update'] = before_what_fails 'x:set(2, i + 1, x:get(2, i))',
  ['a size'] = before_what_fails 'local v = x:size(1) + x:dim() + x:nElement() sum = v',
  -- The failing path was compiled, and now the access does not fail.
  ['indices that were out of range'] = [[
    local get, set = x.get, x.set
    local bad, good = {}, {}
    for i = 1, 300 do bad[i], good[i] = columns + i, columns - i end
    local function f(keys, n) for i = 1, n do pcall(get, x, 1, keys[i]) pcall(set, x, 1, keys[i], 1) end end
    for _ = 1, 5 do f(bad, 300) end
    pend() arm(acts[ACT]) f(good, 3)
  ]],
  ['writes that were out of range'] = [[
    local set = x.set
    local bad, good = {}, {}
    for i = 1, 300 do bad[i], good[i] = columns + i, columns - i end
    local function f(keys, n) for i = 1, n do pcall(set, x, 1, keys[i], 1) end end
    for _ = 1, 5 do f(bad, 300) end
    pend() arm(acts[ACT]) f(good, 3)
  ]],
  -- The tensor was not wholly in its storage, and now it is. The last row is in the memory that is given back.
  ['a storage that was too small, read'] = TOO_SMALL:format 'get, x, size / columns, columns - i',
  ['a storage that was too small, written'] = TOO_SMALL:format 'set, x, size / columns, columns - i, 1',
}
local END = [[
  -- If no trace was left, the next step of the collector runs the finalizer.
  for _ = 1, 200 do collectgarbage('step', 0) end
  assert(done == 1, 'no finalizer came')
  print 'whole']]

describe('an exit from a trace that runs a finalizer #process', function()
  for name, program in pairs(PROGRAMS) do
    for _, list in ipairs { types.NUMBERS, types.COMPLEX } do
      for _, T in ipairs(support.some(3, list)) do
        support.compiled(('in %s of a tensor, %s, does not access released memory'):format(name, T), function()
          local source = program
          if types.ENTRY[T].kind == 'complex' then
            source = source:gsub('x:get%(2, i%)%)', '(x:get(2, i)), 0)')
          end
          local large = T == 'Double' or T == 'Float'
          for _, act in
            ipairs(large and { 'resize', 'shrink', 'trim', 'move', 'free', 'collect' } or { 'resize', 'collect' })
          do
            assert.equal(
              'whole',
              support.child(SETUP:format(T, act, large and '4e6' or '1e5') .. PRELUDE .. source .. END),
              act
            )
          end
        end)
      end
    end
  end

  support.compiled('does not access released memory of a tensor whose numbers need more than 32 bits', function()
    for name, program in pairs(PROGRAMS) do
      -- Freeing it would also fill as much memory.
      for _, act in ipairs { 'trim', 'resize' } do
        local text = support.child(SETUP:format('Byte', act, '2^31 + 352') .. PRELUDE .. program .. END)
        assert.equal('whole', text, name)
      end
    end
  end)
end)

-- In interpreted code every pointer that is read makes a Lua object, so the collector may run there.
local INTERPRETED = [[
  if rawget(_G, 'jit') then
    jit.off()
    torch.accessors 'ffi'
  end
  local rows = size / columns
  local function right(v) assert(v == 0 or v == 5, v) end
  local uses = {
    read = function() right((x:get(rows, columns))) end,
    list = function() right(x[{ rows, columns }]) end,
    write = function() x:set(rows, columns, 5) end,
    ['write by a list'] = function() x[{ rows, columns }] = 5 end,
    row = function() local y = x[rows] right(y[columns]) y[columns] = 5 end,
    size = function() local n = x:size(1) assert(n == rows or n == 0, n) end,
  }
  local ran = 0
  collectgarbage('setpause', 0)
  for use, f in pairs(uses) do
    for i = 1, 300 do
      again()
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = function() ran = ran + 1 pcall(acts[ACT]) end
      proxy = nil
      collectgarbage('setstepmul', 1 + i)
      for _ = 1, i % 37 do local _ = {} end
      local ok, message = pcall(f)
      assert(ok or message:find 'has no storage' or message:find 'range' or message:find 'its storage, which has', message)
    end
  end
  print('whole', ran > 500)
]]

describe('access to a tensor through the FFI #process #slow', function()
  for _, T in ipairs { 'Double', 'Float', 'Long' } do
    for _, act in ipairs { 'resize', 'trim', 'collect', 'free' } do
      it(('does not reach memory that a finalizer released: %s of a %s'):format(act, T), function()
        assert.equal('whole\ttrue', support.child(SETUP:format(T, act, '1e5') .. INTERPRETED))
      end)
    end
  end
end)
