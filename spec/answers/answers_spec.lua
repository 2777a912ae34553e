-- Sums, means, extremes, counts and products of storages and tensors, next to what plain Lua makes of their elements.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local seed = 12345
local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n
end

local INTEGERS, FLOATS = {}, {}
for _, T in ipairs(types.NUMBERS) do
  local kind = types.ENTRY[T].kind
  table.insert((kind == 'signed' or kind == 'unsigned') and INTEGERS or FLOATS, T)
end

-- Whole numbers that every class has, so that sums in plain Lua are exact.
local function small(T)
  return T == 'Bool' and random(2) or random(8)
end

local function filled(T, size)
  local s = torch[T .. 'Storage'](size)
  for i = 1, size do
    s[i] = small(T)
  end
  return s
end

-- Tensors of each form over new storages.
local function forms(T)
  local function storage(size)
    return filled(T, size)
  end
  local class = torch[T .. 'Tensor']
  return {
    class(storage(12), 1, { 12 }),
    class(storage(40), 3, { 4, 5 }),
    class(storage(40), 3, { 4, 5 }):t(),
    class(storage(60), 1, { 3, 4, 5 }):transpose(1, 3),
    class(storage(60), 1, { 3, 4, 5 }):narrow(2, 2, 2),
    class(storage(3), 1, { 1, 3 }):expand(4, 3),
    class(storage(256), 1, { 2, 2, 2, 2, 2, 2, 2, 2 }):transpose(1, 8),
    class(storage(1), 1, { 1 }),
    class(storage(30), 1, { 30 }):unfold(1, 7, 3),
  }
end

-- The elements of a tensor in row-major order.
local function elements(x)
  return x:clone():storage():totable()
end

-- The lines of a tensor along a dimension.
local function lines(x, dim)
  local list, length = {}, x:size(dim)
  local turned = elements(x:transpose(dim, x:dim()))
  -- The other dimensions are in another order than in the result, so the lines are ordered by their results' place.
  for start = 1, #turned, length do
    list[#list + 1] = { unpack(turned, start, start + length - 1) }
  end
  return list
end

local function total(list)
  local sum = 0
  for _, v in ipairs(list) do
    sum = sum + v
  end
  return sum
end

local function variance(list, population)
  local mean, squares = total(list) / #list, 0
  for _, v in ipairs(list) do
    squares = squares + (v - mean) ^ 2
  end
  return squares / (#list - (population and 0 or 1))
end

local function least(list, sign)
  local best = 1
  for i, v in ipairs(list) do
    if sign * v < sign * list[best] then
      best = i
    end
  end
  return list[best], best
end

local function near(expected, got, what)
  local same = expected == got or expected ~= expected and got ~= got
  local close = math.abs(expected - got) <= 1e-12 * math.max(1, math.abs(expected))
  assert.is_true(same or close, ('%s: %.17g, got %.17g'):format(what, expected, got))
end

-- What is compared for a list of elements: a method, and what plain Lua makes of them.
local NUMBERS = {
  sum = total,
  mean = function(list)
    return total(list) / #list
  end,
  var = variance,
  norm = function(list)
    local squares = 0
    for _, v in ipairs(list) do
      squares = squares + v * v
    end
    return math.sqrt(squares)
  end,
}

describe('answers about elements', function()
  for _, T in ipairs(types.NUMBERS) do
    it('are right for every form of a ' .. T, function()
      for n, x in ipairs(forms(T)) do
        local list = elements(x)
        local what = T .. ' ' .. n
        for method, number in pairs(NUMBERS) do
          near(number(list), x[method](x), what .. ' ' .. method)
        end
        near(variance(list, true), x:var(true), what)
        near(math.sqrt(variance(list)), x:std(), what)
        local value, place = least(list, 1)
        assert.equal(value, x:min())
        local indices, number = { x:argmin() }, 0
        for d = 1, x:dim() do
          number = number * x:size(d) + indices[d] - 1
        end
        assert.equal(place, number + 1, what)
        assert.equal((least(list, -1)), x:max())
        local zeros = 0
        for _, v in ipairs(list) do
          zeros = zeros + (v == 0 and 1 or 0)
        end
        assert.equal(zeros, x:count(0))
        assert.equal(zeros < #list, x:any())
        assert.equal(zeros == 0, x:all())
        assert.equal(0, x:count(2.5))
        local s = x:clone():storage()
        for _, method in ipairs { 'sum', 'mean', 'var', 'std', 'norm', 'min', 'max' } do
          near(x[method](x), s[method](s), what .. ' storage ' .. method)
        end
        assert.same({ place, zeros }, { s:argmin(), s:count(0) })
      end
    end)

    it('are right along each dimension of a ' .. T, function()
      local whole = types.ENTRY[T].kind ~= 'float' and types.ENTRY[T].kind ~= 'small float'
      for _, x in ipairs(forms(T)) do
        for dim = 1, x:dim() do
          local all = lines(x, dim)
          -- The result has its dimensions as x has them: the reduced one is brought to the end, as in `lines`.
          local function flat(result)
            assert.equal(1, result:size(dim))
            return elements(result:transpose(dim, x:dim()))
          end
          local sums, means, spreads = flat(x:sum(dim)), flat(x:mean(dim):double()), flat(x:var(dim, true):double())
          local values, indices = x:min(dim)
          values, indices = flat(values), flat(indices)
          local greatest = flat((x:max(dim)))
          assert.same(indices, flat(x:argmin(dim)))
          for i, line in ipairs(all) do
            assert.equal(torch[T .. 'Storage']({ total(line) })[1] == sums[i] or whole and total(line) == sums[i], true)
            local rounded = whole and 'Double' or T
            assert.equal(torch[rounded .. 'Storage']({ total(line) / #line })[1], means[i])
            near(torch[rounded .. 'Storage']({ variance(line, true) })[1], spreads[i], T)
            local value, place = least(line, 1)
            assert.same({ value, place, (least(line, -1)) }, { values[i], indices[i], greatest[i] })
          end
          assert.equal(-1 - x:dim() + dim == -1 and dim or dim, dim)
          assert.same(elements(x:sum(dim)), elements(x:sum(dim - x:dim() - 1)))
        end
      end
    end)

    it('of two are right for a ' .. T, function()
      local all, others = forms(T), forms(T)
      for n, x in ipairs(all) do
        local y = others[n]
        local a, b = elements(x), elements(y)
        local products, squares = {}, {}
        for i = 1, #a do
          products[i], squares[i] = a[i] * b[i], (a[i] - b[i]) ^ 2
        end
        near(total(products), x:dot(y), T)
        near(math.sqrt(total(squares)), torch.dist(x, y), T)
        near(torch.dist(x, y), x:dist(y), T)
        near(total(products) / (x:norm() * y:norm()), torch.cosine(x, y), T)
        near(x:dot(y), x:clone():storage():dot(y:clone():storage()), T)
        near(torch.cosine(x, y), torch.cosine(x:clone():storage(), y:clone():storage()), T)
      end
      local m = torch[T .. 'Tensor'](filled(T, 12), 1, { 3, 4 })
      local v = torch[T .. 'Tensor'](filled(T, 4), 1, { 4 })
      local product = m:mv(v)
      assert.same({ 3 }, product:size():totable())
      for row = 1, 3 do
        assert.equal(torch[T .. 'Storage']({ m[row]:dot(v) })[1], product[row])
      end
    end)

    it('can be added and multiplied in place in a ' .. T, function()
      local class = torch[T .. 'Storage']
      local function added(list, v, other)
        local result = {}
        for i, x in ipairs(list) do
          local number = other and v * other[i] or v
          -- An element is calculated from elements. A Bool is true if the result is not 0.
          result[i] = class({ x + number })[1]
        end
        return result
      end
      local v = class({ 3 })[1]
      for n, x in ipairs(forms(T)) do
        if n ~= 6 and n ~= 9 then -- those have an element more than once
          local before = elements(x)
          assert.equal(x, x:add(3))
          assert.same(added(before, v), elements(x))
          before = elements(x)
          local y = forms(T)[n]
          assert.same(added(before, 1, elements(y)), elements(x:add(y)))
          before = elements(x)
          assert.same(added(before, v, elements(y)), elements(x:add(3, y)))
          before = elements(x)
          local products = {}
          for i, number in ipairs(before) do
            products[i] = class({ number * v })[1]
          end
          assert.same(products, elements(x:mul(3)))
        end
      end
      local s, o = filled(T, 20), filled(T, 20)
      local before = s:totable()
      assert.same(added(before, v, o:totable()), s:add(3, o):totable())
    end)
  end

  it('change an element that is shown more than once, once for each place', function()
    local x = torch.DoubleTensor(torch.DoubleStorage { 1, 2, 3 }, 1, { 1, 3 }):expand(2, 3)
    assert.same({ 3, 4, 5 }, x:add(1):storage():totable())
    local w = torch.IntTensor(torch.IntStorage { 1, 1, 1, 1 }, 1, { 4 }):unfold(1, 2, 1)
    assert.same({ 2, 4, 4, 2 }, w:mul(2):storage():totable())
  end)

  it('add elements that lie among those that change, as if they had been read before', function()
    local s = torch.IntStorage { 1, 2, 3, 4 }
    local x = torch.IntTensor(s, 1, { 3 })
    x:add(torch.IntTensor(s, 2, { 3 }))
    assert.same({ 3, 5, 7, 4 }, s:totable())
    local m = torch.IntTensor { { 1, 2 }, { 3, 4 } }
    assert.same({ 2, 5, 5, 8 }, elements(m:add(m:t())))
    assert.same({ 4, 10, 10, 16 }, elements(m:add(m)))
  end)

  it('add integers exactly, modulo 2^64', function()
    local large = torch.LongStorage { '9007199254740993', '2' }
    assert.equal('9007199254740995', (tostring(large:sum()):gsub('LL$', '')))
    assert.equal(-2 ^ 63, tonumber(tostring(torch.LongStorage({ 2 ^ 62, 2 ^ 62 }):sum()):match '^-?%d+'))
    assert.equal(
      '18446744073709551615',
      (tostring(torch.UInt64Storage({ '18446744073709551615' }):sum()):gsub('ULL$', '')):gsub(
        '^%-1$',
        '18446744073709551615'
      )
    )
    -- The mean is rounded once: the sum alone does not fit in 64 bits.
    local s = torch.LongStorage(4):fill(2 ^ 62)
    assert.equal(2 ^ 62, s:mean())
    assert.equal(2 ^ 63, torch.UInt64Storage(3):fill(2 ^ 63):mean())
    assert.equal(300, torch.ByteTensor({ 200, 100 }):sum())
    assert.equal(300, torch.ByteTensor({ 200, 100 }):sum(1)[1])
    assert.equal(40300, torch.ByteTensor({ 200, 100 }):dot(torch.ByteTensor { 200, 3 }))
  end)

  it('count integers exactly', function()
    local s = torch.UInt64Storage { '18446744073709551615', '18446744073709551614', 3 }
    assert.same(
      { 1, 1, 0 },
      { s:count '18446744073709551615', s:count '18446744073709551614', s:count '18446744073709551613' }
    )
    assert.same({ 0, 0, 1 }, { s:count(-1), s:count(2 ^ 64), s:count '3' })
    assert.equal(1, torch.LongStorage({ '9007199254740993', 5 }):count '9007199254740993')
    assert.equal(0, torch.LongStorage({ '9007199254740993', 5 }):count(2 ^ 53))
    assert.equal(2, torch.BoolStorage({ true, false, true }):count(true))
  end)

  it('add complex numbers', function()
    local s = torch.ComplexFloatStorage { { 1, 2 }, { 3, -4 }, { 0, 0.5 } }
    local z = s:sum()
    assert.same({ 4, -1.5 }, { z.re, z.im })
    local mean = s:mean()
    assert.same({ 4 / 3, -0.5 }, { mean.re, mean.im })
    assert.equal(math.sqrt(1 + 4 + 9 + 16 + 0.25), s:norm())
    assert.equal(math.sqrt(5) + 5 + 0.5, s:norm(1))
    assert.equal(5, s:norm(math.huge))
    assert.equal(3, s:norm(0))
    local product = s:dot(s)
    assert.same({ 1 - 4 + 9 - 16 - 0.25, 4 - 24 }, { product.re, product.im })
    local x = torch.ComplexDoubleTensor(torch.ComplexDoubleStorage { { 1, 2 }, { 3, 4 } }, 1, { 2, 1 })
    assert.equal(10, x:sum(1)[1][1].re + x:sum(1)[1][1].im)
    assert.equal('torch.DoubleTensor', torch.typename(x:norm(2, 1)))
    x:mul { 0, 1 }
    assert.same({ -2, 1 }, { x[1][1].re, x[1][1].im })
    for _, method in ipairs { 'min', 'max', 'argmin', 'argmax', 'var', 'std', 'any', 'all' } do
      assert.matches('complex', support.failure(s[method], s))
    end
    assert.matches('complex', support.failure(s.count, s, 1))
  end)

  it('are right for many elements, in one thread and in several', function()
    local n = 5000001
    for _, T in ipairs { 'Byte', 'Short', 'Int', 'Float', 'Double', 'Half' } do
      local s = torch[T .. 'Storage'](n):fill(1)
      s[n], s[4097], s[1234567] = 3, 0, 2
      local threads = torch.getnumthreads()
      for _, count in ipairs { 1, 3 } do
        torch.setnumthreads(count)
        assert.equal(n + 2, s:sum(), T)
        assert.same({ 0, 3, 4097, n }, { s:min(), s:max(), s:argmin(), s:argmax() })
        assert.same({ 1, 1, n - 3 }, { s:count(2), s:count(0), s:count(1) })
        assert.is_false(s:all())
      end
      torch.setnumthreads(threads)
    end
  end)

  it('have rounding errors as small as those of sums in pairs', function()
    local n = 1000000
    local s = torch.DoubleStorage(n)
    for i = 1, n do
      s[i] = 0.1
    end
    assert.is_true(math.abs(s:sum() - 1e5) < 1e-8)
    assert.is_true(math.abs(s:float():sum() - 1e6 * torch.FloatStorage({ 0.1 })[1]) < 1e-6)
    assert.equal(0, s:var())
    local shifted = torch.DoubleStorage { 1e9 + 1, 1e9 + 2, 1e9 + 3 }
    assert.equal(1, shifted:var())
    assert.equal(1, torch.DoubleTensor(shifted, 1, { 3 }):var(1)[1])
  end)

  it('say what is wrong', function()
    local x, s = torch.FloatTensor { { 1, 2, 3 } }, torch.FloatStorage { 1, 2, 3 }
    local fails = support.fails
    fails('dimension 3 is out of range: the tensor has 2 dimensions', x.sum, x, 3)
    fails('dimension 0 is out of range', x.min, x, 0)
    fails('dimension -3 is out of range', x.var, x, -3)
    fails('number expected, got string', x.mean, x, 'a')
    fails('nothing more expected, got number', x.sum, x, 1, 2)
    fails('nothing more expected, got number', s.sum, s, 1)
    fails('boolean expected, got number', s.std, s, 1)
    fails('number expected, got string', s.norm, s, 'x')
    fails('number expected, got no value', s.count, s)
    fails('number expected, got nil', s.add, s, nil)
    fails('torch.FloatStorage expected, got torch.IntStorage', s.add, s, torch.IntStorage(3))
    fails('3 elements expected, as argument 1 has, got 2', s.add, s, torch.FloatStorage(2))
    fails('3 elements expected, as argument 1 has, got 2', s.dot, s, torch.FloatStorage(2))
    fails('3 elements expected, as argument 1 has, got 2', torch.dist, s, torch.FloatStorage(2))
    fails('torch.FloatStorage expected, got torch.FloatTensor', s.dot, s, x)
    fails('torch.FloatTensor expected, got torch.FloatStorage', x.dot, x, s)
    fails('storage or tensor expected, got number', torch.cosine, 1, s)
    fails('storage or tensor expected, got no value', torch.dist)
    fails('a matrix of two dimensions expected, got 1', x.mv, x[1], x[1])
    fails('a vector of 3 elements expected, got 2 in 1 dimension(s)', x.mv, x, torch.FloatTensor(2))
    for _, method in ipairs { 'mean', 'var', 'std', 'min', 'max', 'argmin', 'argmax', 'any', 'all' } do
      local none = support.failure(s[method], torch.FloatStorage())
      assert.matches('no elements', none)
      assert.matches('no elements', support.failure(x[method], torch.FloatTensor(2, 0)))
      if x[method] ~= x.any and x[method] ~= x.all then
        assert.matches('no elements', support.failure(x[method], torch.FloatTensor(2, 0), 2))
      end
    end
    assert.same({ 0, 0, 0, 0 }, {
      s.sum(torch.FloatStorage()),
      s.norm(torch.FloatStorage()),
      torch.FloatStorage():dot(torch.FloatStorage()),
      torch.FloatStorage():count(0),
    })
    assert.same({ 2, 1 }, torch.FloatTensor(2, 0):sum(2):size():totable())
    assert.same({ 1, 0 }, torch.FloatTensor(2, 0):min(1):size():totable())
    local freed = torch.FloatStorage(3)
    freed:free()
    for _, method in ipairs { 'sum', 'min', 'any', 'norm' } do
      fails('storage was freed', s[method], freed)
    end
    fails('storage was freed', s.add, s, freed)
    local short = torch.FloatStorage(6)
    local view = torch.FloatTensor(short, 1, { 2, 3 })
    short:resize(2)
    for _, method in ipairs { 'sum', 'min', 'any', 'norm' } do
      assert.matches('elements', support.failure(x[method], view))
    end
    fails('elements', x.sum, view, 1)
    fails('elements', x.add, view, 1)
    fails('elements', x.mul, view, 1)
  end)

  it('change nothing that is read-only', function()
    local name = os.tmpname()
    support.spit(name, ('x'):rep(16))
    local map = torch.ByteStorage { filename = name, readonly = true }
    support.fails('read-only', map.add, map, 1)
    support.fails('read-only', map.mul, map, 2)
    assert.equal(16 * ('x'):byte(), map:sum())
    map:free()
    os.remove(name)
  end)
end)
