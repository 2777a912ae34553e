rockspec_format = '3.0'
package = 'torch-storage'
version = '0.2.0-1'
-- `make rock` makes this archive and packs it into target/rocks/torch-storage-0.2.0-1.src.rock together with this file.
source = { url = 'file://torch-storage-0.2.0.tar.gz', dir = 'torch-storage-0.2.0' }
description = {
  summary = "Torch7's storages, and tensors without arithmetic, for Lua 5.1 to 5.5 and LuaJIT",
  detailed = [[
    Typed arrays of C numbers over memory that Lua does not own: heap, mapped files, foreign pointers. Tensors show them in
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
