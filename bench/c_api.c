/* C functions with the calls that bench/c_api.lua measures. */
#include "torch_storage.h"

/* The cost of a C function with an argument and a result. */
static int l_nothing(lua_State *L) {
  lua_pushlightuserdata(L, lua_touserdata(L, lua_upvalueindex(1)));
  return 1;
}

/* A call as a module makes it: the table is the upvalue. */
static int l_check(lua_State *L) {
  torch_storage_view s;
  torch_storage_check(torch_storage_upvalue(L, 1), L, 1, TORCH_FLOAT, TORCH_ALIGNED, &s);
  lua_pushlightuserdata(L, s.data);
  return 1;
}

/* The same with the table from the registry each time. */
static int l_check_registry(lua_State *L) {
  torch_storage_view s;
  const torch_storage_api *torch = torch_storage_open(L);
  torch_storage_check(torch, L, 1, TORCH_FLOAT, TORCH_ALIGNED, &s);
  lua_pushlightuserdata(L, s.data);
  return 1;
}

/* What C modules do for userdata of their own: luaL_checkudata. */
static int l_checkudata(lua_State *L) {
  lua_pushlightuserdata(L, luaL_checkudata(L, 1, "bench.own"));
  return 1;
}

static int l_check_tensor(lua_State *L) {
  torch_tensor_view x;
  torch_tensor_check(torch_storage_upvalue(L, 1), L, 1, TORCH_FLOAT, TORCH_ALIGNED, &x);
  lua_pushlightuserdata(L, x.data);
  return 1;
}

static int l_retain(lua_State *L) {
  const torch_storage_api *torch = torch_storage_upvalue(L, 1);
  torch_storage_release(torch, torch_storage_retain(torch, L, 1, TORCH_PIN));
  return 0;
}

static int l_new(lua_State *L) {
  torch_storage_view s;
  torch_storage_new(torch_storage_upvalue(L, 1), L, TORCH_FLOAT, 4, &s);
  return 1;
}

static void keep(void *argument) {
  (void)argument;
}

static int l_wrap(lua_State *L) {
  static float numbers[4];
  torch_storage_wrap(torch_storage_upvalue(L, 1), L, numbers, 4, TORCH_FLOAT, TORCH_WRITABLE, keep, NULL);
  return 1;
}

static int l_own(lua_State *L) {
  lua_newuserdata(L, 16);
  luaL_newmetatable(L, "bench.own");
  lua_setmetatable(L, -2);
  return 1;
}

int luaopen_c_api(lua_State *L) {
  static const luaL_Reg functions[] = {
    { "nothing", l_nothing },
    { "check", l_check },
    { "check_registry", l_check_registry },
    { "checkudata", l_checkudata },
    { "check_tensor", l_check_tensor },
    { "retain", l_retain },
    { "new", l_new },
    { "wrap", l_wrap },
    { "own", l_own },
    { NULL, NULL },
  };
  const luaL_Reg *function;
  lua_newtable(L);
  torch_storage_open(L);
  for (function = functions; function->name != NULL; function++) {
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, function->func, 1);
    lua_setfield(L, -3, function->name);
  }
  lua_pop(L, 1);
  return 1;
}
