-- Ctrl-C during a long operation: the host sets a hook that raises an error, and the operation runs it between two steps.
-- Interpreters: luajit, lua5.1, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

local STEP = 2 ^ 28

describe('a long operation #large', function()
  -- Runs `act` on `s` until a hook raises an error, which it does once the first element of `s` is 7.
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

  it('on bytes ends between two steps', function()
    local size = 2 * STEP + 10
    local s, sevens = torch.ByteStorage(size), torch.ByteStorage(size):fill(7)
    local function half_done(act)
      s:fill(0)
      interrupted(s, act)
      assert.same({ 7, 7, 0, 0 }, { s[1], s[STEP], s[STEP + 1], s[size] })
    end
    half_done(function()
      s:rawcopy(sevens)
    end)
    half_done(function()
      s:copy(sevens:view 'untyped')
    end)
    local text = sevens:string()
    half_done(function()
      s:string(text)
    end)
    text = nil -- luacheck: ignore
    sevens:fill(0)
    s:fill(1)[1] = 0
    s[1] = 7
    local raised = false
    debug.sethook(function()
      if not raised and s[1] == 0 then
        raised = true
        error 'interrupted!'
      end
    end, 'c')
    local ok = pcall(s.zero, s)
    debug.sethook()
    assert.is_false(ok)
    assert.same({ 0, 0, 1, 1 }, { s[1], s[STEP], s[STEP + 1], s[size] })
    s = nil -- luacheck: ignore
    support.collect()
    local words = torch.ShortStorage(size / 2):fill(1792) -- 7 with its bytes reversed
    interrupted(words, function()
      words:byteswap()
    end)
    assert.same({ 7, 7, 1792 }, { words[1], words[STEP / 2], words[STEP / 2 + 1] })
  end)

  it('that compares compares the current elements, and ends between two steps', function()
    local s = torch.ByteStorage(2 * STEP + 10)
    local other = s:clone()
    assert.is_true(s:equal(other))
    other[2 * STEP + 10] = 1
    assert.is_false(s:equal(other))
    other[1] = 1
    assert.is_false(s:equal(other))
    other[1], other[2 * STEP + 10] = 0, 0
    for between = 1, 2 do -- three steps
      local calls
      debug.sethook(function()
        if debug.getinfo(2, 'f').func == s.equal then
          calls = 0
        elseif calls then
          calls = calls + 1
          if calls == between then
            error 'interrupted!'
          end
        end
      end, 'c')
      local ok, message = pcall(s.equal, s, other)
      debug.sethook()
      assert.is_false(ok)
      assert.matches('interrupted!', message, 1, true)
    end
  end)

  it('reports that a hook changed the size', function()
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
    assert.matches('a hook or a finalizer has changed the size', message, 1, true)
    assert.same({ 7, 7, 7 }, s:totable())
  end)

  it('continues if a hook only reads', function()
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
