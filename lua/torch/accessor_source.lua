-- The source of the Lua functions that access elements through the FFI, one chunk a class, with their C types.
--
-- The functions read two C structures. The userdata of a storage holds the payload `p`: the address of the header,
-- and the magic word of the class. The header `h` holds the address of the elements, and the limits that an index
-- must not exceed.
--
-- The FFI checks nothing. Each clause of the templates prevents one of the five hazards below: without it, some plain
-- Lua program crashes the host or reads wrong elements. What a clause turns down goes to the C function, which checks
-- everything again and raises the error.
--
-- Hazard 1: values that pretend to be storages (spec/safety/spoof_spec.lua)
--
-- A program can call these functions with any value. With `debug.setmetatable` it can give the metatable of a class
-- to strings, files, light userdata and storages of other classes. With a field `__metatable`, any userdata can show
-- that metatable.
--
-- `$storage` accepts only full userdata that show the metatable of this class. `type` does not tell light userdata
-- from full ones. But all light userdata share one metatable, so if the sample `light` shows the metatable of this
-- class, the C function decides. The magic word then turns down other userdata and storages of other classes.
--
-- Hazard 2: NaNs that LuaJIT takes for other values (spec/jit/computed_spec.lua, spec/jit/map_compiled_spec.lua)
--
-- LuaJIT represents values that are not numbers by the bits of certain NaNs, and the FFI loads a double as it is. An
-- element with such bits would be a false pointer. So floats are loaded as integers, and become numbers only if they
-- are finite: see accessor_kinds.lua.
--
-- Hazard 3: a finalizer that runs in the interpreter (spec/jit/access_finalizer_spec.lua)
--
-- A finalizer is Lua code, and may resize or free the very storage that is being accessed. In the interpreter,
-- reading a pointer or a 64-bit integer through the FFI makes a Lua object, so the collector may run there and call
-- finalizers. Without a check this could happen: the interpreter reads `h.data` into `d`; a finalizer resizes the
-- storage, which frees the old memory; the interpreter reads `d[k - 1]` in freed memory.
--
-- So the words of a pointer are kept as numbers before the pointer itself is read (`$remember_p`, `$remember_h`).
-- When all pointers have been read, the words in memory are compared with those numbers: `$same_p` checks that `p`
-- still points to `h`, and `$same_h` that `h` still points to the elements. The limits are compared in the same way.
-- Reading and comparing numbers makes no object, so no finalizer can run between these comparisons and the access.
--
-- Hazard 4: a finalizer that runs where a trace exits (spec/jit/trace_exit_spec.lua)
--
-- When a guard fails in compiled code, LuaJIT may call finalizers before the interpreter takes over. The interpreter
-- then resumes at the last snapshot before that guard. LuaJIT takes a snapshot at each comparison. Three rules
-- follow:
--
-- a) Every branch compares the pointers and limits again before it accesses memory through them. The reason: after
--    the guard of a comparison has failed, the interpreter does not repeat the comparison, but resumes in the branch
--    that the trace did not take. Without this rule the following could happen. A trace is recorded while indices are
--    out of range. Later an index is in range, so the guard of `k <= n` fails. A finalizer frees the storage. The
--    interpreter resumes in the branch for indices in range, and accesses freed memory.
--
-- b) No trace is recorded in which one of these last comparisons is false. If there were such a trace, and the
--    comparison were true later, its guard would fail and the interpreter would resume right at the access (see a). A
--    finalizer may have run just before. So a function calls `untraced_NAME` where such a comparison is false, which
--    makes LuaJIT give up recording.
--
-- c) Each read is followed by one more comparison, as in `if $same_p then return x end`. The reason: a guard behind
--    the read may fail, too, even one of the caller. Without this rule the following could happen. A loop computes
--    `s[i] + t[i]`, and `t[i]` is not a number. A finalizer frees `s`. The interpreter resumes at the last snapshot,
--    which is between the comparisons and the read, and reads freed memory. With the additional comparison the last
--    snapshot is behind the read. A store needs none, because LuaJIT takes a snapshot after each store.
--
-- Hazard 5: compiled code that keeps old elements (spec/jit/view_compiled_spec.lua)
--
-- LuaJIT assumes that memory that is accessed as one type is not accessed as another. So a compiled loop may keep an
-- element that it has read, although the loop changes its bytes through a view of another class. LuaJIT gives up this
-- assumption only at calls of C functions.
--
-- So the header of a view of another class has -2 as its 32-bit limits. Every index is above that, and the access
-- takes the path for storages whose size needs more than 32 bits. That path compares with the limit that is a double.
-- It calls the empty C function `fence` before it reads an element and after it writes one. The tensors of a loaded file are
-- parts of one map, but no two of them share bytes, so this does not concern them.
--
-- What LuaJIT does, as its traces show it
--
-- The traces of LuaJIT of 2022, of OpenResty's LuaJIT and of the current one were compared, class by class. The first two are
-- equal. The current one differs in three ways, none of which matters here:
--
-- * It has no guards for upvalues that never change.
-- * A comparison of two equal words of 32 bits becomes nothing. The older ones keep a guard that cannot fail. The snapshots
--   around such a comparison are taken while the comparison is recorded, whatever becomes of it, so the rules of hazard 4 hold.
-- * A number that is stored in an integer is first converted to 64 bits. Its range was checked, so the result is the same.
--
-- spec/jit/traces_spec.lua reads the traces on every LuaJIT that runs the specs. Between an access and the next guard there is a
-- snapshot (rule c). All objects for pointers are sunk, that is, made only where the trace is left. At a view of another class
-- there is a call of `fence`, and behind it everything is loaded again.
--
-- In each pass of a loop over a local storage remain the two comparisons of the index, the load or store of the element, and for
-- floats:
--
-- * reading: the test of whether the bits are finite, a store of the bits to the cell, and a load of the number from there.
--   LuaJIT has no instruction that takes the bits of an integer for a float, and loading the element twice would not be safe
--   (hazard 2).
-- * writing: a store of the number to the other cell, and a load of the bits. If elements were stored as floats and loaded as
--   integers, LuaJIT would assume that the stores do not change what it has loaded (hazard 5).
--
-- If the storage is an open upvalue, LuaJIT also checks in each pass that the upvalue is still open: five instructions. It makes
-- this check once only if the trace has no instruction that makes an object, not even one that is sunk. `h` and `d` are such
-- objects. If they were numbers, addressing an element would take two instructions more.
--
-- Some clauses are a second safeguard, so no spec fails if one of them alone is left out:
--
-- * Rule b: a finalizer also ends a recording, so such a trace cannot arise today.
-- * The comparisons of hazard 3 before the last ones: they only keep the interpreter from reading the header of a freed storage.
--   The last ones decide about the access. Among those, `$same_p` alone: the freed header rarely keeps its contents.
-- * The comparison of the metatable in `$storage`: the magic word tells storages from other userdata, too, but it lies beyond the
--   end of small ones.
-- * `$same_p` between the bits of a float and the test of whether they are finite: nothing between the two can fail.
--
-- Not prevented: a debug hook, a JIT event handler or a callback of the profiler can run between any two steps of the
-- interpreter. docs/safety.md says that it must not resize or free the very storage that is being accessed.
local kind_of = require 'torch.accessor_kinds'

-- A function that needs the size `n`, but no element. The size of a freed storage is -1. If `$right` is false, the C function
-- decides.
local SIZED = [[
local function $name(...)
  local $arguments = ...
  if $given$storage then
    local p = cast(payloads, self)
    if $same_magic then
      $remember_p
      local h = p.header
      if $same_p then
        local n = h.read_limit
        if $same_p then
          if $right then
            return $result
          end
          return c_$name($arguments)
        end
      end
      return untraced_$name($arguments)
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

-- Reads an element, for `s[k]` and `s:get(k)`. `$find` reads the pointer to the elements. `$read` compares everything again and
-- returns the element. An index above the 32-bit limit is compared with the limit that is a double, in a function of its own:
-- `$fenced_read` is `$read` with that limit. Each compares only the limit that allowed the index: it decides, and every load in a
-- loop costs time.
--
-- Where a check fails, the arguments are passed on by their names and not by `...`. At the exit of a trace to `f(self, k)` LuaJIT
-- keeps only `self` and `k`. At an exit to `f(...)` it would keep every local variable, and so occupy registers in the loop.
local GETTER = [[
local function far_$name(self, k)
  if $storage then
    local p = cast(payloads, self)
    if $same_magic then
      $remember_p
      local h = p.header
      if $same_p then
        $remember_h
        $find
        if $same_p then
          local n = h.read_limit
          if not (k >= 1 and k <= n) then
            return c_$name(self, k)
          end
          fence()
          $fenced_read
        end
      end
      return untraced_$name(self, k)
    end
  end
  return c_$name(self, k)
end

local function $name(...)
  local self, k = ...
  if type(k) == 'number' then
    if $storage then
      local p = cast(payloads, self)
      if $same_magic then
        $remember_p
        local h = p.header
        if $same_p then
          $remember_h
          $find
          if $same_p then
            local n = $int_read_limit
            if k >= 1 and k <= n then
              $read
            else
              return far_$name(self, k)
            end
          end
        end
        return untraced_$name(self, k)
      end
      return c_$name(self, k)
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

-- Writes an element, for `s[k] = v` and `s:set(k, v)`, and for complex numbers `s:set(k, re, im)`. `$write` converts `v` to `x`,
-- which is stored. This may make objects and so call finalizers, so it comes before the last comparisons. It also comes before
-- the index is compared: behind it, LuaJIT took 1.2 times as long to write a loop's counter.
--
-- A 32-bit limit from 0 to 2147483646 is exact, so the C function raises the error for an index above it. With any other 32-bit
-- limit the index is compared with the limit that is a double.
local SETTER = [[
local function far_$name($values)
  if $storage then
    local p = cast(payloads, self)
    if $same_magic then
      $remember_p
      local h = p.header
      if $same_p then
        $remember_h
        $find_written
        $write
        if $same_p then
          local n = h.write_limit
          if not (k >= 1 and k <= n) then
            return c_$c($arguments)
          elseif $same_p and $same_h and h.write_limit == n then
            $store
            fence()
            return $back
          end
        end
      end
      return untraced_$c($arguments)
    end
  end
  return c_$c($arguments)
end

local function $name(...)
  local self, k, v, w = ...
  $first
  if type(k) == 'number' and $given and $storage then
    local p = cast(payloads, self)
    if $same_magic then
      $remember_p
      local h = p.header
      if $same_p then
        $remember_h
        $find_written
        $write
        if $same_p then
          local n = $int_write_limit
          if k >= 1 and k <= n then
            if $same_p and $same_h and $int_write_limit == n then
              $store
              return $back
            end
          elseif n >= 0 and n < 2147483647 then
            return c_$c($arguments)
          else
            return far_$name($values)
          end
        end
      end
      return untraced_$c($arguments)
    end
    return c_$c($arguments)
  end
  return c_$c(...)
end]]

-- Each class has a chunk of its own, so that its functions have prototypes of their own. If the classes shared prototypes, LuaJIT
-- would compile them for the first class only, and the other classes would be 20 times as slow.
local TEMPLATE = [[
$locals
local c_step = own.step
local fill, copy, others, new_table = shared.fill, shared.copy, shared.magics, shared.new_table
local c_index, c_newindex, c_len, c_fill, c_copy, c_iterate = c.__index, c.__newindex, c.__len, c.fill, c.copy, c.iter
local c_totable, c_get, c_set, c_exact = c.totable, c.get, c.set, c.exact
local untraced_index, untraced_newindex, untraced_len = untraced(c_index), untraced(c_newindex), untraced(c_len)
local untraced_step, untraced_iterate = untraced(c_step), untraced(c_iterate)
local untraced_get, untraced_set, untraced_exact = untraced(c_get), untraced(c_set), untraced(c_exact)

-- All functions take `...` and pass it on, so that the C functions can tell nil from a missing argument.
$index

$get

$exact

$newindex_table

$newindex

$set

$len

local function fill_all(...)
  local self, v, first, last = ...
  -- `first == nil` would also be true for a null pointer of the FFI.
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

-- For less than 300 elements the C function is faster: it is done before LuaJIT has compiled the loop.
local function to_table(...)
  local self, first, last = ...
  if type(first) == 'nil' and type(last) == 'nil' and $storage then
    local n = len(self)
    -- The C function raises the error for more elements than a table can hold.
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
  exact = exact,
  fill = fill_all,
  copy = copy_all,
  iter = iterate,
}
]]

-- The index of an element, from 0. On ARM64, LuaJIT before August 2023 joins accesses to neighbours, such as `s[i - 1]` and
-- `s[i]`, or the two parts of a complex number. It encodes that instruction wrongly if the address is a register minus a constant
-- (issue 1028 of LuaJIT). The 1 of `k - 1` would be part of it, and that of a program's `i - 1`. The result of `max` has none.
local jit = require 'jit'
local ELEMENT = jit.arch == 'arm64' and jit.version_num < 20199 and 'max(k - 1, 0)' or 'k - 1'

-- Returns the source of the chunk of a class, and the C type of a payload. `entry` is the entry of the class in `core.classes`.
-- `fields` declares the fields of a header that follow the pointer to the elements.
return function(entry, fields)
  local kind = kind_of(entry, fields, ELEMENT)
  local fill_in = kind.fill_in
  local function getter(name, result, by_name, exact_read)
    local function read(same_limit)
      return fill_in(exact_read or kind.read, { name = name, result = result, same_limit = same_limit })
    end
    local plain, fenced = read(fill_in '$int_read_limit == n'), read 'h.read_limit == n'
    return fill_in(GETTER, { name = name, read = plain, fenced_read = fenced, by_name = by_name })
  end
  local function setter(name, arguments, given, write, back, first, c, values)
    local parts = { name = name, given = given, back = back, first = first, c = c or name }
    -- What the C function gets, and what the function for indices of more than 32 bits gets.
    parts.arguments = arguments
    parts.values = values or arguments
    parts.write = fill_in(write or '', { name = parts.c, arguments = parts.arguments })
    return fill_in(SETTER, parts)
  end
  local given = kind.given
  local source = fill_in(TEMPLATE, {
    index = getter('index', kind.result, fill_in(BY_NAME)),
    get = getter('get', kind.parts, ''),
    exact = kind.exact and getter('exact', nil, '', kind.exact)
      or 'local exact = ' .. (kind.parts and 'c_exact' or 'get'),
    newindex_table = kind.first and setter(
      'newindex_table',
      'self, k, t',
      kind.both,
      kind.write_both,
      '',
      'local t = v v, w = of_table(v)',
      'newindex',
      'self, k, t, v, w'
    ) or '',
    newindex = setter('newindex', 'self, k, v', given, kind.write, '', kind.first),
    set = setter(
      'set',
      kind.both and 'self, k, v, w' or 'self, k, v',
      kind.both or given .. " and type(w) == 'nil'",
      kind.write_both or kind.write,
      'self'
    ),
    len = fill_in(LEN),
    step = fill_in(STEP),
    iterate = fill_in(ITERATE),
  })
  return source, kind.payload ''
end
