-- Views of different classes on the same bytes in compiled code: writes through one show in the others at once.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

local path = support.temporary()

after_each(accessors.restore)

-- LuaJIT assumes that memory of different types does not overlap, so a loop may keep values that it has read.
describe('views of different classes', function()
  for _, mode in ipairs(accessors.MODES) do
    for _, store in ipairs { 'uint8', 'int16', 'int32', 'int64', 'half', 'bfloat16', 'float', 'double' } do
      for _, load in ipairs { 'uint8', 'int16', 'int32', 'int64', 'half', 'bfloat16', 'float', 'double' } do
        it(('show writes through the others: %s as %s by %s'):format(store, load, mode), function()
          torch.accessors(mode)
          local m = torch.UntypedStorage(8)
          local one, other, wrong = m:view(store), m:view(load):fill(0), 0
          local expected = {}
          for i = 1, 100 do
            m:zero()
            one[1] = i
            expected[i] = other:clone()[1]
          end
          m:zero()
          for _ = 1, 3 do
            for i = 1, 100 do
              one[1] = i
              if other[1] ~= expected[i] then
                wrong = wrong + 1
              end
            end
          end
          for _ = 1, 3 do
            for i = 1, 100 do
              one[1] = i
              if tonumber(other:exact(1)) ~= expected[i] then
                wrong = wrong + 1
              end
            end
          end
          assert.equal(0, wrong)
        end)
      end
    end
  end
end)

-- Upper words of some floats are lower words of others, so any bits occur. A compiled read checks them before it continues.
local REAL = [[
  local s, across, values = ...
  local before, last
  for i = 1, 200 do
    s[2] = 1
    before = across[1]
    s[2] = values[i]
    last = across[1]
  end
  return last, before
]]
local COMPLEX = [[
  local s, across, values = ...
  local before, last
  for i = 1, 200 do
    s:set(1, 1, 1)
    before = across:get(1)
    s:set(1, values[i], values[i])
    last = across:get(1)
  end
  return last, before
]]
-- A storage of two elements, and one that begins in the middle of the first: a view, or another map of the same file.
local WAYS = {
  ['a view'] = function(class, offset)
    local s = torch[class](2)
    return s, s:view('torch.' .. class, offset, 1)
  end,
  ['another map'] = function(class, offset)
    local name = path 'across'
    local s = torch[class](name, true, 2)
    return s, torch[class] { filename = name, shared = true, offset = offset, size = 1 }
  end,
}

local function reads_numbers(make, T, offset)
  local bytes = torch.UntypedStorage(8)
  local words, double, float = bytes:view 'int32', bytes:view 'double', bytes:view 'float'
  local is_float = T:find 'Float$'
  words[1], words[2] = is_float and 0x3f80ffa0 or 0xfffd8000 - 2 ^ 32, 0x3ff00000
  -- A number whose lower words are the upper words of a NaN.
  local finite = is_float and float[1] or double[1]
  local values = {}
  for i = 1, 200 do
    values[i] = i < 200 and 1 or finite
  end
  local s, across = make(T .. 'Storage', offset)
  -- Compiled anew for each class.
  local loop = assert(loadstring((T:find 'Complex' and COMPLEX or REAL)))
  assert.equal('number', type(loop(s, across, values)))
end

describe('access across the elements of a class', function()
  for _, mode in ipairs(accessors.MODES) do
    for T, offset in pairs { Double = 4, Float = 2, ComplexDouble = 4, ComplexFloat = 2 } do
      for way, make in pairs(WAYS) do
        it(('%s reads numbers: %s by %s'):format(way, T, mode), function()
          torch.accessors(mode)
          reads_numbers(make, T, offset)
        end)
      end
    end
  end
end)
