-- Errors leave no memory behind. PUC Lua raises by longjmp, which skips the destructors of Rust values: what is alive in a frame
-- of the library when an error is raised is never freed.
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()

-- Raises an error `count` times, and returns by how many bytes each error made the process grow. The smallest
-- growth of four rounds counts: the allocator and Lua may take memory once, but a leak grows in every round.
local function growth(count, f, ...)
  local least = math.huge
  for _ = 1, 4 do
    local before = support.resident()
    for _ = 1, count / 4 do
      if pcall(f, ...) then
        error('an error was expected', 0)
      end
    end
    support.collect()
    least = math.min(least, (support.resident() - before) / (count / 4))
  end
  return least
end

-- The smallest value that leaks is a message of some 30 bytes in a block of the allocator.
local LEAST = 20

local s = torch.IntStorage(3)
local thread = coroutine.create(function() end)
local long = ('long'):rep(60)
local serialized = torch.serialize { torch.IntStorage(100) }

-- A list of numbers whose last element is none.
local list = {}
for i = 1, 100 do
  list[i] = i
end
list[101] = long

describe('an error leaves no memory behind #slow', function()
  support.cases('%s', {
    ['of an element'] = function()
      return s[4]
    end,
    ['of an argument'] = function()
      s:type(long)
    end,
    ['of a field'] = function()
      s[long] = 1
    end,
    ['of a list'] = function()
      torch.IntStorage(list)
    end,
    ['of a file name'] = function()
      torch.IntStorage('/nonexistent/' .. long)
    end,
    ['of the name of shared memory'] = function()
      torch.IntStorage('/nonexistent/' .. long, true, 10, true)
    end,
    ['of a buffer'] = function()
      torch.frombuffer(print)
    end,
    ['of the options of a buffer'] = function()
      torch.frombuffer(s, { [long] = 1 })
    end,
    ['of a loaded file'] = function()
      torch.load('/nonexistent/' .. long)
    end,
    ['of a truncated object'] = function()
      torch.deserialize(serialized:sub(1, -2))
    end,
    ['of an object that cannot be saved'] = function()
      torch.serialize { [long] = thread }
    end,
  }, function(f)
    local grown = growth(20000, f)
    assert.is_true(grown < LEAST, grown)
  end)

  it('of too many results', function()
    local many = torch.ByteStorage(8000)
    local grown = growth(20000, many.unpack, many)
    assert.is_true(grown < LEAST, grown)
  end)

  it('of a saved file', function()
    local name = path 'unsaved'
    local grown = growth(5000, torch.save, name, thread)
    assert.is_true(grown < LEAST, grown)
  end)
end)
