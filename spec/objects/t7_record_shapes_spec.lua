-- torch.record and torch.isRecord: records that a program makes itself, and tables that are not records.
local torch = require 'torch'
local support = require 'spec.support'
local tree = require 'spec.support.tree'

describe('torch.record', function()
  it('makes a record from a table, which is then saved as that record', function()
    local s = torch.FloatStorage { 1, 2, 3, 4, 5, 6 }
    local shapes = {
      { class = 'torch.CudaFloatTensor', storage = s, size = { 2, 3 }, stride = { 3, 1 }, offset = 1 },
      { class = 'torch.CudaTensor', size = {}, stride = {}, offset = 1 },
      { class = 'torch.CudaTensor', storage = s, size = { 6 }, stride = { 1 }, offset = 1 },
      { class = 'torch.CudaStorage', version = 1, storage = s },
      { class = 'nn.Linear', version = 1, fields = { weight = s } },
      { class = 'nn.Linear', version = 0, fields = {} },
      { class = 'function', tag = 8, code = 'x', upvalues = {} },
    }
    for _, shape in ipairs(shapes) do
      assert.is_false(torch.isRecord(shape))
      local record = torch.record(shape)
      assert.equal(shape, record)
      assert.is_true(torch.isRecord(record))
      for _, mode in ipairs { 'binary', 'ascii', 'b32' } do
        local back = torch.deserialize(torch.serialize(record, mode), mode)
        assert.is_true(torch.isRecord(back))
        assert.equal(tree(record), tree(back))
      end
    end
  end)

  it('leaves other tables plain tables', function()
    local plain = { class = 'nn.Linear', version = 1, fields = {} }
    local back = torch.deserialize(torch.serialize(plain))
    assert.is_false(torch.isRecord(back))
    assert.equal('nn.Linear', back.class)
  end)

  it('refuses tables of any other shape', function()
    local s = torch.FloatStorage(6)
    for _, bad in ipairs {
      {},
      { class = 5 },
      { class = 'torch.CudaTensor' },
      { class = 'torch.CudaTensor', storage = s, size = { 2, 4 }, stride = { 4, 1 }, offset = 1 },
      { class = 'torch.CudaTensor', storage = s, size = { 6 }, stride = { 1 }, offset = 2 },
      { class = 'torch.CudaTensor', storage = s, size = { 6 }, stride = { -1 }, offset = 1 },
      { class = 'torch.CudaTensor', storage = s, size = { 1.5 }, stride = { 1 }, offset = 1 },
      { class = 'torch.CudaTensor', storage = s, size = { 6 }, stride = { 1 }, offset = 0 },
      { class = 'torch.CudaTensor', storage = s, size = { 6 }, stride = {}, offset = 1 },
      { class = 'torch.CudaTensor', storage = s, size = { 2 ^ 62, 2 ^ 62 }, stride = { 2 ^ 62, 2 ^ 62 }, offset = 1 },
      { class = 'torch.CudaDoubleTensor', storage = s, size = { 6 }, stride = { 1 }, offset = 1 },
      { class = 'torch.CudaTensor', storage = {}, size = { 6 }, stride = { 1 }, offset = 1 },
      { class = 'torch.CudaStorage', version = 1, storage = torch.IntStorage(1) },
      { class = 'torch.CudaStorage', version = 1 },
      { class = 'torch.FloatStorage', version = 1, storage = s },
      { class = 'nn.Linear', version = 'x', fields = {} },
      { class = 'function', tag = 9, code = '', upvalues = {} },
      { class = 'function', tag = 8, upvalues = {} },
      { class = 'function', tag = 8, code = 5 },
    } do
      support.failure(torch.record, bad)
      assert.is_false(torch.isRecord(bad))
    end
    for _, bad in ipairs { 5, 'x', true, print, s } do
      support.failure(torch.record, bad)
      assert.is_false(torch.isRecord(bad))
    end
    support.failure(torch.record)
  end)

  it('refuses tables that describe a storage or a tensor that the program can have itself', function()
    local s = torch.FloatStorage(6)
    local function fails(why, shape)
      support.fails(why, torch.record, shape)
    end
    fails(
      'a torch.FloatStorage cannot be a record: save the storage itself',
      { class = 'torch.FloatStorage', storage = s }
    )
    fails(
      'a torch.FloatTensor cannot be a record: save the tensor itself',
      { class = 'torch.FloatTensor', storage = s, size = { 6 }, stride = { 1 }, offset = 1 }
    )
    local record = torch.record { class = 'nn.Linear', fields = {} }
    record.class = 'torch.IntTensor'
    support.fails(
      'cannot save a record at x: a torch.IntTensor cannot be a record: save the tensor itself',
      torch.serialize,
      { x = record }
    )
  end)

  it('returns false for everything that is not a record', function()
    for _, value in ipairs { 5, 'x', true, print, {}, torch.IntStorage(1), setmetatable({ class = 'a' }, {}) } do
      assert.is_false(torch.isRecord(value))
    end
    assert.is_false(torch.isRecord(nil))
  end)
end)
