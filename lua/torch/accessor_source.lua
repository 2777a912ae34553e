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
local kind_of = require 'torch.accessor_kinds'

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
local own, shared = ...
local payloads, metatable, magic, c, c_step = own.payloads, own.metatable, own.magic, own.c, own.step
local numbers, bits_of = own.numbers, own.bits_of
local cast, getmetatable, type, tonumber, min = shared.cast, shared.getmetatable, shared.type, shared.tonumber, shared.min
local band, bor, lshift, rshift, huge = shared.band, shared.bor, shared.lshift, shared.rshift, shared.huge
local single, double, fence, fill, copy = shared.single, shared.double, shared.fence, shared.fill, shared.copy
local light, others, new_table = shared.light, shared.magics, shared.new_table
local new, complex, is_finite, of_table = shared.new, shared.complex, shared.is_finite, shared.of_table
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
-- The source of the chunk of a class, and its C types: the header of a storage and the userdata's payload. `entry` is that of the
-- class in `core.classes`; `fields` are those that a header has after the pointer to the elements.
return function(entry, fields)
  local kind = kind_of(entry)
  local ctype = kind.ctype or entry.ctype
  local words = kind.words
  local mid = kind.mid
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
    local read = fill_in(kind.read, { name = name, result = result })
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
