-- Storages of tables: small ones, which C reads, and large ones, which LuaJIT reads in compiled code.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'
local jit = rawget(_G, 'jit')

-- Sizes around the blocks in which numbers are read.
local SIZES = { 0, 1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 300, 1000, 4095, 4096, 4097, 8192, 10000 }

local NUMBERS =
  { 0, 1, -1, 1.5, -2.75, 100, 255, 300, -300, 1e5, 2 ^ 31, -2 ^ 31 - 1, 2 ^ 53, 0.1, 1e300, -1e300, 1e-300 }
NUMBERS[#NUMBERS + 1] = 1 / 0
NUMBERS[#NUMBERS + 1] = -1 / 0
NUMBERS[#NUMBERS + 1] = 0 / 0

local function numbers(size)
  local t = {}
  for i = 1, size do
    t[i] = NUMBERS[i % #NUMBERS + 1]
  end
  return t
end

-- The storage that a loop makes of a table.
local function by_loop(class, t)
  local s = class(#t)
  for i = 1, #t do
    s[i] = t[i]
  end
  return s
end

describe('a storage of a table', function()
  for _, T in ipairs(types.ALL) do
    it('has what a loop would set, at every size: ' .. T, function()
      local class = torch[T .. 'Storage']
      for _, size in ipairs(SIZES) do
        local t = numbers(size)
        -- Compared as bytes, because NaN is not equal to itself.
        assert.equal(by_loop(class, t):string(), class(t):string(), size)
        assert.equal(by_loop(class, t):string(), class.new(t):string(), size)
      end
    end)

    it('takes other values between the numbers: ' .. T, function()
      local class = torch[T .. 'Storage']
      local others = { '7', ' 12 ', '18446744073709551619', '0x10' }
      if T == 'Bool' then
        others[#others + 1], others[#others + 2] = true, false
      elseif types.ENTRY[T].kind == 'complex' then
        others[#others + 1], others[#others + 2] = { re = 1, im = 2 }, { 3, 4 }
      end
      if support.luajit then
        others[#others + 1] = assert(loadstring 'return -5LL')()
      end
      for _, size in ipairs { 1, 16, 17, 64, 65, 200, 4097, 5000 } do
        for _, step in ipairs { 1, 2, 7, 64, 4096 } do
          local t, n = numbers(size), 0
          for i = 1, size, step do
            n = n + 1
            t[i] = others[n % #others + 1]
          end
          assert.equal(by_loop(class, t):string(), class(t):string())
          t = numbers(size)
          t[size] = others[1]
          assert.equal(by_loop(class, t):string(), class(t):string())
        end
      end
    end)
  end

  it('leaves the table as it is', function()
    local t = numbers(500)
    t[3], t[400] = '1', '2'
    torch.IntStorage(t)
    assert.equal('string', type(t[3]))
    assert.equal('string', type(t[400]))
    for i = 1, 500 do
      assert.is_true(t[i] ~= nil)
    end
  end)

  it('names the first element that is not a number, and leaves nothing behind', function()
    support.collect()
    local before = torch.memory().heap
    for _, size in ipairs { 3, 16, 17, 64, 65, 1000, 4096, 4097, 9000 } do
      for _, at in ipairs { 1, 2, size - 1, size } do
        for wrong, name in pairs {
          [{}] = 'table',
          [print] = 'function',
          ['x'] = "string 'x'",
          [torch.IntStorage(1)] = 'torch.IntStorage',
        } do
          local t = numbers(size)
          t[at], t[size] = wrong, at == size and wrong or {}
          local expected = ('element %d of the table: number expected, got %s'):format(at, name)
          local message = support.failure(torch.DoubleStorage, t)
          assert.is_truthy(message:find(expected, 1, true), message)
        end
      end
    end
    support.collect()
    -- The storages of one element above are garbage, too.
    assert.equal(before, torch.memory().heap)
  end)

  it('reports a hole as nil', function()
    for _, size in ipairs { 100, 5000 } do
      local t = numbers(size)
      t[70] = nil
      local message = support.failure(torch.IntStorage, t)
      assert.is_truthy(message:find('element 70 of the table: number expected, got nil', 1, true), message)
    end
  end)

  it('calls no metamethods', function()
    local calls = 0
    local function count()
      calls = calls + 1
      return 5
    end
    for _, size in ipairs { 10, 1000 } do
      local t = setmetatable(numbers(size), { __index = count, __len = count, __newindex = count })
      assert.equal(size, #torch.DoubleStorage(t))
      t[size / 2] = nil
      assert.is_truthy(support.failure(torch.DoubleStorage, t):find('got nil', 1, true))
    end
    assert.equal(0, calls)
  end)

  it('does not depend on how the table was made', function()
    for _, size in ipairs { 10, 300, 5000 } do
      local expected = torch.DoubleStorage(numbers(size)):string()
      local backwards, of_pairs, grown = {}, { n = size, x = 1, [0] = 9, [-1] = 9, [1.5] = 9 }, {}
      for i = size, 1, -1 do
        backwards[i] = NUMBERS[i % #NUMBERS + 1]
      end
      for i = 1, size do
        of_pairs[i] = NUMBERS[i % #NUMBERS + 1]
        table.insert(grown, NUMBERS[i % #NUMBERS + 1])
      end
      for _ = 1, 5 do
        assert.equal(expected, torch.DoubleStorage(backwards):string())
        assert.equal(expected, torch.DoubleStorage(of_pairs):string())
        assert.equal(expected, torch.DoubleStorage(grown):string())
      end
    end
  end)

  it('can be made in a coroutine, in a finalizer and under a hook', function()
    local t = numbers(3000)
    local expected = torch.FloatStorage(t):string()
    assert.equal(
      expected,
      coroutine.wrap(function()
        return torch.FloatStorage(t):string()
      end)()
    )
    local lines, results = 0, {}
    debug.sethook(function()
      lines = lines + 1
    end, '', 100)
    for i = 1, 20 do
      results[i] = torch.FloatStorage(t)
    end
    debug.sethook()
    for i = 1, 20 do
      assert.equal(expected, results[i]:string())
    end
    local made
    local object = newproxy(true)
    getmetatable(object).__gc = function()
      made = torch.FloatStorage(t)
    end
    object = nil -- luacheck: ignore 311
    support.collect()
    assert.equal(expected, made:string())
  end)

  if support.luajit then
    it('is the same while the JIT is off, and with C accessors', function()
      local t = numbers(3000)
      local expected, mode, on = torch.LongStorage(t):string(), torch.accessors(), jit.status()
      jit.off()
      assert.equal(expected, torch.LongStorage(t):string())
      jit[on and 'on' or 'off']()
      torch.accessors 'c'
      assert.equal(expected, torch.LongStorage(t):string())
      torch.accessors(mode)
      jit.flush()
      assert.equal(expected, torch.LongStorage(t):string())
    end)

    -- The library's own function, which `require 'torch.core'` exposes.
    it('does not trust the function that reads large tables', function()
      local core = require 'torch.core'
      local t = numbers(1000)
      local expected = torch.DoubleStorage(t):string()
      local readers = {
        function() end,
        function()
          return 1e9
        end,
        function()
          return -1
        end,
        function()
          return 0 / 0
        end,
        function()
          return 'x'
        end,
        function()
          return 0, 1, 2, 3
        end,
      }
      for i, reader in ipairs(readers) do
        core.settablereader(reader)
        local got = torch.DoubleStorage(t)
        assert.equal(1000, #got)
        -- A reader that says that it has read everything has written nothing.
        assert.equal(i == 2 and ('\0'):rep(8000) or expected, got:string())
      end
      core.settablereader(function()
        error('mine', 0)
      end)
      assert.equal('mine', (support.failure(torch.DoubleStorage, t):match 'mine'))
      package.loaded['torch.from_table'] = nil
      require 'torch.from_table'
      assert.equal(expected, torch.DoubleStorage(t):string())
    end)
  end
end)
