-- Dropped storages of 64 KiB and more give their memory to new ones. Nothing of the old elements may show in the new ones.
-- Interpreters: luajit, lua5.4
require 'spec.support'
local torch = require 'torch'

-- Drops a storage of `bytes` bytes that are not zero, so that the next storage of about that size gets its memory.
local function leave(bytes)
  torch.ByteStorage(bytes):fill(171):free()
end

-- Whether all elements from `first` on are `value`.
local function all(storage, value, first)
  local size = #storage - first + 1
  return torch.DoubleStorage(storage, first, size):equal(torch.DoubleStorage(size):fill(value))
end

describe('memory that was used before', function()
  for _, count in ipairs { 20000, 150000, 1200000 } do
    local bytes = 8 * count
    local made = {
      ['a size'] = function()
        return torch.DoubleStorage(count), 0
      end,
      ['a table'] = function()
        local t = {}
        for i = 1, count do
          t[i] = 7
        end
        leave(bytes)
        return torch.DoubleStorage(t), 7
      end,
      ['a conversion'] = function()
        local floats = torch.FloatStorage(count):fill(7)
        leave(bytes)
        return floats:double(), 7
      end,
      ['a copy'] = function()
        local doubles = torch.DoubleStorage(count):fill(7)
        leave(bytes)
        return doubles:clone(), 7
      end,
      ['the bytes of a string'] = function()
        local text = torch.DoubleStorage(count):fill(7):string()
        leave(bytes)
        return torch.DoubleStorage.fromstring(text), 7
      end,
      ['a saved storage'] = function()
        local text = torch.serialize(torch.DoubleStorage(count):fill(7))
        leave(bytes)
        return torch.deserialize(text), 7
      end,
      ['a transpose'] = function()
        local x = torch.DoubleStorage(count):fill(7):view(100, count / 100):t()
        leave(bytes)
        return x:contiguous():storage(), 7
      end,
      ['a tensor of another class'] = function()
        local x = torch.FloatStorage(count):fill(7):view(100, count / 100):t()
        leave(bytes)
        return x:type('torch.DoubleTensor'):storage(), 7
      end,
      ['rows of a table'] = function()
        local row = {}
        for i = 1, count / 100 do
          row[i] = 7
        end
        local rows = {}
        for i = 1, 100 do
          rows[i] = row
        end
        leave(bytes)
        return torch.DoubleTensor(rows):storage(), 7
      end,
    }
    for name, make in pairs(made) do
      it(
        ('shows nothing of it in a storage of %d elements made from %s, not even when it grows'):format(count, name),
        function()
          leave(bytes)
          local storage, value = make()
          assert.equal(count, #storage)
          assert.is_true(all(storage, value, 1))
          leave(bytes + bytes / 10)
          storage:resize(count + count / 20)
          assert.is_true(all(storage, 0, count + 1))
          storage:resize(count / 2)
          storage:resize(count)
          assert.is_true(all(storage, 0, count / 2 + 1))
          assert.equal(value, storage[1])
          storage:free()
        end
      )
    end
  end
end)
