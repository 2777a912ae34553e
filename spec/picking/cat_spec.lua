-- torch.cat, next to a model that narrows the result and copies each tensor into its part.
local torch = require 'torch'
local generator = require 'spec.support.generator'
local support = require 'spec.support'
local types = require 'spec.support.types'

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(pattern, 1, true), message)
end

-- A tensor of these sizes with random elements, contiguous, transposed, expanded or a part of another.
local function random_tensor(random, class, sizes)
  local way = random(4)
  local made = {}
  for d, size in ipairs(sizes) do
    made[d] = size
  end
  if way == 2 and #sizes > 1 then
    made[1], made[#made] = made[#made], made[1]
  elseif way == 3 then
    made[1] = made[1] + 2
  elseif way == 4 then
    made[1] = 1
  end
  local x = class.zeros(made)
  if x:nElement() > 0 then
    x:copy(torch.ByteTensor.range(1, x:nElement()))
  end
  if way == 2 and #sizes > 1 then
    return x:transpose(1, #sizes)
  elseif way == 3 then
    return x:narrow(1, 2, sizes[1])
  elseif way == 4 then
    return x:expand(unpack(sizes))
  end
  return x
end

describe('torch.cat', function()
  it('joins tensors of each class along each dimension', function()
    local random = generator(3)
    for _, T in ipairs(types.ALL) do
      local class = T ~= 'Untyped' and torch[T .. 'Tensor']
      for _ = 1, class and support.rounds(15, 60) or 0 do
        local sizes, dimensions = {}, random(4)
        for d = 1, dimensions do
          sizes[d] = random(4)
        end
        local along, parts, total = random(dimensions), {}, 0
        for k = 1, random(4) do
          sizes[along] = random(4) - (dimensions > 1 and 1 or 0)
          total = total + sizes[along]
          parts[k] = random_tensor(random, class, sizes)
        end
        sizes[along] = total
        local wanted, place = class.zeros(sizes), 1
        for _, part in ipairs(parts) do
          wanted:narrow(along, place, part:size(along)):copy(part)
          place = place + part:size(along)
        end
        assert.is_true(wanted:equal(torch.cat(parts, along)), T)
        assert.is_true(wanted:equal(torch.cat(parts, along - dimensions - 1)), T)
        assert.equal('torch.' .. T .. 'Tensor', torch.cat(parts, along):type())
        if along == dimensions then
          assert.is_true(wanted:equal(torch.cat(parts)), T)
        end
        if #parts == 2 then
          assert.is_true(wanted:equal(torch.cat(parts[1], parts[2], along)), T)
          assert.is_true(wanted:equal(parts[1]:cat(parts[2], along)), T)
        end
      end
    end
  end)

  it('is a new tensor', function()
    local a = torch.IntTensor { 1, 2 }
    local b = torch.cat { a }
    b[1] = 5
    assert.equal(1, a[1])
  end)

  it('gives tensors dimensions of size 1, and leaves out empty ones', function()
    local a, empty = torch.IntTensor { 1, 2 }, torch.IntTensor()
    assert.same({ { 1, 1 }, { 2, 2 } }, torch.cat(a, a, 2):totable())
    assert.same({ 2, 1, 2 }, torch.cat(a, a, 3):size():totable())
    assert.same({ 1, 2 }, torch.cat { empty, a, empty }:totable())
    assert.same({ 0 }, torch.cat(empty, empty):size():totable())
    assert.same({ { 1, 7 }, { 2, 8 } }, torch.cat(a:view(2, 1), torch.IntTensor { 7, 8 }, 2):totable())
    local one = torch.IntStorage({ 9 }):view {}
    assert.same({ 9, 9 }, torch.cat(one, one):totable())
    assert.same({ 2, 3, 0 }, torch.cat(torch.IntTensor(2, 3, 0), torch.IntTensor(2, 3, 0)):size():totable())
  end)

  it('joins storages of every class', function()
    for _, T in ipairs(types.ALL) do
      local class = torch[T .. 'Storage']
      local a, b = class(3), class(2)
      a:untyped():fill(1)
      b:untyped():fill(2)
      local c = torch.cat(a, b)
      assert.equal(a:type(), c:type())
      assert.equal(a:string() .. b:string(), c:string())
      assert.equal(c:string(), a:cat(b):string())
      assert.equal(b:string() .. b:string() .. a:string(), torch.cat({ b, class(), b, a }):string())
    end
  end)

  it('refuses what does not belong together', function()
    local a, s = torch.IntTensor { 1, 2 }, torch.IntStorage { 1, 2 }
    fails('bad argument #2 to ', torch.cat, a, a:float())
    fails('(torch.IntTensor expected, got torch.FloatTensor: x:int() converts it)', torch.cat, a, a:float())
    fails('element 2 of the list: torch.IntTensor expected, got torch.FloatTensor', torch.cat, { a, a:float() })
    fails('torch.IntTensor expected, got torch.IntStorage', torch.cat, a, s)
    fails('torch.IntStorage expected, got torch.IntTensor', torch.cat, s, a)
    fails('torch.IntStorage expected, got torch.ByteStorage', torch.cat, { s, torch.ByteStorage(1) })
    fails('the list is empty', torch.cat, {})
    fails('a list of tensors or storages expected, got a class', torch.cat, torch.IntTensor, a)
    fails('torch.*Tensor or torch.*Storage expected, got number', torch.cat, 1)
    fails('torch.*Tensor or torch.*Storage expected, got no value', torch.cat)
    fails('bad argument #2 to ', torch.cat, a)
    fails('element 1 of the list: torch.*Tensor or torch.*Storage expected, got string', torch.cat, { 'x' })
    fails('torch.cat { a, b, c } joins more than two', torch.cat, a, a, a)
    fails('torch.cat { a, b, c } joins more than two', torch.cat, s, s, s)
    fails('dimension 0 is out of range', torch.cat, a, a, 0)
    fails('dimension -2 is out of range', torch.cat, a, a, -2)
    fails('dimension 65 is out of range', torch.cat, a, a, 65)
    fails('number expected, got string', torch.cat, a, a, 'x')
    fails('nothing more expected', torch.cat, { a, a }, 1, 1)
    fails('nothing more expected', torch.cat, s, s, 1)
    fails(
      'joined along dimension 1 have the same sizes otherwise: the first has 2 x 2, and this one 2 x 3',
      torch.cat,
      { torch.IntTensor(2, 2), torch.IntTensor(2, 3) },
      1
    )
    local big = torch.IntTensor(1):expand(2 ^ 60)
    fails('a machine can address', torch.cat, { big, big, big, big, big, big, big, big })
    s:free()
    fails('freed', torch.cat, { s })
    local t = torch.IntStorage(4)
    local x = t:view(2, 2)
    t:resize(2)
    fails('of its storage, which has 2', torch.cat, x, x)
  end)
end)
