-- Ranges: fill, copy, totable, string and sub on parts of a storage, compared with Lua tables and Lua's string.sub.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

local path = support.temporary()

local SIZES = { 0, 1, 2, 5 }
local NONE = {} -- stands for nil in lists

-- The values to try as an index, in pairs: the argument, and the whole number it means or the text of the error.
local function indices(size)
  local list =
    { { NONE }, { '2', 2 }, { ' -1 ', -1 }, { '0x3', 3 }, { '1.9', 1 }, { 1.9, 1 }, { -0.9, 0 }, { -1.5, -1 } }
  for i = -3, size + 3 do
    list[#list + 1] = { i, i }
  end
  list[#list + 1] = { 2 ^ 40 + 0.5, 2 ^ 40 }
  list[#list + 1] = { 'x', 'number expected, got string' }
  list[#list + 1] = { false, 'number expected, got boolean' }
  list[#list + 1] = { {}, 'number expected, got table' }
  list[#list + 1] = { 0 / 0, 'a whole number is needed, got ' }
  list[#list + 1] = { 1 / 0, 'a whole number is needed, got inf' }
  list[#list + 1] = { 2 ^ 63, 'a whole number is needed, got 9223372036854775808' }
  if support.luajit then
    local ffi = require 'ffi'
    list[#list + 1] = { ffi.new('int64_t', 1), 1 }
    list[#list + 1] = { ffi.new('uint64_t', 2), 2 }
    list[#list + 1] = { ffi.new('int64_t', -1), -1 }
    list[#list + 1] = { ffi.new('uint64_t', 0) - 1, 'a whole number is needed, got 18446744073709551615' }
    list[#list + 1] = { ffi.new 'int[2]', 'number expected, got cdata' }
  end
  return list
end

-- The range from i to j among `size` elements: its first index and its count; or nil, which of the two is wrong, and why.
local function range(i, j, size)
  if type(i) == 'string' then
    return nil, 1, i
  elseif type(j) == 'string' then
    return nil, 2, j
  end
  local first, last = i or 1, j or size
  if first > last then
    return 1, 0
  end
  for argument = 1, 2 do
    local bound = argument == 1 and first or last
    if bound < 1 or bound > size then
      local where = size == 0 and 'an empty storage' or ('the range 1 to %d'):format(size)
      return nil, argument, ('index out of bounds: %.0f is not in %s'):format(bound, where)
    end
  end
  return first, last - first + 1
end

-- Each method is called by its name in a function of its own, so that messages count arguments as a user does.
local function caller(name)
  return assert(loadstring(('local s, a, b, c, d = ... local r = s:%s(a, b, c, d) return r'):format(name)))
end

local function open(v)
  if v ~= NONE then
    return v
  end
end

local function wrong(what, ...)
  local list = { ... }
  for n = 1, select('#', ...) do
    list[n] = tostring(list[n])
  end
  error(what .. ': ' .. table.concat(list, ', '), 0)
end

-- A storage of 11, 12, ... between two elements of 99 on each side.
local function framed(class, size)
  local whole = class(size + 4):fill(99)
  local s = class(whole, 3, size)
  for n = 1, size do
    s[n] = 10 + n
  end
  return s, whole
end

local function holds(s, model)
  if #s ~= #model then
    return false
  end
  for n = 1, #model do
    if s[n] ~= model[n] then
      return false
    end
  end
  return true
end

-- Calls the method `name` with every pair of indices, as arguments from `shift` + 1 on. If the range is valid, passes the
-- result to check(s, whole, size, first, count, result). If not, checks the message and that the storage is unchanged.
local function every_range(name, shift, skip, check)
  local call = caller(name)
  accessors.each(function(T, class)
    for _, size in ipairs(SIZES) do
      local list = indices(size)
      local s, whole = framed(class, size)
      local model = {}
      for n = 1, size + 4 do
        model[n] = whole[n]
      end
      for _, i in ipairs(list) do
        for _, j in ipairs(list) do
          local a, b = open(i[1]), open(j[1])
          if not skip(a, b) then
            local first, count, text = range(i[2], j[2], size)
            local ok, result
            if shift == 0 then
              ok, result = pcall(call, s, a, b)
            else
              ok, result = pcall(call, s, 7, a, b)
            end
            if first then
              if not ok or not check(s, whole, size, first, count, result) then
                wrong(T, name, size, a, b, ok, result)
              end
            else
              local message = ("bad argument #%d to '%s' (%s"):format(count + shift, name, text)
              if ok or type(result) ~= 'string' or not result:find(message, 1, true) or not holds(whole, model) then
                wrong(T, name, size, a, b, ok, result, 'expected', message)
              end
            end
          end
        end
      end
    end
  end)
end

local function never() end

after_each(accessors.restore)

describe('a range of', function()
  it('fill is right for every pair of indices', function()
    every_range('fill', 1, never, function(s, whole, size, first, count, result)
      local right = rawequal(result, s)
      for n = -1, size + 2 do
        local inside = n >= first and n < first + count
        local original = (n < 1 or n > size) and 99 or 10 + n
        right = right and whole[n + 2] == (inside and 7 or original)
        whole[n + 2] = original
      end
      return right
    end)
  end)

  it('totable is right for every pair of indices', function()
    every_range('totable', 0, never, function(_, _, _, first, count, result)
      for n = 1, count do
        if result[n] ~= 10 + first + n - 1 then
          return false
        end
      end
      return type(result) == 'table' and #result == count and next(result, count > 0 and count or nil) == nil
    end)
  end)

  it('string is right for every pair of indices', function()
    -- A string is a text that is stored. For any other wrong type the message says that a string is possible, too.
    local function sets(i)
      local is_cdata = type(i) == 'cdata' and tonumber(i) == nil
      return is_cdata or type(i) == 'string' or type(i) == 'boolean' or type(i) == 'table'
    end
    every_range('string', 0, sets, function(_, whole, _, first, count, result)
      local width = whole:elementSize()
      local all = whole:string()
      return result == all:sub((first + 1) * width + 1, (first + 1 + count) * width)
    end)
  end)

  it('fill gets the same value as a fill without a range', function()
    accessors.each(function(T, class)
      local values = { -1, 2.7, -2.7, 300, 65536.5, 1e10, -1e19, 0 / 0, 1 / 0, '12', ' 0x1F ' }
      if support.luajit then
        local ffi = require 'ffi'
        values[#values + 1] = ffi.new('int64_t', 2 ^ 53) + 1
        values[#values + 1] = ffi.new('uint64_t', 0) - 1
      end
      for _, v in ipairs(values) do
        local one = class(1):fill(v):string()
        for _, size in ipairs { 1, 7, 33, 100 } do
          local s = class(size + 2):fill(v, 2, size + 1)
          local zero = ('\0'):rep(#one)
          if s:string() ~= zero .. one:rep(size) .. zero then
            wrong(T, v, size)
          end
        end
      end
      for _, v in ipairs { 'x', {}, print, class(1) } do
        local s = class { 1, 2 }
        assert.matches('number expected', support.failure(s.fill, s, v, 1, 1))
        assert.same({ 1, 2 }, s:totable())
      end
    end)
  end)
end)

describe('sub', function()
  it('follows the rules of string.sub for every pair of indices', function()
    local call = caller 'sub'
    accessors.each(function(T, class)
      for _, size in ipairs(SIZES) do
        local list = indices(size)
        local s, whole = framed(class, size)
        local text = ('\11\12\13\14\15'):sub(1, size)
        for _, i in ipairs(list) do
          for _, j in ipairs(list) do
            local a, b = open(i[1]), open(j[1])
            local ok, result = pcall(call, s, a, b)
            local message = a == nil and "bad argument #1 to 'sub' (number expected, got nil"
              or type(i[2]) == 'string' and "bad argument #1 to 'sub' (" .. i[2]
              or type(j[2]) == 'string' and "bad argument #2 to 'sub' (" .. j[2]
            local right
            if message then
              right = not ok and result:find(message, 1, true)
            else
              -- The numbers that string.sub takes on every interpreter.
              local from, to = math.min(i[2], 1000), math.min(j[2] or -1, 1000)
              local seen = {}
              for n = 1, ok and #result or 0 do
                seen[n] = string.char(result[n])
              end
              right = ok and torch.typename(result) == torch.typename(s) and table.concat(seen) == text:sub(from, to)
            end
            if not right then
              wrong(T, size, a, b, ok, result, message)
            end
          end
        end
        assert.is_true(#whole == size + 4 and whole[2] == 99 and whole[size + 3] == 99)
      end
      local s = class { 1, 2, 3 }
      assert.same({ 1, 2, 3 }, s:sub(-2 ^ 62, 2 ^ 62):totable())
      assert.same({ 1, 2, 3 }, s:sub(-2 ^ 63, 2 ^ 63 - 1024):totable())
      assert.equal(0, #s:sub(2 ^ 62, -2 ^ 63))
      assert.matches(
        "bad argument #1 to 'sub' %(number expected, got no value",
        support.failure(function()
          s:sub()
        end)
      )
    end)
  end)

  it('is a view: it keeps the memory alive, and writes through either show in both', function()
    accessors.each(function(_, class)
      local s = class { 1, 2, 3, 4, 5 }
      local part = s:sub(2, -2)
      local inner = part:sub(-2)
      assert.is_true(part:isView() and inner:isView() and not part:resizable())
      s[3] = 33
      inner[2] = 44
      assert.same({ 2, 33, 44 }, part:totable())
      assert.same({ 1, 2, 33, 44, 5 }, s:totable())
      part:fill(7, 3, 3)
      assert.same({ 33, 7 }, inner:totable())
      s:free()
      s = nil -- luacheck: ignore
      part = nil -- luacheck: ignore
      support.collect()
      for _ = 1, 20 do
        class(5):fill(99)
      end
      assert.same({ 33, 7 }, inner:totable())
      inner[1] = 8
      assert.same({ 8, 7 }, inner:totable())
      -- When the storage grows, and perhaps moves, the view still shows the same memory.
      local grown = class { 1, 2, 3 }
      local old = grown:sub(1, 2)
      grown:resize(100000):fill(6)
      support.collect()
      assert.same({ 2, 1 }, { #old, old[1] == 6 and 1 or old[1] })
      assert.matches('not resizable', support.failure(old.resize, old, 3))
    end)
  end)
end)

describe('totable', function()
  it('gives 100,000 elements that equal those of a loop', function()
    accessors.each(function(T, class)
      local s = class(100000)
      local size = #s
      for n = 1, size do
        s[n] = n % 120
      end
      local all, part = s:totable(), s:totable(2, 99999)
      assert.is_true(#all == 100000 and #part == 99998, T)
      for n = 1, size do
        if all[n] ~= s[n] or all[n] ~= n % 120 or part[n] ~= (n < 99999 and (n + 1) % 120 or nil) then
          wrong(T, n, all[n], part[n])
        end
      end
      -- The sizes around which compiled code takes over.
      for _, count in ipairs { 298, 299, 300, 301, 1000 } do
        local some = s:sub(1, count):totable()
        assert.is_true(#some == count and some[1] == 1 and some[count] == count % 120, count)
      end
    end)
  end)

  -- A collection is due when the table is made. Its finalizer removes elements, adds some, or frees the storage.
  it('survives a finalizer that resizes the storage in between #process', function()
    local output = support.child(
      [[
      local torch = require 'torch'
      local due = require 'spec.support.due_collection'
      local modes = rawget(_G, 'jit') and { 'ffi', 'c' } or { 'c' }
      local jit = rawget(_G, 'jit')
      local SIZE = jit and not jit.status() and 2000 or 100000 -- FFI code that is not compiled is slow
      local ran, tables = 0, 0
      local function turn(T, change, ...)
        local s = torch[T .. 'Storage'](SIZE):fill(5)
        due(function()
          ran = ran + 1
          change(s)
        end)
        local ok, t = pcall(s.totable, s, ...)
        if ok then
          tables = tables + 1
          for n = 1, #t do
            assert(t[n] == 5 or t[n] == 6, t[n])
          end
        else
          assert(type(t) == 'string' and (t:find('out of', 1, true) or t:find('freed', 1, true)), t)
        end
      end
      local changes = {
        function(s) s:resize(10) end,
        function(s) s:resize(0) end,
        function(s) s:resize(3 * SIZE):fill(6) end,
        function(s) s:free() torch.ByteStorage(8 * SIZE):fill(77) end,
      }
      for _, mode in ipairs(modes) do
        torch.accessors(mode)
        for _, T in ipairs { 'Byte', 'Int', 'Half', 'Double' } do
          for _, change in ipairs(changes) do
            for _ = 1, 3 do
              turn(T, change)
              turn(T, change, 2, SIZE - 1)
            end
          end
        end
      end
      assert(ran > #modes * 96 / 2, ran)
      print('done', tables > 0)
    ]],
      'timeout 120 ' .. support.interpreter
    )
    assert.equal('done\ttrue', output)
  end)
end)

describe('a range that cannot be written', function()
  it('is one of a read-only map', function()
    local name = path 'f'
    accessors.each(function(_, class)
      local bytes = ('\1\2\3\4\5\6\7\8'):rep(4)
      support.spit(name, bytes)
      local s = class { filename = name, readonly = true }
      local function refused(method, ...)
        assert.matches('read%-only: the storage is a read%-only map', support.failure(method, ...))
      end
      refused(s.fill, s, 1, 2, 2)
      refused(s.fill, s, 1, 2)
      refused(s.copy, s, class(1), 2)
      refused(s.copy, s, s, 2, 1, 1)
      refused(s.sub(s, 2, 3).fill, s:sub(2, 3), 1)
      refused(s.byteswap, s)
      refused(s.rawcopy, s, s)
      assert.is_true(s:sub(2):isReadOnly())
      assert.is_true(rawequal(s, s:fill(1, 2, 1)) and rawequal(s, s:copy(s, 1, 1, 0)))
      -- Wrong arguments are reported first.
      assert.matches('out of bounds', support.failure(s.fill, s, 1, 0))
      assert.is_true(s:string() == bytes and support.slurp(name) == bytes)
      assert.equal(bytes:sub(s:elementSize() + 1, 2 * s:elementSize()), s:string(2, 2))
      assert.equal(s[2], s:totable(2, 2)[1])
    end)
  end)

  it('is one of a freed storage', function()
    accessors.each(function(_, class)
      local s, live = class { 1, 2, 3 }, class { 4, 5, 6 }
      s:free()
      for name, list in pairs {
        fill = { 1, 2, 2 },
        totable = { 1, 2 },
        string = { 1, 2 },
        sub = { 1, 2 },
        copy = { live, 1, 1, 1 },
      } do
        assert.matches('bad argument #%d to .*storage was freed', support.failure(live[name], s, unpack(list)))
      end
      assert.matches('storage was freed', support.failure(live.copy, live, s, 1, 1, 1))
      assert.same({ 4, 5, 6 }, live:totable())
    end)
  end)
end)
