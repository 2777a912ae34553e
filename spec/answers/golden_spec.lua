-- The calls of the original that were recorded in tests/data/answers/calls.tsv: its first lines say how. Where its last column
-- has something, our result is to be that. A row of a method that the library does not have fails.

local torch = require 'torch'

local function number(text)
  if text:find '^0x7ff8' then
    return 0 / 0
  elseif text:find '^%-?inf$' then
    return text == 'inf' and math.huge or -math.huge
  end
  return assert(tonumber(text), text)
end

local function numbers(text, separator)
  local list = {}
  for word in text:gmatch('[^' .. separator .. ']+') do
    list[#list + 1] = number(word)
  end
  return list
end

-- An argument: a number, a boolean, a string in quotation marks, or CLASS:SIZES:STRIDES:OFFSET:ELEMENTS.
local function argument(text)
  local class, sizes, strides, offset, elements = text:match '^(%a+):([%dx]*):([%d,-]*):(%d*):(.*)$'
  if class then
    local storage = torch[class .. 'Storage'](numbers(elements, ' '))
    if sizes == '' then
      return torch[class .. 'Tensor'](), storage
    end
    local tensor = torch[class .. 'Tensor'](
      storage,
      tonumber(offset),
      torch.LongStorage(numbers(sizes, 'x')),
      torch.LongStorage(numbers(strides, ','))
    )
    return tensor, storage
  end
  if text == 'true' or text == 'false' then
    return text == 'true'
  elseif text == 'nil' then
    return nil
  end
  return text:match "^'(.*)'$" or number(text)
end

local function split(text)
  local list = {}
  for part in (text .. '; '):gmatch '(.-); ' do
    list[#list + 1] = part
  end
  return list
end

local TOLERANCE = { Float = 2e-6, Double = 1e-13 }

local function near(expected, got, tolerance)
  return expected == got
    or expected ~= expected and got ~= got
    or math.abs(expected - got) <= tolerance * math.max(math.abs(expected), math.abs(got))
end

local function elements_of(tensor)
  return tensor:clone():storage():totable()
end

-- The numbers of two lists are the same, or near.
local function check_numbers(expected, got, how, tolerance, row)
  assert.equal(#expected, #got, row)
  for i = 1, #expected do
    local tolerated = how == 'near' and tolerance or 0
    assert.is_true(near(expected[i], got[i], tolerated), ('%s: %.17g, got %.17g'):format(row, expected[i], got[i]))
  end
end

local function check_result(text, got, how, class, row)
  local storage = text:match '^storage (.*)$'
  if storage then
    return check_numbers(numbers(storage, ' '), got:storage():totable(), how, 0, row)
  end
  local result_class, sizes, elements = text:match '^(%a+):([%dx]*):(.*)$'
  if not result_class then
    local expected = argument(text)
    if type(expected) ~= 'number' then
      return assert.equal(expected, got, row)
    end
    local tolerance = class == 'Float' and 1e-6 or 1e-13
    return check_numbers({ expected }, { got }, how, tolerance, row)
  end
  assert.equal('torch.' .. result_class .. 'Tensor', torch.typename(got), row)
  assert.same(numbers(sizes, 'x'), got:size():totable(), row)
  check_numbers(numbers(elements, ' '), elements_of(got), how, TOLERANCE[result_class] or 0, row)
end

-- Each index of a result of `sort` or `topk` points at its value, and equal values are in the order of their indices.
local function check_order(x, values, indices, dim, row)
  dim = dim or x:dim()
  local source, at, from = x:transpose(dim, x:dim()), values:transpose(dim, x:dim()), indices:transpose(dim, x:dim())
  local n, k = source:size(source:dim()), at:size(at:dim())
  local function lines(tensor, length)
    return tensor:contiguous():view(-1, length)
  end
  source, at, from = lines(source, n), lines(at, k), lines(from, k)
  for line = 1, at:size(1) do
    for i = 1, k do
      local value, index = at[line][i], from[line][i]
      assert.is_true(near(value, source[line][index], 0), row)
      if i > 1 and at[line][i - 1] == value then
        assert.is_true(from[line][i - 1] < index, row)
      end
    end
  end
end

-- The values of each line of a result, sorted.
local function sorted(tensor, dim)
  local list = {}
  local turned = tensor:transpose(dim or tensor:dim(), tensor:dim())
  turned = turned:contiguous():view(-1, turned:size(turned:dim()))
  for line = 1, turned:size(1) do
    local values = turned[line]:totable()
    table.sort(values)
    list[line] = values
  end
  return list
end

local FLOATS = { Float = true, Double = true }

local rows = {}
for line in io.lines 'tests/data/answers/calls.tsv' do
  if not line:find '^#' then
    local how, method, arguments, results, ours = line:match '^(%w+)\t(%w+)\t([^\t]*)\t([^\t]*)\t?(.*)$'
    assert(how, line)
    if ours ~= '' then
      local class
      how, results = ours:match '^(%w+) ?(.*)$'
      class = results:match '^(%a+):'
      -- Sums of integers are a LongTensor, also where the row only shows that a negative dimension counts from the end.
      if method == 'sum' and class and torch[class .. 'Storage'] and not FLOATS[class] then
        results = results:gsub('^%a+', 'Long')
      end
    end
    rows[#rows + 1] = { how = how, method = method, arguments = arguments, results = results, line = line }
  end
end

describe('the answers that the original gives', function()
  it('are all there', function()
    assert.equal(522, #rows)
  end)

  local by_method = {}
  for _, row in ipairs(rows) do
    local list = by_method[row.method] or {}
    by_method[row.method] = list
    list[#list + 1] = row
  end

  for method, list in pairs(by_method) do
    it('by ' .. method, function()
      for _, row in ipairs(list) do
        local arguments, count = {}, 0
        for i, text in ipairs(split(row.arguments)) do
          arguments[i], count = argument(text), i
        end
        local x = arguments[1]
        local class = torch.typename(x):match '^torch%.(%a+)Tensor$'
        local got = { pcall(x[method], unpack(arguments, 1, count)) }
        if row.how == 'error' then
          assert.is_false(got[1], row.line)
          assert.equal('string', type(got[2]), row.line)
        else
          assert.is_true(got[1], row.line .. ': ' .. tostring(got[2]))
          local texts = split(row.results)
          if row.how == 'order' or row.how == 'set' then
            local dim = type(arguments[2]) == 'number' and arguments[2] or nil
            if method == 'topk' then
              dim = type(arguments[3]) == 'number' and arguments[3] or nil
            end
            if row.how == 'order' then
              check_result(texts[1], got[2], 'same', class, row.line)
            else
              local _, sizes, elements = texts[1]:match '^(%a+):([%dx]*):(.*)$'
              local expected = torch.DoubleTensor(
                torch.DoubleStorage(numbers(elements, ' ')),
                1,
                torch.LongStorage(numbers(sizes, 'x'))
              )
              assert.same(sorted(expected, dim), sorted(got[2]:double(), dim), row.line)
            end
            check_order(x, got[2], got[3], dim, row.line)
          else
            for i, text in ipairs(texts) do
              check_result(text, text:find '^storage ' and got[2] or got[i + 1], row.how, class, row.line)
            end
          end
        end
      end
    end)
  end
end)
