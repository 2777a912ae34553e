-- examples/convert.lua, run as by a user: between all formats that fit, and what does not fit.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local program = require 'spec.support.converter'

local convert, path = program.convert, program.path

local FOLDER = 'tests/data/formats/'

-- What is in a file, by the library's own functions.
local function load(name)
  if name:find '%.t7$' then
    return torch.load(name)
  end
  return torch[name:match '%.(%a+)$'].load(name, { mmap = false })
end

-- Converts, which must succeed. Returns what is in the new file, and what the program says about it.
local function converted(source, target, ...)
  local output, errors, status = convert(source, path(target), ...)
  assert(output == '' and status == 0, errors)
  return load(path(target)), errors
end

local function fails(expected, wanted, ...)
  local output, errors, status = convert(...)
  assert.same({ '', wanted }, { output, status }, errors)
  assert.is_truthy(errors:find '^convert: [^\n]+\n$', errors)
  assert.is_truthy(errors:find(expected, 1, true), errors)
end

local function same(expected, got)
  assert.equal(torch.typename(expected), torch.typename(got))
  assert.same(expected:size():totable(), got:size():totable())
  assert.is_true(expected:equal(got))
end

local function same_tables(expected, got)
  local names = {}
  for name in pairs(got) do
    names[name] = true
  end
  for name, tensor in pairs(expected) do
    same(tensor, got[name])
    names[name] = nil
  end
  assert.same({}, names)
end

local function tensors()
  return {
    ['layer.1.weight'] = torch.FloatStorage({ 1, 2, 3, 4, 5, 6 }):view(2, 3):t(),
    ['layer.1.bias'] = torch.HalfStorage({ 0.1, -2 }):view(2),
    steps = torch.LongStorage({ '9007199254740993', '-9223372036854775808' }):view(1, 2),
    none = torch.DoubleTensor(0, 3),
    image = torch.ByteStorage({ 1, 2, 3, 4, 5, 6, 7, 255 }):view(2, 2, 2):transpose(1, 3),
  }
end

local SAVE = {
  t7 = torch.save,
  safetensors = torch.safetensors.save,
  npz = torch.npz.save,
  npy = function(name, object)
    torch.npy.save(name, select(2, next(object)))
  end,
}

describe('examples/convert.lua #process', function()
  setup(program.setup)
  teardown(program.teardown)

  for _, source in ipairs { 't7', 'safetensors', 'npz' } do
    for _, target in ipairs { 't7', 'safetensors', 'npz' } do
      it(('converts %s to %s'):format(source, target), function()
        local expected = tensors()
        if source == 't7' or target == 't7' then
          expected.none = nil -- a .t7 file has no sizes of a tensor without elements
        end
        SAVE[source](path('in.' .. source), expected)
        local got, notes = converted(path('in.' .. source), 'out.' .. target)
        same_tables(expected, got)
        assert.equal('', notes)
      end)
    end
  end

  it('converts one tensor from and to npy', function()
    local x = torch.IntStorage({ 1, -2, 3, 4, 5, 6 }):view(2, 3)
    torch.npy.save(path 'x.npy', x)
    same(x, (converted(path 'x.npy', 'x.t7')))
    same(x, (converted(path 'x.t7', 'y.npy')))
    same_tables({ x = x }, (converted(path 'x.npy', 'x.safetensors')))
    same_tables({ x = x }, (converted(path 'x.t7', 'x.npz')))
    same_tables({ ['a.b'] = x }, (converted(path 'x.npy', 'x.npz', '--name', 'a.b')))
    same(x, (converted(path 'x.npz', 'z.npy')))
    same(x, (converted(path 'x.safetensors', 'z.npy')))
    same(x, (converted(path 'x.npy', 'z.npy')))
  end)

  it('converts files of the libraries of Python', function()
    local got = converted(FOLDER .. 'net.safetensors.index.json', 'net.safetensors')
    same_tables(torch.safetensors.load(FOLDER .. 'net.safetensors.index.json'), got)
    same_tables(got, (converted(FOLDER .. 'net.safetensors.index.json', 'net.npz')))
    same_tables(torch.npz.load(FOLDER .. 'stored.npz'), (converted(FOLDER .. 'stored.npz', 'stored.safetensors')))
    got = converted(FOLDER .. 'fortran.npy', 'fortran.npz')
    same(torch.npy.load(FOLDER .. 'fortran.npy'), got.fortran)
    same(torch.npy.load(FOLDER .. 'big_endian.npy'), (converted(FOLDER .. 'big_endian.npy', 'order.t7')))
    same_tables(
      torch.safetensors.load(FOLDER .. 'unaligned.safetensors'),
      (converted(FOLDER .. 'unaligned.safetensors', 'unaligned.t7'))
    )
    local bfloat16 = converted(FOLDER .. 'bfloat16.npy', 'b.safetensors', '--dtype', 'bfloat16')
    same(torch.BFloat16Storage({ 70, -47.75, 50.5 }):view(3), bfloat16.bfloat16)
  end)

  it('takes one tensor by its name', function()
    local x = converted(FOLDER .. 'stored.npz', 'labels.npy', '--name', 'labels')
    same(torch.npz.load(FOLDER .. 'stored.npz').labels, x)
    local got = converted(FOLDER .. 'stored.npz', 'one.safetensors', '--name', 'weights')
    same_tables({ weights = torch.npz.load(FOLDER .. 'stored.npz').weights }, got)
    fails('stored.npz has no tensor or storage with the path x', 1, FOLDER .. 'stored.npz', path 'x.npy', '--name', 'x')
    fails('stored.npz has 4: --name NAME takes one', 1, FOLDER .. 'stored.npz', path 'x.npy')
  end)

  describe('names what is in a .t7 file after its path:', function()
    it('tables, objects, storages and CUDA tensors', function()
      local storage = torch.FloatStorage { 1, 2, 3, 4 }
      local matrix = storage:view(2, 2)
      torch.save(path 'model.t7', {
        torch.record { class = 'nn.Linear', fields = { weight = matrix, bias = matrix[1] } },
        gpu = torch.record {
          class = 'torch.CudaTensor',
          storage = storage,
          size = { 2 },
          stride = { -2 },
          offset = 4,
        },
        bare = storage,
      })
      same_tables({
        ['1.weight'] = matrix,
        ['1.bias'] = matrix[1],
        gpu = torch.FloatStorage({ 4, 2 }):view(2),
        bare = storage:view(4),
      }, (converted(path 'model.t7', 'model.safetensors')))
      same_tables({ ['1.bias'] = matrix[1] }, (converted(path 'model.t7', 'model.npz', '--name', '1.bias')))
    end)

    it('other values are errors, or are left out', function()
      local x = torch.IntStorage({ 7 }):view(1)
      local object = { x = x, list = { x }, epoch = 7, name = 'net' }
      object.again, object.self = object.list, object
      torch.save(path 'object.t7', object)
      local expected = 'OUT cannot hold 4 values of %s, such as epoch (a number): --skip leaves out what it cannot hold'
      fails(expected:format(path 'object.t7'), 1, path 'object.t7', path 'object.npz')
      local got, notes = converted(path 'object.t7', 'object.npz', '--skip')
      assert.equal('convert: 4 values left out, such as epoch (a number)\n', notes)
      assert.equal(x:get(1), got.x:get(1))
      assert.is_truthy(got['again.1'] and not got['list.1'], 'a table that is there twice has its first path')
      torch.save(path 'object.t7', 'text')
      fails('object (a string)', 1, path 'object.t7', path 'object.safetensors')
    end)

    it('two tensors with one path are an error', function()
      local x = torch.IntStorage({ 7 }):view(1)
      torch.save(path 'twice.t7', { a = { b = x }, ['a.b'] = x })
      fails('twice.t7 has two tensors with the path a.b', 1, path 'twice.t7', path 'twice.npz')
      local deep = x
      for _ = 1, 600 do
        deep = { deep }
      end
      torch.save(path 'deep.t7', deep)
      fails('deep.t7 has a path of more than 1000 bytes', 1, path 'deep.t7', path 'deep.npz')
    end)

    it('another .t7 file has everything', function()
      local object = torch.record { class = 'nn.Sequential', fields = { train = true, { 'text', 5 } } }
      torch.save(path 'object.t7', { object, object }, 'ascii')
      local got = converted(path 'object.t7', 'copy.t7')
      assert.equal(got[1], got[2])
      assert.same({ 'nn.Sequential', true, 'text' }, { got[1].class, got[1].fields.train, got[1].fields[1][1] })
    end)
  end)

  it('keeps metadata, and says what the new file does not have', function()
    converted(FOLDER .. 'shapes.safetensors', 'shapes.safetensors')
    local _, metadata = torch.safetensors.load(path 'shapes.safetensors')
    assert.equal('1200', metadata.step)
    local _, errors, status = convert(FOLDER .. 'shapes.safetensors', path 'shapes.npz')
    assert.equal(0, status)
    assert.equal(
      program.lines(
        'convert: the metadata is left out, because only safetensors files have metadata',
        "convert: the type of 'embed/\208\178\208\181\209\129' is not in the file: load it with the dtype bfloat16"
      ),
      errors
    )
    local got = torch.npz.load(path 'shapes.npz', { dtype = 'bfloat16' })
    same_tables(torch.safetensors.load(FOLDER .. 'shapes.safetensors'), got)
    local header = '{"x":{"dtype":"F8_E8M0","shape":[2,2],"data_offsets":[0,4]}}'
    header = string.char(#header) .. ('\0'):rep(7) .. header
    support.spit(path 'e8.safetensors', header .. '\1\2\3\4')
    got, errors = converted(path 'e8.safetensors', 'e8-2.safetensors')
    assert.equal('convert: x has elements of type F8_E8M0, which become bytes\n', errors)
    same(torch.ByteStorage({ 1, 2, 3, 4 }):view(2, 2), got.x)
  end)

  it('shows its progress', function()
    local _, errors, status = convert(FOLDER .. 'dtypes.safetensors', path 'dtypes.safetensors', '--progress')
    assert.equal(0, status)
    assert.is_truthy(errors:find('100%% of 0.0 MiB\n$'), errors)
    assert.equal('', select(2, convert(FOLDER .. 'dtypes.safetensors', path 'dtypes.safetensors')))
  end)

  describe('reports in one line', function()
    it('what the new file cannot hold, and keeps the old one', function()
      local x = torch.ComplexDoubleStorage({ { re = 1, im = 2 } }):view(1)
      torch.npz.save(path 'c.npz', { a = torch.IntStorage { 1 }, x = x })
      support.sh('mkdir ' .. path 'old')
      for _, target in ipairs { 'old/x.safetensors', 'old/x.t7' } do
        support.spit(path(target), 'the old file')
        fails('x', 1, path 'c.npz', path(target))
        assert.equal('the old file', support.slurp(path(target)))
      end
      fails('ComplexDouble', 1, path 'c.npz', path 'old/x.t7')
      fails('complex numbers of 16 bytes', 1, path 'c.npz', path 'old/x.safetensors')
      fails('torch.BoolTensor', 1, FOLDER .. 'dtypes.safetensors', path 'old/x.t7', '--name', 'bool')
      assert.equal('x.safetensors\nx.t7', support.sh('ls -A ' .. path 'old'))
    end)

    it('files that are refused', function()
      for _, name in ipairs {
        'refused_cut.safetensors',
        'refused_twice.safetensors',
        'refused_object.npy',
        'refused_shape.npy',
        'deflated.npz',
        'bfloat16.npy',
      } do
        fails(name, 1, FOLDER .. name, path 'refused.npz')
        assert.is_nil((io.open(path 'refused.npz')))
      end
      fails('No such file', 1, path 'missing.npy', path 'x.npz')
      fails('README.md is not a .t7, safetensors, npy or npz file', 1, 'README.md', path 'x.npz')
      fails('No such file', 1, FOLDER .. 'v1.npy', path 'no folder/x.npz')
    end)

    it('wrong arguments', function()
      fails('give two files, IN and OUT', 2)
      fails('give two files, IN and OUT', 2, 'a.npy')
      fails('give two files, IN and OUT', 2, 'a.npy', 'b.npy', 'c.npy')
      fails('b.txt does not end in .t7, .safetensors, .npy or .npz', 2, 'a.npy', 'b.txt')
      fails('x.safetensors.index.json does not end in', 2, 'a.npy', 'x.safetensors.index.json')
      fails('there is no option --what', 2, 'a.npy', 'b.npy', '--what')
      fails('--name needs the name of a tensor', 2, 'a.npy', 'b.npy', '--name')
    end)
  end)

  it('explains itself', function()
    local output, errors, status = convert '--help'
    assert.is_truthy(output:find '^convert.lua IN OUT %[OPTIONS%] converts between .t7, .safetensors')
    assert.same({ '', 0 }, { errors, status })
  end)
end)
