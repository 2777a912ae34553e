-- The rows of a matrix that are nearest to a query.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- A storage of small whole numbers that every class has.
local seed = 12345
local function filled(T, size)
  local s = torch[T .. 'Storage'](size)
  for i = 1, size do
    seed = (seed * 16807) % 2147483647
    s[i] = seed % (T == 'Bool' and 2 or 8)
  end
  return s
end

describe('the nearest rows', function()
  local function rows_of(list)
    return torch.DoubleTensor(list)
  end
  local x = rows_of { { 1, 0 }, { 0, 2 }, { 3, 3 }, { -1, 0 }, { 0, 0 } }

  it('are found by the angle, the product or the distance', function()
    local q = torch.DoubleStorage { 2, 0 }
    local rows, scores = x:nearest(q, 3)
    assert.equal('torch.LongStorage', torch.typename(rows))
    assert.equal('torch.DoubleStorage', torch.typename(scores))
    assert.same({ 1, 3, 2 }, rows:totable())
    assert.equal(1, scores[1])
    assert.is_true(math.abs(scores[2] - math.sqrt(0.5)) < 1e-15)
    rows, scores = x:nearest(q, 2, { metric = 'dot' })
    assert.same({ 3, 1, 6, 2 }, { rows[1], rows[2], scores[1], scores[2] })
    rows, scores = x:nearest(torch.DoubleTensor { 1, 1 }, 2, { metric = 'euclid' })
    assert.same({ 1, 2, 1, math.sqrt(2) }, { rows[1], rows[2], scores[1], scores[2] })
    -- The angle of a row of zeros is NaN, which comes last.
    rows, scores = x:nearest(q, 100)
    assert.same({ 1, 3, 2, 4, 5 }, rows:totable())
    assert.is_true(scores[5] ~= scores[5])
  end)

  it('are those that pass the filter', function()
    local q = torch.FloatStorage { 2, 0 }
    assert.same({ 3, 2 }, (x:nearest(q, 5, { filter = torch.ByteStorage { 0, 1, 1, 0, 0 } })):totable())
    assert.same({ 4 }, (x:nearest(q, 5, { filter = torch.BoolStorage { 0, 0, 0, 1, 0 }, metric = 'dot' })):totable())
    assert.same({}, (x:nearest(q, 5, { filter = torch.ByteStorage(5) })):totable())
  end)

  it('are the same as by sorting all scores, in every class', function()
    for _, T in ipairs(types.NUMBERS) do
      local m = torch[T .. 'Tensor'](filled(T, 600), 1, { 100, 6 })
      local q = filled(T, 6)
      for _, metric in ipairs { 'cosine', 'dot', 'euclid' } do
        local scores = {}
        for row = 1, 100 do
          local r = torch[T .. 'Tensor'](q, 1, { 6 })
          scores[row] = metric == 'dot' and tonumber(m[row]:dot(r))
            or metric == 'euclid' and torch.dist(m[row], r)
            or torch.cosine(m[row], r)
        end
        local order = {}
        for row = 1, 100 do
          order[row] = row
        end
        table.sort(order, function(a, b)
          local one, other = scores[a], scores[b]
          if one ~= one or other ~= other or one == other then
            return (one == one and other ~= other) or ((one ~= one) == (other ~= other) and a < b)
          end
          if metric == 'euclid' then
            return one < other
          end
          return one > other
        end)
        local rows = m:nearest(q, 20, { metric = metric }):totable()
        for i = 1, 20 do
          assert.equal(order[i], rows[i], T .. metric)
        end
      end
    end
  end)

  it('are refused if the arguments do not fit', function()
    local q, fails = torch.FloatStorage(2), support.fails
    fails("'cosine', 'dot' or 'euclid' expected, got 'l1'", x.nearest, x, q, 1, { metric = 'l1' })
    fails("no option 'metrik': the options are metric, filter", x.nearest, x, q, 1, { metrik = 'dot' })
    fails('a number of rows from 1 on is expected, got 0', x.nearest, x, q, 0)
    fails('a query of 2 elements expected, as a row has, got 3', x.nearest, x, torch.FloatStorage(3), 1)
    fails('a matrix of two dimensions expected, got 1', x.nearest, x[1], q, 1)
    fails('storage or tensor expected, got nil', x.nearest, x, nil, 1)
    fails('an element for each of the 5 rows expected, got 4', x.nearest, x, q, 1, { filter = torch.ByteStorage(4) })
    fails('torch.ByteStorage or torch.BoolStorage expected, got table', x.nearest, x, q, 1, { filter = {} })
    fails('table of options expected, got string', x.nearest, x, q, 1, 'dot')
  end)
end)
