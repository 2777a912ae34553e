-- Element access through C and through the FFI: the same results, bits in memory and errors for every key and value.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- PUC Lua has only one of the two.
if not support.luajit then
  describe('element access on PUC Lua', function()
    it('works through C, and refuses the FFI', function()
      assert.equal('c', torch.accessors())
      assert.equal('c', torch.accessors 'c')
      assert.matches('ffi', support.failure(torch.accessors, 'ffi'), 1, true)
      assert.equal('c', torch.accessors())
    end)
  end)
  return
end

local ffi, jit = require 'ffi', rawget(_G, 'jit')
local compiles = jit.status()
local before = torch.accessors()
local SIZE = 5

local function literal(text)
  return assert(loadstring('return ' .. text))()
end

-- A double with any bits that LuaJIT accepts as a number.
local function double(high, low)
  local union = ffi.new 'union { uint32_t word[2]; double number; }'
  union.word[0], union.word[1] = low, high
  return union.number
end

local strange = { -- neither a key nor a value
  { 'true', true },
  { 'false', false },
  { 'a table', {} },
  { 'a function', print },
  { 'a coroutine', coroutine.create(print) },
  { 'a proxy', newproxy(true) },
  { 'a file', io.stdout },
  { 'a pointer', ffi.new 'int[1]' + 0 },
  { 'a struct', ffi.new 'struct { int x; }' },
  { 'nil', nil },
}
for _, T in ipairs(types.TORCH7) do
  strange[#strange + 1] = { 'a ' .. T, torch[T .. 'Storage'] { 1, 2, 3, 4, 5 } }
end
strange[#strange + 1] = { 'a pair', { 1, -2 } }
strange[#strange + 1] = { 'a pair of words', { '1', '2' } }
strange[#strange + 1] = { 'named parts', { re = 0.1, im = 0 / 0 } }
strange[#strange + 1] = { 'a real part', { re = 1 } }
strange[#strange + 1] = { 'a complex', ffi.new('complex', -1 / 0, 0.1) }
strange[#strange + 1] = { 'a complex float', ffi.new('complex float', 3, -0.0) }
strange[#strange + 1] = { 'complex', ffi.typeof 'complex' }
strange[#strange + 1] = { 'a complex storage', torch.ComplexDoubleStorage { 1, 2, 3, 4, 5 } }
strange[#strange + 1] = { 'a dead storage', (torch.IntStorage(2)) }
strange[#strange][2]:free()

local function list(numbers, texts, others)
  local all = {}
  for text in numbers:gmatch '%S+' do
    all[#all + 1] = { text, literal(text) }
  end
  for text in texts:gmatch '(.-)|' do
    all[#all + 1] = { ('%q'):format(text), text }
  end
  for _, other in ipairs(others) do
    all[#all + 1] = other
  end
  return all
end

local NUMBER_KEYS = [[
  0/0 -(0/0) 1/0 -1/0 0 -0 0*-1 1 2 5 6 5.5 5.9999999999 6.0000001 0.999 0.5 -0.5 1.5 1-2^-53 1+2^-52 -1 -5 1e300 5e-324
  2^15 2^16 2^31-1 2^31 2^31+1 2^32 2^32+1 2^32+3 -2^31 -2^32 2^52+1 2^53 2^53+2 2^62 2^63 2^64 2^64+2^12 -2^63
  0LL 1LL 2LL 2ULL 5ULL 6LL -1LL -1ULL 0x7fffffffffffffffLL 0x8000000000000000LL 0x100000001LL 0x8000000000000001ULL
]]
local TEXT_KEYS = '1|0x2| 2 |1.9|5|6|0|-1|1e0|nan|inf||x|1x|1\0|fill|size|new|nothing|'
local KEYS = list(NUMBER_KEYS, TEXT_KEYS, strange)
local NAMES = {}
for name in pairs(torch.getmetatable 'torch.IntStorage') do
  NAMES[#NAMES + 1] = { name, name }
end

local NUMBER_VALUES = [[
  0/0 -(0/0) 1/0 -1/0 0 0*-1 0.5 -0.5 1.5 2.5 0.999999 -0.999999 1e300 -1e300 5e-324 -5e-324 2^-1022 1e-45 2^-149 2^-150
  2^-150*1.5 2^-126 2^-24 2^-25 2^-25+2^-40 2^-14 65503 65504 65519.99 65520 65535 65536 2048 2049 2051 1e10 1e19 -1e19
  3.4028234663852886e38 3.4028235677973366e38 3.4028235677973362e38 16777217 16777219 0.1 1/3 100.7 300 -300
  0LL 1LL -1LL 300LL 0x7fffffffffffffffLL 0x8000000000000000LL 9007199254740993LL 0ULL 0x8000000000000001ULL -1ULL
]]
local VALUES = list(NUMBER_VALUES, '1|0x10| 7 |1.9|-3|1e400|nan|inf||x|5 x|9223372036854775807|', strange)
for _, bits in ipairs { 7, 8, 15, 16, 24, 31, 32, 53, 63, 64 } do
  for _, step in ipairs { -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2 } do
    for sign = -1, 1, 2 do
      VALUES[#VALUES + 1] = { ('%d*2^%d%+g'):format(sign, bits, step), sign * 2 ^ bits + step }
    end
  end
end
for high in ('0x7ff80000 0x7ff80001 0x7ff00001 0x7fffffff 0xfff80000 0xfff00001'):gmatch '%S+' do
  VALUES[#VALUES + 1] = { 'a NaN of ' .. high, double(tonumber(high), high:find '80000' and 0 or 0x12345678) }
end

local EVERY = { unpack(types.NUMBERS) }
for _, T in ipairs(types.COMPLEX) do
  EVERY[#EVERY + 1] = T
end

-- Loops around one operation. The functions are built anew for each class, so that an aborted trace of one class does not
-- affect the next. In `late` the loop is compiled with `ok` before it meets `k` and `v`.
local SHAPES = {
  read = {
    same = 'local s, k = ... local r for i = 1, 12 do r = s[k] end return r',
    late = [[
      local s, k, _, ok = ...
      local r
      for i = 1, 13 do
        local key = ok
        if i > 12 then key = k end
        r = s[key]
      end
      return r
    ]],
    caught = 'local s, k = ... local function f(s, k) return s[k] end '
      .. 'local good, r for i = 1, 12 do good, r = pcall(f, s, k) end if not good then error(r, 0) end return r',
    by_hand = [[
      local s, k = ...
      local index, r = getmetatable(s).__index
      for i = 1, 12 do r = index(s, k) end
      return r
    ]],
  },
  write = {
    same = 'local s, k, v = ... for i = 1, 12 do s[k] = v end',
    late = [[
      local s, k, v, ok = ...
      for i = 1, 13 do
        local key, x = ok, i
        if i > 12 then key, x = k, v end
        s[key] = x
      end
    ]],
    caught = 'local s, k, v = ... local function f(s, k, v) s[k] = v end '
      .. 'local good, r for i = 1, 12 do good, r = pcall(f, s, k, v) end if not good then error(r, 0) end',
  },
  get = {
    same = 'local s, k = ... local re, im for i = 1, 12 do re, im = s:get(k) end '
      .. 'return im and { re = re, im = im } or re',
    late = [[
      local s, k, _, ok = ...
      local re, im
      for i = 1, 13 do
        local key = ok
        if i > 12 then key = k end
        re, im = s:get(key)
      end
      return im and { re = re, im = im } or re
    ]],
  },
  set = {
    same = 'local s, k, v = ... local r for i = 1, 12 do r = s:set(k, v) end return r',
    both = 'local s, k, v = ... local r for i = 1, 12 do r = s:set(k, v, i) end return r',
    imaginary = 'local s, k, v = ... local r for i = 1, 12 do r = s:set(k, i, v) end return r',
    late = [[
      local s, k, v, ok = ...
      local r
      for i = 1, 13 do
        local key, x = ok, i
        if i > 12 then key, x = k, v end
        r = s:set(key, x)
      end
      return r
    ]],
    late_both = [[
      local s, k, v, ok = ...
      local r
      for i = 1, 13 do
        local key, x = ok, i
        if i > 12 then key, x = k, v end
        r = s:set(key, -i, x)
      end
      return r
    ]],
  },
  fill = {
    same = 'local s, _, v = ... local r for i = 1, 12 do r = s:fill(v) end return r',
    late = [[
      local s, _, v = ...
      local r
      for i = 1, 13 do
        local x = i
        if i > 12 then x = v end
        r = s:fill(x)
      end
      return r
    ]],
  },
  copy = {
    same = 'local s, _, v = ... local r for i = 1, 12 do r = s:copy(v) end return r',
    late = [[
      local s, _, v = ...
      local r
      for i = 1, 13 do
        local x = s
        if i > 12 then x = v end
        r = s:copy(x)
      end
      return r
    ]],
  },
  size = {
    operator = 'local s = ... local r for i = 1, 12 do r = #s end return r',
    method = 'local s = ... local r for i = 1, 12 do r = s:size() end return r',
    given = [[
      local s, _, v = ...
      local r
      for i = 1, 13 do
        local x = s
        if i > 12 then x = v end
        r = s.size(x)
      end
      return r
    ]],
    length = [[
      local s, _, v = ...
      local len, r = getmetatable(s).__len__
      for i = 1, 12 do r = len(v) end
      return r
    ]],
  },
}

local function sign_of(r)
  return r ~= r and 'nan' or ('%.17g %s'):format(r, 1 / r < 0 and '-' or '+')
end

-- The result of a call as text: numbers with their sign, errors with their position.
local function outcome(s, key, good, r)
  if not good then
    return 'error ' .. tostring(r)
  elseif rawequal(r, s) then
    return 'self'
  elseif type(r) == 'number' then
    return sign_of(r)
  elseif type(r) == 'table' and rawget(r, 'im') or type(r) == 'cdata' and ffi.istype('complex', r) then
    return sign_of(r.re) .. ', ' .. sign_of(r.im)
  elseif type(r) == 'string' then
    return 'string ' .. r
  end
  return r ~= nil and rawequal(r, getmetatable(s)[key]) and 'the field' or type(r)
end

-- The ways to call: who accesses the element, and whether LuaJIT compiles the code.
local WAYS = { { 'c', false }, { 'ffi', false } }
if compiles then
  WAYS = { { 'c', false }, { 'ffi', false }, { 'ffi', true }, { 'c', true } }
end

local compiled = 0
local function count(event)
  compiled = compiled + (event == 'stop' and 1 or 0)
end

local function way(accessors, jitted)
  torch.accessors(accessors)
  jit.flush()
  if jitted then
    jit.opt.start('hotloop=2', 'hotexit=2')
    jit.on()
  else
    jit.off()
  end
end

-- For each kind `state` of storage: makes one of class T, and the bytes that its memory starts with.
local states = {}
local directory

local function file(T, bytes)
  local name = os.tmpname()
  directory[#directory + 1] = name
  return support.spit(name, bytes:sub(1, SIZE * types.WIDTH[T]))
end

function states.fresh(class)
  return class(SIZE)
end
function states.resized(class)
  return class(2):resize(4000):resize(SIZE)
end
function states.viewed(class)
  return class(class(3 * SIZE), 3, SIZE)
end
function states.left(class)
  local s = class(SIZE)
  local view = class(s, 1, SIZE)
  s:resize(10000)
  return view
end
function states.private(class, T, bytes)
  return class(file(T, bytes))
end
function states.shared(class, T, bytes)
  return class(file(T, bytes), true)
end
function states.foreign(class)
  return class(SIZE, ffi.new('int64_t[?]', 2 * SIZE))
end
function states.empty(class)
  return class()
end
function states.freed(class)
  local s = class(SIZE)
  s:free()
  return s
end

-- Bytes that differ from each other, and the special values of the floating-point classes.
local PATTERNS = {
  ('\1\128\255\127\240\7\200\99\254\3\77'):rep(8),
  ('\255'):rep(80),
  ('\1\0\0\0\0\0\240\127\0\0\0\0\0\0\248\255\0\0\192\255\0\0\250\255\1\252\0\128\1\0\240\255\0\0\0\128\0\0\0\128'):rep(
    2
  ),
}

-- Runs every shape of `operation` for the pairs of keys and values, in every way. All have to agree with the first way.
local function agree(operation, T, state, keys, values, patterns)
  local class = torch[T .. 'Storage']
  local bytes = SIZE * types.WIDTH[T]
  local s = states[state](class, T, PATTERNS[1])
  local memory = state ~= 'freed' and state ~= 'empty' and s:data() or nil
  local writes = memory and operation ~= 'read' and operation ~= 'get' and operation ~= 'size'
  local expected, checked = {}, 0
  local start = compiled
  for number, chosen in ipairs(WAYS) do
    way(unpack(chosen))
    local case = 0
    for shape, text in pairs(SHAPES[operation]) do
      local f = assert(loadstring(text, '=' .. shape))
      jit.flush()
      for p = 1, patterns or 1 do
        for _, key in ipairs(keys) do
          for _, value in ipairs(values) do
            if memory then
              ffi.copy(memory, PATTERNS[p], bytes)
            end
            local seen = outcome(s, key[2] == nil and '' or key[2], pcall(f, s, key[2], value[2], 2))
            if writes then
              seen = seen .. ' ' .. ffi.string(memory, bytes)
            end
            case = case + 1
            if number == 1 then
              expected[case] = seen
            elseif expected[case] ~= seen then
              way('c', false)
              local name = ('%s %s %d: [%s] = %s'):format(operation, shape, p, key[1], value[1])
              assert.equal(expected[case], seen, ('%s, %s, %s (%s, %s)'):format(T, state, name, chosen[1], chosen[2]))
            end
          end
        end
      end
    end
    checked = checked + case
  end
  way('c', false)
  assert.is_true(checked >= #keys * #values * #WAYS)
  if compiles then
    assert.is_true(compiled > start, 'nothing was compiled')
  end
end

-- The keys and the values do not depend on each other, nor on the state of a storage: the functions check one after the other. So
-- all keys are tried with a few values, all values with a few keys, and both with a new storage. Each other state of a storage
-- is tried with the keys that its size, its limits and its class decide about. All classes, shapes and ways are tried with each.
describe('element access through C and through the FFI #slow', function()
  setup(function()
    directory = {}
    jit.attach(count, 'trace')
  end)

  teardown(function()
    jit.attach(count)
    support.collect()
    for _, name in ipairs(directory) do
      os.remove(name)
    end
  end)

  after_each(function()
    torch.accessors(before)
    jit.flush()
    -- LuaJIT's default thresholds.
    jit.opt.start('hotloop=56', 'hotexit=10')
    jit[compiles and 'on' or 'off']()
  end)

  local nothing, odd = { { 'nothing' } }, { { 'x', 'x' }, strange[11], strange[#strange] }
  for _, value in ipairs { 3, 0 / 0, '4', literal '7LL', true } do
    odd[#odd + 1] = { tostring(value), value }
  end
  local few = { { '3', 3 }, { 'a pair', { 1, -2 } } }
  local three, storages = { few[1] }, { strange[11], strange[#strange] }
  local some = { { '3', 3 }, { 'x', 'x' } }
  local index = { { '3.5', 3.5 } }
  local indices = list('1 2 3 4 5', '', {})
  local limits = list(
    '0/0 0 0.999 1 2 5 5.9999999999 6 6.0000001 -1 2^31-1 2^31 2^32+1 2^53+2 1/0 2LL',
    '2|6|fill|nothing|',
    { strange[1], strange[10] }
  )

  local chosen = support.some(5, EVERY)
  for _, T in ipairs(chosen) do
    it('reads the same with every key, and whatever the bits, from a ' .. T, function()
      for _, operation in ipairs { 'read', 'get' } do
        agree(operation, T, 'fresh', KEYS, nothing)
        agree(operation, T, 'fresh', NAMES, nothing)
        agree(operation, T, 'fresh', indices, nothing, #PATTERNS)
      end
    end)

    it('takes the same keys to write to a ' .. T, function()
      agree('write', T, 'fresh', KEYS, some)
      agree('set', T, 'fresh', KEYS, few)
      agree('write', T, 'fresh', limits, odd)
    end)

    it('writes the same values to a ' .. T, function()
      agree('write', T, 'fresh', index, VALUES)
      agree('set', T, 'fresh', index, VALUES)
      agree('fill', T, 'fresh', nothing, VALUES)
    end)

    it('copies the same values to a ' .. T .. ', and measures the same', function()
      agree('copy', T, 'fresh', nothing, KEYS)
      agree('size', T, 'fresh', nothing, KEYS)
    end)
  end

  for state in pairs(states) do
    it('reads the same from a storage that is ' .. state, function()
      for _, T in ipairs(chosen) do
        agree('read', T, state, limits, nothing)
        agree('get', T, state, limits, nothing)
        agree('size', T, state, nothing, storages)
      end
    end)

    it('writes the same to a storage that is ' .. state, function()
      for _, T in ipairs(chosen) do
        agree('write', T, state, limits, three)
        agree('set', T, state, limits, three)
        agree('fill', T, state, nothing, some)
        agree('copy', T, state, nothing, storages)
      end
    end)
  end

  it('returns the same fields of the metatable for the names of methods', function()
    for _, T in ipairs(EVERY) do
      local s = torch[T .. 'Storage'](1)
      for _, mode in ipairs { 'c', 'ffi' } do
        torch.accessors(mode)
        for name, field in pairs(getmetatable(s)) do
          assert.is_true(rawequal(field, s[name]), T .. ' ' .. mode .. ' ' .. name)
        end
      end
    end
  end)
end)
