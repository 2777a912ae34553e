/* A host program that does not trust its script: it runs it in a restricted Lua state, beside a state that trusts its own.
 *
 *   attacked TRUSTED SCRIPT BYTES [NAME]...
 *
 * TRUSTED runs in a state with everything, and returns a text that SCRIPT gets as `host.token`. Then SCRIPT runs in a restricted state
 * whose storages may have BYTES bytes, and whose scripts may look up the publications NAME. It sees the libraries of Lua without
 * `debug`, `io` and `os`, `load` takes no byte code, and in the table `host` there are
 *   light           the address of memory of this program, as a light userdata
 *   lent, constant  storages over such memory, of which the second is read-only
 *   used()          how many bytes its storages have
 *   reopen(flag)    tries to open the library once more, restricted or not
 *   deadline(s)     sets a hook that raises an error in s seconds. It counts the instructions of Lua code, and nothing else
 *   late            the message of that error
 *   say(text)       prints a line; it may be called while the state is closed
 * Prints what SCRIPT returns, or the error, and then `closed`. If memory is left of the restricted state, or the memory of this program is
 * not given back, it prints that instead. The exit status is 0 unless the state cannot be opened. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <torch_storage.h>

static float memory[16] = {42};
static torch_storage_options options = {sizeof(torch_storage_options), 1, 0, 1, NULL};

/* What docs/restricted.md tells host programs to withhold. `require` and `package` are left, because attacks use them. */
static const char WITHHOLD[] =
    "debug, io, os, dofile, loadfile, string.dump = nil\n"
    "for _, name in pairs { 'debug', 'io', 'os' } do package.loaded[name] = nil end\n"
    "for _, name in pairs { 'load', 'loadstring' } do\n"
    "  local compile, type, find = _G[name], type, string.find\n"
    "  _G[name] = compile and function(text, ...)\n"
    "    if type(text) ~= 'string' or find(text, '^\\27') then return nil, 'this is no text of a program' end\n"
    "    return compile(text, ...)\n"
    "  end\n"
    "end\n";

static int open_library(lua_State *L) {
  torch_storage_require(L, lua_touserdata(L, 1));
  lua_setglobal(L, "torch");
  return 0;
}

static int l_used(lua_State *L) {
  lua_pushnumber(L, (lua_Number)torch_storage_memory(L));
  return 1;
}

static int l_reopen(lua_State *L) {
  torch_storage_options other = options;
  other.restricted = lua_toboolean(L, 1);
  other.memory = 0;
  return torch_storage_require(L, &other);
}

static int l_say(lua_State *L) {
  printf("%s\n", luaL_checkstring(L, 1));
  return 0;
}

static clock_t deadline;
static const char LATE[] = "the time is over";

static void hook(lua_State *L, lua_Debug *record) {
  if (record->event == LUA_HOOKCOUNT && clock() > deadline) luaL_error(L, "%s", LATE);
}

static int l_deadline(lua_State *L) {
  deadline = clock() + (clock_t)(luaL_checknumber(L, 1) * CLOCKS_PER_SEC);
  lua_sethook(L, hook, LUA_MASKCOUNT, 1000);
  return 0;
}

/* How often the memory of this program was given back. */
static int released;

static void release(void *unused) {
  (void)unused;
  released++;
}

static int fill_host(lua_State *L) {
  const torch_storage_api *torch = torch_storage_find(L);
  lua_newtable(L);
  lua_pushlightuserdata(L, memory);
  lua_setfield(L, -2, "light");
  torch_storage_wrap(torch, L, memory, 16, TORCH_FLOAT, TORCH_WRITABLE, release, NULL);
  lua_setfield(L, -2, "lent");
  torch_storage_wrap(torch, L, memory, 16, TORCH_FLOAT, 0, release, NULL);
  lua_setfield(L, -2, "constant");
  lua_pushcfunction(L, l_used);
  lua_setfield(L, -2, "used");
  lua_pushcfunction(L, l_reopen);
  lua_setfield(L, -2, "reopen");
  lua_pushcfunction(L, l_deadline);
  lua_setfield(L, -2, "deadline");
  lua_pushstring(L, LATE);
  lua_setfield(L, -2, "late");
  lua_pushcfunction(L, l_say);
  lua_setfield(L, -2, "say");
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "token");
  lua_setglobal(L, "host");
  return 0;
}

/* Calls a function with one argument, or ends the process. */
static void must(lua_State *L, int arguments, int results) {
  if (lua_pcall(L, arguments, results, 0) != 0) {
    printf("cannot be opened: %s\n", lua_tostring(L, -1));
    exit(1);
  }
}

static lua_State *opened(torch_storage_options *given) {
  lua_State *L = luaL_newstate();
  if (L == NULL)
    exit(1);
  luaL_openlibs(L);
  lua_pushcfunction(L, open_library);
  lua_pushlightuserdata(L, given);
  must(L, 1, 0);
  return L;
}

/* How many bytes the storages of the whole process have on the heap, which a state with everything can say. */
static double heap_bytes(lua_State *L) {
  double bytes;
  if (luaL_loadstring(L, "collectgarbage() collectgarbage() return torch.memory().heap") != 0) exit(2);
  must(L, 0, 1);
  bytes = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return bytes;
}

int main(int count, char **arguments) {
  lua_State *trusted, *L;
  double before;
  if (count < 4)
    return 2;
  options.memory = (size_t)strtod(arguments[3], NULL);
  options.publications = (const char *const *)arguments + 4;
  trusted = opened(NULL);
  if (luaL_loadfile(trusted, arguments[1]) != 0)
    return 2;
  must(trusted, 0, 1);
  before = heap_bytes(trusted);
  L = opened(&options);
  lua_pushcfunction(L, fill_host);
  lua_pushstring(L, lua_tostring(trusted, -1));
  must(L, 1, 0);
  if (luaL_loadstring(L, WITHHOLD) != 0)
    return 2;
  must(L, 0, 0);
  if (luaL_loadfile(L, arguments[2]) != 0 || lua_pcall(L, 0, 1, 0) != 0)
    printf("error: ");
  printf("%s\n", lua_tostring(L, -1));
  lua_close(L);
  if (heap_bytes(trusted) != before)
    printf("%.0f bytes are left\n", heap_bytes(trusted) - before);
  else if (released != 2)
    printf("memory of the program was given back %d times\n", released);
  else
    printf("closed\n");
  lua_close(trusted);
  return 0;
}
