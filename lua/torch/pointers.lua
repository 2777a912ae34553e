-- Pointers of storages as FFI values (`data`, `cdata`), and what FFI values that are given to C are.
local core = require 'torch.core'

local has_ffi, ffi = pcall(require, 'ffi')
-- The classifier runs in the middle of our C functions: what it uses is not looked up anew.
local tonumber, tostring, error, find = tonumber, tostring, error, string.find

-- Raises with the position of the caller of the function that calls this.
local function refuse(name, message, got)
  if got then
    message = ('%s expected, got %s'):format(message, got)
  end
  error(("bad argument #1 to '%s' (%s)"):format(name, message), 3)
end

if not has_ffi then
  -- PUC Lua: s:data() is a light userdata, or a number; there is no cdata.
  local function data(storage, as_number)
    local address, header, got = core.look(storage)
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
  return { data = data }
end

local int64, uint64 = ffi.typeof 'int64_t', ffi.typeof 'uint64_t'
local voidp, intptr = ffi.typeof 'void *', ffi.typeof 'intptr_t'
local istype = ffi.istype
local order = ffi.abi 'le' and 'uint32_t low; int32_t high;' or 'int32_t high; uint32_t low;'
local cell = ffi.new('union { int64_t whole; struct { ' .. order .. ' }; }')
local turn = 0

-- The bits of an int64 or uint64 as two numbers: the high word (signed) and the low one. Makes no FFI value. A hook may use the
-- cell in between.
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

-- A ctype passes for one of its own values, and counts as its number, which is below this. Only its text tells.
local CTYPES = 65536

local function is_ctype(value)
  return find(tostring(value), 'ctype<', 1, true) == 1
end

-- What the values of a type of the FFI are: 3 pointers, 4 arrays, 0 anything else; and whether what they point to is constant.
local function kind_of(name)
  local is_function = name:find('(*)(', 1, true) or name:find '%)$'
  local is_array = name:find '%]$' and not name:find '%(%*' or name:find '%(%*[%w%s%*]*%['
  local is_pointer = name:find '%*$' or name:find '%*const$' or name:find '%* const$' or name:find '%(%*[^)]*%)%['
  if is_function or not (is_array or is_pointer) then
    return 0, false
  end
  -- Of pointers to pointers the word is about what the last one points to.
  local _, stars = name:gsub('%*', '')
  return is_array and 4 or 3, name:find('const ', 1, true) == 1 and stars <= (is_array and 0 or 1)
end

-- By the number of the type, which is for ever.
local kinds, constants = {}, {}

-- What C cannot tell: which kind of FFI value it has been given (1 int64, 2 uint64, 3 pointer, 4 array), its two words, the
-- bytes of an array, and whether what is pointed to is constant.
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

-- Torch7's structures, as its FFI users know them. Somebody may have declared them before, the real Torch7 included.
-- THHalf has the bits of a half; the other small floats are declared in the same way.
local bits = { 'char', 'short' }
for _, entry in ipairs(core.classes) do
  if entry.kind == 'small float' then
    local name = entry.ctype
    pcall(ffi.cdef, ('typedef struct %s { unsigned %s x; } %s;'):format(name, bits[entry.width], name))
  end
end

-- The types are spelled out, without `$`: test frameworks keep what ffi.typeof gave for a text.
local element_pointers, header_pointers = {}, {}
for place, entry in ipairs(core.classes) do
  local struct = 'TH' .. entry.name:match '^torch%.(.*)$'
  pcall(ffi.cdef, ('typedef struct %s { %s *data; %s } %s;'):format(struct, entry.ctype, core.fields, struct))
  local fits = pcall(function()
    local ctype = ffi.typeof(struct)
    local offsets = { data = 0, size = 8, refcount = 16, flag = 20 }
    for field, offset in pairs(offsets) do
      assert(ffi.offsetof(ctype, field) == offset)
    end
  end)
  element_pointers[place] = ffi.typeof(entry.ctype .. ' *')
  header_pointers[place] = fits and ffi.typeof(struct .. ' *') or nil
end

local function address_of(number)
  return ffi.cast(intptr, number)
end

-- `place` of the class that `storage` has to be of, nil for any.
local function make(name, place, pick)
  return function(storage, as_number)
    local data, header, class = core.look(storage, place)
    if not data then
      refuse(name, header, class)
    elseif as_number ~= nil and type(as_number) ~= 'boolean' then
      local got = core.typename(as_number) or type(as_number)
      error(("bad argument #2 to '%s' (boolean expected, got %s)"):format(name, got), 2)
    end
    return pick(data, header, class, as_number)
  end
end

-- The address of the first element: a pointer of the element's type, or an int64. Nothing keeps the storage alive for it.
local function pick_data(data, _, class, as_number)
  return ffi.cast(as_number and int64 or element_pointers[class], address_of(data))
end

-- The address of the header: a pointer to TH<TYPE>Storage, or an int64.
local function pick_cdata(_, header, class, as_number)
  if as_number then
    return ffi.cast(int64, address_of(header))
  end
  if not header_pointers[class] then
    local name = core.classes[class].name:gsub('^torch%.', 'TH')
    error(('cdata: %s was declared before, with another layout than that of this library'):format(name), 3)
  end
  return ffi.cast(header_pointers[class], address_of(header))
end

for place, entry in ipairs(core.classes) do
  entry.metatable.data = make('data', place, pick_data)
  entry.metatable.cdata = make('cdata', place, pick_cdata)
end

local any_data, any_cdata = make('data', nil, pick_data), make('cdata', nil, pick_cdata)

-- torch.buffer(s): the address of the bytes as an FFI pointer, how many there are, and whether they are only to be read.
local bytes = ffi.typeof 'uint8_t *'
local c_buffer = core.buffer
local function buffer(storage)
  local data, header, class = core.look(storage)
  if not data then
    refuse('buffer', header, class)
  end
  local _, length, is_read_only = c_buffer(storage)
  return ffi.cast(bytes, address_of(data)), length, is_read_only
end

return { data = any_data, cdata = any_cdata, buffer = buffer }
