-- Views of different classes on the same bytes in compiled code: what one writes the others read at once.
local torch = require 'torch'
local accessors = require 'spec.accessors'

after_each(accessors.restore)

-- LuaJIT takes it that memory of one type is not that of another: a loop may keep what it has read.
describe('views of different classes', function()
  for _, mode in ipairs(accessors.MODES) do
    for _, store in ipairs { 'uint8', 'int16', 'int32', 'int64', 'half', 'bfloat16', 'float', 'double' } do
      for _, load in ipairs { 'uint8', 'int16', 'int32', 'int64', 'half', 'bfloat16', 'float', 'double' } do
        it(('see what the others write: %s as %s by %s'):format(store, load, mode), function()
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
          assert.equal(0, wrong)
        end)
      end
    end
  end
end)
