-- resize, fill, copy, string and totable: the recorded cases of Torch7, and copies over all pairs of classes.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local path = support.temporary()

describe('resize', function()
  it('keeps the common part and zeroes the rest', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3,4}
      s:resize(2)   --> <torch.IntStorage #2: 1 2>
      s:resize(4)   --> <torch.IntStorage #4: 1 2 0 0>
      s:resize(0)   --> <torch.IntStorage #0: >
      #s   --> 0
      s:resize(3)   --> <torch.IntStorage #3: 0 0 0>
      s:fill(5):resize('2')   --> <torch.IntStorage #2: 5 5>
      s:resize(-1)   --> ERROR got -1
      s:resize(2^62)   --> ERROR 4611686018427387904 elements of 4 bytes
      s:resize(2^50)   --> ERROR not enough memory: 4503599627370496 bytes
      s:resize(1/0)   --> ERROR got inf
      s:resize(-1/0)   --> ERROR got -inf
      s:resize(0/0)   --> ERROR got nan
      s   --> <torch.IntStorage #2: 5 5>
      [luajit] s:resize(1LL)   --> <torch.IntStorage #1: 5>
      [luajit] s:resize(-1LL)   --> ERROR got -1
    ]]
  end)

  it('works only on memory that the storage itself owns', function()
    recorded.check(
      [[
      torch.ByteStorage(4):resize(2):size()   --> 2
      torch.ByteStorage(torch.ByteStorage(4)):resize(4)   --> ERROR not resizable
      torch.ByteStorage(file):resize(8)   --> ERROR not resizable
      torch.ByteStorage(file, true):resize(8)   --> ERROR not resizable
      torch.ByteStorage(4, torch.ByteStorage(4):data()):resize(4)   --> ERROR not resizable
    ]],
      { file = support.spit(path 'f', 'ABCDEFGH') }
    )
  end)

  it('leaves the old bytes to existing views', function()
    recorded.check [[
      > s = torch.DoubleStorage(4):fill(1)
      > v = torch.DoubleStorage(s, 2, 2)
      > s:resize(100000)
      > other = torch.DoubleStorage(4):fill(123)
      v   --> <torch.DoubleStorage #2: 1 1>
      s[2]   --> 1
      v:fill(777)   --> <torch.DoubleStorage #2: 777 777>
      other   --> <torch.DoubleStorage #4: 123 123 123 123>
      s[2]   --> 1
      s[100000]   --> 0
    ]]
  end)
end)

describe('fill', function()
  it('converts its value once, and strings by the rules of Lua', function()
    recorded.check [[
      torch.IntStorage(3):fill(1.9)   --> <torch.IntStorage #3: 1 1 1>
      torch.IntStorage(3):fill('12')   --> <torch.IntStorage #3: 12 12 12>
      torch.IntStorage(3):fill('0x1f')   --> <torch.IntStorage #3: 31 31 31>
      torch.IntStorage(3):fill('010')   --> <torch.IntStorage #3: 10 10 10>
      torch.IntStorage(3):fill('12abc')   --> ERROR number expected, got string
      torch.IntStorage(3):fill('abc')   --> ERROR number expected, got string
      torch.IntStorage(3):fill(true)   --> ERROR number expected, got boolean
      torch.DoubleStorage(3):fill('0x1f')   --> <torch.DoubleStorage #3: 31 31 31>
      torch.DoubleStorage(3):fill('010')   --> <torch.DoubleStorage #3: 10 10 10>
      torch.DoubleStorage(3):fill('1e2')   --> <torch.DoubleStorage #3: 100 100 100>
      torch.IntStorage(3):fill('1e2')   --> <torch.IntStorage #3: 100 100 100>
      torch.DoubleStorage(3):fill('abc')   --> ERROR number expected, got string
      torch.HalfStorage(2):fill('1.5')   --> <torch.HalfStorage #2: 1.5 1.5>
      torch.LongStorage(1):fill('9007199254740993')   --> <torch.LongStorage #1: 9007199254740992>
      torch.LongStorage(1):fill('9223372036854775807')   --> <torch.LongStorage #1: 9.2233720368547758e+18>
      torch.LongStorage(1):fill('99999999999999999999')   --> <torch.LongStorage #1: 7.7662796314522419e+18>
      torch.IntStorage(0):fill(3)   --> <torch.IntStorage #0: >
      torch.IntStorage(0):fill()   --> ERROR number expected, got no value
      [luajit] torch.LongStorage(2):fill(5LL)   --> <torch.LongStorage #2: 5 5>
      [luajit] torch.ByteStorage(2):fill(300LL)   --> <torch.ByteStorage #2: 44 44>
      [luajit] torch.IntStorage(1):fill(2^31+0LL)   --> <torch.IntStorage #1: -2147483648>
    ]]
  end)
end)

describe('copy', function()
  it('copies and converts', function()
    recorded.check [[
      > i3 = torch.IntStorage{1,2,3}
      torch.IntStorage(3):copy(i3)   --> <torch.IntStorage #3: 1 2 3>
      torch.DoubleStorage(3):copy(i3)   --> <torch.DoubleStorage #3: 1 2 3>
      i3:copy(i3)   --> <torch.IntStorage #3: 1 2 3>
      torch.IntStorage():copy(torch.IntStorage())   --> <torch.IntStorage #0: >
      torch.IntStorage():copy(torch.DoubleStorage())   --> <torch.IntStorage #0: >
      torch.IntStorage():copy(torch.HalfStorage())   --> <torch.IntStorage #0: >
      torch.IntStorage(3):copy(torch.FloatStorage{1.9, -1.9, 3e9})   --> <torch.IntStorage #3: 1 -1 -1294967296>
      torch.ByteStorage(3):copy(torch.IntStorage{-1, 256, 257})   --> <torch.ByteStorage #3: 255 0 1>
      torch.ByteStorage(2):copy(torch.CharStorage{-1, -128})   --> <torch.ByteStorage #2: 255 128>
      torch.HalfStorage(2):copy(torch.LongStorage{2049, 100000})   --> <torch.HalfStorage #2: 2048 inf>
      torch.ByteStorage(3):copy(torch.HalfStorage{1.5, -1, 300})   --> <torch.ByteStorage #3: 1 255 44>
      torch.IntStorage(2):copy(i3)   --> ERROR size mismatch: 2 elements expected, got 3
      torch.IntStorage(4):copy(i3)   --> ERROR size mismatch: 4 elements expected, got 3
    ]]
  end)

  for _, D in ipairs(types.TORCH7) do
    it('checks the sizes when it copies into ' .. D .. ' from every class', function()
      for _, S in ipairs(types.TORCH7) do
        for _, sizes in ipairs { { 2, 3 }, { 3, 2 }, { 0, 1 }, { 1, 0 }, { 64, 1 } } do
          local destination = torch[D .. 'Storage'](sizes[1]):fill(1)
          local message = support.failure(destination.copy, destination, torch[S .. 'Storage'](sizes[2]):fill(7))
          local expected = ('size mismatch: %d elements expected, got %d'):format(sizes[1], sizes[2])
          assert.is_truthy(message:find(expected, 1, true), S .. ': ' .. message)
          assert.is_true(destination:equal(torch[D .. 'Storage'](sizes[1]):fill(1)), S)
        end
      end
    end)
  end

  it('gives the right result between overlapping views', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3,4,5,6}
      torch.IntStorage(s, 2, 5):copy(torch.IntStorage(s, 1, 5))   --> <torch.IntStorage #5: 1 2 3 4 5>
      s   --> <torch.IntStorage #6: 1 1 2 3 4 5>
      > s = torch.IntStorage{1,2,3,4,5,6}
      torch.IntStorage(s, 1, 5):copy(torch.IntStorage(s, 2, 5))   --> <torch.IntStorage #5: 2 3 4 5 6>
      s   --> <torch.IntStorage #6: 2 3 4 5 6 6>
      > s = torch.IntStorage(64) for i = 1, 64 do s[i] = i end
      torch.IntStorage(s, 4, 61):copy(torch.IntStorage(s, 1, 61)):totable()[61]   --> 61
      s[3] + s[4] + s[64]   --> 65
    ]]
  end)

  -- Two classes over the same bytes: elements are written where others are still to be read, whichever class is wider.
  for _, D in ipairs(types.TORCH7) do
    it('gives the right result between overlapping storages of two classes, into ' .. D, function()
      local memory = torch.ByteStorage(1024)
      for _, S in ipairs(types.TORCH7) do
        for _, shift in ipairs { -96, -40, -8, 0, 8, 40, 96 } do
          for i = 1, 1024 do
            memory[i] = (i * 37 + 11) % 64
          end
          local function over(T, offset)
            return torch[T .. 'Storage'](32, torch.ByteStorage(memory, offset + 1):data())
          end
          local source = over(S, 256)
          local expected = torch[D .. 'Storage'](32):copy(source:clone())
          local destination = over(D, 256 + shift):copy(source)
          assert.is_true(destination:equal(expected), S .. ' shifted by ' .. shift)
        end
      end
    end)
  end
end)

describe('string', function()
  it('returns the bytes or sets them', function()
    recorded.check [[
      > s = torch.ByteStorage()
      > c = torch.CharStorage()
      s:string()   --> ""
      s:string('abc')   --> <torch.ByteStorage #3: 97 98 99>
      s:string()   --> "abc"
      c:string('a\0\200\255')   --> <torch.CharStorage #4: 97 0 -56 -1>
      s:string('a\0\200\255')   --> <torch.ByteStorage #4: 97 0 200 255>
      c:string() == 'a\0\200\255'   --> true
      s:string('1.5')   --> <torch.ByteStorage #3: 49 46 53>
      s:string(nil)   --> "1.5"
      rawequal(s:string('abc'), s)   --> true
      s:string('')   --> <torch.ByteStorage #0: >
      #s   --> 0
      torch.IntStorage():string('abcd')   --> <torch.IntStorage #1: 1684234849>
      torch.ByteStorage.string(torch.CharStorage(1), 'x')   --> ERROR torch.ByteStorage expected, got torch.CharStorage
      #c:string(string.rep('x', 2^20))   --> 1048576
      torch.ByteStorage(torch.ByteStorage():string('abc'), 2):string()   --> "bc"
      torch.ByteStorage(torch.ByteStorage():string('abc'), 2):string('zz')   --> ERROR not resizable
    ]]
  end)

  it('checks the type of its first argument, and takes numbers as a range', function()
    recorded.check [[
      > s = torch.ByteStorage()
      s:string('y', nil)   --> <torch.ByteStorage #1: 121>
      s:string('x', 'yz')   --> ERROR nothing expected after the text, got string
      s:string(nil, 'z')   --> ERROR number expected, got string
      s:string(1, '1')   --> "y"
      s:string(nil, 1)   --> "y"
      s:string(1)   --> "y"
      s:string(2)   --> ""
      s:string(0)   --> ERROR index out of bounds: 0 is not in the range 1 to 1
      s:string({})   --> ERROR string or number expected, got table
      s:string(true)   --> ERROR string or number expected, got boolean
      s   --> <torch.ByteStorage #1: 121>
    ]]
  end)

  it('takes no second argument after a text', function()
    recorded.check [[
      > c = torch.CharStorage()
      c:string(('12'):gsub('z', ''))   --> ERROR bad argument #2 to 'string' (nothing expected after the text, got number; a call with several results, such as gsub, needs parentheses)
      c   --> <torch.CharStorage #0: >
      c:string((('12'):gsub('z', '')))   --> <torch.CharStorage #2: 49 50>
      c:string('2', 2)   --> ERROR nothing expected after the text, got number
      c:string('x', false)   --> ERROR nothing expected after the text, got boolean
      c   --> <torch.CharStorage #2: 49 50>
    ]]
  end)
end)

describe('totable', function()
  it('reads the elements as Lua numbers', function()
    recorded.check [[
      torch.IntStorage{1,-2,3}:totable()   --> {1, -2, 3}
      torch.HalfStorage{1.1}:totable()   --> {1.099609375}
      torch.FloatStorage{0.1}:totable()   --> {0.10000000149011612}
      torch.DoubleStorage():totable()   --> {}
      torch.LongStorage(1):fill('9007199254740993'):totable()   --> {9007199254740992}
    ]]
  end)
end)
