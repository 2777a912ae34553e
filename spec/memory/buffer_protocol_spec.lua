-- torch.frombuffer over objects that offer their memory, FFI values and string buffers.
local torch = require 'torch'
local recorded = require 'spec.support.recorded'
local support = require 'spec.support'

local ffi = support.luajit and require 'ffi'
local path = support.temporary()

-- An object whose __buffer returns what the function returns.
local function offering(f)
  return setmetatable({}, { __buffer = f })
end

describe('an object with __buffer', function()
  it('offers its memory', function()
    local memory = torch.ByteStorage { 1, 2, 3, 4 }
    local ways = {
      function()
        return torch.buffer(memory)
      end,
      function()
        return memory:dataptr(), 4
      end,
      function()
        return memory:data(), '4', false
      end,
      getmetatable(memory).__buffer and function()
        return getmetatable(memory).__buffer(memory)
      end,
    }
    for _, way in ipairs(ways) do
      local s = torch.frombuffer(offering(way), { dtype = 'uint8' })
      assert.equal('1 2 3 4', support.joined(s:totable(), ' '))
      assert.is_false(s:isView() or s:isReadOnly() or s:resizable())
      s[1] = 9
      assert.equal(9, memory[1])
      memory[1] = 1
      assert.equal(513, torch.ShortStorage.frombuffer(offering(way))[1])
    end
    local s = torch.frombuffer(offering(function()
      return memory:dataptr(), 4, true
    end))
    assert.is_true(s:isReadOnly())
    support.fails('read-only', s.fill, s, 1)
  end)

  it('has its __buffer called once, with the object, even when its class inherits it', function()
    local memory = torch.ByteStorage { 1, 2, 3, 4 }
    local name = ('Buffer%s'):format(tostring({}):match '%x+$')
    local module = {}
    local parent = torch.class(name, module)
    local calls = 0
    function parent.__buffer(...)
      calls = calls + 1
      assert.equal(1, select('#', ...))
      return (...).memory:dataptr(), 4
    end
    torch.class(name .. 'Child', name, module)
    local child = module[name .. 'Child']()
    child.memory = memory
    assert.equal(4, #torch.frombuffer(child))
    assert.equal(1, calls)
  end)

  it('may give a string, whose bytes the storage shows', function()
    local calls = 0
    local object = offering(function(self)
      calls = calls + 1
      return ('%d%s'):format(calls, self.text)
    end)
    object.text = ('x'):rep(99)
    local s = torch.frombuffer(object, { dtype = 'uint8' })
    local part = torch.ShortStorage.frombuffer(object, { offset = 2, count = 3, byteorder = 'big' })
    object.text = ''
    for i = 1, 10 do
      support.collect()
      local _ = ('y'):rep(100) .. i
    end
    assert.equal('1' .. ('x'):rep(99), s:string())
    assert.is_true(s:isReadOnly())
    support.fails('read-only', s.fill, s, 1)
    assert.same({ 0x7878, 0x7878, 0x7878 }, part:totable())
    assert.is_false(part:isReadOnly())
    s, part = nil, nil -- luacheck: ignore
    support.collect()
    assert.equal(0, torch.memory().foreign)
    support.fails(
      'nothing to share: the buffer has 0 bytes',
      torch.frombuffer,
      offering(function()
        return ''
      end)
    )
  end)

  it('lives as long as the storage and its views', function()
    local memory, gone = torch.ByteStorage { 1, 2, 3, 4 }, false
    local view
    do
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = function()
        gone = true
      end
      getmetatable(proxy).__buffer = function()
        return memory:dataptr(), 4
      end
      view = torch.frombuffer(proxy):view('int16', 1, 1)
    end
    support.collect()
    assert.is_false(gone)
    assert.equal(770, view[1])
    view = nil -- luacheck: ignore
    support.collect()
    support.collect()
    assert.is_true(gone)
  end)

  it('may return anything: what is wrong is an error', function()
    local memory = torch.ByteStorage(100)
    local address = memory:dataptr()
    local function f(...)
      local results, count = { ... }, select('#', ...)
      return torch.frombuffer(offering(function()
        return unpack(results, 1, count)
      end))
    end
    local wrong = {
      { 'its __buffer gave nil as the pointer, which is a light userdata, an FFI pointer or array, or an address' },
      { 'its __buffer gave string as the pointer', 'x', 3 },
      { 'its __buffer gave table as the pointer', {}, 3 },
      { 'its __buffer gave nan as the pointer', 0 / 0, 3 },
      { 'its __buffer gave -1 as the pointer', -1, 3 },
      { 'its __buffer gave 1.5 as the pointer', 1.5, 3 },
      { '3 bytes at 100 are not a valid range of memory', 100, 3 },
      { '3 bytes at 0 are not a valid range of memory', 0, 3 },
      { '4611686018427387904 bytes at 4611686018427387904 are not a valid range of memory', 2 ^ 62, 2 ^ 62 },
      { 'its __buffer gave nil as the length in bytes, which is a whole number from 0', address },
      { 'its __buffer gave string as the length in bytes', address, 'x' },
      { 'its __buffer gave -1 as the length in bytes', address, -1 },
      { 'its __buffer gave 1.5 as the length in bytes', address, 1.5 },
      { 'its __buffer gave nan as the length in bytes', address, 0 / 0 },
      { 'as the length in bytes', address, 2 ^ 64 },
      { 'nothing to share: the buffer has 0 bytes', address, 0 },
      { 'its __buffer gave number as whether it is read-only, which is a boolean or nil', address, 3, 1 },
    }
    for _, row in ipairs(wrong) do
      support.fails(row[1], f, unpack(row, 2, 4))
    end
    assert.equal(3, #f(address, 3, nil, 1, 2, 3))
    for _, value in ipairs { 5, 'x', {}, true, setmetatable({}, { __call = f }) } do
      local message =
        'its __buffer is a %s: a function expected that returns a pointer, the length in bytes, and true if read-only'
      support.fails(message:format(type(value)), torch.frombuffer, offering(value))
    end
    support.fails(
      'no memory to offer',
      torch.frombuffer,
      offering(function()
        error 'no memory to offer'
      end)
    )
    local thrown = {}
    local _, value = pcall(
      torch.frombuffer,
      offering(function()
        error(thrown)
      end)
    )
    assert.equal(thrown, value)
    -- None of them leaves anything behind.
    support.collect()
    assert.equal(0, torch.memory().foreign)
  end)

  it('may change anything while __buffer runs', function()
    local s = torch.IntStorage(10)
    local object = offering(function(self)
      s:resize(10 ^ 6)
      s:resize(10)
      collectgarbage()
      setmetatable(self, nil)
      return s:dataptr(), 40
    end)
    local options = { dtype = 'int32', count = 10 }
    assert.equal(10, #torch.frombuffer(object, options))
    local nested = offering(function()
      options.count = 'x'
      options.dtype = nil
      return torch.buffer(torch.frombuffer(s))
    end)
    -- The options are those at the time of the call.
    assert.equal('torch.IntStorage', torch.frombuffer(nested, options):type())
    local threads = coroutine.wrap(function()
      return pcall(torch.frombuffer, offering(coroutine.yield))
    end)
    assert.is_false((threads()))
  end)

  it('is how storages offer their memory to other libraries', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local pointer, bytes, read_only = getmetatable(s).__buffer(s)
    assert.equal('userdata', type(pointer))
    assert.equal(12, bytes)
    assert.is_false(read_only)
    assert.is_true(select(3, torch.buffer(torch.frombuffer 'abc')))
    local p, n = torch.buffer(s)
    assert.equal(12, n)
    if ffi then
      assert.equal('ctype<unsigned char *>', tostring(ffi.typeof(p)))
      p[4] = 55
      assert.equal(55, s[2])
    else
      assert.equal(pointer, p)
    end
    support.fails('(torch.*Storage expected, got string)', torch.buffer, 'x')
    s:free()
    support.fails('storage was freed', torch.buffer, s)
  end)
end)

if ffi then
  describe('an FFI value', function()
    it('can be an array, or a pointer with a length', function()
      local array = ffi.new('int32_t[3]', { 1, 2, 3 })
      recorded.check(
        [[
        torch.frombuffer(array, {dtype = 'int32'})   --> <torch.IntStorage #3: 1 2 3>
        torch.frombuffer(array):nbytes()   --> 12
        torch.frombuffer(array, {size = 12})   --> ERROR option 'size': only of a pointer
        torch.frombuffer(ffi.cast('char *', array) + 4, {dtype = 'int32', size = 8})   --> <torch.IntStorage #2: 2 3>
        torch.frombuffer(array + 1, {dtype = 'int32', count = 1})   --> <torch.IntStorage #1: 2>
        torch.frombuffer(ffi.new('uint8_t[?]', 5), {dtype = 'int16', offset = 1, count = 2LL})   --> <torch.ShortStorage #2: 0 0>
        torch.frombuffer(ffi.cast('void *', nil), {size = 8})   --> ERROR 8 bytes at 0 are not a valid range of memory
        torch.frombuffer(array + 0)   --> ERROR a pointer does not say how long its memory is
        torch.frombuffer(array + 0, {dtype = 'double', count = 2 ^ 61})   --> ERROR are more than any memory has
        torch.frombuffer(ffi.new('int'))   --> ERROR FFI array or pointer expected, got cdata
        torch.frombuffer(5LL)   --> ERROR FFI array or pointer expected, got cdata
        torch.frombuffer(ffi.typeof('int[3]'))   --> ERROR FFI array or pointer expected, got cdata
      ]],
        { ffi = ffi, array = array }
      )
      torch.frombuffer(array, { dtype = 'int32' })[2] = -1
      assert.equal(-1, array[1])
    end)

    it('is kept alive by the storage', function()
      local s
      do
        local array = ffi.new('int32_t[?]', 1000)
        for i = 0, 999 do
          array[i] = i
        end
        s = torch.frombuffer(array, { dtype = 'int32', offset = 4 })
      end
      for _ = 1, 10 do
        support.collect()
        ffi.new('int32_t[?]', 1000)
      end
      local sum = 0
      for _, v in s:iter() do
        sum = sum + v
      end
      assert.equal(499500, sum)
    end)

    it('that is constant gives a read-only storage', function()
      local text = 'constant'
      for _, value in ipairs {
        ffi.cast('const char *', text),
        ffi.cast('const uint8_t *const', text),
        ffi.new('const char[8]', text),
        ffi.cast('const volatile char *', text),
      } do
        local s = torch.frombuffer(value, { count = 8 })
        assert.equal('constant', s:string())
        support.fails('read-only', s.zero, s)
      end
      local pointers = ffi.new 'const char *[1]'
      assert.is_false(torch.frombuffer(pointers):isReadOnly())
      assert.is_false(torch.frombuffer(ffi.new('char[3]')):isReadOnly())
      local s = torch.frombuffer(offering(function()
        return ffi.cast('const char *', text), 8
      end))
      assert.is_true(s:isReadOnly())
    end)

    it('that __buffer returns is kept alive too', function()
      local s = torch.frombuffer(offering(function()
        return ffi.new('uint8_t[4096]', ('x'):byte()), 4096
      end))
      for _ = 1, 10 do
        support.collect()
        ffi.new 'uint8_t[4096]'
      end
      assert.equal(120, s[1])
    end)
  end)
end

local has_buffers, string_buffer = pcall(require, 'string.buffer')

describe('a string.buffer', function()
  local function test(title, f)
    it(title, function()
      if not has_buffers then
        return pending 'this interpreter has no string.buffer'
      end
      f()
    end)
  end

  test('shows a copy of its bytes, which can only be read', function()
    local b = string_buffer.new():put('hello', ' world')
    assert.equal('hel', b:get(3))
    local s = torch.frombuffer(b, { dtype = 'uint8' })
    local part = torch.ShortStorage.frombuffer(b, { offset = 1, count = 2, byteorder = 'little' })
    assert.equal('lo world', s:string())
    assert.equal('o wo', part:string())
    assert.is_true(s:isReadOnly() and part:isReadOnly())
    support.fails('read-only', s.fill, s, 1)
    assert.equal(0x6c6f, torch.ShortStorage.frombuffer(b, { byteorder = 'big' })[1])
    -- What frees or moves the memory of the buffer.
    b:set(('x'):rep(100))
    b:put(('y'):rep(10 ^ 6))
    b:free()
    b = nil -- luacheck: ignore
    for _ = 1, 10 do
      support.collect()
      string_buffer.new():put(('z'):rep(8)) -- luacheck: ignore
    end
    assert.equal('lo world', s:string())
    assert.equal('o wo', part:string())
  end)

  test('is an error where there is nothing to show', function()
    support.fails('nothing to share: the buffer has 0 bytes', torch.frombuffer, string_buffer.new())
    local b = string_buffer.new():put 'abc'
    support.fails('3 bytes from offset 0 on is not a multiple of the 2-byte', torch.ShortStorage.frombuffer, b)
    support.fails("option 'size': only of a pointer", torch.frombuffer, b, { size = 2 })
    local file = io.tmpfile()
    local metatable = debug.getmetatable(file)
    debug.setmetatable(file, debug.getmetatable(b))
    local ok = pcall(torch.frombuffer, file)
    debug.setmetatable(file, metatable)
    file:close()
    assert.is_false(ok)
  end)

  test('takes the bytes of storages, with and without a string', function()
    local s = torch.ShortStorage { 1, -2 }
    local b = string_buffer.new():put(s:string()):putcdata(s:data(), s:nbytes())
    assert.equal(s:string() .. s:string(), b:tostring())
    b:putcdata(torch.IntTensor({ { 1, 2 }, { 3, 4 } }):select(1, 2):data(), 8)
    assert.same({ 3, 4 }, torch.IntStorage.frombuffer(b, { offset = 8 }):totable())
  end)

  test('shows its own memory by the pointer that it gives', function()
    local b = string_buffer.new():put 'hello'
    local pointer, length = b:ref()
    local s = torch.frombuffer(pointer, { dtype = 'uint8', size = length })
    s[1] = ('J'):byte()
    assert.equal('Jello', b:tostring())
  end)

  it('is copied in Neovim, whose LuaJIT may have string buffers #process', function()
    if support.sh 'command -v nvim' == '' then
      return pending 'nvim is missing: tools/need --try nvim'
    end
    local file = support.spit(
      path 'script.lua',
      [[
      local torch = require 'torch'
      local has, buffer = pcall(require, 'string.buffer')
      if not has then
        io.stdout:write 'none'
        return
      end
      local b = buffer.new():put 'hello'
      local s = torch.frombuffer(b, { dtype = 'uint8' })
      b:free()
      io.stdout:write(s:string(), ' ', #s, ' ', tostring(s:isReadOnly()))
    ]]
    )
    local output =
      support.sh(("timeout 60 nvim --headless -u NONE -i NONE -n -c 'luafile %s' -c 'q!' </dev/null"):format(file))
    if output:find 'none' then
      return pending 'this Neovim has no string.buffer'
    end
    assert.equal('hello 5 true', output)
  end)
end)
