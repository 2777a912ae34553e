-- What tensors tell about themselves: sizes, bytes, addresses, and elements with all their bits.
local torch = require 'torch.storage'
local support = require 'spec.support'

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(pattern, 1, true), message)
end

describe('a tensor tells', function()
  it('how many dimensions, elements and bytes it has', function()
    for _, sizes in ipairs { { 2, 3, 4 }, { 5 }, { 0, 3 }, {} } do
      local product = 1
      for _, size in ipairs(sizes) do
        product = product * size
      end
      local x = torch.ShortStorage(product):view(sizes)
      assert.equal(#sizes, x:dim())
      assert.equal(#sizes, x:nDimension())
      assert.equal(product, x:nElement())
      assert.equal(product, x:numel())
      assert.equal(2, x:elementSize())
      assert.equal(2 * product, x:nbytes())
      assert.same(sizes, x:size():totable())
      assert.same(sizes, (#x):totable())
    end
    assert.equal(16, torch.ComplexDoubleTensor.elementSize())
    -- The bytes of a copy: the storage has only 3 elements.
    assert.equal(4 * 300, torch.FloatTensor(3, 1):expand(3, 100):nbytes())
  end)

  it('the size and the stride of a dimension, counted from either end', function()
    local x = torch.ShortStorage(24):view(2, 3, 4)
    for d, size in ipairs { 2, 3, 4 } do
      assert.equal(size, x:size(d))
      assert.equal(size, x:size(d - 4))
      assert.equal(({ 12, 4, 1 })[d], x:stride(d))
      assert.equal(({ 12, 4, 1 })[d], x:stride(d - 4))
    end
    for _, d in ipairs { 0, 4, -4 } do
      fails(('dimension %d is out of range: the tensor has 3 dimensions'):format(d), x.size, x, d)
      fails(('dimension %d is out of range: the tensor has 3 dimensions'):format(d), x.stride, x, d)
    end
  end)

  it('where its first element is', function()
    local s = torch.DoubleStorage(6)
    local x = s:view(2, 3)
    assert.equal(s:dataptr(), x:dataptr())
    assert.equal(s:dataptr() + 8 * 4, x:select(1, 2):narrow(1, 2, 1):dataptr())
    assert.equal(5, x:select(1, 2):narrow(1, 2, 1):storageOffset())
    assert.equal(0, x:narrow(1, 1, 0):dataptr())
    s:resize(5)
    fails('uses elements 1 to 6 of its storage, which has 5', x.dataptr, x)
  end)

  it('an element with all its bits', function()
    local x = torch.LongStorage({ 1, 2, '9007199254740993', -4 }):view(2, 2)
    assert.equal('9007199254740993', x:decimal(2, 1))
    assert.equal('-4', x:t():decimal(2, 2))
    local exact = x:exact(2, 1)
    assert.equal(support.luajit and 'cdata' or support.has_integers and 'number' or 'string', type(exact))
    assert.equal('9007199254740993', x:set(1, 1, exact):decimal(1, 1))
    assert.equal(0.5, torch.FloatStorage({ 0.5 }):view(1, 1):exact(1, 1))
    fails('index 3 is out of range: dimension 2 has size 2', x.exact, x, 1, 3)
    fails('an element has an index for each dimension: the tensor has 2 dimensions, got 1', x.decimal, x, 1)
    local complex = torch.ComplexFloatTensor(1, 1)
    fails('elements of a torch.ComplexFloatTensor have two parts', complex.exact, complex, 1, 1)
  end)

  it('its class, which has several names', function()
    local x = torch.FloatTensor(2, 2)
    assert.equal('torch.FloatTensor', torch.typename(x))
    for _, class in ipairs {
      'torch.IntTensor',
      'IntTensor',
      'torch.IntStorage',
      'int32',
      torch.IntTensor,
      torch.IntStorage,
    } do
      assert.equal('torch.IntTensor', torch.typename(x:view(class)), tostring(class))
    end
    fails("no class 'intTensor'", x.view, x, 'intTensor')
  end)
end)
