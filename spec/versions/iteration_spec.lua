-- Iteration, the functions of the table library, and comparisons on every Lua.
local torch = require 'torch'
local support = require 'spec.support'

local VERSION = _VERSION:match '[%d.]+'

-- Whether the functions of the table library use metamethods, since Lua 5.3. LuaJIT and Lua 5.1 and 5.2 take tables only.
local HAS_METAMETHODS = VERSION >= '5.3'

-- What iteration gives, as a text.
local function visited(...)
  local texts = {}
  for i, v in ... do
    texts[#texts + 1] = ('%d=%g'):format(i, v)
  end
  return table.concat(texts, ' ')
end

local function joined(s)
  return support.joined(s:totable(), ' ')
end

-- Compiles and calls text that may be no Lua 5.1.
local function run(text, ...)
  return assert(loadstring(text))(...)
end

describe('pairs', function()
  if VERSION == '5.1' then
    it('takes only tables on Lua 5.1, but iter works', function()
      local s = torch.IntStorage { 4, 5, 6 }
      -- A LuaJIT that was built for it has pairs of Lua 5.2.
      local ok, message = pcall(pairs, s)
      assert.is_true(ok or message:find('table expected, got userdata', 1, true) ~= nil)
      assert.equal('1=4 2=5 3=6', visited(s:iter()))
    end)
  else
    it('is iter', function()
      local s = torch.IntStorage { 4, 5, 6 }
      assert.equal('1=4 2=5 3=6', visited(s:iter()))
      assert.equal('1=4 2=5 3=6', visited(pairs(s)))
      assert.equal('', visited(pairs(torch.IntStorage())))
      local step, state, first = pairs(s)
      assert.equal(s, state)
      assert.equal(4, select(2, step(state, first)))
    end)

    it('goes on when the storage changes during the loop', function()
      local s = torch.IntStorage { 1, 2, 3 }
      local seen = 0
      for i in pairs(s) do
        seen = seen + 1
        if i == 1 then
          s:resize(2)
        end
      end
      assert.equal(2, seen)
      support.fails('storage was freed', function()
        for _ in pairs(s) do
          s:free()
        end
      end)
    end)
  end
end)

describe('ipairs', function()
  if VERSION == '5.2' then
    it('is iter on Lua 5.2, which has __ipairs', function()
      assert.equal('1=4 2=5', visited(ipairs(torch.IntStorage { 4, 5 })))
      assert.equal('', visited(ipairs(torch.IntStorage())))
    end)
  elseif HAS_METAMETHODS then
    it('raises at the end, and tells of iter', function()
      local advice = 'ipairs does not stop at the end of a storage: use s:iter()'
      for size = 0, 3 do
        local seen = 0
        local message = support.failure(function()
          for i in ipairs(torch.IntStorage(size)) do
            seen = seen + 1
            assert.equal(seen, i)
          end
        end)
        assert.equal(size, seen)
        assert.is_truthy(message:find(('index %d is out of range'):format(size + 1), 1, true), message)
        assert.is_truthy(message:find(advice, 1, true), message)
      end
      -- Other indices out of range are not about ipairs.
      local s = torch.IntStorage(3)
      for _, index in ipairs { 0, -1, 5, 2 ^ 53 } do
        assert.is_nil(support.failure(s.get, s, index):find('ipairs', 1, true))
      end
      assert.is_nil(support.failure(s.set, s, 4, 1):find('ipairs', 1, true))
    end)
  else
    it('takes only tables on Lua 5.1', function()
      local ok, message = pcall(ipairs, torch.IntStorage(1))
      assert.is_true(ok or message:find('table expected, got userdata', 1, true) ~= nil)
    end)
  end
end)

describe('the table library', function()
  if not HAS_METAMETHODS then
    it('takes only tables before Lua 5.3', function()
      support.fails('table expected, got userdata', table.concat, torch.IntStorage(1))
      support.fails('table expected, got userdata', table.sort, torch.IntStorage(1))
      support.fails('table expected, got userdata', table.insert, torch.IntStorage(1), 1)
    end)
    return
  end

  it('reads storages', function()
    local s = torch.IntStorage { 3, 1, 2 }
    assert.same({ 3, 1, 2 }, { table.unpack(s) })
    assert.same({ 1, 2 }, { table.unpack(s, 2, 3) })
    assert.equal('3,1,2', table.concat(s, ','))
    assert.equal('1 2', table.concat(s, ' ', 2))
    assert.equal('0.5;-2.0', table.concat(torch.FloatStorage { 0.5, -2 }, ';'))
    support.fails('index 4 is out of range', table.unpack, s, 2, 4)
    support.fails('index 4 is out of range', table.concat, s, ' ', 1, 4)
    support.fails("invalid value (table) at index 1 in table for 'concat'", table.concat, torch.ComplexFloatStorage(1))
  end)

  it('sorts storages', function()
    local numbers, random = {}, require 'spec.support.generator'(5)
    for i = 1, 500 do
      numbers[i] = random(1000) - 500
    end
    for _, name in ipairs { 'Short', 'Long', 'Float', 'Double' } do
      local s = torch[name .. 'Storage'](numbers)
      table.sort(s)
      table.sort(numbers)
      assert.is_true(s:equal(torch[name .. 'Storage'](numbers)))
      local function greater(a, b)
        return a > b
      end
      table.sort(s, greater)
      table.sort(numbers, greater)
      assert.is_true(s:equal(torch[name .. 'Storage'](numbers)))
    end
    support.fails('invalid order function', table.sort, torch.IntStorage(100), function()
      return true
    end)
    local s = torch.IntStorage { 3, 2, 1 }
    support.fails('storage was freed', table.sort, s, function()
      s:free()
    end)
  end)

  it('moves elements, also between storages and within one', function()
    local random = require 'spec.support.generator'(6)
    for _ = 1, 500 do
      local numbers = {}
      for i = 1, 12 do
        numbers[i] = random(100)
      end
      local s = torch.IntStorage(numbers)
      local from, count = random(12), random(12)
      count = math.min(count, 13 - from)
      local to = random(13 - count)
      assert.equal(s, table.move(s, from, from + count - 1, to))
      table.move(numbers, from, from + count - 1, to)
      assert.equal(table.concat(numbers, ' '), joined(s))
      -- To a view whose memory overlaps, elements go one by one, so that some are read after they were written.
      local memory = torch.IntStorage(numbers)
      local shift = random(12 - count + 1) - 1
      local view = torch.IntStorage(memory, shift + 1)
      table.move(memory, from, math.min(from + count - 1, 12), 1, view)
      for i = 0, count - 1 do
        numbers[shift + 1 + i] = numbers[from + i]
      end
      assert.equal(table.concat(numbers, ' '), joined(memory))
    end
    local s = torch.IntStorage(5)
    table.move({ 9, 8, 7 }, 1, 3, 3, s)
    assert.equal('0 0 9 8 7', joined(s))
    assert.same({ 9, 8, 7 }, table.move(s, 3, 5, 1, {}))
    assert.equal('9.0 8.0 7.0', table.concat(table.move(s, 3, 5, 1, torch.DoubleStorage(3)), ' '))
    support.fails('index 6 is out of range', table.move, s, 1, 5, 2)
    assert.equal('0 0 9 8 7', joined(s))
    support.fails('wrap around', table.move, s, 1, math.maxinteger, 2)
    support.fails('too many elements', table.move, s, math.mininteger, -1, 2)
  end)

  it('cannot insert into or remove from a storage, which has a fixed size', function()
    local s = torch.IntStorage { 1, 2, 3 }
    support.fails('index 4 is out of range', table.insert, s, 4)
    support.fails('index 4 is out of range', table.insert, s, 1, 4)
    assert.equal('1 2 3', joined(s))
    support.fails('number expected, got nil', table.remove, s)
    assert.equal('1 2 3', joined(s))
  end)

  it('cannot change a read-only storage', function()
    local s = torch.frombuffer('abc', { dtype = 'uint8' })
    assert.equal('97 98 99', table.concat(s, ' '))
    support.fails('read-only', table.sort, s, function(a, b)
      return a > b
    end)
    support.fails('read-only', table.move, s, 1, 2, 2)
  end)
end)

describe('a comparison', function()
  it('of a storage or tensor with anything else is false', function()
    local s, x = torch.IntStorage { 1 }, torch.IntTensor { 1 }
    local others = {
      1,
      '1',
      {},
      true,
      false,
      print,
      io.stdout,
      coroutine.create(function() end),
      torch.IntStorage { 1 },
      torch.LongStorage { 1 },
    }
    others[#others + 1] = setmetatable({}, { __eq = error })
    for _, other in ipairs(others) do
      local calls_it = VERSION >= '5.3' and getmetatable(other) and type(other) == 'table'
      if not calls_it then
        assert.is_false(s == other)
        assert.is_false(other == s)
        assert.is_true(s ~= other)
        assert.is_false(x == other)
        assert.is_false(other == x)
      end
    end
    assert.is_false(s == nil)
    assert.is_false(s == x)
    assert.is_true(s == s)
    assert.is_true(x == x)
    local seen = torch.IntStorage(s)
    assert.is_false(seen == torch.IntStorage(seen, 1))
  end)

  it('by order is an error', function()
    local s, x = torch.IntStorage(1), torch.IntTensor(1)
    local others = { 1, 'x', {}, true, print, io.stdout, torch.LongStorage(1), x, s }
    for _, value in ipairs { s, x } do
      for _, other in ipairs(others) do
        local name = torch.typename(other) or type(other)
        for _, operator in ipairs { '<', '<=', '>', '>=' } do
          local message = support.failure(run, ('local a, b = ... return a %s b'):format(operator), value, other)
          if HAS_METAMETHODS then
            assert.is_truthy(message:find(torch.typename(value), 1, true), message)
            assert.is_truthy(message:find(name, 1, true), message)
          else
            assert.is_truthy(message:find('compare', 1, true) or message:find('operator', 1, true), message)
          end
          support.failure(run, ('local a, b = ... return b %s a'):format(operator), value, other)
        end
      end
    end
  end)
end)

describe('an operator of Lua 5.3', function()
  if VERSION < '5.3' then
    return
  end
  it('is an error for a storage', function()
    local s = torch.IntStorage(1)
    for _, operator in ipairs { '//', '&', '|', '~', '<<', '>>' } do
      support.fails('torch.IntStorage', run, ('local a = ... return a %s 1'):format(operator), s)
      support.fails('torch.IntStorage', run, ('local a = ... return 1 %s a'):format(operator), s)
    end
    support.fails('torch.IntStorage', run, 'local a = ... return ~a', s)
  end)

  it('takes elements, which are integers', function()
    local s = torch.UInt32Storage { 0xffff0000, 7 }
    assert.equal(0xffff, run('local s = ... return s[1] >> 16', s))
    assert.equal(3, run('local s = ... return s[2] // 2', s))
    assert.equal('7', ('%d'):format(s[2]))
    run('local s = ... s[1] = s[1] ~ 0xff00ff00', s)
    assert.equal(0x00ffff00, s[1])
  end)
end)
