-- What counts as a number: numeric strings and other strings wherever a number is accepted, and indices of every kind.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- Lua's own tonumber decides which of these are numbers.
local STRINGS =
  { '', ' ', '\n', ' 5 ', '\t5\n', '5 5', '- 5', '5\0', '\0005', '5\0x', '\239\188\149', '5\194\160', ('5'):rep(400) }
for text in
  ([[
    5 5. 5.0 .5e1 0x5 0X5 5e0 50e-1 05 0005 +5 -5 1e1 2.9 -0 0 1e400 -1e400 1e-400 0x10 300 9007199254740993
    x 5x x5 5,0 1,000 1_000 --5 0x 0xg 1e e1 . + - inf -inf nan infinity 0b101 5LL 5ULL 5i 1e1.5 true nil {} 5; (5) "5" %5 5%
  ]]):gmatch '%S+'
do
  STRINGS[#STRINGS + 1] = text
end
STRINGS[#STRINGS + 1] = (' '):rep(1000) .. '5'
STRINGS[#STRINGS + 1] = '5' .. (' '):rep(1000)

-- Whether a string is a decimal integer that a Lua number does not hold. As an element it is exact: see exact_spec.lua.
local function is_exact(text)
  return text:find '^%s*[+-]?%d+%s*$' and math.abs(tonumber(text)) >= 2 ^ 31
end

-- Calls f with the string and with its number: both have to give the same result, or fail.
local function same(f, text, context)
  local number = tonumber(text)
  local ok, result = pcall(f, text)
  if number == nil then
    assert.is_false(ok, context)
    assert.equal('string', type(result), context)
    return
  end
  local expected_ok, expected = pcall(f, number)
  assert.equal(expected_ok, ok, context)
  if ok then
    assert.is_true(expected == result or (expected ~= expected and result ~= result), context)
  end
end

describe('a string instead of a number', function()
  for _, T in ipairs(types.TORCH7) do
    it('means what tonumber returns, or is an error: ' .. T, function()
      local class = torch[T .. 'Storage']
      local uses = {
        set = function(v)
          local s = class(1)
          s[1] = v
          return s[1]
        end,
        ['set by hand'] = function(v)
          local s = class(1)
          getmetatable(s).__newindex__(s, 1, v)
          return s[1]
        end,
        fill = function(v)
          return class(3):fill(v)[3]
        end,
        table = function(v)
          return class({ 1, v })[2]
        end,
        resize = function(v)
          return #class(3):resize(v)
        end,
        reserve = function(v)
          return #class(3):reserve(v)
        end,
        ['view offset'] = function(v)
          return #class(class(20), v)
        end,
        ['view size'] = function(v)
          return #class(class(20), 1, v)
        end,
        unpack = function(v)
          return select('#', class(20):unpack(v))
        end,
        ['unpack to'] = function(v)
          return select('#', class(20):unpack(1, v))
        end,
      }
      for i, text in ipairs(STRINGS) do
        for name, use in pairs(uses) do
          -- Sizes that only memory limits are not tried.
          local number = tonumber(text)
          local skipped = (name == 'resize' or name == 'reserve') and number and number > 1e6 and number < 1e17
          local element = name:find '^set' or name == 'fill' or name == 'table'
          if not skipped and not (element and is_exact(text)) then
            same(use, text, ('%s, string %d: %q'):format(name, i, text))
          end
        end
      end
    end)

    it('is an index if it is a number, and otherwise a key that reads nil: ' .. T, function()
      local s = torch[T .. 'Storage'] { 1, 2, 3, 4, 5, 6 }
      local metatable = getmetatable(s)
      for i, text in ipairs(STRINGS) do
        local context = ('string %d: %q'):format(i, text)
        if tonumber(text) then
          same(function(k)
            return s[k]
          end, text, context)
          same(function(k)
            s[k] = 1
            local sum = 0
            for n = 1, 6 do
              sum = sum + s[n]
              s[n] = n
            end
            return sum
          end, text, context)
        else
          assert.is_nil(s[text], context)
          assert.is_false(metatable.__index__(s, text))
          assert.is_false(metatable.__newindex__(s, text, 1))
          assert.has_error(function()
            s[text] = 1
          end)
        end
        assert.same({ 1, 2, 3, 4, 5, 6 }, s:totable(), context)
      end
    end)
  end
end)

-- Numbers as indices, and the element that each one means in a storage of three.
local INDICES = {}
for expression in
  ([[
    1=1 2=2 3=3 1.5=1 1.999999999=1 3.5=3 3.9999999999999996=3 2-2^-52=1
    0 -0 0.5 0.9999999999999999 -0.5 -1 -1.5 4 4.5 1e15 1e300 -1e300 1e-300 1.7976931348623157e308 1/0 -1/0 0/0 -(0/0)
    2^31 2^31+1 -2^31 2^32 2^32+1 2^32+2 2^33+1 2^53 2^53+2 2^62 2^63 -2^63 2^63+2048 2^64 2^64+4096 -2^64
  ]]):gmatch '%S+'
do
  local index, element = expression:match '^([^=]+)=?(%d*)$'
  INDICES[#INDICES + 1] = { assert(loadstring('return ' .. index))(), tonumber(element) }
end

describe('an index', function()
  for _, T in ipairs(types.TORCH7) do
    it('is truncated and checked against the storage: ' .. T, function()
      local s = torch[T .. 'Storage'](torch[T .. 'Storage'] { 99, 11, 22, 33, 99 }, 2, 3)
      local metatable = getmetatable(s)
      local function read(k)
        return s[k]
      end
      local function write(k, v)
        s[k] = v
      end
      -- Twice, so that it is compiled as well.
      for round = 1, 10 do
        for i, case in ipairs(INDICES) do
          local k, element = case[1], case[2]
          for name, f in pairs {
            read = read,
            write = write,
            __index__ = metatable.__index__,
            __newindex__ = metatable.__newindex__,
          } do
            local ok, result
            if name:find '__' then
              ok, result = pcall(f, s, k, 44)
            else
              ok, result = pcall(f, k, 44)
            end
            assert.equal(element ~= nil, ok, i)
            if not ok then
              assert.is_truthy(result:find('is out of range: the storage has 3 elements, 1 to 3', 1, true), result)
            elseif name == 'read' or name == '__index__' then
              assert.equal(11 * element, result)
            else
              assert.equal(44, s[element])
              s[element] = 11 * element
            end
          end
        end
        if round == 10 then
          assert.same({ 11, 22, 33 }, s:totable())
        end
      end
    end)
  end

  it('is out of range for every empty storage', function()
    for _, T in ipairs(types.TORCH7) do
      for _, s in ipairs {
        torch[T .. 'Storage'](),
        torch[T .. 'Storage'](torch[T .. 'Storage'](3), 4),
        torch[T .. 'Storage'](0, 65536),
      } do
        for _, case in ipairs(INDICES) do
          assert.is_truthy(support
            .failure(function()
              return s[case[1]]
            end)
            :find('the storage is empty', 1, true))
          assert.has_error(function()
            s[case[1]] = 1
          end)
        end
      end
    end
  end)
end)
