-- The methods of tensors that act on all elements (fill, zero, copy, clone, equal, type and its like), and those that give their
-- memory: string, untyped, data, torch.frombuffer.
local torch = require 'torch.storage'
local support = require 'spec.support'
local types = require 'spec.support.types'

local fails = support.fails
local ffi = support.luajit and require 'ffi'
local path = support.temporary()

local L = torch.LongStorage

local function tensor(T, ...)
  return torch[T .. 'Tensor'](...)
end

-- A DoubleTensor of these sizes whose elements are 1, 2, 3, ...
local function sequence(...)
  local x = torch.DoubleTensor(...)
  for i = 1, #x:storage() do
    x:storage()[i] = i
  end
  return x
end

-- The elements of the storage as text.
local function stored(x)
  return support.joined(x:storage():totable(), ' ')
end

-- The classes of tensors: all but bytes without a type.
local CLASSES = {}
for _, T in ipairs(types.ALL) do
  if T ~= 'Untyped' then
    CLASSES[#CLASSES + 1] = T
  end
end

-- Numbers on which the conversions differ.
local NUMBERS =
  { 1, 2.9, -1, 200, 300, 0.5, 0 / -1, 65520, 2 ^ 31, 2 ^ 53 + 2, -2 ^ 63, 0 / 0, 1 / 0, -1 / 0, 1e-8, 448 }

-- A 4 x 4 tensor of the class whose elements are those numbers, and a storage with the same elements.
local function numbers(T)
  local s = torch.DoubleStorage(NUMBERS):type(('torch.%sStorage'):format(T))
  return s:clone():view(4, 4), s
end

describe('x:fill', function()
  it('sets the elements of the tensor and no others', function()
    local x = sequence(3, 4)
    local part = x:narrow(2, 2, 2)
    assert.is_true(rawequal(part, part:fill(0)))
    assert.equal('1 0 0 4 5 0 0 8 9 0 0 12', stored(x))
    x:t():select(1, 1):zero()
    assert.equal('0 0 0 4 0 0 0 8 0 0 0 12', stored(x))
    x:select(1, 2):fill '7'
    assert.equal('0 0 0 4 7 7 7 7 0 0 0 12', stored(x))
    assert.is_true(rawequal(x, x:zero()))
    assert.equal('0 0 0 0 0 0 0 0 0 0 0 0', stored(x))
  end)

  it('converts the number as storages do', function()
    for _, T in ipairs(CLASSES) do
      for _, v in ipairs(NUMBERS) do
        local x = tensor(T, 3, 4)
        x:t():narrow(1, 1, 2):fill(v)
        local s = torch[T .. 'Storage'](1):fill(v)
        assert.equal(s:string(), x:storage():sub(2, 2):string())
        assert.equal(s:string(), x:storage():sub(10, 10):string())
        assert.equal(torch[T .. 'Storage'](1):string(), x:storage():sub(3, 3):string())
      end
    end
  end)

  it('takes booleans for a Bool and complex numbers for a complex class', function()
    local b = torch.BoolTensor(2, 2)
    b:select(2, 1):fill(true)
    assert.equal('\1\0\1\0', b:string())
    b:fill(false)
    assert.equal('\0\0\0\0', b:string())
    local c = torch.ComplexDoubleTensor(2):fill { re = 1, im = -2 }
    assert.same({ 1, -2 }, { c:get(2) })
    fails('number expected, got boolean', torch.IntTensor.fill, torch.IntTensor(2), true)
  end)

  it('keeps all bits of a 64-bit integer', function()
    local x = torch.LongTensor(2, 2):fill '9007199254740993'
    assert.equal('9007199254740993', x:decimal(2, 2))
    if ffi then
      x:select(1, 1):fill(ffi.new('int64_t', 2 ^ 53) + 3)
      assert.equal('9007199254740995', x:decimal(1, 2))
      assert.equal('18446744073709551615', torch.UInt64Tensor(2):fill(ffi.new 'uint64_t' - 1):decimal(2))
    end
  end)

  it('fills an element once, however often it is repeated', function()
    local x = torch.IntTensor(1, 3)
    x:expand(2 ^ 50, 3):fill(4)
    assert.equal('4 4 4', stored(x))
    x:expand(2 ^ 50, 3):zero()
    assert.equal('0 0 0', stored(x))
  end)

  it('of a tensor without elements does nothing', function()
    assert.equal(0, torch.IntTensor():fill(1):nElement())
    assert.equal(0, torch.IntTensor(3, 0):zero():nElement())
    assert.equal(5, torch.IntStorage({ 5 }):view(L()):fill(5):get())
  end)

  it('refuses anything else, and changes nothing', function()
    local x = sequence(2)
    fails('number expected, got string', x.fill, x, 'a')
    fails('number expected, got no value', x.fill, x)
    fails('number expected, got torch.DoubleTensor', x.fill, x, x)
    fails('nothing more expected, got number', x.fill, x, 1, 2)
    fails('nothing more expected, got number', x.zero, x, 1)
    fails('methods are called with a colon', x.fill, 5)
    fails('torch.DoubleTensor(...) makes a tensor', x.zero, torch.DoubleTensor)
    fails('torch.DoubleTensor expected, got torch.FloatTensor', x.zero, torch.FloatTensor(1))
    fails('s:view(-1) is a tensor of its elements', x.zero, x:storage())
    assert.equal('1 2', stored(x))
  end)
end)

describe('x[k] = v', function()
  it('refuses values of other types, and says what the elements are', function()
    local x = torch.IntTensor(2, 2)
    local function set(k, v)
      x[k] = v
    end
    fails('an element of a torch.IntTensor is a number: number expected, got string', set, { 1, 2 }, 'a')
    fails('an element of a torch.IntTensor is a number: number expected, got torch.IntTensor', set, { 1, 2 }, x)
    fails('or copied from a tensor: number or torch.*Tensor expected, got string', set, 1, 'a')
    x = torch.ComplexFloatTensor(1)
    fails('an element of a torch.ComplexFloatTensor is a complex number: number, {re=, im=}', set, { 1 }, 'a')
    assert.equal(0, x:get(1))
  end)
end)

describe('x:copy', function()
  it('copies as many elements in row-major order of both', function()
    local x = torch.FloatTensor(3, 2)
    assert.is_true(rawequal(x, x:copy(sequence(2, 3):t())))
    assert.equal('1 4 2 5 3 6', stored(x))
    x:t():copy(sequence(6))
    assert.equal('1 4 2 5 3 6', stored(x))
    x:copy(sequence(1, 1):expand(6, 1))
    assert.equal('1 1 1 1 1 1', stored(x))
    assert.equal(0, torch.IntTensor(0, 3):copy(torch.DoubleTensor(2, 0)):nElement())
  end)

  it('converts between all classes as storages do', function()
    for _, from in ipairs(CLASSES) do
      local source, s = numbers(from)
      for _, to in ipairs(CLASSES) do
        local expected = torch[to .. 'Storage'](16):copy(s):string()
        assert.equal(expected, tensor(to, 16):copy(source):string())
        -- The same through strides on both sides.
        local target = tensor(to, 4, 8)
        local every_second = torch[to .. 'Tensor'](target:storage(), 1, L { 4, 4 }, L { 8, 2 })
        every_second:t():copy(source:t())
        assert.equal(expected, every_second:clone():string())
        assert.equal(('\0'):rep(types.WIDTH[to]), target:storage():sub(2, 2):string())
      end
    end
  end)

  -- Small pseudo-random numbers that are the same on all interpreters.
  local state = 12345
  local function random(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end

  -- A random layout of `sizes` in a storage of `size` elements: an offset and strides, some of them negative or 0.
  local function random_tensor(s, sizes)
    while true do
      local offset, strides = random(#s), {}
      for d = 1, #sizes do
        strides[d] = random(13) - 5
      end
      local class = torch[torch.typename(s):match 'torch%.(.*)Storage' .. 'Tensor']
      local ok, x = pcall(class, s, offset, sizes, strides)
      if ok then
        return x
      end
    end
  end

  -- Calls act(i, j) for all indices of a matrix, in row-major order.
  local function each(x, act)
    for i = 1, x:size(1) do
      for j = 1, x:size(2) do
        act(i, j)
      end
    end
  end

  it('reads all elements before it writes the first, however the two overlap', function()
    local shapes = { { 2, 6 }, { 3, 4 }, { 4, 3 }, { 12, 1 }, { 6, 2 } }
    for _ = 1, 2000 do
      local s = sequence(24):storage()
      local target, source = random_tensor(s, shapes[random(5)]), random_tensor(s, shapes[random(5)])
      local model, values, n = s:clone(), {}, 0
      each(source, function(i, j)
        values[#values + 1] = source:get(i, j)
      end)
      each(target, function(i, j)
        n = n + 1
        local stride = target:stride()
        model[target:storageOffset() + (i - 1) * stride[1] + (j - 1) * stride[2]] = values[n]
      end)
      target:copy(source)
      assert.equal(table.concat(model:totable(), ' '), table.concat(s:totable(), ' '))
    end
  end)

  it('does so too if the bytes of one class are read as another', function()
    for _ = 1, 500 do
      local s = torch.DoubleStorage(24)
      local words = s:view 'int32'
      for i = 1, #words do
        words[i] = random(2 ^ 31 - 1)
      end
      local target, source = random_tensor(s, { 3, 3 }), random_tensor(words, { 3, 3 })
      local values, n, model = {}, 0, s:clone()
      each(source, function(i, j)
        values[#values + 1] = source:get(i, j)
      end)
      each(target, function(i, j)
        n = n + 1
        local stride = target:stride()
        model[target:storageOffset() + (i - 1) * stride[1] + (j - 1) * stride[2]] = values[n]
      end)
      target:copy(source)
      assert.equal(model:string(), s:string())
    end
  end)

  it('refuses anything else, and changes nothing', function()
    local x = sequence(2, 3)
    fails(
      "bad argument #1 to 'copy' (a copy needs as many elements on both sides: the target of 2 x 3 has 6",
      function()
        x:copy(sequence(5))
      end
    )
    fails(
      'torch.*Tensor expected, got torch.DoubleStorage: s:view(-1) is a tensor of its elements',
      x.copy,
      x,
      x:storage()
    )
    fails('torch.*Tensor expected, got table', x.copy, x, { 1, 2, 3, 4, 5, 6 })
    fails('torch.*Tensor expected, got number', x.copy, x, 5)
    fails('torch.*Tensor expected, got no value', x.copy, x)
    fails('torch.*Tensor expected, got nil', x.copy, x, nil)
    fails('nothing more expected, got number', x.copy, x, x, 1)
    fails('methods are called with a colon', x.copy, {}, x)
    assert.equal('1 2 3 4 5 6', stored(x))
  end)
end)

describe('x:equal', function()
  it('compares class, sizes and elements', function()
    local x = sequence(2, 3)
    assert.is_true(x:equal(x))
    assert.is_true(x:t():equal(x:t():clone()))
    assert.is_false(x:equal(sequence(3, 2)))
    assert.is_false(x:equal(x:float()))
    assert.is_false(x:equal(x:view(2, 3, 1)))
    local y = x:clone()
    y[{ 2, 3 }] = 0
    assert.is_false(x:equal(y))
    assert.is_true(torch.IntTensor(0, 2):equal(torch.IntTensor(0, 2)))
    assert.is_false(torch.IntTensor(0, 2):equal(torch.IntTensor(0, 3)))
  end)

  it('takes NaN for different from itself, and -0 for 0', function()
    local x = torch.DoubleTensor(2):fill(0 / 0)
    assert.is_false(x:equal(x))
    assert.is_true(x:fill(0):equal(x:clone():fill(-0.0)))
  end)

  it('refuses anything else', function()
    local x = sequence(2)
    fails('torch.*Tensor expected, got torch.DoubleStorage: s:view(-1) is a tensor', x.equal, x, x:storage())
    fails('torch.*Tensor expected, got table', x.equal, x, {})
    fails('torch.*Tensor expected, got no value', x.equal, x)
    fails('nothing more expected, got torch.DoubleTensor', x.equal, x, x, x)
  end)
end)

describe('x:clone', function()
  it('has the elements on a storage of its own', function()
    local x = sequence(3, 4)
    local y = x:t():narrow(1, 2, 2):clone()
    assert.equal('2 6 10 3 7 11', stored(y))
    assert.same({ { 2, 3 }, { 3, 1 }, 1 }, { y:size():totable(), y:stride():totable(), y:storageOffset() })
    y:fill(0)
    assert.equal(2, x:get(1, 2))
    assert.equal(7, torch.IntStorage({ 7 }):view(L()):clone():get())
    assert.is_nil(torch.IntTensor():clone():storage())
    assert.same({ 3, 0 }, torch.IntTensor(3, 0):clone():size():totable())
  end)

  it('is refused before it begins if no storage can have the elements', function()
    local x = torch.DoubleTensor(1, 1):fill(3)
    support.collect()
    local before = torch.memory().heap
    for _, name in ipairs { 'clone', 'contiguous', 'float' } do
      fails('more than a machine can address', x.expand(x, 2 ^ 31, 2 ^ 31)[name], x:expand(2 ^ 31, 2 ^ 31))
      fails('not enough memory', x.expand(x, 2 ^ 30, 2 ^ 26)[name], x:expand(2 ^ 30, 2 ^ 26))
    end
    assert.equal(before, torch.memory().heap)
    assert.equal('3', stored(x))
    fails('nothing more expected, got number', x.clone, x, 1)
  end)
end)

describe('x:type', function()
  it('without a class is the name', function()
    for _, T in ipairs(CLASSES) do
      assert.equal(('torch.%sTensor'):format(T), tensor(T, 1):type())
    end
  end)

  it('converts between all classes as storages do, and returns x itself for its own class', function()
    for _, from in ipairs(CLASSES) do
      local x, s = numbers(from)
      for _, to in ipairs(CLASSES) do
        local y = x:type(('torch.%sTensor'):format(to))
        assert.equal(('torch.%sTensor'):format(to), torch.typename(y))
        assert.equal(s:type(('torch.%sStorage'):format(to)):string(), y:string())
        assert.equal(from == to, rawequal(x, y))
        local turned = x:t():type(('torch.%sTensor'):format(to))
        assert.equal(y:t():contiguous():string(), turned:contiguous():string())
        assert.equal(from ~= to, turned:isContiguous())
      end
    end
  end)

  it('takes every name of a class, and there is a method for each', function()
    local x = sequence(2, 3)
    local ways = {
      'torch.IntTensor',
      'torch.IntStorage',
      'int32',
      torch.IntTensor,
      torch.IntStorage,
      getmetatable(torch.IntTensor()),
    }
    for _, class in ipairs(ways) do
      assert.equal('torch.IntTensor', x:type(class):type())
    end
    for _, entry in ipairs(torch.getmetatable 'torch.DoubleTensor' and require('torch.core').tensors) do
      local class = require('torch.core').classes[entry.number]
      assert.equal(entry.name, x[class.cast](x):type())
      assert.equal(entry.name, x:typeAs(entry.constructor(1)):type())
    end
    assert.is_true(rawequal(x, x:double()))
    assert.is_true(rawequal(x, x:typeAs(x)))
  end)

  it('refuses anything else', function()
    local x = sequence(2)
    fails("no class 'torch.FooTensor'", x.type, x, 'torch.FooTensor')
    fails('x:untyped() is a storage of the bytes', x.type, x, 'torch.UntypedStorage')
    fails('class', x.type, x, 5)
    fails('class', x.type, x, {})
    fails('class', x.type, x, x)
    fails('torch.*Tensor expected, got torch.IntStorage', x.typeAs, x, torch.IntStorage())
    fails('torch.*Tensor expected, got no value', x.typeAs, x)
    fails('methods are called with a colon', x.float)
  end)
end)

describe('the bytes of a tensor', function()
  it('are a string if they lie side by side', function()
    local x = torch.ByteStorage.fromstring('abcdef'):view(2, 3)
    assert.equal('abcdef', x:string())
    assert.equal('def', x:select(1, 2):string())
    assert.equal('', torch.IntTensor(0, 4):t():string())
    assert.equal('adbecf', x:t():contiguous():string())
    fails('the elements of the tensor of 3 x 2 with strides 1, 3 do not lie side by side; x:contiguous()', function()
      return x:t():string()
    end)
    fails('nothing more expected, got string', x.string, x, 'uvwxyz')
    assert.equal('abcdef', x:string())
  end)

  it('are an UntypedStorage of the whole storage', function()
    local x = sequence(3, 4):select(2, 2)
    local bytes = x:untyped()
    assert.equal('torch.UntypedStorage', torch.typename(bytes))
    assert.equal(96, #bytes)
    bytes:zero()
    assert.equal(0, x:get(3))
    assert.equal(0, #torch.IntTensor():untyped())
  end)

  it('are the memory of torch.frombuffer', function()
    local x = sequence(3, 4)
    local row = torch.frombuffer(x:select(1, 2), { dtype = 'float64' })
    assert.same({ 5, 6, 7, 8 }, row:totable())
    assert.is_true(row:isView())
    row[1] = 50
    assert.equal(50, x:get(2, 1))
    assert.same({ 7, 8 }, torch.DoubleStorage.frombuffer(x:select(1, 2), { offset = 16 }):totable())
    assert.same({ 6 }, torch.DoubleStorage.frombuffer(x:select(1, 2), { offset = 8, count = 1 }):totable())
    assert.equal(96, #torch.frombuffer(x))
    fails('do not lie side by side; x:contiguous()', torch.frombuffer, x:t())
    fails('offset 32 is not inside a buffer of 32 bytes', torch.frombuffer, x:select(1, 2), { offset = 32 })
    fails('5 elements of 8 bytes', torch.DoubleStorage.frombuffer, x:select(1, 2), { count = 5 })
    fails('nothing to share', torch.frombuffer, torch.IntTensor(2, 0))
    x = nil -- luacheck: ignore
    support.collect()
    assert.equal(50, row[1])
  end)

  it('have an address', function()
    local x = sequence(3, 4)
    local first = x:storage():dataptr()
    local column = x:select(2, 2)
    assert.equal(first + 8, column:dataptr())
    assert.equal(first + 8, tonumber(column:data(true)))
    assert.equal(first + 8, tonumber(torch.data(column, true)))
    local _, bytes, is_read_only = torch.buffer(x:select(1, 3))
    assert.same({ 32, false }, { bytes, is_read_only })
    assert.equal(2, torch.DoubleStorage(1, column:data())[1])
    if ffi then
      assert.equal(ffi.typeof 'double *', ffi.typeof(column:data()))
      assert.equal(ffi.typeof 'int64_t', ffi.typeof(column:data(true)))
      assert.equal(10, column:data()[8])
      assert.equal(ffi.typeof 'uint8_t *', ffi.typeof((torch.buffer(x))))
      assert.equal(nil, torch.FloatTensor():data())
    end
    assert.equal(0, tonumber(torch.FloatTensor(0, 2):data(true)))
    assert.equal(0, torch.FloatTensor():dataptr())
  end)

  it('have no address for wrong arguments', function()
    local x = sequence(2, 2)
    local function at_call(text, f)
      fails('contents_spec.lua:', f)
      fails(text, f)
    end
    at_call('do not lie side by side', function()
      local _ = torch.buffer(x:t())
    end)
    at_call('boolean expected, got number', function()
      local _ = x:data(1)
    end)
    at_call('methods are called with a colon', function()
      local data = x.data
      local _ = data(5)
    end)
    at_call('s:view(-1) is a tensor of its elements', function()
      local data = x.data
      local _ = data(x:storage())
    end)
    at_call('x:storage() is its storage', function()
      local data = x:storage().data
      local _ = data(x)
    end)
  end)
end)

describe('a read-only storage', function()
  it('refuses every change of a tensor on it, and changes nothing', function()
    local name = support.spit(path 'read only', 'abcdef')
    local x = torch.ByteStorage({ filename = name, readonly = true }):view(2, 3)
    for _, part in ipairs { x, x:t(), x:select(2, 2), x:narrow(1, 1, 0) } do
      fails('read-only', part.fill, part, 0)
      fails('read-only', part.zero, part)
      fails('read-only', part.copy, part, part:clone())
    end
    assert.equal('abcdef', x:string())
    assert.equal('abcdef', x:clone():string())
    local _, bytes, is_read_only = torch.buffer(x:select(1, 2))
    assert.same({ 3, true }, { bytes, is_read_only })
    assert.is_true(torch.frombuffer(x):isReadOnly())
  end)
end)

-- Every method of this part, as a function of a tensor and another of the same class and sizes.
local CALLS = {
  fill = function(x)
    return x:fill(1)
  end,
  zero = function(x)
    return x:zero()
  end,
  copy = function(x, y)
    return x:copy(y)
  end,
  source = function(x, y)
    return y:copy(x)
  end,
  clone = function(x)
    return x:clone()
  end,
  equal = function(x, y)
    return x:equal(y)
  end,
  ['equal to it'] = function(x, y)
    return y:equal(x)
  end,
  cast = function(x)
    return x:float()
  end,
  type = function(x)
    return x:type 'float32'
  end,
  string = function(x)
    return x:string()
  end,
  data = function(x)
    return x:data()
  end,
  dataptr = function(x)
    return x:dataptr()
  end,
  ['torch.data'] = function(x)
    return torch.data(x)
  end,
  buffer = function(x)
    return torch.buffer(x)
  end,
  frombuffer = function(x)
    return torch.frombuffer(x)
  end,
  token = function(x)
    return x:token()
  end,
}

describe('a tensor whose storage has become too small', function()
  support.cases('is an error for %s', CALLS, function(call)
    local x, y = sequence(2, 3), sequence(2, 3)
    x:storage():resize(5)
    local text = 'the tensor of 2 x 3 with strides 3, 1 uses elements 1 to 6 of its storage, which has 5'
    fails(text, call, x, y)
    assert.equal('1 2 3 4 5', stored(x))
    assert.equal('1 2 3 4 5 6', stored(y))
    x:storage():resize(6)
    call(x, y)
  end)
end)

describe('a tensor that was collected by hand', function()
  support.cases('is an error for %s', CALLS, function(call)
    local x, y = sequence(2, 3), sequence(2, 3)
    getmetatable(x).__gc(x)
    fails('the tensor has no storage', call, x, y)
    assert.equal('1 2 3 4 5 6', stored(y))
  end)
end)

describe('a storage that was freed', function()
  it('stays for the tensors on it', function()
    local s = sequence(6):storage()
    local x = s:view(2, 3)
    s:free()
    assert.equal(6, x:clone():get(2, 3))
    assert.equal(1, x:fill(1):get(1, 1))
  end)
end)

describe('functions of storages', function()
  it('say what to do with a tensor', function()
    local x = sequence(2, 3)
    local s = torch.DoubleStorage(6)
    fails('s:view(-1):copy(x) copies the elements of a tensor', s.copy, s, x)
    fails('s:view(-1):copy(x) copies the elements of a tensor', s.copy, s, x, 1)
    for _, f in ipairs { s.rawcopy, s.equal } do
      fails('torch.*Storage expected, got torch.DoubleTensor: x:storage() is its storage', f, s, x)
    end
    for _, f in ipairs { s.size, s.fill, s.token, s.resize, torch.DoubleStorage } do
      fails('torch.DoubleStorage expected, got torch.DoubleTensor: x:storage() is its storage', f, x, 1)
    end
    fails('x:storage() is its storage', torch.publish, 'a name', x)
    assert.is_nil(torch.lookup 'a name')
    assert.is_true(torch.isequal(x, x))
    assert.is_false(torch.isequal(x, x:storage()))
    assert.is_false(torch.isequal(x, torch.DoubleTensor(x)))
  end)
end)

describe('a long operation #large', function()
  local STEP = 2 ^ 28

  after_each(support.collect)

  -- Runs `act`, and a hook once between two steps: there a C function calls another.
  local function hooked(hook, act)
    local ran = false
    debug.sethook(function()
      local callee, caller = debug.getinfo(2, 'S'), debug.getinfo(3, 'S')
      if not ran and callee.what == 'C' and caller and caller.what == 'C' then
        ran = true
        hook()
      end
    end, 'c')
    local ok, message = pcall(act)
    debug.sethook()
    assert.is_false(ok)
    assert.is_true(ran)
    return message
  end

  it('can be interrupted between two steps', function()
    local s = torch.ByteStorage(2 * STEP + 8)
    local x = s:view(8, -1)
    local function stop()
      error 'interrupted!'
    end
    assert.matches(
      'interrupted!',
      hooked(stop, function()
        x:fill(7)
      end)
    )
    assert.same({ 7, 0 }, { s[STEP], s[STEP + 1] })
    local source = torch.ByteTensor(8, 2 * STEP / 8 + 1):fill(7)
    s:fill(0)
    assert.matches(
      'interrupted!',
      hooked(stop, function()
        x:copy(source)
      end)
    )
    assert.same({ 7, 0 }, { s[STEP], s[STEP + 1] })
    assert.matches(
      'interrupted!',
      hooked(stop, function()
        x:clone()
      end)
    )
    source:copy(x)
    assert.matches(
      'interrupted!',
      hooked(stop, function()
        x:equal(source)
      end)
    )
  end)

  it('ends with an error if a hook shrinks the storage or collects the tensor', function()
    local s = torch.ByteStorage(STEP + 8)
    for _, act in ipairs {
      function(x)
        x:fill(7)
      end,
      function(x)
        x:clone()
      end,
      function(x, y)
        x:copy(y)
      end,
      function(x, y)
        y:copy(x)
      end,
    } do
      local x, y = s:resize(STEP + 8):view(8, -1), torch.ByteTensor(8, STEP / 8 + 1)
      assert.matches(
        'which has 10',
        hooked(function()
          s:resize(10)
        end, function()
          act(x, y)
        end)
      )
      s:resize(STEP + 8)
      assert.matches(
        'the tensor has no storage',
        hooked(function()
          getmetatable(x).__gc(x)
        end, function()
          act(x, y)
        end)
      )
    end
  end)
end)
