-- Saving safetensors, npy and npz files: every class and layout is loaded as it was saved, and files are those of the reference
-- libraries, byte for byte.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local generator = require 'spec.support.generator'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()
local DATA = 'tests/data/formats/'

-- A storage of `n` elements whose bytes are all different from their neighbours.
local function storage_of(T, n)
  local s = types.ENTRY[T].constructor(n)
  local bytes = s:view 'uint8'
  for i = 1, #bytes do
    bytes[i] = (i * 37 + 11) % 256
  end
  return s
end

-- A tensor without dimensions, which has one element.
local function scalar(T)
  return torch[T .. 'Tensor'](storage_of(T, 1), 1, {}, {})
end

-- The bytes of the elements of a tensor or storage in row-major order.
local function bytes_of(x)
  return torch.isTensor(x) and x:contiguous():string() or x:string()
end

-- Whether x is a tensor of this class, these sizes and these bytes.
local function assert_same(class, sizes, bytes, x)
  assert.equal(class, torch.type(x))
  assert.same(sizes, x:size():totable())
  assert.is_true(bytes == bytes_of(x), class .. ' has other bytes')
end

-- What loading gives for a value that was saved: the class, the sizes and the bytes.
local function expected(x)
  local class = torch.type(x):gsub('Storage$', 'Tensor'):gsub('Untyped', 'Byte')
  return class, torch.isTensor(x) and x:size():totable() or { #x }, bytes_of(x)
end

-- Elements that NumPy has no name for.
local UNNAMED = { BFloat16 = true, Float8_e4m3fn = true, Float8_e4m3fnuz = true, Float8_e5m2fnuz = true }

local function dtype_of(T)
  return UNNAMED[T] and ('torch.%sTensor'):format(T) or nil
end

-- Saves values by name in all formats that have their class, and checks what is loaded, by a map and as a copy.
local function round(T, values)
  local dtype = dtype_of(T)
  local function check(load)
    for _, mmap in ipairs { true, false } do
      local tensors = load { mmap = mmap, dtype = dtype }
      for name, value in pairs(values) do
        local class, sizes, bytes = expected(value)
        assert_same(class, sizes, bytes, tensors[name])
        tensors[name] = nil
      end
      assert.is_nil(next(tensors))
    end
  end
  torch.npz.save(path 'x', values)
  check(function(options)
    return torch.npz.load(path 'x', options)
  end)
  for name, value in pairs(values) do
    torch.npy.save(path(#name .. '.npy'), value)
  end
  check(function(options)
    local tensors = {}
    for name in pairs(values) do
      tensors[name] = torch.npy.load(path(#name .. '.npy'), options)
    end
    return tensors
  end)
  if T ~= 'ComplexDouble' then
    torch.safetensors.save(path 'x', values)
    check(function(options)
      return (torch.safetensors.load(path 'x', { mmap = options.mmap }))
    end)
  end
end

describe('saving and loading', function()
  support.cases('gives the same elements of %s', types.ENTRY, function(_, T)
    local s = storage_of(T, 24)
    if T == 'Untyped' then
      return round(T, { [''] = s, x = types.ENTRY[T].constructor(0) })
    end
    local x = s:view(2, 3, 4)
    -- The lengths of the names differ.
    round(T, {
      [''] = s,
      ['a'] = scalar(T),
      ['no'] = types.ENTRY[T].constructor(0),
      ['one'] = x,
      ['turn'] = x:transpose(1, 3),
      ['mixed'] = x:permute(2, 3, 1),
      ['a part'] = x:narrow(3, 2, 2),
      ['columns'] = x:select(3, 4),
      ['repeated'] = x:narrow(2, 1, 1):expand(2, 5, 4),
      ['é 数 😀'] = x:narrow(2, 1, 0),
      ['../x/rest'] = s:view(24):narrow(1, 6, 19),
    })
  end)

  it('keeps the order of Fortran in npy and npz', function()
    local x = storage_of('Float', 6):view(2, 3):t()
    torch.npy.save(path 'x.npy', x)
    assert.same({ 1, 3 }, torch.npy.load(path 'x.npy'):stride():totable())
    torch.npz.save(path 'x.npz', { x = x })
    assert.same({ 1, 3 }, torch.npz.load(path 'x.npz').x:stride():totable())
    torch.safetensors.save(path 'x', { x = x })
    assert.same({ 2, 1 }, torch.safetensors.load(path 'x').x:stride():totable())
  end)

  it('gives many tensors of any shape and name', function()
    local random = generator(17)
    for _ = 1, 20 do
      local tensors, count = {}, random(12) - 1
      for i = 1, count do
        local T = types.ALL[random(#types.ALL)]
        T = (T == 'Untyped' or T == 'ComplexDouble' or UNNAMED[T]) and 'Short' or T
        local sizes, elements = {}, 1
        for d = 1, random(5) - 1 do
          sizes[d] = random(6) - 1
          elements = elements * sizes[d]
        end
        local x = storage_of(T, elements + 3):view(elements + 3):narrow(1, 4, elements)
        x = #sizes > 0 and x:view(sizes) or scalar(T)
        if #sizes > 1 then
          x = x:transpose(random(#sizes), random(#sizes))
        end
        tensors[('x%d%s'):format(i, string.char(96 + random(20), 32 + random(90)))] = x
      end
      torch.safetensors.save(path 'x', tensors)
      torch.npz.save(path 'x.npz', tensors)
      for _, loaded in ipairs { torch.safetensors.load(path 'x'), torch.npz.load(path 'x.npz') } do
        for name, x in pairs(tensors) do
          local class, sizes, bytes = expected(x)
          assert_same(class, sizes, bytes, loaded[name])
          loaded[name] = nil
        end
        assert.is_nil(next(loaded))
      end
    end
  end)

  it('keeps metadata', function()
    local metadata = { format = 'pt', ['é"\n\0'] = '数', empty = '' }
    torch.safetensors.save(path 'x', {}, metadata)
    local tensors, got = torch.safetensors.load(path 'x')
    assert.same({}, tensors)
    assert.same(metadata, got)
    for _, none in ipairs { 'nil', {} } do
      torch.safetensors.save(path 'x', {}, none ~= 'nil' and none or nil)
      assert.equal('\8\0\0\0\0\0\0\0{}      ', support.slurp(path 'x'))
    end
  end)

  it('of 10,000 tensors is quick', function()
    local tensors = {}
    for i = 1, 10000 do
      tensors['layer.' .. i] = torch.FloatTensor(3)
    end
    local start = os.clock()
    torch.safetensors.save(path 'x', tensors)
    torch.npz.save(path 'x.npz', tensors)
    assert.is_true(os.clock() - start < 5)
    local loaded = torch.npz.load(path 'x.npz')
    assert.equal(3, loaded['layer.10000']:size(1))
  end)

  it('over the file from which the tensors were mapped is right', function()
    for _, format in ipairs { 'safetensors', 'npz' } do
      local file = path(format)
      torch[format].save(file, { a = storage_of('Int', 100), b = storage_of('Byte', 3) })
      local tensors = torch[format].load(file)
      tensors.a[{ 1 }] = 77
      torch[format].save(file, tensors)
      local again = torch[format].load(file)
      assert.equal(77, again.a[1])
      assert.equal(storage_of('Int', 100)[100], again.a[100])
    end
  end)
end)

describe('a saved file', function()
  it('is that of NumPy, byte for byte', function()
    for _, name in ipairs { 'saved.npz', 'fortran.npy', 'empty.npy', 'scalar.npy', 'v1.npy' } do
      local format = torch[name:match '%w+$']
      format.save(path 'copy', (format.load(DATA .. name)))
      assert.is_true(support.slurp(DATA .. name) == support.slurp(path 'copy'), name)
    end
    torch.npy.save(path 'copy', torch.npy.load(DATA .. 'bfloat16.npy', { dtype = 'bfloat16' }))
    assert.is_true(support.slurp(DATA .. 'bfloat16.npy') == support.slurp(path 'copy'))
  end)

  it('is that of safetensors, byte for byte', function()
    for _, name in ipairs { 'dtypes', 'net-00001-of-00002', 'net-00002-of-00002' } do
      local file = DATA .. name .. '.safetensors'
      local tensors, metadata = torch.safetensors.load(file)
      torch.safetensors.save(path 'copy', tensors, metadata)
      assert.is_true(support.slurp(file) == support.slurp(path 'copy'), name)
    end
  end)

  it('is the same whatever the order of the table is', function()
    local first
    for _, step in ipairs { 1, 3, 7, 9, 11 } do
      local tensors = {}
      for i = 1, 50 do
        local number = i * step % 50
        tensors['n' .. number * 7919 % 101] = torch.IntTensor { number }
      end
      torch.npz.save(path 'x', tensors)
      local npz = support.slurp(path 'x')
      torch.safetensors.save(path 'x', tensors)
      local both = npz .. support.slurp(path 'x')
      first = first or both
      assert.is_true(first == both)
    end
  end)

  it('goes to a pipe #process', function()
    local file = path 'pipe'
    local tensors = { a = torch.FloatStorage(1e6):fill(3), b = storage_of('Long', 5), ['é'] = torch.IntTensor { 7 } }
    support.sh('mkfifo ' .. file)
    for _, format in ipairs { 'npz', 'safetensors' } do
      local copy = path('copy.' .. format)
      support.sh(('(cat %s >%s.new && mv %s.new %s) >/dev/null 2>&1 &'):format(file, copy, copy, copy))
      torch[format].save(file, tensors)
      support.sh(('i=0; while [ ! -e %s ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done'):format(copy))
      for name, x in pairs((torch[format].load(copy, { mmap = false }))) do
        local class, sizes, bytes = expected(tensors[name])
        assert_same(class, sizes, bytes, x)
      end
    end
    assert.equal('fifo', support.sh('stat -c %F ' .. file))
  end)
end)
