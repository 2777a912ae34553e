-- LuaJIT's 64-bit integers are exact wherever a number is accepted; other FFI values are not numbers.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local ffi = support.luajit and require 'ffi'

-- Without an FFI there are no numbers larger than a double holds.
if not ffi then
  describe('a number without an FFI', function()
    it('is a double', function()
      assert.is_nil(loadstring 'return 1LL')
      assert.equal(2 ^ 53, torch.LongStorage({ 2 ^ 53 + 1 })[1])
    end)
  end)
  return
end

local int64 = ffi.typeof 'int64_t'
local CTYPES = { Byte = 'uint8_t', Char = 'int8_t', Short = 'int16_t', Int = 'int32_t', Long = 'int64_t' }

local function literal(text)
  return assert(loadstring('return ' .. text))()
end

local EXACT = {}
for text in
  ([[
    0LL 1LL -1LL 300LL -300LL 127LL 128LL 255LL 256LL 32767LL 32768LL 65535LL 2147483647LL 2147483648LL -2147483648LL -2147483649LL
    4294967295LL 4294967296LL 4294967297LL 9007199254740991LL 9007199254740992LL 9007199254740993LL -9007199254740993LL
    0x7fffffffffffffffLL -0x7fffffffffffffffLL 0x8000000000000000LL 0x123456789abcdef1LL -0x123456789abcdef1LL
    0x00000000ffffffffLL 0xffffffff00000000LL 0x7fffffff80000000LL 0xffffffff7fffffffLL
    0ULL 1ULL 300ULL 9007199254740993ULL 0x7fffffffffffffffULL 0x8000000000000000ULL 0x8000000000000001ULL
    0xfffffffffffffffeULL 0xffffffffffffffffULL 0xfedcba9876543211ULL
  ]]):gmatch '%S+'
do
  EXACT[#EXACT + 1] = literal(text)
end

-- Functions of the values in `names`, one per line of the text: name, colon, code.
local function functions(names, text)
  local list = {}
  for name, code in text:gmatch '(%w+): ([^\n]+)' do
    list[name] = assert(loadstring(('local %s = ... %s'):format(names, code)))
  end
  return list
end

describe('an int64 or uint64', function()
  it('keeps its low bits in the integer classes', function()
    for T, ctype in pairs(CTYPES) do
      local class = torch[T .. 'Storage']
      for i, value in ipairs(EXACT) do
        local expected = ffi.cast(int64, ffi.cast(ctype, value))
        local function check(s, index, how)
          assert.is_true(ffi.cast(int64, s:data()[index - 1]) == expected, ('%s, %s of value %d'):format(T, how, i))
        end
        local s = class(3):fill(77)
        s[2] = value
        check(s, 2, 'set')
        assert.equal(77, s[1])
        assert.equal(77, s[3])
        getmetatable(s).__newindex__(s, 3, value)
        check(s, 3, 'set by hand')
        check(s:fill(value), 1, 'fill')
        check(class { 1, value, 3 }, 2, 'table')
        assert.equal(tonumber(expected), s[1])
        assert.equal(tonumber(expected), s:totable()[1])
      end
    end
  end)

  it('is exact in a Long for any bits, also in a loop', function()
    local s = torch.LongStorage(1000)
    local data = s:data()
    local state, factor, step =
      literal '0x9e3779b97f4a7c15ULL', literal '6364136223846793005ULL', literal '1442695040888963407ULL'
    local values = {}
    for i = 1, 1000 do
      state = state * factor + step
      values[i] = i % 2 == 0 and state or ffi.cast(int64, state)
    end
    local function check(elements)
      for i = 1, 1000 do
        assert(elements[i - 1] == ffi.cast(int64, values[i]), i)
      end
    end
    for _ = 1, 3 do
      for i = 1, 1000 do
        s[i] = values[i]
      end
      check(data)
      s:zero()
    end
    check(torch.LongStorage(values):data())
    -- Values that are created in the loop that stores them.
    local base = literal '9007199254740993LL'
    for i = 1, 1000 do
      s[i] = base + i
    end
    for i = 1, 1000 do
      assert(data[i - 1] == base + i, i)
    end
  end)

  it('is rounded once in the floating-point classes', function()
    -- Just above and at the midpoint of two floats: rounded to a double first, the first one would go down with the second.
    for T, text, expected in
      ([[
        Float 0x8000008000000001ULL 2^63+2^40
        Float 0x8000008000000000ULL 2^63
        Float 0x4000004000000001LL 2^62+2^39
        Float 0x4000004000000000LL 2^62
        Float -0x4000004000000001LL -2^62-2^39
        Float 0xffffffffffffffffULL 2^64
        Float 0x7fffffffffffffffLL 2^63
        Float 0xffffff7fffffffffULL 2^64-2^40
        Float 16777217LL 2^24
        Float 16777219LL 2^24+4
        Double 9007199254740993LL 2^53
        Double 9007199254740995LL 2^53+4
        Double 0xffffffffffffffffULL 2^64
        Double 0xfffffffffffffbffULL 2^64-2048
        Double 0x8000000000000401ULL 2^63+2048
        Double 0x8000000000000400ULL 2^63
        Double -0x7fffffffffffffffLL -2^63
        Double -1LL -1
        Half 2049LL 2048
        Half 2051LL 2052
        Half 65519LL 65504
        Half 65520LL 1/0
        Half -65520LL -1/0
        Half -65519LL -65504
        Half 0xffffffffffffffffULL 1/0
        Half 33ULL 33
      ]]):gmatch '(%a+) (%S+) (%S+)'
    do
      local class, value = torch[T .. 'Storage'], literal(text)
      local s = class(1)
      s[1] = value
      assert.equal(literal(expected), s[1], text)
      assert.equal(literal(expected), class(2):fill(value)[2], text)
      assert.equal(literal(expected), class({ 0, value })[2], text)
    end
  end)

  local NEGATIVE = functions(
    'class, s, k',
    [[
    index: return s[k]
    assign: s[k] = 1
    resize: s:resize(k)
    reserve: s:reserve(k)
    size: class(k)
    offset: class(s, k)
    view: class(s, 1, k)
  ]]
  )

  it('can be a size, an offset and an index', function()
    for _, T in ipairs(types.TORCH7) do
      local class = torch[T .. 'Storage']
      for _, of in ipairs { 'int64_t', 'uint64_t' } do
        local n = ffi.typeof(of)
        local s = class(n(5)):fill(7)
        assert.equal(5, #s)
        for i = 1, 5 do
          s[n(i)] = n(10 * i)
          assert.equal(10 * i, s[n(i)])
          assert.equal(10 * i, s[i])
        end
        assert.same({ 20, 30 }, class(s, n(2), n(2)):totable())
        assert.same({ 40, 50 }, class(s, n(4)):totable())
        assert.same({ 20, 30, 40 }, { s:unpack(n(2), n(4)) })
        assert.same({ 10, 20, 30 }, s:resize(n(3)):totable())
        local address = s:reserve(n(100)):data(true)
        assert.is_true(s:resize(n(100)):data(true) == address)
        assert.equal(0, #s:resize(n(0)))
        assert.equal(0, #class(n(0)))
        for _, k in ipairs { 0, 6, 2 ^ 31, 2 ^ 32 + 1, 2 ^ 53, 2 ^ 62 } do
          s:resize(5)
          assert.is_truthy(support
            .failure(function()
              return s[n(k)]
            end)
            :find('out of range', 1, true))
          assert.has_error(function()
            s[n(k)] = 1
          end)
        end
      end
      local s = class { 1, 2, 3 }
      local texts = '-1LL -3LL -0x7fffffffffffffffLL 0x8000000000000000ULL 0xffffffffffffffffULL 0x8000000000000001ULL'
      for text in texts:gmatch '%S+' do
        local k = literal(text)
        for name, f in pairs(NEGATIVE) do
          assert.is_truthy(support.failure(f, class, s, k), name .. text)
        end
        assert.same({ 1, 2, 3 }, s:totable())
      end
    end
  end)

  local NO_NUMBER = functions(
    'class, s, k',
    [[
    set: s[1] = k
    fill: s:fill(k)
    table: class { 1, k }
    resize: s:resize(k)
    reserve: s:reserve(k)
    size: class(k)
    offset: class(s, k)
    view: class(s, 1, k)
    unpack: s:unpack(k)
    key: s[k] = 1
  ]]
  )

  it('is the only FFI value that is a number', function()
    ffi.cdef 'typedef enum { torch_spec_a = 1 } torch_spec_enum;'
    local others = {}
    for text in
      ([[
        ffi.new('int32_t',1) ffi.new('uint8_t',1) ffi.new('double',1) ffi.new('float',1) ffi.new('bool',true) ffi.new('complex',1)
        ffi.new('int64_t[1]',1) ffi.new('int64_t[?]',1) ffi.new('int64_t[1][1]') ffi.new('struct{int64_t\32x;}')
        ffi.new('union{int64_t\32x;double\32y;}') ffi.new('torch_spec_enum',1) ffi.cast('void*',1) ffi.cast('int64_t*',65536)
        ffi.cast('void(*)(void)',65536) ffi.cast('char*',nil) ffi.typeof('int64_t') ffi.typeof('uint64_t') ffi.typeof('int')
      ]]):gmatch '%S+'
    do
      others[text] = setfenv(assert(loadstring('return ' .. text)), { ffi = ffi })()
    end
    for _, T in ipairs(types.TORCH7) do
      local class = torch[T .. 'Storage']
      local s = class { 1, 2, 3 }
      for text, k in pairs(others) do
        assert.equal('cdata', type(k))
        for name, f in pairs(NO_NUMBER) do
          local ok, message = pcall(f, class, s, k)
          assert.is_false(ok, name .. ' ' .. text)
          assert.is_truthy(message:find('cdata', 1, true), message)
        end
        assert.is_nil(s[k])
        assert.same({ 1, 2, 3 }, s:totable())
      end
    end
  end)
end)
