-- FFI access while a finalizer resizes or frees the same storage. In interpreted code every pointer that is read allocates a
-- Lua object, so the collector may run there.
-- Interpreters: luajit, luajit -joff, .tools/bin/luajit-rolling
local support = require 'spec.support'

local SOURCE = [[
  local torch = require 'torch'
  if rawget(_G, 'jit') then
    jit.off()
    torch.accessors 'ffi'
  end
  local size = 100000
  local class, s, o
  local function again()
    s, o = class(size):fill(5), class(size):fill(6)
  end
  local acts = {
    shrink = function() s:resize(0) end,
    free = function() s:free() end,
    other = function() o:free() end,
  }
  local uses = {
    read = function() local v = s[size] assert(v == 5 or v == 6, v) end,
    exact = function() local v = tonumber(s:exact(size)) assert(v == 5 or v == 6, v) end,
    write = function() s[size] = 5 end,
    size = function() local n = #s assert(n == size or n == 0, n) end,
    fill = function() s:fill(5) end,
    copy = function() s:copy(o) end,
  }
  local ran = 0
  collectgarbage('setpause', 0)
  for n = 1, 2 do for use, f in pairs(uses) do
    class = n == 1 and torch.DoubleStorage or torch.LongStorage
    for act, g in pairs(acts) do
      for i = 1, 400 do
        again()
        local proxy = newproxy(true)
        getmetatable(proxy).__gc = function() ran = ran + 1 pcall(g) end
        proxy = nil
        collectgarbage('setstepmul', 1 + i)
        for _ = 1, i % 37 do local _ = {} end
        local ok, message = pcall(f)
        assert(ok or message:find 'freed' or message:find 'range' or message:find 'mismatch', message)
      end
    end
  end end
  print('whole', ran > 1000)]]

describe('access through the FFI #process #slow', function()
  it('does not reach memory that a finalizer released', function()
    local text = support.child(SOURCE)
    assert.equal('whole\ttrue', text)
  end)
end)
