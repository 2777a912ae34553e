-- zeros, ones, range and linspace, of the default class and of every class.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(pattern, 1, true), message)
end

local function classes(body)
  for _, T in ipairs(types.ALL) do
    if T ~= 'Untyped' then
      body(torch[T .. 'Tensor'], T)
    end
  end
end

describe('zeros and ones', function()
  it('are of each class, with sizes in each form', function()
    classes(function(class, T)
      for name, value in pairs { zeros = 0, ones = 1 } do
        for _, x in ipairs { class[name](2, 3), class[name] { 2, 3 }, class[name](torch.LongStorage { 2, 3 }) } do
          assert.equal('torch.' .. T .. 'Tensor', x:type())
          assert.same({ 2, 3 }, x:size():totable())
          assert.is_true(x:equal(class(2, 3):fill(value)))
        end
        assert.same({ 3, 0 }, class[name](3, 0):size():totable())
        assert.equal(value, (class[name]({}):get()))
      end
    end)
  end)

  it('are of the default class, which a program can change', function()
    local zeros = torch.zeros
    torch.setdefaulttensortype 'torch.FloatTensor'
    local all = { zeros(2), torch.ones(2), torch.range(1, 2), torch.linspace(0, 1, 2) }
    torch.setdefaulttensortype 'torch.DoubleTensor'
    for _, x in ipairs(all) do
      assert.equal('torch.FloatTensor', x:type())
    end
    assert.equal('torch.DoubleTensor', zeros(2):type())
  end)

  it('refuse what are not sizes', function()
    fails('zeros needs sizes, as in torch.DoubleTensor.zeros(2, 3)', torch.zeros)
    fails('ones needs sizes, as in torch.IntTensor.ones(2, 3)', torch.IntTensor.ones)
    fails('(number expected, got string)', torch.zeros, 'x')
    fails('(number expected, got nil)', torch.zeros, 2, nil)
    fails('number expected, got torch.IntStorage', torch.zeros, torch.IntStorage(2))
    fails('numbers or a list of numbers expected', torch.IntTensor.zeros, torch.IntTensor, 2)
    fails('size -2 is not allowed', torch.ones, 3, -2)
    fails('zeros makes a new tensor, got torch.IntTensor first', torch.IntTensor(2).zeros, torch.IntTensor(2), 3)
    fails('more elements than a machine can address', torch.ones, 2 ^ 40, 2 ^ 40)
    fails('memory', torch.ones, 2 ^ 56)
    fails('nothing more expected', torch.zeros, { 2 }, 3)
    fails('bad argument #2 to ', torch.zeros, 2, nil)
    fails('bad argument #1 to ', torch.IntTensor.zeros, 'x')
  end)
end)

describe('a range', function()
  it('has the same numbers as a loop, for every class', function()
    classes(function(class)
      for _, numbers in ipairs { { 0, 20 }, { 20, 1, -3 }, { 1, 2, 0.25 }, { 5, 5, 7 }, { -4, 4, 0.5 } } do
        local first, last, step = numbers[1], numbers[2], numbers[3] or 1
        local wanted = {}
        for i = 0, math.floor((last - first) / step) do
          wanted[i + 1] = first + i * step
        end
        assert.is_true(class.range(unpack(numbers)):equal(class(wanted)))
      end
    end)
  end)

  it('is exact where the numbers are whole', function()
    local text = '9223372036854775'
    for _, name in ipairs { 'LongTensor', 'UInt64Tensor' } do
      local first = torch.LongStorage { text .. '800' }
      local last = torch.LongStorage { text .. '806' }
      local x = torch[name].range(first:exact(1), last:exact(1), 3)
      if support.luajit or support.has_integers then
        assert.same({ text .. '800', text .. '803', text .. '806' }, { x:decimal(1), x:decimal(2), x:decimal(3) })
      end
    end
    local x = torch.range(1, 2 ^ 53, 2 ^ 50)
    assert.equal(1 + 7 * 2 ^ 50, x[8])
    assert.equal(8, x:size(1))
    assert.equal(100000, torch.IntTensor.range(1, 100000)[100000])
  end)

  it('refuses what leads nowhere', function()
    fails('a finite number is needed, got nan', torch.range, 0, 0 / 0)
    fails('a finite number is needed, got inf', torch.range, 0, math.huge)
    fails('number expected, got no value', torch.range, 1)
    fails('number expected, got string', torch.range, 1, 'x')
    fails('(nothing more expected, got number)', torch.range, 1, 2, 1, 1)
    fails('memory', torch.range, 0, 2 ^ 53)
    fails('a machine can address', torch.range, 0, 2 ^ 60)
    fails('a machine can address', torch.range, 0, 1e300, 1e-300)
    fails('range makes a new tensor', torch.range, torch.IntTensor(), 1, 2)
  end)
end)

describe('linspace', function()
  it('has both ends, and as many numbers as it should', function()
    classes(function(class)
      for _, n in ipairs { 2, 3, 5, 100, 1000 } do
        local wanted = {}
        for i = 0, n - 1 do
          wanted[i + 1] = 3 + i * 60 / (n - 1)
        end
        local x = class.linspace(3, 63, n)
        assert.is_true(x:equal(class(wanted)))
      end
      assert.equal(100, class.linspace(1, 10):size(1))
      assert.same({ 0 }, class.linspace(1, 10, 0):size():totable())
      assert.is_true(class.linspace(1, 1, 1):equal(class { 1 }))
    end)
  end)

  it('refuses what has no such numbers', function()
    fails('1 number cannot be both 0 and 2', torch.linspace, 0, 2, 1)
    fails('a size is a whole number of elements', torch.linspace, 0, 2, -1)
    fails('a finite number is needed', torch.linspace, 0, -math.huge, 3)
    fails('too large for a double', torch.linspace, -1.7e308, 1.7e308, 3)
    fails('linspace makes a new tensor', torch.linspace, torch.IntTensor(), 1, 2)
    fails('nothing more expected', torch.linspace, 0, 1, 2, 3)
  end)
end)
