-- Elements in bulk: capacity and growth, unpack, iteration, bytes, equality and independent copies.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local SEED = tonumber(os.getenv 'SEED') or os.time()

local function address(s)
  return tonumber(s:data(true))
end

describe('reserve', function()
  for _, T in ipairs(types.TORCH7) do
    it('keeps the address of a storage that stays within its capacity: ' .. T, function()
      local class = torch[T .. 'Storage']
      for _, capacity in ipairs { 1, 3, 100, 5000, 100000 } do
        local s = class()
        assert.is_true(rawequal(s, s:reserve(capacity)))
        assert.equal(0, #s)
        s:resize(1)
        local start = address(s)
        for _, size in ipairs { capacity, 0, 1, math.ceil(capacity / 2), capacity, 1, capacity } do
          s:resize(size)
          if size > 0 then
            assert.equal(start, address(s), size)
          end
        end
        s:reserve(capacity):reserve(math.floor(capacity / 2)):reserve(capacity)
        assert.equal(capacity, #s)
        -- Beyond the capacity it grows as without reserve.
        assert.equal(0, s:fill(1):resize(capacity + 1)[capacity + 1])
        assert.equal(1, s[capacity])
      end
    end)

    it('keeps an append loop from moving the storage: ' .. T, function()
      local s = torch[T .. 'Storage']():reserve(2000):resize(1)
      local start = address(s)
      for i = 1, 2000 do
        s:resize(i)
        assert(s[i] == 0)
        s[i] = i % 100
      end
      assert.equal(start, address(s))
      for i = 1, 2000 do
        assert(s[i] == i % 100)
      end
    end)

    -- Compared with a table: old elements stay and new ones are zero, whatever was in the memory before.
    it('and resize agree with a table: ' .. T, function()
      math.randomseed(SEED)
      local s, model = torch[T .. 'Storage'](), {}
      local log = {}
      local views = {}
      for step = 1, 250 do
        local size = math.random(4) == 1 and math.random(0, 40000) or math.random(0, 60)
        local what = math.random(6)
        if what <= 3 then
          log[step] = 'resize ' .. size
          s:resize(size)
          for i = #model + 1, size do
            model[i] = 0
          end
          for i = #model, size + 1, -1 do
            model[i] = nil
          end
        elseif what == 4 then
          log[step] = 'reserve ' .. size
          s:reserve(size)
        elseif what == 5 then
          log[step] = 'fill'
          s:fill(85)
          for i = 1, #model do
            model[i] = 85
          end
        else
          log[step] = 'view'
          views[step % 3 + 1] = s.new(s)
          assert.equal(#s, #views[step % 3 + 1])
        end
        local ok = #s == #model
        local t = s:totable()
        for i = 1, #model do
          ok = ok and t[i] == model[i]
        end
        if not ok then
          error(('SEED=%d, %s'):format(SEED, table.concat(log, ', ')))
        end
      end
    end)
  end

  it('leaves views what they show', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local v = torch.IntStorage(s, 2)
    s:reserve(100000)
    s:fill(9)
    assert.same({ 2, 3 }, v:totable())
    assert.same({ 9, 9, 9 }, s:totable())
  end)

  it('works only on memory that the storage itself owns', function()
    local s = torch.IntStorage(4)
    for _, other in ipairs {
      torch.IntStorage(s),
      torch.IntStorage(4, s:data()),
      torch.IntStorage(torch.IntStorage(s), 5),
    } do
      for _, n in ipairs { 0, 4, 5 } do
        assert.is_truthy(support.failure(other.reserve, other, n):find('not resizable', 1, true))
        assert.is_truthy(support.failure(other.resize, other, n):find('not resizable', 1, true))
      end
    end
  end)
end)

describe('unpack', function()
  it("returns the elements of a range, like Lua's unpack", function()
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage'] { 11, 12, 13, 14 }
      local t = s:totable()
      assert.same(t, { s:unpack() })
      assert.same(t, { s:unpack(nil, nil) })
      for i = 1, 4 do
        assert.same({ unpack(t, i) }, { s:unpack(i) })
        for j = 0, 4 do
          assert.equal(math.max(0, j - i + 1), select('#', s:unpack(i, j)))
          assert.same({ unpack(t, i, j) }, { s:unpack(i, j) })
        end
      end
      assert.equal(0, select('#', torch[T .. 'Storage']():unpack()))
      assert.equal(0, select('#', s:unpack(5)))
      assert.same({ 12, 13 }, { s:unpack(2.9, '3') })
      for _, range in ipairs { { 0 }, { -1, 2 }, { 1, 5 }, { 5, 5 }, { 0, 4 }, { 4, 99 } } do
        assert.is_truthy(support.failure(s.unpack, s, unpack(range)):find('index', 1, true))
      end
    end
  end)

  it('has the limit of the interpreter and names it in its error', function()
    local s = torch.ByteStorage(100000):fill(7)
    for _, n in ipairs { 249, 250, 1000, 5000, 7000 } do
      assert.equal(n, select('#', s:unpack(1, n)))
      assert.equal(7, (select(n, s:unpack(1, n))))
    end
    for _, n in ipairs { 8100, 10000, 100000 } do
      assert.is_truthy(support.failure(s.unpack, s, 1, n):find('too many results', 1, true))
    end
    assert.is_truthy(support.failure(s.unpack, s):find('too many results', 1, true))
    -- The limit holds whatever else is on the stack.
    local function with(...)
      return pcall(s.unpack, s, 1, 6000, ...)
    end
    for _, extra in ipairs { 0, 1000, 1900, 2500, 5000 } do
      local results = { with(unpack(s:totable(), 1, extra)) }
      if results[1] then
        assert.equal(6001, #results)
      else
        assert.is_truthy(results[2]:find('too many results', 1, true))
      end
    end
    -- Deep in a recursion the stack may be full, which is an error as well.
    local function deep(n)
      if n == 0 then
        return select('#', s:unpack(1, 7000))
      end
      return (deep(n - 1))
    end
    for _, n in ipairs { 100, 1000, 5000, 15000 } do
      local ok, result = pcall(deep, n)
      assert.is_true(result == 7000 or not ok and type(result) == 'string')
    end
  end)
end)

describe('iter', function()
  it('gives every index with its element', function()
    for _, T in ipairs(types.TORCH7) do
      local s = torch[T .. 'Storage'] { 5, 6, 7 }
      local seen = {}
      for i, v in s:iter() do
        seen[#seen + 1] = i
        seen[#seen + 1] = v
      end
      assert.same({ 1, 5, 2, 6, 3, 7 }, seen)
      for _ in torch[T .. 'Storage']():iter() do
        error 'an empty storage has no element'
      end
      -- Two loops at the same time do not affect each other.
      local sum = 0
      for i, a in s:iter() do
        for j, b in s:iter() do
          sum = sum + i * a + j * b
        end
      end
      assert.equal(3 * (5 + 12 + 21) * 2, sum)
    end
  end)

  it('shows changes that the loop makes to the storage', function()
    local s = torch.IntStorage { 1, 2, 3, 4 }
    local seen = {}
    for i, v in s:iter() do
      seen[i] = v
      if i == 2 then
        s:resize(3)
        s[3] = 33
      end
    end
    assert.same({ 1, 2, 33 }, seen)
    local count = 0
    for i, v in s:iter() do
      count = count + 1
      if i < 1000 then
        s:resize(i + 1)
        s[i + 1] = v + 1
      end
    end
    assert.equal(1000, count)
    assert.equal(1000, s[1000])
    for i in s:iter() do
      assert.is_true(i == 1)
      s:resize(0)
    end
    -- Memory that the loop has released is not read.
    s:resize(100):fill(5)
    local sum = 0
    for i, v in s:iter() do
      sum = sum + v
      if i == 50 then
        s:resize(200000)
        torch.IntStorage(100):fill(77)
        s:resize(60)
      end
    end
    assert.equal(300, sum)
  end)

  it('can be stepped by hand from any number', function()
    local s = torch.IntStorage { 5, 6 }
    local step = s:iter()
    assert.same({ 2, 6 }, { step(s, 1) })
    assert.same({ 1, 5 }, { step(s, 0.9) })
    for _, i in ipairs { 2, 3, -1, -2, 1e300, -1e300, 1 / 0, -1 / 0, 0 / 0, 2 ^ 53, 2 ^ 63, 2 ^ 64 } do
      assert.is_nil((step(s, i)))
    end
    for _, i in ipairs { 'x', {}, print } do
      assert.is_truthy(support.failure(step, s, i):find('number expected', 1, true))
    end
    assert.has_error(function()
      step(torch.LongStorage(2), 0)
    end)
    assert.has_error(function()
      step()
    end)
  end)
end)

describe('bytes', function()
  local all = {}
  for i = 0, 255 do
    all[#all + 1] = string.char(i)
  end
  all = table.concat(all)

  it('of a string become elements if their number fits', function()
    for _, T in ipairs(types.TORCH7) do
      local class, width = torch[T .. 'Storage'], types.WIDTH[T]
      for _, length in ipairs { 0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 255, 256, 4095, 4096, 1048576, 1048577 } do
        local text = all:rep(math.ceil(length / 256)):sub(1, length)
        if length % width == 0 then
          local s = class.fromstring(text)
          assert.equal(length / width, #s)
          assert.equal(length, s:nbytes())
          local bytes = torch.ByteStorage(length, length > 0 and s:data() or nil):string()
          assert.is_true(bytes == text, length)
        else
          local message = support.failure(class.fromstring, text)
          assert.is_truthy(message:find(length .. ' bytes is not a multiple of the ', 1, true), message)
        end
      end
      for _, v in ipairs { {}, true, 5, print, class(1) } do
        assert.is_truthy(support.failure(class.fromstring, v):find('string expected', 1, true))
      end
      assert.is_truthy(support.failure(class.fromstring):find('string expected, got no value', 1, true))
      assert.is_truthy(class.fromstring(''):resize(2):resizable())
    end
  end)

  it('survive a round trip through string()', function()
    for _, T in ipairs { 'Byte', 'Char' } do
      local s = torch[T .. 'Storage']()
      for _, length in ipairs { 0, 1, 255, 256, 65536, 1000003 } do
        local text = all:rep(math.ceil(length / 256)):sub(1, length)
        assert.is_true(s:string(text):string() == text)
        assert.equal(length, #s)
        assert.is_true(torch[T .. 'Storage'](s, 1, length):string() == text)
      end
      s:string(all)
      for i = 1, 256 do
        assert.equal(T == 'Byte' and i - 1 or (i - 1 + 128) % 256 - 128, s[i])
      end
    end
  end)
end)

describe('equal', function()
  it('compares class, size and values', function()
    for _, T in ipairs(types.TORCH7) do
      local class = torch[T .. 'Storage']
      local s = class { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 }
      assert.is_true(s:equal(s))
      assert.is_true(s:equal(s:clone()))
      for i = 1, 17 do
        local other = s:clone()
        other[i] = 99
        assert.is_false(s:equal(other), i)
        assert.is_false(other:equal(s), i)
        assert.is_true(class(s, i):equal(class(s:clone(), i)))
      end
      assert.is_false(s:equal(s:clone():resize(16)))
      assert.is_false(s:equal(class(s, 1, 16)))
      assert.is_true(class():equal(class(s, 18)))
      for _, D in ipairs(types.TORCH7) do
        assert.equal(D == T, s:equal(s:type('torch.' .. D .. 'Storage')))
        assert.equal(D == T, class():equal(torch[D .. 'Storage']()))
      end
      for _, v in ipairs { 5, 'x', {}, true, print, io.stdout, class } do
        assert.is_truthy(support.failure(s.equal, s, v):find('torch.*Storage expected', 1, true))
      end
      assert.is_truthy(support.failure(s.equal, s):find('torch.*Storage expected, got no value', 1, true))
    end
  end)

  it('compares NaN and zeros as numbers do', function()
    for _, T in ipairs { 'Half', 'Float', 'Double' } do
      local class = torch[T .. 'Storage']
      for n = 1, 20 do
        local s = class(20):fill(3)
        s[n] = 0 / 0
        assert.is_false(s:equal(s))
        assert.is_false(s:equal(s:clone()))
        s[n] = -1 / math.huge
        local other = class(20):fill(3)
        other[n] = 0
        assert.is_true(s:equal(other))
        assert.equal(-1 / 0, 1 / s[n])
        s[n], other[n] = 1 / 0, 1 / 0
        assert.is_true(s:equal(other))
        other[n] = -1 / 0
        assert.is_false(s:equal(other))
      end
    end
  end)
end)

describe('clone and type', function()
  it('give the copy its own memory', function()
    for _, T in ipairs(types.TORCH7) do
      local class = torch[T .. 'Storage']
      local s = class { 1, 2, 3, 4 }
      local v = class(s, 2, 2)
      for _, source in ipairs { s, v } do
        local copy = source:clone()
        assert.is_true(copy:equal(source) and not rawequal(copy, source) and copy ~= source)
        assert.is_true(copy:resizable() and not copy:isView())
        copy:fill(9):resize(100)
        assert.same({ 1, 2, 3, 4 }, s:totable())
      end
      for _, D in ipairs(types.TORCH7) do
        for _, name in ipairs { 'torch.' .. D .. 'Storage', D .. 'Storage' } do
          local cast = v:type(name)
          assert.equal('torch.' .. D .. 'Storage', cast:type())
          assert.same({ 2, 3 }, cast:totable())
          assert.equal(D == T, rawequal(cast, v))
          if D ~= T then
            cast:fill(9):resize(5)
            assert.same({ 1, 2, 3, 4 }, s:totable())
          end
        end
      end
      assert.equal(0, #class():clone())
      assert.equal(0, #class():type 'torch.DoubleStorage')
    end
  end)
end)
