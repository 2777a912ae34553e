-- Records: how CUDA tensors, objects of unknown classes and functions in .t7 files are loaded, and saved again.
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'
local types = require 'spec.support.types'

local function fails(fragments, f, ...)
  local message = support.failure(f, ...)
  for _, fragment in ipairs(fragments) do
    assert.matches(fragment, message, 1, true)
  end
end

-- Loads the bytes that `build` makes in every format. In formats that can be written, the record is saved with the same bytes.
local function loads(build, check)
  for _, name in ipairs(made.NAMES) do
    local bytes = build(made.formats[name])
    local object = torch.deserialize(bytes)
    check(object, name)
    if not name:find 'big' then
      assert.equal(bytes, torch.serialize(object, name))
      assert.equal(bytes, torch.serialize(torch.deserialize(bytes, name), name))
    end
  end
end

-- A CUDA storage of ints as an object of a file.
local function cuda_ints(f, index, values)
  return f.head(index, 'torch.CudaIntStorage') .. f.long(#values) .. f.elements('Int', values)
end

describe('a CUDA tensor', function()
  it('of any class is a record with a storage of the CPU', function()
    local classes = { Cuda = 'Float' }
    for _, T in ipairs(types.TORCH7) do
      classes['Cuda' .. T] = T
    end
    for name, T in pairs(classes) do
      loads(function(f)
        local storage = f.head(2, ('torch.%sStorage'):format(name)) .. f.long(6) .. f.elements(T, { 1, 2, 3, 4, 5, 6 })
        return f.tensor(1, ('torch.%sTensor'):format(name), { 2, 3 }, { 3, 1 }, 1, storage)
      end, function(t)
        assert.is_true(torch.isRecord(t))
        assert.equal(('torch.%sTensor'):format(name), t.class)
        assert.equal(('torch.%sStorage'):format(T), torch.typename(t.storage))
        assert.same({ 1, 2, 3, 4, 5, 6 }, t.storage:totable())
        assert.same({ { 2, 3 }, { 3, 1 }, 1 }, { t.size, t.stride, t.offset })
        assert.is_nil(t.version)
      end)
      loads(function(f)
        return f.head(1, ('torch.%sStorage'):format(name)) .. f.long(2) .. f.elements(T, { 7, 8 })
      end, function(s)
        assert.is_true(torch.isRecord(s))
        assert.equal(('torch.%sStorage'):format(name), s.class)
        assert.equal(1, s.version)
        assert.same({ 7, 8 }, s.storage:totable())
      end)
    end
  end)

  it('without dimensions has no storage', function()
    loads(function(f)
      return f.tensor(1, 'torch.CudaDoubleTensor', {}, {}, 1, f.null)
    end, function(t)
      assert.same({}, t.size)
      assert.same({}, t.stride)
      assert.is_nil(t.storage)
      assert.equal(0, #torch.contiguous(t))
      assert.equal('torch.DoubleStorage', torch.typename(torch.contiguous(t)))
    end)
  end)

  it('of another version keeps that version', function()
    loads(function(f)
      return f.head(1, 'torch.CudaIntTensor', 3)
        .. f.int(1)
        .. f.long(1)
        .. f.long(1)
        .. f.long(1)
        .. cuda_ints(f, 2, { 9 })
    end, function(t)
      assert.equal(3, t.version)
      assert.same({ 9 }, t.storage:totable())
    end)
  end)

  it('shares its storage with others, and with itself', function()
    loads(function(f)
      local first = f.tensor(2, 'torch.CudaIntTensor', { 2, 2 }, { 2, 1 }, 1, cuda_ints(f, 3, { 1, 2, 3, 4 }))
      local second = f.tensor(4, 'torch.CudaIntTensor', { 2 }, { 2 }, 2, f.reference(made.TORCH, 3))
      return f.table(1, { first, second, f.reference(made.TORCH, 2), f.reference(made.TORCH, 3) })
    end, function(t)
      assert.equal(t[1], t[3])
      assert.is_true(rawequal(t[1].storage, t[2].storage) and rawequal(t[4].storage, t[1].storage))
      assert.same({ 2, 4 }, torch.contiguous(t[2]):totable())
    end)
  end)

  it('becomes a tensor of the CPU from the fields of its record', function()
    local f = made.formats.b64
    local t = torch.deserialize(
      f.tensor(1, 'torch.CudaIntTensor', { 3, 2 }, { 1, 3 }, 1, cuda_ints(f, 2, { 1, 2, 3, 4, 5, 6 }))
    )
    local x = torch.IntTensor(t.storage, t.offset, t.size, t.stride)
    assert.equal(5, x:get(2, 2))
    assert.is_true(x:storage() == t.storage)
  end)

  local function contiguous(values, size, stride, offset)
    local record = { class = 'torch.CudaDoubleTensor', size = size, stride = stride, offset = offset or 1 }
    record.storage = torch.DoubleStorage(values)
    return torch.contiguous(torch.record(record))
  end

  it('can be made contiguous in row-major order', function()
    local values = { 1, 2, 3, 4, 5, 6 }
    assert.same(values, contiguous(values, { 2, 3 }, { 3, 1 }):totable())
    assert.same({ 1, 3, 5, 2, 4, 6 }, contiguous(values, { 2, 3 }, { 1, 2 }):totable())
    assert.same({ 1, 4, 2, 5, 3, 6 }, contiguous(values, { 3, 2 }, { 1, 3 }):totable())
    assert.same({ 2, 4, 6 }, contiguous(values, { 3 }, { 2 }, 2):totable())
    assert.same({ 3, 4 }, contiguous(values, { 2 }, { 1 }, 3):totable())
    assert.same({ 5, 5, 5, 5 }, contiguous(values, { 2, 2 }, { 0, 0 }, 5):totable())
    assert.same({ 1, 1, 1, 2, 2, 2 }, contiguous(values, { 2, 3 }, { 1, 0 }):totable())
    assert.same({ 6 }, contiguous(values, { 1, 1, 1 }, { 100, -7, 0 }, 6):totable())
    assert.same({ 6, 4, 2 }, contiguous(values, { 3 }, { -2 }, 6):totable())
  end)

  it('is made contiguous correctly, with up to 6 dimensions', function()
    local values = {}
    for i = 1, 4096 do
      values[i] = i
    end
    local storage, seed = torch.IntStorage(values), 7
    local function dice(n)
      seed = (seed * 16807) % 2147483647
      return seed % n
    end
    for _ = 1, 200 do
      local size, stride, offset, dimensions = {}, {}, 1 + dice(100), 1 + dice(6)
      for i = 1, dimensions do
        size[i], stride[i] = 1 + dice(4), dice(200)
      end
      local expected = {}
      local function walk(dimension, at)
        if dimension > dimensions then
          expected[#expected + 1] = at
        else
          for i = 0, size[dimension] - 1 do
            walk(dimension + 1, at + i * stride[dimension])
          end
        end
      end
      walk(1, offset)
      local record =
        torch.record { class = 'torch.CudaIntTensor', storage = storage, size = size, stride = stride, offset = offset }
      local result = torch.contiguous(record)
      assert.is_true(result:equal(torch.IntStorage(expected)))
      assert.is_true(torch.contiguous(torch.deserialize(torch.serialize(record))):equal(result))
    end
  end)

  it('gets a new storage when made contiguous, even if it was contiguous before', function()
    local record = torch.record {
      class = 'torch.CudaByteTensor',
      storage = torch.ByteStorage { 1, 2, 3 },
      size = { 3 },
      stride = { 1 },
      offset = 1,
    }
    local copy = torch.contiguous(record)
    copy[1] = 9
    assert.equal(1, record.storage[1])
    assert.is_true(copy:resizable())
  end)

  it('that is expanded beyond all memory is an error, not a crash', function()
    local record = torch.record {
      class = 'torch.CudaByteTensor',
      storage = torch.ByteStorage { 1 },
      size = { 2 ^ 31, 2 ^ 31 },
      stride = { 0, 0 },
      offset = 1,
    }
    support.failure(torch.contiguous, record)
    record.size = { 2 ^ 52, 2 ^ 52, 2 ^ 52 }
    record.stride = { 0, 0, 0 }
    support.failure(torch.contiguous, record)
  end)

  it('is checked again at every use, because its fields can be changed', function()
    local function changed(key, value)
      local record = torch.record {
        class = 'torch.CudaIntTensor',
        storage = torch.IntStorage { 1, 2, 3, 4 },
        size = { 2, 2 },
        stride = { 2, 1 },
        offset = 1,
      }
      record[key] = value
      support.failure(torch.contiguous, record)
      fails({ 'cannot save' }, torch.serialize, { x = record })
    end
    changed('size', { 2, 3 })
    changed('size', { -1, 2 })
    changed('size', { 2 })
    changed('size', 'x')
    changed('size', nil)
    changed('stride', { 2, 1e9 })
    changed('stride', { 2, 0 / 0 })
    changed('stride', {})
    changed('offset', 0)
    changed('offset', 2)
    changed('offset', 2 ^ 62)
    changed('storage', nil)
    changed('storage', torch.FloatStorage(4))
    changed('storage', {})
    changed('class', 'torch.IntStorage')
    changed('class', 5)
    local record = torch.record {
      class = 'torch.CudaIntTensor',
      storage = torch.IntStorage { 1, 2, 3, 4 },
      size = { 2, 2 },
      stride = { 2, 1 },
      offset = 1,
    }
    record.storage:resize(2)
    support.failure(torch.contiguous, record)
    record.storage:free()
    support.failure(torch.contiguous, record)
  end)
end)

describe('an object of an unknown class', function()
  it('is a record with its fields', function()
    loads(function(f)
      return f.head(1, 'nn.Linear') .. f.pairs(2, { f.string 'bias', f.number(0.5) })
    end, function(t)
      assert.is_true(torch.isRecord(t))
      assert.equal('nn.Linear', t.class)
      assert.equal(1, t.version)
      assert.same({ bias = 0.5 }, t.fields)
      assert.is_false(torch.isRecord(t.fields))
    end)
  end)

  it('may have any value as its fields', function()
    loads(function(f)
      return f.table(1, {
        f.head(2, 'a') .. f.null,
        f.head(3, 'a.b', 2) .. f.number(1),
        f.head(4, 'a.b.c', 3) .. f.string 'x',
        f.head(5, 'd') .. f.head(6, 'e') .. f.storage(7, 'Int', { 1 }),
      })
    end, function(t)
      assert.is_nil(t[1].fields)
      assert.equal(2, t[2].version)
      assert.equal(1, t[2].fields)
      assert.equal('x', t[3].fields)
      assert.equal('e', t[4].fields.class)
      assert.same({ 1 }, t[4].fields.fields:totable())
    end)
  end)

  it('from old files has version 0', function()
    loads(function(f)
      return f.head(1, 'nn.Linear', false) .. f.pairs(2, {})
    end, function(t)
      assert.equal(0, t.version)
    end)
  end)

  it('can refer to itself', function()
    loads(function(f)
      return f.head(1, 'nn.Node') .. f.pairs(2, { f.string 'me', f.reference(made.TORCH, 1) })
    end, function(t)
      assert.equal(t, t.fields.me)
    end)
  end)

  it('keeps the order of its keys without an option', function()
    loads(function(f)
      local objects = {}
      for i = 1, 40 do
        objects[2 * i - 1] = f.string(('key %d'):format(i * 37 % 101))
        objects[2 * i] = f.number(i)
      end
      return f.head(1, 'nn.Ordered') .. f.pairs(2, objects)
    end, function(t)
      assert.equal(1, t.fields['key 37'])
    end)
  end)
end)

describe('a function', function()
  for tag = 6, 8 do
    it('with tag ' .. tag .. ' is a record and is not run', function()
      local code = string.dump(function()
        _G.ran = true
      end)
      loads(function(f)
        local upvalues = tag == 8
            and f.table(2, { f.pairs(3, { f.string 'name', f.string 'x', f.string 'value', f.number(5) }) })
          or f.table(tag == 6 and 1 or 2, { f.number(5) })
        return f.code(tag, 1, code, upvalues)
      end, function(t)
        assert.is_true(torch.isRecord(t))
        assert.equal('function', t.class)
        assert.equal(tag, t.tag)
        assert.equal(code, t.code)
        assert.same(tag == 8 and { { name = 'x', value = 5 } } or { 5 }, t.upvalues)
        assert.is_nil(rawget(_G, 'ran'))
      end)
    end)
  end

  it('can appear twice, and contain itself', function()
    for tag = 7, 8 do
      loads(function(f)
        return f.table(1, { f.code(tag, 2, 'code', f.table(3, { f.reference(tag, 2) })), f.reference(tag, 2) })
      end, function(t)
        assert.equal(t[1], t[2])
        assert.equal(t[1], t[1].upvalues[1])
      end)
    end
  end)

  it('without upvalues, or with invalid code, is a record too', function()
    loads(function(f)
      return f.code(8, 1, '', f.pairs(2, {}))
    end, function(t)
      assert.equal('', t.code)
      assert.same({}, t.upvalues)
    end)
  end)
end)
