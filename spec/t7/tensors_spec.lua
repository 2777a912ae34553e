-- Tensors in .t7 files: they are loaded and saved as tensors, and share their storages again.
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'
local tree = require 'spec.support.tree'
local types = require 'spec.support.types'

local MODES = { 'binary', 'ascii', 'b32' }

-- Loads the bytes that `build` makes in every format. In formats that can be written, the object is saved with the same bytes.
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

local function shape(x)
  return { x:size():totable(), x:stride():totable(), x:storageOffset() }
end

-- The object after it was saved and loaded, in each mode.
local function again(object)
  local i = 0
  return function()
    i = i + 1
    if MODES[i] then
      return torch.deserialize(torch.serialize(object, MODES[i]), MODES[i]), MODES[i]
    end
  end
end

local function ints(n)
  local list = {}
  for i = 1, n do
    list[i] = i
  end
  return torch.IntStorage(list)
end

describe('a tensor in a file', function()
  it('of any class of Torch7 is loaded as a tensor and saved with the same bytes', function()
    for _, T in ipairs(types.TORCH7) do
      loads(function(f)
        return f.tensor(1, ('torch.%sTensor'):format(T), { 2, 3 }, { 3, 1 }, 1, f.storage(2, T, { 1, 2, 3, 4, 5, 6 }))
      end, function(x)
        assert.equal(('torch.%sTensor'):format(T), torch.type(x))
        assert.is_true(torch.isTensor(x))
        assert.is_false(torch.isRecord(x))
        assert.same({ { 2, 3 }, { 3, 1 }, 1 }, shape(x))
        assert.same({ 1, 2, 3, 4, 5, 6 }, x:storage():totable())
        assert.equal(6, x:get(2, 3))
        x:set(2, 3, 7)
        assert.equal(7, x:storage()[6])
        x:set(2, 3, 6)
      end)
    end
  end)

  it('keeps its offset and its strides, also strides of 0 and negative ones', function()
    for _, case in ipairs {
      { { 3, 2 }, { 1, 3 }, 1 },
      { { 2 }, { 2 }, 3 },
      { { 3, 2 }, { 0, 1 }, 5 },
      { { 2, 3 }, { -3, -1 }, 6 },
      { { 1, 1, 1 }, { 100, -7, 0 }, 6 },
      { { 0, 3 }, { 7, -1 }, 4 },
      { { 2, 0, 5 }, { 0, 0, 0 }, 1 },
    } do
      loads(function(f)
        return f.tensor(1, 'torch.IntTensor', case[1], case[2], case[3], f.storage(2, 'Int', { 1, 2, 3, 4, 5, 6 }))
      end, function(x)
        assert.same(case, shape(x))
        assert.equal(6, #x:storage())
      end)
    end
  end)

  it('may have 64 dimensions', function()
    local sizes, strides = {}, {}
    for i = 1, 64 do
      sizes[i], strides[i] = 1, i
    end
    sizes[64] = 2
    loads(function(f)
      return f.tensor(1, 'torch.IntTensor', sizes, strides, 1, f.storage(2, 'Int', ints(65):totable()))
    end, function(x)
      assert.same({ sizes, strides, 1 }, shape(x))
    end)
  end)

  it('without dimensions is one dimension of size 0', function()
    loads(function(f)
      return f.tensor(1, 'torch.FloatTensor', {}, {}, 1, f.null)
    end, function(x)
      assert.same({ { 0 }, { 1 }, 1 }, shape(x))
      assert.is_nil(x:storage())
    end)
    loads(function(f)
      return f.tensor(1, 'torch.IntTensor', {}, {}, 3, f.storage(2, 'Int', { 7, 8 }))
    end, function(x)
      assert.same({ { 0 }, { 1 }, 3 }, shape(x))
      assert.same({ 7, 8 }, x:storage():totable())
    end)
  end)

  it('without elements needs no storage', function()
    loads(function(f)
      return f.tensor(1, 'torch.IntTensor', { 2, 0 }, { 1, 1 }, 1, f.null)
    end, function(x)
      assert.same({ { 2, 0 }, { 1, 1 }, 1 }, shape(x))
      assert.is_nil(x:storage())
    end)
  end)

  it('of another version is a tensor all the same', function()
    for _, name in ipairs(made.NAMES) do
      local f = made.formats[name]
      local x = torch.deserialize(
        f.head(1, 'torch.IntTensor', 3) .. f.int(1) .. f.long(1) .. f.long(1) .. f.long(1) .. f.storage(2, 'Int', { 9 })
      )
      assert.equal(9, x:get(1))
      local old = f.head(1, 'torch.IntTensor', false) .. f.int(0) .. f.long(1) .. f.null
      assert.same({ 0 }, torch.deserialize(old):size():totable())
    end
  end)

  it('shares its storage with others and with the storage itself, and may occur twice', function()
    loads(function(f)
      local first = f.tensor(2, 'torch.IntTensor', { 2, 2 }, { 2, 1 }, 1, f.storage(3, 'Int', { 1, 2, 3, 4 }))
      local second = f.tensor(4, 'torch.IntTensor', { 2 }, { 2 }, 2, f.reference(made.TORCH, 3))
      return f.table(1, { first, second, f.reference(made.TORCH, 2), f.reference(made.TORCH, 3) })
    end, function(t)
      assert.is_true(rawequal(t[1], t[3]))
      assert.is_true(t[1]:storage() == t[2]:storage() and t[4] == t[1]:storage())
      t[1]:set(2, 2, 40)
      assert.equal(40, t[2]:get(2))
      assert.equal(40, t[4][4])
      t[4][4] = 4
    end)
  end)

  it('may be the key of a table, and inside objects of unknown classes', function()
    loads(function(f)
      local x = f.tensor(3, 'torch.IntTensor', { 1 }, { 1 }, 1, f.storage(4, 'Int', { 5 }))
      return f.head(1, 'nn.Linear') .. f.pairs(2, { x, f.string 'key', f.string 'weight', f.reference(made.TORCH, 3) })
    end, function(t)
      assert.equal(5, t.fields.weight:get(1))
      assert.equal('key', t.fields[t.fields.weight])
    end)
  end)

  it('is over the map if the file is mapped', function()
    local path = support.temporary()
    local name = path 'mapped.t7'
    local s = torch.DoubleStorage { 1, 2, 3, 4, 5, 6 }
    torch.save(name, { 'x', s:view(2, 3), s:view(2, 3):t() })
    local bytes = support.slurp(name)
    collectgarbage()
    collectgarbage()
    local before = torch.memory()
    local t = torch.load(name, { mmap = true })
    assert.equal(before.heap, torch.memory().heap)
    assert.is_true(torch.memory().mapped > before.mapped)
    assert.equal(6, t[2]:get(2, 3))
    t[2]:set(2, 3, 60)
    assert.equal(60, t[3]:get(3, 2))
    assert.equal(bytes, support.slurp(name))
    assert.equal(6, torch.load(name, { mmap = true })[2]:get(2, 3))
  end)
end)

describe('a tensor that is saved', function()
  it('is the same afterwards', function()
    local s = ints(24)
    for _, x in ipairs {
      s:view(4, 6),
      s:view(2, 3, 4),
      s:view(4, 6):t(),
      s:view(4, 6):narrow(2, 2, 3),
      s:view(4, 6):select(1, 3),
      s:view(24, 1):expand(24, 5),
      s:view(-1):unfold(1, 4, 2),
      torch.IntTensor(s, 24, { 5 }, { -2 }),
    } do
      for back, mode in again(x) do
        assert.equal(tree(x), tree(back), mode)
      end
    end
  end)

  it('as a scalar has one dimension of size 1 in the file', function()
    local s = torch.DoubleStorage { 2, 3 }
    local x = s:view(2):narrow(1, 2, 1):view(torch.LongStorage())
    assert.equal(0, x:dim())
    for back in again(x) do
      assert.same({ { 1 }, { 1 }, 2 }, shape(back))
      assert.equal(3, back:get(1))
    end
  end)

  it('with one dimension of size 0 has no dimension in the file', function()
    local f = made.formats.b64
    local function none(offset, storage)
      return f.tensor(1, 'torch.IntTensor', {}, {}, offset, storage)
    end
    assert.equal(none(1, f.null), torch.serialize(torch.IntTensor()))
    assert.equal(none(1, f.null), torch.serialize(torch.IntTensor(0)))
    local s = torch.IntStorage { 7, 8 }
    assert.equal(none(1, f.storage(2, 'Int', { 7, 8 })), torch.serialize(torch.IntTensor(s, 1, { 0 })))
    assert.equal(none(3, f.storage(2, 'Int', { 7, 8 })), torch.serialize(s:view(-1):narrow(1, 3, 0)))
    assert.equal(none(1, f.storage(2, 'Int', {})), torch.serialize(torch.IntStorage():view(-1)))
    assert.equal(
      f.tensor(1, 'torch.IntTensor', { 0, 3 }, { 3, 1 }, 1, f.null),
      torch.serialize(torch.IntTensor():view(0, 3))
    )
  end)

  it('shares its storage with what else is saved, whichever comes first', function()
    local s = ints(6)
    local x = s:view(2, 3)
    for _, object in ipairs { { x, x, x:t(), s, s:view(-1) }, { s, x, x, x[1] }, { { x }, { s }, { x:storage() } } } do
      for back in again(object) do
        assert.equal(tree(object), tree(back))
      end
      assert.equal(1, select(2, torch.serialize(object):gsub('torch.IntStorage', '')))
    end
  end)

  it('is written again each time where objects are not referred to', function()
    local x = ints(2):view(-1)
    local bytes = torch.serialize({ x, x }, { referenced = false })
    assert.equal(2, select(2, bytes:gsub('torch.IntTensor', '')))
    assert.equal(2, select(2, bytes:gsub('torch.IntStorage', '')))
    local back = torch.deserialize(bytes)
    assert.is_false(back[1] == back[2] or back[1]:storage() == back[2]:storage())
  end)

  it('holds its storage after the storage was freed', function()
    local s = ints(3)
    local x = s:view(-1)
    s:free()
    for back in again { x } do
      assert.equal(3, back[1]:get(3))
    end
  end)

  it('must still have all its elements in its storage', function()
    local s = ints(6)
    local x = s:view(2, 3)
    s:resize(5)
    local why = 'cannot save a torch.IntTensor at layers.1: '
      .. 'the tensor of 2 x 3 with strides 3, 1 uses elements 1 to 6 of its storage, which has 5'
    support.fails(why, torch.serialize, { layers = { x } })
    s:resize(6)
    s[6] = 6
    for back in again(x) do
      assert.equal(tree(x), tree(back))
    end
  end)

  it('must be of a class that Torch7 has', function()
    local instead = {
      BFloat16 = 'x:float()',
      UInt16 = 'x:int()',
      UInt32 = 'x:long()',
      UInt64 = "x:view('int64')",
      Bool = "x:view('uint8')",
      ComplexFloat = "x:view('float32')",
    }
    for T, code in pairs(instead) do
      local x = torch[T .. 'Storage'](2):view(2)
      local why = ('cannot save a torch.%sTensor at a: Torch7 has no such class; save %s instead'):format(T, code)
      support.fails(why, torch.serialize, { a = x })
    end
    -- An object of such a class in a file is one of an unknown class.
    for T in pairs(instead) do
      local name = ('torch.%sTensor'):format(T)
      local loaded = torch.deserialize(torch.serialize(torch.record { class = name, version = 1, fields = { x = 5 } }))
      assert.is_true(torch.isRecord(loaded))
      assert.same({ name, { x = 5 } }, { loaded.class, loaded.fields })
    end
  end)

  it('must have numbers that fit where longs have 4 bytes', function()
    local x = torch.IntStorage(1):view(1):expand(2 ^ 31)
    support.fails(
      'cannot save a torch.IntTensor at a: '
        .. 'the number 2147483648 of its sizes, strides and offset does not fit into a long of 4 bytes',
      torch.serialize,
      { a = x },
      'b32'
    )
    assert.equal(2 ^ 31, torch.deserialize(torch.serialize(x)):size(1))
  end)
end)

describe('classes of tensors with methods of the program', function()
  local class = torch.getmetatable 'torch.ShortTensor'
  local original = {
    read = rawget(class, 'read'),
    write = rawget(class, 'write'),
    __factory = class.__factory,
    __version = class.__version,
  }
  after_each(function()
    for _, name in ipairs { 'read', 'write', '__factory', '__version' } do
      rawset(class, name, original[name])
    end
  end)

  local x = torch.ShortStorage({ 1, 2, 3, 4 }):view(2, 2)
  local plain = torch.serialize(x)

  it('are loaded by __factory and read, and saved by write', function()
    local kept = {}
    function class.write(object, file)
      kept[#kept + 1] = object
      file:writeInt(#kept)
    end
    local bytes = torch.serialize { x, x }
    assert.equal(1, #kept)
    function class.__factory(file)
      return kept[file:readInt()]
    end
    function class.read() end
    local back = torch.deserialize(bytes)
    assert.is_true(rawequal(back[1], x) and rawequal(back[2], x))
  end)

  it('can be of a class that Torch7 has not', function()
    local other = torch.getmetatable 'torch.BFloat16Tensor'
    finally(function()
      rawset(other, 'write', nil)
      rawset(other, 'read', nil)
    end)
    function other.write(_, file)
      file:writeInt(7)
    end
    function other.read(_, file)
      assert(file:readInt() == 7)
    end
    local back = torch.deserialize(torch.serialize(torch.BFloat16Storage(2):view(2)))
    assert.equal('torch.BFloat16Tensor', torch.type(back))
  end)

  it('are saved as usual with read alone, and loaded as usual with write alone', function()
    function class.read() end
    assert.equal(plain, torch.serialize(x))
    class.read = original.read
    function class.write() end
    assert.equal(tree(x), tree(torch.deserialize(plain)))
  end)

  it('have the version of the class', function()
    class.__version = 2
    local bytes = torch.serialize(x)
    assert.equal((plain:gsub('V 1', 'V 2', 1)), bytes)
    assert.equal(tree(x), tree(torch.deserialize(bytes)))
    local none = torch.serialize(torch.ShortTensor())
    class.__version = 1
    assert.equal((torch.serialize(torch.ShortTensor()):gsub('V 1', 'V 2', 1)), none)
  end)

  it('with a __factory need a method read', function()
    function class.__factory()
      return torch.IntStorage(1):view(1)
    end
    support.fails('class torch.ShortTensor has no method read', torch.deserialize, plain)
  end)
end)

describe('a tensor that is wrong in a file', function()
  local function fails(why, build)
    for _, name in ipairs { 'b64', 'b32', 'ascii' } do
      local bytes = build(made.formats[name])
      support.collect()
      local before = torch.memory()
      local ok, message = pcall(torch.deserialize, bytes, name)
      assert.is_false(ok)
      assert.matches('at byte %d+', message)
      assert.matches(why, message, 1, true)
      support.collect()
      assert.same(before, torch.memory())
    end
  end

  it('says what is wrong, and leaves nothing behind', function()
    local six = { 1, 2, 3, 4, 5, 6 }
    for why, case in pairs {
      ['(a.storage): the tensor of 2 x 4 with strides 3, 1 uses elements 1 to 7 of its storage, which has 6'] = {
        { 2, 4 },
        { 3, 1 },
        1,
      },
      ['(a.storage): the tensor of 6 with strides 1 uses elements 2 to 7 of its storage, which has 6'] = {
        { 6 },
        { 1 },
        2,
      },
      ['(a): the tensor of 2 with strides -1 uses elements 0 to 1 of its storage'] = { { 2 }, { -1 }, 1 },
      ['(a): size -1 is not allowed: sizes are 0 or more'] = { { -1 }, { 1 }, 1 },
      ['(a): size -2 is not allowed: sizes are 0 or more'] = { { 0, -2 }, { 1, 1 }, 1 },
      ['(a): the offset of a tensor is 1 or more, got 0'] = { { 2 }, { 1 }, 0 },
      ['(a): the offset of a tensor is 1 or more, got -7'] = { {}, {}, -7 },
      ['(a): a tensor of 2000000000 x 2000000000 x 2000000000 has more elements than a machine can address'] = {
        { 2e9, 2e9, 2e9 },
        { 0, 0, 0 },
        1,
      },
    } do
      fails(why, function(f)
        return f.pairs(
          1,
          { f.string 'a', f.tensor(2, 'torch.IntTensor', case[1], case[2], case[3], f.storage(3, 'Int', six)) }
        )
      end)
    end
  end)

  it('has too many dimensions', function()
    local ones = {}
    for i = 1, 65 do
      ones[i] = 1
    end
    fails('a tensor can have at most 64 dimensions, got 65', function(f)
      return f.tensor(1, 'torch.IntTensor', ones, ones, 1, f.storage(2, 'Int', { 1 }))
    end)
    fails('elements', function(f)
      return f.tensor(1, 'torch.IntTensor', ones, ones, 1, f.storage(2, 'Int', { 1 }), -1)
    end)
  end)

  it('has something else than a storage of its class', function()
    for got, build in pairs {
      ['nil'] = function(f)
        return f.null
      end,
      ['torch.FloatStorage'] = function(f)
        return f.storage(2, 'Float', { 1 })
      end,
      ['torch.IntTensor'] = function(f)
        return f.reference(made.TORCH, 1)
      end,
      string = function(f)
        return f.string 'x'
      end,
      number = function(f)
        return f.number(5)
      end,
      boolean = function(f)
        return f.boolean(false)
      end,
      table = function(f)
        return f.pairs(2, {})
      end,
    } do
      fails('(storage): the storage of a torch.IntTensor must be a torch.IntStorage, got ' .. got, function(f)
        return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, build(f))
      end)
    end
    fails('got torch.FloatStorage', function(f)
      return f.tensor(1, 'torch.IntTensor', {}, {}, 1, f.storage(2, 'Float', {}))
    end)
  end)

  it('ends before its storage', function()
    fails('left', function(f)
      return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, '')
    end)
  end)

  it('is of no use as a tensor to code that gets hold of it while it is loaded', function()
    local held
    local Holder = torch.class('spec.t7.tensors.Holder', {})
    function Holder:read(file)
      held = file:readObject()
      return self
    end
    -- The object in the position of the storage has the tensor itself as its field.
    for _, name in ipairs { 'b64', 'b32', 'ascii' } do
      local f = made.formats[name]
      local holder = f.head(2, 'spec.t7.tensors.Holder') .. f.reference(made.TORCH, 1)
      local bytes = f.tensor(1, 'torch.IntTensor', { 1000 }, { 1 }, 1, holder)
      support.fails('must be a torch.IntStorage, got ', torch.deserialize, bytes, name)
      assert.equal('torch.IntTensor', torch.type(held))
      for _, call in ipairs {
        function()
          return held:get(1)
        end,
        function()
          return held:set(1, 5)
        end,
        function()
          return held[1]
        end,
        function()
          return held:size()
        end,
        function()
          return held:storage()
        end,
        function()
          return held:view(-1)
        end,
        function()
          return torch.IntTensor(held)
        end,
      } do
        support.fails('the tensor has no storage: it was collected, or it is being loaded', call)
      end
      support.fails('cannot save a torch.IntTensor at x: it has no storage', torch.serialize, { x = held })
    end
  end)

  it('has a storage that a method of the program has freed or exchanged', function()
    local class = torch.getmetatable 'torch.IntStorage'
    finally(function()
      rawset(class, 'read', nil)
    end)
    local bytes = torch.serialize { torch.IntStorage({ 1, 2, 3 }):view(3) }
    function class.read(s, file)
      local elements = file:readInt(file:readLong())
      s:resize(#elements - 1)
    end
    support.fails('uses elements 1 to 3 of its storage, which has 2', torch.deserialize, bytes)
    function class.read(s, file)
      file:readInt(file:readLong())
      s:free()
    end
    support.fails('the storage of a torch.IntTensor', torch.deserialize, bytes)
  end)
end)

describe('many tensors', function()
  it('leave nothing behind after they were saved, loaded and collected', function()
    local function round()
      local list = {}
      for i = 1, 1000 do
        list[i] = torch.FloatStorage(10):view(2, 5)
      end
      local back = torch.deserialize(torch.serialize(list))
      assert.equal(1000, #back)
      return torch.isTensor(back[1000])
    end
    round()
    support.collect()
    local before = torch.memory()
    assert.is_true(round())
    support.collect()
    assert.same(before, torch.memory())
  end)

  it('survive an aggressive collector', function()
    local s = ints(6)
    local object = { s:view(2, 3), s:view(3, 2), x = { s:view(-1), torch.IntTensor() } }
    local pause = collectgarbage('setpause', 0)
    for _ = 1, 200 do
      for back in again(object) do
        collectgarbage 'step'
        assert.equal(6, back[1]:get(2, 3))
      end
    end
    collectgarbage('setpause', pause)
  end)
end)
