/* An interpreter for the specs on a Lua that Debian has no packages of, and for the C library musl: the crates that carry the sources of
 * Lua are without lua.c.
 *
 *   lua [-v] [-e CODE] [SCRIPT ARGUMENT...]
 *
 * It does with these, with LUA_INIT and with the collector what lua.c does. There are no packages of modules in C for these Luas,
 * either. So package.preload has what busted uses of three of them: `lfs`, `system.core` and `term.core`. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* Lua 5.1 and LuaJIT. */
#if LUA_VERSION_NUM == 501
#undef luaL_newlib
#undef luaL_setfuncs
#define luaL_newlib(L, functions) (lua_newtable(L), luaL_register(L, NULL, functions))
#define luaL_setfuncs(L, functions, upvalues) luaL_register(L, NULL, functions)
#define luaL_checkversion(L) ((void)(L))
#ifndef LUA_OK
#define LUA_OK 0
#define luaL_traceback(L, of, message, level) lua_pushstring(L, message)
#endif
#endif
#ifndef LUA_VERSUFFIX
#define LUA_VERSUFFIX ""
#endif

/* true, or nil and what the system says about a file. */
static int file_result(lua_State *L, int succeeded, const char *name) {
  if (succeeded) {
    lua_pushboolean(L, 1);
    return 1;
  }
  const char *reason = strerror(errno);
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", name, reason);
  return 2;
}

/* lfs.attributes(name, 'mode'): nil and a message if there is no such file. */
static int lfs_attributes(lua_State *L) {
  struct stat status;
  const char *name = luaL_checkstring(L, 1);
  luaL_argcheck(L, strcmp(luaL_checkstring(L, 2), "mode") == 0, 2, "only the mode is known here");
  if (stat(name, &status) != 0)
    return file_result(L, 0, name);
  lua_pushstring(L, S_ISDIR(status.st_mode) ? "directory" : S_ISREG(status.st_mode) ? "file" : "other");
  return 1;
}

static int lfs_currentdir(lua_State *L) {
  char *directory = get_current_dir_name();
  if (directory == NULL)
    return file_result(L, 0, "the working directory");
  lua_pushstring(L, directory);
  free(directory);
  return 1;
}

static int lfs_chdir(lua_State *L) {
  const char *directory = luaL_checkstring(L, 1);
  return file_result(L, chdir(directory) == 0, directory);
}

static int push_time(lua_State *L, clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  lua_pushnumber(L, (double)now.tv_sec + (double)now.tv_nsec / 1e9);
  return 1;
}

static int system_gettime(lua_State *L) {
  return push_time(L, CLOCK_REALTIME);
}

static int system_monotime(lua_State *L) {
  return push_time(L, CLOCK_MONOTONIC);
}

static int system_sleep(lua_State *L) {
  double seconds = luaL_checknumber(L, 1);
  struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
  return 0;
}

static int term_isatty(lua_State *L) {
  FILE **file = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  lua_pushboolean(L, *file != NULL && isatty(fileno(*file)));
  return 1;
}

static int open_lfs(lua_State *L) {
  luaL_Reg functions[] = {
      {"attributes", lfs_attributes}, {"chdir", lfs_chdir}, {"currentdir", lfs_currentdir}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

static int open_system(lua_State *L) {
  luaL_Reg functions[] = {
      {"gettime", system_gettime}, {"monotime", system_monotime}, {"sleep", system_sleep}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

static int open_term(lua_State *L) {
  luaL_Reg functions[] = {{"isatty", term_isatty}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

/* The message with a traceback. An error object that is not a string is named by its type. */
static int explain(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (message == NULL) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
      return 1;
    message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  }
  luaL_traceback(L, L, message, 1);
  return 1;
}

static void say(lua_State *L) {
  const char *message = lua_tostring(L, -1);
  fprintf(stderr, "lua: %s\n", message != NULL ? message : "(error message not a string)");
  lua_pop(L, 1);
}

/* Calls the chunk on the top of the stack, after its `count` arguments, if `loaded` is LUA_OK. Otherwise an error is there. */
static int run(lua_State *L, int loaded, int count) {
  int status = loaded;
  if (status == LUA_OK) {
    int base = lua_gettop(L) - count;
    lua_pushcfunction(L, explain);
    lua_insert(L, base);
    status = lua_pcall(L, count, 0, base);
    lua_remove(L, base);
  }
  if (status != LUA_OK)
    say(L);
  return status;
}

static int run_code(lua_State *L, const char *code, const char *name) {
  return run(L, luaL_loadbuffer(L, code, strlen(code), name), 0);
}

static int run_init(lua_State *L) {
  const char *init = getenv("LUA_INIT" LUA_VERSUFFIX);
  if (init == NULL)
    init = getenv("LUA_INIT");
  if (init == NULL)
    return LUA_OK;
  return init[0] == '@' ? run(L, luaL_loadfile(L, init + 1), 0) : run_code(L, init, "=LUA_INIT");
}

static int run_script(lua_State *L, const char *name, int count, char **arguments) {
  int loaded = luaL_loadfile(L, strcmp(name, "-") == 0 ? NULL : name);
  if (loaded == LUA_OK) {
    luaL_checkstack(L, count + 3, "too many arguments to script");
    for (int i = 0; i < count; i++)
      lua_pushstring(L, arguments[i]);
  }
  return run(L, loaded, count);
}

/* The numbers of the table `arg` begin at the script, or after the options if there is none. */
static void set_arg(lua_State *L, int argc, char **argv, int script) {
  lua_newtable(L);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

static int main_protected(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  int script = 1;
  while (script < argc && argv[script][0] == '-' && argv[script][1] != '\0')
    script += strcmp(argv[script], "-e") == 0 ? 2 : 1;

  luaL_checkversion(L);
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  luaL_Reg modules[] = {{"lfs", open_lfs}, {"system.core", open_system}, {"term.core", open_term}, {NULL, NULL}};
  luaL_setfuncs(L, modules, 0);
  lua_pop(L, 2);
  set_arg(L, argc, argv, script < argc ? script : 0);
  lua_gc(L, LUA_GCRESTART, 0);
#ifdef LUA_GCGEN
  lua_gc(L, LUA_GCGEN, 0, 0);
#endif

  int status = run_init(L);
  for (int i = 1; i < script && i < argc && status == LUA_OK; i++) {
    if (strcmp(argv[i], "-v") == 0)
      puts(LUA_COPYRIGHT);
    else if (strcmp(argv[i], "-e") == 0 && i + 1 < argc)
      status = run_code(L, argv[++i], "=(command line)");
    else
      return luaL_error(L, "there is no option '%s' here", argv[i]);
  }
  if (status == LUA_OK && script < argc)
    status = run_script(L, argv[script], argc - script - 1, argv + script + 1);
  lua_pushboolean(L, status == LUA_OK);
  return 1;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL)
    return EXIT_FAILURE;
  lua_gc(L, LUA_GCSTOP, 0);
  lua_pushcfunction(L, main_protected);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int succeeded = 0;
  if (lua_pcall(L, 2, 1, 0) != LUA_OK)
    say(L);
  else
    succeeded = lua_toboolean(L, -1);
  lua_close(L);
  return succeeded ? EXIT_SUCCESS : EXIT_FAILURE;
}
