-- tostring and print of tensors: Torch7's text exactly as it was recorded, and how large tensors are shortened.
local torch = require 'torch'
local support = require 'spec.support'

local D = torch.DoubleTensor

-- An expression is in NAME.lua, and all that Torch7's `print` wrote for it is in NAME.txt.
local GOLDEN = 'spec/tensors/golden/'
local NAMES = [[
  cube_float_exponent cube_int cube_scaled cube_wide four_dimensions
  matrix_byte matrix_double matrix_one matrix_scaled matrix_transposed
  matrix_wide_float matrix_wide_int matrix_wide_scaled narrowed
  vector_exponent vector_float vector_half vector_inf vector_int vector_large_int vector_nan vector_scaled vector_small_scaled
]]

-- Torch7's manual and behaviour as recorded: expression, text.
local RECORDED = {
  { 'D{1,-2,3}', ' 1\n-2\n 3\n[torch.DoubleTensor of size 3]\n' },
  { 'D{0.5,22.25}', '  0.5000\n 22.2500\n[torch.DoubleTensor of size 2]\n' },
  { 'seq(2,3)', ' 1  2  3\n 4  5  6\n[torch.DoubleTensor of size 2x3]\n' },
  { 'D{123456.5,234567}', '100000 *\n 1.2346\n 2.3457\n[torch.DoubleTensor of size 2]\n' },
  {
    'D{{0.5,123456.5},{1,300000}}',
    ' 5.0000e-01  1.2346e+05\n 1.0000e+00  3.0000e+05\n[torch.DoubleTensor of size 2x2]\n',
  },
  {
    'D{{100000.5,123456.5},{100001,300000}}',
    '100000 *\n  1.0000  1.2346\n  1.0000  3.0000\n[torch.DoubleTensor of size 2x2]\n',
  },
  { 'F{{0.5,-1},{22.25,3}}', '  0.5000  -1.0000\n 22.2500   3.0000\n[torch.FloatTensor of size 2x2]\n' },
  {
    'seq(2,2,3)',
    '(1,.,.) = \n   1   2   3\n   4   5   6\n\n(2,.,.) = \n   7   8   9\n  10  11  12\n'
      .. '[torch.DoubleTensor of size 2x2x3]\n',
  },
  {
    'torch.IntTensor(torch.IntStorage(60):fill(-7),1,L{2,30})',
    'Columns 1 to 26\n'
      .. ('-7 '):rep(25)
      .. '-7\n'
      .. ('-7 '):rep(25)
      .. '-7\n\nColumns 27 to 30\n-7 -7 -7 -7\n-7 -7 -7 -7\n[torch.IntTensor of size 2x30]\n',
  },
  { 'D{1/0,-1/0,2.5}', '         inf\n        -inf\n  2.5000e+00\n[torch.DoubleTensor of size 3]\n' },
}

-- A tensor of these sizes with 1, 2, 3, ... in row-major order.
local function seq(...)
  local x = D(...)
  local s = x:storage()
  for i = 1, #s do
    s[i] = i
  end
  return x
end

local SCOPE = { D = D, F = torch.FloatTensor, L = torch.LongStorage, seq = seq, torch = torch }

-- A line of a matrix: numbers of this width, separated by spaces.
local function row(width, numbers)
  local texts = {}
  for i, number in ipairs(numbers) do
    texts[i] = ('%' .. width .. 'd'):format(number)
  end
  return table.concat(texts, ' ')
end

describe('the text of a tensor', function()
  for name in NAMES:gmatch '%S+' do
    it('is what Torch7 printed: ' .. name, function()
      local expected = support.slurp(GOLDEN .. name .. '.txt')
      if name == 'vector_nan' and not support.luajit then
        -- PUC Lua writes a NaN as the C library does.
        expected = expected:gsub('nan', ('%f'):format(0 / 0))
      end
      assert.equal(expected, tostring(assert(loadfile(GOLDEN .. name .. '.lua'))()) .. '\n')
    end)
  end

  for _, case in ipairs(RECORDED) do
    it('is as recorded: ' .. case[1], function()
      assert.equal(case[2], tostring(setfenv(assert(loadstring('return ' .. case[1])), SCOPE)()))
    end)
  end

  it('without elements is the line with the sizes', function()
    assert.equal('[torch.DoubleTensor of size 0]\n', tostring(D()))
    assert.equal('[torch.DoubleTensor of size 2x0]\n', tostring(D(2, 0)))
    assert.equal('[torch.ComplexFloatTensor of size 0x3x4]\n', tostring(torch.ComplexFloatTensor(0, 3, 4)))
  end)

  it('of a scalar is its number', function()
    assert.equal(' 7\n[torch.IntTensor scalar]\n', tostring(torch.IntTensor({ 7 }):view()))
    assert.equal(' 0.5000\n[torch.DoubleTensor scalar]\n', tostring(D({ 0.5 }):view()))
    assert.equal(' 1 + 0i\n[torch.ComplexDoubleTensor scalar]\n', tostring(torch.ComplexDoubleTensor({ 1 }):view()))
  end)

  it('of one dimension has the lines of a storage', function()
    for _, T in ipairs { 'Double', 'Byte', 'Half', 'Bool', 'Long', 'ComplexFloat', 'BFloat16' } do
      local s = torch[T .. 'Storage'] { 1, 0, 7, 0.25, 100 }
      local text = tostring(s):gsub('Storage', 'Tensor')
      assert.equal(text, tostring(s:view(-1)))
    end
  end)

  it('of a matrix of complex numbers has two parts in each column', function()
    local x = torch.ComplexFloatTensor { { 1, { re = 0, im = -2.5 } }, { 3, 0.5 } }
    local expected = ' 1.0000 + 0.0000i  0.0000 - 2.5000i\n 3.0000 + 0.0000i  0.5000 + 0.0000i\n'
    assert.equal(expected .. '[torch.ComplexFloatTensor of size 2x2]\n', tostring(x))
    -- 18 characters for each column and its space.
    assert.matches(
      '^Columns 1 to 4\n.*\n\nColumns 5 to 5\n',
      tostring(torch.ComplexFloatTensor { { 1, 2, 3, 4, 0.5 } })
    )
  end)

  it('of a matrix with a NaN has one block', function()
    local x = D(1, 100)
    x[{ 1, 3 }] = 0 / 0
    local nan = ('%f'):format(x:get(1, 3))
    local expected = '0.000000 0.000000 ' .. nan .. (' 0.000000'):rep(97) .. '\n[torch.DoubleTensor of size 1x100]\n'
    assert.equal(expected, tostring(x))
  end)

  it('shows numbers that are almost 0 as 0', function()
    local x = D { { 0 / 0, 1e-300 } }
    assert.equal(('%f'):format(x:get(1, 1)) .. ' 0.000000\n[torch.DoubleTensor of size 1x2]\n', tostring(x))
  end)

  it('has the format of the elements of the view alone', function()
    local x = D { { 1, 0.5 }, { 3, 1e9 } }
    assert.equal(' 1\n 3\n[torch.DoubleTensor of size 2]\n', tostring(x:select(2, 1)))
  end)

  it('shows every class of elements in a matrix', function()
    for _, entry in ipairs(require('torch.core').tensors) do
      local x = torch[entry.name:match '%.(.*)'] { { 1, 0 }, { 0, 1 } }
      local is_complex = entry.name:find 'Complex'
      local expected = is_complex and ' 1 + 0i  0 + 0i\n 0 + 0i  1 + 0i\n' or ' 1  0\n 0  1\n'
      assert.equal(expected .. '[' .. entry.name .. ' of size 2x2]\n', tostring(x))
    end
  end)

  it('is what print writes, and __tostring__ gives', function()
    local output = support.child [[
      local torch = require 'torch'
      print(torch.IntTensor{{1, 2}})
      io.write('end')
    ]]
    assert.equal(' 1  2\n[torch.IntTensor of size 1x2]\n\nend', output)
    local x = D { 1 }
    assert.equal(tostring(x), x:__tostring__())
  end)
end)

describe('a tensor that cannot be printed', function()
  local text_of = D { 1 }.__tostring__

  it('is one whose storage shrank', function()
    local x = D { { 1, 2 }, { 3, 4 } }
    x:storage():resize(3)
    local message = support.failure(function()
      local text = tostring(x)
      return text
    end)
    assert.matches('^[^\n]*print_spec.lua:%d+: the tensor of 2 x 2 ', message)
    assert.equal(support.failure(x.totable, x), (message:gsub('^.-:%d+: ', '')))
    x:storage():resize(4)
    assert.matches('^ 1  2\n', tostring(x))
    x:storage():resize(0)
    support.fails('of its storage, which has 0', tostring, x)
    local large = seq(100, 100)
    large:storage():resize(9999)
    support.fails('of its storage, which has 9999', tostring, large)
    local scalar = D({ 1, 2 }):narrow(1, 2, 1):view()
    scalar:storage():resize(1)
    support.fails('of its storage, which has 1', tostring, scalar)
  end)

  it('is one without a storage', function()
    local x = D { 1 }
    getmetatable(x).__gc(x)
    local message = support.failure(function()
      local text = tostring(x)
      return text
    end)
    assert.matches("print_spec.lua:%d+: bad argument #1 to 'tostring' %(the tensor has no storage", message)
  end)

  it('is another value', function()
    local values = { table = {}, number = 5, string = 'x', userdata = io.stdout, boolean = true }
    values['torch.IntStorage'] = torch.IntStorage(1)
    for name, value in pairs(values) do
      local message = support.failure(function()
        local text = text_of(value)
        return text
      end)
      assert.matches('print_spec.lua:%d+: ', message)
      assert.matches('torch%.%*Tensor expected, got ' .. name, message)
    end
  end)
end)

describe('a large tensor', function()
  before_each(function()
    torch.setprintoptions { threshold = 10, edgeitems = 2 }
  end)

  after_each(function()
    torch.setprintoptions { threshold = 1000, edgeitems = 10 }
  end)

  it('of one dimension shows both ends', function()
    assert.equal('  1\n  2\n ...\n 10\n 11\n[torch.DoubleTensor of size 11]\n', tostring(seq(11)))
  end)

  it('up to the threshold is shown whole', function()
    assert.equal(row(3, { 1, 2, 3, 4, 5 }) .. '\n' .. row(3, { 6, 7, 8, 9, 10 }), tostring(seq(2, 5)):match '^(.-)\n%[')
    torch.setprintoptions { threshold = 1000, edgeitems = 10 }
    assert.is_nil(tostring(seq(25, 40)):find('...', 1, true))
    assert.is_truthy(tostring(seq(13, 77)):find(' ...', 1, true))
  end)

  it('shows the first and last rows and columns', function()
    local expected = {
      '  1   2 ...   6   7',
      '  8   9 ...  13  14',
      ' ...',
      ' 36  37 ...  41  42',
      ' 43  44 ...  48  49',
      '[torch.DoubleTensor of size 7x7]\n',
    }
    assert.equal(table.concat(expected, '\n'), tostring(seq(7, 7)))
  end)

  it('shows short dimensions whole', function()
    local wide = '  1   2 ...   9  10\n 11  12 ...  19  20\n[torch.DoubleTensor of size 2x10]\n'
    assert.equal(wide, tostring(seq(2, 10)))
    local tall = '  1   2\n  3   4\n ...\n 17  18\n 19  20\n[torch.DoubleTensor of size 10x2]\n'
    assert.equal(tall, tostring(seq(10, 2)))
    assert.is_nil(tostring(seq(4, 4)):find('...', 1, true))
  end)

  it('shows its elements as its strides say', function()
    local expected = {
      '  1   8 ...  36  43',
      '  2   9 ...  37  44',
      ' ...',
      '  6  13 ...  41  48',
      '  7  14 ...  42  49',
      '[torch.DoubleTensor of size 7x7]\n',
    }
    assert.equal(table.concat(expected, '\n'), tostring(seq(7, 7):t()))
  end)

  it('has a mark between rows, between columns and between matrices', function()
    local expected = {
      '(1,.,.) = ',
      '    1    2 ...    4    5',
      '    6    7 ...    9   10',
      '  ...',
      '   16   17 ...   19   20',
      '   21   22 ...   24   25',
      '',
      '(2,.,.) = ',
      '   26   27 ...   29   30',
      '   31   32 ...   34   35',
      '  ...',
      '   41   42 ...   44   45',
      '   46   47 ...   49   50',
      '',
      ' ...',
      '',
      '(5,.,.) = ',
      '  101  102 ...  104  105',
      '  106  107 ...  109  110',
      '  ...',
      '  116  117 ...  119  120',
      '  121  122 ...  124  125',
      '',
      '(6,.,.) = ',
      '  126  127 ...  129  130',
      '  131  132 ...  134  135',
      '  ...',
      '  141  142 ...  144  145',
      '  146  147 ...  149  150',
      '[torch.DoubleTensor of size 6x5x5]\n',
    }
    assert.equal(table.concat(expected, '\n'), tostring(seq(6, 5, 5)))
  end)

  it('has a mark wherever an index jumps', function()
    torch.setprintoptions { edgeitems = 1 }
    local expected = {
      '(1,1,.,.) = ',
      '   1',
      '',
      ' ...',
      '',
      '(3,1,.,.) = ',
      '  19',
      '',
      ' ...',
      '',
      '(1,9,.,.) = ',
      '   9',
      '',
      ' ...',
      '',
      '(3,9,.,.) = ',
      '  27',
      '[torch.DoubleTensor of size 3x9x1x1]\n',
    }
    assert.equal(table.concat(expected, '\n'), tostring(seq(3, 9, 1, 1)))
  end)

  it('has blocks for columns that do not fit into a line', function()
    torch.setprintoptions { edgeitems = 12 }
    local text = tostring(seq(2, 30))
    assert.matches('^Columns 1 to 12\n', text)
    assert.matches('\n\n %.%.%.\n\nColumns 19 to 30\n', text)
  end)

  it('names the columns of each block of an edge', function()
    torch.setprintoptions { edgeitems = 20 }
    local x = torch.IntTensor(1, 100)
    x[{ 1, 1 }] = 1000
    local titles = {}
    for title in tostring(x):gmatch '([^\n]*%a[^\n]*)\n' do
      titles[#titles + 1] = title
    end
    assert.same({
      'Columns 1 to 13',
      'Columns 14 to 20',
      'Columns 81 to 93',
      'Columns 94 to 100',
      '[torch.IntTensor of size 1x100]',
    }, titles)
  end)

  it('has its format and its factor from the elements that are shown', function()
    local x = seq(10, 10)
    x[{ 5, 5 }] = 0.123456
    assert.matches('^   1    2 %.%.%.    9   10\n', tostring(x))
    x[{ 1, 1 }] = 123456.5
    x[{ 5, 5 }] = 1
    for i = 1, 10 do
      for j = 1, 10 do
        x:set(i, j, 123456.5)
      end
    end
    assert.matches('^100000 %*\n  1%.2346  1%.2346 %.%.%.  1%.2346  1%.2346\n', tostring(x))
  end)

  it('with edges of no elements shows only the mark', function()
    torch.setprintoptions { edgeitems = 0 }
    assert.equal(' ...\n[torch.DoubleTensor of size 4x4]\n', tostring(seq(4, 4)))
    torch.setprintoptions { threshold = 0 }
    assert.equal(' 1\n[torch.DoubleTensor scalar]\n', tostring(seq(1):view()))
    assert.equal('[torch.DoubleTensor of size 0]\n', tostring(D()))
  end)

  it('of many dimensions has smaller edges, so that the text stays short', function()
    torch.setprintoptions { threshold = 1000, edgeitems = 10 }
    local x = torch.ByteTensor(1, 1, 1):expand(100, 100, 100)
    assert.matches('^%(1,.,.%) = \n.*\n %.%.%.\n\n%(96,.,.%) = \n', tostring(x))
    local many = torch.ByteTensor(torch.LongStorage(60):fill(1)):expand(torch.LongStorage(60):fill(2))
    assert.equal(' ...\n[torch.ByteTensor of size ' .. ('2x'):rep(59) .. '2]\n', tostring(many))
    torch.setprintoptions { edgeitems = 1e15 }
    assert.is_true(#tostring(x) < 1e5)
  end)

  it('with a large threshold is shown whole', function()
    torch.setprintoptions { threshold = math.huge }
    local _, lines = tostring(seq(3000, 2)):gsub('\n', '')
    assert.equal(3001, lines)
    -- A row with more columns than a function can have arguments.
    local x = D(2, 20000)
    x[{ 2, 2 }] = 0 / 0
    local _, numbers = tostring(x):gsub('0%.000000', '')
    assert.equal(39999, numbers)
  end)

  it('is printed without reading all of it', function()
    local path = os.tmpname()
    support.sh('truncate -s 256M ' .. path)
    local x = torch.IntStorage(path):view(8192, 8192)
    local before = support.resident()
    assert.matches('^ 0  0 %.%.%.  0  0\n', tostring(x))
    assert.is_true(support.resident() - before < 64 * 2 ^ 20)
    os.remove(path)
  end)
end)
