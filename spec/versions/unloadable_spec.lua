-- A torch.core that is missing, or is for another machine, is an error that says so. library_spec.lua tries those of other Luas.
local support = require 'spec.support'

local VERSION = _VERSION:match '[%d.]+'
-- What this interpreter is for: the beginning of its own program. An emulator shows the program that it runs.
local PROGRAM = support.slurp('/proc/self/exe'):sub(1, 4096)
local PROCESSOR = PROGRAM:byte(19) == 183 and 'ARM64' or 'x86-64'
local LIBC = PROGRAM:find('ld-musl', 1, true) and 'musl' or 'glibc'

-- A function that the library for each Lua needs, and those for earlier Luas do not.
local FUNCTIONS =
  { ['5.1'] = 'lua_objlen', ['5.2'] = 'lua_rawlen', ['5.3'] = 'lua_rotate', ['5.4'] = 'lua_newuserdatauv' }
FUNCTIONS['5.5'] = FUNCTIONS['5.4']
local OTHER = PROCESSOR == 'ARM64' and 'x86-64' or 'ARM64'

-- The beginning of an ELF file for a processor, and the names of what it needs.
local function elf(processor, ...)
  local machine = ({ ['x86-64'] = 62, ARM64 = 183, ['32-bit ARM'] = 40 })[processor]
  local header = '\127ELF\2\1\1' .. ('\0'):rep(9) .. '\3\0' .. string.char(machine, 0) .. '\1\0\0\0'
  return header .. ('\0'):rep(100) .. table.concat({ ... }, '\0') .. '\0'
end

-- A Windows library, whose header is at byte 128.
local function dll(machine)
  return 'MZ' .. ('\0'):rep(58) .. '\128\0\0\0' .. ('\0'):rep(64) .. 'PE\0\0' .. machine .. ('\0'):rep(100)
end

-- The message of `require 'torch'` where torch/core.so has these bytes, or is missing.
local function message(bytes)
  local directory = support.directory()
  support.sh(("mkdir '%s/torch'"):format(directory))
  if bytes then
    support.spit(directory .. '/torch/core.so', bytes)
  end
  local source = [[
    package.path = 'lua/?.lua;lua/?/init.lua'
    package.cpath = %q .. '/?.so'
    local ok, message = pcall(require, 'torch')
    io.write(ok and 'loaded' or message)
  ]]
  local output = support.child(source:format(directory))
  support.remove(directory)
  return (output:gsub(directory:gsub('%p', '%%%0'), 'DIR'))
end

local function says(bytes, what)
  local text = message(bytes)
  assert.is_truthy(text:find('cannot load torch.core: DIR/torch/core.so is ' .. what, 1, true), text)
  assert.is_truthy(
    text:find(('needs lib/%s/torch/core.so of an archive torch-storage-*-'):format(VERSION), 1, true),
    text
  )
  assert.is_truthy(text:find('\nerror loading module .*DIR/torch/core%.so'), text)
end

describe('torch.core', function()
  it('that is missing is an error that says how it is installed #process', function()
    local text = message(nil)
    assert.is_truthy(
      text:find '^cannot load torch%.core: there is no file for it, and this is Lua[^\n]* on Linux on ',
      text
    )
    local make = VERSION == '5.1' and '`make build`' or ('`make build LUA=lua%s`'):format(VERSION)
    assert.is_truthy(text:find(make, 1, true), text)
    assert.is_truthy(text:find("\nmodule 'torch.core' not found:.*\tno file 'DIR/torch/core%.so'"), text)
  end)

  it('for another system or processor is an error that names both #process', function()
    local here = ', and this is Linux on ' .. PROCESSOR
    says(elf(OTHER, '', 'libc.so.6'), ('for Linux on %s with glibc%s'):format(OTHER, here))
    says(elf('32-bit ARM'), 'for Linux on 32-bit ARM' .. here)
    says(dll '\100\134', 'for Windows on x86-64' .. here)
    says('\207\250\237\254\12\0\0\1' .. ('\0'):rep(100), 'for macOS on ARM64' .. here)
  end)

  it('for another C library is an error that names both #process', function()
    local names = LIBC == 'glibc' and { 'musl', 'libc.so', 'libc.musl-x86_64.so.1' } or { 'glibc', 'libc.so.6' }
    for i = 2, #names do
      local line = 'for Linux on %s with %s, and this is Linux on %s with %s\n'
      says(elf(PROCESSOR, '', names[i], 'lua_objlen'), line:format(PROCESSOR, names[1], PROCESSOR, LIBC))
    end
  end)

  it('that is no library is an error that says so #process', function()
    for _, bytes in ipairs { '<!DOCTYPE html>', '', 'MZ', ('x'):rep(1000) } do
      says(bytes, bytes == 'MZ' and 'for Windows, and this is' or 'not a library: perhaps a download failed\n')
    end
  end)

  it('for another Lua is an error that names both #process', function()
    local names = { ['5.1'] = 'Lua 5.1 or LuaJIT', ['5.4'] = 'Lua 5.4 or 5.5', ['5.5'] = 'Lua 5.4 or 5.5' }
    for version, name in pairs(FUNCTIONS) do
      if name ~= FUNCTIONS[VERSION] then
        says(elf(PROCESSOR, name), ('for %s, and this is Lua'):format(names[version] or 'Lua ' .. version))
      end
    end
  end)

  -- What is wrong cannot be read from such a file, so Lua's own message has to say it.
  it('that looks right and cannot be loaded is an error with the text of the system #process', function()
    local text = message(elf(PROCESSOR, FUNCTIONS[VERSION]))
    assert.is_truthy(text:find "^error loading module 'torch%.core' from file 'DIR/torch/core%.so'", text)
  end)

  it('that Neovim cannot load is explained by the message of the system', function()
    local directory = support.directory()
    local file = directory .. '/torch/core.so'
    support.sh(("mkdir '%s/torch'"):format(directory))
    support.spit(file, elf(OTHER, '', 'libc.so.6'))
    local explain = require 'torch.unloadable'
    package.loaded['torch.unloadable'] = nil
    local text = explain(('vim/_init_packages.lua:39: %s: cannot open shared object file'):format(file))
    assert.is_truthy(text:find(('load torch.core: %s is for Linux on %s'):format(file, OTHER), 1, true), text)
    support.remove(directory)
  end)

  it('that does not find the functions of Lua is an error that says how a program is linked', function()
    local directory = support.directory()
    local file = directory .. '/torch/core.so'
    support.sh(("mkdir '%s/torch'"):format(directory))
    support.spit(file, elf(PROCESSOR, FUNCTIONS[VERSION]))
    local explain = require 'torch.unloadable'
    package.loaded['torch.unloadable'] = nil
    for _, problem in ipairs { 'undefined symbol: lua_touserdata', 'lua_touserdata: symbol not found' } do
      local text = explain(("error loading module 'torch.core' from file '%s':\n\t%s: %s"):format(file, file, problem))
      assert.is_truthy(text:find(('load torch.core: %s finds no functions of Lua: '):format(file), 1, true), text)
      assert.is_truthy(text:find('is linked with -Wl,-E', 1, true), text)
    end
    support.remove(directory)
  end)

  it('that lacks a library of Lua is an error that names it #process', function()
    for _, name in ipairs { 'table', 'string', 'math' } do
      local code = ("_G['%s'] = nil print(select(2, pcall(require, 'torch.storage')))"):format(name)
      local output = support.execute(("%s -e '%s'"):format(support.interpreter, code:gsub("'", '"')))
      local expected = ("torch needs '%s' while it is opened: open all libraries of Lua first"):format(name)
      assert.is_truthy(output:find(expected, 1, true), output)
    end
  end)

  it('is not looked at when it can be loaded', function()
    require 'torch'
    assert.is_nil(package.loaded['torch.unloadable'])
  end)
end)
