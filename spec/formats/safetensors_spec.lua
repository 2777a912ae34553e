-- torch.safetensors.load: names, dtypes, shapes, indexes, and maps that are private.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local formats = require 'spec.support.formats'
local support = require 'spec.support'

local path = support.temporary()

-- Writes a file with one byte tensor for each name, whose element is the number of the name.
local function named(names)
  local tensors = {}
  for i, name in ipairs(names) do
    tensors[i] = { name = name, dtype = 'U8', shape = { 1 }, data = string.char(i) }
  end
  return support.spit(path 'f.safetensors', formats.safetensors(tensors))
end

describe('names', function()
  local NAMES = {
    '',
    'a',
    'a.b/c\\d"e',
    'слой.вес',
    '層',
    '\240\159\148\165',
    '\226\128\174rtl',
    '\1\2\31\127',
    '\0zero\0',
    'é',
    'e\204\129',
    ('long'):rep(10000),
  }

  it('may be any Unicode text', function()
    local name = named(NAMES)
    for _, mmap in ipairs { true, false } do
      local tensors = torch.safetensors.load(name, { mmap = mmap })
      local file = torch.safetensors.open(name)
      for i, key in ipairs(NAMES) do
        assert.equal(i, tensors[key][1])
        assert.equal(i, file:get(key)[1])
        assert.equal(1, file:info(key).bytes)
      end
      assert.equal(#NAMES, #file)
    end
  end)

  it('are sorted by their bytes', function()
    local sorted = {}
    for i, name in ipairs(NAMES) do
      sorted[i] = name
    end
    table.sort(sorted, function(a, b)
      local i = 1
      while a:byte(i) and a:byte(i) == b:byte(i) do
        i = i + 1
      end
      return (a:byte(i) or -1) < (b:byte(i) or -1)
    end)
    assert.same(sorted, torch.safetensors.open(named(NAMES)):keys())
  end)

  it('select tensors, and a missing one is an error', function()
    local name = named { 'a', 'b', 'c', 'd', 'e', 'f', 'g' }
    local tensors, metadata = torch.safetensors.load(name, { names = { 'g', 'b', 'b' } })
    assert.equal(7, tensors.g[1])
    assert.equal(2, tensors.b[1])
    assert.is_nil(tensors.a)
    assert.same({}, metadata)
    assert.same({}, (torch.safetensors.load(name, { names = {} })))
    local wanted = "no tensor 'x\\0' in '" .. name .. "', which has 'a', 'b', 'c', 'd', 'e' and 2 more"
    support.fails(wanted, torch.safetensors.load, name, { names = { 'a', 'x\0' } })
    support.fails(wanted, torch.safetensors.open(name).get, torch.safetensors.open(name), 'x\0')
    support.fails('which has none', torch.safetensors.load, named {}, { names = { 'a' } })
  end)
end)

describe('dtypes without a class', function()
  it('are bytes, and info tells what the file says', function()
    local name = support.spit(
      path 'f.safetensors',
      formats.safetensors {
        { name = 'scale', dtype = 'F8_E8M0', shape = { 2, 3 }, data = 'abcdef' },
        { name = 'four', dtype = 'F4', shape = { 2, 4 }, data = '\1\2\3\4' },
        { name = 'six', dtype = 'F6_E2M3', shape = { 4 }, data = '\5\6\7' },
        { name = 'other', dtype = 'F6_E3M2', shape = { 2, 4 }, data = '\1\2\3\4\5\6' },
      }
    )
    local file = torch.safetensors.open(name)
    local wanted = {
      scale = { 'F8_E8M0', '2x3', 6, '2x3', '616263646566' },
      four = { 'F4', '2x4', 4, '4', '01020304' },
      six = { 'F6_E2M3', '4', 3, '3', '050607' },
      other = { 'F6_E3M2', '2x4', 6, '6', '010203040506' },
    }
    for _, mmap in ipairs { true, false } do
      local tensors = torch.safetensors.load(name, { mmap = mmap })
      for key, row in pairs(wanted) do
        local info, x = file:info(key), tensors[key]
        assert.same({ row[1], row[2], row[3] }, { info.dtype, table.concat(info.shape, 'x'), info.bytes })
        assert.equal('torch.ByteTensor', info.class)
        assert.equal('torch.ByteTensor', torch.type(x))
        assert.equal(row[4], formats.sizes(x))
        assert.equal(row[5], formats.hex(x))
        assert.is_true(x:equal(file:get(key)))
      end
    end
  end)
end)

describe('shapes', function()
  it('may have no dimensions, sizes of 0, and up to 64 dimensions', function()
    local many = {}
    for i = 1, 64 do
      many[i] = i == 30 and 2 or 1
    end
    local name = support.spit(
      path 'f.safetensors',
      formats.safetensors {
        { name = 'scalar', dtype = 'F64', shape = {}, data = ('\0'):rep(8) },
        { name = 'none', dtype = 'I16', shape = { 0 }, data = '' },
        { name = 'empty', dtype = 'F32', shape = { 3, 0, 2 }, data = '' },
        { name = 'many', dtype = 'U8', shape = many, data = 'xy' },
        { name = 'seven', dtype = 'U8', shape = { 1, 1, 1, 1, 1, 1, 2 }, data = 'xy' },
      }
    )
    for _, mmap in ipairs { true, false } do
      local tensors = torch.safetensors.load(name, { mmap = mmap })
      assert.equal(0, tensors.scalar:nDimension())
      assert.equal(0, tensors.scalar:totable())
      assert.equal('0', formats.sizes(tensors.none))
      assert.equal('3x0x2', formats.sizes(tensors.empty))
      assert.equal(0, tensors.empty:nElement())
      assert.equal(64, tensors.many:nDimension())
      assert.equal(121, tensors.many:view(2)[2])
      assert.equal(121, tensors.seven:view(2)[2])
    end
    assert.same({}, torch.safetensors.open(name):info('scalar').shape)
    assert.same({ 3, 0, 2 }, torch.safetensors.open(name):info('empty').shape)
  end)
end)

describe('a map', function()
  it('is private, and one for all tensors of a file', function()
    local name = named { 'a', 'b', 'c' }
    local bytes = support.slurp(name)
    local maps = support.mappings(name)
    local tensors = torch.safetensors.load(name)
    assert.equal(maps + 1, support.mappings(name))
    tensors.a[1] = 77
    tensors.b:fill(78)
    assert.is_true(tensors.c:storage():isMapped())
    assert.equal(name, tensors.c:storage():filename())
    assert.equal(bytes, support.slurp(name))
    assert.equal(1, torch.safetensors.load(name).a[1])
    local copy = torch.safetensors.load(name, { mmap = false })
    assert.is_false(copy.a:storage():isMapped())
    assert.equal(3, copy.c[1])
    copy.c[1] = 9
    assert.equal(3, tensors.c[1])
    local c = tensors.c
    tensors = nil -- luacheck: ignore
    support.collect()
    assert.equal(3, c[1])
    assert.equal(maps + 1, support.mappings(name))
    c = nil -- luacheck: ignore
    support.collect()
    assert.equal(maps, support.mappings(name))
  end)

  it('keeps the file that was opened', function()
    local name = named { 'a' }
    local tensors = torch.safetensors.load(name)
    os.remove(name)
    support.spit(name, 'another file')
    assert.equal(1, tensors.a[1])
  end)
end)

describe('an index', function()
  local function index(shards, map)
    for name, names in pairs(shards) do
      local tensors = {}
      for i, key in ipairs(names) do
        tensors[i] = { name = key, dtype = 'U8', shape = { 1 }, data = name:sub(1, 1) }
      end
      support.spit(path(name), formats.safetensors(tensors, { shard = name, [name] = 'x' }))
    end
    local entries = {}
    for key, name in pairs(map) do
      entries[#entries + 1] = ('%q:%q'):format(key, name)
    end
    local text = '{"metadata":{"total_size":3},"weight_map":{' .. table.concat(entries, ',') .. '}}'
    return support.spit(path 'net.safetensors.index.json', text)
  end

  it('loads the tensors that it names, each file mapped once', function()
    local shards = { ['1.safetensors'] = { 'a', 'c', 'left out' }, ['2.safetensors'] = { 'b', 'd' } }
    local map = { a = '1.safetensors', c = '1.safetensors', b = '2.safetensors', d = '2.safetensors' }
    local name = index(shards, map)
    for _, mmap in ipairs { true, false } do
      local tensors, metadata = torch.safetensors.load(name, { mmap = mmap })
      assert.equal('49 50 49 50', tensors.a[1] .. ' ' .. tensors.b[1] .. ' ' .. tensors.c[1] .. ' ' .. tensors.d[1])
      assert.is_nil(tensors['left out'])
      assert.same({ shard = '1.safetensors', ['1.safetensors'] = 'x', ['2.safetensors'] = 'x' }, metadata)
      assert.equal(mmap and 2 or 0, support.mappings '/%d.safetensors')
      tensors = nil -- luacheck: ignore
      support.collect()
    end
    assert.equal(0, support.mappings '/%d.safetensors')
    local some = torch.safetensors.load(name, { names = { 'd' } })
    assert.equal(50, some.d[1])
    assert.is_nil(some.a)
    local file = torch.safetensors.open(name)
    assert.same({ 'a', 'b', 'c', 'd' }, file:keys())
    assert.equal(50, file:get('b')[1])
    assert.equal('1.safetensors', file:metadata().shard)
    support.fails("no tensor 'left out'", file.get, file, 'left out')
  end)

  it('names a shard that is missing, or that lacks a tensor', function()
    local name = index({ ['1.safetensors'] = { 'a' } }, { a = '1.safetensors', b = '2.safetensors' })
    support.fails("'" .. path '2.safetensors' .. "': No such file", torch.safetensors.load, name)
    name = index({ ['1.safetensors'] = { 'a' } }, { a = '1.safetensors', b = '1.safetensors' })
    support.fails("'" .. name .. "'", torch.safetensors.load, name)
    support.fails("(tensor 'b')", torch.safetensors.open, name)
    support.spit(path '1.safetensors', 'broken')
    support.fails("'" .. path '1.safetensors' .. "'", torch.safetensors.open, name)
  end)
end)

describe('10,000 tensors', function()
  it('are all there', function()
    local tensors = {}
    for i = 1, 10000 do
      tensors[i] =
        { name = ('layer.%d.weight'):format(i), dtype = 'I32', shape = { 2, 1 }, data = formats.number(i, 8) }
    end
    local name = support.spit(path 'f.safetensors', formats.safetensors(tensors))
    for _, mmap in ipairs { true, false } do
      local loaded = torch.safetensors.load(name, { mmap = mmap })
      for i = 1, 10000 do
        local x = loaded[('layer.%d.weight'):format(i)]
        assert(x[1][1] == i and x[2][1] == 0)
      end
    end
    assert.equal(10000, #torch.safetensors.open(name))
  end)
end)
