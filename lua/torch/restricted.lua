-- Lua states whose scripts the host program does not trust. torch.core has registered no function that such a state may not
-- have. This takes the functions that are written in Lua out of the public tables, the internal modules out of
-- package.loaded, and out of LuaJIT what reads and writes all memory.
local core = require 'torch.core'

local error, format = error, string.format

-- Loaded as the last file of the library.
return function(torch)
  local function refused(name)
    return function()
      error(format("'%s' is not available: the host program restricts this Lua state", name), 2)
    end
  end

  -- Replaces the functions of a table that are not allowed. `before` stands before their names in the list of what is allowed.
  local function restrict(functions, before)
    for name, value in pairs(functions) do
      if type(name) == 'string' and type(value) == 'function' and not core.allows(before, name) then
        rawset(functions, name, refused(name))
      end
    end
  end

  restrict(torch, 'torch.')
  for name, value in pairs(torch) do
    if type(value) == 'table' and value == core[name] then
      restrict(value, 'torch.' .. name .. '.')
    end
  end
  restrict(torch.atomic.exact, 'torch.atomic.exact.')
  for _, entry in ipairs(core.classes) do
    restrict(entry.metatable, 'Storage:')
  end
  for _, entry in ipairs(core.tensors) do
    restrict(entry.metatable, 'Tensor:')
  end
  core.seal()
  for name in pairs(package.loaded) do
    if type(name) == 'string' and name:find '^torch%.' and name ~= 'torch.storage' then
      package.loaded[name] = nil
    end
  end

  -- The FFI and string buffers give pointers, and scripts can read and write through them. `jit.util` shows the functions and
  -- constants of what is compiled, `jit.attach` passes functions of the library to scripts, and a callback of `jit.profile`
  -- runs in the middle of an element access. In a program that embeds Lua, `package` is a local variable of this file.
  local globals, jit = rawget(_G, 'package'), rawget(_G, 'jit')
  for _, field in ipairs(jit and type(globals) == 'table' and { 'loaded', 'preload' } or {}) do
    for _, name in ipairs { 'ffi', 'string.buffer', 'jit.util', 'jit.profile' } do
      if type(globals[field]) == 'table' then
        globals[field][name] = nil
      end
    end
  end
  for _, name in ipairs(type(jit) == 'table' and { 'attach', 'util', 'profile' } or {}) do
    jit[name] = nil
  end
end
