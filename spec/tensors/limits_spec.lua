-- Tensors that have more elements than a loop could ever go through, and arguments that look like others.
-- Interpreters: luajit, lua5.4
local torch = require 'torch.storage'
local support = require 'spec.support'

local fails = support.fails
local L = torch.LongStorage

-- Calls a function under a hook that raises at the first call or return after `most` of them. Busted finds its globals by calls.
local pcall, sethook = pcall, debug.sethook
local function interrupted_after(most, f, ...)
  local calls = 0
  sethook(function()
    calls = calls + 1
    if calls > most then
      sethook()
      error 'interrupted'
    end
  end, 'cr')
  local ok, message = pcall(f, ...)
  sethook()
  return not ok and message:find 'interrupted' ~= nil
end
local function interrupted(...)
  return interrupted_after(50, ...)
end

describe('a tensor with more elements than memory', function()
  it('is known to differ after the first step', function()
    local ones = torch.ByteTensor(1):fill(1):expand(2 ^ 60)
    local twos = torch.ByteTensor(1):fill(2):expand(2 ^ 60)
    assert.is_false(interrupted(ones.equal, ones, twos))
    assert.is_false(ones:equal(twos))
  end)

  it('is compared, copied and filled once for each element that it repeats', function()
    local x, y = torch.ByteTensor { { 1 }, { 2 } }, torch.ByteTensor(2, 1)
    local large, other = x:view(1, 2, 1):expand(2 ^ 31, 2, 2 ^ 30), y:view(1, 2, 1):expand(2 ^ 31, 2, 2 ^ 30)
    assert.is_false(interrupted(large.equal, large, other) or large:equal(other))
    assert.is_false(interrupted(other.copy, other, large))
    assert.same({ { 1 }, { 2 } }, y:totable())
    assert.is_false(interrupted(large.equal, large, other) or not large:equal(other))
    -- The sizes of the other tensor may be other ones, and the last element is kept.
    local all = y:narrow(1, 1, 1):expand(2, 2 ^ 61)
    assert.is_false(interrupted(all.copy, all, large))
    assert.same({ { 2 }, { 2 } }, y:totable())
    assert.is_false(interrupted(all.fill, all, 5))
    -- A tensor and itself.
    assert.is_false(interrupted(large.equal, large, large) or not large:equal(large))
    assert.is_false(interrupted(large.copy, large, large))
    assert.same({ { 1 }, { 2 } }, x:totable())
  end)

  -- Each step of 256 MiB is one or two calls and returns.
  it('can be interrupted while it is compared, copied or filled', function()
    local row, column = torch.ByteTensor(1, 2 ^ 16), torch.ByteTensor(2 ^ 16, 1)
    local x, y = row:expand(2 ^ 16, 2 ^ 16), column:expand(2 ^ 16, 2 ^ 16)
    assert.is_true(interrupted_after(10, x.equal, x, y))
    -- Windows over the same elements.
    local windows = torch.ByteTensor(torch.ByteStorage(2 ^ 13), 1, { 2 ^ 11, 2 ^ 11, 2 ^ 11 }, { 1, 1, 1 })
    local source = torch.ByteTensor(1, 1, 1):expandAs(windows)
    assert.is_true(interrupted_after(10, windows.copy, windows, source))
    assert.is_true(interrupted_after(10, windows.fill, windows, 3))
  end)

  it('is refused as a table by its number of elements', function()
    local x = torch.ByteTensor(1, 1)
    local says = ' of the tensor has 2147483648 elements, and a table can hold at most 2147483647'
    fails('dimension 1' .. says, x.totable, x:expand(2 ^ 31, 2 ^ 31))
    fails('dimension 2' .. says, x.totable, x:expand(2, 2 ^ 31))
    fails('dimension 1' .. says, function()
      return x:expand(2 ^ 31, 1):totable()
    end)
    local message = support.failure(x.totable, x:expand(2 ^ 31, 1))
    assert.is_nil(message:find 'bad ')
    assert.same({}, torch.ByteTensor(0, 1):expand(0, 2 ^ 40):totable())
  end)

  it('can be interrupted while it becomes a table', function()
    local few = torch.ByteTensor(1, 1):expand(2 ^ 16, 1)
    local sizes = {}
    for d = 1, 16 do
      sizes[d] = 2
    end
    assert.is_true(interrupted(few.totable, few))
    local deep = few:narrow(1, 1, 1):view(torch.LongStorage(16):fill(1)):expand(sizes)
    assert.is_true(interrupted(deep.totable, deep))
  end)
end)

describe('arguments of tensors', function()
  it('are not taken for sizes if they are classes', function()
    local s, x = torch.DoubleStorage(6), torch.DoubleTensor(1)
    fails('list of numbers expected', s.view, s, torch.FloatTensor)
    fails('list of numbers expected', x.reshape, x, torch.FloatTensor)
    fails('list of numbers expected', torch.DoubleTensor, s, 1, torch.FloatTensor)
  end)

  it('are not ignored', function()
    fails('nothing more expected', torch.DoubleTensor, L { 2, 3 }, nil, 5)
  end)
end)

-- Small blocks run out as well as large ones. Each program holds what it makes until there is no memory left.
describe('without memory #process', function()
  local PROGRAMS = {
    ['views of many dimensions'] = [[
      local x = torch.ByteTensor(torch.LongStorage(64):fill(1))
      return function() return x:transpose(1, 2) end]],
    ['new tensors of many dimensions'] = [[
      return function() return torch.ByteTensor(1, 1, 1, 1, 1, 1, 1, 1) end]],
    ['tokens of tensors'] = [[
      local x = torch.ByteTensor(1)
      return function() return x:token() end]],
    ['tokens of storages'] = [[
      local s = torch.ByteStorage(1)
      return function() return s:token() end]],
    ['publications'] = [[
      local s, count = torch.ByteStorage(1), 0
      return function()
        count = count + 1
        torch.publish('name' .. count, s)
      end]],
  }
  for what, source in pairs(PROGRAMS) do
    it('a program gets an error: ' .. what, function()
      local name = os.tmpname()
      support.spit(
        name,
        ([[
          local torch = require 'torch.storage'
          local make = (function() %s end)()
          local kept = {}
          local ok, message = pcall(function()
            for i = 1, 1e8 do
              kept[i] = make()
            end
          end)
          kept = nil
          collectgarbage()
          print(ok, tostring(message):match 'not enough memory')
        ]]):format(source)
      )
      local output, status = support.execute(('ulimit -v 150000; %s %s'):format(support.interpreter, name))
      os.remove(name)
      -- A finalizer of the host may fail as well, so the status may be that of an error. It is not that of a signal.
      assert.matches('not enough memory', output)
      assert.is_true(status < 128, output)
    end)
  end
end)
