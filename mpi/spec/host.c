/* What the specs of torch.mpi need and Lua lacks: fork, a second Lua state, another thread, and MPI's level of threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* fork(): 0 in the child, its number in the parent. */
static int l_fork(lua_State *L) {
  lua_pushinteger(L, fork());
  return 1;
}

/* wait(child): its exit status. */
static int l_wait(lua_State *L) {
  int status = 0;
  waitpid((pid_t)luaL_checkinteger(L, 1), &status, 0);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return 1;
}

static char answer[1000];

/* Runs Lua code in a state of its own, and keeps what it returns, as a string. */
static void *run(void *code) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  int failed = luaL_loadstring(L, code) || lua_pcall(L, 0, 1, 0);
  const char *text = lua_tostring(L, -1);
  strncpy(answer, text ? text : failed ? "an error" : "nothing", sizeof answer - 1);
  lua_close(L);
  return NULL;
}

static int l_state(lua_State *L) {
  run((void *)luaL_checkstring(L, 1));
  lua_pushstring(L, answer);
  return 1;
}

static int l_thread(lua_State *L) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, (void *)luaL_checkstring(L, 1));
  pthread_join(thread, NULL);
  lua_pushstring(L, answer);
  return 1;
}

/* level(): what MPI_Query_thread says: 0 is SINGLE, 1 is FUNNELED. */
static int l_level(lua_State *L) {
  static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"};
  int level = -1;
  for (size_t n = 0; n < sizeof names / sizeof *names && level < 0; n++) {
    void *library = dlopen(names[n], RTLD_NOW | RTLD_NOLOAD);
    int (*query)(int *) = library ? (int (*)(int *))dlsym(library, "MPI_Query_thread") : NULL;
    if (query)
      query(&level);
  }
  lua_pushinteger(L, level);
  return 1;
}

int luaopen_mpi_host(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"fork", l_fork}, {"wait", l_wait}, {"state", l_state}, {"thread", l_thread}, {"level", l_level},
  };
  lua_newtable(L);
  for (size_t n = 0; n < sizeof functions / sizeof *functions; n++) {
    lua_pushcfunction(L, functions[n].func);
    lua_setfield(L, -2, functions[n].name);
  }
  return 1;
}
