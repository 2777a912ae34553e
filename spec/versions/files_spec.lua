-- Numbers in files on every Lua: those of .t7 files are doubles, and sizes that files tell are integers.
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()

-- Makes a test that needs the integers of Lua 5.3. Before, it is skipped.
local function with_integers(title, f)
  it(title, function()
    if not support.has_integers then
      support.skip(f, 'numbers are floats before Lua 5.3')
    end
    f()
  end)
end

local MODES = { 'binary', 'ascii' }

-- What the values are after they were saved and loaded.
local function loaded(value, mode)
  return torch.deserialize(torch.serialize(value, mode), mode)
end

local function subtype(value)
  return math.type and math.type(value) or value % 1 == 0 and 'integer' or 'float'
end

describe('a number in a .t7 file', function()
  it('is loaded with the same value, and as an integer if it is whole', function()
    local whole = { 0, 1, -1, 255, -256, 3000000000, -3000000000, 2 ^ 31, 2 ^ 32, 2 ^ 52, 2 ^ 53 - 1, 2 ^ 53, -2 ^ 53 }
    for _, mode in ipairs(MODES) do
      for _, number in ipairs(whole) do
        local got = loaded(number, mode)
        assert.is_true(got == number)
        assert.equal('integer', subtype(got))
        assert.equal(number, loaded({ a = { number } }, mode).a[1])
        assert.equal('x', loaded({ [number] = 'x' }, mode)[number])
      end
      for _, number in ipairs {
        0.5,
        -1.5,
        1e300,
        -1e300,
        2 ^ 53 + 2,
        2 ^ 60,
        -2 ^ 60,
        2 ^ 63,
        5e-324,
        math.huge,
        -math.huge,
      } do
        local got = loaded(number, mode)
        assert.is_true(got == number)
        assert.equal(support.has_integers and 'float' or subtype(number), subtype(got))
      end
      local nan = loaded(0 / 0, mode)
      assert.is_true(nan ~= nan)
    end
  end)

  it('is -0.0 if it was', function()
    for _, mode in ipairs(MODES) do
      local got = loaded(-0.0 * 1, mode)
      assert.is_true(got == 0)
      assert.equal(1 / (-0.0 * 1), 1 / got)
      if support.has_integers then
        assert.equal('float', math.type(loaded(-0.0, mode)))
        assert.equal('integer', math.type(loaded(0.0, mode)))
      end
    end
  end)

  with_integers('is an error if it is an integer that no double holds, and the error names it', function()
    local texts = { 'math.maxinteger', '(1 << 53) + 1', '-(1 << 53) - 1', 'math.mininteger + 1', '(1 << 62) + 1' }
    for _, text in ipairs(texts) do
      local number = assert(loadstring('return ' .. text))()
      local file = path 'kept.t7'
      torch.save(file, { 'old' })
      for _, mode in ipairs(MODES) do
        support.fails(('%d'):format(number), torch.serialize, number, mode)
        support.fails(('at a.1: numbers in a .t7 file are doubles, and a double rounds %d'):format(number), function()
          torch.serialize({ a = { number } }, mode)
        end)
        support.fails(('%d'):format(number), torch.serialize, { [number] = 1 }, mode)
        support.fails(('%d'):format(number), torch.save, file, { 'new', number }, mode)
      end
      -- The old file stays.
      assert.equal('old', torch.load(file)[1])
      -- The ways that the error tells.
      assert.equal(('%d'):format(number), loaded(('%d'):format(number), 'binary'))
      assert.equal(number, loaded(torch.LongStorage { number }, 'ascii')[1])
    end
  end)

  with_integers('may be a large integer that a double holds; it is loaded as a float', function()
    for _, text in ipairs { '1 << 53', '1 << 60', 'math.mininteger', '-(1 << 54)' } do
      local number = assert(loadstring('return ' .. text))()
      for _, mode in ipairs(MODES) do
        assert.is_true(loaded(number, mode) == number)
        assert.equal('x', loaded({ [number] = 'x' }, mode)[number])
      end
    end
  end)

  it('is a key that finds its value', function()
    local keys = { [1] = 'a', [2] = 'b', [2.5] = 'c', [-1] = 'd', [2 ^ 40] = 'e', [0] = 'f' }
    for _, mode in ipairs(MODES) do
      local got = loaded(keys, mode)
      assert.same(keys, got)
      assert.equal(2, #got)
      assert.equal('b', got[2.0])
    end
  end)
end)

describe('a storage in a .t7 file', function()
  it('keeps all bits of its integers', function()
    local s = torch.LongStorage { '9223372036854775807', '-9223372036854775808', '9007199254740993', '-1' }
    for _, mode in ipairs(MODES) do
      local got = loaded({ s, s }, mode)
      assert.is_true(got[1]:equal(s))
      assert.is_true(got[1] == got[2])
      local tensor = loaded(torch.LongTensor(s, 1, 2, 2, 2, 1), mode)
      assert.is_true(tensor:storage():equal(s))
      for n = 1, 2 do
        assert.equal('integer', subtype(tensor:size(n)))
        assert.equal('integer', subtype(tensor:stride(n)))
      end
    end
  end)
end)

describe('the file formats', function()
  it('tell sizes as integers', function()
    local x = torch.LongTensor(2, 3):fill(7)
    local file = path 'x.safetensors'
    torch.safetensors.save(file, { x = x })
    local opened = torch.safetensors.open(file)
    local info = opened:info 'x'
    assert.equal('2x3', table.concat(info.shape, 'x'))
    assert.equal(48, info.bytes)
    for _, value in ipairs { info.bytes, info.shape[1], info.shape[2], #opened, opened:get('x'):get(1, 1) } do
      assert.equal('integer', subtype(value))
      assert.is_nil(tostring(value):find('.', 1, true))
    end
    opened:close()
    local reports = {}
    torch.npy.save(path 'x.npy', x, {
      progress = function(done, total)
        reports[#reports + 1] = { done, total }
      end,
    })
    local got = torch.npy.load(path 'x.npy', {
      progress = function(done, total)
        reports[#reports + 1] = { done, total }
      end,
    })
    assert.is_true(#reports >= 2)
    for _, report in ipairs(reports) do
      assert.equal('integer', subtype(report[1]))
      assert.equal('integer', subtype(report[2]))
    end
    assert.equal('integer', subtype(got:size(1)))
  end)

  it('keep all bits of integers', function()
    local x = torch.UInt64Tensor(torch.UInt64Storage { '18446744073709551615', '9007199254740993' }, 1, 2, 1)
    torch.npy.save(path 'x.npy', x)
    torch.npz.save(path 'x.npz', { x = x })
    torch.safetensors.save(path 'x.safetensors', { x = x })
    for _, got in ipairs {
      torch.npy.load(path 'x.npy'),
      torch.npz.load(path 'x.npz').x,
      torch.safetensors.load(path 'x.safetensors').x,
    } do
      assert.equal('18446744073709551615', got:storage():decimal(got:storageOffset()))
      assert.is_true(got:equal(x))
      if support.has_integers then
        assert.equal(-1, got:get(1))
      end
    end
  end)
end)
