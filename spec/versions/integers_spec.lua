-- Integers, which Lua has since 5.3: what reads as an integer, and which bits integers and floats store. On earlier Luas the same
-- specs say what holds there.
local torch = require 'torch'
local support = require 'spec.support'

local INTEGER = { signed = true, unsigned = true, untyped = true, bool = true }

-- The classes of real numbers, each with `name`, `kind`, `bytes` and whether it holds integers.
local classes = {}
for _, entry in ipairs(require('torch.core').classes) do
  if entry.kind ~= 'complex' then
    classes[#classes + 1] = {
      name = entry.element,
      kind = entry.kind,
      bytes = entry.width,
      is_integer = INTEGER[entry.kind] or false,
      new = torch[entry.element .. 'Storage'],
      tensor = torch[entry.element .. 'Tensor'],
    }
  end
end

-- `integer` or `float`; before Lua 5.3, whole numbers count as integers.
local function subtype(value)
  if type(value) ~= 'number' then
    return type(value)
  end
  return math.type and math.type(value) or value % 1 == 0 and 'integer' or 'float'
end

-- Makes a test that needs the integers of Lua 5.3. Before, it is skipped.
local function with_integers(title, f)
  it(title, function()
    if not support.has_integers then
      support.skip(f, 'numbers are floats before Lua 5.3')
    end
    f()
  end)
end

-- The value of an expression that may be no Lua 5.1.
local function value_of(expression, ...)
  return assert(loadstring('return ' .. expression))(...)
end

describe('an element', function()
  for _, class in ipairs(classes) do
    -- All whole elements of other classes are floats, from Lua 5.3 on.
    local expected = (class.is_integer or not support.has_integers) and 'integer' or 'float'

    it(('is read as %s %s: %s'):format(expected == 'integer' and 'an' or 'a', expected, class.name), function()
      local s = class.new { 1, 0, 1 }
      local reads =
        { s[1], s:get(2), s:exact(3), (s:unpack()), s:totable()[1], s:totable(2, 3)[2], (select(2, s:iter()(s, 0))) }
      if support.luajit then
        reads[3] = tonumber(s:exact(3))
      elseif not support.has_integers and class.is_integer and class.bytes == 8 then
        assert.equal('string', type(reads[3]))
        reads[3] = tonumber(reads[3])
      end
      assert.equal(7, #reads)
      for way, value in ipairs(reads) do
        assert.equal(expected, subtype(value), 'way ' .. way)
        assert.is_true(value == 1 or value == 0)
      end
      for _, value in s:iter() do
        assert.equal(expected, subtype(value))
      end
      assert.equal(expected, subtype(getmetatable(s).__index__(s, 1)))
      if class.tensor then
        local x = class.tensor(2, 2):fill(1)
        for way, value in ipairs { x:get(1, 2), x[{ 2, 1 }], x[2][2], x:totable()[1][1], x:clone():storage()[4] } do
          assert.equal(expected, subtype(value), 'tensor, way ' .. way)
        end
      end
    end)
  end

  with_integers('of 64 bits keeps all of them', function()
    local expressions =
      { 'math.maxinteger', 'math.mininteger', '2^53|0', '(1 << 53) + 1', '-1', '0x7edcba9876543211', '-(1 << 53) - 1' }
    for _, expression in ipairs(expressions) do
      local n = value_of(expression)
      for _, name in ipairs { 'Long', 'UInt64' } do
        local new = torch[name .. 'Storage']
        local s = new(3)
        s[1] = n
        s:set(2, n):fill(n, 3, 3)
        for i = 1, 3 do
          assert.equal(n, s[i])
          assert.equal(n, s:get(i))
          assert.equal(n, s:exact(i))
          assert.equal('integer', math.type(s:exact(i)))
          assert.equal(string.pack('<i8', n), s:string(i, i))
        end
        assert.same({ n, n, n }, s:totable())
        assert.same({ n, n, n }, { s:unpack() })
        assert.is_true(new(s:totable()):equal(s))
        local x = torch[name .. 'Tensor'](2, 2):fill(n)
        assert.equal(n, x:get(2, 1))
        assert.equal(n, x:set(1, 2, n)[{ 1, 2 }])
      end
    end
  end)

  with_integers('of a UInt64 is wrapped, as string.unpack gives it, and math.ult compares it', function()
    local s = torch.UInt64Storage { 1, '18446744073709551615', '9223372036854775808', 2.0 ^ 63, -1 }
    for i = 1, #s do
      assert.equal((string.unpack('<J', s:string(i, i))), s[i])
      assert.equal(s[i], s:exact(i))
      assert.equal('integer', math.type(s[i]))
    end
    assert.equal(-1, s[2])
    assert.equal(math.mininteger, s[3])
    assert.equal(math.mininteger, s[4])
    assert.is_true(math.ult(s[1], s[2]) and s[2] < s[1])
    assert.equal('18446744073709551615', s:decimal(2))
    assert.equal('18446744073709551615', s:decimal(5))
    local copy = torch.UInt64Storage(#s)
    for i, v in s:iter() do
      copy[i] = v
    end
    assert.is_true(copy:equal(s))
  end)
end)

describe('sizes, counts, indices and addresses', function()
  it('are integers', function()
    local s, x = torch.FloatStorage(6), torch.FloatTensor(2, 3)
    local view = torch.FloatStorage(s, 2, 3)
    local index = s:iter()(s, 0)
    local values = {
      #s,
      s:size(),
      s:nbytes(),
      s:elementSize(),
      torch.FloatStorage(4.0):size(),
      torch.FloatStorage(4.9):size(),
      s:resize(7.0):size(),
      view:size(),
      index,
      torch.version(s),
      torch.getnumthreads(),
      x:size(1),
      x:stride(1),
      x:size()[2],
      x:stride()[2],
      x:dim(),
      x:nDimension(),
      x:nElement(),
      x:numel(),
      x:storageOffset(),
      x:elementSize(),
      x:nbytes(),
      torch.pointer(x),
      torch.pointer(s),
      torch.pointer {},
    }
    assert.equal(25, #values)
    for n, value in ipairs(values) do
      assert.equal('integer', subtype(value), 'value ' .. n)
    end
    for _, held in pairs(torch.memory()) do
      assert.equal('integer', subtype(held))
    end
    local _, bytes = torch.buffer(s)
    assert.equal('integer', subtype(bytes))
    -- An integer is written without a point.
    assert.equal('6 2 3', table.concat({ #torch.FloatStorage(6), x:size(1), x:size(2) }, ' '))
  end)

  it('of 2^53 and more are refused like other sizes', function()
    local s = torch.ByteStorage(3)
    local sizes = { 2 ^ 53, 2 ^ 62, 2 ^ 63, 2 ^ 64, -1, math.huge, -math.huge, 0 / 0 }
    for _, text in ipairs { 'math.maxinteger', 'math.mininteger', '(1 << 53) + 1' } do
      sizes[#sizes + 1] = support.has_integers and value_of(text) or nil
    end
    for _, size in ipairs(sizes) do
      support.failure(torch.ByteStorage, size)
      support.failure(s.resize, s, size)
      support.failure(torch.ByteStorage, s, 1, size)
      support.failure(torch.ByteStorage, s, size)
      support.failure(torch.ByteTensor, size)
      support.failure(torch.ByteTensor, 2, size)
      support.failure(torch.ByteTensor, s, size, 1, 1)
      support.failure(torch.ByteTensor, s, 1, 2, size)
      support.failure(s.get, s, size)
      support.failure(s.set, s, size, 1)
      support.failure(s.fill, s, 1, size, size)
      support.failure(s.copy, s, torch.ByteStorage(1), size)
      assert.equal(3, #s)
    end
  end)

  it('with a fraction are treated alike on every Lua', function()
    local s = torch.IntStorage { 1, 2, 3 }
    assert.equal(1, s[1.9])
    assert.equal(3, s[3.999])
    assert.equal(2, s:get(2.5))
    s[2.5] = 9
    assert.equal(9, s[2])
    support.fails('index 0.5 is out of range', s.get, s, 0.5)
    support.fails('index 4 is out of range', s.get, s, 4.0)
    assert.equal(1, torch.IntStorage(1.5):size())
    assert.equal(1, torch.IntTensor(1.5):size(1))
    assert.equal(2, torch.IntTensor(2, 3):narrow(1, 2.5, 1):storageOffset() - 2)
    assert.equal(5, torch.IntTensor { { 4, 5 } }:get(1.5, 2.5))
  end)

  it('are the same with and without a point', function()
    local s = torch.IntStorage { 1, 2, 3 }
    assert.equal(s[2], s[2.0])
    assert.equal(s[2], s['2'])
    assert.equal(s[2], s['2.0'])
    assert.equal(s[2], s[' 0x2 '])
    assert.equal(nil, s['2 x'])
    assert.equal(nil, s[''])
    -- Lua 5.1 stops at the zero byte.
    assert.equal(tonumber '2\0' and 2, s['2\0'])
    support.fails('index 9007199254740992 is out of range', s.get, s, 2 ^ 53)
    if support.has_integers then
      support.fails('index 9007199254740993 is out of range', s.get, s, value_of '(1 << 53) + 1')
    end
  end)
end)
