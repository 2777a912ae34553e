-- All bits of 64-bit integers: decimal integers as elements, s:exact(i) and s:decimal(i). tests/data/number_rule.py computed the
-- expected bytes with exact integers.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local INTEGER = { signed = true, unsigned = true, untyped = true }

-- Each row has `text`, the integer modulo 2^64 as `signed` and `unsigned`, and for each class the bytes of the element.
local rows, columns = {}, {}
for line in io.lines 'tests/data/decimals.tsv' do
  local row, n = {}, 0
  for field in line:gmatch '[^\t]+' do
    n = n + 1
    if #rows == 0 and not columns.done then
      columns[n] = field
    else
      row[columns[n]] = field
    end
  end
  if columns.done then
    rows[#rows + 1] = row
  end
  columns.done = true
end

local function hex(storage)
  return (storage:string():gsub('.', function(c)
    return ('%02x'):format(c:byte())
  end))
end

-- An integer of Lua 5.3 as the digits of an unsigned number. The source is no Lua 5.1.
local function unsigned(number)
  local tens, ones = assert(loadstring 'local n = ... local tens = (n >> 1) // 5 return tens, n - tens * 10')(number)
  return ('%d%d'):format(tens, ones):gsub('^0+(%d)', '%1')
end

-- The ways in which a value becomes the only element of a storage.
local WAYS = {
  set = function(class, value)
    local s = class(1)
    s[1] = value
    return s
  end,
  ['set by hand'] = function(class, value)
    local s = class(1)
    getmetatable(s).__newindex__(s, 1, value)
    return s
  end,
  ['method set'] = function(class, value)
    return class(1):set(1, value)
  end,
  fill = function(class, value)
    return class(1):fill(value)
  end,
  ['fill a range'] = function(class, value)
    return class(3):fill(value, 2, 2):sub(2, 2)
  end,
  table = function(class, value)
    return class { value }
  end,
  ['table of strings and numbers'] = function(class, value)
    return class({ 1, '2', value, 3 }):sub(3, 3)
  end,
}

-- The same integer in other words.
local function forms(text)
  local sign, digits = text:match '^(%-?)(%d+)$'
  local list = { text, ' \t\n\v\f\r' .. text .. '  ', sign .. '000' .. digits, sign .. ('0'):rep(400) .. digits }
  if sign == '' then
    list[#list + 1] = '+' .. text
    list[#list + 1] = '\n+0' .. text .. '\n'
  end
  return list
end

describe('a decimal integer', function()
  after_each(accessors.restore)

  it('has rows for every class', function()
    assert.equal(920, #rows)
    for _, T in ipairs(types.ALL) do
      assert.is_string(rows[1][T], T)
    end
  end)

  for _, T in ipairs(types.ALL) do
    it('is exact modulo 2^width, or rounded once #slow: ' .. T, function()
      local class = torch[T .. 'Storage']
      for _, mode in ipairs(accessors.MODES) do
        torch.accessors(mode)
        for _, row in ipairs(rows) do
          for _, text in ipairs(forms(row.text)) do
            for name, way in pairs(WAYS) do
              local got = hex(way(class, text))
              if got ~= row[T] then
                assert.equal(row[T], got, ('%s, %s: %q'):format(name, mode, text))
              end
            end
          end
        end
      end
    end)
  end

  it('is read in the place of every element of a table', function()
    local texts, expected = {}, {}
    for i, row in ipairs(rows) do
      texts[i], expected[i] = row.text, row.Long
    end
    assert.equal(table.concat(expected), hex(torch.LongStorage(texts)))
    for i, text in ipairs(texts) do
      assert.equal('string', type(text), i)
    end
  end)

  it('can be both parts of a complex number', function()
    for _, row in ipairs(rows) do
      for T, part in pairs { ComplexFloat = 'Float', ComplexDouble = 'Double' } do
        local s = torch[T .. 'Storage'](1):set(1, row.text, row.text)
        assert.equal(row[part] .. row[part], hex(s), row.text)
      end
    end
  end)

  it('can be written to a .t7 file', function()
    local text = '-9007199254740993'
    local class = torch.class('WritesDecimalIntegers', {})
    function class.write(_, file)
      file:writeLong(text)
      file:writeFloat '36028799166447617'
    end
    local bytes = torch.serialize(torch.factory 'WritesDecimalIntegers'())
    assert.is_truthy(bytes:find(torch.LongStorage({ text }):string(), 1, true))
    assert.is_truthy(bytes:find(torch.FloatStorage({ 2 ^ 55 + 2 ^ 32 }):string(), 1, true))
  end)
end)

describe('another string', function()
  it('means what tonumber returns, or is an error', function()
    local texts = { '', ' ', '+', '-', '- 5', '+-5', '5 5', '1_0', '5\0', '\0005', '5\194\160', '\239\188\149' }
    for text in ('0x10 -0x10 1e3 5.0 5. .5 1.9 -1.9 1e400 9007199254740993.0 5LL 5i 0b1 inf nan x'):gmatch '%S+' do
      texts[#texts + 1] = text
    end
    for _, T in ipairs(types.NUMBERS) do
      local class = torch[T .. 'Storage']
      for i, text in ipairs(texts) do
        local number = tonumber(text)
        for name, way in pairs(WAYS) do
          local ok, result = pcall(way, class, text)
          local context = ('%s %s, text %d: %q'):format(T, name, i, text)
          assert.equal(number ~= nil, ok, context)
          if number then
            assert.equal(hex(way(class, number)), hex(result), context)
          end
        end
      end
    end
  end)

  it('is still an error that names its index and itself in a table', function()
    local message = support.failure(function()
      return torch.LongStorage { 1, '9223372036854775807', '1_0' }
    end)
    assert.is_truthy(message:find("element 3 of the table: number expected, got string '1_0'", 1, true), message)
  end)
end)

-- The uint64_t with these digits, on LuaJIT.
local function integer(digits)
  return assert(loadstring('return ' .. digits .. 'ULL'))()
end

for _, row in ipairs(rows) do
  row.cdata = support.luajit and integer(row.unsigned)
end

describe('s:exact(i)', function()
  after_each(accessors.restore)

  for _, T in ipairs(types.ALL) do
    local entry = types.ENTRY[T]
    local kind, wide = entry.kind, entry.width == 8 and INTEGER[entry.kind]
    local class = torch[T .. 'Storage']
    if wide then
      it('is every bit of an integer of 64 bits: ' .. T, function()
        for _, mode in ipairs(accessors.MODES) do
          torch.accessors(mode)
          local s = class(#rows)
          for i, row in ipairs(rows) do
            s[i] = row.text
          end
          for _ = 1, 3 do
            for i, row in ipairs(rows) do
              local got = s:exact(i)
              if support.luajit then
                local ffi = require 'ffi'
                local of = kind == 'signed' and 'int64_t' or 'uint64_t'
                assert.is_true(ffi.istype(of, got), row.text)
                assert.is_true(ffi.cast('uint64_t', got) == row.cdata, row.text)
              elseif support.has_integers then
                assert.equal('integer', math.type(got))
                assert.equal(row[kind], kind == 'signed' and ('%d'):format(got) or (unsigned(got)))
              else
                assert.equal(row[kind], got)
              end
            end
          end
          -- What comes out goes in again.
          local other = class(#s)
          for i = 1, #s do
            other[i] = s:exact(i)
          end
          assert.is_true(other:equal(s))
        end
      end)
    elseif kind == 'complex' then
      it('is an error that says what to do: ' .. T, function()
        for _, mode in ipairs(accessors.MODES) do
          torch.accessors(mode)
          for _, name in ipairs { 'exact', 'decimal' } do
            local message = support.failure(function()
              return class(1)[name](class(1), 1)
            end)
            assert.is_truthy(message:find('s:get(i)', 1, true), message)
          end
        end
      end)
    else
      it('is the number that s[i] gives: ' .. T, function()
        for _, mode in ipairs(accessors.MODES) do
          torch.accessors(mode)
          local s = class { 0, 1, 2.5, 100, 0 / 0, 1 / 0 }
          for _ = 1, 100 do
            for i = 1, #s do
              local got, expected = s:exact(i), s[i]
              assert(type(got) == 'number' and (got == expected or got ~= got and expected ~= expected), i)
            end
          end
        end
      end)
    end

    it('checks its storage and its index: ' .. T, function()
      for _, mode in ipairs(accessors.MODES) do
        torch.accessors(mode)
        local s = class(3)
        for _, name in ipairs { 'exact', 'decimal' } do
          local f = s[name]
          for _, wrong in ipairs {
            { s, 0 },
            { s, 4 },
            { s, -1 },
            { s, 0 / 0 },
            { s, 'x' },
            { s, {} },
            { s },
            { {}, 1 },
            { 5, 1 },
          } do
            for _ = 1, 3 do
              assert.is_false((pcall(f, unpack(wrong))))
            end
          end
          assert.is_false((pcall(f)))
          assert.is_false((pcall(f, torch.ByteStorage(1):free(), 1)))
        end
        if kind ~= 'complex' then
          assert.equal('0', tostring(s:decimal(3.9)))
          assert.equal(tostring(s:exact(1)), tostring(s:exact '1'))
        end
        local dead = class(1)
        local exact, decimal = dead.exact, dead.decimal
        dead:free()
        assert.is_truthy(support.failure(exact, dead, 1):find('freed', 1, true))
        assert.is_truthy(support.failure(decimal, dead, 1):find('freed', 1, true))
      end
    end)
  end

  if support.luajit then
    it('allocates nothing in a compiled loop', function()
      if torch.accessors() ~= 'ffi' then
        return
      end
      local s = torch.LongStorage(1e4):fill '9007199254740993'
      local function sum()
        local total = s:exact(1)
        for i = 2, #s do
          total = total + s:exact(i)
        end
        return total
      end
      local expected = integer '16285016252571723536' -- 1e4 times that, modulo 2^64
      for _ = 1, 3 do
        assert.is_true(require('ffi').cast('uint64_t', sum()) == expected)
      end
      collectgarbage()
      collectgarbage 'stop'
      local before = collectgarbage 'count'
      sum()
      local kilobytes = collectgarbage 'count' - before
      collectgarbage 'restart'
      assert.is_true(kilobytes < 4, kilobytes)
    end)
  end
end)

describe('s:decimal(i)', function()
  it('has all digits of an integer', function()
    for _, T in ipairs(types.ALL) do
      local entry = types.ENTRY[T]
      if INTEGER[entry.kind] or entry.kind == 'bool' then
        local s = torch[T .. 'Storage'](1)
        for _, row in ipairs(rows) do
          s[1] = row.text
          local expected = entry.width == 8 and row[entry.kind] or ('%.0f'):format(s[1])
          assert.equal(expected, s:decimal(1))
        end
      end
    end
  end)

  it('writes a float as %.17g, the same on every host', function()
    for number, text in
      ([[
        0=0 -0=-0 1=1 -2.5=-2.5 0.1=0.10000000000000001 1e15=1000000000000000 1e16=10000000000000000 1e17=1e+17 1e-4=0.0001
        1e-5=1.0000000000000001e-05 2^53=9007199254740992 1/3=0.33333333333333331 1e300=1.0000000000000001e+300
        -1.7976931348623157e308=-1.7976931348623157e+308 5e-324=4.9406564584124654e-324 1e15+0.25=1000000000000000.2
        1e15+0.75=1000000000000000.8 1/0=inf -1/0=-inf 0/0=nan -(0/0)=nan
      ]]):gmatch '(%S+)=(%S+)'
    do
      -- LuaJIT of 2022 reads the literal -0.0 as 0 on ARM64.
      local value = number == '-0' and 0 / -1 or assert(loadstring('return ' .. number))()
      assert.equal(text, torch.DoubleStorage({ value }):decimal(1), number)
    end
    assert.equal('0.10000000149011612', torch.FloatStorage({ 0.1 }):decimal(1))
    assert.equal('0.0999755859375', torch.HalfStorage({ 0.1 }):decimal(1))
    assert.equal('nan', torch.HalfStorage({ -(0 / 0) }):decimal(1))
  end)

  it('can be written back, and gives the same element', function()
    for _, T in ipairs(types.NUMBERS) do
      local s = torch[T .. 'Storage'] { 0, 1, 2.75, -3, 100.1, 1e-3, 2 ^ 30 }
      for i = 1, #s do
        local text = s:decimal(i)
        local value = text == 'inf' and math.huge or text == 'nan' and 0 / 0 or text -- no numbers since Lua 5.2
        local other = torch[T .. 'Storage'](1):fill(value)
        assert.equal(s[i] == s[i] and s[i] or nil, other[1] == other[1] and other[1] or nil)
      end
    end
  end)
end)

if not support.luajit then
  return
end

describe('an int64 or uint64 cdata', function()
  it('becomes the same element as its digits, by every way in', function()
    local ffi = require 'ffi'
    for _, T in ipairs(types.ALL) do
      local class = torch[T .. 'Storage']
      for _, row in ipairs(rows) do
        -- Numbers within the 64 bits keep their value; the rows of other numbers are about other values.
        for _, value in ipairs {
          row.text == row.signed and ffi.cast('int64_t', row.cdata) or false,
          row.text == row.unsigned and row.cdata or false,
        } do
          if value then
            for name, way in pairs(WAYS) do
              local got = hex(way(class, value))
              if got ~= row[T] then
                assert.equal(row[T], got, ('%s %s: %s'):format(T, name, row.text))
              end
            end
            if types.ENTRY[T].kind == 'complex' then
              local part = row[T == 'ComplexFloat' and 'Float' or 'Double']
              assert.equal(part .. part, hex(class(1):set(1, value, value)), row.text)
            end
          end
        end
      end
    end
  end)
end)
