-- Numbers in compiled loops over the FFI accessors: computed in the trace, recorded from Torch7, and NaN with any bits.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

if not support.luajit then
  describe('a computed number on PUC Lua', function()
    it('keeps its low bits', function()
      local s = torch.IntStorage(3)
      for i = 1, 3 do
        s[i] = i * 2 ^ 31 - 2
      end
      assert.same({ 2147483646, -2, 2147483646 }, s:totable())
    end)
  end)
  return
end

local ffi, jit = require 'ffi', rawget(_G, 'jit')
local compiles = jit.status()
local before = torch.accessors()
local COUNT = 40

local compiled = 0
local function count(event)
  compiled = compiled + (event == 'stop' and 1 or 0)
end

local function way(accessors, jitted)
  torch.accessors(accessors)
  jit.flush()
  jit[compiles and jitted and 'on' or 'off']()
end

-- The expressions of a loop: i counts from 1 to 40, x is a number, t is a table of 40 numbers near x, d is a storage of them.
local EXPRESSIONS = [[
  i + x | x - i | x + x | i * x | -x | x * 0.5 | x * 2 + i | i + x - i | (i + x) + (x - i) |
  i + x + 0.5 | i - 0.5 + x | t[i] | t[i] + 1 | t[i] - i | t[i] + t[41 - i] | d[i] | d[i] + 1 |
  d[i] + d[41 - i] | d[i] * 2 | i > 20 and x or i | floor(x) + i | floor(x + i) | max(x, i) |
  min(x, i) - i | abs(x) + i | i / 4 + x | tonumber(x) - 1 | bor(i, 65536) + x | (i + x) % 256 |
  (i + x) % 4294967296 - 2147483648 | 2 ^ i + x | x + (i % 2) * 1e-3 | 0 / 0 + i | x / (i - 20) |
  a + i | a + x |
]]

local STARTS = { 0, 1, -1, 0.5, -20, 100, 127, 235, 255, -128, -148, 32747, 32767, 65515, 65535, -32768, -32788 }
for _, large in ipairs { 1e300, -1e300, 1 / 0, -1 / 0 } do
  STARTS[#STARTS + 1] = large
end
for _, bits in ipairs { 24, 31, 32, 33, 52, 53, 62, 63, 64 } do
  for _, step in ipairs { -20, -1, -0.5, 0, 0.5, 1, 4096 } do
    STARTS[#STARTS + 1] = 2 ^ bits + step
    STARTS[#STARTS + 1] = -2 ^ bits + step
  end
end

local HEAD = 'local floor, max, min, abs, bor = math.floor, math.max, math.min, math.abs, require("bit").bor\n'

-- A copy of the bytes of `s` after the loop.
local function bytes_of(s)
  return ffi.string(s:data(), s:nbytes())
end

-- The rows of Torch7 that set numbers: { { value, bytes, text }, ... } for an operation and a class.
local recorded, recorded_count = {}, 0
for line in io.lines 'tests/data/conversions.tsv' do
  local op, T, input, bits, note = line:match '^(%l+)\tnumber\t(%u%l+)\t([^\t]+)\t[^\t]*\t[^\t]*\t(%x+)\t?(.*)$'
  if op and op ~= 'table' and not note:find('lua51 only', 1, true) then
    -- 0/0 as x86 makes it.
    local value = input == 'nan' and -math.abs(0 / 0) or tonumber(input)
    local bytes = bits:gsub('%x%x', function(pair)
      return string.char(tonumber(pair, 16))
    end)
    recorded[op .. T] = recorded[op .. T] or {}
    table.insert(recorded[op .. T], { assert(value, line), bytes:reverse(), line })
    recorded_count = recorded_count + 1
  end
end

describe('a compiled loop #slow', function()
  local start

  setup(function()
    jit.attach(count, 'trace')
  end)

  teardown(function()
    jit.attach(count)
  end)

  before_each(function()
    jit.opt.start('hotloop=2', 'hotexit=2')
    start = compiled
  end)

  after_each(function()
    way(before, compiles)
    jit.opt.start('hotloop=56', 'hotexit=10')
    assert.is_true(not compiles or compiled > start, 'nothing was compiled')
  end)

  for _, T in ipairs(types.TORCH7) do
    it('stores the computed values, in a ' .. T, function()
      local class = torch[T .. 'Storage']
      local t, d = {}, torch.DoubleStorage(COUNT)
      for expression in EXPRESSIONS:gmatch '%s*(.-) |' do
        local code = HEAD .. ('local s, t, d, x, a = ... for i = 1, %d do s[i] = %s end'):format(COUNT, expression)
        local store = assert(loadstring(code, '=store'))
        -- The values that the loop computes, kept without accessors and stored through C. Narrowing is done by LuaJIT itself.
        local keep = assert(loadstring((code:gsub('s%[i%] =', 's[i - 1] ='))))
        local values = ffi.new('double[?]', COUNT)
        local expected = class(COUNT)
        local s = class(COUNT)
        for _, x in ipairs(support.some(8, STARTS)) do
          for i = 1, COUNT do
            t[i] = x + i - 20
          end
          way('c', false)
          d:copy(torch.DoubleStorage(t))
          keep(values, t, d, x, 2)
          for i = 1, COUNT do
            expected[i] = values[i - 1]
          end
          for _, chosen in ipairs { { 'ffi', true }, { 'ffi', false }, { 'c', true } } do
            way(unpack(chosen))
            s:zero()
            store(s, t, d, x, 2)
            if bytes_of(s) ~= bytes_of(expected) then
              way('c', false)
              local where = ('%s of %.17g in %s (%s)'):format(expression, x, T, chosen[1])
              assert.same(expected:totable(), s:totable(), where)
              error(where .. ': other bits')
            end
          end
        end
      end
    end)

    it('converts as Torch7 did, into a ' .. T, function()
      local class = torch[T .. 'Storage']
      way('ffi', true)
      local one = assert(loadstring 'local s, x = ... for i = 1, #s do s[i] = x end')
      local all = assert(loadstring 'local s, t = ... for i = 1, #t do s[i] = t[i] end')
      local fill = assert(loadstring 'local s, x = ... for i = 1, 9 do s:fill(x) end')
      local t, bytes = {}, {}
      local s = class(9)
      for index, row in ipairs(recorded['set' .. T]) do
        t[index], bytes[index] = row[1], row[2]
        one(s:zero(), row[1])
        assert.equal(row[2]:rep(9), bytes_of(s), row[3])
      end
      s = class(#t)
      all(s, t)
      assert.equal(table.concat(bytes), bytes_of(s))
      for _, size in ipairs { 1, 67 } do
        s = class(size)
        for _, row in ipairs(recorded['fill' .. T]) do
          fill(s:zero(), row[1])
          assert.equal(row[2]:rep(size), bytes_of(s), row[3])
        end
      end
    end)
  end

  it('covers every recorded row', function()
    assert.equal(1321, recorded_count)
    local s = torch.ByteStorage(100)
    way('ffi', true)
    for i = 1, 100 do
      s[i] = i
    end
    assert.equal(100, s[100])
  end)

  -- LuaJIT narrows indices too.
  local INDICES = [=[
    i + x | i * x | i / 2 + 1 | (i - 1) * 4 + j | 65 - i | 64 - i * 2 | i + 0.999 | floor(i / 2) + x |
    i + x + x - x | i + t[1] - 1 | i - 2 ^ 53 + 2 ^ 53 | bor(i, 16) | i % 7 + 1 | i + s[1] - 1 | s[i] |
    s[s[i]] + x / 4 | 1 + i * 1e-3 | i + 64 - x * 0 | i - x * 16 | i + 2 ^ 31 * (x - 1) |
    i - 2 ^ 32 * (x - 1) | i + 2 ^ 32 * (x - 1) | i / (x - 1) | -i |
  ]=]

  it('reads at computed indices', function()
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage'](64)
      way('ffi', true)
      for i = 1, 64 do
        s[i] = i
      end
      for expression in INDICES:gmatch '%s*(.-) |' do
        local code = HEAD
          .. ([[
            local s, t, x, j, r = ...
            for i = 1, 15 do
              local ok, v = pcall(function() return s[KEY] end)
              r[i] = ok and v or 'error'
            end
            for i = 1, 15 do
              local k = KEY
              r[i + 15] = k >= 1 and k < #s + 1 and s[k] or 'none'
            end
          ]]):gsub('KEY', (expression:gsub('%%', '%%%%')))
        for x = 0, 3 do
          local seen = {}
          for round, chosen in ipairs { { 'c', false }, { 'ffi', true }, { 'ffi', false } } do
            way(unpack(chosen))
            seen[round] = {}
            assert(loadstring(code, '=read'))(s, { 1 }, x, 2, seen[round])
          end
          way('c', false)
          assert.equal(30, #seen[1])
          assert.same(seen[1], seen[2], T .. ' ' .. expression .. ' ' .. x)
          assert.same(seen[1], seen[3], T .. ' ' .. expression .. ' ' .. x)
        end
      end
    end
  end)

  -- LuaJIT recognizes the kind of a value by its NaN bits. A NaN loaded with its bits unchanged would become another value, and
  -- so would results of arithmetic on it: the processor sets a bit of a signalling NaN, and `-` flips the sign.
  it('reads a NaN with any bits as a number, which stays a number', function()
    local USE = [[
      local s, all, abs = ...
      for i = 1, #s do
        local v = s[i]
        all[1][i], all[2][i], all[3][i], all[4][i], all[5][i] = v, v + 0, -v, 0 - v, v * -1
        all[6][i], all[7][i], all[8][i], all[9][i] = -(v + 0), v + v, abs(v), v % 1
      end
    ]]
    local CHECK = [[
      local all, type = ...
      for n = 1, #all do
        for i, v in ipairs(all[n]) do
          if type(v) ~= 'number' or v == v then return n, i, type(v) end
        end
      end
    ]]
    local function use(s, name)
      for _, chosen in ipairs { { 'ffi', true }, { 'ffi', false }, { 'c', true } } do
        local all = {}
        for n = 1, 9 do
          all[n] = {}
          -- No collection until the values are known to be numbers, because it would crash.
          for i = 1, #s do
            all[n][i] = 0
          end
        end
        collectgarbage 'stop'
        way(unpack(chosen))
        local good, message = pcall(assert(loadstring(USE)), s, all, math.abs)
        jit.off()
        local n, i, kind = assert(loadstring(CHECK))(all, type)
        if n or not good then
          for k = 1, 9 do
            for index = 1, #s do
              all[k][index] = 0
            end
          end
        end
        collectgarbage 'restart'
        assert.is_true(good, message)
        assert.is_nil(n, table.concat({ name, chosen[1], tostring(i), 'use ' .. tostring(n), tostring(kind) }, ', '))
        support.collect()
        for k = 1, 9 do
          assert.equal(#s, #all[k])
          assert.matches('nan', tostring(all[k][#s]))
          local again = torch.DoubleStorage(all[k])
          assert.is_true(again[#s] ~= again[#s])
        end
      end
    end

    -- Every upper half of a double, with lower halves that LuaJIT would take for addresses.
    local lows = '\0\0\0\0\0\0\1\0\0\0\0\0\255\255\255\255\255\255\16\0\0\64\0\0\240\255\255\255\255\127'
    for index = 1, #lows, 6 do
      local low = lows:sub(index, index + 5)
      local parts = {}
      for high = 0x7ff0, 0x7fff do
        for lower = 0, 240, 16 do
          local byte = high % 256
          local sixth = low:byte(6) % 16 + lower
          if byte % 16 ~= 0 or sixth ~= 0 or low:byte(1) ~= 0 then
            for sign = 0, 128, 128 do
              parts[#parts + 1] = low:sub(1, 5) .. string.char(sixth, byte, 0x7f + sign)
            end
          end
        end
      end
      use(torch.DoubleStorage.fromstring(table.concat(parts)), 'Double ' .. low:byte(1))
    end
    local floats, halves = {}, {}
    for _, low in ipairs { '\0', '\1', '\255' } do
      for second = 0, 255 do
        for third = 0x80, 0xff do
          for sign = 0x7f, 0xff, 0x80 do
            if third > 0x80 or second > 0 or low > '\0' then
              floats[#floats + 1] = low .. string.char(second, third, sign)
            end
          end
        end
      end
    end
    for first = 0, 255 do
      for second = 0x7c, 0x7f do
        if second > 0x7c or first > 0 then
          halves[#halves + 1] = string.char(first, second) .. string.char(first, second + 128)
        end
      end
    end
    use(torch.FloatStorage.fromstring(table.concat(floats)), 'Float')
    use(torch.HalfStorage.fromstring(table.concat(halves)), 'Half')
    for _, T in ipairs { 'Float', 'Half', 'Double' } do
      use(torch[T .. 'Storage'].fromstring(('\255'):rep(800)), T)
    end
  end)
end)
