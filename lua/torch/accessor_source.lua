-- The Lua source of the functions that access elements by the FFI, class by class, and the C types that they look through.
--
-- Every clause of the templates is there because without it a plain Lua program crashes the host: metatables can be put on
-- strings, files and light userdata, methods can be called with a storage of another class, and a not-a-number with the right
-- payload is another Lua value to LuaJIT, which takes what the FFI loads as it is. What is unusual goes to the C function.
--
-- Finalizers can resize or free the very storage in the middle of its access, in two places. Where the interpreter runs, a
-- pointer or a whole number of 64 bits that is read makes a Lua object, so the collector may come. Where compiled code is left
-- for the interpreter, which goes on from the last comparison, it may come too; and what failed may be the caller's guard behind
-- it. Therefore:
--
-- - pointers are loaded first, then the words beside them are compared anew, then comes the access: none of that makes anything;
-- - whichever way a comparison goes, in the interpreter or in a trace that had it the other way, everything is compared anew
--   before the access. Ways on which that is not so are not traced;
-- - a comparison follows what is read, so that no exit leads back to before it.
--
-- LuaJIT also takes it that memory of one type is not that of another. Of views of another class the header's whole numbers are
-- -2, so that they go the way of the largest sizes, on which C is called before what is read and after what is written.
--
-- Out of contract: a debug hook, a JIT event handler or a profiler's callback that resizes or frees the very storage that is
-- accessed. It can run between any two steps of the interpreter.
local jit = rawget(_G, 'jit')

-- How the elements of a class are read and written: `d` points to the first, `v` is the number that is written.
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

-- What needs the size and no element: `n` is the size, below 0 where it is for C to say.
local SIZED = [[
local function $name(...)
  local $arguments = ...
  if $given$storage then
    local p = cast(payloads, self)
    if p.magic == magic then
      $remember_p
      local h = p.header
      if $same_p then
        local n = h.sizef
        if $same_p then
          if $right then
            return $result
          end
          return c_$name(...)
        end
      end
      return untraced_$name(...)
    end
  end
  return c_$name(...)
end]]
local function sized(parts)
  return (SIZED:gsub('%$([%a_]+)', parts))
end
local LEN = sized { name = 'len', arguments = 'self', given = '', right = 'n >= 0', result = 'n' }
local STEP = sized {
  name = 'step',
  arguments = 'self, i',
  given = "type(i) == 'number' and ",
  right = 'i >= 0 and i < n and i % 1 == 0',
  result = 'i + 1, index(self, i + 1)',
}
local ITERATE = sized { name = 'iterate', arguments = 'self', given = '', right = 'n >= 0', result = 'step, self, 0' }

-- Reading an element, for `s[k]` and `s:get(k)`. `$storage` stands for: self is a storage of this class.
local GETTER = [[
local function $name(...)
  local self, k = ...
  if type(k) == 'number' then
    if $storage then
      local p = cast(payloads, self)
      if p.magic == magic then
        $remember_p
        local h = p.header
        if $same_p then
          $remember_h
          $find
          if $same_p then
            local n, m = h.sizei, h.sizef
            if $same_p then
              if k >= 1 and (k <= n or k <= m) then
                if k > n then
                  fence()
                end
                $read
              else
                return c_$name(...)
              end
            end
          end
        end
        return untraced_$name(...)
      end
    end
  $by_name
  end
  return c_$name(...)
end]]
local BY_NAME = [[elseif type(k) == 'string' and $storage then
    local method = methods[k]
    if method ~= nil then
      return method
    end]]

-- Writing one, for `s[k] = v` and `s:set(k, v)`, of complex numbers `s:set(k, v, w)`.
local SETTER = [[
local function $name(...)
  local self, k, v, w = ...
  $first
  if type(k) == 'number' and $given and $storage then
    local p = cast(payloads, self)
    if p.magic == magic then
      $remember_p
      local h = p.header
      if $same_p then
        $remember_h
        $find
        $write
        if $same_p then
          local n = h.writei
          if $same_p then
            if k >= 1 and k <= n then
              if $same_p and $same_h and h.writei == n then
                $store
                return $back
              end
            elseif n >= 0 and n < 2147483647 then
              return c_$c(...)
            elseif $same_p then
              local m = h.writef
              if $same_p then
                if not (k >= 1 and k <= m) then
                  return c_$c(...)
                elseif $same_p and $same_h and h.writef == m then
                  $store
                  fence()
                  return $back
                end
              end
            end
          end
        end
      end
      return untraced_$c(...)
    end
  end
  return c_$c(...)
end]]

-- One chunk a class, so one prototype a class: functions that share a prototype are compiled for the first of them only.
local TEMPLATE = [[
local cast, payloads, metatable, magic, c, light, getmetatable, type, tonumber, min, band, bor, lshift, rshift, numbers, bits_of,
  single, double, huge, fence, fill, copy, others, new_table, new, complex, is_finite, of_table, c_step = ...
local nan = 0 / 0
local c_index, c_newindex, c_len, c_fill, c_copy, c_iterate = c.__index, c.__newindex, c.__len, c.fill, c.copy, c.iter
local c_totable, c_get, c_set = c.totable, c.get, c.set
local methods = metatable

-- A closure that is made is what LuaJIT does not compile: no trace goes on from here.
local function untraced(f)
  return function(...)
    return (function(...)
      return f(...)
    end)(...)
  end
end
local untraced_index, untraced_newindex, untraced_len = untraced(c_index), untraced(c_newindex), untraced(c_len)
local untraced_step, untraced_iterate = untraced(c_step), untraced(c_iterate)
local untraced_get, untraced_set = untraced(c_get), untraced(c_set)

$number_of
-- The C functions get what was given, so that they can tell nil from nothing.
$index

$get

$newindex_table

$newindex

$set

$len

local function fill_all(...)
  local self, v, first, last = ...
  -- Not `== nil`, which a null pointer is.
  if type(v) == 'number' and type(first) == 'nil' and type(last) == 'nil' and $storage then
    local p = cast(payloads, self)
    if p.magic == magic and fill(p, v) == 1 then
      return self
    end
  end
  return c_fill(...)
end

local function copy_all(...)
  local self, other, to, from, count = ...
  if type(other) == 'userdata' and type(to) == 'nil' and type(from) == 'nil' and type(count) == 'nil' and $storage then
    local p, theirs = cast(payloads, self), getmetatable(other)
    local magic_of_other = others[theirs]
    if p.magic == magic and magic_of_other and getmetatable(light) ~= theirs then
      local q = cast(payloads, other)
      if q.magic == magic_of_other and copy(p, q) == 1 then
        return self
      end
    end
  end
  return c_copy(...)
end

$step

$iterate

-- Below a few hundred elements C is done before this is compiled.
local function to_table(...)
  local self, first, last = ...
  if type(first) == 'nil' and type(last) == 'nil' and $storage then
    local n = len(self)
    -- More than a table can hold is for C to refuse.
    if n >= 300 and n <= 2 ^ 26 then
      local t = new_table(n, 0)
      for i = 1, n do
        t[i] = index(self, i)
      end
      return t
    end
  end
  return c_totable(...)
end

return {
  totable = to_table,
  __index = index,
  __newindex = newindex,
  __len = len,
  __len__ = len,
  size = len,
  get = get,
  set = set,
  fill = fill_all,
  copy = copy_all,
  iter = iterate,
}
]]
-- The source of the chunk of a class, and its C types: the header of a storage and the userdata's payload. `ctype` is that of the
-- elements, `fields` what a header has behind the pointer to them.
return function(class, ctype, fields)
  local kind = kinds[class]
  ctype = kind.ctype or ctype
  local words = kind.words or WORDS
  local mid = kind.words ~= nil
  local header = ('struct { union { %s *data; struct { %s }; }; %s }'):format(ctype, words, fields)
  local payload = ('struct { union { %s *header; struct { %s }; }; uintptr_t magic; }'):format(header, words)
  local common = {
    storage = "(type(self) == 'userdata' and getmetatable(self) == metatable and getmetatable(light) ~= metatable)",
    remember_p = mid and 'local p0, p1, p2 = p.low, p.high, p.mid' or 'local p0, p1 = p.low, p.high',
    same_p = mid and '(p.low == p0 and p.high == p1 and p.mid == p2)' or '(p.low == p0 and p.high == p1)',
    remember_h = mid and 'local h0, h1, h2 = h.low, h.high, h.mid' or 'local h0, h1 = h.low, h.high',
    same_h = mid and '(h.low == h0 and h.high == h1 and h.mid == h2)' or '(h.low == h0 and h.high == h1)',
    find = kind.find or 'local d = h.data',
    cell = kind.cell,
    store = kind.store or 'd[k - 1] = v',
    first = '',
  }
  -- The parts of parts come first: the text is long, and is gone through once.
  local function fill_in(text, own)
    return (text:gsub('%$([%a_]+)', own and setmetatable(own, { __index = common }) or common))
  end
  local function getter(name, result, by_name)
    local read = fill_in(kind.read or READ, { name = name, result = result })
    return fill_in(GETTER, { name = name, read = read, by_name = by_name })
  end
  local function setter(name, given, write, back, first, c)
    local parts = { name = name, given = given, back = back, first = first, c = c or name }
    parts.write = fill_in(write or '', { name = parts.c })
    return fill_in(SETTER, parts)
  end
  local given = kind.given or "type(v) == 'number'"
  local source = fill_in(TEMPLATE, {
    index = getter('index', kind.result, fill_in(BY_NAME)),
    get = getter('get', kind.parts, ''),
    number_of = kind.number_of and fill_in(kind.number_of) or '',
    newindex_table = kind.first
        and setter('newindex_table', kind.both, kind.write_both, '', 'v, w = of_table(v)', 'newindex')
      or '',
    newindex = setter('newindex', given, kind.write, '', kind.first),
    set = setter('set', kind.both or given .. " and type(w) == 'nil'", kind.write_both or kind.write, 'self'),
    len = fill_in(LEN),
    step = fill_in(STEP),
    iterate = fill_in(ITERATE),
  })
  return source, payload
end
