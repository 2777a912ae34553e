/* An interpreter for the specs on Windows, under Wine: it is linked with the DLL of a Lua, as programs there are.
 *
 *   host [-v] [-joff] [-e CODE] [SCRIPT ARGUMENT...]
 *
 * The table `host` has what host.lua needs, which runs first: files and time for busted, and Unix commands for the specs. The environment
 * variable HOST_LUA is the name of that file, and HOST_INTERPRETER the command that started this program. */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* host.mode(name): 'file' or 'directory', or nothing if there is no such file. */
static int mode(lua_State *L) {
  DWORD found = GetFileAttributesA(luaL_checkstring(L, 1));
  if (found == INVALID_FILE_ATTRIBUTES)
    return 0;
  lua_pushstring(L, found & FILE_ATTRIBUTE_DIRECTORY ? "directory" : "file");
  return 1;
}

static int directory(lua_State *L) {
  char name[MAX_PATH];
  lua_pushlstring(L, name, GetCurrentDirectoryA(sizeof name, name));
  return 1;
}

static int change(lua_State *L) {
  lua_pushboolean(L, SetCurrentDirectoryA(luaL_checkstring(L, 1)));
  return 1;
}

/* host.time(): seconds since 1970. */
static int now(lua_State *L) {
  FILETIME time;
  GetSystemTimePreciseAsFileTime(&time);
  lua_pushnumber(L, ((double)time.dwHighDateTime * 4294967296.0 + time.dwLowDateTime) / 1e7 - 11644473600.0);
  return 1;
}

static int nap(lua_State *L) {
  Sleep((DWORD)(luaL_checknumber(L, 1) * 1000));
  return 0;
}

static int process(lua_State *L) {
  lua_pushnumber(L, GetCurrentProcessId());
  return 1;
}

static int nothing(lua_State *L) {
  (void)L;
  return 0;
}

/* host.proxy(): a userdata that has had a finalizer from the beginning. Lua calls one that is set later only then. */
static int proxy(lua_State *L) {
  lua_newuserdata(L, 1);
  lua_newtable(L);
  lua_pushcfunction(L, nothing);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return 1;
}

/* host.start(command): starts a command, and does not wait for it. Wine takes the name of a Unix program too, but then gives no handle of
 * the process, and no way to wait for it. */
static int start(lua_State *L) {
  STARTUPINFOA info = {.cb = sizeof info};
  PROCESS_INFORMATION made = {0};
  char command[4096];
  snprintf(command, sizeof command, "%s", luaL_checkstring(L, 1));
  if (!CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &info, &made))
    return luaL_error(L, "%s does not start: error %d", command, (int)GetLastError());
  return 0;
}

static const luaL_Reg functions[] = {{"mode", mode},   {"directory", directory}, {"change", change}, {"time", now},
                                     {"sleep", nap},   {"process", process},     {"start", start},   {"proxy", proxy},   {NULL, NULL}};

static int traceback(lua_State *L) {
  if (!lua_isstring(L, 1))
    return 1;
  lua_getglobal(L, "debug");
  lua_getfield(L, -1, "traceback");
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 2);
  lua_call(L, 2, 1);
  return 1;
}

/* Calls the chunk on the top of the stack, after `count` arguments, unless it could not be loaded. */
static int run(lua_State *L, int status, int count) {
  if (status == 0) {
    int base = lua_gettop(L) - count;
    lua_pushcfunction(L, traceback);
    lua_insert(L, base);
    status = lua_pcall(L, count, 0, base);
    lua_remove(L, base);
  }
  if (status != 0) {
    const char *message = lua_tostring(L, -1);
    if (!lua_isnil(L, -1)) /* busted ends itself so */
      fprintf(stderr, "lua: %s\n", message != NULL ? message : "(error object is not a string)");
    lua_pop(L, 1);
  }
  return status;
}

int main(int argc, char **argv) {
  /* The specs compare what programs print and write byte by byte. */
  _fmode = _O_BINARY;
  for (int file = 0; file <= 2; file++)
    _setmode(file, _O_BINARY);
  lua_State *L = luaL_newstate();
  if (L == NULL)
    return EXIT_FAILURE;
  luaL_openlibs(L);
  lua_newtable(L);
  for (const luaL_Reg *one = functions; one->name != NULL; one++) {
    lua_pushcfunction(L, one->func);
    lua_setfield(L, -2, one->name);
  }
  lua_setglobal(L, "host");

  int script = 1;
  while (script < argc && argv[script][0] == '-' && argv[script][1] != '\0')
    script += strcmp(argv[script], "-e") == 0 ? 2 : 1;
  lua_newtable(L);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, i == 0 ? getenv("HOST_INTERPRETER") : argv[i]);
    lua_rawseti(L, -2, i - (script < argc ? script : 0));
  }
  lua_setglobal(L, "arg");

  int status = run(L, luaL_loadfile(L, getenv("HOST_LUA")), 0);
  for (int i = 1; i < script && i < argc && status == 0; i++) {
    const char *code = strcmp(argv[i], "-e") == 0 && i + 1 < argc ? argv[++i]
                       : strcmp(argv[i], "-joff") == 0            ? "jit.off()"
                                                                  : "print(jit and jit.version or _VERSION)";
    status = run(L, luaL_loadbuffer(L, code, strlen(code), "=(command line)"), 0);
  }
  if (status == 0 && script < argc) {
    int loaded = luaL_loadfile(L, strcmp(argv[script], "-") == 0 ? NULL : argv[script]);
    luaL_checkstack(L, argc, "too many arguments");
    for (int i = script + 1; loaded == 0 && i < argc; i++)
      lua_pushstring(L, argv[i]);
    status = run(L, loaded, loaded == 0 ? argc - script - 1 : 0);
  }
  lua_close(L);
  return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
