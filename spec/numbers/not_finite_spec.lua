-- Infinities and NaN as elements, mainly in compiled loops: they are read as what they are, whatever their bits, also when
-- other values were written before.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

after_each(accessors.restore)

local INF, NAN = 1 / 0, 0 / 0

-- Bits of floats in 16-bit words, lowest first, and the numbers they represent.
local SINGLE = {
  { '\0\0\128\127', INF },
  { '\0\0\128\255', -INF },
  { '\0\0\192\127', NAN },
  { '\0\0\192\255', NAN },
  { '\1\0\128\127', NAN },
  { '\255\255\255\255', NAN },
  { '\160\255\255\255', NAN },
  { '\255\255\127\127', (2 - 2 ^ -23) * 2 ^ 127 },
  { '\1\0\0\128', -2 ^ -149 },
}
local DOUBLE = {
  { '\0\0\0\0\0\0\240\127', INF },
  { '\0\0\0\0\0\0\240\255', -INF },
  { '\0\0\0\0\0\0\248\127', NAN },
  { '\0\0\0\0\0\0\248\255', NAN },
  { '\1\0\0\0\0\0\240\127', NAN },
  { '\0\0\0\0\1\0\240\255', NAN },
  { '\255\255\255\255\255\255\255\255', NAN },
  { '\0\16\0\0\0\128\253\255', NAN }, -- the tag of another kind of Lua value in LuaJIT
  { '\255\255\255\255\255\255\239\127', (2 - 2 ^ -52) * 2 ^ 1023 },
  { '\1\0\0\0\0\0\0\128', -2 ^ -1074 },
}

local function same(a, b)
  return type(a) == 'number' and (a == b or a ~= a and b ~= b)
end

-- A loop function of its own for each use, compiled for one class.
local function loop(text)
  return assert(loadstring(text))()
end

describe('an element that is not finite', function()
  for _, mode in ipairs(accessors.MODES) do
    for T, list in pairs { Float = SINGLE, Double = DOUBLE } do
      it(('is read correctly from a %sStorage by %s'):format(T, mode), function()
        torch.accessors(mode)
        local bytes = {}
        for i = 1, 300 do
          bytes[i] = list[i % #list + 1][1]
        end
        local s = torch[T .. 'Storage'].fromstring(table.concat(bytes))
        local read = loop [[
          return function(s, list, same)
            local wrong = 0
            for i = 1, #s do
              if not same(s[i], list[i % #list + 1][2]) then wrong = wrong + 1 end
            end
            return wrong
          end
        ]]
        assert.equal(0, read(s, list, same))
        assert.equal(0, read(s, list, same))
      end)

      it(('is read correctly from a Complex%sStorage by %s'):format(T, mode), function()
        torch.accessors(mode)
        local bytes, parts = {}, {}
        for i = 1, 400 do
          local part = list[(i % 2 == 0 and i or i * 7) % #list + 1]
          bytes[i], parts[i] = part[1], part[2]
        end
        local s = torch['Complex' .. T .. 'Storage'].fromstring(table.concat(bytes))
        local read = loop [[
          return function(s, parts, same)
            local wrong = 0
            for i = 1, #s do
              local z, re, im = s[i], s:get(i)
              if not (same(z.re, parts[2 * i - 1]) and same(z.im, parts[2 * i])) then wrong = wrong + 1 end
              if not (same(re, z.re) and same(im, z.im)) then wrong = wrong + 1 end
            end
            return wrong
          end
        ]]
        assert.equal(0, read(s, parts, same))
        assert.equal(0, read(s, parts, same))
      end)
    end

    -- LuaJIT assumes that a write of a float does not change words that were read.
    for _, T in ipairs { 'Float', 'Double', 'ComplexFloat', 'ComplexDouble' } do
      it(('is noticed when it is written and when it is overwritten: %s by %s'):format(T, mode), function()
        torch.accessors(mode)
        local s = torch[T .. 'Storage'](4)
        local alternate = loop [[
          return function(s, real, same, inf, nan)
            local wrong = 0
            for i = 1, 400 do
              s[2] = nan
              if not same(real(s[2]), nan) then wrong = wrong + 1 end
              s[2] = i
              if not same(real(s[2]), i) then wrong = wrong + 1 end
              s[2] = -inf
              if not same(real(s[2]), -inf) then wrong = wrong + 1 end
              s[3] = s[2]
              s[2] = s[1]
              if not (same(real(s[2]), 0) and same(real(s[3]), -inf)) then wrong = wrong + 1 end
            end
            return wrong
          end
        ]]
        local is_complex = T:find 'Complex'
        local function real(z)
          return is_complex and z.re or z
        end
        assert.equal(0, alternate(s, real, same, INF, NAN))
        -- Until it is overwritten.
        local wait = loop [[
          return function(s, real, nan)
            s[1] = nan
            local turns = 0
            for i = 1, 1000 do
              local x = real(s[1])
              if x == x then break end
              turns = i
              if i == 300 then s[1] = 5 end
            end
            return turns
          end
        ]]
        assert.equal(300, wait(s, real, NAN))
        assert.equal(300, wait(s, real, NAN))
        -- The value is known only when the loop runs, so the loop is compiled for values that are not finite. Through two
        -- storages: with one, LuaJIT knows that the words belong to its floats.
        local written = [[
          return function(s, view, values)
            local wrong = 0
            for i = 1, #values do
              s[1] = values[i]
              local x = view[1]$re
              if not (x == values[i] or x ~= x and values[i] ~= values[i]) then wrong = wrong + 1 end
            end
            return wrong
          end
        ]]
        for _, first in ipairs { NAN, INF, 1 } do
          for _, second in ipairs { 2, -INF, NAN } do
            local values = {}
            for i = 1, 400 do
              values[i] = i <= 300 and first or second
            end
            assert.equal(
              0,
              loop((written:gsub('%$re', is_complex and '.re' or '')))(s, s:sub(1), values),
              ('%s then %s'):format(first, second)
            )
          end
        end
      end)
    end
  end

  it('is the same in every way of access, in random loops', function()
    if not support.luajit then
      return
    end
    local generator = 7
    local function dice(n)
      generator = (generator * 16807) % 2147483647
      return generator % n + 1
    end
    for _, T in ipairs { 'Float', 'Double', 'ComplexFloat', 'ComplexDouble' } do
      local s = torch[T .. 'Storage'](8)
      local bytes = s:untyped():view 'int16'
      local run = loop [[
        return function(s, bytes, dice, real, model, same)
          local wrong = 0
          for _ = 1, 3000 do
            local k, what = dice(#s), dice(6)
            if what == 1 then
              s[k] = 0 / 0
            elseif what == 2 then
              s[k] = 1 / 0
            elseif what == 3 then
              s[k] = k
            elseif what == 4 then
              bytes[dice(#bytes)] = 0xfff0 + dice(15)
            elseif what == 5 then
              s[k] = s[dice(#s)]
            end
            local x = real(s[k])
            if not same(x, model(s, k)) then wrong = wrong + 1 end
          end
          return wrong
        end
      ]]
      local is_complex = T:find 'Complex'
      local function real(z)
        return is_complex and z.re or z
      end
      -- Checked through C, which reads the memory itself.
      local unpack_of_c = s.unpack
      local function model(storage, k)
        return real((unpack_of_c(storage, k, k)))
      end
      assert.equal(0, run(s, bytes, dice, real, model, same), T)
    end
  end)
end)
