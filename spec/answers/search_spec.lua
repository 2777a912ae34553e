-- Where a number belongs among sorted elements, next to counting those before it.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local seed = 777
local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n
end

local CLASSES = { 'Untyped' }
for _, T in ipairs(types.NUMBERS) do
  CLASSES[#CLASSES + 1] = T
end

-- Where a number belongs in a list.
local function place(list, v, right)
  local before = 0
  for _, element in ipairs(list) do
    if element < v or right and element == v then
      before = before + 1
    end
  end
  return before + 1
end

local NUMBERS = {
  -1e300,
  -1 / 0,
  -129,
  -3,
  -2.5,
  -1,
  -0.5,
  -1 / math.huge,
  0,
  0.25,
  1,
  1.5,
  2,
  2.5,
  3,
  7,
  8.5,
  255,
  300,
  1e10,
  1e300,
  1 / 0,
}

describe('a search', function()
  for _, T in ipairs(CLASSES) do
    it('finds where a number belongs in ' .. T, function()
      local all = torch.DoubleStorage(NUMBERS)
      for size = 0, 40 do
        local s = torch[T .. 'Storage'](size)
        for i = 1, size do
          s[i] = random(9) - (T:find '^U' and 0 or 4)
        end
        local kind = types.ENTRY[T].kind
        if size > 2 and (kind == 'float' or kind == 'small float') then
          s[1], s[2], s[3] = 0 / 0, 1 / 0, -1 / 0
        end
        s:sort()
        local list = s:totable()
        local wide = torch[T == 'Untyped' and 'ByteTensor' or T .. 'Tensor'](math.max(size, 1), 3)
        for _, right in ipairs { false, true } do
          local places = s:search(all, right)
          assert.equal('torch.LongStorage', torch.typename(places))
          for i, v in ipairs(NUMBERS) do
            local expected = place(list, v, right)
            assert.equal(expected, s:search(v, right), T .. v)
            assert.equal(expected, places[i])
          end
          if T ~= 'Untyped' and size > 0 then
            local column = wide:select(2, 2)
            column:copy(torch[T .. 'Tensor'](s))
            for _, v in ipairs(NUMBERS) do
              assert.equal(place(list, v, right), column:search(v, right))
            end
          end
        end
      end
    end)
  end

  it('compares integers of 64 bits exactly', function()
    local s = torch.LongStorage { '-9007199254740993', '9007199254740992', '9007199254740993', '9007199254740994' }
    assert.equal(3, s:search '9007199254740993')
    assert.equal(4, s:search('9007199254740993', true))
    assert.equal(2, s:search(2 ^ 53))
    assert.equal(3, s:search(2 ^ 53, true))
    assert.equal(2, s:search(-2 ^ 53))
    assert.same(
      { 1, 3, 4 },
      s:search(torch.LongStorage { '-9007199254740993', '9007199254740993', '9007199254740994' }):totable()
    )
    local u = torch.UInt64Storage { 0, '9223372036854775808', '18446744073709551615' }
    assert.equal(2, u:search '9223372036854775808')
    assert.equal(4, u:search(2 ^ 64))
    assert.equal(1, u:search(-1, true))
    -- Numbers of another class than the elements.
    assert.same({ 1, 2, 2 }, u:search(torch.LongStorage { -5, 1, '9223372036854775807' }):totable())
    assert.same({ 2, 3 }, u:search(torch.DoubleStorage { 2 ^ 63, 2 ^ 63 + 2048 }):totable())
    assert.equal(
      4,
      torch
        .DoubleStorage({ 2 ^ 53 - 1, 2 ^ 53, 2 ^ 53, 2 ^ 53 + 2 })
        :search(torch.LongStorage { '9007199254740993' })[1]
    )
  end)

  it('takes a tensor of numbers of any form', function()
    local s = torch.DoubleStorage { 1, 2, 2, 4 }
    local x = torch.IntTensor { { 0, 1, 2 }, { 3, 4, 5 } }
    local places = s:search(x:t())
    assert.equal('torch.LongTensor', torch.typename(places))
    assert.same({ 3, 2 }, places:size():totable())
    assert.same({ 1, 4, 1, 4, 2, 5 }, places:storage():totable())
    local tensor = torch.DoubleTensor(s)
    assert.same({ 1, 2, 4, 4, 5, 5 }, tensor:search(x, true):storage():totable())
    assert.same({ 2, 5 }, tensor:search(torch.FloatStorage { 2, 9 }):totable())
    assert.same({}, s:search(torch.DoubleStorage()):totable())
    assert.same({ 0 }, s:search(torch.DoubleTensor(0)):size():totable())
    -- The elements of a tensor may have a stride that is 0 or negative.
    assert.equal(3, torch.DoubleTensor(s, 2, torch.LongStorage { 2 }, torch.LongStorage { 0 }):search(2, true))
    local up =
      torch.DoubleTensor(torch.DoubleStorage { 1, 9, 2, 9, 3 }, 1, torch.LongStorage { 3 }, torch.LongStorage { 2 })
    assert.equal(3, up:search(2.5))
  end)

  it('finds many numbers at once', function()
    local s, count = torch.IntStorage(1000), support.rounds(2000, 200000)
    for i = 1, 1000 do
      s[i] = random(3000)
    end
    s:sort()
    local numbers = torch.FloatStorage(count)
    for i = 1, count do
      numbers[i] = random(6200) / 2 - 50
    end
    local places, wrong = s:search(numbers), 0
    for i = 1, count do
      local n, v = places[i], numbers[i]
      local is_right = (n == 1 or s[n - 1] < v) and (n == 1001 or s[n] >= v)
      wrong = wrong + (is_right and 0 or 1)
    end
    assert.equal(0, wrong)
  end)

  it('in elements that are not sorted gives some index', function()
    local s = torch.DoubleStorage { 5, 0 / 0, 1, 9, 2 }
    for v = 0, 10 do
      local n = s:search(v)
      assert.is_true(n >= 1 and n <= 6)
    end
  end)

  it('is refused if the arguments do not fit', function()
    local s, fails = torch.DoubleStorage { 1, 2 }, support.fails
    local x = torch.DoubleTensor(2, 2)
    fails('NaN has no place', s.search, s, 0 / 0)
    fails('NaN has no place', s.search, s, torch.FloatStorage { 1, 0 / 0 })
    fails('NaN has no place', s.search, s, torch.FloatTensor { 0 / 0 })
    fails('a storage or tensor of numbers, expected, got no value', s.search, s)
    fails('a storage or tensor of numbers, expected, got nil', s.search, s, nil)
    fails('a storage or tensor of numbers, expected, got table', s.search, s, {})
    fails('boolean expected, got number', s.search, s, 1, 1)
    fails('boolean expected, got number', s.search, s, s, 1)
    support.failure(s.search, s, 1, true, 1)
    fails('a tensor of one dimension is searched, and this one has 2', x.search, x, 1)
    fails('a tensor of one dimension is searched, and this one has 2', x.search, x, s)
    fails('complex numbers have no order', s.search, s, torch.ComplexFloatStorage(1))
    local c = torch.ComplexFloatStorage(2)
    fails('complex numbers have no order', c.search, c, 1)
    fails('complex numbers have no order', c.search, c, s)
    assert.equal(1, torch.DoubleStorage():search(3))
    local freed = torch.DoubleStorage(2)
    freed:free()
    fails('storage was freed', s.search, s, freed)
  end)
end)
