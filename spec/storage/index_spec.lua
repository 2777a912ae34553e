-- Reading and writing elements: indices, keys and values as recorded from Torch7.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

describe('reading', function()
  it('takes numbers and numeric strings as indices, and truncates them', function()
    recorded.check [[
      > s = torch.DoubleStorage{10,20,30}
      s[1]   --> 10
      s[3]   --> 30
      s[0]   --> ERROR index 0 is out of range: the storage has 3 elements, 1 to 3
      s[4]   --> ERROR index 4 is out of range: the storage has 3 elements, 1 to 3
      s[-1]   --> ERROR index -1 is out of range: the storage has 3 elements, 1 to 3
      s[1.5]   --> 10
      s[1.999]   --> 10
      s[0.999]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[3.999]   --> 30
      s['1']   --> 10
      s['0x2']   --> 20
      s[' 2 ']   --> 20
      s['4']   --> ERROR index 4 is out of range: the storage has 3 elements, 1 to 3
      s['1.9']   --> 10
      s[0/0]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[1/0]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[-1/0]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[2^31+1]   --> ERROR index 2147483649 is out of range: the storage has 3 elements, 1 to 3
      s[2^32+1]   --> ERROR index 4294967297 is out of range: the storage has 3 elements, 1 to 3
      s[2^53]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[2^63]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[2^64]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[2^64+4096]   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      torch.IntStorage()[1]   --> ERROR index 1 is out of range: the storage is empty
    ]]
  end)

  it('looks other keys up in the class', function()
    recorded.check [[
      > s = torch.DoubleStorage{10,20,30}
      s[nil]   --> nil
      s[true]   --> nil
      s[{}]   --> nil
      s[s]   --> nil
      s.foo   --> nil
      s['']   --> nil
      s['size']   --> function
      s['__typename']   --> "torch.DoubleStorage"
      type(s['__index'])   --> "function"
      #s   --> 3
    ]]
  end)

  it('works through metamethods that are called directly', function()
    recorded.check [[
      > mt = getmetatable(torch.IntStorage(1))
      mt.__index({}, 1)   --> ERROR (torch.IntStorage expected, got table)
      mt.__index(5, 1)   --> ERROR (torch.IntStorage expected, got number)
      mt.__index(torch.LongStorage{4}, 1)   --> ERROR (torch.IntStorage expected, got torch.LongStorage)
      mt.__newindex({}, 1, 2)   --> ERROR torch.IntStorage expected, got table
      mt.__newindex(torch.LongStorage{4}, 1, 2)   --> ERROR torch.IntStorage expected, got torch.LongStorage
      mt.__index__(torch.IntStorage{4}, 1)   --> 4, true
      mt.__index__(torch.IntStorage{4}, 'x')   --> false
      mt.__newindex__(torch.IntStorage{4}, 1, 2)   --> true
      mt.__newindex__(torch.IntStorage{4}, 'x', 2)   --> false
      mt.__index__({}, 1)   --> ERROR torch.IntStorage expected, got table
      mt.__len__(torch.IntStorage{4})   --> 1
      mt.__len(torch.IntStorage{4})   --> 1
      mt.__len({})   --> ERROR torch.IntStorage expected, got table
    ]]
  end)

  it('works through the table functions of Lua since 5.3 only', function()
    recorded.check [[
      > s = torch.DoubleStorage{10,20,30}
      next(s)   --> ERROR table expected, got
      [5.1] rawlen   --> nil
      [later] rawlen(s)   --> ERROR table or string expected
      [floats] table.concat(s)   --> ERROR table expected, got userdata
      [5.1] unpack(s)   --> ERROR table expected, got userdata
      [5.1] table.getn(s)   --> ERROR table expected, got userdata
    ]]
  end)

  -- These bits would mean something else than a number in a stack slot of LuaJIT.
  it('gives a number for every NaN', function()
    for byte = 0, 255 do
      local high = string.char(240 + byte % 16, 127 + byte % 2 * 128)
      local bits = string.char(1, 2, 3, 4, byte, 248 + byte % 8) .. high
      for _, T in ipairs { 'Half', 'Float', 'Double' } do
        local s = torch[T .. 'Storage'].fromstring(bits:sub(-types.WIDTH[T]))
        local read = { s[1], s:totable()[1], (s:unpack()) }
        for way = 1, 3 do
          assert.equal('number', type(read[way]))
          assert.is_true(read[way] ~= read[way])
        end
      end
    end
  end)
end)

describe('writing', function()
  it('takes the same indices as reading, and refuses other keys', function()
    recorded.check [[
      > s = torch.DoubleStorage{10,20,30}
      s[1] = 5   --> (no value)
      s['2'] = 6   --> (no value)
      s[3.7] = 7   --> (no value)
      s   --> <torch.DoubleStorage #3: 5 6 7>
      s[0] = 1   --> ERROR index 0 is out of range: the storage has 3 elements, 1 to 3
      s[4] = 1   --> ERROR index 4 is out of range: the storage has 3 elements, 1 to 3
      s[-1] = 1   --> ERROR index -1 is out of range: the storage has 3 elements, 1 to 3
      s[0/0] = 1   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s[1/0] = 1   --> ERROR is out of range: the storage has 3 elements, 1 to 3
      s.foo = 1   --> ERROR torch.DoubleStorage
      s.size = 1   --> ERROR torch.DoubleStorage
      s.size   --> function
      s['foo'] = nil   --> ERROR torch.DoubleStorage
      s[nil] = 1   --> ERROR torch.DoubleStorage
      s[true] = 1   --> ERROR torch.DoubleStorage
      s[{}] = 1   --> ERROR torch.DoubleStorage
      s   --> <torch.DoubleStorage #3: 5 6 7>
    ]]
  end)

  it('takes numbers and numeric strings as values, by the rules of Lua', function()
    recorded.check [[
      > s = torch.DoubleStorage{10,20,30}
      > i = torch.IntStorage{10,20,30}
      s[1] = nil   --> ERROR number expected, got nil
      s[1] = true   --> ERROR number expected, got boolean
      s[1] = {}   --> ERROR number expected, got table
      s[1] = 'x'   --> ERROR number expected, got string
      s[1] = print   --> ERROR number expected, got function
      s[1] = s   --> ERROR number expected, got torch.DoubleStorage
      s[1] = '2.5'   --> (no value)
      s[1]   --> 2.5
      s[1] = '0x10'   --> (no value)
      s   --> <torch.DoubleStorage #3: 16 20 30>
      i[1] = 1.9   --> (no value)
      i[1]   --> 1
      i[1] = -1.9   --> (no value)
      i[1]   --> -1
      i[1] = '12'   --> (no value)
      i[1]   --> 12
      i[1] = '012'   --> (no value)
      i[1]   --> 12
      i[1] = '0x12'   --> (no value)
      i[1]   --> 18
      i[1] = '3.9'   --> (no value)
      i[1]   --> 3
      i[1] = '1e3'   --> (no value)
      i[1]   --> 1000
      i[1] = ' 7'   --> (no value)
      i[1]   --> 7
      i[1] = 'junk'   --> ERROR number expected, got string
      i[1] = ''   --> ERROR number expected, got string
      i[1]   --> 7
      i[1] = '99999999999'   --> (no value)
      i[1]   --> 1215752191
      i[1] = nil   --> ERROR number expected, got nil
      i[1] = true   --> ERROR number expected, got boolean
      i[1] = {}   --> ERROR number expected, got table
      i[4] = 'junk'   --> ERROR index 4 is out of range
    ]]
  end)
end)

if support.luajit then
  describe('boxed integers of LuaJIT', function()
    it('are indices and values', function()
      recorded.check [[
        > s = torch.DoubleStorage{10,20,30}
        > i = torch.LongStorage{10,20,30}
        s[2LL]   --> 20
        s[2ULL]   --> 20
        s[4LL]   --> ERROR index 4 is out of range: the storage has 3 elements, 1 to 3
        s[-1LL]   --> ERROR index -1 is out of range: the storage has 3 elements, 1 to 3
        s[-1ULL]   --> ERROR index 18446744073709551615 is out of range: the storage has 3 elements, 1 to 3
        s[2LL] = 5   --> (no value)
        s[1] = 5LL   --> (no value)
        s   --> <torch.DoubleStorage #3: 5 5 30>
        s[4ULL] = 5   --> ERROR index 4 is out of range: the storage has 3 elements, 1 to 3
        i[1] = 5LL   --> (no value)
        i[2] = -1ULL   --> (no value)
        i   --> <torch.LongStorage #3: 5 -1 30>
        i[3] = 9007199254740993LL   --> (no value)
        i:equal(torch.LongStorage.fromstring('\5\0\0\0\0\0\0\0' .. ('\255'):rep(8) .. '\1\0\0\0\0\0\32\0'))   --> true
        i:equal(torch.LongStorage.fromstring('\5\0\0\0\0\0\0\0' .. ('\255'):rep(8) .. '\0\0\0\0\0\0\32\0'))   --> false
        s[1] = -1ULL   --> (no value)
        s[1]   --> 1.8446744073709552e+19
      ]]
    end)

    it('are the only cdata that are numbers', function()
      recorded.check(
        [[
        > s = torch.DoubleStorage{10,20,30}
        s[ffi.new('struct { int x; }')]   --> nil
        s[ffi.new('int[1]', 1)]   --> nil
        s[ffi.new('struct { int x; }')] = 1   --> ERROR torch.DoubleStorage
        s[1] = ffi.new('struct { int x; }')   --> ERROR number expected, got cdata
        s[1] = ffi.new('int[1]', 1)   --> ERROR number expected, got cdata
        s[1] = ffi.cast('void *', 1)   --> ERROR number expected, got cdata
        s:fill(ffi.new('int[1]', 1))   --> ERROR number expected, got cdata
        s:resize(ffi.new('int[1]', 1))   --> ERROR number expected, got cdata
        s   --> <torch.DoubleStorage #3: 10 20 30>
      ]],
        { ffi = require 'ffi' }
      )
    end)
  end)
end
