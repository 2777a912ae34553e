-- Compiled access to a tensor whose storage becomes smaller while the loop runs: the first element that the storage does not have
-- any more is one behind its last.
local torch = require 'torch'

-- Runs `access` often enough to be compiled, makes the storage one element shorter, and goes on. Returns how often it ran, and
-- the error.
local function run(storage, access)
  local count = 0
  local _, message = pcall(function()
    for round = 1, 400 do
      if round == 300 then
        storage:resize(storage:size() - 1)
      end
      access()
      count = round
    end
  end)
  return count, message
end

describe('A tensor whose storage becomes one element shorter in a compiled loop', function()
  for _, name in ipairs { 'DoubleTensor', 'ByteTensor', 'HalfTensor', 'LongTensor' } do
    local storage, x, matrix
    before_each(function()
      local class = torch[name]
      storage = torch[(name:gsub('Tensor', 'Storage'))](4):fill(7)
      x = class(storage, 1, torch.LongStorage { 4 })
      matrix = class(storage, 1, torch.LongStorage { 2, 2 })
    end)

    it('is not read beyond its end: ' .. name, function()
      local sum = 0
      local count, message = run(storage, function()
        sum = sum + tonumber(x[4])
      end)
      assert.equal(299, count)
      assert.truthy(tostring(message):find('3', 1, true))
      assert.equal(299 * 7, sum)
      count = run(storage, function()
        sum = sum + tonumber(x[3])
      end)
      assert.equal(299, count)
    end)

    it('is not written beyond its end: ' .. name, function()
      local count = run(storage, function()
        x[4] = 9
      end)
      assert.equal(299, count)
      storage:resize(4)
      assert.equal(0, tonumber(storage[4]))
    end)

    it('is not read or written beyond its end by two indices: ' .. name, function()
      local sum = 0
      assert.equal(299, (run(storage, function()
        sum = sum + tonumber(matrix[2][2])
      end)))
      storage:resize(4):fill(7)
      assert.equal(299, (run(storage, function()
        matrix:set(2, 2, 9)
      end)))
      storage:resize(4)
      assert.equal(0, tonumber(storage[4]))
    end)
  end
end)
