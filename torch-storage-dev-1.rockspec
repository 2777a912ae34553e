rockspec_format = '3.0'
package = 'torch-storage'
version = 'dev-1'
-- `luarocks make` builds the directory it is run in and fetches nothing.
source = { url = 'git+file://.' }
description = {
  summary = 'Share and map gigabytes of numbers in Lua: arrays outside of the Lua heap with checked indices',
  detailed = [[
    Arrays of one type, as Torch7's storages, over memory that Lua does not own: heap, mapped files, shared memory. Tensors show them in
    several dimensions.
    Building needs cargo and make. It builds for the interpreter that LuaRocks runs on. One library serves lua5.1 and luajit.
  ]],
  license = 'BSD-3-Clause',
}
supported_platforms = { 'linux', 'macosx' }
dependencies = { 'lua >= 5.1, < 5.6' }
build = {
  type = 'make',
  build_target = 'build',
  build_variables = { LUA = '$(LUA)', CFLAGS = '$(CFLAGS)' }, -- no C here, but luarocks warns when it is left out
  -- $(PREFIX) is the directory of the rock: $(luarocks show --rock-dir torch-storage)
  install_variables = {
    LUA = '$(LUA)',
    LUADIR = '$(LUADIR)',
    LIBDIR = '$(LIBDIR)',
    INCDIR = '$(PREFIX)/include', -- the header for C modules
    DOCDIR = '$(PREFIX)/doc', -- the documents and examples, which `luarocks doc torch-storage` finds
  },
}
