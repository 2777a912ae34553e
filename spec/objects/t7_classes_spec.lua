-- Objects of classes that the program has registered: how they are loaded and saved, and how their methods use the file.
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'

local count = 0

-- A class with a name that no other test uses: its metatable, its name, and an instance.
local function class(parent)
  count = count + 1
  local name = ('t7_spec_%d'):format(count)
  local metatable = torch.class(name, parent)
  return metatable, name, function()
    return torch.factory(name)()
  end
end

local function round(object, mode)
  return (torch.deserialize(torch.serialize(object, mode), mode))
end

describe('an object of a registered class', function()
  it('is saved by its fields, and loaded with its metatable', function()
    local metatable, name, new = class()
    function metatable:sum()
      return self.a + self.b
    end
    local object = new()
    object.a, object.b, object.me, object.s = 2, 3, object, torch.IntStorage { 1 }
    local f = made.formats.b64
    assert.equal(f.head(1, name) .. f.int(made.TABLE, 2, 4), torch.serialize(object):sub(1, #f.head(1, name) + 12))
    for _, mode in ipairs { 'binary', 'ascii', 'b32' } do
      local back = round(object, mode)
      assert.equal(name, torch.typename(back))
      assert.is_false(torch.isRecord(back))
      assert.equal(5, back:sum())
      assert.equal(back, back.me)
      assert.same({ 1 }, back.s:totable())
    end
  end)

  it('whose class has a parent has the methods of both', function()
    local above, parent = class()
    function above.kind()
      return 'parent'
    end
    local _, name, new = class(parent)
    local back = round(new())
    assert.equal(name, torch.typename(back))
    assert.equal('parent', back.kind())
  end)

  it('is a record until the class is registered', function()
    local f = made.formats.b64
    local name = 't7_spec_later'
    local bytes = f.head(1, name) .. f.pairs(2, { f.string 'x', f.number(1) })
    assert.is_true(torch.isRecord(torch.deserialize(bytes)))
    torch.class(name)
    local back = torch.deserialize(bytes)
    assert.equal(name, torch.typename(back))
    assert.equal(1, back.x)
    assert.equal(bytes, torch.serialize(back))
  end)

  it('has its write and read methods called, with the file and the version', function()
    local metatable, name, new = class()
    local seen
    function metatable:write(file)
      file:writeInt(self.a)
      file:writeObject { self.b, self }
    end
    function metatable:read(file, version)
      self.a = file:readInt()
      local pair = file:readObject()
      self.b, self.me, seen = pair[1], pair[2], version
    end
    local object = new()
    object.a, object.b = -5, { 'b' }
    for _, format in ipairs { 'b64', 'b32', 'ascii' } do
      local f = made.formats[format]
      local bytes = torch.serialize({ object, object }, format)
      local inner = f.head(2, name)
        .. f.int(-5)
        .. f.table(3, { f.table(4, { f.string 'b' }), f.reference(made.TORCH, 2) })
      assert.equal(f.table(1, { inner, f.reference(made.TORCH, 2) }), bytes)
      local back = torch.deserialize(bytes, format)
      assert.equal(back[1], back[2])
      assert.equal(-5, back[1].a)
      assert.same({ 'b' }, back[1].b)
      assert.equal(back[1], back[1].me)
      assert.equal(1, seen)
    end
    for _, format in ipairs { 'big64', 'big32' } do
      local f = made.formats[format]
      local back = torch.deserialize(f.head(1, name, 7) .. f.int(9) .. f.pairs(2, {}))
      assert.equal(9, back.a)
      assert.equal(7, seen)
    end
  end)

  it('has __write and __read called, before write and read', function()
    local metatable, _, new = class()
    function metatable:__write(file)
      file:writeInt(self.a)
    end
    function metatable:__read(file)
      self.a = file:readInt()
    end
    function metatable.write()
      error 'write is called'
    end
    function metatable.read()
      error 'read is called'
    end
    local object = new()
    object.a = 6
    assert.equal(6, round(object).a)
  end)

  it('inherits write and read', function()
    local above, parent = class()
    function above:write(file)
      file:writeString 'abc'
      file:writeObject(self.x)
    end
    function above:read(file)
      assert.equal('abc', file:readString(3))
      self.x = file:readObject()
    end
    local _, _, new = class(parent)
    local object = new()
    object.x = 'value'
    assert.equal('value', round(object).x)
    assert.equal('value', round(object, 'ascii').x)
  end)

  it('is made by __factory, which may read from the file', function()
    local metatable, name = class()
    local instance = setmetatable({ n = 0 }, metatable)
    function metatable.__factory(file)
      return setmetatable({ n = file and file:readLong() or 0 }, metatable)
    end
    function metatable:write(file)
      file:writeLong(self.n)
    end
    function metatable.read() end
    instance.n = 77
    assert.equal(77, round(instance).n)
    assert.equal(77, round(instance, 'ascii').n)
    assert.equal(name, torch.typename(round(instance)))
  end)

  it('cannot be loaded if __factory returns nothing', function()
    local metatable, _, new = class()
    local bytes = torch.serialize { x = new() }
    function metatable.__factory() end
    assert.matches('x', support.failure(torch.deserialize, bytes), 1, true)
    metatable.__factory = 5
    support.failure(torch.deserialize, bytes)
  end)

  it('passes on the errors of its methods', function()
    local metatable, _, new = class()
    local bytes = torch.serialize { x = new() }
    function metatable.write()
      error 'no writing today'
    end
    assert.matches('no writing today', support.failure(torch.serialize, { x = new() }), 1, true)
    function metatable.read()
      error 'no reading today'
    end
    assert.matches('no reading today', support.failure(torch.deserialize, bytes), 1, true)
    -- An error that is not a string is passed on unchanged.
    local thrown = {}
    function metatable.write()
      error(thrown)
    end
    local ok, got = pcall(torch.serialize, new())
    assert.is_false(ok)
    assert.is_true(rawequal(got, thrown) or type(got) == 'string')
    metatable.write, metatable.read = nil, nil
    assert.equal(5, round(5)) -- nothing of it is left
  end)

  it('leaves the objects of other classes alone if it is a class of storages', function()
    local shorts = torch.getmetatable 'torch.ShortStorage'
    finally(function()
      shorts.write, shorts.read = nil, nil
    end)
    local written, read = 0, 0
    function shorts:write(file)
      written = written + 1
      file:writeInt(#self)
    end
    function shorts:read(file)
      read = read + 1
      self:resize(file:readInt()):fill(7)
    end
    local function mixed()
      local list = {}
      for i = 1, 4 do
        list[3 * i - 2] = torch.DoubleStorage { i }
        list[3 * i - 1] = torch.ShortStorage(i)
        list[3 * i] = torch.ShortStorage { i, i }:view(2)
      end
      return list
    end
    local back = round(mixed())
    for i = 1, 4 do
      assert.same({ i }, back[3 * i - 2]:totable())
      assert.equal(i, #back[3 * i - 1])
      assert.equal(7, back[3 * i - 1][i])
      assert.same({ 7, 7 }, back[3 * i]:totable())
    end
    assert.same({ 8, 8 }, { written, read })
    shorts.write, shorts.read = nil, nil
    assert.same({ 4, 4 }, round(mixed())[12]:totable())
  end)

  it('may serialize others while it is written and read', function()
    local metatable, _, new = class()
    function metatable:write(file)
      file:writeObject(torch.serialize { self.x })
    end
    function metatable:read(file)
      self.x = torch.deserialize(file:readObject())[1]
    end
    local object = new()
    object.x = { 1, { 2 } }
    assert.same({ 1, { 2 } }, round { object }[1].x)
  end)

  it('cannot use the file later, because it is closed', function()
    local metatable, _, new = class()
    local kept
    function metatable.write(_, file)
      kept = file
    end
    torch.serialize(new())
    local methods = { 'writeInt', 'writeObject', 'writeString', 'readInt', 'readObject', 'readString', 'position' }
    for _, name in ipairs(methods) do
      support.failure(function()
        return kept[name](kept, 1)
      end)
    end
    function metatable.read(_, file)
      kept = file
    end
    torch.deserialize(torch.serialize(new()))
    for _, name in ipairs(methods) do
      support.failure(function()
        return kept[name](kept, 1)
      end)
    end
  end)

  it('that contains itself many levels deep gives a round trip or an error, never a crash #slow', function()
    local metatable, _, new = class()
    function metatable:write(file)
      file:writeObject(self.inner)
    end
    function metatable:read(file)
      self.inner = file:readObject()
    end
    for _, depth in ipairs { 10, 60, 1000, 30000 } do
      local object = new()
      for _ = 1, depth do
        local outer = new()
        outer.inner = object
        object = outer
      end
      local ok, bytes = pcall(torch.serialize, object)
      assert.equal('string', type(bytes))
      assert.is_true(ok or depth > 60, bytes)
      local f = made.formats.b64
      local parts = {}
      for i = 1, depth do
        parts[i] = f.head(i, torch.typename(object))
      end
      local message
      ok, message = pcall(torch.deserialize, table.concat(parts) .. f.null)
      assert.is_true(ok or depth > 60 and type(message) == 'string', message)
    end
  end)

  -- The stack of a thread may be much smaller than that of the process: 1 MB, for example.
  it('without end is an error, even where the stack is small #process', function()
    local output, status = support.run(
      [[
        local torch = require 'torch'
        local metatable = torch.class 'Endless'
        function metatable:__init() end
        function metatable:write(file) file:writeInt(1) end
        local bytes = torch.serialize(Endless())
        function metatable:read() return torch.deserialize(bytes) end
        print(pcall(torch.deserialize, bytes))
        function metatable:write(file) file:writeObject(setmetatable({}, getmetatable(self))) end
        print(pcall(torch.serialize, Endless()))
        function metatable:write() torch.serialize(self) end
        print(pcall(torch.serialize, Endless()))
      ]],
      'ulimit -s 1024; ' .. support.interpreter
    )
    assert.equal(0, status, output)
    local _, refused = output:gsub('false\t', '')
    assert.equal(3, refused, output)
    assert.is_true(output:find 'C stack overflow' ~= nil or output:find 'more than 200 levels deep' ~= nil, output)
  end)
end)
