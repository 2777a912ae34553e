/* A program that is linked with the static library and Lua: it opens states with and without restrictions, and runs scripts in them. It
 * prints what fails. */
#include <torch_storage.h>

#include <lualib.h>

#include <stdio.h>
#include <string.h>

#ifdef WITH_SECOND
/* A function of a second Rust library in this program. It panics and catches that, and returns 1. */
int second_library(void);
#endif

static int failures = 0;

static void check(int is_right, const char *what) {
  if (!is_right) {
    printf("failed: %s\n", what);
    failures++;
  }
}

/* Runs a text. Its error has to contain `expected`; NULL for none. */
static void run(lua_State *L, const char *text, const char *expected) {
  const char *message = NULL;
  if (luaL_loadstring(L, text) != 0 || lua_pcall(L, 0, 0, 0) != 0) message = lua_tostring(L, -1);
  if (expected == NULL ? message != NULL : message == NULL || strstr(message, expected) == NULL) {
    printf("failed: %s\n  %s\n", text, message == NULL ? "no error" : message);
    failures++;
  }
  lua_settop(L, 0);
}

static int l_require(lua_State *L) {
  torch_storage_options *options = (torch_storage_options *)lua_touserdata(L, 1);
  lua_settop(L, 0);
  return torch_storage_require(L, options);
}

/* Opens the library in a protected call. Returns the error, which stays on the stack, or NULL. */
static const char *open_torch(lua_State *L, torch_storage_options *options) {
  lua_pushcfunction(L, l_require);
  lua_pushlightuserdata(L, options);
  if (lua_pcall(L, 1, 1, 0) != 0) return lua_tostring(L, -1);
  lua_setglobal(L, "torch");
  return NULL;
}

int main(void) {
  torch_storage_options options;
  int n;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  check(open_torch(L, NULL) == NULL, "a state opens without options");
  run(L, "s = torch.FloatStorage(1000):fill(2) assert(s:sum() == 2000)", NULL);
  run(L, "for i = 1, #s do s[i] = i end assert(s[1000] == 1000 and s:max() == 1000)", NULL);
  run(L, "return s[1001]", "index 1001 is out of range");
  run(L, "local ok = require 'torch' assert(ok == torch)", NULL);
  run(L, "assert(torch.FloatStorage { filename = arg0 or '/proc/self/exe' }[1])", NULL);
  for (n = 0; n < 10000; n++) run(L, "torch.FloatStorage(-1)", "size");
  check(!torch_storage_restricted(L) && torch_storage_memory(L) == 0, "a state without options has no budget");
  check(torch_storage_limit(L, 100000) == 1, "a limit can be set later");
  run(L, "t = torch.ByteStorage(100001)", "the host program allows 100000");
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.restricted = 1;
  check(strstr(open_torch(L, &options), "open in this Lua state already") != NULL, "options come too late");
  lua_close(L);

  L = luaL_newstate();
  luaL_openlibs(L);
  options.size = 3;
  check(strstr(open_torch(L, &options), "the field 'size' of torch_storage_options is 3") != NULL, "a wrong size is refused");
  lua_settop(L, 0);
  options.size = sizeof options;
  options.memory = 1 << 20;
  options.threads = 1;
  check(open_torch(L, &options) == NULL, "a restricted state opens");
  check(torch_storage_restricted(L) == 1, "it is restricted");
  run(L, "torch.load 'x'", "the host program restricts this Lua state");
  run(L, "torch.FloatStorage(1e6)", "the host program allows 1048576");
  run(L, "for i = 1, 1000 do torch.ByteStorage(1e5) end assert(torch.getnumthreads() == 1)", NULL);
  lua_close(L);
#ifdef WITH_SECOND
  check(second_library() == 1, "a second Rust library unwinds");
#endif
  printf("%s\n", failures == 0 ? "passed" : "failed");
  return failures != 0;
}
