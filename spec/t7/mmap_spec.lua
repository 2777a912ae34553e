-- torch.load with mmap=true: the storages of a binary file are parts of a private map of it.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'
local tree = require 'spec.support.tree'
local types = require 'spec.support.types'

local path = support.temporary()
local name

before_each(function()
  name = path 'f.t7'
end)

local function load(options)
  options = options or {}
  options.mmap = true
  return (torch.load(name, options))
end

describe('a mapped file', function()
  it('has the same contents, for any alignment of its elements', function()
    for shift = 0, 8 do
      local object = { ('x'):rep(shift) }
      for i, T in ipairs(types.TORCH7) do
        local s = torch[T .. 'Storage'](100)
        for n = 1, 100 do
          s[n] = n + i
        end
        object[T] = s
      end
      torch.save(name, object)
      local back = load()
      assert.equal(tree(object), tree(back))
      for i, T in ipairs(types.TORCH7) do
        local s = back[T]
        assert.is_true(s:isMapped())
        s[7] = 99
        assert.equal(99, s[7])
        assert.equal(8 + i, s[8])
        assert.is_true(s:clone():equal(s))
        local doubles = torch.DoubleStorage(100):copy(s)
        assert.equal(99, doubles[7])
        assert.equal(100 + i, doubles[100])
        s:fill(3)
        assert.equal(3, s[100])
      end
      assert.equal(torch.serialize(object), support.slurp(name)) -- the same object gives the same order of keys
    end
  end)

  it('is not changed by writes to the storages: copy on write', function()
    torch.save(name, { torch.IntStorage(1e5):fill(1), torch.ByteStorage { 1, 2 } })
    local bytes = support.slurp(name)
    local first, second = load(), load()
    first[1]:fill(2)
    first[2][1] = 9
    assert.equal(bytes, support.slurp(name))
    assert.equal(1, second[1][5])
    assert.equal(1, second[2][1])
    assert.equal(2, first[1][1e5])
    assert.equal(2, first[2][2])
  end)

  it('remains when the file is removed or replaced, and the object is gone', function()
    torch.save(name, { torch.IntStorage(1e5):fill(5), other = torch.FloatStorage { 1 } })
    local kept = load()[1]
    os.remove(name)
    torch.save(name, 'another')
    support.collect()
    assert.equal(5, kept[1])
    assert.equal(5, kept[1e5])
    local map = support.mappings(name:gsub('%p', '%%%0') .. ' %(deleted%)')
    assert.is_true(map >= 1)
    kept = nil -- luacheck: ignore
    support.collect()
    support.collect() -- storages that were loaded before the end of the file are parts of the map
    assert.equal(0, support.mappings(name:gsub('%p', '%%%0')))
  end)

  it('keeps shared objects and shared storages of tensors shared', function()
    local s = torch.DoubleStorage { 1, 2, 3, 4 }
    local tensor = s:view(2, 2)
    torch.save(name, { s, s, tensor, tensor[2] })
    local back = load()
    assert.is_true(rawequal(back[1], back[2]))
    assert.is_true(back[1] == back[3]:storage() and back[1] == back[4]:storage())
    back[1][3] = 30
    assert.same({ 30, 4 }, { back[4]:get(1), back[4]:get(2) })
    assert.same({ 1, 2, 30, 4 }, { back[3]:get(1, 1), back[3]:get(1, 2), back[3]:get(2, 1), back[3]:get(2, 2) })
    back[3]:set(2, 2, 40)
    assert.equal(40, back[4]:get(2))
    assert.equal(4, load()[4]:get(2))
  end)

  it('counts in torch.memory as mapped, and is released', function()
    torch.save(name, { torch.DoubleStorage(1e5), torch.DoubleStorage(1e5) })
    support.collect()
    local before = torch.memory()
    local object = load()
    assert.is_true(torch.memory().mapped - before.mapped >= 16e5)
    assert.equal(before.heap, torch.memory().heap)
    assert.equal(800000, object[2]:nbytes())
    object = nil -- luacheck: ignore
    support.collect()
    assert.same(before, torch.memory())
  end)

  it('cannot be resized, like other maps, but a clone can', function()
    torch.save(name, torch.IntStorage { 1, 2, 3 })
    local s = load()
    assert.is_false(s:resizable())
    assert.is_false((pcall(s.resize, s, 5)))
    assert.same({ 1, 2, 3, 0 }, s:clone():resize(4):totable())
  end)

  it('may have empty storages, or none', function()
    for _, object in ipairs { torch.IntStorage(), { torch.DoubleStorage(), {} }, 'x', 5, { a = { 1 } }, true } do
      torch.save(name, object)
      assert.equal(tree(object), tree(load()))
    end
    torch.save(name, nil)
    assert.is_nil(load())
  end)

  it('is loaded without a map if it is text or has the other byte order', function()
    torch.save(name, { torch.IntStorage { 1, 2 }, torch.CharStorage { 3 } }, 'ascii')
    assert.same({ 1, 2 }, load()[1]:totable())
    for _, format in ipairs { 'big64', 'big32', 'b32' } do
      local f = made.formats[format]
      local longs = f.storage(3, 'Long', { -5, 6 })
      local bytes = f.table(1, { f.storage(2, 'Short', { 258, -2 }), longs, f.storage(4, 'Byte', { 7 }) })
      support.spit(name, bytes)
      local back = load()
      assert.same({ 258, -2 }, back[1]:totable())
      assert.same({ -5, 6 }, back[2]:totable())
      assert.same({ 7 }, back[3]:totable())
      back[1][1], back[2][1], back[3][1] = 1, 1, 1
      assert.equal(bytes, support.slurp(name))
    end
  end)

  it('that is truncated is an error before any element is accessed', function()
    torch.save(name, { torch.DoubleStorage(1e4), 'x' })
    local bytes = support.slurp(name)
    for _, size in ipairs { 0, 1, 4, 100, 40000, #bytes - 5, #bytes - 1 } do
      support.spit(name, bytes:sub(1, size))
      assert.matches('cannot load', support.failure(load), 1, true)
    end
    support.collect() -- of storages that came before the end
    assert.equal(0, support.mappings(name:gsub('%p', '%%%0')))
  end)

  it('of many storages is one map, and each storage is freed separately', function()
    local object = {}
    for i = 1, 2000 do
      object[i] = torch.IntStorage(10):fill(i)
    end
    torch.save(name, object)
    local back = load()
    assert.is_true(support.mappings(name:gsub('%p', '%%%0')) < 20)
    for i = 1, 2000 do
      assert.equal(i, back[i][10])
      if i % 2 == 0 then
        back[i]:free()
      end
    end
    assert.equal(1999, back[1999][1])
  end)

  -- 2 GiB of zeros: a hole in the file.
  local function sparse()
    local f = made.formats.b64
    local elements = 2 ^ 28
    local head = f.int(made.TABLE, 1, 2) .. f.number(1) .. f.head(2, 'torch.DoubleStorage') .. f.long(elements)
    local tail = f.number(2) .. f.string 'end'
    support.spit(name, head)
    -- PUC Lua does not seek beyond 2^31 on Windows.
    support.sh(('truncate -s %.0f %s'):format(#head + 8 * elements - 8, name))
    local file = assert(io.open(name, 'ab'))
    file:write(torch.DoubleStorage({ 0.5 }):string(), tail)
    file:close()
    return elements
  end

  it('of 2 GiB opens at once and takes no memory', function()
    local elements = sparse()
    local before, started = support.resident(), os.clock()
    local object = load()
    assert.is_true(os.clock() - started < 0.5, os.clock() - started)
    assert.equal('end', object[2])
    assert.equal(elements, #object[1])
    assert.equal(0.5, object[1][elements])
    assert.equal(0, object[1][elements / 2])
    object[1][elements / 2] = 7
    assert.equal(7, object[1][elements / 2])
    assert.is_true(support.resident() - before < 20e6, support.resident() - before)
    object = nil -- luacheck: ignore
    support.collect()
  end)
end)
