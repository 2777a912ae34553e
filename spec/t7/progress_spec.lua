-- The progress callback of torch.save and torch.load: bytes done and in total, and errors in the callback.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()
local name

before_each(function()
  name = path 'f.t7'
end)

-- Returns a callback, and a function that checks its calls: the numbers never decrease, and the last call reports everything.
local function recorder()
  local calls = {}
  return function(...)
    assert(select('#', ...) == 2)
    calls[#calls + 1] = { ... }
  end, function(total)
    local last = 0
    for _, call in ipairs(calls) do
      assert.is_true(call[1] >= last and call[1] <= call[2], ('%s of %s after %s'):format(call[1], call[2], last))
      assert.equal(total, call[2])
      last = call[1]
    end
    assert.equal(total, last)
    return #calls
  end
end

local function samples()
  local wide = {}
  for i = 1, 2e5 do
    wide[i] = i
  end
  return {
    5,
    'x',
    {},
    torch.DoubleStorage(3e6),
    wide,
    { torch.ByteStorage(1e6), ('x'):rep(1e6), torch.IntStorage(1e6) },
  }
end

describe('progress', function()
  it('of saving goes up to the size of the file', function()
    for _, object in ipairs(samples()) do
      for _, options in ipairs { {}, { mode = 'ascii' }, { mode = 'b32' }, { atomic = false } } do
        if options.mode ~= 'ascii' or not torch.isStorage(object) then
          local progress, check = recorder()
          options.progress = progress
          torch.save(name, object, options)
          check(#support.slurp(name))
        end
      end
    end
  end)

  it('of loading goes up to the size of the file #slow', function()
    for _, object in ipairs(samples()) do
      for _, mode in ipairs { 'binary', 'ascii' } do
        torch.save(name, object, mode)
        for _, options in ipairs { {}, { mode = mode }, { mmap = true } } do
          local progress, check = recorder()
          options.progress = progress
          torch.load(name, options)
          check(#support.slurp(name))
        end
      end
    end
  end)

  it('is reported from time to time, neither once nor for every number', function()
    for _, object in ipairs { torch.DoubleStorage(5e6), samples()[5] } do
      local progress, check = recorder()
      torch.save(name, object, { progress = progress })
      local size = #support.slurp(name)
      local count = check(size)
      assert.is_true(count >= 3 and count < 2000, count)
      progress, check = recorder()
      torch.load(name, { progress = progress })
      count = check(size)
      assert.is_true(count >= 3 and count < 2000, count)
    end
  end)

  it('that raises an error ends the operation, and the old file stays', function()
    support.spit(name, 'old')
    local thrown = {}
    for _, object in ipairs(samples()) do
      for _, mode in ipairs { 'binary', 'ascii' } do
        local message = support.failure(torch.save, name, object, {
          mode = mode,
          progress = function()
            error 'enough'
          end,
        })
        assert.matches('enough', message, 1, true)
        local ok, got = pcall(torch.save, name, object, {
          mode = mode,
          progress = function(done, total)
            if done == total then
              error(thrown)
            end
          end,
        })
        assert.is_false(ok)
        assert.is_true(rawequal(got, thrown) or type(got) == 'string')
        assert.equal('old', support.slurp(name))
        assert.equal('f.t7', support.sh('ls -A ' .. path()))
      end
    end
    torch.save(name, samples())
    support.collect()
    local before = torch.memory()
    local message = support.failure(torch.load, name, {
      progress = function(done)
        if done > 1e6 then
          error 'enough'
        end
      end,
    })
    assert.matches('enough', message, 1, true)
    support.collect()
    assert.same(before, torch.memory())
  end)

  it('callbacks may save and load', function()
    local other, calls = path('other.t7'), 0
    local function nested()
      calls = calls + 1
      torch.save(other, { calls })
      assert(torch.load(other)[1] == calls)
    end
    torch.save(name, samples(), { progress = nested })
    local t = torch.load(name, { progress = nested })
    assert.equal(3e6, #t[4])
    assert.is_true(calls > 2)
  end)

  it('callbacks cannot break the file by changing the object that is being saved', function()
    local s = torch.DoubleStorage(3e6):fill(1)
    local object = { 'first', torch.ByteStorage(2e6), s, 'last' }
    local ok, message = pcall(torch.save, name, object, {
      progress = function()
        s:resize(5)
      end,
    })
    assert.is_true(ok or type(message) == 'string')
    if ok then
      assert.equal('last', torch.load(name)[4])
    end
    ok, message = pcall(torch.save, name, { 1, torch.ByteStorage(3e6), torch.ByteStorage(3e6), x = 1 }, {
      progress = function()
        object[1], object[2] = nil, nil
        s:free()
      end,
    })
    assert.is_true(ok or type(message) == 'string')
  end)

  it('callbacks that yield work, or raise an error that is a string', function()
    local co = coroutine.create(function()
      torch.save(name, { torch.DoubleStorage(1e5) }, { progress = coroutine.yield })
    end)
    local ok, message = coroutine.resume(co)
    assert.is_true(ok or type(message) == 'string')
  end)
end)
