-- The rule of numbers: what a number becomes as an element of each class, on every way into a storage. tests/data/number_rule.py
-- computed the expected bits with exact integers and fractions.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local POSITIONS = 67 -- enough for whole vectors and a remainder, whatever the width of the elements

-- The bytes of an element in memory, lowest first, from its bits in hexadecimal.
local function bytes_of(bits)
  return (bits
    :gsub('%x%x', function(pair)
      return string.char(tonumber(pair, 16))
    end)
    :reverse())
end

local function hex(bytes)
  return (bytes:reverse():gsub('.', function(c)
    return ('%02x'):format(c:byte())
  end))
end

-- The rows by source. Each row has its text, its bytes, and the expected bytes for each class. A NaN whose bits are not fixed has
-- none.
local function read()
  local rows, classes = {}, {}
  for line in io.lines 'tests/data/numbers.tsv' do
    local columns = {}
    for column in (line .. '\t'):gmatch '(.-)\t' do
      columns[#columns + 1] = column
    end
    if #classes == 0 then
      classes = { unpack(columns, 4) }
    else
      local row = { text = columns[2], bytes = bytes_of(columns[3]), expected = {} }
      for i, class in ipairs(classes) do
        local bits = columns[3 + i]
        row.expected[class] = bits ~= '-' and bytes_of(bits) or nil
      end
      local source = columns[1]
      rows[source] = rows[source] or {}
      table.insert(rows[source], row)
    end
  end
  return rows, classes
end

local rows, classes = read()

local function number_of(row)
  return torch.DoubleStorage.fromstring(row.bytes)[1]
end

local function bytes(storage)
  return storage:untyped():string()
end

-- Lists the elements that are wrong, at most ten.
local function collector(class)
  local wrong = {}
  return function(row, storage, way)
    local expected, got = row.expected[class], bytes(storage)
    for i = 1, storage:size() do
      local element = got:sub((i - 1) * #expected + 1, i * #expected)
      if element ~= expected and #wrong < 10 then
        wrong[#wrong + 1] = ('%s, %s, element %d: %s, got %s'):format(row.text, way, i, hex(expected), hex(element))
      end
    end
  end,
    wrong
end

-- A literal or an expression that gives the number.
local function source_of(number)
  if number ~= number then
    return '0 / 0'
  elseif number == math.huge or number == -math.huge then
    return number > 0 and '1 / 0' or '-1 / 0'
  end
  -- LuaJIT of 2022 reads the literal -0.0 as 0 on ARM64.
  return number == 0 and 1 / number < 0 and '0 / -1' or ('%.17g'):format(number)
end

describe('the rule of numbers', function()
  it('has rows for every class', function()
    assert.same(#types.ALL, #classes)
    local checks = 0
    for _, class in ipairs(classes) do
      assert.is_not_nil(torch[class .. 'Storage'])
      checks = checks + #rows.number
    end
    assert.is_true(checks > 10000)
  end)

  for _, class in ipairs(classes) do
    local new = torch[class .. 'Storage']

    it('holds for single numbers: ' .. class, function()
      local check, wrong = collector(class)
      for _, row in ipairs(rows.number) do
        if row.expected[class] then
          local number = number_of(row)
          local single = new(1)
          single[1] = number
          check(row, single, 'set')
          check(row, new(1):set(1, number), 'the method set')
          check(row, new(POSITIONS):fill(number), 'fill')
          check(row, new { number, number, number }, 'table')
          local many = {}
          for i = 1, 400 do
            many[i] = number
          end
          check(row, new(many), 'a long table')
        end
      end
      assert.same({}, wrong)
    end)

    it('holds for constants in a compiled loop: ' .. class, function()
      local check, wrong = collector(class)
      for _, row in ipairs(rows.number) do
        if row.expected[class] then
          local s = new(POSITIONS)
          local source = 'local s = ... for i = 1, #s do s[i] = %s end'
          assert(loadstring(source:format(source_of(number_of(row)))))(s)
          check(row, s, 'constant')
        end
      end
      assert.same({}, wrong)
    end)

    it('holds for numbers that are computed in a compiled loop: ' .. class, function()
      -- Sums of a number and the index, of two halves, and a number that comes from another storage.
      local function sums(s, base, n)
        for _ = 1, 3 do
          for i = 1, n do
            s[i] = base + i
          end
        end
      end
      local function halves(s, half, n)
        for i = 1, n do
          s[i] = half + half
        end
      end
      local function elements(s, from, n)
        for i = 1, n do
          s[i] = from[i]
        end
      end
      local check, wrong = collector(class)
      local from = torch.DoubleStorage(POSITIONS)
      for _, row in ipairs(rows.number) do
        if row.expected[class] then
          local number = number_of(row)
          local s = new(POSITIONS)
          for _, i in ipairs { 1, 2, 40, POSITIONS } do
            -- A sum with the result -0 does not exist: it is 0.
            if (number - i) + i == number and number ~= 0 then
              sums(s, number - i, POSITIONS)
              check(row, new(s, i, 1), 'the sum with ' .. i)
            end
          end
          if number / 2 + number / 2 == number or number ~= number then
            halves(s, number / 2, POSITIONS)
            check(row, s, 'the sum of halves')
          end
          elements(s, from:fill(number), POSITIONS)
          check(row, s, 'an element')
        end
      end
      assert.same({}, wrong)
    end)

    it('holds for copies and casts, at every position: ' .. class, function()
      local wrong, count = {}, 0
      local cast = types.ENTRY[class].cast
      for source, list in pairs(rows) do
        local from = ({ number = 'Double', int64 = 'Long', uint64 = 'UInt64' })[source] or source
        local kept = {}
        for _, row in ipairs(list) do
          -- A copy from or to untyped bytes copies bytes.
          if row.expected[class] and class ~= 'Untyped' then
            kept[#kept + 1] = row
          end
        end
        for shift = 0, #kept - 1 do
          local before, after = {}, {}
          for i = 1, POSITIONS do
            local row = kept[(i + shift) % #kept + 1]
            before[i], after[i] = row.bytes, row.expected[class]
          end
          local elements = torch[from .. 'Storage'].fromstring(table.concat(before))
          local expected = table.concat(after)
          for way, result in pairs {
            copy = new(POSITIONS):copy(elements),
            cast = elements[cast](elements),
          } do
            count = count + 1
            local got = bytes(result)
            if got ~= expected and #wrong < 10 then
              for i = 1, POSITIONS do
                local one = got:sub((i - 1) * #after[i] + 1, i * #after[i])
                if one ~= after[i] then
                  local text = kept[(i + shift) % #kept + 1].text
                  wrong[#wrong + 1] = ('%s of %s %s at %d: %s, got %s'):format(
                    way,
                    from,
                    text,
                    i,
                    hex(after[i]),
                    hex(one)
                  )
                end
              end
            end
          end
        end
      end
      assert.same({}, wrong)
      assert.is_true(count > 2000 or class == 'Untyped')
    end)
  end

  if support.luajit then
    it('holds for 64-bit integers of the FFI', function()
      local ffi = require 'ffi'
      for _, class in ipairs(classes) do
        local check, wrong = collector(class)
        for _, ctype in ipairs { 'int64', 'uint64' } do
          for _, row in ipairs(rows[ctype]) do
            local cell = ffi.new(ctype .. '_t[1]')
            ffi.copy(cell, row.bytes, 8)
            local single = torch[class .. 'Storage'](1)
            single[1] = cell[0]
            check(row, single, 'set')
            check(row, torch[class .. 'Storage'](3):fill(cell[0]), 'fill')
            check(row, torch[class .. 'Storage'] { cell[0] }, 'table')
          end
        end
        assert.same({}, wrong)
      end
    end)
  end
end)
