-- sort, argsort and topk of storages and tensors, next to a stable sort in plain Lua.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local seed = 54321
local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n
end

local CLASSES = { 'Untyped' }
for _, T in ipairs(types.NUMBERS) do
  CLASSES[#CLASSES + 1] = T
end

local NAN = 0 / 0
local SPECIAL = { NAN, 1 / 0, -1 / 0, 0, -1 / math.huge, -1.5, 2.5, 448, -448 }

local function is_float(T)
  local kind = types.ENTRY[T].kind
  return kind == 'float' or kind == 'small float'
end

-- A storage of few different numbers, so that many are equal.
local function filled(T, size, different)
  local s = torch[T .. 'Storage'](size)
  for i = 1, size do
    s[i] = random(different or 7) - (T:find '^U' and 0 or 3)
    if is_float(T) and random(4) == 0 then
      s[i] = SPECIAL[random(#SPECIAL) + 1]
    end
  end
  return s
end

-- The indices of the numbers of a list in their order. NaN comes last, and of equal numbers the lower index comes first.
local function order_of(list, descending)
  local order = {}
  for i = 1, #list do
    order[i] = i
  end
  table.sort(order, function(a, b)
    local one, other = list[a], list[b]
    if one ~= one or other ~= other then
      return other ~= other and (one == one or a < b)
    elseif one == other then
      return a < b
    elseif descending then
      return one > other
    end
    return one < other
  end)
  return order
end

-- A number with its sign, so that -0 differs from 0 and NaN equals itself.
local function shown(v)
  if v ~= v then
    return 'nan'
  end
  return v == 0 and (1 / v < 0 and '-0' or '0') or ('%.17g'):format(v)
end

local function pick(list, order, count)
  local picked = {}
  for i = 1, count or #order do
    picked[i] = shown(list[order[i]])
  end
  return picked
end

local function texts(s)
  local list = {}
  for i = 1, #s do
    list[i] = shown(s[i])
  end
  return list
end

local function first(list, count)
  return { unpack(list, 1, count) }
end

-- Calls a method, which ends because a hook raises an error the second time that the method lets it run.
local function interrupted(method, s)
  local calls = 0
  local function hook()
    local caller = debug.getinfo(3, 'f')
    calls = calls + (caller and caller.func == method and 1 or 0)
    if calls == 2 then
      calls = 3
      error 'interrupted!'
    end
  end
  debug.sethook(hook, 'c')
  local ok, message = pcall(method, s)
  debug.sethook()
  assert.is_false(ok)
  assert.matches('interrupted!', message, 1, true)
end

describe('the order of the elements of a storage', function()
  for _, T in ipairs(CLASSES) do
    it('is right for ' .. T, function()
      for _, size in ipairs { 0, 1, 2, 3, 10, 24, 25, 26, 100, 300 } do
        local s = filled(T, size, size % 2 == 0 and 7 or 100)
        local list = s:totable()
        for _, descending in ipairs { false, true } do
          local order = order_of(list, descending)
          local indices = s:argsort(descending)
          assert.equal('torch.LongStorage', torch.typename(indices))
          assert.same(order, indices:totable())
          local sorted = s:clone()
          assert.equal(sorted, sorted:sort(descending))
          assert.same(pick(list, order), texts(sorted))
          for _, k in ipairs { 1, 2, 9, 25, 150, 300 } do
            if k <= size then
              local values, places = s:topk(k, descending)
              assert.equal('torch.' .. T .. 'Storage', torch.typename(values))
              assert.same(first(order, k), places:totable())
              assert.same(pick(list, order, k), texts(values))
            end
          end
        end
        assert.same(order_of(list), s:argsort():totable())
        assert.same(texts(list), texts(s))
      end
    end)
  end

  it('is exact for integers of 64 bits', function()
    for T, numbers in pairs {
      Long = {
        '9007199254740993',
        '-9223372036854775808',
        '9007199254740992',
        '9223372036854775807',
        '-9007199254740993',
      },
      UInt64 = { '18446744073709551615', '9223372036854775808', '9223372036854775807', '18446744073709551614', '0' },
    } do
      local s = torch[T .. 'Storage'](5)
      for i, number in ipairs(numbers) do
        s[i] = number
      end
      local expected = T == 'Long' and { 2, 5, 3, 1, 4 } or { 5, 3, 2, 4, 1 }
      assert.same(expected, s:argsort():totable())
      assert.equal(expected[1], s:topk(1) and select(2, s:topk(1))[1])
      local sorted = s:clone():sort()
      for i = 1, 5 do
        assert.equal(numbers[expected[i]], sorted:decimal(i))
      end
    end
  end)

  it('is right for many elements, whatever the number of threads', function()
    for _, T in ipairs { 'Int', 'Double', 'Byte' } do
      local size = support.rounds(30000, 300000)
      local s = torch[T .. 'Storage'](size)
      for i = 1, size do
        s[i] = random(T == 'Byte' and 256 or 1000003) - (T == 'Byte' and 0 or 500000)
      end
      local order = order_of(s:totable())
      assert.same(order, s:argsort():totable())
      for _, k in ipairs { 1, 700, 1500, size - 1 } do
        assert.same(first(order, math.min(k, 7000)), first(select(2, s:topk(k)):totable(), math.min(k, 7000)))
      end
      local x = torch[T .. 'Tensor'](s, 1, { size / 10, 10 })
      local values, indices = x:sort()
      torch.setnumthreads(1)
      local alone, places = x:sort()
      torch.setnumthreads(0)
      assert.is_true(values:equal(alone) and indices:equal(places))
    end
  end)

  it('is right for a line of its own #slow', function()
    local size = 2 ^ 20 + 5
    local x = torch.IntTensor(2, size)
    local s = x:storage()
    for i = 1, 2 * size do
      s[i] = i * 7919 % 1000003 * 2000
    end
    interrupted(s.argsort, s)
    interrupted(x.sort, x)
    for line = 1, 2 do
      local values, indices = x:sort(2, line == 2)
      local row, value, index = x[line], values[line]:clone():storage(), indices[line]:clone():storage()
      local wrong, source = 0, row:clone():storage()
      for i = 1, size do
        local is_wrong = source[index[i]] ~= value[i]
        if i > 1 then
          local a, b = value[i - 1], value[i]
          is_wrong = is_wrong or (line == 2 and a < b or line == 1 and a > b) or a == b and index[i - 1] >= index[i]
        end
        wrong = wrong + (is_wrong and 1 or 0)
      end
      assert.equal(0, wrong)
      local best, places = x:t():topk(3, 1, line == 2)
      for i = 1, 3 do
        assert.equal(value[i], best[i][line])
        assert.equal(index[i], places[i][line])
      end
    end
  end)

  it('does not change a storage that is read-only, or whose sort is interrupted', function()
    local name = os.tmpname()
    support.spit(name, 'hello')
    local map = torch.ByteStorage { filename = name, readonly = true }
    support.fails('read-only', map.sort, map)
    assert.same({ 2, 1, 3, 4, 5 }, map:argsort():totable())
    map:free()
    os.remove(name)
    local s = torch.DoubleStorage(2000)
    for i = 1, 2000 do
      s[i] = random(2 ^ 31) / 1013
    end
    local before = texts(s)
    interrupted(s.sort, s)
    assert.same(before, texts(s))
  end)

  it('is refused if the arguments do not fit', function()
    local s, fails = torch.IntStorage { 3, 1, 2 }, support.fails
    fails('boolean expected, got number', s.sort, s, 1)
    fails('boolean expected, got string', s.argsort, s, 'x')
    fails('from 1 to 3 is expected, got 0', s.topk, s, 0)
    fails('from 1 to 3 is expected, got 4', s.topk, s, 4, true)
    fails('from 1 to 3 is expected, got -1', s.topk, s, -1)
    fails('number expected', s.topk, s, {})
    fails('a whole number is needed, got nan', s.topk, s, NAN)
    fails('there are no elements', torch.IntStorage().topk, torch.IntStorage(), 1)
    support.failure(s.sort, s, true, 1)
    support.failure(s.argsort, s, true, 1)
    support.failure(s.topk, s, 1, true, 1)
    support.failure(s.sort, torch.FloatStorage(2))
    for _, T in ipairs(types.COMPLEX) do
      local c, x = torch[T .. 'Storage'](3), torch[T .. 'Tensor'](3)
      for _, method in ipairs { 'sort', 'argsort', 'topk' } do
        fails('complex numbers have no order', c[method], c)
        if method ~= 'argsort' then
          fails('complex numbers have no order', x[method], x)
        end
      end
    end
    assert.same({ 3, 1, 2 }, s:totable())
  end)
end)

-- Tensors of each form over new storages.
local function forms(T)
  local function storage(size)
    return filled(T, size)
  end
  local class = torch[T .. 'Tensor']
  return {
    class(storage(12), 1, { 12 }),
    class(storage(40), 3, { 4, 5 }),
    class(storage(60), 1, { 3, 4, 5 }):transpose(1, 3),
    class(storage(60), 1, { 3, 4, 5 }):narrow(2, 2, 2),
    class(storage(3), 1, { 1, 3 }):expand(4, 3),
    class(storage(256), 1, { 2, 2, 2, 2, 2, 2, 2, 2 }):transpose(1, 8),
    class(storage(1), 1, { 1 }),
    class(storage(30), 1, { 30 }):unfold(1, 7, 3),
    class(storage(200), 1, { 100, 2 }),
  }
end

-- The lines of a tensor along a dimension, as lists.
local function lines(x, dim)
  local list, length = {}, x:size(dim)
  local turned = x:transpose(dim, x:dim()):clone():storage()
  for start = 1, #turned, math.max(length, 1) do
    local line = {}
    for i = 1, length do
      line[i] = turned[start + i - 1]
    end
    list[#list + 1] = line
  end
  return list
end

describe('the order of the elements of a tensor', function()
  for _, T in ipairs(types.NUMBERS) do
    it('is right along every dimension for ' .. T, function()
      for _, x in ipairs(forms(T)) do
        local before = texts(x:clone():storage())
        for dim = 1, x:dim() do
          for _, descending in ipairs { false, true } do
            local k = random(x:size(dim)) + 1
            local values, indices = x:sort(dim, descending)
            local best, places = x:topk(k, dim - x:dim() - 1, descending, true)
            assert.equal(torch.typename(x), torch.typename(values))
            assert.equal('torch.LongTensor', torch.typename(indices))
            assert.is_true(
              values:isContiguous() and indices:isContiguous() and best:isContiguous() and places:isContiguous()
            )
            assert.same(x:size():totable(), values:size():totable())
            local sizes = x:size():totable()
            sizes[dim] = k
            assert.same(sizes, best:size():totable())
            assert.same(sizes, places:size():totable())
            local all, found, some, few = lines(values, dim), lines(indices, dim), lines(best, dim), lines(places, dim)
            for n, line in ipairs(lines(x, dim)) do
              local order = order_of(line, descending)
              assert.same(order, found[n])
              assert.same(pick(line, order), texts(all[n]))
              assert.same(first(order, k), few[n])
              assert.same(pick(line, order, k), texts(some[n]))
            end
          end
        end
        assert.same(before, texts(x:clone():storage()))
      end
    end)
  end

  it('is along the last dimension, ascending, unless arguments say otherwise', function()
    local x = torch.IntTensor { { 3, 1, 2 }, { 9, 8, 7 } }
    local function values(y)
      return y:clone():storage():totable()
    end
    assert.same({ 1, 2, 3, 7, 8, 9 }, values((x:sort())))
    assert.same({ 3, 2, 1, 9, 8, 7 }, values((x:sort(true))))
    assert.same({ 3, 2, 1, 9, 8, 7 }, values((x:sort(nil, true))))
    assert.same({ 9, 8, 7, 3, 1, 2 }, values((x:sort(-2, true))))
    assert.same({ 1, 7 }, values((x:topk())))
    assert.same({ 3, 9 }, values((x:topk(true))))
    assert.same({ 3, 2, 9, 8 }, values((x:topk(2, true))))
    assert.same({ 1, 2, 7, 8 }, values((x:topk(2, false, true))))
    assert.same({ 9, 8, 7 }, values((x:topk(1, 1, true))))
    assert.same({ 1, 2, 7, 8 }, values((x:topk(2, nil, nil, false))))
  end)

  it('is nothing if there are no elements', function()
    for _, x in ipairs {
      torch.DoubleTensor(),
      torch.DoubleTensor(0, 3),
      torch.DoubleTensor(3, 0),
      torch.DoubleTensor(2 ^ 40, 0),
    } do
      for dim = 1, x:dim() do
        local values, indices = x:sort(dim)
        assert.same(x:size():totable(), values:size():totable())
        assert.same(x:size():totable(), indices:size():totable())
      end
    end
    local values, indices = torch.DoubleTensor(0, 3):topk(2)
    assert.same({ 0, 2 }, values:size():totable())
    assert.same({ 0, 2 }, indices:size():totable())
    support.fails('there are no elements', torch.DoubleTensor().topk, torch.DoubleTensor(), 1)
    local x = torch.DoubleTensor(3, 0)
    support.fails('there are no elements', x.topk, x, 1)
  end)

  it('is that of the one element of a tensor without dimensions', function()
    local scalar = torch.DoubleTensor(torch.DoubleStorage { 7 }, 1, torch.LongStorage {})
    if scalar:nElement() == 1 then
      local values, indices = scalar:sort()
      assert.same({ 7, 1 }, { values:storage()[1], indices:storage()[1] })
      values, indices = scalar:topk(1, true)
      assert.same({ 7, 1 }, { values:storage()[1], indices:storage()[1] })
      support.fails('from 1 to 1', scalar.topk, scalar, 2)
    end
  end)

  it('is refused if the arguments do not fit', function()
    local x, fails = torch.DoubleTensor(2, 3), support.fails
    fails('dimension', x.sort, x, 3)
    fails('dimension', x.sort, x, 0)
    fails('dimension', x.sort, x, -3)
    fails('boolean expected, got number', x.sort, x, 1, 1)
    fails('number expected, got string', x.sort, x, 'x')
    fails('from 1 to 3 is expected, got 4', x.topk, x, 4)
    fails('from 1 to 2 is expected, got 3', x.topk, x, 3, 1)
    fails('boolean expected, got number', x.topk, x, 1, 1, 1)
    fails('boolean expected, got number', x.topk, x, 1, 1, true, 1)
    support.failure(x.sort, x, 1, true, 1)
    support.failure(x.topk, x, 1, 1, true, true, 1)
    assert.is_nil(x.argsort)
    local y = torch.DoubleTensor(torch.DoubleStorage(10))
    y:storage():resize(5)
    fails('elements', y.sort, y)
    fails('elements', y.topk, y, 1)
  end)
end)
