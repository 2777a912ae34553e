-- x:index, x:nonzero and x:maskedSelect, next to loops over the elements.
local torch = require 'torch'
local generator = require 'spec.support.generator'
local support = require 'spec.support'
local types = require 'spec.support.types'

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(pattern, 1, true), message)
end

-- A tensor with random elements, about half of them 0, whose dimensions are in any order in memory.
local function random_tensor(random, class, most)
  local sizes, order = {}, {}
  for d = 1, random(4) do
    sizes[d] = random(most or 4) - (random(9) == 1 and 1 or 0)
    table.insert(order, random(d), d)
  end
  local x = class.zeros(sizes)
  if x:nElement() > 0 then
    local flat = x:view(-1)
    for i = 1, flat:size(1) do
      flat[i] = random(2) == 1 and 0 or random(100)
    end
  end
  return x:permute(unpack(order))
end

local function classes(body)
  for _, T in ipairs(types.ALL) do
    if T ~= 'Untyped' then
      body(torch[T .. 'Tensor'], T)
    end
  end
end

describe('x:index', function()
  it('gives the parts with these indices, for every class, shape and form of the list', function()
    local random = generator(5)
    classes(function(class, T)
      for _ = 1, support.rounds(20, 80) do
        local x = random_tensor(random, class)
        local d = random(x:dim())
        local list = {}
        for k = 1, x:size(d) > 0 and random(x:size(d) * 8) - 1 or 0 do
          list[k] = random(x:size(d))
        end
        local sizes = x:size():totable()
        sizes[d] = #list
        local wanted = class.zeros(sizes)
        for k, i in ipairs(list) do
          wanted:narrow(d, k, 1):copy(x:narrow(d, i, 1))
        end
        local strided = torch.LongTensor(#list, 2)
        if #list > 0 then
          strided:select(2, 2):copy(torch.LongTensor(list))
        end
        for _, indices in ipairs {
          list,
          torch.LongStorage(list),
          torch.LongTensor(torch.LongStorage(list)),
          strided:select(2, 2),
        } do
          local found = x:index(d, indices)
          assert.equal('torch.' .. T .. 'Tensor', found:type())
          assert.is_true(wanted:equal(found), T)
          assert.is_true(wanted:equal(x:index(d - x:dim() - 1, indices)), T)
        end
      end
    end)
  end)

  it('is the same for many indices of rows, columns and expanded tensors', function()
    local n = 10000
    local x = torch.ShortTensor.range(1, 3 * n):view(n, 3)
    local back = torch.LongTensor.range(n, 1, -1)
    local found = x:index(1, back)
    assert.equal(x:get(n, 3), found:get(1, 3))
    assert.is_true(found:index(1, back):equal(x))
    assert.is_true(x:t():index(2, back):equal(found:t()))
    assert.is_true(x:t():contiguous():index(2, back):equal(found:t()))
    assert.same({ 3, 1 }, { x:index(2, { 3, 1 }):get(1, 1), x:index(2, { 3, 1 }):get(1, 2) })
    assert.same({ { 4, 4 }, { 4, 4 } }, torch.IntTensor { { 4 } }:expand(2, 5):index(2, { 5, 1 }):totable())
  end)

  it('is made of storages, too', function()
    for _, T in ipairs(types.ALL) do
      local s = torch[T .. 'Storage'](5)
      local width = types.WIDTH[T]
      for i = 1, 5 do
        s:view('uint8', (i - 1) * width, width):fill(i % 2)
      end
      local found = s:index { 2, 5, 5, 1 }
      assert.equal(s:type(), found:type())
      assert.equal(('\0'):rep(width) .. ('\1'):rep(3 * width), found:string())
      assert.equal(found:string(), s:index(torch.LongStorage { 2, 5, 5, 1 }):string())
      assert.equal(found:string(), s:index(torch.LongTensor { 2, 5, 5, 1 }):string())
      assert.equal(0, #s:index {})
    end
  end)

  it('refuses what are not indices', function()
    local x, s = torch.IntTensor(2, 3), torch.IntStorage(4)
    fails('index 3 is out of range: dimension 1 has size 2', x.index, x, 1, { 1, 3 })
    fails('index 0 is out of range: dimension 2 has size 3', x.index, x, 2, torch.LongTensor { 0 })
    fails('index -1 is out of range', x.index, x, 2, torch.LongStorage { -1 })
    fails('dimension 3 is out of range', x.index, x, 3, { 1 })
    fails('dimension 0 is out of range', x.index, x, 0, { 1 })
    fails('index 2 of the list: number expected, got string', x.index, x, 1, { 1, 'x' })
    fails('index 1 of the list: a whole number is needed, got nan', x.index, x, 1, { 0 / 0 })
    fails('torch.LongTensor, torch.LongStorage or list of indices expected, got torch.IntTensor', x.index, x, 1, x)
    fails('list of indices expected, got number', x.index, x, 1, 1)
    fails('list of indices expected, got no value', x.index, x, 1)
    fails('list of indices expected, got table', x.index, x, 1, torch.LongTensor)
    fails('indices have 1 dimension, got a tensor of 2', x.index, x, 1, torch.LongTensor(1, 1))
    fails('nothing more expected', x.index, x, 1, { 1 }, 2)
    fails('index out of bounds: 5 is not in the range 1 to 4', s.index, s, { 5 })
    fails('index out of bounds: 0 is not in the range 1 to 4', s.index, s, { 0 })
    fails('is not in an empty storage', s.index, torch.IntStorage(), { 1 })
    fails('nothing more expected', s.index, s, { 1 }, 2)
    fails('list of indices expected, got torch.IntStorage', s.index, s, s)
    local t = torch.IntStorage(4)
    local y = t:view(2, 2)
    t:resize(2)
    fails('of its storage, which has 2', y.index, y, 1, { 1 })
  end)

  if support.luajit then
    it('does not use a storage that a finalizer has changed', function()
      local ffi = require 'ffi'
      local s = torch.IntStorage { 7, 8, 9 }
      assert.same({ 9, 7 }, s:index({ ffi.new('int64_t', 3), ffi.new('uint64_t', 1) }):totable())
    end)
  end
end)

-- Calls `act` with the indices of each element, in row-major order.
local function each(sizes, act, indices, d)
  indices, d = indices or {}, d or 1
  if d > #sizes then
    return act(indices)
  end
  for i = 1, sizes[d] do
    indices[d] = i
    each(sizes, act, indices, d + 1)
  end
end

describe('x:nonzero', function()
  it('has a row of indices for each element that is not 0', function()
    local random = generator(6)
    classes(function(class, T)
      for _ = 1, support.rounds(10, 40) do
        local x = random_tensor(random, class)
        local wanted = {}
        each(x:size():totable(), function(indices)
          local re, im = x:get(unpack(indices))
          if re ~= 0 or (im or 0) ~= 0 then
            wanted[#wanted + 1] = { unpack(indices) }
          end
        end)
        local found = x:nonzero()
        assert.equal('torch.LongTensor', found:type())
        assert.same({ #wanted, x:dim() }, found:size():totable(), T)
        assert.same(wanted, found:totable(), T)
        assert.is_true(found:equal(torch.nonzero(x)))
      end
    end)
  end)

  it('counts NaN and not -0, and looks at both parts of a complex number', function()
    for _, T in ipairs { 'Half', 'Float', 'Double', 'BFloat16', 'Float8_e5m2' } do
      assert.same({ { 2 }, { 3 } }, torch[T .. 'Tensor']({ -0.0, 0 / 0, 1, 0 }):nonzero():totable(), T)
    end
    assert.same(
      { { 1 }, { 3 } },
      torch.ComplexFloatTensor({ { re = 0, im = 1 }, { re = 0, im = 0 }, { re = 2, im = 0 } }):nonzero():totable()
    )
    assert.same(
      { { 1 }, { 2 } },
      torch.LongTensor({ '9223372036854775807', '-9223372036854775808' }):nonzero():totable()
    )
    assert.same({ 0, 2 }, torch.IntTensor(3, 0):nonzero():size():totable())
    assert.same({ 1, 0 }, torch.IntStorage({ 5 }):view({}):nonzero():size():totable())
  end)

  it('goes through many elements', function()
    local x = torch.ByteTensor(100, 1000)
    for i = 1, 100 do
      x[i][i * 10] = i
    end
    for _, y in ipairs { x, x:t() } do
      local found = y:nonzero()
      assert.equal(100, found:size(1))
      for k = 1, 100, 9 do
        assert.equal(k, y:get(found:get(k, 1), found:get(k, 2)))
      end
    end
  end)

  it('refuses what is no tensor', function()
    fails('torch.*Tensor expected, got number', torch.nonzero, 1)
    fails('torch.*Tensor expected, got no value', torch.nonzero)
    fails('torch.*Tensor expected, got torch.IntStorage', torch.nonzero, torch.IntStorage(1))
    fails('nothing more expected', torch.nonzero, torch.IntTensor(1), 1)
  end)
end)

describe('x:maskedSelect', function()
  it('gives the elements where the mask is not 0', function()
    local random = generator(7)
    classes(function(class, T)
      for round = 1, support.rounds(10, 40) do
        local x = random_tensor(random, class)
        local mask = (round % 2 == 0 and torch.ByteTensor or torch.BoolTensor)(x:size())
        local wanted = {}
        each(x:size():totable(), function(indices)
          mask[torch.LongStorage(indices)] = random(3) == 1 and 1 or 0
        end)
        each(x:size():totable(), function(indices)
          if mask:get(unpack(indices)) ~= 0 then
            wanted[#wanted + 1] = (x:get(unpack(indices)))
          end
        end)
        local found = x:maskedSelect(mask)
        assert.equal('torch.' .. T .. 'Tensor', found:type())
        assert.same({ #wanted }, found:size():totable())
        for k, v in ipairs(wanted) do
          assert.equal(v, (found:get(k)))
        end
      end
    end)
  end)

  it('takes a mask of other sizes with as many elements, in row-major order of both', function()
    local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.same({ 2, 6 }, x:maskedSelect(torch.ByteTensor { 0, 1, 0, 0, 0, 255 }):totable())
    assert.same({ 1, 5 }, x:t():maskedSelect(torch.BoolTensor { { 1, 0 }, { 0, 1 }, { 0, 0 } }):totable())
    assert.same({ 4, 4 }, torch.IntTensor({ 4 }):expand(3):maskedSelect(torch.ByteTensor { 1, 0, 1 }):totable())
  end)

  it('refuses other masks', function()
    local x = torch.IntTensor(2, 3)
    fails('torch.ByteTensor or torch.BoolTensor expected, got torch.IntTensor', x.maskedSelect, x, x)
    fails(
      'a mask has as many elements as the tensor: the mask of 5 has 5, and the tensor of 2 x 3 has 6',
      x.maskedSelect,
      x,
      torch.ByteTensor(5)
    )
    fails('torch.*Tensor expected, got torch.ByteStorage', x.maskedSelect, x, torch.ByteStorage(6))
    fails('torch.*Tensor expected, got no value', x.maskedSelect, x)
    fails('nothing more expected', x.maskedSelect, x, torch.ByteTensor(6), 1)
  end)
end)
