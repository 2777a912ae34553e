-- Views of the same bytes as another class (s:view), conversions by name (s:float() ...), and the names of classes.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()
after_each(accessors.restore)

-- PyTorch's names of the dtypes of Torch7's classes.
local NAMES = {
  Byte = { 'uint8', 'byte' },
  Char = { 'int8', 'char' },
  Short = { 'int16', 'short' },
  Int = { 'int32', 'int' },
  Long = { 'int64', 'long' },
  Half = { 'float16', 'half' },
  Float = { 'float32', 'float' },
  Double = { 'float64', 'double' },
}

-- Recorded cases, with every way to access elements.
local cases = accessors.check

-- Calls body(S, source, T, target) for every pair of classes, including the untyped one.
local function pairs_of_classes(body)
  local classes = { 'Untyped' }
  for _, T in ipairs(types.NUMBERS) do
    classes[#classes + 1] = T
  end
  for _, S in ipairs(classes) do
    for _, T in ipairs(classes) do
      body(S, torch[S .. 'Storage'], T, torch[T .. 'Storage'])
    end
  end
end

describe('a view as another class', function()
  it('shows the same bytes, for every pair of classes', function()
    pairs_of_classes(function(_, source, T, target)
      local s = source.fromstring(('abcdefgh'):rep(5))
      local v = s:view(target)
      assert.equal('torch.' .. T .. 'Storage', v:type())
      assert.equal(40, v:nbytes())
      assert.equal(40 / target.elementSize(), #v)
      assert.equal(s:dataptr(), v:dataptr())
      assert.equal(s:string(), v:string())
      assert.is_true(v:isView() and not v:resizable())
      v:fill(1)
      assert.equal(s:string(), v:string())
      assert.equal(s:string(), v:view(source):string())
    end)
  end)

  it('begins at any byte and has any length', function()
    local bytes = ('abcdefghijklmnopqrstuvwxyz'):rep(3)
    pairs_of_classes(function(_, source, T, target)
      local width = target.elementSize()
      local s = source.fromstring(bytes:sub(1, 72))
      for offset = 0, 9 do
        local v = s:view(target, offset, 3)
        assert.equal(bytes:sub(offset + 1, offset + 3 * width), v:string())
        assert.equal(tostring(target.fromstring(v:string())[2]), tostring(v[2]), T)
        assert.equal(s:dataptr() + offset, v:dataptr())
        local rest = s:view(target, offset % 2 * (72 - 3 * width))
        assert.equal(offset % 2 == 0 and 72 / width or 3, #rest)
        assert.equal(0, #s:view(target, 72, 0))
        assert.equal(0, #s:view(target, 72))
        -- The offset of a view of a view counts from the start of that view.
        assert.equal(bytes:sub(offset + 3, offset + 2 + width), s:view('uint8', offset):view(target, 2, 1):string())
      end
    end)
  end)

  it('has to cover a whole number of elements', function()
    cases [[
      > s = torch.IntStorage{1, 2, 3}
      s:view('int64')   --> ERROR bad argument #1 to 'view' (cannot view a torch.IntStorage as a torch.LongStorage: its 3 elements of 4 bytes are 12 bytes, which is not a multiple of the 8-byte element size; give an offset and a size to view a part)
      s:view('int64', 4)   --> <torch.LongStorage #1: 12884901890>
      s:view('int64', 0, 1)   --> <torch.LongStorage #1: 8589934593>
      s:view('int64', 3)   --> ERROR cannot view a torch.IntStorage as a torch.LongStorage: 9 bytes from byte offset 3 on, which is not a multiple of the 8-byte element size
      s:view('int64', 3, 1)[1]   --> 3298534883840
      s:view('uint8', 12)   --> <torch.ByteStorage #0: >
      s:view('uint8', 13)   --> ERROR bad argument #2 to 'view' (byte offset 13 is beyond the end of a storage of 12 bytes)
      s:view('uint8', -1)   --> ERROR bad argument #2 to 'view' (an offset is a whole number of bytes from 0 to 2^63-1, got -1)
      s:view('uint8', 0/0)   --> ERROR an offset is a whole number of bytes from 0 to 2^63-1, got nan
      s:view('int16', 8, 3)   --> ERROR bad argument #3 to 'view' (3 elements of 2 bytes (torch.ShortStorage) are not in the 4 bytes from byte offset 8 on: the storage has 12 bytes)
      s:view('int64', 0, 2^61)   --> ERROR 2305843009213693952 elements of 8 bytes (torch.LongStorage) are not in the 12 bytes from byte offset 0 on
      s:view('int64', 8, 2^61 - 1)   --> ERROR are not in the 4 bytes from byte offset 8 on
      s:view('int64', 0, -1)   --> ERROR a size is a whole number of elements
      torch.IntStorage():view('double')   --> <torch.DoubleStorage #0: >
      s:view()   --> ERROR a view of no dimensions needs 1 element, and there are 3
      s:view('int128')   --> ERROR bad argument #1 to 'view' (no class 'int128': did you mean 'int8' or 'int16' or 'int32'?
      s:view({})   --> ERROR a view of no dimensions needs 1 element, and there are 3
      s:view(s)   --> ERROR torch.FloatStorage itself) expected, got torch.IntStorage
      torch.IntStorage.view('x', 'int8')   --> ERROR torch.IntStorage expected, got string
      [luajit] s:view('int8', 4LL, 2ULL)   --> <torch.CharStorage #2: 2 0>
      > s:free()
      s:view('int8')   --> ERROR storage was freed
    ]]
  end)

  it('keeps the memory alive and in place', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local v = s:view('uint8', 1)
    s:resize(100000):fill(7)
    assert.equal('0 0 0 2 0 0 0 3 0 0 0', support.joined(v:totable(), ' '))
    s:free()
    support.collect()
    assert.equal(2, v[4])
    support.fails('not resizable: the storage is a view of another storage', v.resize, v, 3)
    local t = torch.FloatStorage { 1 }
    local u = t:untyped()
    t:shareMemory()
    t[1] = 5
    assert.equal('0 0 128 63', support.joined(u:totable(), ' '))
  end)

  it('is read-only on a read-only map, and shared on a shared one', function()
    local file = support.spit(path 'file', 'abcdefgh')
    local s = torch.ByteStorage { filename = file, readonly = true }
    local v = s:view 'int32'
    assert.is_true(v:isReadOnly() and v:isMapped())
    for _, act in ipairs { 'zero', 'byteswap' } do
      support.fails('read-only', v[act], v)
    end
    support.fails('read-only', s.untyped(v:view 'uint8').fill, v:untyped(), 3)
    support.fails('read-only', function()
      s:untyped()[1] = 3
    end)
    local shared = torch.ByteStorage(file, true):view('int32', 4)
    assert.is_true(shared:isShared())
    shared[1] = 0x64636261
    shared:flush()
    assert.equal('abcdabcd', support.slurp(file))
  end)
end)

describe('a cast by name', function()
  it('converts as s:type(name) does, and returns the storage itself if its class is right already', function()
    pairs_of_classes(function(S, source, T, target)
      if T ~= 'Untyped' then
        local s = source { 1, 2.6, 300, -1 }
        local cast = s[types.ENTRY[T].cast](s)
        assert.equal('torch.' .. T .. 'Storage', cast:type())
        assert.equal(4, #cast)
        assert.equal(s:type(target):string(), cast:string()) -- 300 becomes NaN in some
        assert.equal(S == T, cast == s)
        for i = 1, S == T and 0 or 4 do
          local one = target(1)
          one[1] = types.ENTRY[S].kind == 'complex' and s[i] or support.exact(s, i)
          assert.equal(tostring(one[1]), tostring(cast[i]), S .. ' to ' .. T)
        end
      end
    end)
    local s = torch.FloatStorage { 1 }
    assert.is_false(s:clone() == s)
    assert.equal('torch.FloatStorage', s:sub(1):double():float():type())
    support.fails('torch.FloatStorage expected, got nil', s.double, nil)
  end)

  it('exists for every class', function()
    for _, entry in ipairs(require('torch.core').classes) do
      local name = entry.name:match('^torch%.(.*)Storage$'):gsub('(%l)(%u)', '%1_%2'):lower()
      assert.equal(entry.name, torch.IntStorage(2)[name](torch.IntStorage(2)):type())
    end
  end)
end)

describe('a class', function()
  it("can be given by its name, by PyTorch's name, or as itself", function()
    local s = torch.LongStorage { 65 }
    for _, T in ipairs(types.TORCH7) do
      local names = NAMES[T]
      local full = 'torch.' .. T .. 'Storage'
      local class = torch[T .. 'Storage']
      local ways = { full, T .. 'Storage', names[1], names[2], 'torch.' .. names[1], class, torch.getmetatable(full) }
      for _, way in ipairs(ways) do
        assert.equal(full, s:view(way):type())
        assert.equal(full, s:type(way):type())
        assert.equal(full, torch.frombuffer(s, { dtype = way }):type())
        assert.equal(torch.getmetatable(full), torch.getmetatable(way))
        assert.equal(class, torch.getconstructortable(way))
        assert.equal(full, torch.factory(way)():type())
        local t = class(1)
        t:retain()
        assert.is_true(torch.pushudata(torch.pointer(t), way) == t)
      end
    end
  end)

  it('is never guessed from similar names', function()
    local s = torch.LongStorage { 65 }
    for _, name in ipairs { 'Float', 'FLOAT', 'float ', 'torch.Float', 'real', 'int128', 'FloatTensor', 'torch.' } do
      support.fails("no class '" .. name .. "'", s.type, s, name)
      assert.is_nil(torch.getmetatable(name))
      assert.is_nil(torch.factory(name))
    end
    support.fails('string expected, got table', torch.getmetatable, {})
    support.fails('string expected, got number', torch.factory, 5)
    -- A program may define a class with such a name.
    local name = 'float'
    local metatable = torch.class(name, {})
    assert.equal(metatable, torch.getmetatable(name))
    assert.equal('torch.FloatStorage', s:view('float32'):type())
  end)
end)
