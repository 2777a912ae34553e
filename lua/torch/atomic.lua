-- torch.atomic and torch.atomic.exact: single elements that several threads and processes access at once. On LuaJIT with its JIT
-- on, most functions of torch.atomic are made here, by functions over the FFI that LuaJIT compiles.
--
-- The source of such a function checks what the FFI needs: that `s` is a userdata of ours. The C function checks the rest itself:
-- the class, the index, the alignment, and whether the element can be written. It returns NaN if it has done nothing. Then the
-- function for Lua decides, which checks everything again and raises the error.
--
-- The rules of accessor_source.lua hold for these reasons:
--
-- * Hazard 1 (values that pretend to be storages): the clauses are those of `copy_all` there.
-- * Hazards 3 and 4 (finalizers): nothing is read here but the magic word, which never changes in a live userdata. Whatever a
--   finalizer does between the clauses and the call, the C function sees it. A guard behind the call does not repeat it, because
--   LuaJIT takes a snapshot after each call of a C function.
-- * Hazards 2 and 5 (NaNs, and elements that compiled code keeps): no element is read here. The call is a barrier.
local core = require 'torch.core'
local readable = require 'torch.readable'

-- A Lua state may load this file several times, but the tables are the same each time.
local atomic = core.atomic
if atomic.exact then
  return atomic
end
local exact = readable 'torch.atomic.exact'(core.atomicexact)
for name, f in pairs(core.atomicwait) do
  atomic[name], exact[name] = f, f
end
atomic.exact = exact
readable 'torch.atomic'(atomic)

local has_ffi, ffi = pcall(require, 'ffi')
local jit = rawget(_G, 'jit')
if not has_ffi or not jit or not jit.status() then
  return atomic
end

local cast = ffi.cast
local payloads = ffi.typeof 'struct { void *header; uintptr_t magic; } *'
local magics = {}
for _, entry in ipairs(core.classes) do
  magics[entry.metatable] = cast('uintptr_t', entry.magic)
end

-- Each function is compiled from a text of its own, so that it has a prototype of its own.
local TEMPLATE = [[
local cast, payloads, magics, light, getmetatable, type, call, c = ...
return function(...)
  local $arguments = ...
  if $numbers and type(s) == 'userdata' then
    local metatable = getmetatable(s)
    local magic = magics[metatable]
    if magic and getmetatable(light) ~= metatable then
      local p = cast(payloads, s)
      if p.magic == magic then
        local old = call(p, $passed)
        if old == old then
          $back
        end
      end
    end
  end
  return c(...)
end]]

-- Makes a function whose arguments behind the storage are `...`.
local function compiled(name, call, back, ...)
  local numbers, passed = {}, table.concat({ ... }, ', ')
  for n, argument in ipairs { ... } do
    numbers[n] = ("type(%s) == 'number'"):format(argument)
  end
  local parts = { arguments = 's, ' .. passed, passed = passed, numbers = table.concat(numbers, ' and '), back = back }
  local source = TEMPLATE:gsub('%$(%l+)', parts)
  local make = assert(loadstring(source, '=torch.atomic.' .. name))
  return make(cast, payloads, magics, core.light, getmetatable, type, call, atomic[name])
end

for _, entry in ipairs(core.direct) do
  local name = entry.name:match '^atomic_(%a+)$'
  if name then
    local call = cast(ffi.typeof(entry.ctype), cast('intptr_t', entry.address))
    if name == 'load' then
      atomic[name] = compiled(name, call, 'return old', 'i')
    elseif name == 'compareExchange' then
      -- The result is twice the element, plus 1 if the value was written.
      local back = 'local written = old % 2 return (old - written) / 2, written == 1'
      atomic[name] = compiled(name, call, back, 'i', 'v', 'w')
    else
      atomic[name] = compiled(name, call, 'return old', 'i', 'v')
    end
  end
end

return atomic
