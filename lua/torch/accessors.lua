-- Element access and small methods as LuaJIT compiles them: Lua functions over the FFI in place of the C functions, on request.
--
-- Every clause of the templates is there because without it a plain Lua program crashes the host: metatables can be put on
-- strings, files and light userdata, methods can be called with a storage of another class, and a not-a-number with the right
-- payload is another Lua value to LuaJIT, which takes what the FFI loads as it is. What is unusual goes to the C function.
--
-- Not the default, for one hole is left: reading a pointer field makes a Lua object where the interpreter runs, so a finalizer (or
-- a debug hook) can run between the check of the bounds and the access. If that resizes or frees the very storage, the access
-- hits memory that was given back. Compiled code makes no such object; leaving it can.
local core = require 'torch.core'

local has_ffi, ffi = pcall(require, 'ffi')
local jit = rawget(_G, 'jit')

if not has_ffi or not jit then
  -- torch.accessors on PUC Lua: there is only C.
  return function(mode)
    if mode ~= nil and mode ~= 'c' then
      error("bad argument #1 to 'accessors' (only 'c' here: 'ffi' needs LuaJIT)", 2)
    end
    return 'c'
  end
end

local getmetatable, type, tonumber, loadstring = getmetatable, type, tonumber, loadstring
local cast = ffi.cast

-- The functions of the library that are called without Lua's C API.
local direct = {}
for _, entry in ipairs(core.direct) do
  direct[entry.name] = cast(ffi.typeof(entry.ctype), cast('intptr_t', entry.address))
end

-- Every half as the number that it stands for, by its bits.
local halves = ffi.new 'double[65536]'
do
  local all = core.classes[6].constructor.fromstring(ffi.string(
    (function()
      local bits = ffi.new 'uint16_t[65536]'
      for i = 0, 65535 do
        bits[i] = i
      end
      return bits
    end)(),
    131072
  ))
  for i = 1, 65536 do
    halves[i - 1] = all[i]
  end
end

-- How the elements of a class are read and written, given `h`, the header, and a place from 0 that `k - 1` truncates to.
-- `parts`: the element in 16-bit parts, to see its highest bits without loading it as a number.
local READ = 'return h.data[k - 1]'
-- LuaJIT narrows what it stores into an integer element; `min` keeps the sum that is stored a double, which x86 converts by the
-- rule for numbers that do not fit. Other CPUs convert otherwise: there such numbers go to C.
local on_x86 = jit.arch == 'x64' or jit.arch == 'x86'
local WRITE_INTEGER = on_x86 and 'h.data[k - 1] = min(v, 2147483648) return'
  or 'if v > -2147483649 and v < 2147483648 then h.data[k - 1] = v return end'
local WRITE_LONG = on_x86 and 'h.data[k - 1] = min(v, 9223372036854775808) return'
  or 'if v > -9007199254740992 and v < 9007199254740992 then h.data[k - 1] = v return end'
local WRITE_FLOAT = 'h.data[k - 1] = v return'

local integer = { read = READ, write = WRITE_INTEGER }
local kinds = {
  Byte = integer,
  Char = integer,
  Short = integer,
  Int = integer,
  Long = { read = 'return tonumber(h.data[k - 1])', write = WRITE_LONG },
  Half = { read = 'return halves[h.data[k - 1]]', write = 'h.data[k - 1] = half(v) return', ctype = 'uint16_t' },
  Float = {
    read = 'if h.parts[k - 1].top < 0xffc8 then return h.data[k - 1] end',
    write = WRITE_FLOAT,
    parts = 'struct { uint16_t low, top; }',
  },
  Double = {
    read = 'if h.parts[k - 1].top < 0xfff9 then return h.data[k - 1] end',
    write = WRITE_FLOAT,
    parts = 'struct { uint16_t low, second, third, top; }',
  },
}

-- One chunk a class, so one prototype a class: functions that share a prototype are compiled for the first of them only.
-- `storage(self)` stands for: self is a storage of this class, and `h` its header.
local TEMPLATE = [[
local cast, payloads, metatable, magic, c, light, getmetatable, type, tonumber, min, halves, half, fill, copy, others = ...
local c_index, c_newindex, c_len, c_size, c_fill, c_copy = c.__index, c.__newindex, c.__len, c.size, c.fill, c.copy
local methods = metatable

-- The C functions get what was given, so that they can tell nil from nothing.
local function index(...)
  local self, k = ...
  if type(k) == 'number' then
    if $storage(self) then
      local p = cast(payloads, self)
      if p.magic == magic then
        local h = p.header
        if k >= 1 and k <= h.sizef then
          $read
        end
      end
    end
  elseif type(k) == 'string' and $storage(self) then
    local method = methods[k]
    if method ~= nil then
      return method
    end
  end
  return c_index(...)
end

local function newindex(...)
  local self, k, v = ...
  if type(k) == 'number' and type(v) == 'number' and $storage(self) then
    local p = cast(payloads, self)
    if p.magic == magic then
      local h = p.header
      if k >= 1 and k <= h.writef then
        $write
      end
    end
  end
  return c_newindex(...)
end

local function len(...)
  local self = ...
  if $storage(self) then
    local p = cast(payloads, self)
    if p.magic == magic then
      local size = p.header.sizef
      if size >= 0 then
        return size
      end
    end
  end
  return c_len(...)
end

local function size(...)
  local self = ...
  if $storage(self) then
    local p = cast(payloads, self)
    if p.magic == magic then
      local size = p.header.sizef
      if size >= 0 then
        return size
      end
    end
  end
  return c_size(...)
end

local function fill_all(...)
  local self, v = ...
  if type(v) == 'number' and $storage(self) then
    local p = cast(payloads, self)
    if p.magic == magic then
      local h = p.header
      if h.writef == h.sizef and h.sizef >= 0 then
        fill(h, v)
        return self
      end
    end
  end
  return c_fill(...)
end

local function copy_all(...)
  local self, other = ...
  if $storage(self) and type(other) == 'userdata' then
    local p, magic_of_other = cast(payloads, self), others[getmetatable(other)]
    if p.magic == magic and magic_of_other then
      local q = cast(payloads, other)
      if q.magic == magic_of_other then
        local h, o = p.header, q.header
        if h.writef == h.sizef and h.sizef == o.sizef and h.sizef >= 0 then
          copy(h, o)
          return self
        end
      end
    end
  end
  return c_copy(...)
end

return { __index = index, __newindex = newindex, __len = len, __len__ = len, size = size, fill = fill_all, copy = copy_all }
]]
local STORAGE = "(type(self) == 'userdata' and getmetatable(self) == metatable and getmetatable(light) ~= metatable)"

local magics = {}
for _, entry in ipairs(core.classes) do
  magics[entry.metatable] = cast('uintptr_t', entry.magic)
end

-- Per class: the metatable, the C functions and their FFI versions, by name.
local sides = {}
for _, entry in ipairs(core.classes) do
  local class = entry.name:match '^torch%.(%a+)Storage$'
  local kind = kinds[class]
  local ctype = kind.ctype or entry.ctype
  local parts = kind.parts and ('%s *parts;'):format(kind.parts) or ''
  local header = ('struct { union { %s *data; %s }; %s }'):format(ctype, parts, core.fields)
  local payloads = ffi.typeof(('struct { %s *header; uintptr_t magic; } *'):format(header))
  local source = TEMPLATE:gsub('%$storage%(self%)', function()
    return STORAGE
  end)
  source = source:gsub('%$(%a+)', { read = kind.read, write = kind.write })
  local c = {}
  for _, name in ipairs { '__index', '__newindex', '__len', '__len__', 'size', 'fill', 'copy' } do
    c[name] = entry.metatable[name]
  end
  local make = assert(loadstring(source, '=torch.accessors.' .. class))
  local fast = make(
    cast,
    payloads,
    entry.metatable,
    magics[entry.metatable],
    c,
    core.light,
    getmetatable,
    type,
    tonumber,
    math.min,
    halves,
    direct.half,
    direct.fill,
    direct.copy,
    magics
  )
  sides[#sides + 1] = { metatable = entry.metatable, c = c, ffi = fast }
end

local current = 'c'

-- Puts the functions of `mode` in the place of the others; what a program has replaced stays.
local function install(mode)
  for _, side in ipairs(sides) do
    for name, old in pairs(side[current]) do
      if rawequal(side.metatable[name], old) then
        side.metatable[name] = side[mode][name]
      end
    end
  end
  current = mode
end

-- torch.accessors([mode]): 'ffi' or 'c' chooses how elements are accessed; returns what is in force. With the JIT off FFI
-- accesses are slower than C by far.
return function(mode)
  if mode ~= nil then
    if mode ~= 'ffi' and mode ~= 'c' then
      local got = type(mode) == 'string' and "'" .. mode .. "'" or core.typename(mode) or type(mode)
      error("bad argument #1 to 'accessors' ('ffi' or 'c' expected, got " .. got .. ')', 2)
    end
    install(mode)
  end
  return current
end
