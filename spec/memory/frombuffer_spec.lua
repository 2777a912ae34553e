-- torch.frombuffer over strings, storages and pointers, and its errors.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

local ffi = support.luajit and require 'ffi'
after_each(accessors.restore)

-- Recorded cases, with every way to access elements.
local cases = accessors.check

describe('a storage over a Lua string', function()
  it('shows its bytes', function()
    cases [[
      torch.frombuffer('abc')   --> <torch.UntypedStorage #3: 97 98 99>
      torch.ByteStorage.frombuffer('abc')   --> <torch.ByteStorage #3: 97 98 99>
      torch.frombuffer('abcd', {dtype = 'int16', byteorder = 'little'})   --> <torch.ShortStorage #2: 25185 25699>
      torch.frombuffer('\0\0\128\63', {dtype = torch.FloatStorage})   --> <torch.FloatStorage #1: 1>
      torch.frombuffer('abcdef', {offset = 2})   --> <torch.UntypedStorage #4: 99 100 101 102>
      torch.frombuffer('abcdef', {offset = 2, count = 1})   --> <torch.UntypedStorage #1: 99>
      torch.frombuffer('abcdef', {offset = 2, count = -7})   --> <torch.UntypedStorage #4: 99 100 101 102>
      torch.frombuffer('xabcdx', {dtype = 'int32', offset = 1, count = 1}):string()   --> "abcd"
      torch.IntStorage.frombuffer('xabcdx', {offset = 1, count = 1, byteorder = 'native'}):string()   --> "abcd"
      torch.frombuffer('abc', nil), torch.frombuffer('abc', {})   --> <torch.UntypedStorage #3: 97 98 99>, <torch.UntypedStorage #3: 97 98 99>
      torch.frombuffer('abc'):resizable(), torch.frombuffer('abc'):isView(), torch.frombuffer('abc'):isReadOnly()   --> false, false, true
    ]]
  end)

  it('is read-only for every way of writing', function()
    local REFUSED = 'read-only: the storage is read-only memory of the caller; clone() returns a writable copy'
    local text = ('\1\2\3\60'):rep(64)
    local kept = text:sub(1, 1) .. text:sub(2)
    accessors.each(function(T, class)
      local s = class.frombuffer(text)
      for _, v in ipairs { s, class(s, 2), s:sub(2), s:view(T == 'Byte' and 'int16' or 'uint8', 1, 4), s:untyped() } do
        local own = torch.getmetatable(v:type())
        local other = torch.getconstructortable(v:type())(#v)
        local function refused(f, ...)
          support.fails(REFUSED, f, ...)
        end
        local function assign(k, x)
          v[k] = x
        end
        assert.is_true(v:isReadOnly())
        refused(assign, 1, 5)
        refused(assign, '1', '5')
        refused(own.__newindex, v, #v, 5)
        refused(own.__newindex__, v, 1, 5)
        refused(v.fill, v, 0)
        refused(v.fill, v, 1, 1, 1)
        refused(v.zero, v)
        refused(v.copy, v, other)
        refused(v.copy, v, other, 1, 1, 1)
        refused(v.copy, v, v)
        refused(v.rawcopy, v, other)
        refused(v.byteswap, v)
        support.fails('not resizable', v.resize, v, #v + 1)
        support.fails('not resizable', v.resize, v, 0)
        support.fails('not resizable', v.string, v, ('x'):rep(80))
        support.fails('only heap memory', v.shareMemory, v)
        -- The bytes must stay even when the size does.
        assert.is_false((pcall(v.string, v, ('x'):rep(v:nbytes()))))
        if ffi then
          refused(assign, ffi.new('int64_t', 1), 5)
          refused(assign, 1, ffi.new('uint64_t', 5))
        end
        local copy = v:clone()
        assert.is_false(copy:isReadOnly())
        assert.is_true(copy:equal(v))
        copy:fill(0)
      end
      assert.equal(kept, text)
      assert.equal(text, s:string())
    end)
  end)

  it('refuses the writes of compiled loops', function()
    for _, mode in ipairs(accessors.MODES) do
      torch.accessors(mode)
      local text = ('abcdefgh'):rep(100)
      local targets = {}
      for i = 1, 200 do
        targets[i] = i < 200 and torch.ByteStorage(800) or torch.ByteStorage.frombuffer(text)
      end
      local done = 0
      support.fails('read-only', function()
        for i = 1, #targets do
          targets[i][1] = 65
          done = i
        end
      end)
      assert.equal(199, done)
      assert.equal('a', text:sub(1, 1))
    end
  end)

  it('keeps the string alive', function()
    local s, view
    do
      local parts = {}
      for i = 1, 1000 do
        parts[i] = ('%04d'):format(i)
      end
      s = torch.frombuffer(table.concat(parts))
      view = s:view('int32', 4, 10)
    end
    for _ = 1, 5 do
      support.collect()
      local _ = ('x'):rep(4000) .. math.random()
    end
    assert.equal('00010002', s:string(1, 8))
    s:free()
    support.collect()
    assert.equal('00020003', view:string(1, 2))
  end)

  it('releases it with the last storage', function()
    support.collect()
    local before = collectgarbage 'count'
    for i = 1, 200 do
      torch.frombuffer(('x'):rep(2 ^ 16) .. i):sub(2)
    end
    support.collect()
    assert.is_true(collectgarbage 'count' - before < 1024)
    assert.equal(0, torch.memory().foreign)
  end)

  it('stays in its Lua state', function()
    local s = torch.frombuffer 'abc'
    support.fails('belongs to a value of one Lua state', s.token, s)
    support.fails('belongs to a value of one Lua state', torch.publish, 'frombuffer-spec', s)
  end)
end)

describe('a wrong request', function()
  it('is reported with its numbers', function()
    cases [[
      > t = 'hello world'
      torch.frombuffer('')   --> ERROR bad argument #1 to 'frombuffer' (nothing to share: the buffer has 0 bytes, all elements are wanted)
      torch.frombuffer(t, {count = 0})   --> ERROR nothing to share: the buffer has 11 bytes, 0 elements are wanted
      torch.frombuffer(t, {dtype = 'int32'})   --> ERROR bad argument #1 to 'frombuffer' (11 bytes from offset 0 on is not a multiple of the 4-byte element size (torch.IntStorage): the buffer has 11 bytes)
      torch.frombuffer(t, {dtype = 'int16', offset = 2})   --> ERROR 9 bytes from offset 2 on is not a multiple of the 2-byte element size (torch.ShortStorage): the buffer has 11 bytes
      torch.frombuffer(t, {offset = 11})   --> ERROR bad argument #2 to 'frombuffer' (offset 11 is not inside a buffer of 11 bytes: 0 to 10)
      torch.frombuffer(t, {offset = 2^53})   --> ERROR offset 9007199254740992 is not inside a buffer of 11 bytes
      torch.frombuffer(t, {offset = -1})   --> ERROR option 'offset': a whole number of bytes from 0 to 2^63-1 expected, got -1
      torch.frombuffer(t, {offset = 0/0})   --> ERROR option 'offset': a whole number of bytes
      torch.frombuffer(t, {dtype = 'int32', count = 3})   --> ERROR 3 elements of 4 bytes (torch.IntStorage) from offset 0 on need 12 bytes, 11 of the buffer's 11 are left
      torch.frombuffer(t, {dtype = 'int32', count = 2, offset = 4})   --> ERROR 2 elements of 4 bytes (torch.IntStorage) from offset 4 on need 8 bytes, 7 of the buffer's 11 are left
      torch.frombuffer(t, {dtype = 'double', count = 2^61})   --> ERROR 2305843009213693952 elements of 8 bytes (torch.DoubleStorage) from offset 0 on need 18446744073709551616 bytes
      torch.frombuffer(t, {dtype = 'double', count = 2^61 + 1024, offset = 8})   --> ERROR from offset 8 on need 18446744073709559808 bytes, 3 of the buffer's 11 are left
      torch.frombuffer(t, {count = 2^70})   --> ERROR option 'count': a whole number of elements is needed, got 1.1805916207174113e21
      torch.frombuffer(t, {count = 0/0})   --> ERROR option 'count': a whole number of elements is needed, got nan
      torch.frombuffer(t, {count = 'x'})   --> ERROR option 'count': number expected, got string
      torch.frombuffer(t, {byteorder = 'middle'})   --> ERROR option 'byteorder': 'native', 'little' or 'big' expected, got 'middle'
      torch.frombuffer(t, {byteorder = 1})   --> ERROR option 'byteorder': string expected, got number
      torch.frombuffer(t, {dtype = 'int128'})   --> ERROR bad argument #2 to 'frombuffer' (option 'dtype': no class 'int128': did you mean 'int8' or 'int16' or 'int32'?
      torch.frombuffer(t, {dtype = 5})   --> ERROR option 'dtype': class (a name like 'torch.FloatStorage' or 'float32', or torch.FloatStorage itself) expected, got number
      torch.frombuffer(t, {size = 3})   --> ERROR option 'size': only of a pointer, other buffers say how long they are
      torch.frombuffer(t, {type = 'int8'})   --> ERROR no option 'type': dtype, count, offset, byteorder, size, requires_grad are the options of a buffer
      torch.frombuffer(t, {'int8'})   --> ERROR no option 1: dtype
      torch.frombuffer(t, 'int8')   --> ERROR bad argument #2 to 'frombuffer' (table of options, such as {dtype = 'float32', count = 10}, expected, got string)
      torch.IntStorage.frombuffer(t, {dtype = 'int8'})   --> ERROR option 'dtype': the class is torch.IntStorage here; torch.frombuffer takes one
      torch.frombuffer()   --> ERROR bad argument #1 to 'frombuffer' (storage, string, FFI array or pointer, or object with __buffer expected, got no value)
      torch.frombuffer(nil)   --> ERROR with __buffer expected, got nil
      torch.frombuffer({1, 2})   --> ERROR with __buffer expected, got table
      torch.frombuffer(12)   --> ERROR with __buffer expected, got number
      torch.frombuffer(io.stdout)   --> ERROR with __buffer expected, got userdata
      torch.frombuffer(print)   --> ERROR with __buffer expected, got function
    ]]
    support.collect()
    assert.equal(0, torch.memory().foreign)
  end)
end)

describe('a storage over another', function()
  it('is a view of it', function()
    cases [[
      > s = torch.IntStorage{1, 2, 3}
      > v = torch.frombuffer(s, {dtype = 'uint8', offset = 4, count = 5})
      v   --> <torch.ByteStorage #5: 2 0 0 0 3>
      v:isView(), v:isReadOnly()   --> true, false
      > v[1] = 9
      s   --> <torch.IntStorage #3: 1 9 3>
      > s[2] = 77
      v[1]   --> 77
    ]]
  end)

  it('outlives it', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local v = torch.IntStorage.frombuffer(s)
    s:resize(10 ^ 6)
    s:free()
    support.collect()
    assert.equal('1 2 3', support.joined(v:totable(), ' '))
    support.fails('storage was freed', torch.frombuffer, s)
    support.fails('nothing to share: the buffer has 0 bytes', torch.frombuffer, torch.IntStorage())
  end)
end)

describe('bytes of the other byte order', function()
  it('are copied and reversed', function()
    cases [[
      > t = '\1\2\3\4'
      > s = torch.frombuffer(t, {dtype = 'int16', byteorder = 'big'})
      s   --> <torch.ShortStorage #2: 258 772>
      s:isReadOnly(), s:resizable(), s:isView()   --> false, true, false
      s:fill(0)   --> <torch.ShortStorage #2: 0 0>
      t   --> "\001\002\003\004"
      torch.frombuffer('x' .. t, {dtype = 'int32', byteorder = 'big', offset = 1})   --> <torch.IntStorage #1: 16909060>
      torch.frombuffer(t, {dtype = 'int8', byteorder = 'big'}):isReadOnly()   --> true
      > w = torch.ShortStorage{1, 2}
      torch.ShortStorage.frombuffer(w, {byteorder = 'big'})   --> <torch.ShortStorage #2: 256 512>
      w   --> <torch.ShortStorage #2: 1 2>
      torch.DoubleStorage.frombuffer('\63\240\0\0\0\0\0\0', {byteorder = 'big'})   --> <torch.DoubleStorage #1: 1>
    ]]
    support.collect()
    assert.equal(0, torch.memory().foreign)
  end)
end)

describe('a light userdata', function()
  it('needs a length', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local pointer = getmetatable(s).__buffer(s)
    assert.equal('1 2 3', support.joined(torch.frombuffer(pointer, { dtype = 'int32', size = 12 }):totable(), ' '))
    assert.equal(
      '2',
      table.concat(torch.frombuffer(pointer, { dtype = 'int32', count = 1, offset = 4 }):totable(), ' ')
    )
    support.fails("give its bytes as 'size', or a 'count' of elements", torch.frombuffer, pointer)
    support.fails("or a 'count' of elements", torch.frombuffer, pointer, { count = -1 })
    support.fails(
      '4 elements of 4 bytes (torch.IntStorage) from offset 0 on need 16 bytes, 12 of',
      torch.frombuffer,
      pointer,
      { dtype = 'int32', count = 4, size = 12 }
    )
    support.fails('are not a valid range of memory', torch.frombuffer, pointer, { size = 2 ^ 63 - 1024 })
  end)
end)
