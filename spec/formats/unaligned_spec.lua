-- Tensors of files lie at any byte. Their elements are read and written correctly in every way, compiled code included.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local formats = require 'spec.support.formats'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

after_each(accessors.restore)

local ROWS, COLUMNS = 6, 20
local SIZE = ROWS * COLUMNS

-- The dtype of each class in a safetensors file, from a file that has all of them.
local DTYPES = {}
do
  local file = torch.safetensors.open(formats.FOLDER .. 'dtypes.safetensors')
  for _, name in ipairs(file:keys()) do
    local info = file:info(name)
    DTYPES[info.class:match '^torch%.(.*)Tensor$'] = info.dtype
  end
end

local EVERY = {}
for _, list in ipairs { types.NUMBERS, types.COMPLEX } do
  for _, T in ipairs(list) do
    EVERY[#EVERY + 1] = T
  end
end

-- A tensor in memory whose elements differ from their neighbours.
local function numbered(T, seed)
  local s = torch[T .. 'Storage'](SIZE)
  for i = 1, SIZE do
    local value = (i * 37 + seed * 11) % (T == 'Bool' and 2 or 127)
    s[i] = types.ENTRY[T].kind == 'complex' and { value, i } or value
  end
  return torch[T .. 'Tensor'](s, 1, { ROWS, COLUMNS })
end

local function bytes_of(x)
  local s = x:storage()
  return torch.ByteStorage(s:nbytes()):rawcopy(s):string()
end

-- Writes a file in which the elements of `x` begin `offset` bytes behind a multiple of 16, between other bytes. Returns the
-- tensor over its map.
local function mapped(T, x, offset)
  local data, shape, name = bytes_of(x), { ROWS, COLUMNS }, path(T .. offset)
  if not DTYPES[T] then
    local descr = '<c' .. types.WIDTH[T]
    support.spit(name, formats.npy(descr, shape, data .. 'behind', false, offset))
    return torch.npy.load(name)
  end
  local function file(pad)
    return formats.safetensors({
      { name = 'x', dtype = DTYPES[T], shape = shape, data = data },
      { name = 'y', dtype = 'U8', shape = { 6 }, data = 'behind' },
    }, nil, pad)
  end
  support.spit(name, file((offset - (#file(0) - #data - 6)) % 16))
  return torch.safetensors.load(name).x
end

-- Copies all elements one by one: the tensors by their indices and their rows, and the storages. The loops are long enough to
-- be compiled.
local function copy_elements(to, from)
  for i = 1, ROWS do
    for j = 1, COLUMNS do
      to:set(i, j, from:get(i, j))
    end
  end
end
local function copy_rows(to, from)
  for i = 1, ROWS do
    local row, source = to[i], from[i]
    for j = 1, COLUMNS do
      row[j] = source[j]
    end
  end
end
local function copy_flat(to, from)
  local target, source = to:view(SIZE), from:view(SIZE)
  for i = 1, SIZE do
    target[i] = source[i]
  end
end
local function copy_storage(to, from)
  local target, source = to:storage(), from:storage()
  for i = 1, SIZE do
    target[i] = source[i]
  end
end
local WAYS = { elements = copy_elements, rows = copy_rows, flat = copy_flat, storage = copy_storage }

describe('elements at every offset from 0 to 15', function()
  for _, T in ipairs(EVERY) do
    it('are read and written: ' .. T, function()
      for _, mode in ipairs(accessors.MODES) do
        torch.accessors(mode)
        for offset = 0, 15 do
          local reference, other = numbered(T, offset), numbered(T, offset + 1)
          local x = mapped(T, reference, offset)
          local what = ('%s at offset %d'):format(mode, offset)
          assert(x:storage():isMapped() and x:storage():dataptr() % 16 == offset, what)
          assert(bytes_of(x) == bytes_of(reference), what)
          assert(x:equal(reference) and reference:equal(x), what)
          for way, copy in pairs(WAYS) do
            local read = torch[T .. 'Tensor'](ROWS, COLUMNS)
            copy(read, x)
            assert(bytes_of(read) == bytes_of(reference), ('%s reads %s'):format(what, way))
            copy(x, other)
            assert(bytes_of(x) == bytes_of(other), ('%s writes %s'):format(what, way))
            copy(x, reference)
          end
          assert(x:t():clone():equal(reference:t():clone()), what)
          assert(x:clone():equal(reference), what)
          x:copy(other)
          assert(bytes_of(x) == bytes_of(other), what)
          x:fill(1)
          assert(bytes_of(x) == bytes_of(other:fill(1)), what)
          -- The neighbours of the elements, and the file, are as before.
          local name = path(T .. offset)
          if DTYPES[T] then
            assert(support.slurp(name):find(bytes_of(reference) .. 'behind', 1, true), what)
            local tensors = torch.safetensors.load(name)
            tensors.x:fill(1)
            local text = torch.ByteStorage(6):rawcopy(tensors.y:storage()):string()
            assert(text == 'behind', what)
          end
          os.remove(name)
        end
      end
    end)
  end

  it('are those of every class', function()
    assert.equal(19, #EVERY)
    assert.is_nil(DTYPES.ComplexDouble)
    assert.equal('C64', DTYPES.ComplexFloat)
  end)
end)
