-- Broken .t7 files: the error gives the byte, the path in the object, what was expected and what is there.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'

local path = support.temporary()

local b64, ascii = made.formats.b64, made.formats.ascii

-- Loading has to fail at the byte where the problem begins, with the fragments in the message.
local function broken(byte, fragments, bytes, mode)
  local message = support.failure(torch.deserialize, bytes, mode)
  assert.matches('cannot load', message, 1, true)
  assert.equal(byte, tonumber(message:match 'at byte (%d+)'), message)
  for _, fragment in ipairs(fragments) do
    assert.matches(fragment, message, 1, true)
  end
  return message
end

local s = torch.serialize(torch.IntStorage { 1, 2, 3 })
local head = s:sub(1, 35)

describe('a truncated file', function()
  it('is reported with the byte and with what is missing', function()
    broken(43, { '3', '11 bytes are left' }, s:sub(1, -2), 'binary')
    broken(43, { '3', '0 bytes are left' }, s:sub(1, 43), 'binary')
    broken(35, {}, s:sub(1, 40), 'binary')
    broken(0, {}, '', 'binary')
    broken(0, {}, s:sub(1, 2), 'binary')
    broken(4, {}, s:sub(1, 4), 'binary')
    broken(8, {}, s:sub(1, 8), 'binary')
    broken(15, { '16', '11' }, s:sub(1, 30), 'binary')
    broken(8, {}, '\4\0\0\0\5\0\0\0', 'binary')
    broken(8, { '2' }, '\3\0\0\0\1\0\0\0\2\0\0\0', 'binary')
    broken(4, { '2147483647', '3' }, '\2\0\0\0\255\255\255\127abc', 'binary')
    broken(0, {}, 'abc', 'binary')
  end)

  it('is reported in the same way for text', function()
    local message = broken(32, { '3' }, '4\n1\n3\nV 1\n16\ntorch.IntStorage\n3\n1 2', 'ascii')
    assert.is_true(#message < 300)
    broken(2, {}, '2\n5\nabc', 'ascii')
    broken(0, {}, '', 'ascii')
  end)

  it('is named in the message', function()
    local name = path 'cut.t7'
    support.spit(name, s:sub(1, -2))
    for _, options in ipairs { 'binary', { mmap = true }, { mode = 'b64', mmap = true, info = true } } do
      local message = support.failure(torch.load, name, options)
      assert.matches("cannot load '" .. name .. "': at byte 43", message, 1, true)
    end
    assert.matches(name, support.failure(torch.load, name), 1, true)
  end)

  it('is reported with the path in the object', function()
    local weight = b64.storage(5, 'Int', { 1, 2, 3 })
    local bytes = b64.pairs(1, {
      b64.string 'layers',
      b64.table(2, { b64.number(1), b64.number(2), b64.pairs(3, { b64.string 'weight', weight }) }),
    })
    local message = support.failure(torch.deserialize, bytes:sub(1, -9), 'binary')
    assert.matches('layers.3.weight', message, 1, true)
    assert.matches('3', message, 1, true)
    assert.matches('4 bytes are left', message, 1, true)
    assert.equal(#bytes - 12, tonumber(message:match 'at byte (%d+)'))
  end)
end)

describe('a file that is damaged', function()
  it('is reported with the unknown tag, class or version', function()
    broken(0, { '9' }, '\9\0\0\0', 'binary')
    broken(0, { '-1' }, '\255\255\255\255', 'binary')
    broken(0, { '9' }, '9\n', 'ascii')
    broken(0, {}, 'x\n', 'ascii')
  end)

  it('is reported with the impossible size', function()
    broken(35, { '-1' }, head .. ('\255'):rep(8), 'binary')
    broken(35, { '4611686018427387904' }, head .. '\0\0\0\0\0\0\0\64xxxx', 'binary')
    broken(35, { '4 ' }, head .. '\0\0\0\0\0\255\0\0xxxx', 'binary')
    broken(8, { '-1' }, '\3\0\0\0\1\0\0\0\255\255\255\255', 'binary')
    broken(4, { '-1' }, '\2\0\0\0\255\255\255\255', 'binary')
    broken(30, { '-1' }, '4\n1\n3\nV 1\n16\ntorch.IntStorage\n-1\n\n', 'ascii')
    broken(8, { '99' }, b64.table(1, {}):sub(1, 8) .. '\99\0\0\0', 'binary')
  end)

  it('is reported where text is not a number', function()
    broken(35, { '.5' }, '4\n1\n3\nV 1\n16\ntorch.IntStorage\n3\n1 2.5 3\n', 'ascii')
    broken(34, { 'x' }, '4\n1\n3\nV 1\n16\ntorch.IntStorage\n3\n1 x 3\n', 'ascii')
    broken(37, { 'q' }, '4\n1\n3\nV 1\n19\ntorch.DoubleStorage\n2\n1 q\n', 'ascii')
  end)

  it('does not load storages and tensors of torch as records', function()
    -- A tensor is read as one only if its class is known. Objects of unknown classes have fields, and these bytes are not
    -- fields.
    local message = support.failure(torch.deserialize, (s:gsub('IntStorage', 'IntSturage')), 'binary')
    assert.matches('at byte %d+', message)
    assert.matches('torch.IntSturage', message, 1, true)
  end)

  it('reads any nonzero integer as true, as Torch7 does', function()
    assert.is_false(torch.deserialize('\5\0\0\0\7\0\0\0', 'binary'))
    assert.is_true(torch.deserialize('\5\0\0\0\1\0\0\0', 'binary'))
  end)

  it('reads integers in text as C does', function()
    local text = '4\n1\n3\nV 1\n16\ntorch.IntStorage\n2\n1 99999999999\n'
    assert.same({ 1, 1215752191 }, torch.deserialize(text, 'ascii'):totable())
  end)

  it('may have any version, or none', function()
    local text = '4\n1\n3\nV 2\n16\ntorch.IntStorage\n1\n5\n'
    assert.same({ 5 }, torch.deserialize(text, 'ascii'):totable())
    assert.same({ 5 }, torch.deserialize('4\n1\n16\ntorch.IntStorage\n1\n5\n', 'ascii'):totable())
    -- 'V x' is not a version, so it is the name of a class.
    local message = support.failure(torch.deserialize, '4\n1\n3\nV x\n16\ntorch.IntStorage\n1\n5\n', 'ascii')
    assert.matches('V x', message, 1, true)
  end)

  it('refuses nil and NaN as keys', function()
    local nan = b64.number(0 / 0)
    broken(12, { 'nil' }, b64.pairs(1, { b64.null, b64.number(1) }), 'binary')
    broken(12, { 'NaN' }, b64.pairs(1, { nan, b64.number(1) }), 'binary')
    assert.matches('nil', support.failure(torch.deserialize, ascii.pairs(1, { ascii.null, ascii.number(1) })), 1, true)
  end)

  it('with a nil value omits the key', function()
    for _, format in ipairs(made.NAMES) do
      local f = made.formats[format]
      assert.same({ b = 1 }, torch.deserialize(f.pairs(1, { f.string 'a', f.null, f.string 'b', f.number(1) })))
    end
  end)

  it('with the same key twice keeps the last value', function()
    assert.same(
      { a = 2 },
      torch.deserialize(b64.pairs(1, { b64.string 'a', b64.number(1), b64.string 'a', b64.number(2) }))
    )
  end)

  it('with a reference under another tag than its object gives the object, or an error', function()
    local bytes = b64.table(1, { b64.storage(2, 'Int', { 5 }), b64.reference(made.TABLE, 2) })
    local ok, t = pcall(torch.deserialize, bytes)
    assert.is_true(ok and t[1] == t[2] or type(t) == 'string')
  end)
end)

describe('an error during loading', function()
  it('leaves no memory, no descriptor and no map', function()
    local name = path 'f.t7'
    local whole = torch.serialize { torch.DoubleStorage(1e6), torch.ByteStorage(1e6), 'x' }
    support.spit(name, whole:sub(1, -5))
    support.collect()
    local before, descriptors, maps = torch.memory(), support.descriptors(), support.mappings(name)
    for i = 1, 20 do
      assert.is_false((pcall(torch.load, name, { mmap = i % 2 == 0 })))
      assert.is_false((pcall(torch.deserialize, whole:sub(1, -5))))
    end
    support.collect()
    assert.same(before, torch.memory())
    assert.equal(descriptors, support.descriptors())
    assert.equal(maps, support.mappings(name))
  end)
end)
