-- The source of the Lua functions that access elements of tensors through the FFI, one chunk a class, with their C types.
--
-- accessor_source.lua explains the hazards and the rules that the functions of storages follow. These functions follow them too,
-- with the same parts of accessor_kinds.lua.
--
-- The userdata of a tensor begins like that of a storage, with the address of the storage's header and a magic word. The layout
-- follows: integers of 32 bits, and then the same numbers as doubles. If a number is too large for an integer, `large`
-- functions are called, which use the doubles. `p.dimensions` is -1 if the numbers cannot be used.
--
-- An element is found in two steps:
--
-- * `locate` compares each index with the size of its dimension, and computes the index `k` in the storage. It reads numbers from
--   the userdata of the tensor only. That is safe whatever happens to the storage, because the caller holds the userdata.
-- * The access compares `p.last`, the greatest index in the storage that an element of the tensor has, with the limits in the
--   header. So `k` itself is not compared, and a compiled loop that reads makes these comparisons once.
--
-- The second step relies on the layout, which never changes while the tensor has a storage. If a finalizer calls `__gc` of the
-- tensor, the tensor has the dead header from then on: no comparison with its limits is true. A storage's header is not freed
-- while a tensor has it, and a tensor that lost it gets no other. So if `$same_p` holds right before the access, `k` and `p.last`
-- belong together, and were read while the tensor had this storage.
--
-- A tensor that is not wholly in its storage, because the storage shrank, is left to the C functions. They are also called for
-- negative indices, indices that are not whole, ranges, rows, tensors of more than four dimensions, and all errors.
local kind_of = require 'torch.accessor_kinds'

-- As in accessor_kinds.lua.
local concat, format, gmatch, gsub, ipairs = table.concat, string.format, string.gmatch, string.gsub, ipairs

-- The halves of a word of 32 bits.
local HALVES = require('ffi').abi 'le' and 'uint16_t %s_low; int16_t %s_high;' or 'int16_t %s_high; uint16_t %s_low;'

-- The greatest number of dimensions of a tensor that is accessed here.
local DIMENSIONS = 4

-- The index in the storage, from 0, of the element with these indices, or nil. LuaJIT knows that `i % 1 == 0` holds for an
-- integer. The last stride is mostly 1, and then LuaJIT adds the last index as an integer.
local LOCATE = [[
local function locate_$n(p, $indices)
  if p.dimensions == $n$each then
    if p.stride$n == 1 then
      return p.origin$sum + i$n
    end
    return p.origin$sum + i$n * p.stride$n
  end
end]]
local EACH = " and type($i) == 'number' and $i >= 1 and $i <= p.size$n and $i % 1 == 0"

-- The names of the first `n` indices.
local function indices(n)
  local list = {}
  for dimension = 1, n do
    list[dimension] = 'i' .. dimension
  end
  return concat(list, ', ')
end

local function locate(n)
  local each, sum = '', ''
  for dimension = 1, n do
    each = each .. gsub(EACH, '%$(%l)', { i = 'i' .. dimension, n = dimension })
    sum = dimension < n and format('%s + i%d * p.stride%d', sum, dimension, dimension) or sum
  end
  return (gsub(LOCATE, '%$(%l+)', { n = n, indices = indices(n), each = each, sum = sum }))
end

-- The text that finds the element for the arguments of a method: as many indices as the tensor has dimensions, and `more`
-- values, which become `v` and `w`. Two dimensions come first.
local function locate_arguments(more)
  local branches = {}
  for place, n in ipairs { 2, 1, 3, 4 } do
    local targets, values = 'k', ''
    for value = 1, more do
      targets = targets .. ({ ', v', ', w' })[value]
      values = format('%s, i%d', values, n + value)
    end
    branches[place] = format('if count == %d then %s = locate_%d(p, %s)%s ', n + more, targets, n, indices(n), values)
  end
  return format("local count, k = select('#', ...) - 1 %send", concat(branches, 'else'))
end

-- The same for the key of `x[key]`. The length of a list is not computed by `#`, because then a compiled loop would make the
-- table. Like `#`, this finds a border of a list with holes, but perhaps another one.
local LOCATE_KEY = [[
local k
if type(key) == 'number' then
  k = locate_1(p, key)
elseif type(key) == 'table' then
  k = locate_list(p, key)
end]]
local LOCATE_LIST = [[
local function locate_list(p, list)
  local i1, i2, i3 = rawget(list, 1), rawget(list, 2), rawget(list, 3)
  if type(i2) == 'nil' then
    return locate_1(p, i1)
  elseif type(i3) == 'nil' then
    return locate_2(p, i1, i2)
  end
  local i4 = rawget(list, 4)
  if type(i4) == 'nil' then
    return locate_3(p, i1, i2, i3)
  elseif type(rawget(list, 5)) == 'nil' then
    return locate_4(p, i1, i2, i3, i4)
  end
end]]

-- Reads an element, as GETTER in accessor_source.lua.
local GETTER = [[
local function $name(...)
  local self, $arguments = ...
  $by_name
  if $storage then
    local p = cast(payloads, self)
    if $same_magic then
      if p.dimensions < 0 then
        return large_$name(...)
      end
      $locate
      if k then
        $remember_p
        local h = p.header
        if $same_p then
          $remember_h
          $find
          if $same_p then
            local n, last = $int_read_limit, p.last
            if $same_p then
              if last < n then
                $read
              elseif $same_p then
                local m = h.read_limit
                if $same_p then
                  if last >= m then
                    return c_$name(...)
                  end
                  fence()
                  $fenced_read
                end
              end
            end
          end
        end
        return untraced_$name(...)
      end
    end
  end
  return c_$name(...)
end]]
local BY_NAME = [[if type(key) == 'string' and $storage then
    local method = methods[key]
    if method ~= nil then
      return method
    end
  end]]

-- Writes an element, as SETTER in accessor_source.lua.
local SETTER = [[
local function $name(...)
  local self, $arguments = ...
  if $storage then
    local p = cast(payloads, self)
    if $same_magic then
      if p.dimensions < 0 then
        return large_$name(...)
      end
      $locate
      if k and $given then
        $remember_p
        local h = p.header
        if $same_p then
          $remember_h
          $find_written
          $write
          if $same_p then
            local n, last = $int_write_limit, p.last
            if $same_p then
              if last < n then
                if $same_p and $same_h and $int_write_limit == n then
                  $store
                  return $back
                end
              elseif $same_p then
                local m = h.write_limit
                if $same_p then
                  if last >= m then
                    return c_$name(...)
                  elseif $same_p and $same_h and h.write_limit == m then
                    $store
                    fence()
                    return $back
                  end
                end
              end
            end
          end
        end
        return untraced_$name(...)
      end
    end
  end
  return c_$name(...)
end]]

-- Tells something about the layout. Only the userdata of the tensor is read. A tensor that C has to ask has -1 dimensions.
local ASK = [[
local function $name(...)
  local self, d = ...
  if $storage then
    local p = cast(payloads, self)
    if $same_magic then
      local n = p.dimensions
      if n < 0 then
        return large_$name(...)
      end
      if $right then
        return $result
      end
    end
  end
  return c_$name(...)
end]]

local SIZE = 'd == 1 and p.size1 or d == 2 and p.size2 or d == 3 and p.size3 or p.size4'

local TEMPLATE = [[
$locals
local large, select, rawget = own.large, shared.select, shared.rawget
local c_index, c_newindex, c_get, c_set = c.__index, c.__newindex, c.get, c.set
local c_dim, c_size, c_elements = c.dim, c.size, c.nElement
local large_index, large_newindex, large_get, large_set = large.__index, large.__newindex, large.get, large.set
local large_dim, large_size, large_elements = large.dim, large.size, large.nElement
local untraced_index, untraced_newindex = untraced(c_index), untraced(c_newindex)
local untraced_get, untraced_set = untraced(c_get), untraced(c_set)

$locate

$index

$get

$newindex

$set

$dim

$size

$elements

return {
  __index = index,
  __newindex = newindex,
  get = get,
  set = set,
  dim = dim,
  nDimension = dim,
  size = size,
  nElement = elements,
  numel = elements,
}
]]

local LOCATORS = {}
for n = 1, DIMENSIONS do
  LOCATORS[n] = locate(n)
end
LOCATORS[DIMENSIONS + 1] = LOCATE_LIST
LOCATORS = concat(LOCATORS, '\n')

-- Returns the source of the chunk of a class of tensors, and the C type of a payload. `entry` is the entry of the class of
-- storages in `core.classes`. `fields` declares the fields of a header that follow the pointer to the elements. `names` are the
-- names of the numbers in a payload, which it has as integers and then as doubles. If `large`, the chunk is that for large
-- tensors.
return function(entry, fields, names, large)
  local kind = kind_of(entry, fields, 'k')
  local fill_in = kind.fill_in
  local function getter(name, arguments, find, result, by_name)
    local function read(same_limit)
      return fill_in(kind.read, { name = name, result = result, same_limit = same_limit })
    end
    return fill_in(GETTER, {
      name = name,
      arguments = arguments,
      locate = find,
      read = read(fill_in '$int_read_limit == n'),
      fenced_read = read 'h.read_limit == m',
      by_name = by_name,
    })
  end
  local function setter(name, arguments, find, given, write, back)
    write = fill_in(write or '', { name = name, arguments = '...' })
    return fill_in(SETTER, {
      name = name,
      arguments = arguments,
      locate = find,
      given = given,
      write = write,
      back = back,
    })
  end
  local function ask(name, right, result)
    return fill_in(ASK, { name = name, right = right, result = result })
  end
  -- A complex number is given to `set` as two numbers.
  local values = kind.both and 2 or 1
  local source = fill_in(TEMPLATE, {
    locate = LOCATORS,
    index = getter('index', 'key', LOCATE_KEY, kind.result, fill_in(BY_NAME)),
    get = getter('get', indices(DIMENSIONS), locate_arguments(0), kind.parts, ''),
    newindex = setter('newindex', 'key, v', LOCATE_KEY, kind.given, kind.write, ''),
    set = setter(
      'set',
      indices(DIMENSIONS + values),
      'local v, w ' .. locate_arguments(values),
      kind.both or kind.given,
      kind.write_both or kind.write,
      'self'
    ),
    dim = ask('dim', 'true', 'n'),
    size = ask('size', "type(d) == 'number' and d >= 1 and d <= n and d % 1 == 0", SIZE),
    elements = ask('elements', 'true', 'p.elements'),
  })
  if large then
    local _, commas = gsub(names, ',', '')
    return source, kind.payload(format('int32_t integers[%d]; double %s;', commas + 1, names))
  end
  if not kind.stores_words then
    return source, kind.payload(format('int32_t %s;', names))
  end
  -- Compiled code would load words of 32 bits again after each store of one, so it loads halves of them.
  local halves, is_name = {}, {}
  for name in gmatch(names, '%w+') do
    halves[#halves + 1] = format(HALVES, name, name)
    is_name[name] = true
  end
  local of_halves = gsub(source, 'p%.(%w+)', function(name)
    return is_name[name] and format('bor(p.%s_low, lshift(p.%s_high, 16))', name, name)
  end)
  return of_halves, kind.payload(concat(halves))
end
