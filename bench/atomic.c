/* What C does with an element that several processes count, and how two processes wake each other by eventfds. bench/atomic.lua measures
   torch.atomic next to it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lua.h"
#include "lauxlib.h"

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

typedef struct {
  size_t size;
  int64_t *data;
} array;

/* For LuaJIT's FFI: nothing but the check of the index, and `lock xadd`. */
static int64_t add(array *a, int64_t index, int64_t value) {
  return (uint64_t)(index - 1) < a->size ? __atomic_fetch_add(&a->data[index - 1], value, __ATOMIC_SEQ_CST) : -1;
}

/* The same as a function of Lua. */
static int l_add(lua_State *L) {
  array *a = lua_touserdata(L, 1);
  int64_t index = (int64_t)lua_tonumber(L, 2);
  if (a == NULL || lua_rawlen(L, 1) != sizeof(array) || index < 1 || (size_t)index > a->size || lua_type(L, 3) != LUA_TNUMBER) {
    return luaL_error(L, "an array, an index and a number expected");
  }
  lua_pushnumber(L, (lua_Number)add(a, index, (int64_t)lua_tonumber(L, 3)));
  return 1;
}

static int l_array(lua_State *L) {
  size_t size = (size_t)lua_tonumber(L, 1);
  array *a = lua_newuserdata(L, sizeof(array));
  a->size = size;
  a->data = calloc(size, sizeof(int64_t)); /* the benchmark keeps it until it ends */
  return 1;
}

/* The address of `add`, for LuaJIT's FFI. */
static int l_address(lua_State *L) {
  lua_pushnumber(L, (lua_Number)(uintptr_t)add);
  return 1;
}

/* Forks. Returns 0 in the child. */
static int l_fork(lua_State *L) {
  lua_pushnumber(L, (lua_Number)fork());
  return 1;
}

/* Ends the child at once. */
static int l_leave(lua_State *L) {
  (void)L;
  _exit(0);
}

/* Waits for the end of a child. */
static int l_join(lua_State *L) {
  waitpid((pid_t)lua_tonumber(L, 1), NULL, 0);
  return 0;
}

/* As many round trips between this process and a child, by two eventfds. */
static int l_round_trips(lua_State *L) {
  int count = (int)lua_tonumber(L, 1), there = eventfd(0, 0), back = eventfd(0, 0);
  uint64_t one = 1, got;
  pid_t child = fork();
  for (int n = 0; n < count; n++) {
    if (child == 0) {
      if (read(there, &got, sizeof got) < 0 || write(back, &one, sizeof one) < 0)
        _exit(1);
    } else if (write(there, &one, sizeof one) < 0 || read(back, &got, sizeof got) < 0) {
      return luaL_error(L, "an eventfd failed");
    }
  }
  if (child == 0)
    _exit(0);
  waitpid(child, NULL, 0);
  close(there);
  close(back);
  return 0;
}

/* Seconds of a clock that also runs while the process sleeps. */
static int l_clock(lua_State *L) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec / 1e9);
  return 1;
}

int luaopen_atomic(lua_State *L) {
  static const luaL_Reg functions[] = { { "add", l_add },     { "array", l_array }, { "address", l_address },
                                        { "fork", l_fork },   { "leave", l_leave }, { "join", l_join },
                                        { "round_trips", l_round_trips }, { "clock", l_clock }, { NULL, NULL } };
  lua_newtable(L);
  for (const luaL_Reg *f = functions; f->name != NULL; f++) {
    lua_pushcfunction(L, f->func);
    lua_setfield(L, -2, f->name);
  }
  return 1;
}
