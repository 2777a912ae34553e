-- Lua code makes complex elements and takes them apart. Finalizers and hooks that run in between free, resize and collect the
-- same storage, or fail.
-- Interpreters: luajit, .tools/bin/luajit-rolling, lua5.1, lua5.4
local support = require 'spec.support'

-- The operations, what happens during them, and the allowed results. `storages` have elements with the parts 5 and -6.
local PRELUDE = [[
  local torch = require 'torch'
  local jit = rawget(_G, 'jit')
  local modes = jit and { 'ffi', 'c' } or { 'c' }
  local size = 400
  local s, o, list
  local function again(T)
    s = torch[T .. 'Storage'](size):fill { 5, -6 }
    o = torch[T .. 'Storage'](size):fill { 5, -6 }
    list = {}
    for i = 1, 60 do
      list[i] = i % 2 == 0 and { 5, -6 } or { re = 5, im = -6 }
    end
  end
  local function right(re, im)
    assert(re == 5 and im == -6 or re == 7 and im == 8 or re == 0 and im == 0, tostring(re) .. ' ' .. tostring(im))
  end
  local function element(z)
    right(z.re, z.im)
  end
  local acts = {
    shrink = function() s:resize(0) end,
    less = function() s:resize(size / 2) end,
    -- Filled once: a fill in place between the reads of the two parts of an element would change only the second.
    grow = function() if #s < 100000 then s:resize(100000):fill({ 7, 8 }) end end,
    free = function() s:free() torch.ByteStorage(16 * size):fill(77) end,
    share = function() s:shareMemory() end,
    collect = function() collectgarbage() end,
    list = function() for i = #list, 20, -1 do list[i] = nil end end,
    words = function() list[30] = 'x' list[31] = {} end,
  }
  local uses = {
    read = function() element(s[size / 2]) element(s[1]) end,
    get = function() right(s:get(size / 2)) right(s:get '7') end,
    assign = function() s[size / 2] = { 7, 8 } s[3] = { re = 7, im = 8 } s[4] = s[5] end,
    set = function() s:set(2, { 7, 8 }):set(3, '7', 8):set(4, s[5]) end,
    fill = function() s:fill { 7, 8 } s:fill(s[1], 2, 3) end,
    iter = function() for _, z in s:iter() do element(z) if #s > size then break end end end,
    totable = function() for _, z in ipairs(s:totable()) do element(z) end end,
    range = function() for _, z in ipairs(s:totable(3, size - 2)) do element(z) end end,
    unpack = function()
      local function all(...)
        for i = 1, select('#', ...) do element((select(i, ...))) end
      end
      all(s:unpack(1, 100))
      all(s:unpack(50, 90))
    end,
    table = function()
      local t = torch.ComplexDoubleStorage(list)
      for i = 1, #t do right(t:get(i)) end
      local u = torch.ComplexFloatStorage(s:totable(1, 50))
      for i = 1, #u do right(u:get(i)) end
    end,
    print = function() assert(tostring(s:sub(1, 20)):find('size', 1, true)) end,
    copy = function() s:copy(o) o:copy(s) end,
    index = function() element(getmetatable(s).__index(s, '3')) local z = getmetatable(s).__index__(s, 3) element(z) end,
  }
  local allowed = {
    'storage was freed', 'out of', 'size mismatch', 'changed', 'not resizable', 'only heap memory', 'FFI complex expected', 'mine',
    'too many', 'attempt to index a nil value', "attempt to index local 'z'", 'C stack overflow',
  }
  local function check(ok, message)
    if ok then return end
    assert(type(message) == 'string', type(message))
    for _, text in ipairs(allowed) do
      if message:find(text, 1, true) then return end
    end
    error('not allowed: ' .. message, 0)
  end
]]

-- The end of each script: storages made in between are intact, and nothing is left.
local EPILOGUE = [[
  s, o, list = nil, nil, nil
  if jit then jit.flush() end
  for _ = 1, 4 do collectgarbage() end -- finalizers may leave more for the next collection
  local t = torch.ComplexFloatStorage { { 1, 2 }, 3 }
  assert(t[1].im == 2 and t[2].re == 3)
  print('whole', ran > (os.getenv 'EMULATED' and 250 or 500) or ran, torch.memory().heap < 100000)
]]

local function child(source)
  local output = support.child(PRELUDE .. source .. EPILOGUE, 'timeout 120 ' .. support.interpreter)
  assert.equal('whole\ttrue\ttrue', output)
end

describe('complex elements #process', function()
  it('survive finalizers during every operation', function()
    child [[
      local due = require 'spec.support.due_collection'
      local ran = 0
      -- With a pause of 0, Lua 5.2 and 5.3 would run a whole collection at every allocation.
      local pause = (_VERSION == 'Lua 5.2' or _VERSION == 'Lua 5.3') and 100 or 0
      if jit then jit.off() end
      for _, mode in ipairs(modes) do
        torch.accessors(mode)
        for _, T in ipairs(require('spec.support.types').COMPLEX) do
          for _, use in pairs(uses) do
            for _, act in pairs(acts) do
              for i = 1, os.getenv 'EMULATED' and 1 or 4 do
                again(T)
                due(function() ran = ran + 1 pcall(act) end)
                check(pcall(use))
              end
              -- In small steps, so that the finalizers run at any element.
              for i = 1, 12, os.getenv 'EMULATED' and 4 or 1 do
                again(T)
                collectgarbage()
                local proxy = newproxy(true)
                getmetatable(proxy).__gc = function() ran = ran + 1 pcall(act) end
                proxy = nil
                collectgarbage('setpause', pause)
                collectgarbage('setstepmul', 30 * i)
                check(pcall(use))
              end
            end
          end
        end
      end
    ]]
  end)

  it('survive finalizers in compiled loops', function()
    child [[
      local ran = 0
      for _, mode in ipairs(modes) do
        torch.accessors(mode)
        for _, T in ipairs(require('spec.support.types').COMPLEX) do
          for name, act in pairs(acts) do
            for round = 1, os.getenv 'EMULATED' and 6 or 20 do
              again(T)
              local live = s
              check(pcall(function()
                for i = 1, 600 do
                  if i % 100 == round then
                    local proxy = newproxy(true)
                    getmetatable(proxy).__gc = function() ran = ran + 1 pcall(act) end
                    proxy = nil
                    collectgarbage('setpause', pause)
                  end
                  local z = live[i % size + 1]
                  element(z)
                  live[i % size + 1] = z
                  live:set(i % 10 + 1, live:get(i % 10 + 1))
                end
              end))
            end
          end
        end
      end
    ]]
  end)

  -- Hooks that change storages break the contract of FFI access, so only C access is tested.
  it('survive hooks that change storages or fail, during operations of the C functions', function()
    child [[
      local ran = 0
      torch.accessors 'c'
      if jit then jit.off() end
      local function with_hook(use, name, act, count, skipped)
        local function hook()
          skipped = skipped - 1
          if skipped == -1 then
            ran = ran + 1
            if name == 'fail' then error 'mine' end
            pcall(act)
          end
        end
        local function f()
          debug.sethook(hook, '', count)
          use()
          debug.sethook()
        end
        check(pcall(f))
        debug.sethook()
        again 'ComplexFloat'
        -- In a coroutine, because LuaJIT's hooks apply to all coroutines.
        local thread = coroutine.create(use)
        skipped = 3
        check(pcall(function()
          debug.sethook(thread, hook, '', count)
          check(coroutine.resume(thread))
          debug.sethook(thread)
        end))
        debug.sethook(thread)
      end
      acts.fail = true
      for _, T in ipairs(require('spec.support.types').COMPLEX) do
        for _, use in pairs(uses) do
          for name, act in pairs(acts) do
            for count = 1, 24 do
              again(T)
              with_hook(use, name, act, count, count % 3 * 10)
            end
          end
        end
      end
    ]]
  end)

  -- Interpreted, because finalizers have no room at the end of the stack and fail, and LuaJIT itself aborts when a finalizer
  -- fails while a trace is left.
  it('can be made and read at any depth of the stack', function()
    child [[
      local ran = 0
      if jit then jit.off() end
      for _, mode in ipairs(modes) do
        torch.accessors(mode)
        for _, T in ipairs(require('spec.support.types').COMPLEX) do
          for _, use in pairs(uses) do
            again(T)
            -- Lua 5.1 allows 200 nested C calls. LuaJIT itself crashes when they use up the stack.
            local deep = 0
            local function nested()
              deep, ran = deep + 1, ran + 1
              use()
              return deep < 250 and ('x'):gsub('x', nested) or 'x'
            end
            local ok, message = pcall(nested)
            assert(ok or message:find 'overflow', message)
            assert(deep > 150, deep)
          end
          again(T)
          local function read_down(n)
            local z = s[n % size + 1]
            return 1 + read_down(n + 1) + z.re
          end
          local function make_down(n)
            local t = torch.ComplexDoubleStorage { { n, n } }
            return 1 + make_down(n + 1) + t[1].re
          end
          local function write_down(n)
            s[n % size + 1] = { n, n }
            return 1 + write_down(n + 1)
          end
          for _, f in ipairs { read_down, make_down, write_down } do
            local ok, message = pcall(f, 1)
            assert(not ok and type(message) == 'string' and message:find 'overflow', message)
          end
        end
      end
    ]]
  end)
end)
