-- Finalizers, generational collections, to-be-closed variables and coroutines on every Lua. What an interpreter does not have is
-- left out of its run.
local torch = require 'torch'
local generator = require 'spec.support.generator'
local support = require 'spec.support'

local VERSION = _VERSION:match '[%d.]+'
local path = support.temporary()

local function run(text, ...)
  return assert(loadstring(text))(...)
end

describe('a finalizer #process', function()
  it('that fails is a warning since Lua 5.4, and the storages are freed', function()
    local output = support.child [[
      local torch = require 'torch'
      if warn then warn '@on' end
      local proxy = newproxy(true)
      local held = torch.IntStorage(1000)
      getmetatable(proxy).__gc = function()
        held:free()
        error 'wrong'
      end
      proxy = nil
      local ok, message = pcall(function() collectgarbage() collectgarbage() end)
      print(pcall(held.size, held))
      print(torch.memory().heap)
      print(ok)
    ]]
    assert.is_truthy(output:find('storage was freed', 1, true), output)
    -- Before Lua 5.4, the collection raises the error; current LuaJIT reports it.
    if VERSION >= '5.4' then
      assert.is_truthy(output:find('Lua warning: error in __gc', 1, true), output)
      assert.is_truthy(output:find('\n0\ntrue$', 1) or output:find('\n0\ntrue', 1, true), output)
    else
      assert.is_truthy(output:find('\n0\n', 1, true), output)
    end
  end)

  it('can collect and allocate, in any number', function()
    -- Since Lua 5.4, collectgarbage does nothing in a finalizer, so pressure cannot start a collection there. Before, finalizers
    -- nest in each other, and Lua allows 200 C calls.
    local output = support.child [[
      local torch = require 'torch'
      local done, right = 0, true
      for i = 1, 50 do
        local proxy = newproxy(true)
        getmetatable(proxy).__gc = function()
          local s = torch.DoubleStorage(2 ^ 15):fill(i)
          collectgarbage()
          collectgarbage 'step'
          right = right and s[2 ^ 15] == i and torch.DoubleStorage(s, 2, 3)[1] == i
          done = done + 1
        end
      end
      for _ = 1, 50 do torch.ByteStorage(2 ^ 20) end
      collectgarbage()
      collectgarbage()
      print(done, right)
      collectgarbage()
      collectgarbage()
      assert(torch.memory().heap < 2 ^ 24, torch.memory().heap)
    ]]
    assert.equal('50\ttrue', output)
  end)

  it('runs when the Lua state closes, with storages that live still', function()
    local output = support.child [[
      local torch = require 'torch'
      kept = torch.IntStorage { 1, 2, 3 }
      proxy = newproxy(true)
      getmetatable(proxy).__gc = function()
        print(pcall(function() return torch.IntStorage { 4, 5 }[2], #torch.IntTensor(2, 2):storage() end))
        print((pcall(function() return #kept end)))
      end
    ]]
    assert.is_truthy(output:find('^true\t5\t4\n'), output)
  end)

  it('of a storage is in its metatable from the beginning', function()
    assert.equal('function', type(getmetatable(torch.IntStorage(1)).__gc))
    assert.equal('function', type(getmetatable(torch.IntTensor(1)).__gc))
    local base = torch.memory().heap
    for _ = 1, 100 do
      torch.IntStorage(1000)
      torch.IntTensor(10, 100)
    end
    support.collect()
    assert.is_true(torch.memory().heap <= base)
  end)
end)

-- Makes, changes, frees and drops storages and views at random, next to a model: for each storage a table of its numbers. Returns
-- the number of comparisons.
local function random_use(seed, rounds)
  local random = generator(seed)
  local slots, compared = {}, 0
  -- A memory is a table of numbers, which views share. A slot has a storage, its memory and the offset in it.
  local function make()
    local size = random(40)
    local memory = {}
    for i = 1, size do
      memory[i] = random(1000)
    end
    return { storage = torch.IntStorage(memory), memory = memory, offset = 0, size = size }
  end
  for round = 1, rounds do
    local n = random(60)
    local slot = slots[n]
    local what = random(10)
    if not slot or what == 1 then
      slots[n] = make()
    elseif what <= 3 then
      local offset = random(slot.size) - 1
      local size = random(slot.size - offset)
      slots[random(60)] = {
        storage = torch.IntStorage(slot.storage, offset + 1, size),
        memory = slot.memory,
        offset = slot.offset + offset,
        size = size,
      }
    elseif what == 4 then
      slot.storage:free()
      slots[n] = nil
    elseif what == 5 then
      slots[n] = nil
    elseif what == 6 then
      local tensor = torch.IntTensor(slot.storage, 1, slot.size, 1)
      slot.storage = tensor:storage()
    else
      local i, value = random(slot.size), random(1000)
      slot.storage[i] = value
      slot.memory[slot.offset + i] = value
    end
    local other = slots[random(60)]
    if other then
      compared = compared + 1
      for i = 1, other.size do
        if other.storage[i] ~= other.memory[other.offset + i] then
          error(('round %d: element %d differs'):format(round, i))
        end
      end
    end
  end
  return compared
end

describe('storages and views under random use', function()
  local function clean()
    local base = torch.memory().heap
    assert.is_true(random_use(1, 20000) > 5000)
    support.collect()
    assert.is_true(torch.memory().heap <= base)
  end

  it('agree with a model, in the incremental mode', clean)

  it('agree with a model, in the generational mode', function()
    -- Lua 5.2 has this mode as an experiment.
    if VERSION ~= '5.2' and VERSION < '5.4' then
      return
    end
    collectgarbage 'generational'
    local ok, message = pcall(clean)
    collectgarbage 'incremental'
    assert.is_true(ok, message)
  end)

  it('agree with a model, when the mode changes', function()
    if VERSION < '5.4' then
      return
    end
    local base = torch.memory().heap
    for seed = 2, 20 do
      collectgarbage(seed % 2 == 0 and 'generational' or 'incremental')
      random_use(seed, 1000)
      if seed % 5 == 0 then
        collectgarbage 'step'
      end
    end
    collectgarbage 'incremental'
    support.collect()
    assert.is_true(torch.memory().heap <= base)
  end)
end)

describe('a coroutine that ends in the middle of an iteration', function()
  it('lets its storage go', function()
    local base = torch.memory().heap
    for _ = 1, 100 do
      local co = coroutine.create(function()
        for i, v in torch.IntStorage(1000):fill(3):iter() do
          coroutine.yield(i, v)
        end
      end)
      local ok, i, v = coroutine.resume(co)
      assert.is_true(ok and i == 1 and v == 3)
      if coroutine.close then
        assert.is_true(coroutine.close(co))
      end
    end
    support.collect()
    -- A stack slot that is not in use may still have the last coroutine.
    assert.is_true(torch.memory().heap <= base + 4000)
  end)
end)

describe('a to-be-closed variable', function()
  if VERSION < '5.4' then
    it('is unknown before Lua 5.4, and so is __close', function()
      assert.is_nil(getmetatable(torch.IntStorage(1)).__close)
      assert.is_nil(loadstring 'local x <close> = nil')
    end)
    return
  end

  it('gives back the memory at the end of its scope, also after an error or in a closed coroutine', function()
    support.collect()
    local base = torch.memory().heap
    collectgarbage 'stop'
    local seen = {}
    for _, text in ipairs {
      'do local s <close> = torch.IntStorage(1000) seen[#seen + 1] = s end',
      'pcall(function() local s <close> = torch.IntStorage(1000) seen[#seen + 1] = s error "x" end)',
      'pcall(function() local s <close> = torch.IntStorage(1000) seen[#seen + 1] = s return s[1001] end)',
      [[local co = coroutine.create(function()
          local s <close> = torch.IntStorage(1000)
          seen[#seen + 1] = s
          for i in pairs(s) do coroutine.yield(i) end
        end)
        coroutine.resume(co)
        assert(#seen[#seen] == 1000)
        assert(coroutine.close(co))]],
      'for _ = 1, 2 do local s <close> = torch.IntStorage(1000) seen[#seen + 1] = s if _ then goto out end end ::out::',
      'local s = torch.IntStorage(1000) seen[#seen + 1] = s for _ in pairs({ 1 }), { 1 }, nil, s do end',
      'do local a <close> = torch.IntStorage(1000) local b <close> = a seen[#seen + 1] = a end',
      'do local a <close> = torch.IntStorage(1000) seen[#seen + 1] = a a:free() end',
    } do
      run('local torch, seen = ... ' .. text, torch, seen)
      assert.equal(base, torch.memory().heap, text)
      support.fails('storage was freed', seen[#seen].size, seen[#seen])
    end
    collectgarbage 'restart'
    assert.equal(8, #seen)
  end)

  it('gives back its own reference only: views and other userdata keep the memory', function()
    run(
      [[
      local torch, fails = ...
      local s = torch.IntStorage { 1, 2, 3 }
      local view = torch.IntStorage(s, 2, 2)
      local tensor = torch.IntTensor(s)
      do local closed <close> = s end
      fails('storage was freed', function() return s[1] end)
      assert(view[1] == 2 and tensor:get(3) == 3)
      assert(tensor:storage()[1] == 1)
      do local closed <close> = view end
      assert(tensor:get(2) == 2)
      do local closed <close> = tensor end
      fails('the tensor has no storage', function() return tensor:get(1) end)
    ]],
      torch,
      support.fails
    )
  end)

  it('never takes an outstanding retain', function()
    run(
      [[
      local torch, fails = ...
      local s = torch.IntStorage { 1, 2, 3 }
      local address = torch.pointer(s)
      s:retain()
      s:retain()
      do local closed <close> = s end
      fails('storage was freed', function() return s[1] end)
      -- Both references are there still.
      local a = torch.pushudata(address, 'torch.IntStorage')
      local b = torch.pushudata(address, 'torch.IntStorage')
      assert(a[3] == 3 and b[1] == 1 and a == b)
      assert(not pcall(torch.pushudata, address, 'torch.IntStorage'))
      -- Where free would take a retain, closing does not.
      a:retain()
      do local closed <close> = a end
      fails('storage was freed', function() return a[1] end)
      b:free()
      assert(b[1] == 1)
      do local closed <close> = b end
      fails('storage was freed', function() return b[1] end)
    ]],
      torch,
      support.fails
    )
    support.collect()
  end)

  it('may be an open safetensors file', function()
    local name = path 'x.safetensors'
    torch.safetensors.save(name, { x = torch.IntTensor { 7 } })
    local before = support.descriptors()
    run(
      [[
      local torch, name, fails = ...
      local kept, x
      do
        local file <close> = torch.safetensors.open(name)
        kept, x = file, file:get 'x'
      end
      fails('the file is closed', kept.keys, kept)
      assert(x:get(1) == 7)
    ]],
      torch,
      name,
      support.fails
    )
    assert.equal(before, support.descriptors())
  end)

  it('calls __close, which does nothing with other values', function()
    local close = getmetatable(torch.IntStorage(1)).__close
    for _, value in ipairs { 1, 'x', {}, io.stdout, print } do
      close(value)
      close(value, 'an error')
    end
    close()
  end)
end)
