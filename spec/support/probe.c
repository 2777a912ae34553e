/* probe: shows every function of torch_storage.h to Lua as it is, for the specs of that header (spec/support/probes.lua). It lets
 * a test pass wrong arguments, too. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "torch_storage.h"

#define TORCH torch_storage_upvalue(L, 1)

/* How many blocks were made for torch_storage_wrap, and how often free_block has been called. */
static int made, freed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void free_block(void *block) {
  pthread_mutex_lock(&lock);
  freed++;
  pthread_mutex_unlock(&lock);
  free(block);
}

static int l_freed(lua_State *L) {
  pthread_mutex_lock(&lock);
  lua_pushinteger(L, freed);
  lua_pushinteger(L, made);
  pthread_mutex_unlock(&lock);
  return 2;
}

/* size, width, dtype, flags, class name, address of the first element */
static int push_view(lua_State *L, const torch_storage_view *view) {
  lua_pushinteger(L, (lua_Integer)view->size);
  lua_pushinteger(L, (lua_Integer)view->width);
  lua_pushinteger(L, view->dtype);
  lua_pushinteger(L, view->flags);
  lua_pushstring(L, view->class_name);
  lua_pushnumber(L, (lua_Number)(uintptr_t)view->data);
  return 6;
}

/* test(value, dtype, wants): nothing if it does not fit */
static int l_test(lua_State *L) {
  int top = lua_gettop(L);
  torch_storage_view view;
  if (!torch_storage_test(TORCH, L, 1, (int)luaL_checkinteger(L, 2), (int)luaL_checkinteger(L, 3), &view))
    return 0;
  if (lua_gettop(L) != top)
    return luaL_error(L, "the stack was changed");
  return push_view(L, &view);
}

static int l_check(lua_State *L) {
  torch_storage_view view;
  torch_storage_check(TORCH, L, 1, (int)luaL_checkinteger(L, 2), (int)luaL_checkinteger(L, 3), &view);
  return push_view(L, &view);
}

/* The same for a value at index -1, which is argument 1. */
static int l_check_top(lua_State *L) {
  torch_storage_view view;
  lua_settop(L, 1);
  torch_storage_check(TORCH, L, -1, TORCH_FLOAT, 0, &view);
  return push_view(L, &view);
}

/* size, width, dtype, flags, class name, address, table of sizes, table of strides */
static int push_tensor(lua_State *L, const torch_tensor_view *view) {
  int i;
  lua_pushinteger(L, (lua_Integer)view->size);
  lua_pushinteger(L, (lua_Integer)view->width);
  lua_pushinteger(L, view->dtype);
  lua_pushinteger(L, view->flags);
  lua_pushstring(L, view->class_name);
  lua_pushnumber(L, (lua_Number)(uintptr_t)view->data);
  lua_newtable(L);
  for (i = 0; i < view->dimensions; i++) {
    lua_pushinteger(L, (lua_Integer)view->sizes[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_newtable(L);
  for (i = 0; i < view->dimensions; i++) {
    lua_pushinteger(L, (lua_Integer)view->strides[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 8;
}

static int l_test_tensor(lua_State *L) {
  torch_tensor_view view;
  if (!torch_tensor_test(TORCH, L, 1, (int)luaL_checkinteger(L, 2), (int)luaL_checkinteger(L, 3), &view))
    return 0;
  return push_tensor(L, &view);
}

static int l_check_tensor(lua_State *L) {
  torch_tensor_view view;
  torch_tensor_check(TORCH, L, 1, (int)luaL_checkinteger(L, 2), (int)luaL_checkinteger(L, 3), &view);
  return push_tensor(L, &view);
}

/* Views of other sizes than this header's, as other versions of it may have them: true if only the right bytes were written. */
static int l_other_views(lua_State *L) {
  const torch_storage_api *torch = TORCH;
  struct {
    torch_storage_view view;
    unsigned char more[32];
  } place;
  size_t n, i;
  for (n = sizeof(size_t); n <= sizeof place; n++) {
    memset(&place, 0xa5, sizeof place);
    place.view.struct_size = n;
    if (!torch->test(L, 1, TORCH_ANY, 0, &place.view))
      return luaL_error(L, "a storage expected");
    for (i = n; i < sizeof place; i++)
      if (((unsigned char *)&place)[i] != 0xa5)
        return luaL_error(L, "byte %d was written, beyond the end", (int)i);
    for (i = sizeof place.view; i < n; i++)
      if (((unsigned char *)&place)[i] != 0)
        return luaL_error(L, "byte %d is not 0", (int)i);
    if (place.view.struct_size != n || (n >= offsetof(torch_storage_view, width) && place.view.size != 3))
      return luaL_error(L, "wrong fields for %d bytes", (int)n);
  }
  if (!torch->test(L, 1, TORCH_ANY, 0, NULL))
    return luaL_error(L, "a storage expected");
  return 0;
}

typedef struct {
  const torch_storage_api *torch;
  torch_storage_hold *hold;
} held_t;

static held_t *held(lua_State *L) {
  return (held_t *)lua_touserdata(L, 1);
}

/* retain(value, options): a userdata, which gives the reference back when it is collected */
static int l_retain(lua_State *L) {
  const torch_storage_api *torch = TORCH;
  int options = (int)luaL_checkinteger(L, 2);
  held_t *place = (held_t *)lua_newuserdata(L, sizeof *place);
  place->torch = torch;
  place->hold = NULL;
  luaL_getmetatable(L, "probe.held");
  lua_setmetatable(L, -2);
  place->hold = torch_storage_retain(torch, L, 1, options);
  return 1;
}

/* The same for argument 1 of a function without arguments. */
static int l_retain_nothing(lua_State *L) {
  lua_settop(L, 0);
  torch_storage_retain(TORCH, L, 1, 0);
  return 0;
}

static int l_held(lua_State *L) {
  torch_storage_view view;
  torch_storage_held(held(L)->torch, held(L)->hold, &view);
  return push_view(L, &view);
}

static int l_push(lua_State *L) {
  torch_storage_push(held(L)->torch, L, held(L)->hold);
  return 1;
}

static int l_release(lua_State *L) {
  held_t *place = held(L);
  torch_storage_release(place->torch, place->hold);
  place->hold = NULL;
  return 0;
}

static void *release(void *argument) {
  held_t *place = (held_t *)argument;
  torch_storage_release(place->torch, place->hold);
  place->hold = NULL;
  return NULL;
}

static int l_release_in_thread(lua_State *L) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, release, held(L)) != 0)
    return luaL_error(L, "no thread");
  pthread_join(thread, NULL);
  return 0;
}

static int l_new(lua_State *L) {
  torch_storage_view view;
  torch_storage_new(TORCH, L, (int)luaL_checkinteger(L, 1), (size_t)luaL_checknumber(L, 2), &view);
  return 1 + push_view(L, &view);
}

/* wrap(size, dtype, flags): memory of 64 bytes that are 1, whatever the size says */
static int l_wrap(lua_State *L) {
  size_t size = (size_t)luaL_checknumber(L, 1);
  int dtype = (int)luaL_checkinteger(L, 2), flags = (int)luaL_checkinteger(L, 3);
  void *block = malloc(64);
  if (block == NULL)
    return luaL_error(L, "no memory");
  memset(block, 1, 64);
  pthread_mutex_lock(&lock);
  made++;
  pthread_mutex_unlock(&lock);
  torch_storage_wrap(TORCH, L, block, size, dtype, flags, free_block, block);
  return 1;
}

/* wrap_null(size) */
static int l_wrap_null(lua_State *L) {
  torch_storage_wrap(TORCH, L, NULL, (size_t)luaL_checknumber(L, 1), TORCH_INT, TORCH_WRITABLE, free_block, NULL);
  return 1;
}

static int l_wrap_constant(lua_State *L) {
  static const int16_t primes[] = { 2, 3, 5, 7, 11 };
  torch_storage_wrap(TORCH, L, (void *)(uintptr_t)primes, 5, TORCH_SHORT, 0, NULL, NULL);
  return 1;
}

/* tensor(storage, sizes ...) */
static int l_tensor(lua_State *L) {
  size_t sizes[80];
  int i, dimensions = lua_gettop(L) - 1;
  for (i = 0; i < dimensions && i < 80; i++)
    sizes[i] = (size_t)luaL_checknumber(L, i + 2);
  torch_tensor_new(TORCH, L, 1, dimensions, sizes);
  return 1;
}

/* The same for argument 1 of a function without arguments. */
static int l_tensor_of_nothing(lua_State *L) {
  const size_t size = 1;
  lua_settop(L, 0);
  torch_tensor_new(TORCH, L, 1, 1, &size);
  return 1;
}

/* wait(storage, index, expected, seconds, dtype): the result of torch_atomic_wait */
static int l_wait(lua_State *L) {
  torch_storage_view view;
  char expected[8];
  torch_storage_check(TORCH, L, 1, TORCH_ANY, 0, &view);
  int dtype = (int)luaL_optinteger(L, 5, view.dtype);
  if (view.width == 4) {
    uint32_t number = (uint32_t)luaL_checknumber(L, 3);
    memcpy(expected, &number, 4);
  } else {
    int64_t number = (int64_t)luaL_checknumber(L, 3);
    memcpy(expected, &number, 8);
  }
  char *element = (char *)view.data + view.width * (size_t)(luaL_checkinteger(L, 2) - 1);
  lua_pushinteger(L, torch_atomic_wait(TORCH, element, dtype, expected, luaL_checknumber(L, 4)));
  return 1;
}

/* notify(storage, index, count, dtype): the result of torch_atomic_notify */
static int l_notify(lua_State *L) {
  torch_storage_view view;
  torch_storage_check(TORCH, L, 1, TORCH_ANY, 0, &view);
  int dtype = (int)luaL_optinteger(L, 4, view.dtype);
  char *element = (char *)view.data + view.width * (size_t)(luaL_checkinteger(L, 2) - 1);
  lua_pushinteger(L, (lua_Integer)torch_atomic_notify(TORCH, element, dtype, (size_t)luaL_checknumber(L, 3)));
  return 1;
}

/* A pool of references that the Lua states of a process share: hold(value) puts one in, swap(n) takes one out, reads it, pushes its
 * storage and releases it. */
static held_t pool[32];

static int l_hold(lua_State *L) {
  const torch_storage_api *torch = TORCH;
  int place = (int)luaL_checkinteger(L, 2) % 32;
  held_t old, mine;
  mine.torch = torch;
  mine.hold = torch_storage_retain(torch, L, 1, TORCH_PIN);
  pthread_mutex_lock(&lock);
  old = pool[place];
  pool[place] = mine;
  pthread_mutex_unlock(&lock);
  if (old.hold != NULL)
    torch_storage_release(old.torch, old.hold);
  return 0;
}

static int l_take(lua_State *L) {
  int place = (int)luaL_checkinteger(L, 1) % 32;
  held_t old;
  torch_storage_view view;
  double sum = 0;
  size_t i;
  pthread_mutex_lock(&lock);
  old = pool[place];
  pool[place].hold = NULL;
  pthread_mutex_unlock(&lock);
  if (old.hold == NULL)
    return 0;
  torch_storage_held(old.torch, old.hold, &view);
  for (i = 0; i < view.size; i++)
    sum += ((const double *)view.data)[i];
  torch_storage_push(old.torch, L, old.hold);
  torch_storage_release(old.torch, old.hold);
  lua_pushnumber(L, sum);
  return 2;
}

/* open(): the name and version of the library; raises what torch_storage_open raises */
static int l_open(lua_State *L) {
  const torch_storage_api *torch = torch_storage_open(L);
  lua_pushfstring(L, "%s, functions %d.%d", torch->library, (int)torch->major, (int)torch->minor);
  return 1;
}

/* fake(key, magic, major, minor, size): puts another table into the registry, under that key */
static int l_fake(lua_State *L) {
  static torch_storage_api fakes[8];
  static int count;
  torch_storage_api *fake = &fakes[count++ % 8];
  torch_storage_box *box;
  memset(fake, 0, sizeof *fake);
  fake->magic = (uint64_t)luaL_checknumber(L, 2) + TORCH_STORAGE_MAGIC;
  fake->major = (uint32_t)luaL_checkinteger(L, 3);
  fake->minor = (uint32_t)luaL_checkinteger(L, 4);
  fake->size = sizeof *fake + (size_t)luaL_checknumber(L, 5) - 1000;
  fake->library = "torch-storage 9.9";
  box = (torch_storage_box *)lua_newuserdata(L, sizeof *box);
  box->magic = TORCH_STORAGE_MAGIC;
  box->api = fake;
  lua_setfield(L, LUA_REGISTRYINDEX, luaL_checkstring(L, 1));
  return 0;
}

/* lose(value): puts a Lua value where the table is */
static int l_lose(lua_State *L) {
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_KEY);
  return 0;
}

static int l_memory(lua_State *L) {
  lua_pushnumber(L, (lua_Number)torch_storage_memory(L));
  return 1;
}

/* limit(bytes) */
static int l_limit(lua_State *L) {
  lua_pushboolean(L, torch_storage_limit(L, (size_t)luaL_checknumber(L, 1)));
  return 1;
}

/* A function whose upvalue is not the table. */
static int l_without_table(lua_State *L) {
  return l_test(L);
}

#ifdef __cplusplus
extern "C"
#endif
  int
  luaopen_probe(lua_State *L) {
  static const luaL_Reg functions[] = {
    { "test", l_test },
    { "check", l_check },
    { "check_top", l_check_top },
    { "test_tensor", l_test_tensor },
    { "check_tensor", l_check_tensor },
    { "other_views", l_other_views },
    { "retain", l_retain },
    { "retain_nothing", l_retain_nothing },
    { "held", l_held },
    { "push", l_push },
    { "release", l_release },
    { "release_in_thread", l_release_in_thread },
    { "new", l_new },
    { "wrap", l_wrap },
    { "wrap_null", l_wrap_null },
    { "wrap_constant", l_wrap_constant },
    { "tensor", l_tensor },
    { "tensor_of_nothing", l_tensor_of_nothing },
    { "wait", l_wait },
    { "notify", l_notify },
    { "hold", l_hold },
    { "take", l_take },
    { "memory", l_memory },
    { "limit", l_limit },
    { NULL, NULL },
  };
  static const luaL_Reg others[] = {
    { "freed", l_freed },
    { "open", l_open },
    { "fake", l_fake },
    { "lose", l_lose },
    { NULL, NULL },
  };
  const luaL_Reg *function;
  lua_newtable(L);
  for (function = others; function->name != NULL; function++) {
    lua_pushcfunction(L, function->func);
    lua_setfield(L, -2, function->name);
  }
  luaL_newmetatable(L, "probe.held");
  lua_pushcfunction(L, l_release);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
#ifndef ONLY_OPEN
  torch_storage_open(L);
  for (function = functions; function->name != NULL; function++) {
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, function->func, 1);
    lua_setfield(L, -3, function->name);
  }
  lua_pop(L, 1);
  lua_newuserdata(L, sizeof(torch_storage_box));
  memset(lua_touserdata(L, -1), 0, sizeof(torch_storage_box));
  lua_pushcclosure(L, l_without_table, 1);
  lua_setfield(L, -2, "without_table");
#else
  (void)functions;
  (void)l_without_table;
#endif
  return 1;
}
