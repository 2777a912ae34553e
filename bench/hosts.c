/* The least that C must do for safe access to elements as `a[i]`. bench/hosts.lua measures storages next to it.

   An array is a full userdata, and its metatable keeps the memory of its elements. `__index` and `__newindex` check that it is an
   array of their type, that the key is a number, and that it is in range. */
#include <stdint.h>

#include "lua.h"
#include "lauxlib.h"

typedef struct {
  const void *type;
  size_t size;
  void *data;
} array;

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

static array *check_array(lua_State *L, const void *type) {
  array *a = lua_touserdata(L, 1);
  if (a == NULL || lua_rawlen(L, 1) != sizeof(array) || a->type != type) {
    luaL_error(L, "an array expected");
  }
  return a;
}

#if LUA_VERSION_NUM >= 502
static size_t check_index(lua_State *L, const array *a) {
  int is_integer;
  size_t index = (size_t)lua_tointegerx(L, 2, &is_integer) - 1;
  if (!is_integer || index >= a->size) {
    luaL_error(L, "an index in range expected");
  }
  return index;
}

static lua_Number check_number(lua_State *L) {
  int is_number;
  lua_Number value = lua_tonumberx(L, 3, &is_number);
  if (!is_number) {
    luaL_error(L, "a number expected");
  }
  return value;
}

static lua_Integer check_integer(lua_State *L) {
  int is_integer;
  lua_Integer value = lua_tointegerx(L, 3, &is_integer);
  if (!is_integer) {
    luaL_error(L, "an integer expected");
  }
  return value;
}
#else
/* lua_tointeger would truncate numbers that are out of range, and lua_tonumber gives 0 for what is not a number. */
static size_t check_index(lua_State *L, const array *a) {
  lua_Number index = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : 0;
  if (!(index >= 1 && index < (lua_Number)a->size + 1)) {
    luaL_error(L, "an index in range expected");
  }
  return (size_t)index - 1;
}

static lua_Number check_number(lua_State *L) {
  if (lua_type(L, 3) != LUA_TNUMBER) {
    luaL_error(L, "a number expected");
  }
  return lua_tonumber(L, 3);
}

static lua_Number check_integer(lua_State *L) {
  return check_number(L);
}
#endif

#if LUA_VERSION_NUM < 503
#define push_int lua_pushnumber
#else
#define push_int lua_pushinteger
#endif

/* The functions of an element type. Only the address of the variable TYPE_type matters. */
#define ARRAY(TYPE, push, check)                        \
  static const char TYPE##_type = 0;                    \
  static int TYPE##_index(lua_State *L) {               \
    array *a = check_array(L, &TYPE##_type);            \
    push(L, ((TYPE *)a->data)[check_index(L, a)]);      \
    return 1;                                           \
  }                                                     \
  static int TYPE##_newindex(lua_State *L) {            \
    array *a = check_array(L, &TYPE##_type);            \
    size_t index = check_index(L, a);                   \
    ((TYPE *)a->data)[index] = (TYPE)check(L);          \
    return 0;                                           \
  }                                                     \
  static int TYPE##_new(lua_State *L) {                 \
    size_t size = (size_t)luaL_checkinteger(L, 1);      \
    array *a = lua_newuserdata(L, sizeof(array));       \
    a->type = &TYPE##_type;                             \
    a->size = size;                                     \
    a->data = lua_newuserdata(L, size * sizeof(TYPE));  \
    lua_createtable(L, 0, 3);                           \
    lua_insert(L, -2);                                  \
    lua_setfield(L, -2, "data");                        \
    lua_pushcfunction(L, TYPE##_index);                 \
    lua_setfield(L, -2, "__index");                     \
    lua_pushcfunction(L, TYPE##_newindex);              \
    lua_setfield(L, -2, "__newindex");                  \
    lua_setmetatable(L, -2);                            \
    return 1;                                           \
  }

ARRAY(double, lua_pushnumber, check_number)
ARRAY(int32_t, push_int, check_integer)
ARRAY(uint8_t, push_int, check_integer)

int luaopen_hosts(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_pushcfunction(L, double_new);
  lua_setfield(L, -2, "Double");
  lua_pushcfunction(L, int32_t_new);
  lua_setfield(L, -2, "Int");
  lua_pushcfunction(L, uint8_t_new);
  lua_setfield(L, -2, "Byte");
  return 1;
}
