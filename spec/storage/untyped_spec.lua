-- torch.UntypedStorage: bytes without a type, on their own and as a view of the bytes of typed storages.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

local path = support.temporary()
after_each(accessors.restore)

-- Recorded cases, with every way to access elements.
local cases = accessors.check

describe('an untyped storage', function()
  it('is made from a size, a table, a string or another storage', function()
    cases [[
      torch.UntypedStorage()   --> <torch.UntypedStorage #0: >
      torch.UntypedStorage(3)   --> <torch.UntypedStorage #3: 0 0 0>
      torch.UntypedStorage{1, 255, 256, -1, -129, 2^40}   --> <torch.UntypedStorage #6: 1 255 0 255 127 0>
      torch.UntypedStorage('AB\0C')   --> <torch.UntypedStorage #4: 65 66 0 67>
      torch.UntypedStorage('')   --> <torch.UntypedStorage #0: >
      torch.UntypedStorage(torch.UntypedStorage('abc'), 2)   --> <torch.UntypedStorage #2: 98 99>
      torch.UntypedStorage.fromstring('ab')   --> <torch.UntypedStorage #2: 97 98>
      torch.UntypedStorage('abc'):isView(), torch.UntypedStorage('abc'):resizable()   --> false, true
      torch.UntypedStorage(torch.ByteStorage(3))   --> ERROR torch.UntypedStorage expected, got torch.ByteStorage
      torch.UntypedStorage(-1)   --> ERROR a size is a whole number of elements from 0 to 2^63-1, got -1
      torch.UntypedStorage{1, 'x'}   --> ERROR element 2 of the table: number expected
      torch.UntypedStorage.elementSize()   --> 1
      torch.UntypedStorage(3):type()   --> "torch.UntypedStorage"
      torch.typename(torch.UntypedStorage(1)), torch.isStorage(torch.UntypedStorage(1))   --> "torch.UntypedStorage", true
    ]]
  end)

  it('is a mapped file if an argument follows the name', function()
    local file = path 'file'
    support.spit(file, 'hello')
    cases(
      [[
      torch.UntypedStorage(file):string() == file   --> true
      torch.UntypedStorage(file, false):string()   --> "hello"
      torch.UntypedStorage(file, nil):string()   --> "hello"
      torch.UntypedStorage(file, false, 2):string()   --> "he"
      torch.UntypedStorage{filename = file, offset = 1, readonly = true}:string()   --> "ello"
      torch.UntypedStorage.fromfile(file):isMapped()   --> true
      torch.UntypedStorage.fromfile(file, true, 5):isShared()   --> true
      > torch.UntypedStorage(file, true)[1] = 74
      slurp(file)   --> "Jello"
      > slurp(file:gsub('$', '')) spit(file, 'hello')
    ]],
      { file = file, slurp = support.slurp, spit = support.spit }
    )
  end)

  it('has bytes as elements', function()
    cases [[
      > u = torch.UntypedStorage{1, 2, 3}
      #u, u:size(), u:nbytes()   --> 3, 3, 3
      u[3], u['2']   --> 3, 2
      u[0]   --> ERROR index 0 is out of range: the storage has 3 elements, 1 to 3
      > u[1], u[2], u[3] = 300, -1, 7.9
      u   --> <torch.UntypedStorage #3: 44 255 7>
      u[1] = nil   --> ERROR number expected, got nil
      u:fill(257)   --> <torch.UntypedStorage #3: 1 1 1>
      u:resize(5)   --> <torch.UntypedStorage #5: 1 1 1 0 0>
      u:totable()   --> {1, 1, 1, 0, 0}
      u:equal(torch.UntypedStorage{1, 1, 1, 0, 0}), u:equal(torch.ByteStorage{1, 1, 1, 0, 0})   --> true, false
      tostring(torch.UntypedStorage{1, 22})   --> "  1\010 22\010[torch.UntypedStorage of size 2]\010"
      u:sub(-2):fill(9)   --> <torch.UntypedStorage #2: 9 9>
      u   --> <torch.UntypedStorage #5: 1 1 1 9 9>
      u:byteswap(2)   --> ERROR 5 bytes is not a multiple of the 2-byte word size
      u:clone():zero()   --> <torch.UntypedStorage #5: 0 0 0 0 0>
      u:string()   --> "\001\001\001\009\009"
    ]]
  end)

  it('is what untyped() returns for every class: the same bytes', function()
    accessors.each(function(T, class, width)
      local s = class { 1, 2, 3 }
      local u = s:untyped()
      assert.equal('torch.UntypedStorage', u:type())
      assert.equal(3 * width, #u)
      assert.equal(s:dataptr(), u:dataptr())
      assert.is_true(u:isView() and not u:resizable(), T)
      assert.is_true(u:string() == s:string(), T)
      u:fill(0)
      assert.equal('0 0 0', support.joined(s:totable(), ' '))
      assert.is_true(u:view(class):equal(s))
      assert.is_true(u:untyped() == u)
      local bytes = torch.UntypedStorage(2)
      assert.is_true(bytes:untyped() == bytes)
      assert.equal(0, #class():untyped())
    end)
  end)

  it('copies bytes from and to other classes', function()
    cases [[
      > f = torch.FloatStorage{1, -2}
      > u = torch.UntypedStorage(8):copy(f)
      u   --> <torch.UntypedStorage #8: 0 0 128 63 0 0 0 192>
      torch.FloatStorage(2):copy(u)   --> <torch.FloatStorage #2: 1 -2>
      torch.IntStorage(2):copy(u)   --> <torch.IntStorage #2: 1065353216 -1073741824>
      torch.UntypedStorage(2):copy(f)   --> ERROR length mismatch: 2 bytes expected, got 8
      torch.DoubleStorage(8):copy(u)   --> ERROR length mismatch: 64 bytes expected, got 8
      torch.UntypedStorage(2):copy(u)   --> ERROR size mismatch: 2 elements expected, got 8
      u:copy(f, 1, 1, 1)   --> ERROR the indices count elements: use untyped() of both
      f:copy(u, 2)   --> ERROR the indices count elements: use untyped() of both
      u:copy(f:untyped(), 5, 1, 4)   --> <torch.UntypedStorage #8: 0 0 128 63 0 0 128 63>
      u:copy(u, 2, 1, 7)   --> <torch.UntypedStorage #8: 0 0 0 128 63 0 0 128>
      u:rawcopy(f):equal(f:untyped())   --> true
      torch.UntypedStorage():copy(torch.FloatStorage())   --> <torch.UntypedStorage #0: >
    ]]
    -- Longer than one step of a copy, and longer than a mebibyte.
    local f = torch.FloatStorage(2 ^ 20):fill(1.5)
    assert.is_true(torch.UntypedStorage(2 ^ 22):copy(f):view('float'):equal(f))
  end)

  it('is converted as numbers from 0 to 255', function()
    cases [[
      > u = torch.UntypedStorage{0, 1, 128, 255}
      u:char()   --> <torch.CharStorage #4: 0 1 -128 -1>
      u:float()   --> <torch.FloatStorage #4: 0 1 128 255>
      u:long()   --> <torch.LongStorage #4: 0 1 128 255>
      u:half():type()   --> "torch.HalfStorage"
      u:type('torch.ByteStorage')   --> <torch.ByteStorage #4: 0 1 128 255>
      u:type('torch.UntypedStorage') == u   --> true
      torch.IntStorage{1, 258}:type('torch.UntypedStorage')   --> <torch.UntypedStorage #8: 1 0 0 0 2 1 0 0>
      torch.IntStorage{1}:type('untyped'):isView()   --> false
    ]]
    local u = torch.UntypedStorage(100000):fill(200)
    assert.is_true(u:double():equal(torch.DoubleStorage(100000):fill(200)))
  end)

  it('can be passed on, shared and inspected like other storages', function()
    local u = torch.UntypedStorage 'abc'
    assert.is_true(torch.fromToken(u:token()) == u)
    assert.equal('abc', torch.UntypedStorage(u:clone():shareMemory()):string())
    u:retain()
    assert.is_true(torch.pushudata(torch.pointer(u), 'torch.UntypedStorage') == u)
    assert.equal('torch.UntypedStorage', torch.factory('torch.UntypedStorage')():type())
    if support.luajit then
      local ffi = require 'ffi'
      assert.equal(97, u:data()[0])
      assert.equal('ctype<unsigned char *>', tostring(ffi.typeof(u:data())))
      assert.equal(3, tonumber(u:cdata().size))
    end
  end)

  it('cannot be saved in .t7 files, but a typed view of it can', function()
    local u = torch.UntypedStorage 'abc'
    support.fails('Torch7 has no such class', torch.serialize, { bytes = u })
    assert.equal('abc', torch.deserialize(torch.serialize(u:view 'uint8')):string())
  end)
end)
