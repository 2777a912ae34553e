-- Why torch.core cannot be loaded, for the message of the error. The system and Lua say only what the wrong file lacks, so this
-- reads what the file is for, and says what this Lua needs. Nothing of it is loaded unless torch.core could not be.

local VERSION = _VERSION:match '[%d.]+'
local jit = rawget(_G, 'jit')
local RUNNING = jit and jit.version or _VERSION

-- The processors by their number in ELF, PE and Mach-O files, and by their name on LuaJIT.
local ELF = { [3] = '32-bit x86', [40] = '32-bit ARM', [62] = 'x86-64', [183] = 'ARM64', [243] = 'RISC-V' }
local PE = { [0x14c] = '32-bit x86', [0x8664] = 'x86-64', [0xaa64] = 'ARM64' }
local MACH_O = { [0x01000007] = 'x86-64', [0x0100000c] = 'ARM64' }
local OF_LUAJIT = { x64 = 'x86-64', arm64 = 'ARM64', x86 = '32-bit x86', arm = '32-bit ARM' }
local OF_WINDOWS = { AMD64 = 'x86-64', ARM64 = 'ARM64', x86 = '32-bit x86' }

-- How the archives of a release name what they are for.
local ARCHIVES = {
  ['Linux on x86-64 with glibc'] = 'x86_64-unknown-linux-gnu',
  ['Linux on x86-64 with musl'] = 'x86_64-unknown-linux-musl',
  ['Linux on ARM64 with glibc'] = 'aarch64-unknown-linux-gnu',
  ['Linux on ARM64 with musl'] = 'aarch64-unknown-linux-musl',
  ['Windows on x86-64'] = 'x86_64-pc-windows-gnu',
  ['macOS on x86-64'] = 'x86_64-apple-darwin',
  ['macOS on ARM64'] = 'aarch64-apple-darwin',
}

-- The first `count` bytes of a file, or all of them. Nil if it cannot be read.
local function contents(name, count)
  local file = io and io.open and io.open(name, 'rb')
  if file then
    local bytes = file:read(count or '*a')
    file:close()
    return bytes
  end
end

-- The unsigned integer in the `width` bytes of a string from `position` on, the low byte first.
local function number(bytes, position, width)
  local value = 0
  for i = position + width - 1, position, -1 do
    value = value * 256 + (bytes:byte(i) or 0)
  end
  return value
end

local function has(bytes, text)
  return bytes:find(text, 1, true) ~= nil
end

-- Which system, processor and C library a program or library is for. Nil if the bytes are none. The C library is missing if the
-- file does not name it.
local function platform(bytes)
  if bytes:sub(1, 4) == '\127ELF' then
    local names_glibc = has(bytes, '\0libc.so.6\0') or has(bytes, '/ld-linux')
    local names_musl = has(bytes, '\0libc.so\0') or has(bytes, 'libc.musl-') or has(bytes, '/ld-musl')
    local libc = names_glibc and 'glibc' or names_musl and 'musl' or nil
    return { system = 'Linux', processor = ELF[number(bytes, 19, 2)], libc = libc }
  elseif bytes:sub(1, 2) == 'MZ' then
    return { system = 'Windows', processor = PE[number(bytes, number(bytes, 61, 4) + 5, 2)] }
  elseif number(bytes, 1, 4) == 0xfeedfacf then
    return { system = 'macOS', processor = MACH_O[number(bytes, 5, 4)] }
  end
end

-- The platform of the running Lua, as far as it can be known.
local function here()
  local program = contents('/proc/self/exe', 4096)
  local this = program and platform(program) or {}
  if jit then
    this.system = jit.os == 'OSX' and 'macOS' or jit.os
    this.processor = OF_LUAJIT[jit.arch] or jit.arch
  elseif package.config:sub(1, 1) == '\\' then
    this.system, this.processor = 'Windows', OF_WINDOWS[os.getenv 'PROCESSOR_ARCHITECTURE']
  end
  -- Wine shows the file of its Linux program, too.
  this.libc = this.system == 'Linux' and this.libc or nil
  return this
end

-- `Linux on x86-64 with glibc`. Nil if nothing is known.
local function named(this)
  local text = this.system
  text = text and text .. (this.processor and ' on ' .. this.processor or '')
  return text and text .. (this.libc and ' with ' .. this.libc or '')
end

-- The versions of Lua that a library can be for, by the functions that it needs.
local function versions_of(bytes)
  if has(bytes, 'lua_objlen') then
    return { '5.1' }
  elseif has(bytes, 'lua_newuserdatauv') then
    return { '5.4', '5.5' }
  elseif has(bytes, 'lua_rotate') then
    return { '5.3' }
  elseif has(bytes, 'lua_rawlen') then
    return { '5.2' }
  end
  return {}
end

-- What a library is for that the running Lua, on the platform `this`, cannot load, and what the running Lua is. Nil if its bytes
-- say nothing of that kind.
local function mismatch(bytes, this, is_of_other_lua)
  local target, versions, is_for_this_lua = platform(bytes), {}, false
  for _, version in ipairs(versions_of(bytes)) do
    if version ~= VERSION or not is_of_other_lua then
      versions[#versions + 1] = version
      is_for_this_lua = is_for_this_lua or version == VERSION
    end
  end
  for part, value in pairs(target) do
    if this[part] ~= nil and this[part] ~= value then
      return named(target), named(this)
    end
  end
  if #versions > 0 and not is_for_this_lua then
    local name = 'Lua ' .. table.concat(versions, ' or ')
    return versions[1] == '5.1' and name .. ' or LuaJIT' or name, RUNNING
  end
end

-- The message of the error, whose last lines are the message of `require`.
return function(message)
  local this = here()
  local extension = this.system == 'Windows' and 'dll' or 'so'
  local needed = (
    '%s needs lib/%s/torch/core.%s of an archive%s, or what `make build%s` makes, in a directory '
    .. 'that package.cpath names (the variable %s sets it)%s%s'
  ):format(
    RUNNING,
    VERSION,
    extension,
    ARCHIVES[named(this)] and ' torch-storage-*-' .. ARCHIVES[named(this)] or ' for its system',
    VERSION == '5.1' and '' or ' LUA=lua' .. VERSION,
    VERSION == '5.1' and 'LUA_CPATH' or ('LUA_CPATH_' .. VERSION:gsub('%.', '_')),
    rawget(_G, 'vim') and (', or as lua/torch/core.%s in a folder of the runtime path'):format(extension) or '',
    this.libc == 'musl' and '' or '; LuaRocks installs it, too'
  )
  local function explained(problem)
    return ('cannot load torch.core: %s\n%s\n%s'):format(problem, needed, message)
  end

  if message:find("module 'torch.core' not found", 1, true) then
    local where = this.system and ' on ' .. named(this) or ''
    return explained(('there is no file for it, and this is %s%s'):format(RUNNING, where))
  end
  -- Lua 5.1 has no package.searchpath. It names the file in each message that is about one. Neovim's loader gives the message of
  -- the system alone, which names the file, too.
  local file = message:match "from file '(.-)':\n" or message:match '(%S*[/\\]torch[/\\]core%.%a+)'
  local search = rawget(package, 'searchpath')
  file = file or search and search('torch.core', package.cpath)
  local bytes = file and contents(file)
  if not bytes then
    return message
  elseif not platform(bytes) then
    return explained(('%s is not a library: perhaps a download failed'):format(file))
  elseif has(message, 'version `GLIBC_') then
    return explained(('%s was built on a system with a newer glibc than this one'):format(file))
  end
  local is_of_other_lua = message:find 'version mismatch' or message:find 'different Lua versions'
  local target, running = mismatch(bytes, this, is_of_other_lua)
  if target then
    return explained(('%s is for %s, and this is %s'):format(file, target, running))
  elseif this.system == 'Windows' and message:find 'odule .*not .*found' then
    -- The library looks for Lua's functions in a DLL of a certain name.
    local name = ('lua%s.dll'):format((VERSION:gsub('%.', '')))
    return explained(('%s needs %s, and the program that runs has its Lua under another name'):format(file, name))
  elseif message:find 'ndefined symbol: lua' or message:find 'lua_%w+: symbol not found' then
    local how = 'a program that has Lua inside shows its functions to libraries if it is linked with -Wl,-E'
    return explained(('%s finds no functions of Lua: %s'):format(file, how))
  end
  return message
end
