-- Finalizers at the exit from compiled code: LuaJIT runs them there, in the middle of an iteration, and the interpreter
-- continues from that point. They resize or free the storage that is being accessed.
-- Interpreters: luajit, luajit -joff, .tools/bin/luajit-rolling
local support = require 'spec.support'
local types = require 'spec.support.types'

-- After `pend`, finalizers wait for the next step of the collector, which happens at an exit from a trace. One of them calls
-- the function given to `arm`.
local PRELUDE = [[
  local torch = require 'torch'
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
  local size = 4e6
  local TYPE, ACT = '%s', '%s'
  local class = torch[TYPE .. 'Storage']
  local s = class(size)
  local keep
  local acts = {
    resize = function() s:resize(0) end,
    shrink = function() s:resize(10) end,
    -- The end of the memory is given back, or all of it although size and limits stay.
    trim = function() s:resize(size - (size < 2^31 and 2e5 or 2e6)) end,
    move = function() local view = class(s, 1, 1) s:resize(size + 1) view:free() s:resize(size) end,
    free = function() s:free() keep = torch.LongStorage(size):fill(-0x2000000000000 + 0x4141) end,
  }
  local t = {} for i = 1, 300 do t[i] = i end
]]

local PROGRAMS = {
  -- The guard of the calling code fails after the access, which is then repeated.
  ['a read before what fails'] = [[
    local function f(n) local sum = 0 for i = 1, n do local x = s[i] local y = t[i] sum = sum + x end return sum end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  ['a write before what fails'] = [[
    local function f(n) for i = 1, n do s[i] = i local y = t[i] end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  ['a size before what fails'] = [[
    local last
    local function f(n) for i = 1, n do local m = s:size() local y = t[i] last = m end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
    assert(last == size or last == 0 or last == 10, last)
  ]],
  ['an update before what fails'] = [[
    local function f(n) for i = 2, n do s[i] = s[i - 1] + 1 local y = t[i] + 0 end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  ['filling before what fails'] = [[
    s = class(10)
    local function f(n) for i = 1, n do s:fill(i) local y = t[i] end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  ['copying before what fails'] = [[
    s = class(10)
    local o = class(10)
    local function f(n) for i = 1, n do s:copy(o) o:copy(s) local y = t[i] end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  ['iteration before what fails'] = [[
    local function f(n) local sum = 0 for i, v in s:iter() do if i > n then break end local y = t[i] sum = sum + v end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  -- The failing path was compiled, and now the access does not fail.
  ['indices that were out of range'] = [[
    local get, set = getmetatable(s).__index, getmetatable(s).__newindex
    local bad, good = {}, {}
    for i = 1, 300 do bad[i], good[i] = size + i, size - i end
    local function f(keys, n) for i = 1, n do pcall(get, s, keys[i]) pcall(set, s, keys[i], 1) end end
    for _ = 1, 5 do f(bad, 300) end
    pend() arm(acts[ACT]) f(good, 3)
  ]],
  ['elements that were not finite'] = [[
    for i = 1, 1000 do s[i] = 1 / 0 end
    local function f(a, b) local x for i = a, b do x = s[i] end return x end
    for _ = 1, 5 do f(1, 300) end
    s[1001] = 1
    pend() arm(acts[ACT]) pcall(f, 990, 1010)
  ]],
}

-- The same for s:exact(i), which is code of its own for integers of 64 bits.
local EXACT = {
  ['an exact read before what fails'] = [[
    local function f(n) local sum = 0 for i = 1, n do local x = s:exact(i) local y = t[i] sum = sum + x end return sum end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
  ]],
  ['an exact read that is kept'] = [[
    local last
    local function f(n) for i = 1, n do local x = s:exact(i) local y = t[i] + 0 last = x end end
    for _ = 1, 5 do f(300) end
    pend() t[200] = 'x' arm(acts[ACT]) pcall(f, 300)
    assert(last == 0, last)
  ]],
  ['exact reads out of range'] = [[
    local exact = s.exact
    local bad, good = {}, {}
    for i = 1, 300 do bad[i], good[i] = size + i, size - i end
    local function f(keys, n) for i = 1, n do pcall(exact, s, keys[i]) end end
    for _ = 1, 5 do f(bad, 300) end
    pend() arm(acts[ACT]) f(good, 3)
  ]],
}

local END = [[
  -- If no trace was left, the next step of the collector runs the finalizer.
  for _ = 1, 200 do collectgarbage('step', 0) end
  assert(done == 1, 'no finalizer came')
  print 'whole']]

describe('an exit from a trace that runs a finalizer #process', function()
  -- The memory must be large, so that the system takes it back and an access to it ends the process.
  for _, act in ipairs { 'trim', 'move' } do
    support.compiled('which does a ' .. act .. ', does not access released memory', function()
      local both = PROGRAMS['indices that were out of range']
      local written = both:gsub('pcall%(get, s, keys%[i%]%) ', '')
      assert.not_equal(both, written)
      for _, program in ipairs { both, written } do
        assert.equal('whole', support.child(PRELUDE:format('Double', act) .. program .. END))
        -- The size of this storage needs more than 32 bits. Moving it would touch its memory.
        if act == 'trim' then
          local large = PRELUDE:gsub('4e6', '2^31 + 4e6'):format('Byte', act)
          assert.equal('whole', support.child(large .. program .. END))
        end
      end
    end)
  end

  local function leaves(name, T, source)
    support.compiled('in ' .. name .. ' of a ' .. T .. ', does not access released memory', function()
      for _, act in ipairs { 'resize', 'shrink', 'free' } do
        local text = support.child(PRELUDE:format(T, act) .. source .. END)
        assert.equal('whole', text)
      end
    end)
  end
  for name, program in pairs(EXACT) do
    for _, T in ipairs(types.NUMBERS) do
      if types.WIDTH[T] == 8 and support.luajit then
        leaves(name, T, program)
      end
    end
  end
  for name, program in pairs(PROGRAMS) do
    for _, T in ipairs(support.some(3, types.NUMBERS)) do
      leaves(name, T, program)
    end
    -- The loops compute with the real parts.
    local of_parts = program:gsub('sum %+ [xv]', '%0.re'):gsub('s%[i %- 1%]', '%0.re')
    for _, T in ipairs(support.some(3, types.COMPLEX)) do
      leaves(name, T, of_parts)
    end
  end
end)
