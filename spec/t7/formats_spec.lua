-- The format of a .t7 file: detected from its bytes, or given. Files with 4-byte longs and big-endian files are made by hand.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'
local tree = require 'spec.support.tree'
local types = require 'spec.support.types'

local EXPECTED = {
  b64 = { mode = 'binary', longsize = 8, byteorder = 'little' },
  b32 = { mode = 'binary', longsize = 4, byteorder = 'little' },
  big64 = { mode = 'binary', longsize = 8, byteorder = 'big' },
  big32 = { mode = 'binary', longsize = 4, byteorder = 'big' },
  ascii = { mode = 'ascii' },
}
local TOLD = { b64 = { 'binary', 'b64' }, b32 = { 'b32' }, ascii = { 'ascii' }, big64 = {}, big32 = {} }

local path = support.temporary()
local name

before_each(function()
  name = path 'f.t7'
end)

-- Objects that contain longs, which show the width. Each is a function (format) -> bytes, and the expected object.
local SAMPLES = {
  ['a storage'] = {
    function(f)
      return f.storage(1, 'Int', { 1, -2, 3 })
    end,
    function()
      return torch.IntStorage { 1, -2, 3 }
    end,
  },
  ['storages of all classes'] = {
    function(f)
      local objects = {}
      for i, T in ipairs(types.TORCH7) do
        objects[i] = f.storage(i + 1, T, { i, 2, 100 })
      end
      return f.table(1, objects)
    end,
    function()
      local objects = {}
      for i, T in ipairs(types.TORCH7) do
        objects[i] = torch[T .. 'Storage'] { i, 2, 100 }
      end
      return objects
    end,
  },
  ['a storage deep in tables, after numbers'] = {
    function(f)
      local numbers = {}
      for i = 1, 1000 do
        numbers[i] = f.number(i)
      end
      local storage = f.storage(3, 'Float', { 0.5, -1 })
      numbers[1001] = f.pairs(2, { f.string 'x', storage, f.string 'y', f.reference(made.TORCH, 3) })
      return f.table(1, numbers)
    end,
    function()
      local t, s = {}, torch.FloatStorage { 0.5, -1 }
      for i = 1, 1000 do
        t[i] = i
      end
      t[1001] = { x = s, y = s }
      return t
    end,
  },
  ['a large storage'] = {
    function(f)
      local values = {}
      for i = 1, 5000 do
        values[i] = i
      end
      return f.storage(1, 'Double', values)
    end,
    function()
      local s = torch.DoubleStorage(5000)
      for i = 1, 5000 do
        s[i] = i
      end
      return s
    end,
  },
  ['a tensor'] = {
    function(f)
      return f.tensor(1, 'torch.DoubleTensor', { 2, 3 }, { 3, 1 }, 1, f.storage(2, 'Double', { 1, 2, 3, 4, 5, 6 }))
    end,
    function()
      return torch.DoubleStorage({ 1, 2, 3, 4, 5, 6 }):view(2, 3)
    end,
  },
  ['an empty tensor and what comes after it'] = {
    function(f)
      return f.table(1, { f.tensor(2, 'torch.FloatTensor', {}, {}, 1, f.null), f.string 'end' })
    end,
    function()
      return { torch.FloatTensor(), 'end' }
    end,
  },
  ['an object with longs in a table'] = {
    function(f)
      return f.head(1, 'nn.Foo') .. f.table(2, { f.storage(3, 'Long', { 7, -7 }), f.storage(4, 'Byte', {}) })
    end,
    function()
      return torch.record {
        class = 'nn.Foo',
        version = 1,
        fields = { torch.LongStorage { 7, -7 }, torch.ByteStorage() },
      }
    end,
  },
}

-- Objects without longs: for these, 8 bytes is reported.
local WITHOUT = {
  ['nil'] = {
    function(f)
      return f.null
    end,
    nil,
  },
  ['a number'] = {
    function(f)
      return f.number(-0.1)
    end,
    -0.1,
  },
  ['a string'] = {
    function(f)
      return f.string 'hello'
    end,
    'hello',
  },
  ['false'] = {
    function(f)
      return f.boolean(false)
    end,
    false,
  },
  ['a table'] = {
    function(f)
      return f.pairs(1, { f.string 'x', f.number(1), f.boolean(true), f.pairs(2, {}) })
    end,
    { x = 1, [true] = {} },
  },
}

describe('the format', function()
  support.cases('of %s is detected', SAMPLES, function(sample)
    local wanted = tree(sample[2]())
    for _, format in ipairs(made.NAMES) do
      local bytes = sample[1](made.formats[format])
      support.spit(name, bytes)
      local object, info = torch.load(name, { info = true })
      assert.equal(wanted, tree(object), format)
      assert.same(EXPECTED[format], info)
      assert.equal(wanted, tree((torch.load(name))), format)
      assert.equal(wanted, tree((torch.load(name, { mmap = true }))), format .. ', mapped')
      assert.equal(wanted, tree((torch.deserialize(bytes))), format)
      assert.equal(wanted, tree((torch.deserializeFromStorage(torch.CharStorage.fromstring(bytes)))), format)
      for _, told in ipairs(TOLD[format]) do
        object, info = torch.load(name, { mode = told, info = true })
        assert.equal(wanted, tree(object), format .. ', told')
        assert.same(EXPECTED[format], info)
        assert.equal(wanted, tree((torch.deserialize(bytes, told))), format .. ', told')
      end
    end
  end)

  support.cases('of %s, which has no longs, is detected', WITHOUT, function(sample, kind)
    local wanted = tree(sample[2])
    for _, format in ipairs(made.NAMES) do
      local bytes = sample[1](made.formats[format])
      support.spit(name, bytes)
      local object, info = torch.load(name, { info = true })
      assert.equal(wanted, tree(object), format)
      assert.equal(EXPECTED[format].mode, info.mode)
      if kind ~= 'nil' and format ~= 'ascii' then -- all bytes of nil are 0
        assert.equal(EXPECTED[format].byteorder, info.byteorder)
      end
      assert.equal(wanted, tree((torch.deserialize(bytes))), format)
    end
  end)

  it('is detected with any bytes after the object', function()
    local sample = SAMPLES['storages of all classes']
    local wanted = tree(sample[2]())
    for _, format in ipairs(made.NAMES) do
      local bytes = sample[1](made.formats[format])
      for _, more in ipairs { '\0', '\n', '\0\0\0\0', ('\255'):rep(100), ('4\n1\n'):rep(10) } do
        -- 4-byte longs are detected by where the file ends. Where that is not known, they have to be given.
        if format == 'b32' then
          assert.equal(wanted, tree((torch.deserialize(bytes .. more, 'b32'))))
        elseif format ~= 'big32' then
          assert.equal(wanted, tree((torch.deserialize(bytes .. more))), format)
        end
      end
    end
  end)

  it('of an empty storage at the end of the file is detected from the bytes that are there', function()
    for _, format in ipairs(made.NAMES) do
      local bytes = made.formats[format].storage(1, 'Int', {})
      support.spit(name, bytes)
      local object, info = torch.load(name, { info = true })
      assert.equal(0, #object)
      assert.same(EXPECTED[format], info)
    end
  end)

  it('that is given wrongly is an error, or gives another object', function()
    for kind, sample in pairs(SAMPLES) do
      for _, format in ipairs(made.NAMES) do
        local bytes = sample[1](made.formats[format])
        for _, told in ipairs { 'binary', 'b32', 'b64', 'ascii' } do
          local right = false
          for _, mode in ipairs(TOLD[format]) do
            right = right or mode == told
          end
          if not right then
            local ok, got = pcall(torch.deserialize, bytes, told)
            if ok then
              assert.are_not.equal(tree(sample[2]()), tree(got), kind)
            else
              assert.matches('at byte %d+', got, 1, false, kind)
            end
          end
        end
      end
    end
  end)

  it('that cannot be detected is an error that lists the formats', function()
    for _, junk in ipairs {
      '',
      '\0',
      'junk',
      '%PDF-1.4',
      '\137PNG\r\n\26\n',
      ('\255'):rep(64),
      '{"a": 1}',
      '\9\0\0\0',
      '17\n',
    } do
      local message = support.failure(torch.deserialize, junk)
      assert.matches('cannot load', message, 1, true)
      support.spit(name, junk)
      assert.matches(name, support.failure(torch.load, name), 1, true)
    end
  end)
end)

describe('numbers in big-endian files', function()
  it('are reversed, for every width', function()
    local f = made.formats.big64
    local t = torch.deserialize(f.table(1, {
      f.storage(2, 'Short', { 258, -2 }),
      f.storage(3, 'Int', { 16909060, -2 }),
      f.storage(4, 'Long', { 2 ^ 40 + 1, -2 }),
      f.storage(5, 'Half', { 0.5, -65504 }),
      f.storage(6, 'Float', { 0.1, -1e30 }),
      f.storage(7, 'Double', { 0.1, -1e300 }),
      f.storage(8, 'Byte', { 1, 2, 3 }),
      f.number(0.1),
    }))
    assert.same({ 258, -2 }, t[1]:totable())
    assert.same({ 16909060, -2 }, t[2]:totable())
    assert.same({ 2 ^ 40 + 1, -2 }, t[3]:totable())
    assert.same({ 0.5, -65504 }, t[4]:totable())
    assert.is_true(t[5]:equal(torch.FloatStorage { 0.1, -1e30 }))
    assert.same({ 0.1, -1e300 }, t[6]:totable())
    assert.same({ 1, 2, 3 }, t[7]:totable())
    assert.equal(0.1, t[8])
  end)
end)
