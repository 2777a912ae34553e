-- The files that safetensors, NumPy and ml_dtypes wrote, mapped and copied.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local formats = require 'spec.support.formats'

local FOLDER = formats.FOLDER

-- Loads the array of a row in each way. Returns a list of tensors.
local function every_way(row)
  local path, tensors = FOLDER .. row.file, {}
  for _, mmap in ipairs { true, false } do
    if row.file:find '%.npy$' then
      table.insert(tensors, torch.npy.load(path, { mmap = mmap, dtype = row.dtype ~= '' and row.dtype or nil }))
    elseif row.file:find '%.npz$' then
      table.insert(tensors, torch.npz.load(path, { mmap = mmap })[row.name])
      table.insert(tensors, torch.npz.load(path, { mmap = mmap, names = { row.name } })[row.name])
    else
      table.insert(tensors, torch.safetensors.load(path, { mmap = mmap })[row.name])
      table.insert(tensors, torch.safetensors.load(path, { mmap = mmap, names = { row.name } })[row.name])
    end
  end
  if row.file:find 'safetensors' then
    table.insert(tensors, torch.safetensors.open(path):get(row.name))
  end
  return tensors
end

describe('every array of the reference files', function()
  it('has its class, its sizes and its elements', function()
    local count = 0
    for _, row in ipairs(formats.arrays()) do
      for number, x in ipairs(every_way(row)) do
        local what = ('%s %s %d'):format(row.file, row.name, number)
        assert.equal('torch.' .. row.class .. 'Tensor', torch.type(x), what)
        assert.equal(table.concat(row.sizes, 'x'), formats.sizes(x), what)
        assert.equal(#row.sizes, x:nDimension(), what)
        assert.equal(row.hex, formats.hex(x), what)
        count = count + 1
      end
    end
    assert.is_true(count > 120, count)
  end)
end)

describe('the tables', function()
  it('have no other arrays, and the metadata', function()
    local count = {}
    for _, row in ipairs(formats.arrays()) do
      count[row.file] = (count[row.file] or 0) + 1
    end
    for file, expected in pairs(count) do
      if not file:find '%.npy$' then
        local load = file:find '%.npz$' and torch.npz.load or torch.safetensors.load
        local found = 0
        for _ in pairs((load(FOLDER .. file))) do
          found = found + 1
        end
        assert.equal(expected, found, file)
      end
    end
    local metadata = select(2, torch.safetensors.load(FOLDER .. 'shapes.safetensors'))
    assert.same({ author = 'Ünï', step = '1200', config = '{"layers": [1, 2]}' }, metadata)
    assert.same({}, (select(2, torch.safetensors.load(FOLDER .. 'unaligned.safetensors'))))
    assert.equal(1, select('#', torch.npz.load(FOLDER .. 'stored.npz')))
  end)
end)

describe('an array', function()
  it('in Fortran order has strides that grow from the first dimension on', function()
    for _, mmap in ipairs { true, false } do
      local x = torch.npy.load(FOLDER .. 'fortran.npy', { mmap = mmap })
      assert.same({ 1, 2 }, x:stride():totable())
      assert.equal(mmap, x:storage():isMapped())
      assert.equal(6, x:storage():size())
    end
  end)

  it('of big-endian elements is copied', function()
    local x = torch.npy.load(FOLDER .. 'big_endian.npy')
    assert.is_false(x:storage():isMapped())
    assert.equal('32767 -32768', x[1][1] .. ' ' .. x[1][2])
  end)

  it('without a type needs a dtype', function()
    local path = FOLDER .. 'bfloat16.npy'
    local message = assert(select(2, pcall(torch.npy.load, path)))
    assert.truthy(message:find(path, 1, true) and message:find("dtype='bfloat16'", 1, true), message)
    for _, dtype in ipairs { 'bfloat16', 'torch.BFloat16Tensor', torch.BFloat16Tensor, torch.BFloat16Storage } do
      assert.equal(70, torch.npy.load(path, { dtype = dtype })[1])
    end
    assert.truthy(select(2, pcall(torch.npy.load, path, { dtype = 'float32' })):find('are not float32', 1, true))
    assert.truthy(select(2, pcall(torch.npy.load, path, { dtype = 'untyped' })):find('bytes without a type', 1, true))
    assert.truthy(
      select(2, pcall(torch.npy.load, FOLDER .. 'v1.npy', { dtype = 'float64' })):find('are not float64', 1, true)
    )
    assert.equal('torch.FloatTensor', torch.type(torch.npy.load(FOLDER .. 'v1.npy', { dtype = 'float32' })))
  end)
end)
