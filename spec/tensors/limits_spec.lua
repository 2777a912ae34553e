-- Tensors that have more elements than a loop could ever go through, and arguments that look like others.
local torch = require 'torch.storage'

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
