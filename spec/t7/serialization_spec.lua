-- torch.save, load, serialize and deserialize: the recorded bytes of every kind of value, the modes, and round trips.
local torch = require 'torch'
local support = require 'spec.support'
local tree = require 'spec.support.tree'
local types = require 'spec.support.types'

local function hex(bytes)
  return (bytes:gsub('.', function(c)
    return ('%02x'):format(c:byte())
  end))
end

-- Returns the object after a round trip.
local function round(object, mode, options)
  return (torch.deserialize(torch.serialize(object, options or mode), mode))
end

local MODES = { 'binary', 'ascii', 'b32', 'b64' }
local path = support.temporary()
local name

before_each(function()
  name = path 'f.t7'
end)

describe('binary bytes', function()
  local function is(wanted, object)
    assert.equal(wanted, hex(torch.serialize(object)))
    assert.equal(wanted, hex(torch.serialize(object, 'binary')))
    assert.equal(wanted, hex(torch.serialize(object, { mode = 'b64' })))
    torch.save(name, object)
    assert.equal(wanted, hex(support.slurp(name)))
  end

  -- A storage: tag, index and version, then the class name with its length, and the contents.
  local function storage(class, rest)
    return '040000000100000003000000562031' .. ('%02x000000'):format(#class) .. hex(class) .. rest
  end

  it('of storages equal those of Torch7', function()
    for class, case in pairs {
      ['torch.ByteStorage'] = { { 1, 255 }, '020000000000000001ff' },
      ['torch.CharStorage'] = { { -1 }, '0100000000000000ff' },
      ['torch.ShortStorage'] = { { -2 }, '0100000000000000feff' },
      ['torch.IntStorage'] = { { 1, 2, 3 }, '0300000000000000010000000200000003000000' },
      ['torch.LongStorage'] = { { -1 }, '0100000000000000ffffffffffffffff' },
      ['torch.FloatStorage'] = { { 0.1 }, '0100000000000000cdcccc3d' },
      ['torch.DoubleStorage'] = { { 0.1 }, '01000000000000009a9999999999b93f' },
      ['torch.HalfStorage'] = { { 0.1 }, '0100000000000000662e' },
    } do
      local constructor = torch[class:match '%.(.*)']
      is(storage(class, case[2]), constructor(case[1]))
      is(storage(class, '0000000000000000'), constructor())
    end
  end)

  it('of plain values equal those of Torch7', function()
    is('02000000020000006869', 'hi')
    is('0200000000000000', '')
    is('010000000000000000001440', 5)
    is('0500000001000000', true)
    is('0500000000000000', false)
    is('00000000', nil)
    is('030000000100000000000000', {})
  end)

  it('of a repeated storage are a reference to it', function()
    local s = torch.IntStorage { 7 }
    is(
      '03000000010000000200000001000000000000000000f03f0400000002000000030000005620311000000074'
        .. '6f7263682e496e7453746f726167650100000000000000070000000100000000000000000000400400000002000000',
      { s, s }
    )
  end)

  it('have 4-byte longs in mode b32', function()
    assert.equal(
      '04000000010000000300000056203110000000746f7263682e496e7453746f726167650100000007000000',
      hex(torch.serialize(torch.IntStorage { 7 }, 'b32'))
    )
    local longs = torch.serialize(torch.LongStorage { -2, 2 ^ 31 - 1 }, 'b32')
    assert.equal('02000000feffffffffffff7f', hex(longs:sub(-12)))
    assert.equal(48, #longs)
    assert.same({ -2, 2 ^ 31 - 1 }, torch.deserialize(longs, 'b32'):totable())
  end)
end)

describe('ascii text', function()
  local function is(wanted, object)
    assert.equal(wanted, torch.serialize(object, 'ascii'))
    assert.equal(wanted, torch.serialize(object, { mode = 'ascii' }))
    torch.save(name, object, 'ascii')
    assert.equal(wanted, support.slurp(name))
  end

  it('of storages equals that of Torch7', function()
    is('4\n1\n3\nV 1\n17\ntorch.ByteStorage\n3\nA\n\255\n', torch.ByteStorage { 65, 10, 255 })
    is('4\n1\n3\nV 1\n17\ntorch.CharStorage\n2\n\255B\n', torch.CharStorage { -1, 66 })
    is('4\n1\n3\nV 1\n18\ntorch.ShortStorage\n2\n-2 3\n', torch.ShortStorage { -2, 3 })
    is('4\n1\n3\nV 1\n16\ntorch.IntStorage\n3\n1 2 3\n', torch.IntStorage { 1, 2, 3 })
    is('4\n1\n3\nV 1\n17\ntorch.LongStorage\n1\n-1\n', torch.LongStorage { -1 })
    is('4\n1\n3\nV 1\n18\ntorch.FloatStorage\n3\n0.100000001 1e+10 -0.5\n', torch.FloatStorage { 0.1, 1e10, -0.5 })
    is(
      '4\n1\n3\nV 1\n19\ntorch.DoubleStorage\n3\n0.10000000000000001 0.33333333333333331 1.0000000000000001e+300\n',
      torch.DoubleStorage { 0.1, 1 / 3, 1e300 }
    )
    is('4\n1\n3\nV 1\n19\ntorch.DoubleStorage\n2\ninf -inf\n', torch.DoubleStorage { 1 / 0, -1 / 0 })
    is('4\n1\n3\nV 1\n17\ntorch.HalfStorage\n2\n0.0999755859 65504\n', torch.HalfStorage { 0.1, 65504 })
    is('4\n1\n3\nV 1\n16\ntorch.IntStorage\n0\n', torch.IntStorage())
    is('4\n1\n3\nV 1\n16\ntorch.IntStorage\n2\n2 3\n', torch.IntStorage(torch.IntStorage { 1, 2, 3, 4 }, 2, 2))
  end)

  it('of all other values equals that of Torch7', function()
    local s, cyclic = torch.IntStorage { 7 }, {}
    cyclic[1] = cyclic
    local other = torch.IntStorage { 7 }
    is('3\n1\n2\n1\n1\n4\n2\n3\nV 1\n16\ntorch.IntStorage\n1\n7\n1\n2\n4\n2\n', { s, s })
    is(
      '3\n1\n2\n1\n1\n4\n2\n3\nV 1\n16\ntorch.IntStorage\n1\n7\n1\n2\n4\n3\n3\nV 1\n16\ntorch.IntStorage\n1\n7\n',
      { s, other }
    )
    is('2\n3\nhi\n\n', 'hi\n')
    is('1\n0.10000000000000001\n', 0.1)
    is('3\n1\n1\n2\n1\nx\n1\n1\n', { x = 1 })
    is('3\n1\n1\n1\n1\n3\n1\n', cyclic)
  end)

  it('of a number equals what C prints with 17 digits', function()
    for _, n in ipairs {
      1,
      -1,
      0.5,
      1e15,
      1e16,
      1e17,
      1.23456789012345678e17,
      1e-4,
      1e-5,
      5e-324,
      2 ^ 53,
      1 / 3,
      -1e-300,
      1e22,
      1e23,
    } do
      is('1\n' .. ('%.17g'):format(n) .. '\n', n)
    end
  end)

  it('of random doubles equals what C prints', function()
    local values, seed = {}, 1
    for i = 1, 3000 do
      seed = (seed * 16807) % 2147483647
      -- No ties: LuaJIT itself prints another 17th digit of -2244335475094124.25 than C.
      local exponent = (i * 7) % 2000 - 1000
      values[i] = (seed / 2147483647 - 0.5) * 2 ^ (exponent > 40 and exponent < 60 and 40 or exponent)
    end
    local s, f = torch.DoubleStorage(values), torch.FloatStorage(values)
    local doubles, floats = {}, {}
    for i = 1, #values do
      doubles[i], floats[i] = ('%.17g'):format(s[i]), ('%.9g'):format(f[i])
    end
    assert.equal(table.concat(doubles, ' ') .. '\n', torch.serialize(s, 'ascii'):match '\n3000\n(.*)$')
    assert.equal(table.concat(floats, ' ') .. '\n', torch.serialize(f, 'ascii'):match '\n3000\n(.*)$')
    assert.is_true(round(s, 'ascii'):equal(s))
    assert.is_true(round(f, 'ascii'):equal(f))
  end)

  it('of a value halfway between two numbers of 17 digits has the even one, as in C', function()
    is(
      '4\n1\n3\nV 1\n19\ntorch.DoubleStorage\n2\n-2244335475094124.2 2244335475094124.8\n',
      torch.DoubleStorage {
        -2244335475094124.25,
        2244335475094124.75,
      }
    )
  end)

  it('of NaN is nan, with or without a sign', function()
    assert.matches('^1\n%-?nan\n$', torch.serialize(0 / 0, 'ascii'))
    assert.matches('\n2\n%-?nan 1\n$', torch.serialize(torch.DoubleStorage { 0 / 0, 1 }, 'ascii'))
    local back = round(0 / 0, 'ascii')
    assert.is_true(back ~= back)
    for _, T in ipairs { 'Half', 'Float', 'Double' } do
      local s = round(torch[T .. 'Storage'] { 0 / 0, -0 }, 'ascii')
      assert.is_true(s[1] ~= s[1])
    end
  end)

  it('is read with any white space between numbers', function()
    for _, text in ipairs {
      '4\n1\n3\nV 1\n16\ntorch.IntStorage\n3\n1 2 3',
      '4 1 3\nV 1\n16\ntorch.IntStorage\n3\n1   2\t3\n',
    } do
      assert.same({ 1, 2, 3 }, torch.deserialize(text, 'ascii'):totable())
    end
    local s = torch.deserialize('4\n1\n3\nV 1\n18\ntorch.FloatStorage\n3\nnan inf -1e400\n', 'ascii')
    assert.same({ 1 / 0, -1 / 0 }, s:totable(2, 3))
    assert.is_true(s[1] ~= s[1])
  end)
end)

describe('a round trip', function()
  local function same(object)
    local wanted = tree(object)
    for _, mode in ipairs(MODES) do
      assert.equal(wanted, tree(round(object, mode)), mode)
      torch.save(name, object, mode)
      assert.equal(wanted, tree((torch.load(name, mode))), mode)
      assert.equal(wanted, tree((torch.load(name, { mode = mode, referenced = true }))), mode)
      assert.equal(wanted, tree((torch.load(name))), mode .. ', not told')
      assert.equal(wanted, tree((torch.deserialize(support.slurp(name)))), mode .. ', not told')
    end
  end

  it('keeps values', function()
    same(nil)
    for _, value in ipairs {
      true,
      false,
      0,
      -0,
      1 / 0,
      -1 / 0,
      2 ^ 53,
      5e-324,
      '',
      'x',
      '\0\n\r \255',
      ('ab\0'):rep(1e5),
    } do
      same(value)
    end
    same { [true] = 1, [false] = 2, [1.5] = 3, [-1] = 4, [''] = 5, x = {}, [1] = false, [1 / 0] = 'inf' }
  end)

  it('keeps storages of all classes', function()
    local all = {}
    for i, T in ipairs(types.TORCH7) do
      local bytes = {}
      for n = 1, 8 * i do
        bytes[n] = string.char((n * 13 + i) % 120)
      end
      all[T] = torch[T .. 'Storage'].fromstring(table.concat(bytes))
      all[i] = torch[T .. 'Storage']()
    end
    all.Long = torch.LongStorage { 1, -2, 3 } -- that 4 bytes can hold
    same(all)
  end)

  it('keeps the bits of a NaN in binary modes', function()
    for _, T in ipairs { 'Half', 'Float', 'Double' } do
      local odd = ('\1\2\3\4\5\6\7\8'):sub(1, types.WIDTH[T] - 2) .. '\250\127'
      local s = torch[T .. 'Storage'].fromstring(odd)
      assert.equal(odd, round(s):string())
      assert.equal(odd, round(s, 'b32'):string())
    end
  end)

  it('keeps all bits of longs', function()
    local s = torch.LongStorage.fromstring '\1\0\0\0\0\0\32\0\255\255\255\255\255\255\255\127\0\0\0\0\0\0\0\128'
    assert.is_true(round(s):equal(s))
    assert.is_true(round(s, 'ascii'):equal(s))
    assert.matches('\n3\n9007199254740993 9223372036854775807 %-9223372036854775808\n$', torch.serialize(s, 'ascii'))
  end)

  it('keeps the identity of objects, also of tables used as keys', function()
    local key, shared, s = {}, { 'shared' }, torch.ByteStorage { 1 }
    local object = { [key] = key, a = shared, b = { shared, { shared } }, s = s, t = { s } }
    object.self = object
    for _, mode in ipairs(MODES) do
      local back = round(object, mode)
      assert.equal(back, back.self)
      assert.equal(back.a, back.b[1])
      assert.equal(back.a, back.b[2][1])
      assert.is_true(rawequal(back.s, back.t[1]))
      local found
      for k, v in pairs(back) do
        if type(k) == 'table' then
          assert.equal(k, v)
          found = true
        end
      end
      assert.is_true(found)
    end
  end)

  it('keeps the identity of storages, and saves views as storages of their own', function()
    local s = torch.IntStorage { 1, -2, 3 }
    s:retain()
    local again = torch.pushudata(torch.pointer(s), 'torch.IntStorage')
    assert.is_false(rawequal(s, again))
    local x = round { s, again }
    assert.is_true(rawequal(x[1], x[2]))
    local y = round { s, torch.IntStorage(s, 2) }
    assert.same({ -2, 3 }, y[2]:totable())
    y[2]:fill(0)
    assert.same({ 1, -2, 3 }, y[1]:totable())
    assert.is_true(y[2]:resizable())
    assert.is_false(y[2]:isView())
  end)

  it('saves maps and shared memory by their contents', function()
    support.spit(name, '\1\0\0\0\2\0\0\0')
    local back = round(torch.IntStorage(name, true))
    assert.same({ 1, 2 }, back:totable())
    assert.is_false(back:isMapped())
    assert.same({ 1 }, back:resize(1):totable())
    assert.same({ 5 }, round(torch.IntStorage({ 5 }):shareMemory()):totable())
    assert.same({ 1, 2 }, round(torch.IntStorage { filename = name, readonly = true }):totable())
  end)

  it('ignores the metatables of plain tables', function()
    local odd = setmetatable({ 1 }, {
      __index = function()
        error '__index was called'
      end,
      __len = function()
        error '__len was called'
      end,
      __pairs = function()
        error '__pairs was called'
      end,
    })
    local back = round(odd)
    assert.same({ 1 }, { back[1] })
    assert.is_nil(getmetatable(back))
  end)

  it('without references writes an object twice and reads two', function()
    local t, s = { 1 }, torch.IntStorage { 1 }
    torch.save(name, { t, t, s, s }, 'binary', false)
    for _, back in ipairs {
      torch.load(name, 'binary', false),
      torch.load(name, { referenced = false }),
      torch.load(name),
    } do
      assert.is_true(back[1] ~= back[2] and back[3] ~= back[4])
      assert.same({ { 1 }, { 1 } }, { back[1], back[2] })
      back[3][1] = 5
      assert.equal(1, back[4][1])
    end
    local cyclic = {}
    cyclic.x = { cyclic }
    assert.matches('cannot save', support.failure(torch.save, name, cyclic, { referenced = false }), 1, true)
  end)
end)

describe('the order of keys', function()
  it('is kept with the option keeporder, and the keys are the same', function()
    local keys = {}
    for i = 1, 100 do
      keys[i] = ('%d%s'):format(i * 7919 % 1000, i % 2 == 0 and 'x' or '')
    end
    local parts = {}
    for i, key in ipairs(keys) do
      parts[i] = ('2\n%d\n%s\n1\n%d\n'):format(#key, key, i)
    end
    local text = '3\n1\n100\n' .. table.concat(parts)
    local t = torch.deserialize(text, { mode = 'ascii', keeporder = true })
    assert.equal(text, torch.serialize(t, 'ascii'))
    t[keys[5]] = 500 -- another value for the same keys
    assert.equal((text:gsub('\n5\n2\n', '\n500\n2\n', 1)), torch.serialize(t, 'ascii'))
    t.new, t[keys[1]] = 'one more', nil
    local back = round(t)
    assert.equal(tree(t), tree(back))
    assert.equal('one more', back.new)
    assert.is_nil(back[keys[1]])
  end)

  it('is kept without visible changes to the tables', function()
    local t = torch.deserialize(torch.serialize { b = 1, a = 2, { 3 } }, { keeporder = true })
    assert.is_nil(getmetatable(t))
    assert.same({ b = 1, a = 2, { 3 } }, t)
  end)
end)
