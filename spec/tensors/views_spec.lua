-- Views of tensors: the examples of PyTorch's page on Tensor.view, the rule of `view`, and every other method that gives a view.
local torch = require 'torch.storage'
local support = require 'spec.support'
local types = require 'spec.support.types'

local L = torch.LongStorage

local function sequence(...)
  local x = torch.DoubleTensor(...)
  for i = 1, #x:storage() do
    x:storage()[i] = i
  end
  return x
end

local function list(s)
  return support.joined(s:totable(), ',')
end

-- Sizes and strides as text: '3x4 (4,1)'.
local function shape(x)
  return ('%s (%s)'):format((list(x:size()):gsub(',', 'x')), list(x:stride()))
end

-- The elements in row-major order.
local function elements(x)
  return list(x:contiguous():storage():sub(x:contiguous():storageOffset(), -1):sub(1, x:nElement()))
end

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_string(message)
  assert.is_truthy(message:find(pattern, 1, true), message)
end

describe("PyTorch's page on Tensor.view", function()
  it('views 4 x 4 numbers as 16, and as rows of 8', function()
    local x = sequence(4, 4)
    assert.same({ 4, 4 }, x:size():totable())
    local y = x:view(16)
    assert.same({ 16 }, y:size():totable())
    local z = x:view(-1, 8) -- the size -1 is calculated from the other
    assert.same({ 2, 8 }, z:size():totable())
    z[{ 2, 8 }] = 100
    assert.equal(100, x[{ 4, 4 }])
    assert.equal(100, y[16])
  end)

  it('shows that a view is not a transposition', function()
    local a = sequence(1, 2, 3, 4)
    local b = a:transpose(2, 3) -- exchanges the second and the third dimension
    assert.same({ 1, 3, 2, 4 }, b:size():totable())
    local c = a:view(1, 3, 2, 4) -- the elements keep their order in memory
    assert.same({ 1, 3, 2, 4 }, c:size():totable())
    assert.is_false(b:equal(c))
  end)

  it('views the bytes as another class', function()
    local numbers = { 0.9482, -0.0310, 1.4999, -0.5316, -0.1520, 0.7472, 0.5617, -0.8649 }
    local x = torch.FloatStorage(numbers):view(2, 4)
    local y = x:view 'int32'
    assert.equal('torch.IntTensor', torch.type(y))
    assert.same({ 2, 4 }, y:size():totable())
    y[{ 1, 1 }] = 1000000000
    assert.equal('0.0047', ('%.4f'):format(x[{ 1, 1 }]))

    local z = x:view 'cfloat'
    assert.equal('torch.ComplexFloatTensor', torch.type(z))
    assert.same({ 2, 2 }, z:size():totable())
    assert.equal('0.0047 -0.0310', ('%.4f %.4f'):format(z:get(1, 1)))
    assert.equal('0.5617 -0.8649', ('%.4f %.4f'):format(z:get(2, 2)))

    local bytes = x:view 'uint8'
    assert.same({ 2, 16 }, bytes:size():totable())
  end)
end)

describe('the rule of view', function()
  -- A tensor with these sizes and strides.
  local function tensor(sizes, strides)
    return torch.ByteTensor(torch.ByteStorage(200), 1, sizes, strides)
  end

  local POSSIBLE = {
    { { 3, 4 }, { 4, 1 }, { 2, -1 }, '2x6 (6,1)' },
    { { 4, 3 }, { 1, 4 }, { 2, 2, 3 }, '2x2x3 (2,1,4)' },
    { { 4, 3 }, { 1, 4 }, { 1, 4, 1, 3 }, '1x4x1x3 (4,1,12,4)' },
    { { 3, 2 }, { 4, 1 }, { 3, 1, 2 }, '3x1x2 (4,2,1)' },
    { { 2, 3, 4 }, { 24, 4, 1 }, { 2, 12 }, '2x12 (24,1)' },
    { { 6 }, { 2 }, { 2, 3 }, '2x3 (6,2)' },
    { { 3, 4 }, { 0, 1 }, { 3, 2, 2 }, '3x2x2 (0,2,1)' },
    { { 0, 3 }, { 3, 1 }, { 3, -1 }, '3x0 (1,1)' },
    { { 0, 3 }, { 3, 1 }, { 5, 0, 2 }, '5x0x2 (2,2,1)' },
    { { 0 }, { 1 }, { -1 }, '0 (1)' },
    { { 1 }, { 1 }, {}, ' ()' },
  }
  local IMPOSSIBLE = {
    {
      { 4, 3 },
      { 1, 4 },
      { 12 },
      'a view of 12 would need a copy: the tensor of 4 x 3 has strides 1, 4; use x:contiguous():view(...)',
    },
    { { 3, 2 }, { 4, 1 }, { 6 }, 'a view of 6 would need a copy' },
    { { 2, 3, 4 }, { 24, 4, 1 }, { 6, 4 }, 'a view of 6 x 4 would need a copy' },
    { { 3, 4 }, { 0, 1 }, { 12 }, 'a view of 12 would need a copy' },
    { { 0 }, { 1 }, { -1, 0 }, 'any size would do' },
    { { 2 }, { 1 }, {}, 'a view of no dimensions needs 1 element, and there are 2' },
    { { 3, 4 }, { 4, 1 }, { 3, 5 }, 'a view of 3 x 5 needs 15 elements, and the tensor of 3 x 4 has 12' },
    { { 3, 4 }, { 4, 1 }, { -1, -1 }, 'only one size can be -1' },
    { { 3, 4 }, { 4, 1 }, { -2, 6 }, 'size -2 is not allowed: sizes are 0 or more, or -1 once' },
    { { 3, 4 }, { 4, 1 }, { -1, 5 }, '12 elements cannot be divided into rows of 5' },
    { { 3, 4 }, { 4, 1 }, { 2 ^ 62, 2 ^ 62 }, 'more elements than a machine can address' },
  }

  for _, case in ipairs(POSSIBLE) do
    local sizes, strides, wanted, result = unpack(case)
    local name = ('%s (%s) as %s'):format(
      table.concat(sizes, 'x'),
      table.concat(strides, ','),
      table.concat(wanted, 'x')
    )
    it('gives a view: ' .. name, function()
      local x = tensor(sizes, strides)
      assert.equal(result, shape(x:view(wanted)))
      assert.equal(result, shape(x:view(L(wanted))))
      assert.equal(result, shape(x:view(unpack(wanted))))
      assert.is_true(x:view(wanted):storage() == x:storage())
    end)
  end
  for _, case in ipairs(IMPOSSIBLE) do
    local sizes, strides, wanted, message = unpack(case)
    local name = ('%s (%s) as %s'):format(
      table.concat(sizes, 'x'),
      table.concat(strides, ','),
      table.concat(wanted, 'x')
    )
    it('refuses: ' .. name, function()
      local x = tensor(sizes, strides)
      fails(message, function()
        x:view(wanted)
      end)
    end)
  end

  it('views a scalar as one dimension', function()
    local x = torch.IntStorage({ 7 }):view()
    assert.equal(0, x:dim())
    assert.equal(7, x:get())
    assert.equal('1 (1)', shape(x:view(1)))
    assert.equal('1 (1)', shape(x:view(-1)))
    assert.equal(0, x:view(L()):dim())
  end)

  it('allows the same width always, and another under four conditions', function()
    local x = torch.ShortTensor(torch.ShortStorage(40), 1, { 3, 4 }, { 1, 3 })
    assert.equal('torch.HalfTensor', torch.type(x:view(torch.HalfTensor)))
    fails('its last stride must be 1, and is 3', x.view, x, 'int8')
    x = torch.ShortTensor(torch.ShortStorage(40), 1, { 3, 3 }, { 4, 1 })
    fails('its last size must be a multiple of 2, and is 3', x.view, x, 'int32')
    assert.equal('3x6 (8,1)', shape(x:view 'int8'))
    x = torch.ShortTensor(torch.ShortStorage(40), 2, { 3, 4 }, { 4, 1 })
    fails(
      'the number of elements before its first one in the storage must be a multiple of 2, and is 1',
      x.view,
      x,
      'int32'
    )
    x = torch.ShortTensor(torch.ShortStorage(40), 1, { 3, 4 }, { 5, 1 })
    fails('the stride of dimension 1 must be a multiple of 2, and is 5', x.view, x, 'int32')
    fails('it has no dimension whose size could change', function()
      torch.ShortStorage({ 7 }):view():view 'int8'
    end)
    fails('there are no tensors of bytes without a type', x.view, x, 'untyped')
    fails("no class 'float33'", x.view, x, 'float33')
  end)
end)

describe('a view of a storage', function()
  it('has all elements of the storage', function()
    local s = torch.IntStorage { 1, 2, 3, 4, 5, 6 }
    for _, x in ipairs { s:view(2, 3), s:view(-1, 3), s:view { 2, 3 }, s:view(L { 2, 3 }) } do
      assert.equal('torch.IntTensor', torch.type(x))
      assert.equal('2x3 (3,1)', shape(x))
      assert.is_true(x:storage() == s)
    end
    s:view(3, 2)[{ 3, 2 }] = 60
    assert.equal(60, s[6])
    fails('a view of 4 needs 4 elements, and there are 6', s.view, s, 4)
    fails('there are no tensors of bytes without a type', function()
      s:untyped():view(4, 6)
    end)
  end)

  it('is still a view of the bytes if a class is named', function()
    local s = torch.IntStorage(6)
    assert.equal('torch.ByteStorage', torch.type(s:view 'uint8'))
    assert.equal('torch.ByteStorage', torch.type(s:view(torch.ByteStorage, 4, 8)))
  end)
end)

describe('every view', function()
  local x = sequence(2, 3, 4)
  local CASES = {
    narrow = { { 2, 2, 2 }, '2x2x4 (12,4,1)', '5,6,7,8,9,10,11,12,17,18,19,20,21,22,23,24' },
    select = { { -1, 4 }, '2x3 (12,4)', '4,8,12,16,20,24' },
    sub = { { -1, -1, 1, 1, -2, -1 }, '1x1x2 (12,4,1)', '15,16' },
    transpose = { { 1, -1 }, '4x3x2 (1,4,12)', '1,13,5,17,9,21,2,14,6,18,10,22,3,15,7,19,11,23,4,16,8,20,12,24' },
    permute = { { 3, 1, 2 }, '4x2x3 (1,12,4)', '1,5,9,13,17,21,2,6,10,14,18,22,3,7,11,15,19,23,4,8,12,16,20,24' },
    unfold = { { 3, 2, 2 }, '2x3x2x2 (12,4,2,1)', '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24' },
    unsqueeze = { { -1 }, '2x3x4x1 (12,4,1,1)', '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24' },
  }
  for name, case in pairs(CASES) do
    it('shares the elements: ' .. name, function()
      local y = x[name](x, unpack(case[1]))
      assert.equal(case[2], shape(y))
      assert.equal(case[3], elements(y))
      assert.is_true(y:storage() == x:storage())
    end)
  end

  it('is made by expand, squeeze, split and chunk too', function()
    local column = sequence(3, 1)
    assert.equal('3x4 (1,0)', shape(column:expand(3, 4)))
    assert.equal('3x4 (1,0)', shape(column:expandAs(torch.ByteTensor(3, 4))))
    assert.equal('1,1,2,2,3,3', elements(column:expand { 3, 2 }))
    assert.equal('3 (1)', shape(column:squeeze()))
    assert.equal('3 (1)', shape(column:squeeze(-1)))
    assert.equal(5, torch.IntStorage({ 5 }):view(1, 1):squeeze())
    local pieces = x:split(2, 2)
    assert.equal(2, #pieces)
    assert.equal('2x2x4 (12,4,1)', shape(pieces[1]))
    assert.equal('2x1x4 (12,4,1)', shape(pieces[2]))
    assert.equal(2, #x:chunk(2, 3))
    assert.equal(1, #torch.IntTensor(0):split(3))
  end)

  it('unsqueezes before a dimension with the stride that continues it', function()
    assert.equal('1x2x3 (6,3,1)', shape(sequence(2, 3):unsqueeze(1)))
    assert.equal('2x1x3 (3,3,1)', shape(sequence(2, 3):unsqueeze(2)))
    assert.equal('2x3x1 (3,1,1)', shape(sequence(2, 3):unsqueeze(3)))
    fails('dimension 4 is out of range', function()
      sequence(2, 3):unsqueeze(4)
    end)
  end)

  it('of length 0 may begin behind the last index', function()
    assert.equal('2x0x4 (12,4,1)', shape(x:narrow(2, 4, 0)))
    fails('a range of length 0 from index 5 on is out of range: dimension 2 has size 3', x.narrow, x, 2, 5, 0)
  end)

  it('reshape copies only where no view is possible', function()
    assert.is_true(x:reshape(6, 4):storage() == x:storage())
    local y = x:transpose(1, 2):reshape(-1)
    assert.is_false(y:storage() == x:storage())
    assert.equal('24 (1)', shape(y))
    assert.equal('1,2,3,4,13,14', list(y:storage():sub(1, 6)))
  end)

  it('contiguous gives the tensor itself, or a copy', function()
    assert.is_true(rawequal(x:contiguous(), x))
    local y = x:narrow(3, 2, 2):contiguous()
    assert.equal('2x3x2 (6,2,1)', shape(y))
    assert.equal(12, #y:storage())
  end)
end)

describe('wrong arguments', function()
  local x = sequence(2, 3)
  local WRONG = {
    { 'narrow', { 3, 1, 1 }, 'dimension 3 is out of range: the tensor has 2 dimensions' },
    { 'narrow', { 0, 1, 1 }, 'dimension 0 is out of range' },
    { 'narrow', { -3, 1, 1 }, 'dimension -3 is out of range' },
    { 'narrow', { 1, -1, 1 }, 'a range of length 1 from index -1 on is out of range: dimension 1 has size 2' },
    { 'narrow', { 1, 1, -1 }, 'a length cannot be negative, got -1' },
    { 'narrow', { 1, 1 }, 'number expected, got no value' },
    { 'narrow', { 1, 'a', 1 }, 'number expected, got string' },
    { 'narrow', { 1, 0 / 0, 1 }, 'whole number' },
    { 'narrow', { 1, 2 ^ 70, 1 }, 'whole number' },
    { 'select', { 1, -1 }, 'index -1 is out of range: dimension 1 has size 2' },
    { 'select', { 1, 3 }, 'index 3 is out of range: dimension 1 has size 2' },
    { 'sub', {}, 'number expected, got no value' },
    { 'sub', { 1, 2, 3 }, 'number expected, got no value' },
    { 'sub', { 2, 1 }, 'the range from 2 to 1 of dimension 1 ends before it begins' },
    { 'sub', { 0, 1 }, 'index 0 is out of range: dimension 1 has size 2' },
    { 'sub', { 1, 1, 1, 1, 1, 1 }, 'dimension 3 is out of range' },
    { 'transpose', { 1 }, 'number expected, got no value' },
    { 'permute', { 1 }, 'a permutation has each dimension from 1 to 2 once, got 1' },
    { 'permute', { 2, 2 }, 'a permutation has each dimension from 1 to 2 once, got 2, 2' },
    { 'unfold', { 2, 4, 1 }, 'a window of size 4 is too large: dimension 2 has size 3' },
    { 'unfold', { 2, 0, 1 }, 'the size of a window is 1 or more, got 0' },
    { 'unfold', { 2, 1, 0 }, 'the step between windows is 1 or more, got 0' },
    { 'expand', { 2, 4 }, 'the tensor of 2 x 3 cannot be expanded to 2 x 4: only dimensions of size 1 expand' },
    { 'expand', { 2 }, 'an expansion has a size for each dimension' },
    { 'expand', { 2, -3 }, 'size -3 is not allowed' },
    { 'expandAs', { 5 }, 'torch.*Tensor expected, got number' },
    { 'viewAs', { torch.IntStorage(6) }, 's:view(-1) is a tensor of its elements' },
    { 'squeeze', { 3 }, 'dimension 3 is out of range' },
    { 'split', { 0 }, 'the size of a piece is 1 or more, got 0' },
    { 'split', { 1, 3 }, 'dimension 3 is out of range' },
    { 'chunk', { -1 }, 'a number of pieces is 0 or more, got -1' },
    { 'view', { { 1, 'a' } }, 'number 2 of the list: number expected, got string' },
    { 'view', { { 1, 1.5, 0 / 0 } }, 'number 3 of the list: a whole number is needed, got nan' },
    { 'view', { { 6 }, 7 }, 'nothing more expected, got number' },
    { 'view', { true }, 'number expected, got boolean' },
    { 'size', { 3 }, 'dimension 3 is out of range' },
    { 'stride', { {} }, 'number expected, got table' },
    { 'get', { 1 }, 'an element has an index for each dimension: the tensor has 2 dimensions, got 1' },
    { 'get', { 1, 4 }, 'index 4 is out of range: dimension 2 has size 3' },
    { 'get', { 1, -1 }, 'index -1 is out of range' },
    { 'get', { 1, 0 / 0 }, 'whole number' },
    { 'get', { 1, 'a' }, 'number expected, got string' },
    {
      'set',
      { 1, 1 },
      'set needs an index for each dimension and a value: the tensor has 2 dimensions, got 2 arguments',
    },
    { 'set', { 1, 1, 'a' }, 'number expected, got string' },
    { 'set', { 3, 1, 1 }, 'index 3 is out of range: dimension 1 has size 2' },
    { 'set', { torch.DoubleStorage(3) }, 'set stores an element here' },
    { 'set', { x }, 'set stores an element here' },
  }
  for _, case in ipairs(WRONG) do
    local name, arguments, message = unpack(case)
    it(('are an error, and nothing changes: %s: %s'):format(name, message), function()
      fails(message, function()
        return (x[name](x, unpack(arguments)))
      end)
      assert.equal('1,2,3,4,5,6', list(x:storage()))
    end)
  end

  it('of x[{...}] are an error', function()
    fails('an element has an index for each dimension: the tensor has 2 dimensions, got 3', function()
      return x[{ 1, 1, 1 }]
    end)
    fails('entry 2 of the indices: a range is {first, last}, got 3 values', function()
      return x[{ 1, { 1, 2, 3 } }]
    end)
  end)

  it('of constructors are an error', function()
    local D, S = torch.DoubleTensor, torch.DoubleStorage
    fails('size -1 is not allowed: sizes are 0 or more', D, 2, -1)
    fails('a tensor can have at most 64 dimensions, got 65', D, L(65):fill(1))
    fails('more elements than a machine can address', D, 2 ^ 40, 2 ^ 40)
    fails('sizes, a table, a storage or a tensor expected, got string', D, '3')
    fails('number expected, got boolean', D, true)
    fails('number expected, got nil', D, 2, nil)
    fails('torch.DoubleStorage expected, got torch.FloatStorage: s:double() converts it', D, torch.FloatStorage(2))
    fails('torch.DoubleTensor expected, got torch.IntTensor: x:double() converts it', D, torch.IntTensor(2))
    fails('an offset is 1 or more, got 0', D, S(3), 0)
    fails('offset 5 is beyond the end of a storage of 3 elements', D, S(3), 5)
    fails(
      'the tensor of 2 x 2 with strides 2, 1 uses elements 1 to 4 of its storage, which has 3',
      D,
      S(3),
      1,
      { 2, 2 }
    )
    fails('there is a stride for each size, got 2 sizes and 1 stride', D, S(3), 1, { 2, 1 }, { 1 })
    fails('uses elements 3 to 4 of its storage, which has 3', D, S(3), 3, 2)
    fails('number expected, got nil', D, S(3), 1, 2, nil)
    fails('uses elements 0 to 1 of its storage', D, S(3), 1, { 2 }, { -1 })
    fails('nothing more expected after a tensor, got number; new is called with a point: x.new(...)', function()
      D(2):new(3)
    end)
  end)

  it('of methods that are called with a point are explained', function()
    fails('methods are called with a colon, as in x:size()', x.size)
    fails('this is a class; torch.DoubleTensor(...) makes a tensor', x.size, torch.DoubleTensor)
  end)
end)

describe('constructors', function()
  it('make zeros', function()
    assert.equal('2x3 (3,1)', shape(torch.FloatTensor(2, 3)))
    assert.equal('0,0,0,0,0,0', elements(torch.FloatTensor(2, 3)))
    assert.equal('2x3 (3,1)', shape(torch.FloatTensor(L { 2, 3 })))
    assert.equal('2x3 (1,2)', shape(torch.FloatTensor(L { 2, 3 }, L { 1, 2 })))
    assert.equal('2x0x3 (3,3,1)', shape(torch.FloatTensor(2, 0, 3)))
    assert.equal(64, torch.FloatTensor(L(64):fill(1)):dim())
  end)

  it('take negative strides where all elements are inside', function()
    local s = torch.IntStorage { 1, 2, 3, 4, 5, 6 }
    local x = torch.IntTensor(s, 6, { 2, 3 }, { -3, -1 })
    assert.equal('6,5,4,3,2,1', elements(x))
    assert.equal(-3, x:stride(1))
    assert.equal(6, x:get(1, 1))
    assert.equal(1, x:get(2, 3))
    assert.equal('2x3 (-1,-2)', shape(torch.IntTensor(L { 2, 3 }, { -1, -2 })))
  end)

  it('take the last size without its stride, which is 1, in every class', function()
    for _, T in ipairs(types.NUMBERS) do
      local s, Tensor = torch[T .. 'Storage'](12), torch[T .. 'Tensor']
      local part = Tensor(s, 3, 2)
      assert.equal('2 (1)', shape(part))
      assert.equal(3, part:storageOffset())
      assert.is_true(part:storage() == s)
      assert.equal('2x3 (6,1)', shape(Tensor(s, 2, 2, 6, 3)))
      assert.equal('2x3x2 (6,2,1)', shape(Tensor.new(s, 1, 2, 6, 3, 2, 2)))
    end
  end)

  it('make a tensor on the same storage from a tensor', function()
    local x = sequence(2, 3)
    local y = torch.DoubleTensor(x:t())
    assert.is_true(y:isSetTo(x:t()))
    assert.is_false(y == x)
    assert.is_true(x.new(2, 2):dim() == 2)
  end)
end)

describe('the storage of a tensor', function()
  it('lives as long as the tensor', function()
    collectgarbage()
    collectgarbage()
    local before = torch.memory().heap
    local s = torch.DoubleStorage(1000)
    local x = s:view(10, 100)
    s:free()
    x[{ 10, 100 }] = 5
    assert.equal(5, x:get(10, 100))
    local row = x[10]
    x = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.equal(5, row[100])
    row = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.equal(before, torch.memory().heap)
  end)

  it('may be resized: the tensor sees it, and gives an error if elements are gone', function()
    local s = torch.IntStorage { 1, 2, 3, 4, 5, 6 }
    local x = s:view(2, 3)
    s:resize(100000)
    s[6] = 60
    assert.equal(60, x:get(2, 3))
    s:resize(5)
    fails('the tensor of 2 x 3 with strides 3, 1 uses elements 1 to 6 of its storage, which has 5', x.get, x, 2, 3)
    fails('uses elements 1 to 6 of its storage, which has 5', x.set, x, 2, 3, 1)
    assert.equal(5, x:get(2, 2))
    fails('uses elements 1 to 6 of its storage, which has 5', function()
      return x:t():contiguous()
    end)
    fails('uses elements 1 to 6 of its storage, which has 5', x.dataptr, x)
    assert.equal(2, x:narrow(1, 1, 1):get(1, 2))
    s:resize(6)
    assert.equal(0, x:get(2, 3))
  end)

  it('is read-only for the tensor if it is for its other users', function()
    local x = torch.frombuffer(('a'):rep(12), { dtype = 'uint8' }):view(3, 4)
    assert.equal(97, x:get(3, 4))
    fails('read-only', x.set, x, 3, 4, 1)
    fails('read-only', function()
      x[3] = 1
    end)
    fails('read-only', function()
      x[{ 3, 4 }] = 1
    end)
  end)

  it('is the same object for all tensors on it', function()
    local x = sequence(2, 3)
    assert.is_true(x:storage() == x:t():storage())
    assert.equal(4, x[2]:storageOffset())
    assert.equal(torch.pointer(x:storage()), torch.pointer(x[2]:storage()))
    assert.is_nil(torch.FloatTensor():storage())
  end)
end)

describe('the collector', function()
  it('leaves nothing of a tensor when __gc was called by hand', function()
    local x = sequence(2, 3)
    getmetatable(x).__gc(x)
    getmetatable(x).__gc(x)
    fails('the tensor has no storage', x.size, x)
    fails('the tensor has no storage', x.get, x, 1, 1)
    fails('the tensor has no storage', function()
      x[1] = 1
    end)
    fails('the tensor has no storage', torch.DoubleTensor, x)
  end)
end)
