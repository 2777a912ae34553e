-- Impossible sizes, and sizes that no machine has: an error wherever a size can be given, and an unchanged storage.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- Byte counts that overflow 64 bits, that wrap to 0 or to a small number, that are negative or not numbers. All classes refuse
-- all of them.
local IMPOSSIBLE = { '0x7fffffffffffffff', '1e30', '-1', 'x', '', true, print }
for expression in
  ([[
    2^61 2^61+512 2^62 2^62+1024 2^63 2^63-1024 2^64 2^64+4096 1e300 -1 -2 -2^31 -2^63 -1e300 1/0 -1/0 0/0
  ]]):gmatch '%S+'
do
  IMPOSSIBLE[#IMPOSSIBLE + 1] = assert(loadstring('return ' .. expression))()
end
-- Wraps around 64 bits for one element width.
for _, exponent in ipairs { 60, 61, 62 } do
  for _, more in ipairs { 0, 2 ^ 20 } do
    IMPOSSIBLE[#IMPOSSIBLE + 1] = 2 ^ exponent + 2 ^ (exponent - 20) + more
  end
end
if support.luajit then
  for literal in
    ([[
      0x2000000000000000LL 0x2000000000000200LL 0x4000000000000001LL 0x7fffffffffffffffLL -1LL -2LL^62LL
      0x8000000000000000ULL 0xffffffffffffffffULL 0x8000000000000001ULL 0x4000000000000000ULL
    ]]):gmatch '%S+'
  do
    IMPOSSIBLE[#IMPOSSIBLE + 1] = assert(loadstring('return ' .. literal))()
  end
end

-- An address that is never accessed: storages over it are only made.
local function address(s)
  return s:data(true)
end

describe('an impossible size', function()
  local path = support.temporary()
  local name, missing

  before_each(function()
    name, missing = path 'f', path 'missing'
    support.spit(name, ('\1\2\3\4\5\6\7\8'):rep(4))
  end)

  -- Each makes or changes something with that size; s has four elements.
  local uses = {
    constructor = function(class, _, n)
      return class(n)
    end,
    ['.new'] = function(class, s, n)
      return s.new(n), class.new(n)
    end,
    resize = function(_, s, n)
      return s:resize(n)
    end,
    reserve = function(_, s, n)
      return s:reserve(n)
    end,
    ['the size of a view'] = function(class, s, n)
      return class(s, 1, n)
    end,
    ['the size of an empty view'] = function(class, s, n)
      return class(s, 5, n)
    end,
    ['the offset of a view'] = function(class, s, n)
      return class(s, n)
    end,
    ['offset and size'] = function(class, s, n)
      return class(s, n, n)
    end,
    ['a private map'] = function(class, _, n)
      return class(name, false, n)
    end,
    ['a shared map'] = function(class, _, n)
      return class(name, true, n)
    end,
    ['a new shared map'] = function(class, _, n)
      return class(missing, true, n)
    end,
  }

  support.cases('is refused: %s', uses, function(use)
    for _, T in ipairs(types.TORCH7) do
      local class = torch[T .. 'Storage']
      local s = class { 1, 2, 3, 4 }
      local v = class(s, 2, 2)
      support.collect()
      local held = torch.memory()
      for i, size in ipairs(IMPOSSIBLE) do
        local ok, message = pcall(use, class, s, size)
        local context = ('%s, size %d (%s)'):format(T, i, tostring(size))
        assert.is_false(ok, context)
        assert.equal('string', type(message), context)
        assert.is_nil(message:find('internal error', 1, true), message)
        assert.same({ 1, 2, 3, 4 }, s:totable(), context)
        assert.same({ 2, 3 }, v:totable(), context)
      end
      support.collect()
      assert.same(held, torch.memory(), T)
      assert.equal(('\1\2\3\4\5\6\7\8'):rep(4), support.slurp(name))
      assert.is_nil(io.open(missing))
      -- The memory is still the same and usable.
      s[2] = 9
      assert.equal(9, v[1])
      assert.same({ 1, 9, 3, 4, 0 }, s:resize(5):totable())
    end
  end)

  it('is refused over a pointer', function()
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage'](4)
      for _, size in ipairs { 2 ^ 63, 2 ^ 63 + 4096, 2 ^ 64, 1e300, -1, -2 ^ 62, 1 / 0, -1 / 0, 0 / 0, true } do
        assert.is_truthy(support.failure(torch[T .. 'Storage'], size, s:data()))
        assert.is_truthy(support.failure(torch[T .. 'Storage'], size, address(s)))
      end
      if types.WIDTH[T] > 1 then
        assert.is_truthy(support.failure(torch[T .. 'Storage'], 2 ^ 62, address(s)))
      end
    end
  end)

  it('is refused as the offset of a view of a huge storage', function()
    -- Sizes near the limit are valid for foreign memory; ranges whose end overflows are not.
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage'](4)
      local most = 2 ^ 62 / types.WIDTH[T]
      local huge = torch[T .. 'Storage'](most, address(s))
      assert.equal(most, #huge)
      for _, list in ipairs {
        { 2, most },
        { most, 2 },
        { most + 2048, 1 },
        { most + 2048, 0 },
        { 1, most + 1024 },
        { most, most },
        { 2 ^ 63 - 1024, 2 ^ 63 - 1024 },
        { 2 ^ 63, 1 },
        { 1, 2 ^ 64 },
      } do
        assert.is_truthy(support.failure(torch[T .. 'Storage'], huge, unpack(list)))
      end
      assert.equal(2, #torch[T .. 'Storage'](huge, 3, 2))
      -- Operations that need that much memory raise an error and do not crash.
      for _, method in ipairs { 'clone', 'totable', 'unpack' } do
        assert.is_truthy(support.failure(huge[method], huge), method)
      end
      local other = T == 'Double' and 'torch.LongStorage' or 'torch.DoubleStorage'
      assert.is_truthy(support.failure(huge.type, huge, other))
      assert.is_truthy(support.failure(huge.resize, huge, 1))
    end
  end)

  it('is refused if the machine has less memory', function()
    -- There is no overflow here: the system refuses the memory, and everything continues.
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage']():resize(3):fill(5)
      for _, bytes in ipairs { 2 ^ 50, 2 ^ 52, 2 ^ 57, 2 ^ 59 } do
        local size = bytes / types.WIDTH[T]
        for _, f in ipairs { torch[T .. 'Storage'], torch[T .. 'Storage'].new } do
          assert.is_truthy(support.failure(f, size):find('not enough memory', 1, true))
        end
        assert.is_truthy(support.failure(s.resize, s, size):find('not enough memory', 1, true))
        assert.is_truthy(support.failure(s.reserve, s, size):find('not enough memory', 1, true))
        assert.same({ 5, 5, 5 }, s:totable())
      end
      assert.same({ 5, 5, 5, 0 }, s:resize(4):totable())
    end
  end)
end)

describe('the range of unpack', function()
  it('is checked against the storage, whatever its bounds are', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local odd = {
      -2 ^ 63,
      -2 ^ 31,
      -1,
      0,
      4,
      5,
      2 ^ 31,
      2 ^ 32,
      2 ^ 53,
      2 ^ 62,
      2 ^ 63 - 1024,
      2 ^ 63,
      1e300,
      1 / 0,
      -1 / 0,
      0 / 0,
    }
    for _, i in ipairs(odd) do
      for _, j in ipairs(odd) do
        local results = { pcall(s.unpack, s, i, j) }
        -- An empty range is not an error, as in Lua's own unpack.
        assert.equal(1, math.max(1, results[1] and #results or 1))
        if results[1] then
          assert.is_true(i > j)
        else
          assert.equal('string', type(results[2]))
        end
      end
      assert.is_true(not pcall(s.unpack, s, i) or i > 3)
      assert.is_true(not pcall(s.unpack, s, 1, i) or i < 1)
      assert.is_true(not pcall(s.unpack, s, 3, i) or i < 3)
    end
  end)
end)
