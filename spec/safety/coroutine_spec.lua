-- Errors are strings with the position of the caller, and are caught where they were raised, inside coroutines and outside.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

-- Calls that fail in different layers, each with a fragment of its message.
local CASES = [[
  return s[9]   --> out of range
  s[9] = 1   --> out of range
  s[1] = {}   --> number expected
  v:resize(9)   --> not resizable
  torch.IntStorage(s, 9)   --> offset out of bounds
  s:copy(torch.IntStorage(5))   --> size mismatch
  torch.IntStorage(-1)   --> got -1
  torch.IntStorage(2 ^ 55)   --> not enough memory
  s:resize(2 ^ 55)   --> not enough memory
  torch.IntStorage '/nonexistent/file'   --> No such file
  torch.IntStorage { 1, 'x' }   --> element 2 of the table
  torch.IntStorage.fromstring 'abc'   --> not a multiple of the 4-byte element size
  torch.pushudata(123456, 'torch.IntStorage')   --> retain
  s:type 'torch.NoStorage'   --> no class
  s:flush()   --> nothing to flush
  s.fill(5, 5)   --> torch.IntStorage expected
  local x = s + 1   --> no addition operator
  torch.pointer(io.stdout)   --> Torch object expected
  torch.totable {}   --> expected, got table
  torch.data {}   --> expected, got table
]]

local s = torch.IntStorage { 1, 2, 3 }
local v = torch.IntStorage(s)

local function compile(code)
  return setfenv(assert(loadstring(code, '=case')), setmetatable({ s = s, v = v, torch = torch }, { __index = _G }))
end

local failures = {}
for code, fragment in CASES:gmatch '%s*([^\n]-)%s+%-%-> ([^\n]+)' do
  failures[#failures + 1] = { fragment, compile(code) }
end
assert(#failures == 20)

local function check(failure, ok, message)
  local fragment = failure[1]
  assert.is_false(ok, fragment)
  assert.equal('string', type(message), fragment)
  assert.is_truthy(message:find(fragment, 1, true), message)
  assert.equal('case:1: ', message:sub(1, 8))
end

describe('an error', function()
  it('is a string with the position of the call', function()
    for _, failure in ipairs(failures) do
      check(failure, pcall(failure[2]))
    end
  end)

  it('is caught inside its coroutine, which continues', function()
    for _, failure in ipairs(failures) do
      local co = coroutine.create(function(a)
        local ok, message = pcall(failure[2])
        check(failure, ok, message)
        local b = coroutine.yield(a + 1)
        check(failure, pcall(failure[2]))
        return b + 1, 'finished'
      end)
      assert.same({ true, 11 }, { coroutine.resume(co, 10) })
      assert.equal('suspended', coroutine.status(co))
      assert.same({ true, 21, 'finished' }, { coroutine.resume(co, 20) })
      assert.equal('dead', coroutine.status(co))
    end
  end)

  it('ends only its own coroutine', function()
    for _, failure in ipairs(failures) do
      local outer = coroutine.create(function()
        local inner = coroutine.create(function()
          failure[2]()
          return 'not reached'
        end)
        check(failure, coroutine.resume(inner))
        assert.equal('dead', coroutine.status(inner))
        check(failure, pcall(coroutine.wrap(failure[2])))
        coroutine.yield 'outer goes on'
        failure[2]()
      end)
      assert.same({ true, 'outer goes on' }, { coroutine.resume(outer) })
      check(failure, coroutine.resume(outer))
    end
  end)

  it('reaches the handler of xpcall with the whole stack', function()
    for _, failure in ipairs(failures) do
      local trace
      local ok, message = xpcall(failure[2], function(text)
        trace = debug.traceback()
        return text
      end)
      check(failure, ok, message)
      assert.is_truthy(trace:find('coroutine_spec.lua', 1, true))
    end
  end)

  it('raised in each of a thousand coroutines leaves all of them usable', function()
    local threads = {}
    for i = 1, 1000 do
      threads[i] = coroutine.create(function()
        local mine = torch.IntStorage(3):fill(i)
        for round = 1, 3 do
          check(failures[(i + round) % #failures + 1], pcall(failures[(i + round) % #failures + 1][2]))
          coroutine.yield(mine[round])
        end
        return mine
      end)
    end
    for round = 1, 4 do
      for i = 1, 1000 do
        local ok, result = coroutine.resume(threads[i])
        assert.is_true(ok, tostring(result))
        assert.equal(i, round < 4 and result or result[1])
      end
    end
  end)

  it('comes out of a metamethod, an iterator, a sort and a gsub', function()
    local co = coroutine.wrap(function()
      assert.is_false(pcall(function()
        for _ in s:iter() do
          s:copy(torch.IntStorage(99))
        end
      end))
      assert.is_false(pcall(table.sort, { 3, 2, 1 }, function(a)
        return s[a + 100]
      end))
      assert.is_false(pcall(string.gsub, 'abc', '.', function()
        return s[100]
      end))
      assert.is_false(pcall(setmetatable({}, { __index = s }).x or function()
        return setmetatable({}, { __index = s })[100]
      end))
      return 'here'
    end)
    assert.equal('here', co())
  end)

  it('is raised by a storage used as __index, except for keys that are not indices', function()
    local t = setmetatable({}, { __index = s, __newindex = s })
    assert.equal(2, t[2])
    t[2] = 7
    assert.equal(7, s[2])
    assert.is_nil(rawget(t, 2))
    assert.is_truthy(support
      .failure(function()
        return t[4]
      end)
      :find('out of range', 1, true))
    assert.is_nil(t[true])
    s[2] = 2
  end)
end)

describe('a finalizer in a coroutine', function()
  it('may use storages, fail, and be started by the collector', function()
    local log = {}
    local finalize = coroutine.wrap(function()
      while true do
        local mine = torch.LongStorage(4):fill(#log)
        local ok, message = pcall(function()
          return mine[5]
        end)
        log[#log + 1] = not ok and message:find('out of range', 1, true) and mine[4]
        coroutine.yield()
      end
    end)
    for i = 1, 20 do
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = finalize
      proxy = nil -- luacheck: ignore
      -- The collector runs finalizers inside a coroutine too.
      coroutine.wrap(function()
        support.collect()
        coroutine.yield(torch.IntStorage(1000))
      end)()
      assert.equal(i, #log)
      assert.equal(i - 1, log[i])
    end
  end)

  it('finds the storages of a coroutine that was abandoned', function()
    support.collect()
    local base = torch.memory().heap
    for _ = 1, 100 do
      local co = coroutine.wrap(function()
        local mine = torch.DoubleStorage(10000)
        coroutine.yield()
        mine:fill(1)
      end)
      co()
    end
    support.collect()
    assert.equal(base, torch.memory().heap)
  end)
end)

-- Formats in strings from the user: Torch7 passed them on to printf.
describe('a percent sign', function()
  local odd = '/nonexistent/%s%n%d%x%%%5$s%*d%99999999s%'

  it('in a file name is part of the name', function()
    for _, T in ipairs(types.NUMBERS) do
      for _, list in ipairs { { odd }, { odd, true }, { odd, true, 4 }, { odd, false, 4 } } do
        local message = support.failure(torch[T .. 'Storage'], unpack(list))
        assert.is_truthy(message:find(odd, 1, true), message)
      end
    end
    local name = path '%s%n%d%'
    torch.IntStorage(name, true, 2):fill(5)
    assert.same({ 5, 5 }, torch.IntStorage(name):totable())
    assert.equal(name, torch.IntStorage(name):filename())
    assert.is_truthy(support.failure(torch.IntStorage, name, false, 3):find(name, 1, true))
  end)

  it('in any other text is part of the text', function()
    local text = '%s%n%99999999d%'
    for _, code in ipairs {
      's[text] = 1',
      'torch.IntStorage { text }',
      's:type(text)',
      'torch.pushudata(1, text)',
      'torch.setdefaulttensortype(text)',
    } do
      local message = support.failure(compile('local text = ... ' .. code), text)
      assert.is_truthy(message:find(text, 1, true), message)
    end
    for _, code in ipairs {
      's:fill(text)',
      's:resize(text)',
      'torch.IntStorage(s, text)',
      "torch.isTypeOf(s, 'torch.[')",
    } do
      assert.is_truthy(support.failure(compile('local text = ... ' .. code), text))
    end
    assert.is_nil(s[text])
    -- The name of the function comes from the caller, too.
    local methods = { [text] = s.fill }
    assert.is_truthy(support.failure(function()
      methods[text](s, {})
    end))
  end)

  it('and any other byte give a short error in names of every length', function()
    for _, length in ipairs { 1, 100, 600, 1000, 1535, 1536, 1537, 3000, 100000 } do
      for _, piece in ipairs { '%', 'x', '\255', 'é', '\0', '%s' } do
        local text = piece:rep(length)
        for _, code in ipairs {
          's[text] = 1',
          "torch.IntStorage('/nonexistent/' .. text)",
          's:type(text)',
          'torch.IntStorage { text }',
        } do
          assert.is_true(#support.failure(compile('local text = ... ' .. code), text) < 4000)
        end
      end
    end
  end)
end)
