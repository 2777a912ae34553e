-- How the elements of each kind are read and written by the FFI: the parts of the source that differ from class to class. They
-- are filled into the templates of accessor_source.lua, which says why nothing in them can be left out.

-- The source of a class is made when a program uses the class. Until then the program may have replaced functions of the
-- libraries.
local format, gsub, setmetatable = string.format, string.gsub, setmetatable

-- Reading an integer. `d` points to the first element of the storage, and `$element` is the index of the element, from 0.
-- `$same_limit` compares the limit that allowed the index with what it was. The comparisons around the read are those of
-- hazards 3 and 4 in accessor_source.lua.
local READ = [[
  if $same_p and $same_h and $same_limit then
    local x = d[$element]
    if $same_p then
      return x
    end
  end
]]
-- Reading a float. Its bits are loaded as an integer `bits`. If they are those of a finite number, they become that
-- number in `$cell`, a union of integers and a float. Otherwise `number_of` returns an infinity or the NaN of Lua. The bits are
-- stored as an integer of 64 bits, because LuaJIT would load all words of 32 bits again after a store of 32 bits.
--
-- The element is loaded only once. If its bits were tested and then the float were loaded from the same address,
-- somebody could change the element in between: a storage of another class over the same file, or another process.
-- Nobody else writes to the cell. A NaN is never loaded as a float, because even arithmetic on it can make a NaN with
-- wrong bits.
--
-- All reads share the cell. A finalizer that reads an element fills it, too, so it is filled right before its float is read.
-- Writes have a cell of their own, `stored_` and the name of this one. When they shared it, `s[i] = s[i] + 1` took up to four
-- times as long in half of the processes, because the processor predicted wrongly which of two stores to the cell a load meets.
local FLOAT = [[
  if $same_p and $same_h and $same_limit then
    local bits = d[$element]
    if $same_p then
      if FINITE(bits) then
        $cell.loaded = bits
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
-- Reading a complex number as two floats. `e` refers to the element. Loading `e.re` may make an object and so call a
-- finalizer, so everything is compared again before `e.im` is loaded. `$result` is both parts, or the FFI value that
-- holds them.
local COMPLEX = [[
  if $same_p and $same_h and $same_limit then
    local real = e.re
    if $same_p and $same_h and $same_limit then
      local imaginary = e.im
      if $same_p then
        if FINITE(real) and FINITE(imaginary) then
          $cell.loaded = real
          local re = $cell.value
          $cell.loaded = imaginary
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
-- The number of a float's bits. Every NaN becomes the NaN of Lua.
local NUMBER_OF = [[
local function number_of(bits)
  if FINITE(bits) then
    $cell.loaded = bits
    return $cell.value
  end
  return bits == INFINITY and huge or bits == -INFINITY and -huge or nan
end
]]
-- The bits of both parts of a complex number, which is written as two integers.
local COMPLEX_BITS = [[
  stored_$cell.value = re
  local re = stored_$cell.bits
  stored_$cell.value = im
  local im = stored_$cell.bits
]]
-- Writing an integer of at most 32 bits. LuaJIT converts a number that fits in 32 bits with a sign in the same way on every
-- processor and in all its versions. They differ for other numbers, so `tobit` takes the low 32 bits of whole numbers below
-- 2^51. The C function converts what is larger, and NaN.
--
-- When a sum is stored in an integer element, LuaJIT may truncate both operands and add them as integers, and then -0.1 is
-- stored as -1 if it was computed as 1.9 - 2. LuaJIT does not do that to the result of `min`.
local INTEGER = [[
  local x = min(v, 2251799813685248)
  if not (x > -2147483649 and x < 2147483648) then
    if not (x > -2251799813685248 and x < 2251799813685248) then
      return c_$name($arguments)
    end
    x = tobit(x < 0 and ceil(x) or floor(x))
  end
]]
-- Writing an integer of 64 bits. The C function converts numbers that do not fit in 64 bits with a sign.
local LONG = [[
  local x = min(v, 9223372036854775808)
  if not (x >= -9223372036854775808 and x < 9223372036854775808) then
    return c_$name($arguments)
  end
]]
-- Writing a bfloat16. The bits of the double are rounded to nearest even. C converts numbers that are subnormal or too large, and
-- NaNs. Reading `bits` may make an object and so call a finalizer, so it is the last thing that is read from the cell. The shift
-- leaves the sign of the double in bit 18 of `x`, which is not stored.
local BFLOAT16 = [[
  stored_double.value = v
  local high, bits = stored_double.high, stored_double.bits
  local positive, x = band(high, 0x7fffffff), nil
  if positive >= 0x38100000 and positive < 0x47eff000 then
    x = tobit(rshift(bits - 0x37fff00000000001LL + band(rshift(bits, 45), 1), 45))
    x = bor(x, band(rshift(high, 16), 0x8000))
  elseif v == 0 then
    x = band(rshift(high, 16), 0x8000)
  else
    x = bits_of(v)
  end
]]
-- Reading a bfloat16. For each sign and exponent, `numbers` holds the distance between two neighbouring numbers, and
-- the first number. The element is the first number plus its mantissa times the distance. A table of all numbers would
-- take half a megabyte.
local READ_BFLOAT16 = [[
  if $same_p and $same_h and $same_limit then
    local bits = d[$element]
    if $same_p then
      if band(bits, 0x7fff) <= 0x7f80 then
        local place = band(rshift(bits, 6), 0x3fe)
        return band(bits, 0x7f) * numbers[place] + numbers[place + 1]
      end
      return nan
    end
  end
]]
-- Writing another small float. The number is rounded to single precision, and the bits of that are rounded to nearest even. All
-- numbers that are too large become the same bits. C converts subnormal numbers, and what `NUMBER` excludes: NaNs, if the format
-- has an infinity. `SIGN` is the sign of the result.
local SMALL_FLOAT = [[
  stored_single.value = v
  local bits = stored_single.bits
  local positive, x = band(bits, 0x7fffffff), nil
  if positive >= LEAST and NUMBER then
    x = rshift(min(positive, BEYOND) - LESS + band(rshift(bits, LOST), 1), LOST)
    x = bor(x, SIGN)
  elseif positive == 0 then
    x = ZERO
  else
    x = bits_of(v)
  end
]]
-- The words of a pointer, for comparisons that make no object. LuaJIT assumes that a store of an int32 element may
-- change a word of 32 bits, and would load the words again after each store. So classes whose elements are stored as
-- int32 use words of 16 bits. Three of them are enough, because addresses have at most 48 bits.
local WORDS = 'uint32_t low, high;'
local SMALL_WORDS = 'uint16_t low, mid, high, none;'
-- For the same reason those classes read a limit of 32 bits as two halves.
local HALF_LIMITS = 'union { int %1_limit; struct { uint16_t %1_low; int16_t %1_high; }; }'
if not require('ffi').abi 'le' then
  HALF_LIMITS = 'union { int %1_limit; struct { int16_t %1_high; uint16_t %1_low; }; }'
end
local NUMBERS = gsub(READ, 'd%[%$element%]', 'numbers[%0]')
-- How a class of small floats is accessed. Its entry has the format: the bits of the mantissa, the bias of the exponent, and the
-- bits of a number that is too large.
local function small_float(entry)
  local mantissa, bias, overflow = entry.mantissa, entry.bias, entry.overflow
  local ctype = entry.width == 2 and 'uint16_t' or 'uint8_t'
  -- With the exponent of single precision (bfloat16) it is rounded once, from the double.
  if bias == 127 then
    return { read = READ_BFLOAT16, write = BFLOAT16, ctype = ctype }
  end
  local top = 2 ^ (8 * entry.width - 1)
  local lost = 23 - mantissa
  local sign = format('band(rshift(bits, %d), 0x%x)', 32 - 8 * entry.width, top)
  local parts = {
    LEAST = format('0x%x', (128 - bias) * 2 ^ 23),
    NUMBER = 'positive <= 0x7f800000',
    BEYOND = format('0x%x', overflow * 2 ^ lost + (127 - bias) * 2 ^ 23),
    LESS = format('0x%x', (127 - bias) * 2 ^ 23 - 2 ^ (lost - 1) + 1),
    LOST = lost,
    SIGN = sign,
    ZERO = entry.one_zero and '0' or sign,
  }
  -- Without an infinity, a number that is too large becomes the NaN of the format, as a NaN does.
  if overflow >= top - 1 then
    parts.NUMBER = 'true'
  end
  -- The NaN that has all bits set except the sign has no sign. The difference is negative for the numbers that do not become NaN.
  if overflow == top - 1 then
    local nan = overflow * 2 ^ lost + (127 - bias) * 2 ^ 23 - 2 ^ (lost - 1) + 1
    parts.SIGN = format('band(rshift(band(bits, positive - 0x%x), 24), 0x80)', nan)
  end
  return { read = NUMBERS, write = gsub(SMALL_FLOAT, '%u%u+', parts), ctype = ctype }
end
-- The kinds of a float class, and of the complex class of two such floats. `ctype` is the C type of a float's bits.
-- `infinity` and `negative` are the bits of the two infinities. A float is not finite if all bits of `infinity` are set
-- in it.
local function floats(cell, ctype, infinity, negative, words)
  local function finite(bits)
    return ('band(%s, %s) ~= %s'):format(bits, infinity, infinity)
  end
  local number_of = NUMBER_OF:gsub('FINITE%((%l+)%)', finite):gsub('%-INFINITY', negative):gsub('INFINITY', infinity)
  return {
    read = FLOAT:gsub('FINITE%((%l+)%)', finite),
    number_of = number_of,
    write = 'stored_$cell.value = v local x = stored_$cell.bits',
    cell = cell,
    ctype = ctype,
    words = words,
  }, {
    find = 'local e = h.data[$element]',
    read = COMPLEX:gsub('FINITE%((%l+)%)', finite),
    number_of = number_of,
    result = 'new(complex, re, im)',
    parts = 're, im',
    given = "(type(v) == 'number' or is_finite(v))",
    write = "local re, im = v, 0 if type(v) ~= 'number' then re, im = v.re, v.im end " .. COMPLEX_BITS,
    -- For `s:set(k, re, im)`.
    both = "type(v) == 'number' and type(w) == 'number'",
    write_both = 'local re, im = v, w ' .. COMPLEX_BITS,
    store = 'e.re = re e.im = im',
    -- For `s[k] = v` with a table. In compiled code a table { re, im } is never made, because only its parts are used.
    first = "if type(v) == 'table' then return newindex_table(...) end",
    cell = cell,
    ctype = ('struct { %s re, im; }'):format(ctype),
    words = words,
  }
end
local float, complex_float = floats('single', 'int32_t', '0x7f800000', '-0x800000', SMALL_WORDS)
local double, complex_double = floats('double', 'int64_t', '0x7ff0000000000000LL', '0xfff0000000000000LL')
local small_integer, int = { write = INTEGER }, { write = INTEGER, words = SMALL_WORDS }
local long = { read = gsub(READ, 'd%[%$element%]', 'tonumber(%0)'), write = LONG }
-- Unsigned integers of 32 and 64 bits are written as integers with a sign. An integer with the same low bits has the same bytes.
local uint32 = { write = INTEGER, words = SMALL_WORDS, written = 'int32_t' }
local uint64 = { read = long.read, write = LONG, written = 'int64_t' }
-- Any byte but 0 is read as 1.
local bool = {
  read = gsub(READ, 'd%[%$element%]', 'min(%0, 1)'),
  write = 'local x = (v ~= 0 and v ~= false) and 1 or 0',
  given = "(type(v) == 'number' or type(v) == 'boolean')",
}
-- The kinds of `entry.kind`, by the width of the element in bytes.
local kinds = {
  unsigned = { small_integer, small_integer, [4] = uint32, [8] = uint64 },
  signed = { small_integer, small_integer, [4] = int, [8] = long },
  untyped = { small_integer },
  float = { [4] = float, [8] = double },
  complex = { [8] = complex_float, [16] = complex_double },
  bool = { bool },
}

-- The locals of a chunk that the parts use. Each chunk gets two tables: what belongs to its class, and what all chunks share.
local LOCALS = [[
local own, shared = ...
local payloads, metatable, magic, c = own.payloads, own.metatable, own.magic, own.c
local magic_low, magic_high, numbers, bits_of = own.magic_low, own.magic_high, own.numbers, own.bits_of
local magic_0, magic_1, magic_2, magic_3 = own.magic_0, own.magic_1, own.magic_2, own.magic_3
local cast, getmetatable, type, tonumber = shared.cast, shared.getmetatable, shared.type, shared.tonumber
local min, max = shared.min, shared.max
local band, bor, lshift, rshift, huge = shared.band, shared.bor, shared.lshift, shared.rshift, shared.huge
local tobit, floor, ceil = shared.tobit, shared.floor, shared.ceil
local single, double, fence, light = shared.single, shared.double, shared.fence, shared.light
local stored_single, stored_double = shared.stored_single, shared.stored_double
local new, complex, is_finite, of_table = shared.new, shared.complex, shared.is_finite, shared.of_table
local nan = 0 / 0
local methods = metatable

-- Calls `f` so that LuaJIT gives up recording, for rule b of hazard 4: LuaJIT does not compile code that makes a closure.
local function untraced(f)
  return function(...)
    return (function(...)
      return f(...)
    end)(...)
  end
end
$number_of]]

-- The magic word in a payload. LuaJIT assumes that a store of 64 bits may change a word of 64 bits, and would load and compare it
-- again after each store to an element or to the cell of the floats. So it is compared in two halves. Classes whose elements are
-- stored as int32 compare four quarters.
local MAGIC = 'union { uintptr_t magic; struct { int32_t magic_low, magic_high; }; '
  .. 'struct { uint16_t magic_0, magic_1, magic_2, magic_3; }; };'
local SAME_HALVES = '(p.magic_low == magic_low and p.magic_high == magic_high)'
local SAME_QUARTERS =
  '(p.magic_0 == magic_0 and p.magic_1 == magic_1 and p.magic_2 == magic_2 and p.magic_3 == magic_3)'

-- The kind of the class of an entry of `core.classes`. `fields` declares the fields of a header that follow the pointer to the
-- elements. `element` is the text of an element's index, from 0.
return function(entry, fields, element)
  local kind = entry.kind == 'small float' and small_float(entry) or kinds[entry.kind][entry.width]
  if not kind then
    error(format("%s: no accessors for elements of kind '%s' with %d bytes", entry.name, entry.kind, entry.width))
  end
  local words = kind.words or WORDS
  local mid = words == SMALL_WORDS
  local ctype = kind.ctype or entry.ctype
  local find = kind.find and gsub(kind.find, '%$element', element)
  local common = {
    -- Also used for tensors, which have metatables and magic words of their own.
    storage = "(type(self) == 'userdata' and getmetatable(self) == metatable and getmetatable(light) ~= metatable)",
    remember_p = mid and 'local p0, p1, p2 = p.low, p.high, p.mid' or 'local p0, p1 = p.low, p.high',
    same_p = mid and '(p.low == p0 and p.high == p1 and p.mid == p2)' or '(p.low == p0 and p.high == p1)',
    remember_h = mid and 'local h0, h1, h2 = h.low, h.high, h.mid' or 'local h0, h1 = h.low, h.high',
    same_h = mid and '(h.low == h0 and h.high == h1 and h.mid == h2)' or '(h.low == h0 and h.high == h1)',
    same_magic = mid and SAME_QUARTERS or SAME_HALVES,
    int_read_limit = mid and 'bor(h.int_read_low, lshift(h.int_read_high, 16))' or 'h.int_read_limit',
    int_write_limit = mid and 'bor(h.int_write_low, lshift(h.int_write_high, 16))' or 'h.int_write_limit',
    find = find or 'local d = h.data',
    find_written = find or 'local d = h.written',
    cell = kind.cell,
    element = element,
    store = kind.store or format('d[%s] = x', element),
    first = '',
  }
  -- Fills in a text with parts of its own and the common ones. Parts that contain other parts are filled in before they are
  -- inserted, so that a long text is searched only once.
  local function fill_in(text, own)
    return (gsub(text, '%$([%a_]+)', own and setmetatable(own, { __index = common }) or common))
  end
  common.locals = fill_in(LOCALS, { number_of = kind.number_of and fill_in(kind.number_of) or '' })
  return setmetatable({
    fill_in = fill_in,
    given = kind.given or "type(v) == 'number'",
    read = kind.read or READ,
    -- For `s:exact(k)`: an integer of 64 bits as it is. The other classes have numbers that hold every element.
    exact = entry.width == 8 and (entry.kind == 'signed' or entry.kind == 'unsigned') and READ or nil,
    -- Whether compiled code stores integers of 32 bits.
    stores_words = mid,
    -- The C type of a payload, which contains the type of a header. `rest` declares what follows the magic word.
    payload = function(rest)
      local limits = mid and gsub(fields, 'int (int_%l+)_limit', HALF_LIMITS) or fields
      local header = format(
        'struct { union { %s *data; %s *written; struct { %s }; }; %s }',
        ctype,
        kind.written or ctype,
        words,
        limits
      )
      return format('struct { union { %s *header; struct { %s }; }; %s %s }', header, words, MAGIC, rest)
    end,
  }, { __index = kind })
end
