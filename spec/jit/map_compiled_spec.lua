-- Maps of one file as different classes in compiled code: every read gives a number, whatever bits are written at the same time.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

local path = support.temporary()

after_each(accessors.restore)

-- The loop checks that the element is a number and changes its bits through integers. A store into another storage of the class
-- makes compiled code load the elements of the class again.
local LOOP = [[
  local s, words, other, values, index = ...
  local before, last
  for i = 1, #values do
    words[index] = 0
    other:set(1, 1)
    before = s:get(1)
    words[index] = values[i]
    other:set(1, 2)
    last = s:get(1)
  end
  return last, before
]]

describe('two maps of one file', function()
  for _, mode in ipairs(accessors.MODES) do
    for T, index in pairs { Float = 1, Double = 2, ComplexFloat = 1, ComplexDouble = 2 } do
      for _, sharing in ipairs { 'map', 'memory' } do
        it(('as %s and as integers give numbers: %s, by %s'):format(T, sharing, mode), function()
          torch.accessors(mode)
          local name = sharing == 'map' and path 'words' or ('map-compiled-spec-%.0f'):format(torch.pointer {})
          local class, in_memory = torch[T .. 'Storage'], sharing == 'memory' or nil
          -- Compiled anew for each class.
          local loop = assert(loadstring((LOOP:gsub('other:set%(1, %d', T:find 'Complex' and '%0, 0' or '%0'))))
          local values = {}
          for i = 1, 200 do
            -- A NaN with the upper bits of another kind of Lua value.
            values[i] = i < 200 and 0 or 0xffffa000 - 2 ^ 32
          end
          local s = class(name, true, 2, in_memory)
          local words = torch.IntStorage(name, true, 2 * class:elementSize() / 4, in_memory)
          assert.equal('number', type(loop(s, words, class(1), values, index)))
        end)
      end
    end
  end
end)
