-- What `print` shows of the module, of classes and of records: their names.
local torch = require 'torch'
local types = require 'spec.support.types'

describe('tostring', function()
  it('of a storage class is its name', function()
    for _, T in ipairs(types.ALL) do
      assert.equal('torch.' .. T .. 'Storage', tostring(torch[T .. 'Storage']))
    end
  end)

  it('of a class of the program is its name', function()
    local module = {}
    local Parent = torch.class('names.Parent', module)
    local Child = torch.class('names.Child', 'names.Parent', module)
    assert.equal('names.Parent', tostring(Parent))
    assert.equal('names.Child', tostring(Child))
    assert.equal('names.Parent', tostring(module.Parent))
    assert.equal('names.Child', tostring(module.Child))
    assert.equal('names.Child', tostring(module.Child()))
    function Parent:__tostring__()
      return 'an object of ' .. torch.typename(self)
    end
    assert.equal('an object of names.Child', tostring(module.Child()))
    assert.equal('names.Child', tostring(Child))
  end)

  it('of a record says what it stands for', function()
    local storage = torch.FloatStorage(6)
    local tensor =
      torch.record { class = 'torch.CudaTensor', storage = storage, size = { 2, 3 }, stride = { 3, 1 }, offset = 1 }
    assert.equal('[record of torch.CudaTensor of size 2x3]', tostring(tensor))
    assert.equal('[record of torch.CudaTensor of size 2x3]', tostring(torch.deserialize(torch.serialize(tensor))))
    local empty = torch.record { class = 'torch.CudaTensor', size = {}, stride = {}, offset = 1 }
    assert.equal('[record of torch.CudaTensor]', tostring(empty))
    local object = torch.record { class = 'nn.Linear', version = 1, fields = { bias = 1 } }
    assert.equal('[record of nn.Linear]', tostring(torch.deserialize(torch.serialize(object))))
    local cuda = torch.record { class = 'torch.CudaStorage', storage = storage }
    assert.equal('[record of torch.CudaStorage of size 6]', tostring(cuda))
    assert.equal('[record of a function]', tostring(torch.record { class = 'function', tag = 8, code = 'x' }))
  end)

  it('of a record raises no error, whatever the program has made of it', function()
    local record = torch.record { class = 'torch.CudaStorage', storage = torch.FloatStorage(6) }
    record.storage:free()
    assert.equal('[record of torch.CudaStorage]', tostring(record))
    for _, value in ipairs { 5, true, {}, print } do
      record.class = value
      assert.equal('[record of no class]', tostring(record))
      record.class = 'torch.CudaTensor'
      record.size = value
      assert.equal('[record of torch.CudaTensor]', tostring(record))
      record.size = { 2, value }
      assert.is_truthy(tostring(record):find('[record of torch.CudaTensor of size 2x', 1, true))
    end
    record.class = nil
    assert.equal('[record of no class]', tostring(record))
  end)
end)
