-- Ctrl-C in the middle of a long operation: the host sets a hook that raises, which is given a chance between two steps.
local torch = require 'torch'
local support = require 'spec.support'

local STEP = 2 ^ 28

describe('a long operation #large', function()
  -- What `act` does to `s` until a hook raises, which it does as soon as the first element of `s` is 7.
  local function interrupted(s, act)
    local raised = false
    debug.sethook(function()
      if not raised and s[1] == 7 then
        raised = true
        error 'interrupted!'
      end
    end, 'c')
    local ok, message = pcall(act)
    debug.sethook()
    assert.is_false(ok)
    assert.matches('interrupted!', message, 1, true)
  end

  after_each(support.collect)

  it('ends between two steps', function()
    local s = torch.ByteStorage(2 * STEP + 10)
    interrupted(s, function()
      s:fill(7)
    end)
    assert.equal(7, s[STEP])
    assert.equal(0, s[STEP + 1])
    local source = torch.ByteStorage(2 * STEP + 10):fill(7)
    s:fill(0)
    interrupted(s, function()
      s:copy(source)
    end)
    assert.equal(7, s[STEP])
    assert.equal(0, s[STEP + 1])
    s:fill(0)
    assert.equal(0, s[2 * STEP + 10])
    s:fill(7, 5)
    assert.same({ 0, 7, 7, 7 }, { s[4], s[5], s[STEP + 5], s[2 * STEP + 10] })
  end)

  it('says so when a hook changes the size in the middle of it', function()
    local s, done = torch.ByteStorage(STEP + 10), false
    debug.sethook(function()
      if not done and s[1] == 7 then
        done = true
        s:resize(3)
      end
    end, 'c')
    local ok, message = pcall(s.fill, s, 7)
    debug.sethook()
    assert.is_false(ok)
    assert.matches('a hook has changed the size', message, 1, true)
    assert.same({ 7, 7, 7 }, s:totable())
  end)

  it('goes on where a hook only looks', function()
    local s, seen = torch.ByteStorage(2 * STEP), 0
    debug.sethook(function()
      seen = seen + 1
    end, 'c')
    s:fill(7)
    local copy = s:clone()
    debug.sethook()
    assert.is_true(seen >= 4, seen)
    assert.is_true(copy:equal(s))
    assert.equal(7, copy[2 * STEP])
  end)
end)
