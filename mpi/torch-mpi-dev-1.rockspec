rockspec_format = '3.0'
package = 'torch-mpi'
version = 'dev-1'
-- `luarocks make mpi/torch-mpi-dev-1.rockspec`, in the directory of torch-storage, builds it and fetches nothing.
source = { url = 'git+file://.' }
description = {
  summary = 'MPI for torch-storage: storages and tensors as buffers of messages between machines',
  detailed = [[
    Building needs cargo, make, libclang, and the mpicc of Open MPI 4 or later, or of MPICH. The library belongs to that MPI.
  ]],
  license = 'BSD-3-Clause',
}
supported_platforms = { 'linux', 'macosx' }
dependencies = { 'lua >= 5.1, < 5.6', 'torch-storage' }
build = {
  type = 'make',
  build_target = 'mpi',
  build_variables = { LUA = '$(LUA)', CFLAGS = '$(CFLAGS)' }, -- no C here, but luarocks warns when it is left out
  install_target = 'install-mpi',
  install_variables = { LUA = '$(LUA)', LUADIR = '$(LUADIR)', LIBDIR = '$(LIBDIR)' },
}
