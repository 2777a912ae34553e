-- The files that examples/dump.lua exports, parsed by hand and read by NumPy.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local program = require 'spec.support.converter'
local types = require 'spec.support.types'

local quote, tree, tensor = program.quote, program.tree, program.tensor

local function export(object, ...)
  local folder = program.directory .. "/it's a folder/deep"
  support.sh('rm -rf ' .. quote(folder))
  local output = tree(object, '--export', folder, ...)
  local names = {}
  for name in support.sh('LC_ALL=C ls -A ' .. quote(folder)):gmatch '[^\n]+' do
    names[#names + 1] = name
  end
  return table.concat(names, ' '), folder .. '/', output
end

-- Parses a .npy file by hand. Returns its type, its shape as written, the bytes of its elements, and whether these are in the
-- order of Fortran: 'True' or 'False'.
local function npy(name)
  local bytes = support.slurp(name)
  assert.equal('\147NUMPY\1\0', bytes:sub(1, 8))
  local low, high = bytes:byte(9, 10)
  local length = low + high * 256
  assert.equal(0, (10 + length) % 64)
  local header = bytes:sub(11, 10 + length)
  assert.equal('\n', header:sub(-1))
  local pattern = "^{'descr': '([^']+)', 'fortran_order': (%a+), 'shape': (%([%d, ]*%)), } *\n$"
  local descr, fortran, shape = header:match(pattern)
  assert.is_truthy(descr, header)
  return descr, shape, bytes:sub(11 + length), fortran
end

describe('examples/dump.lua --export writes #process', function()
  setup(program.setup)
  teardown(program.teardown)

  it('storages of every class for NumPy', function()
    local object, descr = {}, { Byte = '|u1', Char = '|i1', Half = '<f2', Float = '<f4', Double = '<f8' }
    for _, T in ipairs(types.TORCH7) do
      object[T] = torch[T .. 'Storage'] { 1, 2, 100 }
    end
    local names, folder, output = export(object)
    assert.equal('Byte.npy Char.npy Double.npy Float.npy Half.npy Int.npy Long.npy Short.npy', names)
    assert.equal('wrote 8 files, 90 bytes of elements, to ' .. folder:sub(1, -2), output:match '([^\n]*)\n$')
    for T, storage in pairs(object) do
      local got, shape, bytes = npy(folder .. T .. '.npy')
      assert.equal(descr[T] or '<i' .. types.WIDTH[T], got)
      assert.equal('(3,)', shape)
      assert.equal(storage:string(), bytes)
    end
  end)

  it('tensors as NumPy writes them, and also their storages if they hold more', function()
    local function floats(...)
      return torch.FloatStorage { ... }
    end
    local storage = floats(1, 2, 3, 4, 5, 6)
    local names, folder = export {
      whole = tensor('torch.FloatTensor', floats(1, 2, 3, 4, 5, 6), { 2, 3 }, { 3, 1 }),
      turned = tensor('torch.FloatTensor', storage, { 3, 2 }, { 1, 3 }),
      part = tensor('torch.FloatTensor', storage, { 1, 2 }, { 99, 1 }, 3),
      repeated = tensor('torch.FloatTensor', storage, { 2, 2, 2 }, { 0, 3, 1 }, 2),
      none = tensor('torch.LongTensor', nil, {}, {}),
    }
    assert.equal('none.npy part.npy part.storage.npy repeated.npy turned.npy whole.npy', names)
    local function holds(name, shape, expected, fortran)
      local descr, got, bytes, order = npy(folder .. name .. '.npy')
      assert.equal('<f4', descr)
      assert.equal(fortran or 'False', order)
      assert.equal(shape, got)
      assert.equal(expected:string(), bytes)
    end
    holds('whole', '(2, 3)', storage)
    holds('turned', '(3, 2)', storage, 'True') -- the elements lie in Fortran's order already
    holds('part', '(1, 2)', floats(3, 4))
    holds('part.storage', '(6,)', storage)
    holds('repeated', '(2, 2, 2)', floats(2, 3, 5, 6, 2, 3, 5, 6))
    local descr, shape, bytes = npy(folder .. 'none.npy')
    assert.same({ '<i8', '(0,)', '' }, { descr, shape, bytes })
  end)

  it('plain elements', function()
    local names, folder = export({ layers = { { weight = torch.IntStorage { 1, -1 } } } }, '--bin', '--depth', '0')
    assert.equal('layers.1.weight.bin', names)
    assert.equal('\1\0\0\0\255\255\255\255', support.slurp(folder .. names))
  end)

  it('large storages in pieces', function()
    local storage = torch.LongStorage(200001)
    for i = 1, #storage do
      storage[i] = i * i
    end
    local _, folder = export({ long = storage }, '--bin')
    assert.is_true(support.slurp(folder .. 'long.bin') == storage:string())
  end)

  it('every object once, under names that stay in the folder', function()
    local shared = torch.ByteStorage { 1 }
    local names, folder = export({
      ['../../up'] = torch.ByteStorage { 2 },
      [''] = torch.ByteStorage { 3 },
      ['..'] = torch.ByteStorage { 4 },
      A = torch.ByteStorage { 5 },
      a = shared,
      b = shared,
      ['x/y'] = torch.ByteStorage { 6 },
      ['x_y'] = torch.ByteStorage { 7 },
      [('n'):rep(1000)] = torch.ByteStorage { 8 },
      [shared] = torch.ByteStorage { 9 },
    }, '--bin')
    -- The shared object has the name of the path where it appears first.
    local long = ('n'):rep(150) .. '.bin'
    local expected = 'A.bin _..bin _._.._up.bin _.bin a-2.bin key1.bin ' .. long .. ' x_y-2.bin x_y.bin'
    assert.equal(expected, names)
    assert.equal('\1', support.slurp(folder .. 'a-2.bin'))
    assert.equal('\9', support.slurp(folder .. 'key1.bin'))
  end)

  it('a single value under the name of the file', function()
    assert.equal('file.npy', (export(torch.ByteStorage { 1 })))
    local names, _, output = export { 'nothing to write' }
    assert.equal('', names)
    assert.is_truthy(output:find('wrote 0 files, 0 bytes of elements', 1, true))
  end)

  it('files that NumPy reads', function()
    local python
    for _, candidate in ipairs { 'python3', 'target/numpy/bin/python' } do
      if not python and support.sh(candidate .. " -c 'import numpy; print(1)' 2>/dev/null") == '1' then
        python = candidate
      end
    end
    if not python then
      pending 'no python3 with numpy'
      return
    end
    local object =
      { turned = tensor('torch.DoubleTensor', torch.DoubleStorage { 1, 2, 3, 4, 5, 6 }, { 3, 2 }, { 1, 3 }) }
    for _, T in ipairs(types.TORCH7) do
      object[T] = torch[T .. 'Storage'] { 1, 2, 100 }
    end
    local _, folder = export(object)
    local script = support.spit(
      program.path 'read.py',
      [[
import glob, numpy, os, sys
for name in sorted(glob.glob(sys.argv[1] + '*.npy')):
    a = numpy.load(name, mmap_mode='r')
    print(os.path.basename(name), a.dtype, a.shape, a.tolist(), a.offset % 64)
]]
    )
    assert.equal(
      table.concat({
        'Byte.npy uint8 (3,) [1, 2, 100] 0',
        'Char.npy int8 (3,) [1, 2, 100] 0',
        'Double.npy float64 (3,) [1.0, 2.0, 100.0] 0',
        'Float.npy float32 (3,) [1.0, 2.0, 100.0] 0',
        'Half.npy float16 (3,) [1.0, 2.0, 100.0] 0',
        'Int.npy int32 (3,) [1, 2, 100] 0',
        'Long.npy int64 (3,) [1, 2, 100] 0',
        'Short.npy int16 (3,) [1, 2, 100] 0',
        'turned.npy float64 (3, 2) [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] 0',
        'turned.storage.npy float64 (6,) [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] 0',
      }, '\n'),
      support.sh(python .. ' ' .. quote(script) .. ' ' .. quote(folder))
    )
  end)
end)
