-- Tensors that have more elements than a loop could ever go through, and arguments that look like others.
local torch = require 'torch.storage'
local support = require 'spec.support'

local fails = support.fails
local L = torch.LongStorage

-- Calls a function under a hook that raises at the first call or return after some of them.
local function interrupted(f, ...)
  local calls = 0
  debug.sethook(function()
    calls = calls + 1
    if calls > 50 then
      debug.sethook()
      error 'interrupted'
    end
  end, 'cr')
  local ok, message = pcall(f, ...)
  debug.sethook()
  return not ok and message:find 'interrupted' ~= nil
end

describe('a tensor with more elements than memory', function()
  it('is known to differ after the first step', function()
    local ones = torch.ByteTensor(1):fill(1):expand(2 ^ 60)
    local twos = torch.ByteTensor(1):fill(2):expand(2 ^ 60)
    assert.is_false(interrupted(ones.equal, ones, twos))
    assert.is_false(ones:equal(twos))
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

describe('an element behind the end of its storage', function()
  it('is named in the error', function()
    local x = torch.DoubleTensor(2, 3)
    x:storage():resize(3)
    fails('the element is number 4 of its storage, which has 3', function()
      return x[{ 2, 1 }]
    end)
  end)
end)
