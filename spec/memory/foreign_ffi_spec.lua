-- FFI values as addresses: which values count as an address, and what keeps their memory alive.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local ffi = support.luajit and require 'ffi'

-- FFI values exist on LuaJIT only.
if not ffi then
  describe('without an FFI', function()
    it('only light userdata and numbers are addresses', function()
      local s = torch.IntStorage { 1, 2 }
      assert.equal('userdata', type(s:data()))
      assert.is_nil(debug.getmetatable(s:data()))
      assert.equal('number', type(s:data(true)))
      assert.is_nil(s.cdata)
      assert.equal('1 2', support.joined(torch.IntStorage(2, s:data()):totable(), ' '))
    end)
  end)
  return
end

-- Another spec may have declared these types already.
pcall(ffi.cdef, 'void *malloc(size_t size);')
pcall(ffi.cdef, 'void free(void *block);')
pcall(ffi.cdef, 'struct torch_spec_unknown;')

describe('an FFI value as an address', function()
  it('can be a pointer, an array or a 64-bit integer', function()
    recorded.check(
      [[
      > buf = ffi.new('int[4]', {10, 20, 30, 40})
      > p = ffi.cast('int *', buf)
      > show = function(ptr) return torch.IntStorage(2, ptr) end
      show(buf)   --> <torch.IntStorage #2: 10 20>
      show(p)   --> <torch.IntStorage #2: 10 20>
      show(p + 1)   --> <torch.IntStorage #2: 20 30>
      show(ffi.cast('void *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('const void *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('const int *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('int *const', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('const int *const', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('volatile int *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('char *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('const unsigned char *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('struct torch_spec_unknown *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('int **', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('int (*)[4]', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('double _Complex *', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.new('const int[2]', {1, 2}))   --> <torch.IntStorage #2: 1 2>
      show(ffi.new('int[?]', 2, {3, 4}))   --> <torch.IntStorage #2: 3 4>
      show(ffi.new('unsigned char[8]', {1, 0, 0, 0, 2}))   --> <torch.IntStorage #2: 1 2>
      show(ffi.new('int[2][2]', {{5, 6}, {7, 8}}))   --> <torch.IntStorage #2: 5 6>
      show(ffi.new('struct { int x, y; }[2]', {{5, 6}, {7, 8}}))   --> <torch.IntStorage #2: 5 6>
      show(ffi.cast('int64_t', ffi.cast('intptr_t', buf)))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('uint64_t', ffi.cast('intptr_t', buf)))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('intptr_t', buf))   --> <torch.IntStorage #2: 10 20>
      show(ffi.cast('size_t', ffi.cast('void *', buf)))   --> <torch.IntStorage #2: 10 20>
      show(torch.IntStorage{8, 9}:data())   --> <torch.IntStorage #2: 8 9>
      torch.IntStorage(2LL, buf)   --> <torch.IntStorage #2: 10 20>
      torch.IntStorage(nil, buf)   --> <torch.IntStorage #0: >
      torch.ByteStorage(3, ffi.cast('const char *', 'abc')):string()   --> "abc"
      torch.HalfStorage(1, torch.HalfStorage{1.5}:data())   --> <torch.HalfStorage #1: 1.5>
      > both = ffi.new('struct { int a[2], b[2]; }', {{1, 2}, {3, 4}})
      show(both.b)   --> <torch.IntStorage #2: 3 4>
      > show(both.b):fill(9)
      both.b[1] + both.a[1]   --> 11
    ]],
      { ffi = ffi }
    )
  end)

  it('cannot be any other FFI value', function()
    recorded.check(
      [[
      > callback = ffi.cast('int (*)(int)', function() return 0 end)
      torch.IntStorage(1, ffi.new('struct { int x; }'))   --> ERROR got cdata
      torch.IntStorage(1, ffi.new('union { int x; }'))   --> ERROR got cdata
      torch.IntStorage(1, callback)   --> ERROR got cdata
      torch.IntStorage(1, ffi.C.free)   --> ERROR got cdata
      torch.IntStorage(1, ffi.typeof('int'))   --> ERROR got cdata
      torch.IntStorage(1, ffi.new('int', 70000))   --> ERROR got cdata
      torch.IntStorage(1, ffi.new('double', 70000))   --> ERROR got cdata
      torch.IntStorage(1, ffi.new('complex', 70000))   --> ERROR got cdata
      torch.IntStorage(1, ffi.new('int32_t', 70000))   --> ERROR got cdata
      torch.IntStorage(1, ffi.new('bool', true))   --> ERROR got cdata
      torch.IntStorage(0, ffi.new('struct { int x; }'))   --> ERROR got cdata
      torch.IntStorage(1, ffi.cast('int *', nil))   --> ERROR is not a valid memory address
      torch.IntStorage(1, ffi.cast('int *', 8))   --> ERROR is not a valid memory address
      torch.IntStorage(1, ffi.cast('int *', -4))   --> ERROR is not a valid memory address
      torch.IntStorage(1, ffi.cast('int *', 65538))   --> ERROR is not aligned
      torch.IntStorage(1, ffi.cast('char *', ffi.new('int[2]')) + 1)   --> ERROR is not aligned
      torch.IntStorage(1, -1LL)   --> ERROR -1 is not an address
      torch.IntStorage(1, -1ULL)   --> ERROR 18446744073709551615 is not
      torch.IntStorage(1, 2ULL^63)   --> ERROR 9223372036854775808 is not
      torch.IntStorage(1, 7LL)   --> ERROR 7 is not an address
      torch.IntStorage(1, 65538LL)   --> ERROR is not aligned
      torch.IntStorage(-1, ffi.new('int[2]'))   --> ERROR got -1
      torch.IntStorage(-1LL, ffi.new('int[2]'))   --> ERROR got -1
      torch.IntStorage(true, ffi.new('int[2]'))   --> ERROR number expected, got boolean
      torch.IntStorage(2^61 - 256, ffi.cast("int *", 65536))   --> ERROR is not
      > callback:free()
    ]],
      { ffi = ffi }
    )
  end)

  it('has to be large enough if it is an array', function()
    for _, T in ipairs(types.NUMBERS) do
      local class, width = torch[T .. 'Storage'], types.WIDTH[T]
      for _, bytes in ipairs { 0, 1, 7, 8, 24, 31 } do
        local size = math.floor(bytes / width)
        for _, array in ipairs { ffi.new('char[?]', bytes), ffi.new(('char[%d]'):format(bytes)) } do
          assert.equal(size, #class(size, array))
          local message = support.failure(class, size + 1, array)
          assert.is_truthy(message:find(('the array has %d bytes'):format(bytes), 1, true), message)
        end
      end
    end
    local struct = ffi.new 'struct { int a[2], b[2]; }'
    assert.is_truthy(support.failure(torch.IntStorage, 3, struct.a):find('the array has 8 bytes', 1, true))
    assert.is_truthy(support.failure(torch.IntStorage, 5, ffi.new 'int[2][2]'):find('16 bytes', 1, true))
  end)
end)

describe('an FFI array', function()
  local finalized

  before_each(function()
    finalized = 0
  end)

  local function array(size)
    local a = ffi.new('int[?]', size)
    for i = 0, size - 1 do
      a[i] = i
    end
    return ffi.gc(a, function()
      finalized = finalized + 1
    end)
  end

  -- Runs f on a stack of its own, so that nothing stays on ours that the collector would see as a use.
  local function apart(f)
    return coroutine.wrap(f)()
  end

  -- busted replaces ffi.typeof by a function that remembers its arguments for ever; this makes it forget them.
  local function collect()
    local index = 1
    repeat
      local name, value = debug.getupvalue(ffi.typeof, index)
      for key in pairs(name == 'original_store' and value or {}) do
        value[key] = type(key) ~= 'cdata' and value[key] or nil
      end
      index = index + 1
    until not name
    support.collect()
  end

  local function storage_over_array(size)
    return apart(function()
      return (torch.IntStorage(size, array(size)))
    end)
  end

  it('lives exactly as long as its storage', function()
    local s = storage_over_array(100)
    collect()
    assert.equal(0, finalized)
    assert.equal(99, s[100])
    s:free()
    collect()
    assert.equal(1, finalized)
  end)

  it('lives as long as a storage that is dropped', function()
    local view = apart(function()
      return (torch.IntStorage(storage_over_array(100), 5))
    end)
    collect()
    assert.equal(0, finalized)
    assert.equal(4, view[1])
    view = nil
    collect()
    collect() -- the first ones end the view and release its reference to the array
    assert.equal(1, finalized)
    assert.is_nil(view)
  end)

  it('lives as long as the last view of a view', function()
    local view, empty = apart(function()
      local view = torch.IntStorage(torch.IntStorage(storage_over_array(100), 11), 11, 2)
      return view, (torch.IntStorage(view, 3))
    end)
    collect()
    assert.equal(0, finalized)
    assert.equal(20, view[1])
    view:free()
    collect()
    assert.equal(0, finalized, 'an empty view is a view')
    empty:free()
    collect()
    assert.equal(1, finalized)
  end)

  it('is not kept alive by copies, nor by constructors that fail', function()
    local copies = apart(function()
      local s = storage_over_array(4)
      local copies = { s:clone(), s:type 'torch.LongStorage', torch.IntStorage(4):copy(s) }
      s:free()
      for _ = 1, 3 do
        assert.is_false(pcall(torch.IntStorage, 5, array(4)))
        assert.is_false(pcall(torch.IntStorage, -1, array(4)))
        assert.is_true(pcall(torch.IntStorage, {}, array(4))) -- inspects only the table
      end
      return copies
    end)
    collect()
    assert.equal(10, finalized)
    assert.equal(3, copies[3][4])
  end)

  it('is kept alive by a retain, and by the userdata that takes it over', function()
    local address = apart(function()
      local s = storage_over_array(4)
      s:retain()
      return (torch.pointer(s))
    end)
    collect()
    assert.equal(0, finalized)
    local s = torch.pushudata(address, 'torch.IntStorage')
    collect()
    assert.equal(0, finalized)
    assert.equal(3, s[4])
    s:free()
    collect()
    assert.equal(1, finalized)
  end)

  it('is kept alive by each of several storages', function()
    local first, second = apart(function()
      local a = array(8)
      return torch.IntStorage(8, a), (torch.IntStorage(4, a))
    end)
    first:free()
    collect()
    assert.equal(0, finalized)
    assert.equal(3, second[4])
    second:free()
    collect()
    assert.equal(1, finalized)
  end)

  it('is not kept alive by a pointer into it; the pointer itself is', function()
    local function free(pointer)
      finalized = finalized + 1
      ffi.C.free(pointer)
    end
    local view = apart(function()
      local pointer = ffi.gc(ffi.cast('int *', ffi.C.malloc(40)), free)
      return (torch.IntStorage(torch.IntStorage(10, pointer):fill(3), 10))
    end)
    collect()
    assert.equal(0, finalized)
    assert.equal(3, view[1])
    view:free()
    collect()
    assert.equal(1, finalized)

    local s = apart(function()
      return (torch.IntStorage(0, ffi.cast('int *', array(4))))
    end)
    collect()
    assert.equal(2, finalized)
    assert.equal(0, #s)
  end)

  it('is released by each of a hundred thousand storages #slow', function()
    local registry = debug.getregistry()
    local function entries()
      collect()
      local all, cdata = 0, 0
      for _, value in pairs(registry) do
        all = all + 1
        cdata = cdata + (type(value) == 'cdata' and 1 or 0)
      end
      return all, cdata
    end
    local all, cdata = entries()
    local kept = ffi.new 'int[4]'
    for i = 1, 100000 do
      local s = torch.IntStorage(4, i % 2 == 0 and ffi.new 'int[4]' or kept)
      local view = torch.IntStorage(s, i % 4 + 1)
      pcall(torch.IntStorage, 5, kept)
      if i % 500 == 0 then
        collectgarbage()
      end
      assert(#s == #view + i % 4)
    end
    local all_after, cdata_after = entries()
    assert.equal(cdata, cdata_after)
    assert.is_true(all_after - all < 2000, all_after - all) -- free slots of the registry hold numbers
  end)
end)
