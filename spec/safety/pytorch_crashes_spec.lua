-- Code that crashes PyTorch, or makes it read freed memory, gives results or an error here.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

after_each(accessors.restore)

local function text(s)
  return support.joined(s:totable(), ' ')
end

describe('code that crashes PyTorch works or fails safely:', function()
  it('a slice whose parent is resized', function()
    accessors.each(function(_, class)
      local s = class { 1, 2, 3, 4 }
      local first = text(s:sub(2, 3))
      local slices =
        { s:sub(2, 3), s:view(class, class.elementSize(), 2), torch.frombuffer(s, { dtype = class }):sub(2, 3) }
      for _, size in ipairs { 10 ^ 6, 0, 10 ^ 5, 1 } do
        s:resize(size):fill(7)
        support.collect()
        for _, slice in ipairs(slices) do
          assert.equal(first, text(slice))
        end
      end
      slices[1][1] = 0
      assert.equal(0, slices[2][1])
    end)
  end)

  it('a slice whose parent is moved to shared memory', function()
    accessors.each(function(_, class)
      local s = class { 1, 2, 3, 4 }
      local slice, bytes = s:sub(2, 3), s:untyped()
      local before, first = bytes:string(), text(slice)
      s:shareMemory():fill(0)
      support.collect()
      assert.equal(first, text(slice))
      assert.equal(before, bytes:string())
      assert.equal('0 0 0 0', text(s))
      slice:fill(1)
      assert.equal('0 0 0 0', text(s))
    end)
  end)

  it('growing after moving to shared memory', function()
    local s = torch.IntStorage({ 1, 2 }):shareMemory()
    assert.is_false(s:resizable())
    for _, size in ipairs { 3, 10 ^ 6, 1, 0 } do
      support.fails('not resizable: the storage is shared memory', s.resize, s, size)
    end
    assert.equal('1 2', text(s))
    local bytes = torch.UntypedStorage(4):shareMemory()
    support.fails('not resizable', bytes.resize, bytes, 5)
  end)

  it('a count times a width that overflows', function()
    for _, T in ipairs(types.TORCH7) do
      local class, width = torch[T .. 'Storage'], types.WIDTH[T]
      for _, count in ipairs { 2 ^ 63 / width, 2 ^ 62, 2 ^ 61, 2 ^ 60 + 2 ^ 20, 2 ^ 61 + 2 ^ 10 } do
        support.fails('elements', torch.frombuffer, ('x'):rep(64), { dtype = class, count = count })
        support.fails('elements', torch.frombuffer, ('x'):rep(64), { dtype = class, count = count, offset = 8 })
        local s = torch.ByteStorage(64)
        support.fails('elements', s.view, s, class, 0, count)
        support.fails('elements', s.view, s, class, 8, count)
        assert.is_false((pcall(class, count)))
      end
    end
  end)

  it('overlapping copies', function()
    accessors.each(function(T, class)
      local s = class(50000)
      for i = 1, #s do
        s[i] = i % 100
      end
      for _, ends in ipairs { { 1, 2 }, { 2, 1 }, { 1, 9 }, { 9, 1 } } do
        local t = s:clone()
        local to, from = t:sub(ends[1], ends[1] + 49990), t:sub(ends[2], ends[2] + 49990)
        local expected = from:clone()
        to:copy(from)
        assert.is_true(to:equal(expected), T)
        local u = s:clone()
        local bytes = s:nbytes() - 10
        local target, source = u:view('uint8', ends[1], bytes), u:view('uint8', ends[2], bytes)
        expected = source:clone()
        target:untyped():copy(source:untyped())
        assert.is_true(target:equal(expected), T)
      end
    end)
    -- Storages of two classes over the same bytes.
    local s = torch.ByteStorage(800)
    for i = 1, 100 do
      s[i] = i
    end
    local wide = s:view 'double'
    wide:copy(s:sub(1, 100))
    for i = 1, 100 do
      assert.equal(i, wide[i])
    end
    s:sub(1, 100):copy(wide)
    assert.equal(100, s[100])
  end)

  it('del s[i], written s[i] = nil', function()
    accessors.each(function(_, class)
      local s = class { 1, 0 }
      support.fails('expected, got nil', function()
        s[1] = nil
      end)
      assert.equal('1 0', text(s))
    end)
    support.fails('number expected, got nil', function()
      torch.UntypedStorage(3)[1] = nil
    end)
  end)

  it('a buffer that its owner resizes', function()
    -- A storage as the buffer: the memory stays with its views.
    local s = torch.IntStorage { 1, 2, 3 }
    local v = torch.frombuffer(s, { dtype = 'int32' })
    s:resize(10 ^ 6)
    support.collect()
    assert.equal('1 2 3', text(v))
    -- An object that offers a view of a storage promises that the memory stays, and holds the view.
    local memory = torch.IntStorage { 1, 2, 3 }
    local object = setmetatable({}, {
      __buffer = function(self)
        self.shown = memory:sub(1)
        return torch.buffer(self.shown)
      end,
    })
    local w = torch.frombuffer(object, { dtype = 'int32' })
    memory:resize(10 ^ 6):fill(9)
    object = nil -- luacheck: ignore
    support.collect()
    assert.equal('1 2 3', text(w))
    -- A string does not change, and an FFI array does not move.
  end)

  it('a view of a buffer whose storage was freed', function()
    for _ = 1, 100 do
      local s = torch.frombuffer(('x'):rep(10000) .. math.random())
      local v = s:view('uint8', 1, 9999)
      s:free()
      support.collect()
      assert.equal('xxx', v:string(1, 3))
    end
  end)
end)
