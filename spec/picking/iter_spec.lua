-- x:iter() of tensors.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local function text(...)
  local list = { ... }
  for k = 1, select('#', ...) do
    list[k] = support.plain(tostring(list[k]))
  end
  return table.concat(list, ' ')
end

describe('x:iter', function()
  it('gives the indices and the element, in row-major order', function()
    for _, T in ipairs(types.NUMBERS) do
      local seen = {}
      for i, j, v in torch[T .. 'Tensor']({ { 0, 1 }, { 1, 0 }, { 1, 1 } }):t():iter() do
        seen[#seen + 1] = text(i, j, v)
      end
      assert.same({ '1 1 0', '1 2 1', '1 3 1', '2 1 1', '2 2 0', '2 3 1' }, seen, T)
    end
    local seen = {}
    for i, v in torch.IntTensor({ 7, 8 }):iter() do
      seen[#seen + 1] = text(i, v)
    end
    assert.same({ '1 7', '2 8' }, seen)
  end)

  it('goes through any number of dimensions', function()
    local x = torch.IntTensor.range(1, 120)
    for _, sizes in ipairs { { 120 }, { 20, 6 }, { 4, 5, 6 }, { 2, 3, 4, 5 }, { 2, 3, 2, 2, 5 } } do
      local y, count = x:view(unpack(sizes)), 0
      local step = y:iter()
      while true do
        local all = { step() }
        if all[1] == nil then
          break
        end
        count = count + 1
        assert.equal(#sizes + 1, #all)
        assert.equal(count, all[#all])
        assert.equal(count, y:get(unpack(all, 1, #sizes)))
      end
      assert.equal(120, count)
      assert.is_nil((step()))
    end
    for v in torch.IntStorage({ 5 }):view({}):iter() do
      assert.equal(5, v)
    end
    for _ in torch.IntTensor(3, 0):iter() do
      error 'there is no element'
    end
    for _ in torch.IntTensor(0, 3):iter() do
      error 'there is no element'
    end
  end)

  it('gives complex numbers', function()
    for i, z in torch.ComplexFloatTensor({ { re = 1, im = 2 } }):iter() do
      assert.same({ 1, 1, 2 }, { i, z.re, z.im })
    end
  end)

  it('is one loop for LuaJIT, and the same without it', function()
    local sum = 0
    local x = torch.FloatTensor.range(1, 10000)
    for i, j, v in x:view(100, 100):iter() do
      assert(v == (i - 1) * 100 + j)
      sum = sum + v
    end
    assert.equal(50005000, sum)
  end)

  it('refuses other values, and elements that a storage has lost', function()
    local x = torch.IntTensor(2)
    for _, wrong in ipairs { 5, 'x', {}, torch.IntStorage(1), torch.FloatTensor(1) } do
      local ok, message = pcall(x.iter, wrong)
      assert.is_false(ok)
      assert.matches('torch.IntTensor expected, got ', message, 1, true)
    end
    assert.matches('got no value', select(2, pcall(x.iter)), 1, true)
    local s = torch.IntStorage(4)
    local y = s:view(2, 2)
    s:resize(2)
    local ok, message = pcall(function()
      for _ in y:iter() do
        s:resize(2)
      end
    end)
    assert.is_false(ok)
    assert.matches('of its storage, which has 2', message, 1, true)
  end)
end)
