-- Programs that do everything to .t7 files: any number of arguments, classes that fail, free and close, tables that lead back
-- to themselves. An error is right, a wrong object is not. Hooks, finalizers and the debug library are in t7_meddling_spec.lua.
local torch = require 'torch'
local core = require 'torch.core'
local support = require 'spec.support'

local path = support.temporary()

-- Makes a class for one test with these methods. Returns an object of it, and the class.
local classes = 0
local function object_of(ways)
  classes = classes + 1
  local class = torch.newmetatable('T7Soundness' .. classes)
  class.read, class.write = ways.read, ways.write
  function class.__factory()
    return setmetatable({}, class)
  end
  return class.__factory(), class
end

local function back(object, ...)
  return torch.deserialize(torch.serialize(object, ...))
end

local function int(n)
  return string.char(n % 256, math.floor(n / 256) % 256, math.floor(n / 65536) % 256, 0)
end

-- The numbers that classes wrote before each object; the header with V 1 and the class name appears only the first time.
local function times(bytes, class)
  return select(2, bytes:gsub(class:gsub('%p', '%%%0'), ''))
end

describe('the methods of a file', function()
  it('take any number of arguments', function()
    -- In a child process: too many arguments were once written beyond the stack.
    local output = support.child [[
      local torch = require 'torch'
      local class = torch.newmetatable 'A'
      local many = {}
      for i = 1, 6000 do many[i] = i end
      function class:write(file)
        for _, count in ipairs { 17, 20, 45, 200, 6000 } do
          coroutine.wrap(function()
            pcall(file.writeInt, file, unpack(many, 1, count))
            pcall(file.writeObject, file, unpack(many, 1, count))
            pcall(file.writeString, file, unpack(many, 1, count))
          end)()
        end
      end
      function class:read(file)
        for _, count in ipairs { 17, 20, 45, 200, 6000 } do
          coroutine.wrap(function()
            pcall(file.readInt, file, nil, unpack(many, 1, count))
            pcall(file.readObject, file, unpack(many, 1, count))
            pcall(file.readString, file, unpack(many, 1, count))
          end)()
        end
      end
      class.__factory = function() return setmetatable({}, class) end
      torch.deserialize(torch.serialize(class.__factory()))
      print 'fine'
    ]]
    assert.equal('fine', output)
  end)

  it('appear by name in errors about their arguments', function()
    local message
    local object = object_of {
      read = function(_, file)
        message = support.failure(function()
          file:readString {}
        end)
      end,
      write = function() end,
    }
    back(object)
    assert.matches(
      "spec/safety/t7_soundness_spec.lua:%d+: bad argument #1 to 'readString' %(number expected, got table%)",
      message
    )
  end)

  it('take storages of their own class only', function()
    local messages = {}
    local object = object_of {
      write = function(_, file)
        messages[1] = support.failure(function()
          file:writeInt(torch.FloatStorage(2))
        end)
      end,
      read = function(_, file)
        messages[2] = support.failure(function()
          file:readInt(torch.FloatStorage(0))
        end)
      end,
    }
    back(object)
    assert.matches("'writeInt' (torch.IntStorage expected, got torch.FloatStorage", messages[1], 1, true)
    assert.matches("'readInt' (torch.IntStorage expected, got torch.FloatStorage", messages[2], 1, true)
  end)

  it('end when a progress function resizes the storage that they read or write', function()
    -- More than one piece. The function runs between two pieces.
    local size = 20 * 2 ^ 20
    local s = torch.ByteStorage(size)
    local object = object_of {
      write = function(_, file)
        file:writeByte(s)
      end,
      read = function(_, file)
        file:readByte(s)
      end,
    }
    local options = {
      progress = function(done)
        if done > 2 ^ 20 then
          s:resize(1)
        end
      end,
    }
    local changed = 'a hook or a finalizer has changed the size of the storage in the middle of the operation'
    local bytes = torch.serialize(object)
    assert.matches(changed, support.failure(torch.serialize, object, options), 1, true)
    s:resize(size)
    assert.matches(changed, support.failure(torch.deserialize, bytes, options), 1, true)
  end)

  it('continue at their position after an error that was caught', function()
    local paths = {}
    local object, class = object_of {
      write = function(_, file)
        file:writeInt(3)
        file:writeInt(7)
        file:writeInt(1)
        file:writeInt(9)
      end,
    }
    object = { outer = object }
    function class.read(_, file)
      local _, first = pcall(file.readObject, file) -- a table of one pair, whose key begins with 9
      local _, second = pcall(file.readString, file, 1e6)
      paths[1], paths[2] = first, second
    end
    back(object)
    assert.matches('%(outer%): 1 pair is announced', paths[1])
    assert.matches('%(outer%): ', paths[2])
  end)
end)

describe('errors of a class', function()
  local function loading(read)
    local object, class = object_of { write = function() end }
    local bytes = torch.serialize(object)
    class.read = read
    return select(2, pcall(torch.deserialize, bytes))
  end

  it('pass through unchanged, also after an error of the file was caught', function()
    local thrown = { code = 1 }
    for _, value in ipairs { thrown, 'mine', false } do
      assert.equal(
        value,
        loading(function(_, file)
          pcall(file.readString, file, 1e6)
          error(value, 0)
        end)
      )
    end
  end)

  it('that come from the file name the object being loaded', function()
    local message = loading(function(_, file)
      file:readString(1e6)
    end)
    assert.matches(
      'cannot load the string: spec/safety/t7_soundness_spec.lua:%d+: at byte %d+: 1000000 bytes are announced',
      message
    )
  end)

  it('come after the name of the file if the file raised them', function()
    support.spit(path 'x', '\2\0\0\0\255\0\0\0')
    assert.matches(
      "spec/safety/t7_soundness_spec.lua:%d+: cannot load '" .. path 'x' .. "': at byte 4",
      support.failure(function()
        torch.load(path 'x')
      end)
    )
  end)

  it('have the position of the caller, also with a progress function', function()
    local message = support.failure(function()
      torch.serialize({ print }, { progress = function() end })
    end)
    assert.matches('^spec/safety/t7_soundness_spec.lua:%d+: cannot save <function> at 1', message)
  end)

  it('and yields close the file', function()
    local before = support.descriptors()
    local object, class = object_of { write = coroutine.yield, read = coroutine.yield }
    local saved, message = coroutine.wrap(function()
      return pcall(torch.save, path 'x', { object })
    end)()
    assert.is_false(saved)
    assert.matches('yield', message)
    function class.write() end
    torch.save(path 'x', { object })
    assert.is_false((coroutine.wrap(function()
      return pcall(torch.load, path 'x')
    end)()))
    assert.equal(before, support.descriptors())
    assert.equal('x', support.sh('ls -A ' .. path()))
  end)

  it('leave no descriptor and no file, a thousand of them, without the collector', function()
    local object, class = object_of {
      write = function(_, file)
        file:writeInt(1)
        error 'no'
      end,
      read = function()
        error 'no'
      end,
    }
    local write = class.write
    class.write = function() end
    torch.save(path 'x', { torch.IntStorage(10), object })
    class.write = write
    local before, maps = support.descriptors(), support.mappings()
    collectgarbage 'stop'
    for _ = 1, 1000 do
      pcall(torch.load, path 'x')
      pcall(torch.save, path 'y', { object })
      pcall(torch.load, path 'missing')
    end
    local after = support.descriptors()
    collectgarbage 'restart'
    assert.equal(before, after)
    assert.equal('x', support.sh('ls -A ' .. path()))
    for _ = 1, 100 do
      pcall(torch.load, path 'x', { mmap = true })
    end
    support.collect()
    assert.is_true(support.mappings() <= maps + 20)
  end)
end)

describe('storages', function()
  it('that a class frees after writing them are not confused with later ones', function()
    local object = object_of {
      write = function(_, file)
        for i = 1, 20 do
          local storage = torch.IntStorage { i, i }
          file:writeObject(storage)
          storage:free()
        end
      end,
      read = function(own, file)
        for i = 1, 20 do
          own[i] = file:readObject()
        end
      end,
    }
    local loaded = back(object)
    for i = 1, 20 do
      assert.same({ i, i }, loaded[i]:totable())
    end
  end)

  it('can appear both as themselves and as CUDA storages, shared among each kind', function()
    local s = torch.FloatStorage { 1, 2 }
    local function cuda(name)
      return torch.record { class = name, storage = s }
    end
    local list = { cuda 'torch.CudaStorage', s, cuda 'torch.CudaFloatStorage', s, cuda 'torch.CudaStorage' }
    local bytes = torch.serialize(list)
    assert.equal(1, times(bytes, 'torch.FloatStorage'))
    assert.equal(1, times(bytes, 'torch.CudaStorage'))
    local loaded = torch.deserialize(bytes)
    assert.equal('torch.CudaStorage', loaded[1].class)
    assert.equal('torch.FloatStorage', torch.type(loaded[2]))
    assert.equal('torch.CudaFloatStorage', loaded[3].class)
    assert.equal(loaded[2], loaded[4])
    assert.equal(loaded[1], loaded[5])
  end)

  it('of a class with its own methods get no more memory than the file has elements', function()
    local class = torch.getmetatable 'torch.ShortStorage'
    local factory = class.__factory
    finally(function()
      class.__factory = factory
    end)
    function class.__factory()
      return torch.ShortStorage()
    end
    local storage = torch.ShortStorage { 1, 2, 3 }
    assert.same({ 1, 2, 3 }, back(storage):totable())
    local bytes = torch.serialize(storage)
    local _, last = bytes:find('ShortStorage', 1, true)
    bytes = bytes:sub(1, last) .. int(3) .. int(3) .. bytes:sub(last + 9)
    support.fails('12884901891 elements are announced', torch.deserialize, bytes, 'binary')
  end)
end)

describe('tables with keeporder', function()
  -- { a = 1, a = 1 }
  local twice = int(3) .. int(1) .. int(2) .. (int(2) .. int(1) .. 'a' .. int(5) .. int(1)):rep(2)

  it('lose no key after a key appeared twice', function()
    local loaded = torch.deserialize(twice, { keeporder = true })
    loaded.b = 2
    assert.same({ a = true, b = 2 }, back(loaded))
  end)

  it('are collected when their keys refer back to them', function()
    local key = {}
    local bytes = torch.serialize { [key] = 1, x = { 2 } }
    local alive = setmetatable({}, { __mode = 'k' })
    for _ = 1, 5 do
      local loaded = torch.deserialize(bytes, { keeporder = true })
      for k in pairs(loaded) do
        if type(k) == 'table' then
          k.back = loaded
        end
      end
      alive[loaded] = true
    end
    support.collect()
    assert.is_nil(next(alive))
  end)
end)

describe('records', function()
  it('have versions that are read back as versions', function()
    for _, version in ipairs { 0, 1, 2, 1.5, 1e300, '01', '0x10' } do
      local loaded = back(torch.record { class = 'q', version = version, fields = {} })
      assert.same({ 'q', version }, { loaded.class, loaded.version })
    end
    for _, version in ipairs { 'x', '', ' 1', '1 ', '1\n', true, {} } do
      support.fails('version', torch.record, { class = 'q', version = version, fields = {} })
    end
    support.fails('be read as a version', torch.record, { class = 'V 3', version = 0, fields = {} })
    assert.equal('V 3', back(torch.record { class = 'V 3', version = 1, fields = {} }).class)
  end)

  it('have an offset that is a whole number of elements', function()
    for _, offset in ipairs { 1 / 0, -1 / 0, 0 / 0, 2 ^ 63, 1.5 } do
      support.fails('offset in the record', torch.record, {
        class = 'torch.CudaIntTensor',
        storage = torch.IntStorage(1),
        size = { 1 },
        stride = { 1 },
        offset = offset,
      })
    end
  end)

  it('of tensors that exceed their storage raise the error with their path', function()
    local s = torch.IntStorage(4)
    local record = torch.record { class = 'torch.CudaIntTensor', storage = s, size = { 4 }, stride = { 1 }, offset = 1 }
    local bytes = torch.serialize({ x = record }, 'ascii')
    support.fails(
      '(x.storage): the tensor of 4 with strides 1 uses elements 1 to 4 of its storage, which has 3',
      torch.deserialize,
      (bytes:gsub('\n4\n0 0 0 0\n', '\n3\n0 0 0\n'))
    )
    s:resize(3)
    support.fails(
      'cannot save a record at x: the tensor of 4 with strides 1 uses elements 1 to 4 of its storage, which has 3',
      torch.serialize,
      { x = record }
    )
    support.fails(
      "bad argument #1 to 'contiguous' (the tensor of 4 with strides 1 uses elements",
      torch.contiguous,
      record
    )
  end)

  it('of tensors have at most 64 dimensions', function()
    local s = torch.IntStorage(1000):fill(3)
    s[7] = 8
    local function contiguous(dimensions)
      local size, stride = { 1000 }, { 1 }
      for i = 2, dimensions do
        size[i], stride[i] = 1, 5
      end
      return torch.contiguous { class = 'torch.CudaIntTensor', storage = s, size = size, stride = stride, offset = 1 }
    end
    assert.same(s:totable(), contiguous(64):totable())
    support.fails('at most 64 dimensions', contiguous, 65)
    support.fails('at most 64 dimensions', contiguous, 20000)
  end)
end)

describe('options', function()
  it('have one name each', function()
    support.fails("no option 'mode referenced'", torch.serialize, {}, { ['mode referenced'] = true })
  end)
end)

describe('the functions of torch.core', function()
  it('refuse an invalid object', function()
    local records = require 'torch.records'
    local function nothing() end
    local bytes = torch.serialize(torch.record { class = 'a', fields = {} })
    core.setrecords(nothing, records.save_record, records.overridden, {}, {})
    local messages = {}
    for i = 1, 10 do
      messages[i] = select(2, pcall(torch.deserialize, bytes))
    end
    core.setrecords(
      records.load_record,
      records.save_record,
      records.overridden,
      setmetatable({}, { __mode = 'k' }),
      { __mode = 'v' }
    )
    for i = 1, 10 do
      assert.matches('the loading function of the class gave no object', messages[i], 1, true)
    end
    assert.equal('a', torch.deserialize(bytes).class)
  end)
end)
