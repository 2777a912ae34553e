-- Storages that were freed or finalized: every use is an error, and nothing changes them.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- The fields that do not read the storage's memory: they work on a freed storage or raise their own error. Every other function
-- in the metatable, including future ones, has to report that the storage was freed.
local HARMLESS = {
  __gc = true,
  __eq = true,
  __factory = true,
  elementSize = true,
  frombuffer = true,
  fromfile = true,
  fromstring = true,
  __add = true,
  __sub = true,
  __mul = true,
  __div = true,
  __mod = true,
  __pow = true,
  __unm = true,
  __concat = true,
  __lt = true,
  __le = true,
  __call = true,
  __close = true,
}

-- The ways to get a dead userdata.
local ends = {
  free = function(s)
    s:free()
  end,
  ['retain, free, free'] = function(s)
    s:retain()
    s:free()
    s:free()
  end,
  __gc = function(s)
    getmetatable(s).__gc(s)
  end,
  ['__gc, twice'] = function(s)
    getmetatable(s).__gc(s)
    getmetatable(s).__gc(s)
  end,
  ['__gc, of another class'] = function(s)
    local other = torch.typename(s) == 'torch.IntStorage' and torch.LongStorage or torch.IntStorage
    getmetatable(other).__gc(s)
  end,
}

local function dead(T)
  local s = torch[T .. 'Storage'](3):fill(1)
  s:free()
  return s
end

local function says_freed(f, ...)
  local ok, message = pcall(f, ...)
  return not ok and type(message) == 'string' and message:find('storage was freed', 1, true) ~= nil, ok, message
end

describe('a freed storage', function()
  for _, T in ipairs(types.TORCH7) do
    it('is reported as freed by every method: ' .. T, function()
      local metatable = torch.getmetatable('torch.' .. T .. 'Storage')
      local s, live = dead(T), torch[T .. 'Storage'](3):fill(2)
      local arguments = {
        {},
        { 1 },
        { 2, 1 },
        { 'x' },
        { '1', '1' },
        { live },
        { live, 1 },
        { true },
        { {} },
        { print },
        { 0 / 0 },
        { -1 },
        { 'torch.FloatStorage' },
        { 'torch.' .. T .. 'Storage' },
        { 1, live },
        { s },
        { 2 ^ 62 },
        { false, false, false },
      }
      local methods = 0
      for name, f in pairs(metatable) do
        if type(f) == 'function' then
          methods = methods + 1
          for _, list in ipairs(arguments) do
            local freed, ok, message = says_freed(f, s, unpack(list))
            if HARMLESS[name] then
              assert.is_true(ok or type(message) == 'string', name)
            elseif not freed then
              -- A number argument that is wrong in itself may be reported first.
              local own = not ok and message:find('bad argument #', 1, true) and #list > 0
              assert.is_true(own and not ok, ('%s: %s'):format(name, tostring(message)))
            end
          end
          if not HARMLESS[name] then
            assert.is_true((says_freed(f, s)) or (says_freed(f, s, 1)) or (says_freed(f, s, live)), name)
          end
        end
      end
      assert.is_true(methods > 40, methods)
    end)

    it('cannot be a source: ' .. T, function()
      local s = dead(T)
      for _, D in ipairs(types.TORCH7) do
        local live = torch[D .. 'Storage'](3):fill(2)
        assert.is_true((says_freed(live.copy, live, s)))
        assert.is_true((says_freed(live.equal, live, s)))
        assert.is_true((says_freed(torch[D .. 'Storage'], s)) or D ~= T)
        assert.is_false((pcall(torch[D .. 'Storage'], s)))
        assert.is_false((pcall(torch[D .. 'Storage'], { s })))
        assert.is_false((pcall(torch[D .. 'Storage'], 3, s)))
        assert.same({ 2, 2, 2 }, live:totable())
      end
    end)
  end

  it('is reported as freed by everything that Lua syntax reaches', function()
    local function index(s, k)
      return s[k]
    end
    local function assign(s, k)
      s[k] = 1
    end
    local function length(s)
      return #s
    end
    for name, finish in pairs(ends) do
      for _, T in ipairs(types.TORCH7) do
        local s = torch[T .. 'Storage'](3):fill(1)
        -- A loop that was compiled for a live storage.
        for i = 1, 200 do
          index(s, i % 3 + 1)
          assign(s, i % 3 + 1)
          length(s)
        end
        finish(s)
        for _, key in ipairs { 0, 1, 3, 4, -1, 1.5, 2 ^ 53, 1 / 0, 0 / 0, '1' } do
          assert.is_true((says_freed(index, s, key)), name)
          assert.is_true((says_freed(assign, s, key)), name)
        end
        assert.is_true((says_freed(length, s)), name)
        assert.is_true((says_freed(tostring, s)), name)
        assert.is_true((says_freed(assign, s, 'x')), name)
        assert.equal('function', type(s.size)) -- methods can be looked up
        assert.is_true(rawequal(s, s))
        assert.is_false(s == torch[T .. 'Storage'](3))
      end
    end
  end)

  it('is reported as freed by the functions of the module that take storages', function()
    local s, live = dead 'Int', torch.IntStorage(3)
    for _, name in ipairs { 'pointer', 'totable', 'data', 'cdata' } do
      local f = torch[name]
      if f then
        assert.is_true((says_freed(f, s)), name)
      end
    end
    assert.equal('torch.IntStorage', torch.typename(s))
    assert.equal('torch.IntStorage', torch.type(s))
    assert.is_true(torch.isStorage(s))
    assert.is_true(torch.isTypeOf(s, 'torch.IntStorage'))
    assert.is_true(torch.isTypeOf(live, s))
    assert.is_false(torch.isTensor(s))
    assert.is_false(torch.isequal(s, live))
    assert.is_false(torch.isequal(s, dead 'Int'))
    for name, f in pairs(torch) do
      -- Functions such as setdefaulttensortype do not take a storage.
      if type(f) == 'function' then
        for _, list in ipairs { { s }, { s, s }, { 1, s }, { s, 1 }, { live, s } } do
          local ok, message = pcall(f, unpack(list))
          assert.is_true(ok or type(message) == 'string', name)
        end
      end
    end
  end)

  it('is reported as freed in a loop that was compiled for it', function()
    local s = torch.DoubleStorage(100):fill(1)
    local sum = 0
    local ok, message = pcall(function()
      for round = 1, 1000 do
        for i = 1, 100 do
          sum = sum + s[i]
        end
        if round == 500 then
          s:free()
        end
      end
    end)
    assert.is_false(ok)
    assert.is_truthy(message:find('storage was freed', 1, true), message)
    assert.equal(50000, sum)
  end)

  it('ends a loop over its elements', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local step, state, first = s:iter()
    s:free()
    assert.is_true((says_freed(step, state, first)))
    s = torch.IntStorage { 1, 2, 3 }
    local seen = 0
    assert.is_true((says_freed(function()
      for _ in s:iter() do
        seen = seen + 1
        s:free()
      end
    end)))
    assert.equal(1, seen)
  end)

  it('is collected like any other, together with its views', function()
    support.collect()
    local base = torch.memory().heap
    for i = 1, 2000 do
      local s = torch.DoubleStorage(1000)
      local v = torch.DoubleStorage(s, i % 1000 + 1)
      if i % 3 == 0 then
        s:free()
      elseif i % 3 == 1 then
        v:free()
        getmetatable(s).__gc(s)
      else
        getmetatable(s).__gc(v)
        getmetatable(s).__gc(v)
      end
    end
    support.collect()
    assert.equal(base, torch.memory().heap)
  end)
end)
