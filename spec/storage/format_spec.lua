-- tostring and print: Torch7's text exactly as it was recorded, and how long storages are shortened.
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()

-- Class, elements, text. INF is infinity, NAN is the result of 0/0 on x86 (its sign is set), NZ is the negative zero.
local CASES = {
  { 'Double', '1', ' 1\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1, 2, 3', ' 1\n 2\n 3\n[torch.DoubleStorage of size 3]\n' },
  { 'Double', '-1, 2, -300', '  -1\n   2\n-300\n[torch.DoubleStorage of size 3]\n' },
  { 'Int', '1, -20, 300', '   1\n -20\n 300\n[torch.IntStorage of size 3]\n' },
  { 'Byte', '0, 255', '   0\n 255\n[torch.ByteStorage of size 2]\n' },
  { 'Char', '-128, 127', '-128\n 127\n[torch.CharStorage of size 2]\n' },
  { 'Short', '-32768, 32767', '-32768\n 32767\n[torch.ShortStorage of size 2]\n' },
  { 'Long', '0', ' 0\n[torch.LongStorage of size 1]\n' },
  { 'Long', '123456789', ' 123456789\n[torch.LongStorage of size 1]\n' },
  { 'Long', '1234567890', ' 1.2346e+09\n[torch.LongStorage of size 1]\n' },
  { 'Long', '-1234567890, 1', '-1.2346e+09\n 1.0000e+00\n[torch.LongStorage of size 2]\n' },
  { 'Long', '2^53', ' 9.0072e+15\n[torch.LongStorage of size 1]\n' },
  { 'Int', '2147483647, -2147483648', ' 2.1475e+09\n-2.1475e+09\n[torch.IntStorage of size 2]\n' },
  { 'Double', '999999999', ' 999999999\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1e9', ' 1.0000e+09\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1e15', ' 1.0000e+15\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1e300', '1.0000e+300\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0', ' 0\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0, 0, 0', ' 0\n 0\n 0\n[torch.DoubleStorage of size 3]\n' },
  { 'Double', 'NZ', ' 0\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0.5', ' 0.5000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0.1, 0.2', ' 0.1000\n 0.2000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1.5, 2, 3', ' 1.5000\n 2.0000\n 3.0000\n[torch.DoubleStorage of size 3]\n' },
  { 'Double', '0.001', '0.001 *\n 1.0000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0.0001, 0.0002', '0.0001 *\n 1.0000\n 2.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '0.00123, 0.5', ' 0.0012\n 0.5000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '0.01, 0.02', '0.01 *\n 1.0000\n 2.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '0.09', '0.01 *\n 9.0000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0.1', ' 0.1000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '0.00001, 1', ' 1.0000e-05\n 1.0000e+00\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1.5, 10000', '     1.5000\n 10000.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1.5, 100000', ' 1.5000e+00\n 1.0000e+05\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1.5, 1000000', ' 1.5000e+00\n 1.0000e+06\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '12345.5', ' 12345.5000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '123456.5', '100000 *\n 1.2346\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1234567.5, 1000000.5', '1e+06 *\n 1.2346\n 1.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1e-5, 2e-5', '1e-05 *\n 1.0000\n 2.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '-1.5e-7', '1e-07 *\n-1.5000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1e-100, 1', '1.0000e-100\n 1.0000e+00\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1e-101, 1', ' 1.0000e-101\n  1.0000e+00\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1e-320', '9.98013e-322 *\n10.0198\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '1e100, 0.5', ' 1.0000e+100\n  5.0000e-01\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1.5e308, 0.5', ' 1.5000e+308\n  5.0000e-01\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '0, 0.5', ' 0.0000\n 0.5000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '0, 1000.5', '    0.0000\n 1000.5000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '0, 1e-5', '1e-05 *\n 0.0000\n 1.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Float', '0.1', ' 0.1000\n[torch.FloatStorage of size 1]\n' },
  { 'Float', '3.14159274, 2.71828', ' 3.1416\n 2.7183\n[torch.FloatStorage of size 2]\n' },
  { 'Float', '1e10, 0.1', ' 1.0000e+10\n 1.0000e-01\n[torch.FloatStorage of size 2]\n' },
  { 'Half', '1.5, -2', ' 1.5000\n-2.0000\n[torch.HalfStorage of size 2]\n' },
  { 'Half', '0.1', '0.01 *\n 9.9976\n[torch.HalfStorage of size 1]\n' },
  { 'Half', '65504', ' 65504\n[torch.HalfStorage of size 1]\n' },
  { 'Half', '6e-8', '1e-08 *\n 5.9605\n[torch.HalfStorage of size 1]\n' },
  { 'Double', '99999.99999', '100000.0000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '9.99999', '10.0000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '99.99999, 1', '100.0000\n  1.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '999.5, 1', ' 999.5000\n   1.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '-999.5, 1', '-999.5000\n   1.0000\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '9999.5', ' 9999.5000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '99999.5', ' 99999.5000\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '', '[torch.DoubleStorage of size 0]\n' },
  { 'Int', '', '[torch.IntStorage of size 0]\n' },
  { 'Byte', '', '[torch.ByteStorage of size 0]\n' },
  { 'Half', '', '[torch.HalfStorage of size 0]\n' },
  { 'Double', '-NAN', 'nan\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', 'INF', '        inf\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', '-INF', '       -inf\n[torch.DoubleStorage of size 1]\n' },
  { 'Double', 'INF, 1', '        inf\n 1.0000e+00\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '1, INF', ' 1.0000e+00\n        inf\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', 'INF, -INF', '        inf\n       -inf\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', 'INF, 0', '        inf\n 0.0000e+00\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', 'INF, 0.5', '         inf\n  5.0000e-01\n[torch.DoubleStorage of size 2]\n' },
  { 'Double', '-INF, 0.5', '        -inf\n  5.0000e-01\n[torch.DoubleStorage of size 2]\n' },
  { 'Float', 'INF, 1', '        inf\n 1.0000e+00\n[torch.FloatStorage of size 2]\n' },
  { 'Half', '1e6, 1', '        inf\n 1.0000e+00\n[torch.HalfStorage of size 2]\n' },
  { 'Half', 'NAN', 'nan\n[torch.HalfStorage of size 1]\n' },
}

-- The library uses the host's string.format, as Torch7 did.
local NAN_CASES = {
  { 'NAN', '-nan\n[torch.DoubleStorage of size 1]\n' },
  { 'NAN, 1', '-nan\n1.000000\n[torch.DoubleStorage of size 2]\n' },
  { '1, NAN', '1.000000\n-nan\n[torch.DoubleStorage of size 2]\n' },
  { '1.5, NAN', '1.500000\n-nan\n[torch.DoubleStorage of size 2]\n' },
  { 'NAN, 1.5', '-nan\n1.500000\n[torch.DoubleStorage of size 2]\n' },
  { 'INF, NAN', 'inf\n-nan\n[torch.DoubleStorage of size 2]\n' },
  { 'INF, NAN, 1, 0.5', 'inf\n-nan\n1.000000\n0.500000\n[torch.DoubleStorage of size 4]\n' },
}

-- LuaJIT of 2022 and OpenResty's round ties away from zero. PUC Lua and the current LuaJIT round them to even.
local TIES = ('%.1f'):format(0.25) == '0.3' and ' 1.0313\n 1.0938\n 1.1563\n' or ' 1.0312\n 1.0938\n 1.1562\n'

local GLOBALS = {
  INF = math.huge,
  NAN = torch.DoubleStorage.fromstring('\0\0\0\0\0\0\248\255')[1],
  NZ = -1 / math.huge,
}

-- Whether a NaN is shown with its sign: LuaJIT and the C library of Windows leave it out.
local has_sign = ('%f'):format(GLOBALS.NAN):find '^-'
local function nan(text)
  return has_sign and text or text:gsub('-nan', 'nan')
end

local function storage(T, elements)
  local chunk = assert(loadstring('return {' .. elements .. '}'))
  return torch[T .. 'Storage'](setfenv(chunk, GLOBALS)())
end

local function counting(size)
  local s = torch.IntStorage(size)
  for i = 1, size do
    s[i] = i
  end
  return s
end

-- One line for each whole number from `first` to `last`.
local function lines(first, last, width)
  local texts = {}
  for i = first, last do
    texts[#texts + 1] = ('%' .. width .. 'd\n'):format(i)
  end
  return table.concat(texts)
end

describe('tostring', function()
  for _, case in ipairs(CASES) do
    it(('gives the text of Torch7: %s {%s}'):format(case[1], case[2]), function()
      assert.equal(case[3], tostring(storage(case[1], case[2])))
    end)
  end

  for _, case in ipairs(NAN_CASES) do
    it(('gives the text of Torch7 on this interpreter: Double {%s}'):format(case[1]), function()
      assert.equal(nan(case[2]), tostring(storage('Double', case[1])))
    end)
  end

  it('gives the text of Torch7 on this interpreter for numbers halfway between two texts', function()
    assert.equal(
      TIES .. '[torch.DoubleStorage of size 3]\n',
      tostring(torch.DoubleStorage { 1.03125, 1.09375, 1.15625 })
    )
  end)

  it('shows numbers that are too small for the format as zeros', function()
    local size = '[torch.DoubleStorage of size 4]\n'
    assert.equal(' 0.0000\n 0.0000\n-0.0000\n 0.5000\n' .. size, tostring(storage('Double', '0, 1e-300, -5e-324, 0.5')))
    local text = '0.000000\n-0.000000\n-nan\n0.500000\n' .. size
    assert.equal(nan(text), tostring(storage('Double', '1e-300, -5e-324, NAN, 0.5')))
    assert.equal(
      ' 0.0000 - 0.0000i\n 0.5000 + 0.0000i\n[torch.ComplexDoubleStorage of size 2]\n',
      tostring(torch.ComplexDoubleStorage { { 1e-300, -5e-324 }, { 0.5, 0 } })
    )
  end)

  it('writes a line for every element', function()
    local s, texts = torch.DoubleStorage(1000), {}
    for i = 1, 1000 do
      s[i] = i / 8
      texts[i] = ('%9.4f\n'):format(i / 8)
    end
    assert.equal(table.concat(texts) .. '[torch.DoubleStorage of size 1000]\n', tostring(s))
  end)

  it('does not change the storage', function()
    local s = torch.DoubleStorage { 0.001, 0.002 }
    assert.equal('0.001 *\n 1.0000\n 2.0000\n[torch.DoubleStorage of size 2]\n', tostring(s))
    assert.same({ 0.001, 0.002 }, s:totable())
  end)

  it('shows only the elements of a view', function()
    local s = counting(5)
    assert.equal(' 2\n 3\n[torch.IntStorage of size 2]\n', tostring(torch.IntStorage(s, 2, 2)))
    assert.equal('[torch.IntStorage of size 0]\n', tostring(torch.IntStorage(s, 6)))
  end)

  it('is a field of the class', function()
    local s = torch.IntStorage { 1 }
    local text = ' 1\n[torch.IntStorage of size 1]\n'
    assert.equal(text, getmetatable(s).__tostring__(s))
    assert.equal(text, torch.IntStorage.__tostring__(s))
    assert.equal(text, s:__tostring__())
    assert.equal(text, getmetatable(s).__tostring(s))
  end)

  it('raises an error at the position of the call for a freed storage', function()
    local s = torch.IntStorage { 1 }
    s:free()
    for _, show in ipairs { tostring, print, torch.IntStorage.__tostring__ } do
      local message = support.failure(function()
        local text = show(s)
        return text
      end)
      assert.matches("format_spec.lua:%d+: bad argument #1 to 'tostring' %(storage was freed%)", message)
    end
  end)

  it('refuses values that are not storages', function()
    local values = { table = {}, number = 5, string = 'x', userdata = io.stdout, boolean = true }
    for name, value in pairs(values) do
      local message = support.failure(function()
        local text = torch.IntStorage.__tostring__(value)
        return text
      end)
      assert.matches('format_spec.lua:%d+: ', message)
      assert.matches('Storage expected, got ' .. name, message)
    end
    local impostor = newproxy(true)
    getmetatable(impostor).__typename = 'torch.IntStorage'
    assert.matches('Storage expected, got userdata', support.failure(torch.IntStorage.__tostring__, impostor))
  end)
end)

describe('other ways to print', function()
  it('print adds an empty line after the text', function()
    local output = support.child [[
      require 'torch'
      print(torch.IntStorage{1,2})
      print(torch.DoubleStorage{1.5,2e6})
      io.write('end')
    ]]
    local ints = ' 1\n 2\n[torch.IntStorage of size 2]\n\n'
    local doubles = ' 1.5000e+00\n 2.0000e+06\n[torch.DoubleStorage of size 2]\n\n'
    assert.equal(ints .. doubles .. 'end', output)
  end)

  it('io.write refuses a storage, and string.format takes one where the interpreter does', function()
    local s = torch.IntStorage { 1 }
    local expected = 'string expected, got ' .. (support.has_integers and 'torch.IntStorage' or 'userdata')
    assert.matches(expected, support.failure(io.write, s), 1, true)
    if _VERSION == 'Lua 5.1' and not support.luajit then
      assert.matches(expected, support.failure(string.format, '%s', s))
    else
      assert.equal(' 1\n[torch.IntStorage of size 1]\n', ('%s'):format(s))
    end
  end)
end)

describe('a long storage', function()
  after_each(function()
    torch.setprintoptions { threshold = 1000, edgeitems = 10 }
  end)

  it('is shown whole up to 1000 elements', function()
    assert.equal(lines(1, 1000, 5) .. '[torch.IntStorage of size 1000]\n', tostring(counting(1000)))
  end)

  it('is shown by its first and last ten elements above that', function()
    local expected = lines(1, 10, 5) .. ' ...\n' .. lines(992, 1001, 5) .. '[torch.IntStorage of size 1001]\n'
    assert.equal(expected, tostring(counting(1001)))
  end)

  it('takes its format from the elements that are shown', function()
    local s = counting(1001)
    s[500] = -123456
    s[10], s[992] = -1, -2
    assert.matches('^    1\n.*\n   %-1\n %.%.%.\n   %-2\n  993\n.* 1001\n%[', tostring(s))
    local d = torch.DoubleStorage(2000):fill(0.001)
    d[1000] = 12345.5
    assert.matches('^0%.001 %*\n 1%.0000\n.* 1%.0000\n %.%.%.\n 1%.0000\n', tostring(d))
  end)

  it('is printed without reading all of it', function()
    local name = path 'sparse'
    support.sh('truncate -s 256M ' .. name)
    local s = torch.IntStorage(name)
    local before = support.resident()
    assert.matches('^ 0\n.*\n %.%.%.\n 0\n.*of size 67108864%]\n$', tostring(s))
    assert.is_true(support.resident() - before < 64 * 2 ^ 20)
  end)

  it('is shortened as setprintoptions says', function()
    torch.setprintoptions { threshold = 5, edgeitems = 2 }
    assert.equal(' 1\n 2\n ...\n 5\n 6\n[torch.IntStorage of size 6]\n', tostring(counting(6)))
    assert.equal(lines(1, 5, 2) .. '[torch.IntStorage of size 5]\n', tostring(counting(5)))
    torch.setprintoptions { edgeitems = 3 }
    assert.equal(lines(1, 6, 2) .. '[torch.IntStorage of size 6]\n', tostring(counting(6)))
    assert.equal(' 1\n 2\n 3\n ...\n 5\n 6\n 7\n[torch.IntStorage of size 7]\n', tostring(counting(7)))
    torch.setprintoptions { threshold = 7 }
    assert.equal(lines(1, 7, 2) .. '[torch.IntStorage of size 7]\n', tostring(counting(7)))
    torch.setprintoptions { threshold = 0, edgeitems = 0 }
    assert.equal(' ...\n[torch.IntStorage of size 1]\n', tostring(counting(1)))
    assert.equal('[torch.IntStorage of size 0]\n', tostring(counting(0)))
    torch.setprintoptions { threshold = math.huge }
    assert.equal(lines(1, 3000, 5) .. '[torch.IntStorage of size 3000]\n', tostring(counting(3000)))
    torch.setprintoptions { threshold = 0, edgeitems = 1400 }
    local expected = lines(1, 1400, 5) .. ' ...\n' .. lines(1601, 3000, 5) .. '[torch.IntStorage of size 3000]\n'
    assert.equal(expected, tostring(counting(3000)))
  end)
end)

describe('torch.setprintoptions', function()
  after_each(function()
    torch.setprintoptions { threshold = 1000, edgeitems = 10 }
  end)

  local function refuses(fragment, ...)
    local arguments, count = { ... }, select('#', ...)
    local message = support.failure(function()
      torch.setprintoptions(unpack(arguments, 1, count))
    end)
    assert.matches("format_spec.lua:%d+: bad argument #1 to 'setprintoptions'", message)
    assert.is_truthy(message:find(fragment, 1, true), message)
  end

  it('reports the wrong option by name', function()
    refuses 'table expected, got no value'
    refuses('table expected, got nil', nil)
    refuses('table expected, got number', 5)
    refuses('table expected, got string', 'threshold')
    refuses('table expected, got torch.IntStorage', torch.IntStorage(1))
    refuses('precision', { precision = 4 })
    refuses('threshold and edgeitems', { precision = 4 })
    refuses('threshold and edgeitems', { 1000 })
    for _, key in ipairs { 'threshold', 'edgeitems' } do
      refuses(key .. ': ', { [key] = -1 })
      refuses('got -1', { [key] = -1 })
      refuses('got 1.5', { [key] = 1.5 })
      refuses('nan', { [key] = 0 / 0 })
      refuses('got -inf', { [key] = -math.huge })
      refuses('number expected, got string', { [key] = '5' })
      refuses('number expected, got boolean', { [key] = false })
      refuses('number expected, got table', { [key] = {} })
    end
    refuses('got inf', { edgeitems = math.huge })
  end)

  it('changes nothing when one of the options is wrong', function()
    refuses('precision', { threshold = 2, edgeitems = 1, precision = 4 })
    refuses('edgeitems', { threshold = 2, edgeitems = -1 })
    refuses('threshold', { threshold = -1, edgeitems = 1 })
    assert.equal(lines(1, 6, 2) .. '[torch.IntStorage of size 6]\n', tostring(counting(6)))
    torch.setprintoptions { threshold = 20 }
    assert.matches('10\n %.%.%.\n 12\n', tostring(counting(21)))
  end)

  it('returns nothing and does not keep its table alive', function()
    local options = { threshold = 5, edgeitems = 1 }
    assert.equal(0, select('#', torch.setprintoptions(options)))
    options.edgeitems = 2
    torch.setprintoptions {}
    assert.equal(' 1\n ...\n 6\n[torch.IntStorage of size 6]\n', tostring(counting(6)))
  end)
end)
