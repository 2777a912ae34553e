-- Making storages: with a size, from a table, as a view, over a pointer. With the recorded cases of Torch7.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

describe('a storage of a size', function()
  it('takes the sizes that Torch7 took, and refuses impossible ones', function()
    recorded.check [[
      torch.DoubleStorage()   --> <torch.DoubleStorage #0: >
      torch.DoubleStorage(nil)   --> <torch.DoubleStorage #0: >
      torch.DoubleStorage(0)   --> <torch.DoubleStorage #0: >
      torch.DoubleStorage(3)   --> <torch.DoubleStorage #3: 0 0 0>
      torch.DoubleStorage(2.9)   --> <torch.DoubleStorage #2: 0 0>
      torch.DoubleStorage(0.9)   --> <torch.DoubleStorage #0: >
      torch.DoubleStorage(-0.9)   --> <torch.DoubleStorage #0: >
      torch.DoubleStorage(-1)   --> ERROR got -1
      torch.ByteStorage(-1)   --> ERROR got -1
      torch.DoubleStorage(-2^31)   --> ERROR got -2147483648
      torch.DoubleStorage(0/0)   --> ERROR got nan
      torch.DoubleStorage(1/0)   --> ERROR got inf
      torch.DoubleStorage(-1/0)   --> ERROR got -inf
      torch.ByteStorage(2^62)   --> ERROR not enough memory: 4611686018427387904 bytes
      torch.DoubleStorage(2^60)   --> ERROR 1152921504606846976 elements of 8 bytes
      torch.DoubleStorage(2^61)   --> ERROR 2305843009213693952 elements of 8 bytes
      torch.DoubleStorage(2^61 + 512)   --> ERROR 2305843009213694464 elements of 8 bytes
      torch.HalfStorage(2^63)   --> ERROR got 9223372036854775808
      torch.IntStorage(2^62 + 2^20)   --> ERROR 4611686018428436480 elements of 4 bytes
      torch.DoubleStorage(2^50)   --> ERROR not enough memory: 9007199254740992 bytes
      torch.ByteStorage(1e300)   --> ERROR got 1e300
      torch.DoubleStorage(true)   --> ERROR number expected, got boolean
      torch.DoubleStorage(false)   --> ERROR number expected, got boolean
      torch.DoubleStorage(print)   --> ERROR number expected, got function
      torch.DoubleStorage(coroutine.create(function() end))   --> ERROR number expected, got thread
      torch.DoubleStorage(3, nil)   --> <torch.DoubleStorage #3: 0 0 0>
      torch.DoubleStorage(3, 'x')   --> ERROR got string
      torch.DoubleStorage(3, {})   --> ERROR got table
      torch.DoubleStorage(3, true, 5)   --> ERROR got boolean
      #torch.DoubleStorage(2, nil, 3)   --> 2
      [luajit] torch.LongStorage(3LL)   --> <torch.LongStorage #3: 0 0 0>
      [luajit] torch.LongStorage(3ULL)   --> <torch.LongStorage #3: 0 0 0>
      [luajit] torch.LongStorage(-3LL)   --> ERROR got -3
      [luajit] torch.LongStorage(2ULL^63)   --> ERROR got 9223372036854775808
    ]]
  end)

  it('is zeroed even in memory that was used before', function()
    for _, T in ipairs(types.NUMBERS) do
      for _, size in ipairs { 1, 7, 64, 1000, 20000 } do
        for _ = 1, 3 do
          local used = torch[T .. 'Storage'](size):fill(85)
          used:free()
        end
        assert.is_true(torch[T .. 'Storage'](size):equal(torch[T .. 'Storage'](size):fill(0)), T .. ' ' .. size)
      end
    end
  end)
end)

describe('a storage from a table', function()
  it('takes the array part by its raw length', function()
    recorded.check [[
      torch.IntStorage({})   --> <torch.IntStorage #0: >
      torch.IntStorage({1,2,3})   --> <torch.IntStorage #3: 1 2 3>
      torch.IntStorage{1.9,-1.9}   --> <torch.IntStorage #2: 1 -1>
      torch.IntStorage{'1','2'}   --> <torch.IntStorage #2: 1 2>
      torch.DoubleStorage{'0x10',' 5 ','1e2','010'}   --> <torch.DoubleStorage #4: 16 5 100 10>
      torch.IntStorage{'0x10',' 5 ','1e2','010'}   --> <torch.IntStorage #4: 16 5 100 10>
      [luajit] torch.IntStorage{1,nil,3}   --> <torch.IntStorage #1: 1>
      torch.IntStorage{1,2,nil}   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage({1,2},3)   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage({1,2},'x',{},true)   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage(setmetatable({}, {__index=function(_, i) return i end}))   --> <torch.IntStorage #0: >
      torch.IntStorage(setmetatable({5,6}, {__len=function() return 1 end}))   --> <torch.IntStorage #2: 5 6>
    ]]
  end)

  it('converts its elements', function()
    recorded.check [[
      torch.IntStorage{0/0,1/0,-1/0}   --> <torch.IntStorage #3: 0 0 0>
      torch.DoubleStorage{0/0,1/0,-1/0,-1/(1/0)}   --> <torch.DoubleStorage #4: nan inf -inf -0>
      torch.ByteStorage{256,257,-1}   --> <torch.ByteStorage #3: 0 1 255>
      torch.LongStorage{2^53,2^53+2}   --> <torch.LongStorage #2: 9007199254740992 9007199254740994>
      torch.LongStorage{-2^63,2^63}   --> <torch.LongStorage #2: -9.2233720368547758e+18 -9.2233720368547758e+18>
      torch.ByteStorage{-1, -0.5, 255.9, 256, 300, 1e10, 0/0}   --> <torch.ByteStorage #7: 255 0 255 0 44 0 0>
      torch.CharStorage{127, 128, 255, -129, 1e10}   --> <torch.CharStorage #5: 127 -128 -1 127 0>
      torch.ShortStorage{32768, 65536, -32769, 1e10}   --> <torch.ShortStorage #4: -32768 0 32767 -7168>
      torch.IntStorage{2^31, -2^31-1, 0.99, -0.99}   --> <torch.IntStorage #4: -2147483648 2147483647 0 0>
      torch.IntStorage{2^32, 1e20}   --> <torch.IntStorage #2: 0 1661992960>
      torch.LongStorage{1e20, 0/0}   --> <torch.LongStorage #2: 7.7662796314522419e+18 0>
      torch.FloatStorage{0.1, 2^24+1, 1e39}   --> <torch.FloatStorage #3: 0.10000000149011612 16777216 inf>
      torch.FloatStorage{1e-46, 1e-45}   --> <torch.FloatStorage #2: 0 1.4012984643248171e-45>
      torch.HalfStorage{0.1, 65504, 65519, 65520, 2^-25}   --> <torch.HalfStorage #5: 0.0999755859375 65504 65504 inf 0>
      torch.HalfStorage{1+2^-11, 1+3*2^-11, 1e6, -1e6}   --> <torch.HalfStorage #4: 1 1.001953125 inf -inf>
      [luajit] torch.LongStorage{1LL, 2ULL}   --> <torch.LongStorage #2: 1 2>
      [luajit] torch.ByteStorage{300LL}   --> <torch.ByteStorage #1: 44>
      [luajit] torch.IntStorage{-1LL, 4294967297LL}   --> <torch.IntStorage #2: -1 1>
    ]]
  end)

  it('names the element that is not a number', function()
    recorded.check [[
      torch.IntStorage{1,'x',3}   --> ERROR element 2 of the table: number expected, got
      torch.IntStorage{1,{2},3}   --> ERROR element 2 of the table
      torch.IntStorage{{1,2},{3,4}}   --> ERROR element 1 of the table
      [gap2] torch.IntStorage{1,nil,3}   --> ERROR element 2 of the table
      torch.IntStorage{true}   --> ERROR element 1 of the table
      torch.DoubleStorage{torch.IntStorage(2)}   --> ERROR element 1 of the table
      torch.DoubleStorage{1, 2, ''}   --> ERROR element 3 of the table
    ]]
  end)
end)

describe('a view', function()
  it('shows a part of another storage', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3,4,5}
      > e = torch.IntStorage()
      torch.IntStorage(s)   --> <torch.IntStorage #5: 1 2 3 4 5>
      torch.IntStorage(s, 1)   --> <torch.IntStorage #5: 1 2 3 4 5>
      torch.IntStorage(s, 2)   --> <torch.IntStorage #4: 2 3 4 5>
      torch.IntStorage(s, 5)   --> <torch.IntStorage #1: 5>
      torch.IntStorage(s, 6)   --> <torch.IntStorage #0: >
      torch.IntStorage(s, 2, 3)   --> <torch.IntStorage #3: 2 3 4>
      torch.IntStorage(s, 2, 4)   --> <torch.IntStorage #4: 2 3 4 5>
      torch.IntStorage(s, 2, 0)   --> <torch.IntStorage #0: >
      torch.IntStorage(s, 6, 0)   --> <torch.IntStorage #0: >
      torch.IntStorage(s, nil, 2)   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage(s, 2, nil)   --> <torch.IntStorage #4: 2 3 4 5>
      torch.IntStorage(s, 2.7)   --> <torch.IntStorage #4: 2 3 4 5>
      torch.IntStorage(s, 2, 2.7)   --> <torch.IntStorage #2: 2 3>
      torch.IntStorage(s, '2', '2')   --> <torch.IntStorage #2: 2 3>
      torch.IntStorage(e)   --> <torch.IntStorage #0: >
      torch.IntStorage(e, 1)   --> <torch.IntStorage #0: >
      torch.IntStorage(e, 1, 0)   --> <torch.IntStorage #0: >
      [luajit] torch.IntStorage(s, 2LL, 3LL)   --> <torch.IntStorage #3: 2 3 4>
    ]]
  end)

  it('stays within its parent and has the class of its parent', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3,4,5}
      > e = torch.IntStorage()
      torch.IntStorage(s, 7)   --> ERROR offset out of bounds: 7 is not in the range 1 to 6
      torch.IntStorage(s, 0)   --> ERROR offset out of bounds: 0 is not
      torch.IntStorage(s, 0.9)   --> ERROR offset out of bounds: 0
      torch.IntStorage(s, -1)   --> ERROR offset out of bounds: -1 is not
      torch.IntStorage(s, 2, 5)   --> ERROR size out of bounds: 5 elements
      torch.IntStorage(s, 2, -1)   --> ERROR got -1
      torch.IntStorage(s, 6, 1)   --> ERROR size out of bounds: 1 elements
      torch.IntStorage(e, 2)   --> ERROR offset out of bounds: 2 is not in the range 1 to 1
      torch.IntStorage(s, 'x')   --> ERROR number expected, got string
      torch.IntStorage(s, 1, 'x')   --> ERROR number expected, got string
      torch.IntStorage(s, true)   --> ERROR number expected, got boolean
      torch.IntStorage(s, {})   --> ERROR number expected, got table
      torch.IntStorage(s, 0/0)   --> ERROR offset out of bounds: nan
      torch.IntStorage(s, 1, 0/0)   --> ERROR got nan
      torch.IntStorage(s, 1, 1/0)   --> ERROR got inf
      torch.IntStorage(s, 2^40)   --> ERROR offset out of bounds: 1099511627776
      torch.IntStorage(s, 2^63)   --> ERROR offset out of bounds: 9223372036854775808
      torch.IntStorage(s, 2, 2^63)   --> ERROR got 9223372036854775808
      torch.IntStorage(s, 2, 2^62)   --> ERROR size out of bounds: 4611686018427387904
      torch.LongStorage(s)   --> ERROR torch.LongStorage expected, got torch.IntStorage
      torch.ByteStorage(s)   --> ERROR torch.ByteStorage expected, got torch.IntStorage
      torch.HalfStorage(torch.ShortStorage(2))   --> ERROR torch.HalfStorage expected, got torch.ShortStorage
      torch.IntStorage(io.stdout)   --> ERROR torch.IntStorage expected, got userdata
      torch.IntStorage(newproxy(true))   --> ERROR torch.IntStorage expected, got userdata
    ]]
  end)

  it('shares the memory of its parent and outlives it', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3,4,5}
      > v = torch.IntStorage(s, 2, 3)
      > w = torch.IntStorage(v, 2)
      w   --> <torch.IntStorage #2: 3 4>
      w:fill(9)   --> <torch.IntStorage #2: 9 9>
      s   --> <torch.IntStorage #5: 1 2 9 9 5>
      torch.IntStorage(v, 1, 4)   --> ERROR size out of bounds: 4 elements
      v:resize(2)   --> ERROR not resizable
      v:resize(3)   --> ERROR not resizable
      v:fill(1)   --> <torch.IntStorage #3: 1 1 1>
      s   --> <torch.IntStorage #5: 1 1 1 1 5>
      w:copy(torch.IntStorage{7,8})   --> <torch.IntStorage #2: 7 8>
      v   --> <torch.IntStorage #3: 1 7 8>
      > s = nil v = nil collectgarbage() collectgarbage()
      w   --> <torch.IntStorage #2: 7 8>
    ]]
  end)
end)

describe('a storage over a pointer', function()
  it('shares the memory of its owner', function()
    recorded.check [[
      > s = torch.IntStorage{10,20,30,40}
      > t = torch.IntStorage(4, s:data())
      t   --> <torch.IntStorage #4: 10 20 30 40>
      t == s   --> false
      t[1] = 11   --> (no value)
      s[1]   --> 11
      s[2] = 22   --> (no value)
      t[2]   --> 22
      t:resize(2)   --> ERROR not resizable
      t:resize(4)   --> ERROR not resizable
      torch.IntStorage(t, 2)   --> <torch.IntStorage #3: 22 30 40>
      torch.IntStorage(4, s:data(true))   --> <torch.IntStorage #4: 11 22 30 40>
      torch.IntStorage(4, torch.data(s, true)):resize(1)   --> ERROR not resizable
      > t = nil collectgarbage() collectgarbage()
      s   --> <torch.IntStorage #4: 11 22 30 40>
      torch.IntStorage(0, 0)   --> <torch.IntStorage #0: >
      torch.IntStorage(nil, 0)   --> <torch.IntStorage #0: >
      torch.IntStorage(0, 65536):resize(1)   --> ERROR not resizable
      torch.IntStorage({7}, 4096)   --> <torch.IntStorage #1: 7>
    ]]
  end)

  it('refuses values that are not addresses', function()
    recorded.check [[
      torch.IntStorage(-3, 0)   --> ERROR got -3
      torch.IntStorage(3, 0)   --> ERROR 0 is not an address
      torch.IntStorage(10, 5)   --> ERROR 5 is not an address
      torch.IntStorage(1, 65535)   --> ERROR 65535 is not an address
      torch.IntStorage(1, 65537)   --> ERROR address 65537 is not aligned
      torch.ShortStorage(1, 65537)   --> ERROR address 65537 is not aligned
      torch.DoubleStorage(1, 65540)   --> ERROR address 65540 is not aligned
      torch.IntStorage(1, 65536.5)   --> ERROR 65536.5 is not an address
      torch.IntStorage(1, -65536)   --> ERROR -65536 is not an address
      torch.IntStorage(1, 0/0)   --> ERROR nan is not an address
      torch.IntStorage(1, 1/0)   --> ERROR inf is not an address
      torch.IntStorage(1, 2^64)   --> ERROR is not an address
      torch.LongStorage(5, 2)   --> ERROR LongStorage{5, 2}
      torch.IntStorage('3', 0)   --> ERROR boolean expected, got number
      torch.IntStorage(true, 4096)   --> ERROR number expected, got boolean
      torch.IntStorage(3, '4096')   --> ERROR got string
      torch.IntStorage(2^62, 65536)   --> ERROR 4611686018427387904 elements of 4 bytes
    ]]
  end)

  if not support.luajit then
    return
  end

  it('takes FFI pointers, arrays and addresses', function()
    recorded.check(
      [[
      > buf = ffi.new('int[4]', {10, 20, 30, 40})
      > s = torch.IntStorage(4, buf)
      s   --> <torch.IntStorage #4: 10 20 30 40>
      s[1] = 11   --> (no value)
      buf[0]   --> 11
      torch.IntStorage(3, ffi.cast('int *', buf) + 1)   --> <torch.IntStorage #3: 20 30 40>
      torch.IntStorage(4, ffi.cast('void *', buf))   --> <torch.IntStorage #4: 11 20 30 40>
      torch.IntStorage(4, ffi.cast('intptr_t', buf))   --> <torch.IntStorage #4: 11 20 30 40>
      torch.IntStorage(4, ffi.cast('uint64_t', ffi.cast('intptr_t', buf)))   --> <torch.IntStorage #4: 11 20 30 40>
      torch.IntStorage(4, tonumber(ffi.cast('intptr_t', buf)))   --> <torch.IntStorage #4: 11 20 30 40>
      torch.IntStorage(5, buf)   --> ERROR the array has 16 bytes
      torch.LongStorage(3, buf)   --> ERROR the array has 16 bytes
      torch.IntStorage(1, ffi.new('struct { int x; }'))   --> ERROR got cdata
      torch.IntStorage(1, ffi.cast('int *', nil))   --> ERROR 0 is not a valid memory address
      torch.IntStorage(1, -1LL)   --> ERROR -1 is not an address
      torch.IntStorage(0, ffi.cast('int *', nil))   --> <torch.IntStorage #0: >
    ]],
      { ffi = require 'ffi' }
    )
  end)

  it('keeps an FFI array alive, also through its views', function()
    local ffi = require 'ffi'
    local storages = {}
    for i = 1, 200 do
      storages[i] = torch.IntStorage(torch.IntStorage(64, ffi.new('int[64]')):fill(i), 2)
    end
    support.collect()
    for _ = 1, 200 do
      ffi.new('int[64]')[0] = -1 -- reuses the memory of an array that was collected
    end
    for i = 1, 200 do
      assert.equal(i, storages[i][1])
      assert.equal(i, storages[i][63])
    end
  end)
end)
