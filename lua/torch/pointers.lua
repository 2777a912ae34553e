-- Pointers to storages and to the elements of tensors as FFI values (`data`, `cdata`), the classifier, which tells C what kind of
-- FFI value it has got, and the function that makes 64-bit integers for C.
local core = require 'torch.core'

local has_ffi, ffi = pcall(require, 'ffi')
-- C calls the classifier in the middle of an operation. It uses no global variables, because a program can replace
-- those.
local tonumber, tostring, error, find = tonumber, tostring, error, string.find

-- What C expects if the class does not matter.
local ANY = 'torch.*Storage'

-- Raises an error. Its position is where the function that calls `refuse` was called.
local function refuse(name, message, got)
  if got then
    local hint = ''
    if find(got, '^torch%..*Tensor$') and find(message, 'Storage$') then
      hint = ': x:storage() is its storage'
    elseif find(got, '^torch%..*Storage$') and find(message, 'Tensor$') then
      hint = ': s:view(-1) is a tensor of its elements'
    elseif message ~= ANY and not find(got, '^torch%.') then
      hint = ': methods are called with a colon, as in s:size()'
    end
    message = ('%s expected, got %s%s'):format(message, got, hint)
  end
  error(("bad argument #1 to '%s' (%s)"):format(name, message), 3)
end

-- What `core.look` and `core.looktensor` tell about a storage or tensor. If `whole` is true, the tensor has to be contiguous.
local function look(value, whole)
  if core.isTensor(value) then
    return core.looktensor(value, nil, whole)
  end
  return core.look(value)
end

if not has_ffi then
  -- On PUC Lua, s:data() returns a light userdata or a number, and there is no s:cdata().
  local function data(storage, as_number)
    local address, header, got = look(storage)
    if not address then
      refuse('data', header, got)
    elseif as_number ~= nil and type(as_number) ~= 'boolean' then
      error(
        ("bad argument #2 to 'data' (boolean expected, got %s)"):format(core.typename(as_number) or type(as_number)),
        2
      )
    end
    return storage:data(as_number)
  end
  -- A Rust program can hide addresses from its scripts. Then the C function raises an error.
  return { data = core.hides_addresses and core.buffer or data }
end

local int64, uint64 = ffi.typeof 'int64_t', ffi.typeof 'uint64_t'
local voidp, intptr = ffi.typeof 'void *', ffi.typeof 'intptr_t'
local istype = ffi.istype
local order = ffi.abi 'le' and 'uint32_t low; int32_t high;' or 'int32_t high; uint32_t low;'
local cell = ffi.new('union { int64_t whole; struct { ' .. order .. ' }; }')
local turn = 0

-- The bits of an int64 or uint64 as two numbers: the high word, which is signed, and the low word. Makes no FFI value. If a debug
-- hook has used the cell in between, starts again.
local function words(value)
  turn = turn + 1
  local own = turn
  cell.whole = value
  local high, low = cell.high, cell.low
  if turn ~= own then
    return words(value)
  end
  return high, low
end

-- An int64 or uint64 of two words, for `s:exact(i)`.
core.setintegers(function(high, low, is_unsigned)
  local value = int64(high) * 0x100000000 + low
  return is_unsigned and uint64(value) or value
end)

-- To the FFI a ctype looks like one of its own values: the number of the type, which is less than this. Only its text tells them
-- apart.
local CTYPES = 65536

local function is_ctype(value)
  return find(tostring(value), 'ctype<', 1, true) == 1
end

-- The kind of an FFI type, by its name: 3 for a pointer, 4 for an array, 0 for anything else. The second result says whether the
-- memory that it points to is constant.
local function kind_of(name)
  local is_function = name:find('(*)(', 1, true) or name:find '%)$'
  local is_array = name:find '%]$' and not name:find '%(%*' or name:find '%(%*[%w%s%*]*%['
  local is_pointer = name:find '%*$' or name:find '%*const$' or name:find '%* const$' or name:find '%(%*[^)]*%)%['
  if is_function or not (is_array or is_pointer) then
    return 0, false
  end
  -- In the name of a pointer to pointers, a leading `const` does not belong to the memory that the outer pointer points to.
  local _, stars = name:gsub('%*', '')
  return is_array and 4 or 3, name:find('const ', 1, true) == 1 and stars <= (is_array and 0 or 1)
end

-- Both results by the number of the type, which never changes.
local kinds, constants = {}, {}

-- The classifier. C cannot tell FFI values apart, so this function returns the kind of a value (1 for int64, 2 for uint64, 3 for
-- a pointer, 4 for an array), the high and the low word of the number or address, the size of an array in bytes, and whether the
-- memory is constant. It returns nil for any other FFI value.
core.setclassifier(function(value)
  if istype(int64, value) then
    local high, low = words(value)
    if high ~= 0 or low >= CTYPES or not is_ctype(value) then
      return 1, high, low
    end
    return nil
  elseif is_ctype(value) then
    return nil
  elseif istype(uint64, value) then
    return 2, words(value)
  end
  local ctype = ffi.typeof(value)
  local id = tonumber(ctype)
  local kind = kinds[id]
  if not kind then
    local is_constant
    kind, is_constant = kind_of(tostring(ctype):match '^ctype<(.*)>$' or '')
    kinds[id], constants[id] = kind, is_constant
  end
  if kind == 0 then
    return nil
  end
  local high, low = words(ffi.cast(int64, ffi.cast(intptr, ffi.cast(voidp, value))))
  return kind, high, low, kind == 4 and tonumber(ffi.sizeof(value)) or nil, constants[id]
end)

-- If addresses are hidden, all these functions raise the error of the C function.
if core.hides_addresses then
  for _, entry in ipairs(core.classes) do
    entry.metatable.cdata = core.buffer
  end
  return { data = core.buffer, cdata = core.buffer, buffer = core.buffer }
end

-- The structures of Torch7 that programs use through the FFI. Another library may have declared them before, even Torch7 itself.
-- THHalf holds the bits of a half, and the other small floats are declared in the same way.
local bits = { 'char', 'short' }
for _, entry in ipairs(core.classes) do
  if entry.kind == 'small float' then
    local name = entry.ctype
    pcall(ffi.cdef, ('typedef struct %s { unsigned %s x; } %s;'):format(name, bits[entry.width], name))
  end
end

-- The types are written out instead of using `$`, because some test frameworks cache the results of ffi.typeof by their text.
local element_pointers, header_pointers = {}, {}
for number, entry in ipairs(core.classes) do
  local struct = 'TH' .. entry.name:match '^torch%.(.*)$'
  pcall(ffi.cdef, ('typedef struct %s { %s *data; %s } %s;'):format(struct, entry.ctype, core.fields, struct))
  local fits = pcall(function()
    local ctype = ffi.typeof(struct)
    local offsets = { data = 0, size = 8, refcount = 16, flag = 20 }
    for field, offset in pairs(offsets) do
      assert(ffi.offsetof(ctype, field) == offset)
    end
  end)
  element_pointers[number] = ffi.typeof(entry.ctype .. ' *')
  header_pointers[number] = fits and ffi.typeof(struct .. ' *') or nil
end

local function address_of(number)
  return ffi.cast(intptr, number)
end

-- Makes the function `name`. It takes the values that `find_address` knows, of the class with this number in `core.classes`, or
-- of any class if it is nil.
local function make(name, find_address, number, pick)
  return function(value, as_number)
    local data, header, class = find_address(value, number)
    if not data then
      refuse(name, header, class)
    elseif as_number ~= nil and type(as_number) ~= 'boolean' then
      local got = core.typename(as_number) or type(as_number)
      error(("bad argument #2 to '%s' (boolean expected, got %s)"):format(name, got), 2)
    end
    return pick(data, header, class, as_number)
  end
end

-- The address of the first element, as a pointer to the element's type or as an int64. It does not keep the storage alive.
local function pick_data(data, _, class, as_number)
  return ffi.cast(as_number and int64 or element_pointers[class], address_of(data))
end

-- The address of the header, as a pointer to TH<TYPE>Storage or as an int64.
local function pick_cdata(_, header, class, as_number)
  if as_number then
    return ffi.cast(int64, address_of(header))
  end
  if not header_pointers[class] then
    local name = core.classes[class].name:gsub('^torch%.', 'TH')
    error(('cdata: %s has already been declared, with a layout that differs from the one here'):format(name), 3)
  end
  return ffi.cast(header_pointers[class], address_of(header))
end

for number, entry in ipairs(core.classes) do
  entry.metatable.data = make('data', core.look, number, pick_data)
  entry.metatable.cdata = make('cdata', core.look, number, pick_cdata)
end

for _, entry in ipairs(core.tensors) do
  entry.metatable.data = make('data', core.looktensor, entry.number, pick_data)
end

local any_data, any_cdata = make('data', look, nil, pick_data), make('cdata', core.look, nil, pick_cdata)

-- torch.buffer(s): the address of the bytes of a storage or contiguous tensor as an FFI pointer, their number, and whether they
-- can only be read.
local bytes = ffi.typeof 'uint8_t *'
local c_buffer = core.buffer
local function buffer(value)
  local data, header, class = look(value, true)
  if not data then
    refuse('buffer', header, class)
  end
  local _, length, is_read_only = c_buffer(value)
  return ffi.cast(bytes, address_of(data)), length, is_read_only
end

return { data = any_data, cdata = any_cdata, buffer = buffer }
