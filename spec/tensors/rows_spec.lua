-- Nested tables as tensors, and tensors as nested tables.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local D = torch.DoubleTensor
local C = torch.ComplexDoubleTensor

-- A nested table as text: '{{1 2} {3 4}}'.
local function text(t)
  if type(t) ~= 'table' or t.re then
    return type(t) == 'number' and ('%.17g'):format(t) or ('%g+%gi'):format(t.re, t.im)
  end
  local parts = {}
  for i = 1, #t do
    parts[i] = text(t[i])
  end
  return '{' .. table.concat(parts, ' ') .. '}'
end

local function sizes(x)
  return table.concat(x:size():totable(), 'x')
end

-- The FFI value of a source such as `7LL`. PUC Lua, which has no FFI, cannot read the source.
local function ffi_value(source)
  return assert(loadstring('return ' .. source))()
end

-- `depth` tables around a value.
local function nested(depth, value)
  for _ = 1, depth do
    value = { value }
  end
  return value
end

describe('a tensor of a nested table', function()
  it('has the shape of the table and its numbers in row-major order', function()
    local cases = {
      { { 1, 2, 3 }, '3', '1 2 3' },
      { { { 1, 2 }, { 3, 4 }, { 5, 6 } }, '3x2', '1 2 3 4 5 6' },
      { { { { 1 }, { 2 } }, { { 3 }, { 4 } } }, '2x2x1', '1 2 3 4' },
      { { {}, {} }, '2x0', '' },
      { { { {} }, { {} }, { {} } }, '3x1x0', '' },
      { nested(64, 7), ('1x'):rep(63) .. '1', '7' },
    }
    for _, case in ipairs(cases) do
      local x = D(case[1])
      assert.equal(case[2], sizes(x))
      assert.equal(case[3], support.joined(x:storage():totable(), ' '))
      assert.is_true(x:isContiguous())
      assert.equal(1, x:storageOffset())
      assert.equal(text(case[1]), text(x:totable()))
    end
  end)

  it('of an empty table is the same as without arguments', function()
    local x = D {}
    assert.equal('0', sizes(x))
    assert.is_nil(x:storage())
  end)

  it('can be made by every constructor', function()
    assert.equal('2x2', sizes(D.new { { 1, 2 }, { 3, 4 } }))
    assert.equal('2x2', sizes(D(1).new { { 1, 2 }, { 3, 4 } }))
    assert.equal('2x2', sizes(torch.Tensor { { 1, 2 }, { 3, 4 } }))
    assert.equal('2x2', sizes(torch.LongTensor { { 1, 2 }, { 3, 4 } }))
  end)

  for _, T in ipairs(types.NUMBERS) do
    it('has the elements that the storage of each row has: ' .. T, function()
      -- Rows around the sizes of the blocks in which numbers are read.
      for _, columns in ipairs { 1, 3, 16, 17, 63, 64, 65, 200, 4096, 5000 } do
        local rows, expected = {}, {}
        for i = 1, 3 do
          rows[i] = {}
          for j = 1, columns do
            rows[i][j] = (i * 1000 + j) * (j % 2 == 0 and -0.75 or 1)
          end
          rows[i][columns] = i == 2 and '77' or rows[i][columns]
          expected[i] = torch[T .. 'Storage'](rows[i]):string()
        end
        local x = torch[T .. 'Tensor'](rows)
        assert.equal(('3x%d'):format(columns), sizes(x))
        assert.is_true(table.concat(expected) == x:storage():string(), T .. columns)
        assert.equal('string', type(rows[2][columns]))
      end
    end)
  end

  it('converts numbers as Torch7 did', function()
    assert.equal('{{1 44} {255 2}}', text(torch.ByteTensor({ { 1, 300 }, { -1, 2.9 } }):totable()))
  end)

  it('takes booleans in a BoolTensor', function()
    assert.equal('{{1 0} {0 1}}', text(torch.BoolTensor({ { true, false }, { false, 5 } }):totable()))
    support.fails('element [1][2]: number expected, got boolean', D, { { 1, true } })
    support.fails('element [1][2]: number or boolean expected, got function', torch.BoolTensor, { { true, print } })
  end)

  it('keeps 64 bits of decimal strings', function()
    local x = torch.LongTensor { { '9007199254740993', '-9223372036854775808' }, { 1, '2' } }
    assert.equal('9007199254740993', x:decimal(1, 1))
    assert.equal('-9223372036854775808', x:decimal(1, 2))
    assert.equal('2', x:decimal(2, 2))
  end)

  it('takes the strings that a storage takes', function()
    for _, value in ipairs { '1', ' 12 ', '0x10', '1e3' } do
      assert.equal(torch.DoubleStorage({ value })[1], D({ { value } }):get(1, 1))
    end
  end)

  it('takes {re=, im=} as an element of a complex class, and {a, b} as a row', function()
    local x = C { { { re = 1, im = 2 }, 3 }, { 4, { re = 5, im = 6 } } }
    assert.equal('2x2', sizes(x))
    assert.equal('{{1+2i 3+0i} {4+0i 5+6i}}', text(x:totable()))
    assert.equal('2x2', sizes(C { { 1, 2 }, { 3, 4 } }))
    assert.equal('2', sizes(C { { re = 1, im = 2 }, { re = 3, im = 4 } }))
    support.fails('the table is a complex number', C, { re = 1, im = 2 })
    support.fails('element [2]: number, {re=, im=} or FFI complex expected, got table', C, { 1, { 2, 3 } })
    support.fails('element [2]: number, {re=, im=} or FFI complex expected, got table', C, { { re = 1, im = 2 }, {} })
    support.fails('row [2]: table expected, got a complex number', C, { { 1, 2 }, { re = 1, im = 2 } })
    support.fails('row [2]: table expected, got a complex number', C, { {}, { re = 1, im = 2 } })
    support.fails('element [2]: number expected, got table', D, { 1, { re = 1, im = 2 } })
  end)

  it('reads tables without metamethods', function()
    local rows = setmetatable({}, {
      __index = function()
        return { 1 }
      end,
      __len = function()
        return 3
      end,
    })
    assert.equal('0', sizes(D(rows)))
  end)

  -- Lua leaves the length of a table with gaps open. Lua 5.5 stops at the gap, and so does the tensor.
  local counts_gaps = #{ nil, 2 } == 2 and #{ 1, nil, 3 } == 3
  support.cases('%s is an error that names the place', {
    ['a shorter row'] = { { { 1, 2 }, { 3 } }, 'row [2] has 1 element, and row [1] has 2' },
    ['a longer row'] = { { { 1, 2 }, { 3, 4 }, { 5, 6, 7 } }, 'row [3] has 3 elements, and row [1] has 2' },
    ['an empty row'] = { { { 1, 2 }, {} }, 'row [2] has 0 elements, and row [1] has 2' },
    ['a row after empty ones'] = { { {}, { 1 } }, 'row [2] has 1 element, and row [1] has 0' },
    ['a longer row inside'] = {
      { { { 1 }, { 2 } }, { { 3 }, { 4, 5 } } },
      'row [2][2] has 2 elements, and row [1][1] has 1',
    },
    ['a matrix with fewer rows'] = { { { { 1 }, { 2 } }, { { 3 } } }, 'row [2] has 1 element, and row [1] has 2' },
    ['a number for a row'] = { { { 1, 2 }, 3 }, 'row [2]: table expected, got number' },
    ['a string for a row'] = { { { 1, 2 }, 'x' }, "row [2]: table expected, got string 'x'" },
    ['nothing for a row'] = counts_gaps and { { { 1 }, nil, { 2 } }, 'row [2]: table expected, got nil' } or nil,
    ['a storage for a row'] = { { { 1 }, torch.IntStorage(1) }, 'row [2]: table expected, got torch.IntStorage' },
    ['a table for a number'] = { { 1, { 2 } }, 'element [2]: number expected, got table' },
    ['a table for a number inside'] = { { { 1 }, { {} } }, 'element [2][1]: number expected, got table' },
    ['a word'] = { { { 1, 2 }, { 3, 'a' } }, "element [2][2]: number expected, got string 'a'" },
    ['a hole'] = counts_gaps and { { { 1, 2 }, { nil, 4 } }, 'element [2][1]: number expected, got nil' } or nil,
    ['a first element that is missing'] = counts_gaps and { { nil, 1 }, 'element [1]: number expected, got nil' }
      or nil,
    ['a tensor for a number'] = { { D(2) }, 'element [1]: number expected, got torch.DoubleTensor' },
    ['a function'] = { { { print } }, 'element [1][1]: number expected, got function' },
    ['one table too deep'] = { nested(65, 1), 'more than 64 levels' },
  }, function(case)
    support.fails(case[2], D, case[1])
  end)

  it('is the only argument', function()
    support.fails('nothing more expected, got number', D, { { 1 } }, 2)
  end)

  it('cannot be made of a table that contains itself', function()
    local first, last, row = {}, { 1 }, { { 1 } }
    first[1] = first
    last[2] = last
    row[2] = row
    support.fails('more than 64 levels', D, first)
    support.fails('element [2]: number expected, got table', D, last)
    support.fails('row [2] has 2 elements, and row [1] has 1', D, row)
  end)

  it('cannot be made of more rows than 2^31, however small the tables', function()
    local row, empty = { 1, 1 }, {}
    for _ = 1, 40 do
      row, empty = { row, row }, { empty, empty }
    end
    support.fails('too many rows', D, row)
    support.fails('too many rows', D, empty)
    for _ = 1, 30 do
      row = { row, row }
    end
    support.fails('more than 64 levels', D, row)
  end)

  it('leaves nothing behind if it cannot be made', function()
    support.collect()
    local before = torch.memory().heap
    for _ = 1, 10 do
      assert.is_false(pcall(D, { { 1, 2 }, { 3 } }))
    end
    support.collect()
    assert.equal(before, torch.memory().heap)
  end)

  if support.luajit then
    it('takes FFI values as elements', function()
      local x = torch.LongTensor { { ffi_value '9007199254740993LL', 1 }, { 2, ffi_value '-1LL' } }
      assert.equal('9007199254740993', x:decimal(1, 1))
      assert.equal('-1', x:decimal(2, 2))
      local z = require('ffi').new('complex', 1, 2)
      assert.equal('{{1+2i 3+0i}}', text(C({ { z, 3 } }):totable()))
      support.fails('element [1][1]: number expected, got cdata', D, { { ffi_value '2i' } })
    end)
  end

  it('survives tables that change while they are read', function()
    -- Reading complex numbers runs Lua code, and a hook in it can change every table.
    local rows
    local function change()
      rows[2][1], rows[2][2], rows[3] = nil, nil, 5
    end
    for count = 1, 60 do
      local z = support.luajit and ffi_value '1i' or { re = 0, im = 1 }
      rows = { { z, z }, { z, z }, { z, z } }
      debug.sethook(change, '', count)
      local ok, x = pcall(C, rows)
      debug.sethook()
      if ok then
        assert.equal('3x2', sizes(x))
      else
        assert.is_truthy(x:find 'row %[%d%]' or x:find 'element %[%d%]%[%d%]', x)
      end
    end
  end)
end)

describe('totable', function()
  it('gives nested tables in the order of the dimensions', function()
    local x = D { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.equal('{{1 2 3} {4 5 6}}', text(x:totable()))
    assert.equal('{{1 4} {2 5} {3 6}}', text(x:t():totable()))
    assert.equal('{2 5}', text(x:select(2, 2):totable()))
    assert.equal('{{2 3} {5 6}}', text(x:narrow(2, 2, 2):totable()))
    assert.equal('{{7 7 7} {8 8 8}}', text(D({ { 7 }, { 8 } }):expand(2, 3):totable()))
    assert.equal('{{1 2} {2 3} {3 4}}', text(D({ 1, 2, 3, 4 }):unfold(1, 2, 1):totable()))
    assert.equal('{3 2 1}', text(D(torch.DoubleStorage { 1, 2, 3 }, 3, { 3 }, { -1 }):totable()))
    assert.equal('{{{1 2}} {{3 4}}}', text(D(torch.DoubleStorage { 1, 2, 3, 4 }, 1, { 2, 1, 2 }):totable()))
  end)

  it('of a tensor without elements has the tables of the dimensions before the first 0', function()
    assert.equal('{}', text(D():totable()))
    assert.equal('{{} {}}', text(D(2, 0):totable()))
    assert.equal('{}', text(D(0, 3):totable()))
    assert.equal('{{{}}}', text(D(1, 1, 0, 4):totable()))
  end)

  it('of a scalar is its number', function()
    assert.equal(7, D({ 7 }):view():totable())
    assert.equal('7+0i', text(C({ 7 }):view():totable()))
  end)

  it('is torch.totable, too', function()
    assert.equal('{{1 2}}', text(torch.totable(D { { 1, 2 } })))
  end)

  for _, T in ipairs(types.NUMBERS) do
    it('gives the numbers that get gives: ' .. T, function()
      local x = torch[T .. 'Tensor'](3, 130):t()
      for i = 1, x:size(1) do
        for j = 1, 3 do
          x:set(i, j, i * j % 120 / 2)
        end
      end
      local t = x:totable()
      assert.equal(130, #t)
      for i = 1, x:size(1) do
        assert.equal(3, #t[i])
        for j = 1, 3 do
          assert.equal(x:get(i, j), t[i][j])
        end
      end
    end)
  end

  it('of 64 dimensions', function()
    assert.equal(
      text(nested(64, 7)),
      text(D(torch.LongStorage(64):fill(1)):storage():fill(7):view(torch.LongStorage(64):fill(1)):totable())
    )
  end)

  it('takes no arguments, and only a tensor of the class', function()
    local x = D { 1 }
    support.fails('nothing more expected, got number', x.totable, x, 1)
    support.fails('torch.DoubleTensor expected, got torch.FloatTensor', x.totable, torch.FloatTensor { 1 })
    support.fails('torch.DoubleTensor expected, got no value', x.totable)
  end)

  it('of a tensor whose storage shrank is an error', function()
    local x = D { { 1, 2 }, { 3, 4 } }
    x:storage():resize(3)
    support.fails('uses elements 1 to 4 of its storage, which has 3', x.totable, x)
    local scalar = D({ 1, 2 }):narrow(1, 2, 1):view()
    scalar:storage():resize(1)
    support.fails('of its storage, which has 1', scalar.totable, scalar)
  end)

  -- A child process, because the whole heap of this one is not collected in one step.
  support.cases('survives a storage that shrinks in a finalizer while tables are made: %s', {
    Double = '300, 40',
    ComplexDouble = '300, 4',
    -- Lua 5.5 allocates a flat table at once, and runs no finalizer while it is filled.
    Byte = _VERSION ~= 'Lua 5.5' and '100000' or nil,
  }, function(shape, T)
    local output = support.child(([[
      local torch = require 'torch'
      local due = require 'spec.support.due_collection'
      local x = torch.%sTensor(%s)
      due(function()
        x:storage():resize(10)
      end)
      print(pcall(x.totable, x))
    ]]):format(T, shape))
    assert.is_truthy(output:find('of its storage, which has 10', 1, true), output)
  end)
end)
