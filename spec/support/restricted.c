/* A host of scripts that are not trusted: restricted SCRIPT [NAME...]. The script runs in a restricted state with 8 MiB, and may look up the
 * names. It has Lua's libraries but `debug`, `io` and `os`; `host` is a storage that the host has made, and `other` runs a text in
 * another state of the process, which is not restricted. Prints `error: ` and the error of the script, and at the end how many bytes its
 * storages have. */
#include "torch_storage.h"

#include <lualib.h>

#include <stdio.h>
#include <stdlib.h>

static lua_State *other;

static int l_other(lua_State *L) {
  if (luaL_loadstring(other, luaL_checkstring(L, 1)) != 0 || lua_pcall(other, 0, 1, 0) != 0)
    return luaL_error(L, "in the other state: %s", lua_tostring(other, -1));
  lua_pushstring(L, lua_tostring(other, -1));
  lua_settop(other, 0);
  return 1;
}

int main(int count, char **arguments) {
  static float numbers[4] = {1, 2, 3, 4};
  static const char *const withheld[] = {"debug", "io", "os", NULL};
  torch_storage_options options = {0};
  lua_State *L = luaL_newstate();
  int n;
  luaL_openlibs(L);
  for (n = 0; withheld[n] != NULL; n++) {
    lua_pushnil(L);
    lua_setglobal(L, withheld[n]);
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_pushnil(L);
    lua_setfield(L, -2, withheld[n]);
    lua_pop(L, 1);
  }
  lua_getglobal(L, "package");
  lua_pushnil(L);
  lua_setfield(L, -2, "loadlib");
  lua_pop(L, 1);
  other = luaL_newstate();
  luaL_openlibs(other);
  torch_storage_require(other, NULL);
  lua_setglobal(other, "torch");

  options.size = sizeof options;
  options.restricted = 1;
  options.memory = 8 << 20;
  options.publications = (const char *const *)(void *)(arguments + 2);
  torch_storage_require(L, &options);
  lua_setglobal(L, "torch");
  torch_storage_wrap(torch_storage_find(L), L, numbers, 4, TORCH_FLOAT, TORCH_WRITABLE, NULL, NULL);
  lua_setglobal(L, "host");
  lua_pushcfunction(L, l_other);
  lua_setglobal(L, "other");
  if (count < 2 || luaL_loadfile(L, arguments[1]) != 0 || lua_pcall(L, 0, 0, 0) != 0) printf("error: %s\n", lua_tostring(L, -1));
  lua_settop(L, 0);
  /* The state is as it was. */
  if (luaL_dostring(L, "local s = torch.FloatStorage(3):fill(2) assert(s:sum() == 6 and host:size() == 4)") != 0)
    printf("the state is broken: %s\n", lua_tostring(L, -1));
  printf("%lu bytes\n", (unsigned long)torch_storage_memory(L));
  lua_close(L);
  lua_close(other);
  return 0;
}
