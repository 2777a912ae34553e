-- Copies between complex classes and all others, compared with the conversion rules applied to their parts, for sizes that use
-- kernels, and for overlaps.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local complex = require 'spec.support.complex'
local support = require 'spec.support'
local types = require 'spec.support.types'
local PART, same = complex.PART, complex.same

after_each(accessors.restore)

local NAN, INF, NEGATIVE = 0 / 0, 1 / 0, -1 / (1 / 0)
local METHOD = { ComplexFloat = 'complex_float', ComplexDouble = 'complex_double' }

local function new(T, ...)
  return torch[T .. 'Storage'](...)
end

-- Numbers that each kind of class changes: by rounding, overflow, fractions, signs or NaN.
local NUMBERS =
  { 0, NEGATIVE, 1, -1, 0.5, -1.9, 2.5, 127, 128, 255, 256.7, 300, -129, 448, 465, 65504, 65520, 1e5, -1e5 }
for _, number in ipairs { 2 ^ 31, -(2 ^ 31) - 1, 2 ^ 24 + 1, 2 ^ 53, 1e19, -1e19, 3.4e38, 3.5e38, 1e300, 1e-45 } do
  NUMBERS[#NUMBERS + 1] = number
end
for _, number in ipairs { 5e-324, 1e-8, 0.1, 1 / 3, 1 + 2 ^ -8, 1 + 2 ^ -11 + 2 ^ -30, NAN, INF, -INF } do
  NUMBERS[#NUMBERS + 1] = number
end

-- Real and imaginary parts: each number combined with a few others.
local function parts(count)
  local re, im = {}, {}
  for i = 1, count do
    re[i] = NUMBERS[(i - 1) % #NUMBERS + 1]
    im[i] = NUMBERS[(i * 7 + math.floor((i - 1) / #NUMBERS)) % #NUMBERS + 1]
  end
  return re, im
end

local function made(T, re, im)
  local s = new(T, #re)
  for i = 1, #re do
    s:set(i, re[i], im[i])
  end
  return s
end

-- The real or imaginary parts of a complex storage, read through its memory, as a storage of the real class.
local function part(s, which)
  local T = s:type():match 'torch%.(.*)Storage'
  local all = s:view('torch.' .. PART[T] .. 'Storage')
  local one = new(PART[T], #s)
  for i = 1, #s do
    one[i] = all[2 * i - 2 + which]
  end
  return one
end

-- The count of elements that differ between two storages of one real class.
local function differing(a, b)
  local count = #a == #b and 0 or 1
  for i = 1, math.min(#a, #b) do
    count = count + (same(a[i], b[i]) and 0 or 1)
  end
  return count
end

-- The real storage that a complex storage has to become.
local function expected_real(D, s)
  local re, im = part(s, 1), part(s, 2)
  local expected = new(D, #s)
  if D ~= 'Bool' then
    return expected:copy(re)
  end
  for i = 1, #s do
    expected[i] = re[i] ~= 0 or im[i] ~= 0
  end
  return expected
end

-- All sizes in one way of access only: interpreted FFI accesses are slow.
local DEFAULT = torch.accessors()
local SIZES = { 0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 257, 4097, 70001 }

for _, access in ipairs(accessors.MODES) do
  describe('copies by accessors ' .. access, function()
    before_each(function()
      torch.accessors(access)
    end)

    for _, S in ipairs(types.COMPLEX) do
      it(('of a %sStorage to real classes drop the imaginary parts'):format(S), function()
        for _, size in ipairs(access == DEFAULT and SIZES or { 33 }) do
          local source = made(S, parts(size))
          for _, D in ipairs(types.NUMBERS) do
            local name = ('%s to %s, %d'):format(S, D, size)
            local expected = expected_real(D, source)
            local copied = new(D, size):copy(source)
            assert.equal(0, differing(expected, copied), name)
            assert.equal(0, differing(expected, source[D:lower()](source)), name)
            assert.equal(0, differing(expected, source:type('torch.' .. D .. 'Storage')), name)
            -- A copy into a range leaves the other elements unchanged.
            local among = new(D, size + 3):fill(1)
            among:copy(source, 3)
            assert.equal(0, differing(expected, among:sub(3, size + 2)), name)
            assert.equal('1 1 1', support.joined({ among[1], among[2], among[size + 3] }, ' '), name)
          end
        end
      end)

      it(('of real classes to a %sStorage get imaginary parts of 0'):format(S), function()
        for _, size in ipairs(access == DEFAULT and SIZES or { 33 }) do
          local numbers, zeros = parts(size), new(PART[S], size)
          for _, D in ipairs(types.NUMBERS) do
            local name = ('%s to %s, %d'):format(D, S, size)
            local source = new(D, numbers)
            local expected = new(PART[S], size):copy(source)
            local copied = new(S, size):fill({ 7, 7 }):copy(source)
            assert.equal(0, differing(expected, part(copied, 1)), name)
            assert.is_true(part(copied, 2):string() == zeros:string(), name)
            assert.is_true(source[METHOD[S]](source):string() == copied:string(), name)
            assert.is_true(source:type('torch.' .. S .. 'Storage'):string() == copied:string(), name)
            for i = 1, math.min(size, 50) do
              -- The same result as assigning the elements.
              local one = new(S, 1)
              one[1] = source[i]
              local assigned, of_copy = one:get(1), copied:get(i)
              -- A Lua number cannot hold every Long. As an integer, one that holds a UInt64 may be negative.
              assert.is_true(D == 'Long' or D == 'UInt64' or same(assigned, of_copy), name)
            end
          end
        end
      end)

      for _, D in ipairs(types.COMPLEX) do
        it(('of a %sStorage to a %sStorage convert each part'):format(S, D), function()
          for _, size in ipairs(access == DEFAULT and SIZES or { 33 }) do
            local source = made(S, parts(size))
            local copied = new(D, size):copy(source)
            for which = 1, 2 do
              local expected = new(PART[D], size):copy(part(source, which))
              assert.equal(0, differing(expected, part(copied, which)), size)
            end
            if S == D then
              assert.is_true(source:string() == copied:string())
              assert.is_true(rawequal(source[METHOD[D]](source), source))
            else
              assert.is_true(source[METHOD[D]](source):string() == copied:string())
            end
          end
        end)
      end

      it(('of raw bytes to and from a %sStorage change nothing'):format(S), function()
        local source = made(S, parts(100))
        local bytes = torch.UntypedStorage(source:nbytes()):copy(source)
        assert.is_true(bytes:string() == source:string())
        assert.is_true(new(S, 100):copy(bytes):string() == source:string())
        assert.is_true(source:type('torch.UntypedStorage'):string() == source:string())
        support.fails('length mismatch', source.copy, source, torch.UntypedStorage(100))
        -- A conversion by name treats the bytes as numbers.
        local values = torch.UntypedStorage({ 0, 1, 255 })[METHOD[S]](torch.UntypedStorage { 0, 1, 255 })
        assert.is_true(values:equal(new(S, { 0, 1, 255 })))
        -- rawcopy copies bytes, whatever the class.
        local double = torch.DoubleStorage(source:nbytes() / 8):rawcopy(source)
        assert.is_true(double:string() == source:string())
        assert.is_true(new(S, 100):rawcopy(double):string() == source:string())
        support.fails('mismatch', source.rawcopy, source, torch.FloatStorage(100 + S:len() * 100))
        support.fails('size mismatch: 100 elements expected, got 99', source.copy, source, torch.FloatStorage(99))
        support.fails(
          'size mismatch: 5 elements expected, got 100',
          torch.ByteStorage(5).copy,
          torch.ByteStorage(5),
          source
        )
      end)
    end

    it('keep all bits of 64-bit integers that fit in the parts #rounding', function()
      local long = torch.LongStorage.fromstring '\1\0\0\0\0\0\32\0\1\0\0\64\0\0\64\0'
      assert.is_true(same(2 ^ 53, (torch.ComplexDoubleStorage(2):copy(long):get(1))))
      -- 2^54 + 2^30 + 1: rounded once to a float it goes up.
      assert.equal(18014400656965632, (torch.ComplexFloatStorage(2):copy(long):get(2)))
    end)

    it('of millions of elements are right in every thread', function()
      local n = 2 ^ 20 + 3
      for _, S in ipairs(types.COMPLEX) do
        local source = new(S, n):fill({ 1.5, -2.25 }):fill({ 0, 3 }, n - 1)
        assert.is_true(new('Float', n):copy(source):equal(new('Float', n):fill(1.5):fill(0, n - 1)))
        assert.is_true(new('Bool', n):copy(source):equal(new('Bool', n):fill(true)))
        for _, D in ipairs(types.COMPLEX) do
          assert.is_true(new(D, n):copy(source):equal(new(D, n):fill({ 1.5, -2.25 }):fill({ 0, 3 }, n - 1)))
          assert.is_true(new(D, n):fill({ 5, 5 }):copy(new('Byte', n):fill(7)):equal(new(D, n):fill(7)))
        end
      end
    end)

    it('between overlapping views behave as if the source had been copied first', function()
      for _, S in ipairs(types.COMPLEX) do
        for _, size in ipairs { 40, access == DEFAULT and 5000 or 41 } do
          local n = size - 8
          for _, shift in ipairs { -3, -1, 0, 1, 2, 5 } do
            local s = made(S, parts(size))
            local expected = s:clone()
            for i = 1, n do
              expected[4 + shift + i - 1] = s[4 + i - 1]
            end
            s:sub(4 + shift, 4 + shift + n - 1):copy(s:sub(4, 4 + n - 1))
            assert.equal(0, differing(part(expected, 1), part(s, 1)), shift)
            assert.equal(0, differing(part(expected, 2), part(s, 2)), shift)
            local t = made(S, parts(size))
            t:copy(t, 4 + shift, 4, n)
            assert.is_true(t:string() == s:string())
          end
        end
      end
    end)

    it('between overlapping views of two classes do so too', function()
      for _, S in ipairs(types.COMPLEX) do
        for _, D in ipairs { 'Byte', 'Half', 'Float', 'Double', 'Long', 'Bool', 'ComplexFloat', 'ComplexDouble' } do
          for _, size in ipairs { 9, access == DEFAULT and 600 or 10 } do
            for _, offset in ipairs { 0, 8, 16, 40 } do
              local bytes = {}
              for i = 1, 40 * size + 64 do
                bytes[i] = (i * 37 + 11) % 120
              end
              bytes = torch.ByteStorage(bytes)
              for _, order in ipairs { { S, D }, { D, S } } do
                -- Once in separate memory and once in the same memory.
                local apart = torch.ByteStorage(bytes:totable())
                local from = apart:view(order[1] .. 'Storage', 0, size)
                local expected = new(order[2], size):copy(from:clone()):string()
                local here = torch.ByteStorage(bytes:totable())
                local source = here:view(order[1] .. 'Storage', 0, size)
                local target = here:view(order[2] .. 'Storage', offset, size)
                target:copy(source)
                assert.is_true(target:string() == expected, ('%s to %s at %d'):format(order[1], order[2], offset))
                here = torch.ByteStorage(bytes:totable())
                source = here:view(order[1] .. 'Storage', 40, size)
                target = here:view(order[2] .. 'Storage', offset, size)
                expected = new(order[2], size):copy(source:clone()):string()
                target:copy(source)
                assert.is_true(
                  target:string() == expected,
                  ('%s to %s from 40 to %d'):format(order[1], order[2], offset)
                )
              end
            end
          end
        end
      end
    end)
  end)
end
