-- Objects that are deep, wide or numerous: nesting uses no C stack, and the time per reference stays constant.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local made = require 'spec.support.made'

local MODES = { 'binary', 'ascii', 'b32' }

local function round(object, mode)
  return (torch.deserialize(torch.serialize(object, mode), mode))
end

describe('deep nesting #large', function()
  it('of 1e5 tables can be written and read', function()
    local depth = 1e5
    local object = { 'innermost' }
    for _ = 2, depth do
      object = { object }
    end
    for _, mode in ipairs(MODES) do
      local back, count = round(object, mode), 1
      while type(back[1]) == 'table' do
        back, count = back[1], count + 1
      end
      assert.equal(depth, count)
      assert.equal('innermost', back[1])
    end
  end)

  it('of 1e5 tables as keys of each other can be written and read', function()
    local depth = 1e5
    local object = {}
    for _ = 2, depth do
      object = { [object] = true }
    end
    local back, count = round(object), 1
    while next(back) do
      back, count = next(back), count + 1
    end
    assert.equal(depth, count)
  end)

  it('of 2,000 objects of unknown classes can be read and written', function()
    for _, name in ipairs(made.NAMES) do
      local f = made.formats[name]
      local parts = {}
      for i = 1, 2000 do
        parts[i] = f.head(i, 'nn.Inside') -- the fields of each object are the next object
      end
      local bytes = table.concat(parts) .. f.string 'innermost'
      local object = torch.deserialize(bytes)
      if not name:find 'big' then
        assert.equal(bytes, torch.serialize(object, name))
      end
      local count = 0
      while torch.isRecord(object) do
        assert.equal('nn.Inside', object.class)
        object, count = object.fields, count + 1
      end
      assert.equal(2000, count)
      assert.equal('innermost', object)
    end
  end)

  it('of 2,000 functions in the upvalues of each other can be read and written', function()
    local f = made.formats.b64
    local parts = {}
    for i = 1, 2000 do
      parts[i] = f.code(8, 2 * i - 1, 'code', f.int(made.TABLE, 2 * i, 1) .. f.number(1))
    end
    local bytes = table.concat(parts) .. f.null
    local object = torch.deserialize(bytes, 'b64')
    local count = 0
    while object do
      object, count = object.upvalues[1], count + 1
    end
    assert.equal(2000, count)
  end)

  it('that is cut off at its deepest level is an error with a path of readable length', function()
    local f = made.formats.b64
    local parts = {}
    for i = 1, 1e5 do
      parts[i] = f.int(made.TABLE, i, 1) .. f.string 'inner'
    end
    local bytes = table.concat(parts)
    local message = support.failure(torch.deserialize, bytes, 'binary')
    assert.equal(#bytes, tonumber(message:match 'at byte (%d+)'))
    assert.is_true(#message < 3000, #message)
  end)
end)

describe('a large number #large', function()
  it('of references to one object, 1e6 of them, can be written and read', function()
    local shared, count = { 'shared' }, 1e6
    local object = {}
    for i = 1, count do
      object[i] = shared
    end
    local bytes = torch.serialize(object)
    assert.equal(12 + count * (12 + 8) + 4 + #'shared' + 4 + 12 + 4, #bytes)
    local back = torch.deserialize(bytes)
    assert.equal(count, #back)
    for i = 2, count do
      if back[i] ~= back[1] then
        error(i)
      end
    end
    assert.equal('shared', back[1][1])
  end)

  it('of references to one storage give one storage', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local object = {}
    for i = 1, 1e5 do
      object[i] = s
    end
    for _, mode in ipairs(MODES) do
      local back = round(object, mode)
      for i = 2, 1e5 do
        if not rawequal(back[i], back[1]) then
          error(i)
        end
      end
    end
  end)

  it('of small tables, storages and strings can be written and read', function()
    local object = {}
    for i = 1, 3e4 do
      object[i] = { i, tostring(i), torch.IntStorage { i } }
    end
    for _, mode in ipairs(MODES) do
      local back = round(object, mode)
      assert.equal(3e4, #back)
      for i = 1, 3e4 do
        local t = back[i]
        if t[1] ~= i or t[2] ~= tostring(i) or t[3][1] ~= i then
          error(i)
        end
      end
    end
  end)

  it('of keys of all kinds can be written and read', function()
    local object = {}
    for i = 1, 1e5 do
      object[i % 2 == 0 and i / 3 or 'key ' .. i] = i
    end
    local back, count = round(object), 0
    for key, value in pairs(back) do
      count = count + 1
      if object[key] ~= value then
        error(tostring(key))
      end
    end
    assert.equal(1e5, count)
  end)
end)

describe('a collection at any moment #large', function()
  -- In a child process: with few other objects to mark, the collector completes a cycle every few allocations. Interpreted,
  -- because compiled code of LuaJIT alone, without this library, may then only collect.
  it('does not free parts of an object that is being loaded or saved #process', function()
    local output = support.child [[
      local torch = require 'torch'
      if jit then jit.off() end
      collectgarbage('setpause', 1)
      collectgarbage('setstepmul', 10000)
      for n = 1, 6 do
        local object = {}
        for i = 1, 40 do
          object[i] = { [('key %d %d'):format(n, i)] = torch.DoubleStorage { n, i }, x = { n .. ' ' .. i } }
        end
        for _, mode in ipairs { 'binary', 'ascii', 'b32' } do
          local back = torch.deserialize(torch.serialize(object, mode), { mode = mode, keeporder = n % 2 == 0 })
          for i = 1, 40 do
            local s = back[i][('key %d %d'):format(n, i)]
            assert(s[1] == n and s[2] == i and back[i].x[1] == n .. ' ' .. i)
          end
        end
      end
      print 'sane'
    ]]
    assert.equal('sane', output)
  end)
end)

describe('memory #large', function()
  it('is released completely', function()
    local object = { torch.DoubleStorage(1e5):fill(1), x = { torch.ByteStorage(1e5) } }
    support.collect()
    local before = torch.memory()
    for _ = 1, 50 do
      for _, mode in ipairs(MODES) do
        round(object, mode)
      end
      torch.deserializeFromStorage(torch.serializeToStorage(object))
    end
    support.collect()
    assert.same(before, torch.memory())
  end)

  it('does not grow with ten thousand errors #slow', function()
    local cut = torch.serialize({ torch.IntStorage(1000), 'x', {} }):sub(1, -5)
    local function fail(count)
      for _ = 1, count do
        pcall(torch.deserialize, cut)
        pcall(torch.serialize, { torch.IntStorage(1000), print })
      end
      support.collect()
    end
    -- The heap of Lua has its size only after as many errors.
    fail(10000)
    local before = support.resident()
    fail(10000)
    assert.is_true(support.resident() - before < 2e6)
  end)
end)
