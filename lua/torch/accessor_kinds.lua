-- How the elements of each class are read and written by the FFI: what differs from class to class in the source. It is filled
-- into the templates of accessor_source.lua, which says why nothing in it can be left out.
local jit = rawget(_G, 'jit')

-- `d` points to the first element, `v` is the number that is written.
local READ = [[
  if $same_p and $same_h and h.int_read_limit == n and h.read_limit == m then
    local x = d[k - 1]
    if $same_p then
      return x
    end
  end
]]
-- Floats are read and written as whole numbers, their bits, which become numbers in `$cell`, where nobody else writes. So the
-- very bits that are read are asked whether they are a finite number, whoever changes the element meanwhile: a storage of another
-- class over the same file, or another process. What is not finite never becomes a number that way: arithmetic, too, can make
-- another Lua value of a not-a-number. A finalizer may use the cell between any two reads of the FFI: it is filled anew right
-- before it is read.
local FLOAT = [[
  if $same_p and $same_h and h.int_read_limit == n and h.read_limit == m then
    local bits = d[k - 1]
    if $same_p then
      if FINITE(bits) then
        $cell.bits = bits
        local x = $cell.value
        if $same_p then
          return x
        end
      else
        return number_of(bits)
      end
    end
  end
]]
-- Complex numbers as two floats. `$result` is both, or the FFI value that has them.
local COMPLEX = [[
  if $same_p and $same_h and h.int_read_limit == n and h.read_limit == m then
    local real = e.re
    if $same_p and $same_h and h.int_read_limit == n and h.read_limit == m then
      local imaginary = e.im
      if $same_p then
        if FINITE(real) and FINITE(imaginary) then
          $cell.bits = real
          local re = $cell.value
          $cell.bits = imaginary
          local im = $cell.value
          if $same_p then
            return $result
          end
        else
          local re, im = number_of(real), number_of(imaginary)
          return $result
        end
      end
    end
  end
]]
local NUMBER_OF = [[
local function number_of(bits)
  if FINITE(bits) then
    $cell.bits = bits
    return $cell.value
  end
  return bits == INFINITY and huge or bits == -INFINITY and -huge or nan
end
]]
local COMPLEX_BITS = [[
  $cell.value = re
  local re = $cell.bits
  $cell.value = im
  local im = $cell.bits
]]
-- LuaJIT narrows what it stores into an integer element; `min` keeps the sum that is stored a double, which x86 converts by the
-- rule for numbers that do not fit. Other CPUs convert otherwise: there such numbers go to C.
local on_x86 = jit.arch == 'x64' or jit.arch == 'x86'
local INTEGER = on_x86 and 'v = min(v, 2147483648)'
  or 'if not (v > -2147483649 and v < 2147483648) then return c_$name(...) end'
local LONG = on_x86 and 'v = min(v, 9223372036854775808)'
  or 'if not (v > -9007199254740992 and v < 9007199254740992) then return c_$name(...) end'
-- Halves by whole numbers: single precision rounded to nearest even, 2^16 and above infinite. Subnormal ones and not-a-numbers
-- by C.
local HALF = [[
  single.value = v
  local bits = single.bits
  local positive = band(bits, 0x7fffffff)
  if positive >= 0x38800000 and positive <= 0x7f800000 then
    v = rshift(min(positive, 0x47800000) - 0x37fff001 + band(rshift(bits, 13), 1), 13)
    v = bor(v, band(rshift(bits, 16), 0x8000))
  elseif positive == 0 then
    v = band(rshift(bits, 16), 0x8000)
  else
    v = bits_of(v)
  end
]]
-- Bfloat16 from the double's upper word, which is rounded once: of the lower one counts whether there is anything in it.
local BFLOAT16 = [[
  double.value = v
  local low, high = double.low, double.high
  local positive = band(high, 0x7fffffff)
  if positive >= 0x38100000 and positive < 0x7ff00000 then
    positive = bor(min(positive, 0x47f00000), rshift(bor(rshift(low, 1), band(low, 1)) + 0x7fffffff, 31))
    v = rshift(positive - 0x37fff001 + band(rshift(positive, 13), 1), 13)
    v = bor(v, band(rshift(high, 16), 0x8000))
  else
    v = bits_of(v)
  end
]]
-- A number is so many steps from the first that has its sign and exponent. A table of all would take half a megabyte.
local READ_BFLOAT16 = [[
  if $same_p and $same_h and h.int_read_limit == n and h.read_limit == m then
    local bits = d[k - 1]
    if $same_p then
      if band(bits, 0x7fff) <= 0x7f80 then
        local place = band(rshift(bits, 6), 0x3fe)
        return band(bits, 0x7f) * numbers[place] + numbers[place + 1]
      end
      return nan
    end
  end
]]
-- Floats of 8 bits as halves. `SIGN` is what is left of the sign: not-a-number has none, nor has 0 where there is one only.
local FLOAT8 = [[
  single.value = v
  local bits = single.bits
  local positive = band(bits, 0x7fffffff)
  if positive >= LEAST and positive <= 0x7f800000 then
    v = rshift(min(positive, BEYOND) - LESS + band(rshift(bits, LOST), 1), LOST)
    v = bor(v, SIGN)
  elseif positive == 0 then
    v = ZERO
  else
    v = bits_of(v)
  end
]]
local WORDS = 'uint32_t low, high;'
-- Where elements are stored as int32: the compiler would load words of 32 bits anew.
local SMALL_WORDS = 'uint16_t low, mid, high, none;'
local integer = { write = INTEGER }
local NUMBERS = READ:gsub('d%[k %- 1%]', 'numbers[%0]')
-- A format's bits of mantissa, its exponent's bias, and what would be the next number after the largest.
local function float8(mantissa, bias, beyond, sign)
  local lost = 23 - mantissa
  local _, exponent = math.frexp(beyond)
  local parts = {
    LEAST = ('0x%x'):format((128 - bias) * 2 ^ 23),
    BEYOND = ('0x%x'):format((beyond * 2 ^ (1 - exponent) + exponent + 125) * 2 ^ 23),
    LESS = ('0x%x'):format((127 - bias) * 2 ^ 23 - 2 ^ (lost - 1) + 1),
    LOST = tostring(lost),
    SIGN = sign or 'band(rshift(bits, 24), 0x80)',
    ZERO = bias % 2 == 0 and '0' or 'band(rshift(bits, 24), 0x80)',
  }
  return { read = NUMBERS, write = FLOAT8:gsub('%u%u+', parts), ctype = 'uint8_t' }
end
-- The kinds of a float and of the complex numbers of two. `ctype` is that of a float's bits; those of infinity are all set in
-- what is not finite.
local function floats(cell, ctype, infinity, negative, words)
  local function finite(bits)
    return ('band(%s, %s) ~= %s'):format(bits, infinity, infinity)
  end
  local number_of = NUMBER_OF:gsub('FINITE%((%l+)%)', finite):gsub('%-INFINITY', negative):gsub('INFINITY', infinity)
  return {
    read = FLOAT:gsub('FINITE%((%l+)%)', finite),
    number_of = number_of,
    write = '$cell.value = v v = $cell.bits',
    cell = cell,
    ctype = ctype,
    words = words,
  }, {
    find = 'local e = h.data[k - 1]',
    read = COMPLEX:gsub('FINITE%((%l+)%)', finite),
    number_of = number_of,
    result = 'new(complex, re, im)',
    parts = 're, im',
    given = "(type(v) == 'number' or is_finite(v))",
    write = "local re, im = v, 0 if type(v) ~= 'number' then re, im = v.re, v.im end " .. COMPLEX_BITS,
    -- What `set` does.
    both = "type(v) == 'number' and type(w) == 'number'",
    write_both = 'local re, im = v, w ' .. COMPLEX_BITS,
    store = 'e.re = re e.im = im',
    -- What `s[k] = v` does with a table: if it is a complex number, nothing of it is left in a trace.
    first = "if type(v) == 'table' then return newindex_table(...) end",
    cell = cell,
    ctype = ('struct { %s re, im; }'):format(ctype),
    words = words,
  }
end
local float, complex_float = floats('single', 'int32_t', '0x7f800000', '-0x800000', SMALL_WORDS)
local double, complex_double = floats('double', 'int64_t', '0x7ff0000000000000LL', '0xfff0000000000000LL')
local kinds = {
  Byte = integer,
  Char = integer,
  Short = integer,
  Untyped = integer,
  Int = { write = INTEGER, words = SMALL_WORDS },
  Long = { read = READ:gsub('d%[k %- 1%]', 'tonumber(%0)'), write = LONG },
  Half = { read = NUMBERS, write = HALF, ctype = 'uint16_t' },
  Float = float,
  Double = double,
  BFloat16 = { read = READ_BFLOAT16, write = BFLOAT16, ctype = 'uint16_t' },
  -- Any byte that is not 0 is true.
  Bool = {
    read = READ:gsub('d%[k %- 1%]', 'min(%0, 1)'),
    write = 'v = (v ~= 0 and v ~= false) and 1 or 0',
    given = "(type(v) == 'number' or type(v) == 'boolean')",
  },
  Float8_e4m3fn = float8(3, 7, 480, 'band(rshift(bits, 24), lshift(rshift(v - 0x7f, 31), 7))'),
  Float8_e5m2 = float8(2, 15, 65536),
  Float8_e4m3fnuz = float8(3, 8, 256),
  Float8_e5m2fnuz = float8(2, 16, 65536),
  ComplexFloat = complex_float,
  ComplexDouble = complex_double,
}

for _, kind in pairs(kinds) do
  kind.words = kind.words or WORDS
  kind.mid = kind.words == SMALL_WORDS
  kind.read = kind.read or READ
end

return kinds
