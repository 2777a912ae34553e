-- examples/dump.lua with safetensors, npy and npz files, which the libraries of Python wrote, and its option --csv.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local program = require 'spec.support.converter'

local dump, listing, lines, saved = program.dump, program.listing, program.lines, program.saved

local FOLDER = 'tests/data/formats/'

describe('examples/dump.lua #process', function()
  setup(program.setup)
  teardown(program.teardown)

  it('prints the tensors and the metadata of a safetensors file', function()
    -- Interpreters round the last element, -40.25, to -40.2 or -40.3.
    local tree, title = listing(FOLDER .. 'shapes.safetensors', '--values', '5')
    assert.equal('safetensors, 4 tensors, 20 bytes', title)
    assert.equal(
      lines(
        'metadata: table, 3 entries',
        "  author: '\195\156n\195\175'",
        '  config: \'{"layers": [1, 2]}\'',
        "  step: '1200'",
        'table, 4 entries',
        "  ['embed/\208\178\208\181\209\129']: torch.BFloat16Tensor 2x3 (BF16), 12 bytes: 40.8 49.5 -14.3 47.5 126 ...",
        '  empty: torch.FloatTensor 2x0 (F32), 0 bytes',
        "  ['quote\"d']: torch.IntTensor 1 (I32), 4 bytes: 298207555",
        '  scalar: torch.FloatTensor scalar (F32), 4 bytes: 0.5'
      ),
      tree
    )
    tree = listing(FOLDER .. 'unaligned.safetensors', '--values', '1')
    assert.equal(
      lines(
        'table, 5 entries',
        '  a.bias: torch.ByteTensor 3 (U8), 3 bytes: 255 ...',
        '  b.weight: torch.FloatTensor 2x2 (F32), 16 bytes: -24.79075 ...',
        '  c.scale: torch.DoubleTensor 2 (F64), 16 bytes: 78.17762641108979 ...',
        '  d.steps: torch.LongTensor 1 (I64), 8 bytes: -8988997714394118174',
        '  e.half: torch.HalfTensor 2x1 (F16), 4 bytes: 6.867 ...'
      ),
      tree
    )
  end)

  it('prints every dtype', function()
    local tree = listing(FOLDER .. 'dtypes.safetensors')
    for _, line in ipairs {
      'bool: torch.BoolTensor 4 (BOOL), 4 bytes: 1 0 0 0',
      'complex64: torch.ComplexFloatTensor 4 (C64), 32 bytes: -0.0039348872+0.13269548j 0.45257512-0.79927063j ',
      'float64: torch.DoubleTensor 4 (F64), 32 bytes: 61.255345891273 62.104950077941545 ',
      'float8_e4m3fnuz: torch.Float8_e4m3fnuzTensor 4 (F8_E4M3FNUZ), 4 bytes: 52 -6.5 2 -0.406',
      'uint64: torch.UInt64Tensor 4 (U64), 32 bytes: 18446744073709551615 0 612326279873019259 10999583402977130004',
    } do
      assert.is_truthy(tree:find(line, 1, true), line .. '\n' .. tree)
    end
    -- Elements of 4 bits are bytes in memory.
    local header = '{"x":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}'
    local name =
      support.spit(program.path 'f4.safetensors', string.char(#header) .. ('\0'):rep(7) .. header .. '\1\2\3\4')
    assert.equal(lines('table, 1 entry', '  x: torch.ByteTensor 4 (F4 of 2x4), 4 bytes: 1 2 3 4'), (listing(name)))
  end)

  it('prints the tensors of all files of an index', function()
    local tree, title = listing(FOLDER .. 'net.safetensors.index.json')
    assert.equal('index of safetensors files, 3 tensors, 36 bytes', title)
    assert.equal(
      lines(
        'table, 3 entries',
        '  layer.1.w: torch.FloatTensor 2x2 (F32), 16 bytes: 1.10505 38.62182 41.701107 0.15627989',
        '  layer.2.b: torch.ShortTensor 2 (I16), 4 bytes: 32767 -26655',
        '  layer.2.w: torch.FloatTensor 2x2 (F32), 16 bytes: -55.038162 -0.7828231 -93.56338 -6.7990565'
      ),
      tree
    )
  end)

  it('prints npy and npz files', function()
    local tree, title = listing(FOLDER .. 'fortran.npy', '--values', '2')
    assert.equal('npy, 1 tensor, 48 bytes', title)
    assert.equal('torch.DoubleTensor 2x3, strides 1x2, 48 bytes: -25.31104765994843 -21.564877191128666 ...\n', tree)
    assert.equal('torch.IntTensor scalar, 4 bytes: -7\n', (listing(FOLDER .. 'scalar.npy')))
    assert.equal('torch.FloatTensor 0x4, 0 bytes\n', (listing(FOLDER .. 'empty.npy')))
    local bfloat16 = 'torch.BFloat16Tensor 3, 6 bytes: 70 -47.8 50.5\n'
    assert.equal(bfloat16, (listing(FOLDER .. 'bfloat16.npy', '--dtype', 'bfloat16')))
    tree, title = listing(FOLDER .. 'stored.npz')
    assert.equal('npz, 4 tensors, 53 bytes', title)
    assert.equal(
      lines(
        'table, 4 entries',
        '  flag: torch.BoolTensor scalar, 1 byte: 1',
        '  labels: torch.LongTensor 3, 24 bytes: 9223372036854775807 -9223372036854775808 7581032260598646198',
        '  weights: torch.FloatTensor 2x3, 24 bytes: 4.070235 16.58198 39.93149 -7.863665 -6.4702783 42.38164',
        "  ['\209\129\208\181\209\130\209\140/x']: torch.ByteTensor 2x2, 4 bytes: 255 0 172 126"
      ),
      tree
    )
  end)

  it('finds the format by the contents, whatever the name is', function()
    for _, name in ipairs { 'shapes.safetensors', 'v1.npy', 'stored.npz' } do
      local other = support.spit(program.path 'x.t7', support.slurp(FOLDER .. name))
      assert.equal((listing(FOLDER .. name)), (listing(other)))
    end
    -- The number 2^-n whose bytes look like the length of a header and its first bracket.
    local name = saved(tonumber '0x1.000000000007bp-1022' or 0.5)
    local _, title = listing(name)
    assert.equal('t7, binary, 8-byte longs, little endian', title)
  end)

  it('reports files that are refused in one line', function()
    local cases = {
      ['refused_cut.safetensors'] = "tensor 'weights'",
      ['refused_twice.safetensors'] = "the name 'w' is there twice",
      ['refused_object.npy'] = "an array of objects ('|O')",
      ['refused_shape.npy'] = '0 bytes are left',
      ['deflated.npz'] = "entry 'weights.npy'",
      ['bfloat16.npy'] = "name it, for example dtype='bfloat16'",
    }
    for name, expected in pairs(cases) do
      local output, errors, status = dump(FOLDER .. name)
      assert.same({ '', 1 }, { output, status })
      assert.is_truthy(errors:find('^dump: cannot load [^\n]+\n$'), errors)
      assert.is_truthy(errors:find(name, 1, true), errors)
      assert.is_truthy(errors:find(expected, 1, true), errors)
    end
    for name, bytes in pairs {
      ['x.npy'] = '',
      ['x.npz'] = 'PK',
      ['x.safetensors'] = '',
      ['x.safetensors.index.json'] = '[',
    } do
      local _, errors, status = dump(support.spit(program.path(name), bytes))
      assert.equal(1, status)
      assert.is_truthy(errors:find('^dump: [^\n]+\n$') and errors:find(name, 1, true), errors)
    end
  end)

  it('reads only what it prints of a large file', function()
    local bytes = 100 * 2 ^ 30
    local header = ('{"x":{"dtype":"F32","shape":[%.0f],"data_offsets":[0,%.0f]}}'):format(bytes / 4, bytes)
    local name = program.path 'large.safetensors'
    local file = assert(io.open(name, 'wb'))
    file:write(string.char(#header), ('\0'):rep(7), header, '\0\0\128\63')
    assert(file:seek('cur', bytes - 5))
    file:write '\0'
    file:close()
    local started = os.time()
    local line = ('  x: torch.FloatTensor %.0f (F32), %.0f bytes: 1 0 ...'):format(bytes / 4, bytes)
    assert.equal(lines('table, 1 entry', line), (listing(name, '--values', '2')))
    assert.is_true(os.time() - started <= 5)
    os.remove(name)
  end)

  describe('with --csv', function()
    local function csv(name, path)
      local output, errors, status = dump(name, '--csv', path)
      assert(errors == '' and status == 0, errors)
      return output
    end

    it('prints a line for each row', function()
      assert.equal(
        lines(
          '-25.31104765994843,-21.564877191128666,-10.377211401394353',
          '28.97918239554168,8.884318627852933,44.08390769540457'
        ),
        csv(FOLDER .. 'fortran.npy', 'fortran')
      )
      assert.equal('255,0\n172,126\n', csv(FOLDER .. 'stored.npz', '\209\129\208\181\209\130\209\140/x'))
      assert.equal('-7\n', csv(FOLDER .. 'scalar.npy', 'scalar'))
      assert.equal('', csv(FOLDER .. 'empty.npy', 'empty'))
      local cube = torch.IntStorage({ 1, 2, 3, 4, 5, 6, 7, 8 }):view(2, 2, 2)
      assert.equal('1,2\n3,4\n5,6\n7,8\n', csv(saved { cube }, '1'))
      -- One dimension is a column.
      assert.equal('32767\n-26655\n', csv(FOLDER .. 'net.safetensors.index.json', 'layer.2.b'))
    end)

    it('prints numbers from which the same elements are read', function()
      local texts = {
        Double = { 'nan', 'inf', '-inf', '-0', '0.1', '0.30000000000000004', '9007199254740991', '1e+300' },
        Float = { 'nan', '-inf', '0.1', '0.10000012', '1.1754944e-38', '16777216', '3.4028235e+38' },
        Half = { 'nan', '0.1', '65504', '5.96e-08', '-0.3333' },
        Long = { '-9223372036854775808', '9007199254740993' },
      }
      local numbers = { nan = 0 / 0, inf = 1 / 0, ['-inf'] = -1 / 0, ['-0'] = -1 / math.huge }
      for T, list in pairs(texts) do
        local storage = torch[T .. 'Storage'](#list)
        for i, shown in ipairs(list) do
          storage[i] = numbers[shown] or T == 'Long' and shown or tonumber(shown)
        end
        assert.equal(table.concat(list, '\n') .. '\n', csv(saved { x = storage }, 'x'))
      end
      assert.equal(
        '0.06428389+1.0858752j,1.8022804-3.0829468j\n-0.7216526+0.2006204j,1.2560731+0.4711147j\n',
        csv(FOLDER .. 'v3.npy', 'v3')
      )
    end)

    it('prints large tensors piece by piece', function()
      local storage = torch.IntStorage(50000)
      local expected = {}
      for i = 1, #storage do
        storage[i], expected[i] = i * i, ('%d'):format((i * i + 2 ^ 31) % 2 ^ 32 - 2 ^ 31)
      end
      assert.is_true(csv(saved { storage }, '1') == table.concat(expected, '\n') .. '\n')
    end)

    it('finds tensors and storages by their paths', function()
      local storage = torch.IntStorage { 1, 2, 3, 4 }
      local model = { layers = { { weight = storage:view(2, 2):t() } }, ['a.b'] = storage, cuda = 5 }
      model.self = model
      model.gpu =
        torch.record { class = 'torch.CudaIntTensor', storage = storage, size = { 2 }, stride = { -3 }, offset = 4 }
      local name = saved(model)
      assert.equal('1,3\n2,4\n', csv(name, 'layers.1.weight'))
      assert.equal('1\n2\n3\n4\n', csv(name, 'layers.1.weight.storage'))
      assert.equal('1\n2\n3\n4\n', csv(name, 'a.b'))
      assert.equal('4\n1\n', csv(name, 'gpu'))
      assert.equal('1\n2\n3\n4\n', csv(saved(storage), 'file'))
      local _, errors, status = dump(name, '--csv', 'cuda')
      assert.equal(('dump: %s has no tensor or storage with the path cuda\n'):format(name), errors)
      assert.equal(1, status)
      name = saved { a = { b = storage }, ['a.b'] = torch.IntStorage { 5 } }
      _, errors = dump(name, '--csv', 'a.b')
      assert.equal(('dump: %s has two tensors or storages with the path a.b\n'):format(name), errors)
    end)
  end)
end)
