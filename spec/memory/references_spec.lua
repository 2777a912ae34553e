-- References to a storage: retain, free, the collector and pushudata in every order, and addresses that cannot be taken.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local SEED = tonumber(os.getenv 'SEED') or os.time()

-- A storage and its expected state: its userdata, each alive or not, and the number of outstanding retains.
local Model = {}
Model.__index = Model

local function model(T, size)
  local s = torch[T .. 'Storage'](size):fill(7)
  local self = { class = 'torch.' .. T .. 'Storage', retained = 0, handles = { { s = s, alive = true } } }
  self.address, self.size = torch.pointer(s), size
  return setmetatable(self, Model)
end

function Model:alive()
  local count = 0
  for _, handle in ipairs(self.handles) do
    count = count + (handle.alive and 1 or 0)
  end
  return count
end

local function refuses(f, ...)
  support.fails('storage was freed', f, ...)
end

-- The actions on one userdata: each does the same to the storage and to the model.
local actions = {}

function actions.retain(self, handle)
  if handle.alive then
    handle.s:retain()
    self.retained = self.retained + 1
  else
    refuses(torch.getmetatable(self.class).retain, handle.s)
  end
end

function actions.free(self, handle)
  if not handle.alive then
    refuses(torch.getmetatable(self.class).free, handle.s)
    return
  end
  handle.s:free()
  if self.retained > 0 then
    self.retained = self.retained - 1
  else
    handle.alive = false
  end
end

function actions.finalise(self, handle)
  torch.getmetatable(self.class).__gc(handle.s)
  handle.alive = false
end

function actions.adopt(self)
  if self.retained > 0 then
    local s = torch.pushudata(self.address, self.class)
    self.retained = self.retained - 1
    self.handles[#self.handles + 1] = { s = s, alive = true }
  else
    local message = support.failure(torch.pushudata, self.address, self.class)
    assert.is_truthy(message:find('retain', 1, true), message)
  end
end

-- Collecting a storage has the same effect as finalizing it by hand.
function actions.drop(self, handle)
  if #self.handles > 1 then
    for i, other in ipairs(self.handles) do
      if other == handle then
        table.remove(self.handles, i)
      end
    end
    handle.s = nil
    support.collect()
  end
end

function Model:check()
  local holders = self:alive() + self.retained
  for _, handle in ipairs(self.handles) do
    local s = handle.s
    if handle.alive then
      assert.equal(self.size, #s)
      assert.equal(7, s[self.size])
      assert.equal(self.address, torch.pointer(s))
      if support.luajit then
        assert.equal(holders, s:cdata().refcount)
      end
    else
      refuses(function()
        return s[1]
      end)
    end
  end
end

local function step(self, name, n)
  actions[name](self, self.handles[(n - 1) % #self.handles + 1])
  self:check()
end

local NAMES = { 'retain', 'free', 'finalise', 'adopt', 'drop' }

describe('retain, free, pushudata and the collector', function()
  it('agree with a model in every short sequence', function()
    support.collect()
    local base = torch.memory().heap
    local sequences = 0
    -- Each step is an action on the first or the last userdata.
    local function extend(steps)
      if #steps == 4 then
        local self = model('Int', 3)
        for _, chosen in ipairs(steps) do
          step(self, chosen[1], chosen[2] and #self.handles or 1)
        end
        -- Outstanding retains are taken back, so that nothing leaks.
        while self.retained > 0 do
          actions.adopt(self)
        end
        for _, handle in ipairs(self.handles) do
          actions.finalise(self, handle)
        end
        self:check()
        assert.has_error(function()
          torch.pushudata(self.address, self.class)
        end)
        sequences = sequences + 1
        return
      end
      for i = 1, 4 do
        for _, last in ipairs { false, true } do
          steps[#steps + 1] = { NAMES[i], last }
          extend(steps)
          steps[#steps] = nil
        end
      end
    end
    extend {}
    assert.equal(8 ^ 4, sequences)
    assert.equal(base, torch.memory().heap)
  end)

  it('agree with a model in random sequences', function()
    math.randomseed(SEED)
    support.collect()
    local base = torch.memory().heap
    for round = 1, 60 do
      local T = types.TORCH7[math.random(#types.TORCH7)]
      local size = math.random(50)
      local self, log = model(T, size), {}
      local ok, message = pcall(function()
        for i = 1, 60 do
          local name = NAMES[math.random(#NAMES)]
          -- Collections are slow.
          if name == 'drop' and math.random(6) > 1 then
            name = 'adopt'
          end
          local n = math.random(#self.handles)
          log[i] = name .. ' ' .. n
          step(self, name, n)
        end
      end)
      if not ok then
        error(('SEED=%d, round %d, %s: %s\n%s'):format(SEED, round, T, table.concat(log, ', '), message))
      end
      while self.retained > 0 do
        actions.adopt(self)
      end
    end
    support.collect()
    assert.equal(base, torch.memory().heap)
  end)

  it('hold a storage that has no userdata', function()
    for _, T in ipairs(types.TORCH7) do
      local class = 'torch.' .. T .. 'Storage'
      local addresses = {}
      for i = 1, 50 do
        local s = torch[T .. 'Storage'](100):fill(i)
        s:retain()
        addresses[i] = torch.pointer(s)
      end
      support.collect()
      for i = 1, 50 do
        torch[T .. 'Storage'](100):fill(111)
        assert.is_true(torch.pushudata(addresses[i], class):equal(torch[T .. 'Storage'](100):fill(i)))
      end
    end
  end)

  it('release a view while its parent lives, and the other way round', function()
    local s = torch.IntStorage { 1, 2, 3, 4 }
    local v = torch.IntStorage(s, 2)
    v:retain()
    v:free()
    v:free()
    assert.has_error(function()
      return v[1]
    end)
    assert.equal(2, s[2])
    v = torch.IntStorage(s, 2)
    v:retain()
    local address = torch.pointer(v)
    s:free()
    v = nil -- luacheck: ignore
    support.collect()
    local w = torch.pushudata(address, 'torch.IntStorage')
    assert.same({ 2, 3, 4 }, w:totable())
    assert.is_true(w:isView())
  end)

  it('do not move a storage away from its other holders', function()
    local a = torch.DoubleStorage(3):fill(1)
    a:retain()
    local b = torch.pushudata(torch.pointer(a), 'torch.DoubleStorage')
    for size = 1, 100000, 9999 do
      b:resize(size)
      b[size] = size
      assert.equal(size, #a)
      assert.equal(size, a[size])
      a:resize(size + 1)
      assert.equal(size + 1, #b)
    end
    a:free()
    assert.equal(1, b[1])
  end)

  it('count very far, and raise an error at the end', function()
    local s = torch.ByteStorage(1)
    for _ = 1, 100000 do
      s:retain()
    end
    for _ = 1, 100000 do
      s:free()
    end
    assert.equal(0, s[1])
    s:free()
    refuses(s.size or torch.ByteStorage.size, s)
    if support.luajit then
      -- This field is not meant to be written, but a test has no other way to 2^31-1.
      s = torch.ByteStorage(1)
      local header = s:cdata()
      header.refcount = 2 ^ 31 - 2
      s:retain()
      assert.equal(2 ^ 31 - 1, header.refcount)
      local message = support.failure(s.retain, s)
      assert.is_truthy(message:find('too many references', 1, true), message)
      assert.equal(2 ^ 31 - 1, header.refcount)
      header.refcount = 2
      s:free()
      assert.equal(1, header.refcount)
    end
  end)
end)

describe('pushudata', function()
  it('takes only the address of a retained storage of the same class', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local v = torch.IntStorage(s, 2)
    local freed = torch.IntStorage(3)
    local gone = torch.pointer(freed)
    freed:free()
    v:retain()
    local address = torch.pointer(s)
    local wild = {}
    local numbers =
      '1 2 8 4096 65536 -1 -8 0.5 2147483648 4294967296 1.4e14 4.5e15 9007199254740992 9.3e18 1.9e19 1e300 -1e300'
    for number in numbers:gmatch '%S+' do
      wild[#wild + 1] = tonumber(number)
    end
    for _, number in ipairs { 1 / 0, -1 / 0, 0 / 0, s:data(true), v:data(true) } do
      wild[#wild + 1] = number
    end
    for _, offset in ipairs { 0, 1, 8, -8, 2 ^ 32, -2 * address } do
      wild[#wild + 1] = address + offset
    end
    for _, value in ipairs { {}, print, 'abc', torch.IntStorage } do
      wild[#wild + 1] = torch.pointer(value)
    end
    wild[#wild + 1] = torch.pointer(v) + 4
    wild[#wild + 1] = gone
    if support.luajit then
      wild[#wild + 1] = require('ffi').new 'int[4]'
      wild[#wild + 1] = require('ffi').cast('void *', 65536)
      wild[#wild + 1] = s:data()
      wild[#wild + 1] = s:cdata()
    end
    for _, T in ipairs(types.TORCH7) do
      for _, at in ipairs(wild) do
        -- 0.5 is the address 0, which gives nil as in Torch7.
        local ok, result = pcall(torch.pushudata, at, 'torch.' .. T .. 'Storage')
        if at == 0.5 then
          assert.is_true(ok)
          assert.is_nil(result)
        else
          assert.is_false(ok, tostring(at))
          assert.equal('string', type(result))
        end
      end
      if T ~= 'Int' then
        local message = support.failure(torch.pushudata, torch.pointer(v), 'torch.' .. T .. 'Storage')
        assert.is_truthy(message:find('is a torch.IntStorage, not a torch.' .. T .. 'Storage', 1, true), message)
      end
    end
    for _, at in ipairs { '1', true, {}, print, s, coroutine.create(function() end), io.stdout, tostring(address) } do
      assert.is_truthy(
        support.failure(torch.pushudata, at, 'torch.IntStorage'):find('number or cdata expected', 1, true)
      )
    end
    for _, class in ipairs { 'torch.NoSuch', 'IntTensor', '', 'torch.', 'torch.IntStorage ', '%s%n', 5, true, {}, s } do
      assert.has_error(function()
        torch.pushudata(torch.pointer(v), class)
      end)
    end
    -- None of these had an effect: the one retain is still there, once.
    assert.is_true(torch.pushudata(torch.pointer(v), 'torch.IntStorage') == v)
    assert.has_error(function()
      torch.pushudata(torch.pointer(v), 'torch.IntStorage')
    end)
  end)
end)
