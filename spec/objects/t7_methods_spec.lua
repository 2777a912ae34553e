-- The file that `read` and `write` of an object get: its methods. And storages whose own methods were replaced.
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'
local tree = require 'spec.support.tree'
local types = require 'spec.support.types'

local count = 0

-- A new class with methods of its own: its metatable, and a function that makes an instance.
local function class()
  count = count + 1
  local name = ('t7_methods_spec_%d'):format(count)
  local metatable = torch.class(name)
  return metatable, function()
    return torch.factory(name)()
  end
end

describe('the file that a method gets', function()
  -- Writes with one function and reads with another, in all formats. Returns what was read.
  local function through(write, read)
    local metatable, new = class()
    function metatable.write(_, file)
      write(file)
    end
    for _, mode in ipairs { 'binary', 'b32', 'ascii' } do
      local done
      function metatable.read(_, file)
        read(file)
        done = true
      end
      torch.deserialize(torch.serialize(new(), mode), mode)
      assert.is_true(done)
      metatable.read = nil
    end
  end

  it('writes and reads single numbers', function()
    through(function(file)
      for _, T in ipairs(types.TORCH7) do
        file['write' .. T](file, 100)
        file['write' .. T](file, T == 'Byte' and 255 or -1)
      end
      file:writeBool(true)
      file:writeBool(false)
      file:writeDouble(0.1)
    end, function(file)
      for _, T in ipairs(types.TORCH7) do
        assert.equal(100, file['read' .. T](file))
        assert.equal(T == 'Byte' and 255 or -1, file['read' .. T](file))
      end
      assert.is_true(file:readBool() == true)
      assert.is_true(file:readBool() == false)
      assert.equal(0.1, file:readDouble())
    end)
  end)

  it('writes and reads storages, without a length', function()
    through(function(file)
      for _, T in ipairs(types.TORCH7) do
        file['write' .. T](file, torch[T .. 'Storage'] { 1, 2, 3 })
      end
    end, function(file)
      for i, T in ipairs(types.TORCH7) do
        if i % 2 == 0 then
          local s = file['read' .. T](file, 3)
          assert.equal(('torch.%sStorage'):format(T), torch.typename(s))
          assert.same({ 1, 2, 3 }, s:totable())
        else
          local s = torch[T .. 'Storage'](3)
          assert.equal(3, file['read' .. T](file, s))
          assert.same({ 1, 2, 3 }, s:totable())
        end
      end
    end)
  end)

  it('writes and reads bytes, and returns its position', function()
    local first
    through(function(file)
      first = file:position()
      file:writeString 'a\0\n'
      file:writeString ''
      assert.is_true(file:position() > first)
    end, function(file)
      local before = file:position()
      assert.equal('a\0\n', file:readString(3))
      assert.equal('', file:readString(0))
      assert.is_true(file:position() >= before + 3)
    end)
  end)

  it('refuses invalid operations', function()
    local metatable, new = class()
    function metatable.write(_, file)
      for _, T in ipairs(types.TORCH7) do
        local other = torch[T == 'Int' and 'LongStorage' or 'IntStorage'](1)
        for _, bad in ipairs { 'x', true, {}, print, other } do
          support.failure(file['write' .. T], file, bad)
          support.failure(file['write' .. T], bad, 1)
        end
        support.failure(file['write' .. T])
        support.failure(file['write' .. T], file)
      end
      support.failure(file.writeString, file, {})
      support.failure(file.writeObject, file, print)
      support.failure(file.readInt, file)
      file:writeInt(1)
    end
    function metatable.read(_, file)
      for _, bad in ipairs { -1, 2 ^ 31, 2 ^ 62, 0 / 0, 1 / 0, 'x', {}, torch.LongStorage(1), 2 } do
        support.failure(file.readInt, file, bad)
      end
      for _, bad in ipairs { -1, 2 ^ 31, 2 ^ 62, 0 / 0, 5 } do
        support.failure(file.readString, file, bad)
      end
      support.failure(file.readInt, {})
      support.failure(file.readInt)
      support.failure(file.writeInt, file, 1)
      assert.equal(1, file:readInt())
      support.failure(file.readInt, file)
      support.failure(file.readObject, file)
    end
    torch.deserialize(torch.serialize(new()))
  end)
end)

describe('storages whose methods are replaced, as the threads package does,', function()
  local originals = {}

  before_each(function()
    for _, T in ipairs(types.TORCH7) do
      local name = ('torch.%sStorage'):format(T)
      local metatable = torch.getmetatable(name)
      originals[T] =
        { __factory = metatable.__factory, read = rawget(metatable, 'read'), write = rawget(metatable, 'write') }
      function metatable.__factory(file)
        return torch.pushudata(file:readLong(), name)
      end
      function metatable.write(self, file)
        file:writeLong(torch.pointer(self))
        self:retain()
      end
      function metatable.read() end
    end
  end)
  after_each(function()
    for T, original in pairs(originals) do
      local metatable = torch.getmetatable(('torch.%sStorage'):format(T))
      metatable.__factory, metatable.read, metatable.write = original.__factory, original.read, original.write
    end
  end)

  it('are passed as addresses, and are the same storages afterwards', function()
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage'] { 1, 2, 3 }
      local bytes = torch.serialize { s, s, x = { s } }
      local back = torch.deserialize(bytes)
      assert.is_true(back[1] == s and back[2] == s and back.x[1] == s)
      assert.equal(torch.pointer(s), torch.pointer(back[1]))
      s[1] = 42
      assert.equal(42, back[2][1])
      local f = made.formats.b64
      local name = ('torch.%sStorage'):format(T)
      assert.equal(f.head(1, name) .. f.long(torch.pointer(s)), torch.serialize(s))
      assert.is_true(torch.deserialize(torch.serialize(s)) == s)
      torch.deserialize(torch.serialize(s)) -- one more retain is released
    end
  end)

  it('are passed so inside tensors, too', function()
    local s = torch.FloatStorage { 1, 2, 3 }
    local tensor = s:view(3, 1)
    local back = torch.deserialize(torch.serialize(tensor))
    assert.is_true(back:storage() == s)
    assert.equal(tree(tensor), tree(back))
  end)

  it('are written as usual when the methods are restored', function()
    for T, original in pairs(originals) do
      local metatable = torch.getmetatable(('torch.%sStorage'):format(T))
      metatable.__factory, metatable.read, metatable.write = original.__factory, original.read, original.write
    end
    local s = torch.IntStorage { 1 }
    assert.equal(made.formats.b64.storage(1, 'Int', { 1 }), torch.serialize(s))
    assert.is_false(torch.deserialize(torch.serialize(s)) == s)
  end)
end)
