-- How the elements of each kind are read and written by the FFI: the parts of the source that differ from class to class. They are
-- filled into the templates of accessor_source.lua, which says why nothing in them can be left out.
local jit = rawget(_G, 'jit')

-- `d` points to the first element, `v` is the number that is written.
local READ = [[
  if $same_p and $same_h and h.sizei == n and h.sizef == m then
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
  if $same_p and $same_h and h.sizei == n and h.sizef == m then
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
  if $same_p and $same_h and h.sizei == n and h.sizef == m then
    local real = e.re
    if $same_p and $same_h and h.sizei == n and h.sizef == m then
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
  if $same_p and $same_h and h.sizei == n and h.sizef == m then
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
-- Small floats by whole numbers: single precision rounded to nearest even, the smallest number that is too large and above as that
-- number. Subnormal numbers and not-a-numbers by C. `SIGN` is the sign that is left: a not-a-number has none, and neither has 0 in a
-- format with one zero.
local SMALL_FLOAT = [[
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
local NUMBERS = READ:gsub('d%[k %- 1%]', 'numbers[%0]')
-- How a class of small floats is accessed. Its entry has the format: bits of mantissa, the exponent's bias, and the bits of a number
-- that is too large.
local function small_float(entry)
  local mantissa, bias, overflow = entry.mantissa, entry.bias, entry.overflow
  local ctype = entry.width == 2 and 'uint16_t' or 'uint8_t'
  -- The exponent of single precision: rounded once, from the double.
  if bias == 127 then
    return { read = READ_BFLOAT16, write = BFLOAT16, ctype = ctype }
  end
  local top = 2 ^ (8 * entry.width - 1)
  local lost = 23 - mantissa
  local sign = ('band(rshift(bits, %d), 0x%x)'):format(32 - 8 * entry.width, top)
  local parts = {
    LEAST = ('0x%x'):format((128 - bias) * 2 ^ 23),
    BEYOND = ('0x%x'):format(overflow * 2 ^ lost + (127 - bias) * 2 ^ 23),
    LESS = ('0x%x'):format((127 - bias) * 2 ^ 23 - 2 ^ (lost - 1) + 1),
    LOST = tostring(lost),
    SIGN = sign,
    ZERO = entry.one_zero and '0' or sign,
  }
  -- What is too large has all bits but the sign set: a not-a-number. With one zero, the sign bit alone is the not-a-number.
  if overflow == top - 1 then
    parts.SIGN = 'band(rshift(bits, 24), lshift(rshift(v - 0x7f, 31), 7))'
  end
  return { read = NUMBERS, write = SMALL_FLOAT:gsub('%u%u+', parts), ctype = ctype }
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
local small_integer, int = { write = INTEGER }, { write = INTEGER, words = SMALL_WORDS }
local long = { read = READ:gsub('d%[k %- 1%]', 'tonumber(%0)'), write = LONG }
-- Any byte that is not 0 is true.
local bool = {
  read = READ:gsub('d%[k %- 1%]', 'min(%0, 1)'),
  write = 'v = (v ~= 0 and v ~= false) and 1 or 0',
  given = "(type(v) == 'number' or type(v) == 'boolean')",
}
-- By kind and width.
local kinds = {
  unsigned = { small_integer, small_integer },
  signed = { small_integer, small_integer, [4] = int, [8] = long },
  untyped = { small_integer },
  float = { [4] = float, [8] = double },
  complex = { [8] = complex_float, [16] = complex_double },
  bool = { bool },
}

-- How the class of an entry of `core.classes` is accessed.
return function(entry)
  local kind = entry.kind == 'small float' and small_float(entry) or kinds[entry.kind][entry.width]
  if not kind then
    error(('there are no accessors for the elements of %s, %s of %d bytes'):format(entry.name, entry.kind, entry.width))
  end
  kind.words = kind.words or WORDS
  kind.mid = kind.words == SMALL_WORDS
  kind.read = kind.read or READ
  return kind
end
