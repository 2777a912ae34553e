-- The behaviour of Torch7's tensors, which was recorded from the original: tests/data/torch7_tensors.txt has a line
-- `expression   --> results` for each case. A tensor is shown as `<class sizes (strides) @offset: elements>`, with `|` between
-- rows and `||` between matrices, and a storage as `<class: elements>`.
--
-- Our texts of errors differ from the original's, so for an error it is only compared that there is one. The cases where this
-- library differs on purpose are listed below, with our results.
local torch = require 'torch.storage'
local support = require 'spec.support'

-- The results that differ on purpose, by expression, in groups with the same reason.
local DIFFERENT = {}
local function differs(_, cases)
  for _, case in ipairs(cases) do
    DIFFERENT[case[1]] = case[2]
  end
end

differs('0 is a size like any other, and an empty tensor has one dimension of size 0', {
  {
    'D():dim(), D():nElement(), D():size(), D():isContiguous(), D():storage(), D():storageOffset()',
    '1, 0, <LongStorage: 0>, true, nil, 1',
  },
  {
    'D(0):dim(), D(-1):dim(), D(2,0,3):size(), D(2,-1):size(), D(L{2,0}):size(), D(L{}):dim(), D({}):dim()',
    'ERROR sizes are 0 or more',
  },
  { 'seq(2,3):narrow(2,1,0)', '<DoubleTensor 2x0 (3,1) @1: |>' },
  { 'D{{},{}}', '<DoubleTensor 2x0 (1,1) @1: |>' },
})
differs('an offset alone runs to the end of the storage', {
  { 'D(S{1,2,3},2)', '<DoubleTensor 2 (1) @2: 2 3>' },
})
differs('strides may be negative, and sizes may be a table', {
  { 'D(S{1,2,3,4,5,6},1,L{2,3},L{-1,-1})', 'ERROR uses elements %-2 to 1 of its storage' },
  { 'D(S{1,2,3,4,5,6},1,{2,3})', '<DoubleTensor 2x3 (3,1) @1: 1 2 3 | 4 5 6>' },
  { 'seq(2,3):isSize{2,3}', 'true' },
  { 'seq(2,3):view{6}', '<DoubleTensor 6 (1) @1: 1 2 3 4 5 6>' },
})
differs('no storage grows to fit a tensor', {
  { 'local s=S{1,2,3} local x=D(s,2,L{5}) return #s', 'ERROR uses elements 2 to 6 of its storage, which has 3' },
  { 'local x=seq(2,3) local ok=pcall(x.view,x,100) return ok, #x:storage()', 'false, 6' },
})
differs('dimensions may be negative, counted from the last', {
  { 'seq(2,3):stride(-1)', '1' },
})
differs('the class of the other tensor does not matter for sizes, and tensors of different classes are not equal', {
  { 'seq(2,3):isSameSizeAs(F(2,3))', 'true' },
  { 'seq(2,3):equal(F{{1,2,3},{4,5,6}})', 'false' },
})
differs('a view is possible wherever the strides allow it, and reshape copies only where it has to', {
  { 'seq(2,3):t():view(6)', 'ERROR would need a copy' },
  {
    'local x=seq(2,3) local y=x:reshape(3,2) return y, y:storage()==x:storage()',
    '<DoubleTensor 3x2 (2,1) @1: 1 2 | 3 4 | 5 6>, true',
  },
})
differs('a wrong entry of an index list is an error', {
  { "seq(2,3)[{'a'}]", 'ERROR entry 1 of the indices' },
  { 'seq(2,3)[{{1,2,3}}]', 'ERROR entry 1 of the indices' },
})
differs('a key that is not an index gives nil, where the original gave no value', {
  { "seq(2,3)['a'], seq(2,3)[nil]", 'nil, nil' },
})
differs('copies between overlapping tensors are as through a third place', {
  { 'local x=seq(3,3) x:copy(x:t()) return x', '<DoubleTensor 3x3 (3,1) @1: 1 4 7 | 2 5 8 | 3 6 9>' },
  { 'local x=seq(6) x:narrow(1,2,5):copy(x:narrow(1,1,5)) return x', '<DoubleTensor 6 (1) @1: 1 1 2 3 4 5>' },
})

local show

local function elements(x)
  local texts = {}
  local function walk(part, dimension)
    local size = x:size(dimension)
    for i = 1, size do
      if dimension == x:dim() then
        texts[#texts + 1] = show(part[i])
      else
        walk(part[i], dimension + 1)
        local left = x:dim() - dimension
        texts[#texts + 1] = i < size and ('|'):rep(left) or nil
      end
    end
  end
  walk(x, 1)
  return table.concat(texts, ' ')
end

function show(value)
  local name = torch.typename(value)
  if torch.isTensor(value) then
    local sizes, strides = value:size():totable(), value:stride():totable()
    return ('<%s %s (%s) @%d: %s>'):format(
      name:match '%.(.*)',
      table.concat(sizes, 'x'),
      table.concat(strides, ','),
      value:storageOffset(),
      elements(value)
    )
  elseif torch.isStorage(value) then
    return ('<%s: %s>'):format(name:match '%.(.*)', support.joined(value:totable(), ' '))
  elseif type(value) == 'table' then
    local texts = {}
    for i = 1, #value do
      texts[i] = show(value[i])
    end
    return '{' .. table.concat(texts, ', ') .. '}'
  elseif type(value) == 'string' then
    return ('%q'):format(value)
  elseif type(value) == 'number' then
    return ('%.17g'):format(value)
  end
  return tostring(value)
end

local environment = setmetatable({
  torch = torch,
  D = torch.DoubleTensor,
  F = torch.FloatTensor,
  L = torch.LongStorage,
  S = torch.DoubleStorage,
  seq = function(...)
    local x = torch.DoubleTensor(...)
    for i = 1, x:nElement() do
      x:storage()[i] = i
    end
    return x
  end,
}, { __index = _G })

-- The results of an expression as text, or 'ERROR' and the message.
local function evaluate(expression)
  local is_chunk = expression:find '^local ' or expression:find '^torch%.setdefault'
  local chunk = assert(loadstring(is_chunk and expression or 'return ' .. expression, '=t'))
  setfenv(chunk, environment)
  local function pack(ok, ...)
    return ok, select('#', ...), { ... }
  end
  local ok, count, results = pack(pcall(chunk))
  if not ok then
    assert.is_string(results[1])
    return 'ERROR ' .. results[1]
  end
  local texts = {}
  for i = 1, count do
    texts[i] = show(results[i])
  end
  return table.concat(texts, ', ')
end

describe('the recorded behaviour of Torch7', function()
  local section, number, used = nil, 0, {}
  for line in support.slurp('tests/data/torch7_tensors.txt'):gmatch '[^\n]+' do
    number = number + 1
    local expression, recorded = line:match '^(.-)   %-%-> (.*)$'
    if not expression then
      section = line:match '^# (.*)$'
    else
      used[expression] = true
      it(('%s, line %d: %s'):format(section, number, expression), function()
        local got, wanted = evaluate(expression), DIFFERENT[expression] or recorded
        local message = wanted:match '^ERROR (.*)$'
        if not message then
          assert.equal(wanted, got)
        else
          assert.matches('^ERROR ', got)
          if DIFFERENT[expression] then
            assert.matches(message, got)
          end
        end
      end)
    end
  end

  it('has every case that is said to differ', function()
    for expression in pairs(DIFFERENT) do
      assert.is_true(used[expression], expression)
    end
  end)
end)
