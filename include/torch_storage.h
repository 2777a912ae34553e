/* torch_storage.h: storages and tensors of torch-storage in modules for Lua that are written in C or C++.
 *
 * There is nothing to link: `torch.core` puts a table of functions into the registry of each Lua state, and torch_storage_open()
 * finds it there. C99 or C++17; Lua 5.1 to 5.5 and LuaJIT. docs/c-modules.md explains how to write a module, and
 * examples/c/stats.c is one. In short:
 *
 *   static int l_sum(lua_State *L) {
 *     const torch_storage_api *torch = torch_storage_upvalue(L, 1);
 *     torch_storage_view s;
 *     torch_storage_check(torch, L, 1, TORCH_FLOAT, TORCH_ALIGNED, &s);   // raises if argument 1 is not such a storage
 *     const float *x = (const float *)s.data;
 *     double sum = 0;
 *     for (size_t i = 0; i < s.size; i++) sum += x[i];
 *     lua_pushnumber(L, sum);
 *     return 1;
 *   }
 *
 *   int luaopen_sum(lua_State *L) {
 *     torch_storage_open(L);              // pushes the table, loads torch if necessary, raises if the versions do not fit
 *     lua_pushcclosure(L, l_sum, 1);      // the table becomes upvalue 1
 *     return 1;
 *   }
 *
 * Keep the table as an upvalue, not in a `static`: a process can have several copies of torch-storage, in different Lua states.
 *
 * Each function below says whether it may raise a Lua error. One that may raise is called like a function of lauxlib.h: from a C
 * function that Lua has called, with at least 5 free stack slots. One that does not raise does not touch the Lua stack. C code
 * must not use a Lua state in several threads at once, so only functions without a `lua_State *` may be called in any thread.
 *
 * In C++ a Lua error skips destructors, unless Lua itself was compiled as C++. So no object with a destructor should be alive
 * when a function that may raise is called. */
#ifndef TORCH_STORAGE_H
#define TORCH_STORAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <lua.h>

#include <lauxlib.h>

/* The version of this header. A library fits if it has the same major version, and the same or a later minor version. Minor
 * versions only append: functions to the table, fields to the views, constants to the lists. */
#define TORCH_STORAGE_MAJOR 1
#define TORCH_STORAGE_MINOR 2

#define TORCH_STORAGE_KEY "torch_storage.1"                /* where the registry has the table of this major version */
#define TORCH_STORAGE_MAGIC UINT64_C(0x4950414843524f54)   /* the bytes "TORCHAPI" on a little-endian machine */

/* The types of elements. The C type of an element is given where C has one. */
enum {
  TORCH_ANY = 0,
  TORCH_BYTE = 1,               /* uint8_t */
  TORCH_CHAR = 2,               /* int8_t */
  TORCH_SHORT = 3,              /* int16_t */
  TORCH_INT = 4,                /* int32_t */
  TORCH_LONG = 5,               /* int64_t */
  TORCH_HALF = 6,               /* 16 bits: IEEE 754 binary16 */
  TORCH_FLOAT = 7,              /* float */
  TORCH_DOUBLE = 8,             /* double */
  TORCH_UINT16 = 9,             /* uint16_t */
  TORCH_UINT32 = 10,            /* uint32_t */
  TORCH_UINT64 = 11,            /* uint64_t */
  TORCH_BFLOAT16 = 12,          /* 16 bits: the upper half of a float */
  TORCH_BOOL = 13,              /* a byte: 0 is false, any other value is true; write 0 or 1 */
  TORCH_FLOAT8_E4M3FN = 14,     /* 8 bits, as are the next three */
  TORCH_FLOAT8_E5M2 = 15,
  TORCH_FLOAT8_E4M3FNUZ = 16,
  TORCH_FLOAT8_E5M2FNUZ = 17,
  TORCH_COMPLEX_FLOAT = 18,     /* float[2]: the real part first */
  TORCH_COMPLEX_DOUBLE = 19,    /* double[2] */
  TORCH_UNTYPED = 20            /* bytes without a type; there are no tensors of it */
};

enum {
  /* What a view says about the elements (`flags`), and what a caller can ask for (`wants`). */
  TORCH_WRITABLE = 1,     /* the elements may be written. Writing others can end the process, for example in a read-only map */
  TORCH_ALIGNED = 2,      /* the address is a multiple of what the element type needs. Views and maps can begin at any byte */
  TORCH_CONTIGUOUS = 4,   /* the elements follow each other in row-major order; always so for storages */
  TORCH_RESIZABLE = 8,    /* a storage that can be resized */
  TORCH_RETYPED = 16,     /* other storages have the same bytes as another type, so the rules of C about aliasing matter */

  /* Options of functions. */
  TORCH_TENSORS = 256,    /* in `wants` of torch_storage_check and _test: take a contiguous tensor too, as an array of its elements */
  TORCH_PIN = 512         /* torch_storage_retain: the elements stay where they are */
};

/* The elements of a storage, or of a contiguous tensor. `data` is good until Lua runs: until the next call of a function that
 * may raise, or of any function of Lua that may run Lua code or the collector. torch_storage_retain makes it last longer. */
typedef struct torch_storage_view {
  size_t struct_size;         /* the size of this struct; the functions below set it */
  void *data;                 /* the first element; NULL if there are none */
  size_t size;                /* the number of elements */
  size_t width;               /* the size of an element in bytes */
  int dtype;                  /* TORCH_FLOAT, for example */
  int flags;                  /* TORCH_WRITABLE and so on */
  const char *class_name;     /* "torch.FloatStorage", for example: a constant */
} torch_storage_view;

/* A tensor. Element (i, j, ...), counted from 0, is at `data` plus (i * strides[0] + j * strides[1] + ...) * width bytes. A
 * stride may be 0 or negative. `data`, `sizes` and `strides` are good as long as the `data` of a
 * storage. */
typedef struct torch_tensor_view {
  size_t struct_size;
  void *data;                 /* the first element; NULL if there are none */
  size_t size;                /* the number of elements: the product of the sizes */
  size_t width;
  int dtype;
  int flags;
  const char *class_name;     /* "torch.FloatTensor", for example */
  int dimensions;             /* 0 for a tensor of one number */
  const size_t *sizes;        /* one for each dimension */
  const ptrdiff_t *strides;   /* one for each dimension, in elements */
} torch_tensor_view;

/* A reference to a storage: what torch_storage_retain returns. */
typedef struct torch_storage_hold torch_storage_hold;

/* The table of functions. Its first five fields are the same in every version. Call its functions by those below, which set
 * `struct_size`. */
typedef struct torch_storage_api {
  uint64_t magic;
  uint32_t major;
  uint32_t minor;
  size_t size;             /* of this struct, in bytes */
  const char *library;     /* the name and version of the library, for messages */
  int (*test)(lua_State *L, int index, int dtype, int wants, torch_storage_view *view);
  void (*check)(lua_State *L, int index, int dtype, int wants, torch_storage_view *view);
  int (*test_tensor)(lua_State *L, int index, int dtype, int wants, torch_tensor_view *view);
  void (*check_tensor)(lua_State *L, int index, int dtype, int wants, torch_tensor_view *view);
  torch_storage_hold *(*retain)(lua_State *L, int index, int options);
  void (*release)(torch_storage_hold *hold);
  void (*held)(const torch_storage_hold *hold, torch_storage_view *view);
  void (*push)(lua_State *L, const torch_storage_hold *hold);
  void (*create)(lua_State *L, int dtype, size_t size, torch_storage_view *view);
  void (*wrap)(lua_State *L, void *data, size_t size, int dtype, int flags, void (*free)(void *), void *argument);
  void (*create_tensor)(lua_State *L, int storage, int dimensions, const size_t *sizes);
  int (*wait)(const void *element, int dtype, const void *expected, double seconds);       /* since 1.1 */
  size_t (*notify)(const void *element, int dtype, size_t count);                          /* since 1.1 */
  size_t (*memory)(lua_State *L);                                                          /* since 1.2, as are all below */
  int (*limit)(lua_State *L, size_t bytes);
  int (*restricted)(lua_State *L);
} torch_storage_api;

/* What the registry has under TORCH_STORAGE_KEY: the block of a full userdata. Some LuaJITs refuse light userdata whose address
 * has more than 47 bits. */
typedef struct torch_storage_box {
  uint64_t magic;
  const torch_storage_api *api;
} torch_storage_box;

/* Whether the value at `index` is a storage of this dtype (TORCH_ANY: of any) that has all the flags in `wants`. If so, fills
 * the view and returns 1; otherwise returns 0. A storage that was freed gives 0. With TORCH_TENSORS in `wants`, a contiguous
 * tensor is taken too. Does not raise. */
static inline int torch_storage_test(const torch_storage_api *torch, lua_State *L, int index, int dtype, int wants,
                                     torch_storage_view *view) {
  view->struct_size = sizeof *view;
  return torch->test(L, index, dtype, wants, view);
}

/* Does the same, and raises an error for argument `index` if the value does not fit: `bad argument #1 to 'sum' (torch.FloatStorage
 * expected, got torch.DoubleStorage: s:float() converts it)`. */
static inline void torch_storage_check(const torch_storage_api *torch, lua_State *L, int index, int dtype, int wants,
                                       torch_storage_view *view) {
  view->struct_size = sizeof *view;
  torch->check(L, index, dtype, wants, view);
}

/* Whether the value at `index` is a tensor of this dtype that has all the flags in `wants`. If so, fills the view and returns 1;
 * otherwise returns 0. Does not raise. */
static inline int torch_tensor_test(const torch_storage_api *torch, lua_State *L, int index, int dtype, int wants,
                                    torch_tensor_view *view) {
  view->struct_size = sizeof *view;
  return torch->test_tensor(L, index, dtype, wants, view);
}

/* Does the same, and raises an error for argument `index` if the value does not fit. */
static inline void torch_tensor_check(const torch_storage_api *torch, lua_State *L, int index, int dtype, int wants,
                                      torch_tensor_view *view) {
  view->struct_size = sizeof *view;
  torch->check_tensor(L, index, dtype, wants, view);
}

/* A reference to the storage at `index`, or to that of the contiguous tensor there. It is not NULL. The storage lives until
 * torch_storage_release, whatever Lua does: s:free() in Lua only ends the Lua value.
 *
 * With TORCH_PIN its elements stay where they are until then, so any thread may use torch_storage_held and the elements. In Lua
 * s:resize and s:shareMemory raise an error. Without TORCH_PIN (options 0) they work, so the elements are looked up by
 * torch_storage_held each time, and only by the thread that runs this Lua state.
 *
 * Raises an error if the value is neither a storage nor a contiguous tensor, and if its memory belongs to a Lua value (a string
 * or an FFI array, for example) and so ends with the Lua state. */
static inline torch_storage_hold *torch_storage_retain(const torch_storage_api *torch, lua_State *L, int index, int options) {
  return torch->retain(L, index, options);
}

/* Gives the reference back. NULL is allowed. May be called in any thread, in a finalizer, and after the Lua state was closed.
 * After the last reference the memory is given back at once, in this thread. Does not raise. */
static inline void torch_storage_release(const torch_storage_api *torch, torch_storage_hold *hold) {
  torch->release(hold);
}

/* The elements that were retained: of the storage, or of the tensor. Does not raise. */
static inline void torch_storage_held(const torch_storage_api *torch, const torch_storage_hold *hold, torch_storage_view *view) {
  view->struct_size = sizeof *view;
  torch->held(hold, view);
}

/* Pushes the storage of a reference, into any Lua state of this process. The Lua value has a reference of its own. Raises an
 * error if there is no memory. */
static inline void torch_storage_push(const torch_storage_api *torch, lua_State *L, const torch_storage_hold *hold) {
  torch->push(L, hold);
}

/* Pushes a new storage whose elements are zero, and fills the view. Raises an error if there is no memory. */
static inline void torch_storage_new(const torch_storage_api *torch, lua_State *L, int dtype, size_t size,
                                     torch_storage_view *view) {
  view->struct_size = sizeof *view;
  torch->create(L, dtype, size, view);
}

/* Pushes a storage over `size` elements of memory that exists already. `flags` is TORCH_WRITABLE, or 0 if nobody may write there.
 * From this call on the memory belongs to torch-storage, which calls free(argument) once: when the last storage over the memory
 * ends, or before this function raises. `free` may be called in any thread, even when no Lua state is left, so it must not use
 * Lua, and it must not raise or throw. The module that contains it stays loaded. `free` is NULL for memory that stays for ever.
 * Raises an error if there is no memory, or if the arguments cannot be right. */
static inline void torch_storage_wrap(const torch_storage_api *torch, lua_State *L, void *data, size_t size, int dtype, int flags,
                                      void (*free)(void *), void *argument) {
  torch->wrap(L, data, size, dtype, flags, free, argument);
}

/* Pushes a contiguous tensor of these sizes over the storage at stack index `storage`, from its first element on. Raises an error
 * if the storage has fewer elements, or if there is no memory. */
static inline void torch_tensor_new(const torch_storage_api *torch, lua_State *L, int storage, int dimensions, const size_t *sizes) {
  torch->create_tensor(L, storage, dimensions, sizes);
}

/* C has atomic access of its own: the `__atomic` functions of gcc and clang, with __ATOMIC_SEQ_CST, or <stdatomic.h>. It works together
 * with torch.atomic in Lua. What C lacks is waiting, in the two functions below. They touch no Lua state, so any thread may call them. */

/* The results of torch_atomic_wait. */
enum {
  TORCH_WAIT_OK = 0,           /* somebody has woken the thread, or the element has changed meanwhile */
  TORCH_WAIT_NOT_EQUAL = 1,    /* the element was another one at the beginning */
  TORCH_WAIT_TIMED_OUT = 2,
  TORCH_WAIT_WRONG = -1        /* one cannot wait for such an element, its address is not aligned, or `seconds` is NaN */
};

/* Sleeps while the element is `*expected`, until torch_atomic_notify, or torch.atomic.notify in Lua, is called for it in any thread or
 * process, or for a number of seconds; INFINITY is no limit. `dtype` is TORCH_INT, TORCH_UINT32, TORCH_LONG or TORCH_UINT64, and both
 * pointers are to such numbers. The memory stays where it is meanwhile: hold the storage with TORCH_PIN. Does not raise. */
static inline int torch_atomic_wait(const torch_storage_api *torch, const void *element, int dtype, const void *expected,
                                    double seconds) {
  return torch->wait(element, dtype, expected, seconds);
}

/* Wakes up to `count` threads that wait for the element, in all processes; SIZE_MAX wakes all. Returns how many. Does not raise. */
static inline size_t torch_atomic_notify(const torch_storage_api *torch, const void *element, int dtype, size_t count) {
  return torch->notify(element, dtype, count);
}

#if LUA_VERSION_NUM >= 502
#define TORCH_STORAGE_RAWLEN lua_rawlen
#else
#define TORCH_STORAGE_RAWLEN lua_objlen
#endif

/* The table in the userdata at `index`, or NULL if another value is there. */
static inline const torch_storage_api *torch_storage_unbox(lua_State *L, int index) {
  const torch_storage_box *box = (const torch_storage_box *)lua_touserdata(L, index);
  int is_box = box != NULL && TORCH_STORAGE_RAWLEN(L, index) == sizeof *box && box->magic == TORCH_STORAGE_MAGIC;
  return is_box ? box->api : NULL;
}

/* The table in upvalue `n` of the C function that is running. Raises an error if it is not there. */
static inline const torch_storage_api *torch_storage_upvalue(lua_State *L, int n) {
  const torch_storage_api *torch = torch_storage_unbox(L, lua_upvalueindex(n));
  if (torch == NULL)
    luaL_error(L, "upvalue %d of this function is not the table of torch_storage.h: push it with torch_storage_open", n);
  return torch;
}

/* Pushes the userdata with the table, for the upvalues of the module's functions, and returns the table. Loads torch if it is not
 * loaded yet. Raises an error if that fails, or if this header and the library do not fit. */
static inline const torch_storage_api *torch_storage_open(lua_State *L) {
  const torch_storage_api *torch;
  const long needed = TORCH_STORAGE_MAJOR * 1000L + TORCH_STORAGE_MINOR;
  long has;
  int major, is_older;
  lua_getfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_KEY);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "torch.storage");
    lua_call(L, 1, 0);
    lua_getfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_KEY);
  }
  torch = torch_storage_unbox(L, -1);
  /* A library of another major version: for the error. */
  for (major = 1; torch == NULL && major <= 16; major++) {
    lua_pop(L, 1);
    lua_pushfstring(L, "torch_storage.%d", major);
    lua_rawget(L, LUA_REGISTRYINDEX);
    torch = torch_storage_unbox(L, -1);
  }
  if (torch == NULL || torch->magic != TORCH_STORAGE_MAGIC)
    luaL_error(L, "this module was compiled with torch_storage.h %d.%d, and the torch.core that is loaded has no functions for C modules: "
                  "install a newer torch-storage",
               TORCH_STORAGE_MAJOR, TORCH_STORAGE_MINOR);
  has = (long)torch->major * 1000 + (long)torch->minor;
  is_older = has < needed || (torch->major == TORCH_STORAGE_MAJOR && torch->size < sizeof *torch);
  if (is_older || torch->major != TORCH_STORAGE_MAJOR)
    luaL_error(L, "this module was compiled with torch_storage.h %d.%d, and the library that is loaded (%s) has version %d.%d: %s"
                  "compile the module with the torch_storage.h of that library",
               TORCH_STORAGE_MAJOR, TORCH_STORAGE_MINOR, torch->library, (int)torch->major, (int)torch->minor,
               is_older ? "install a newer torch-storage, or " : "");
  return torch;
}

/* For programs that embed Lua: opening the library, and how much its scripts may do. docs/embedding.md and docs/restricted.md
 * explain it. */

/* What a program allows the scripts of a Lua state. Set all fields that are not named to 0. */
typedef struct torch_storage_options {
  size_t size;                       /* sizeof(torch_storage_options), so that fields can be added */
  int restricted;                    /* 1: the scripts are not trusted, and have the functions that docs/restricted.md lists */
  size_t memory;                     /* how many bytes the storages of the state may have, 0 or SIZE_MAX: no limit */
  int threads;                       /* of large operations of the process, 0: as many as there are cores */
  const char *const *publications;   /* what restricted scripts may look up: names, ended by NULL; or NULL for none */
} torch_storage_options;

/* Where the registry has the options until the library is opened: a table with the fields above, and a set of names. */
#define TORCH_STORAGE_OPTIONS "torch_storage.options"

/* Opens the library in a Lua state, and pushes what `require 'torch.storage'` gives; no global variable is set. Returns 1. With NULL as
 * options everything is allowed, and nothing is limited. Call this before scripts run. Needs 10 free stack slots.
 *
 * A program that is linked with the static library defines TORCH_STORAGE_STATIC, as its torch-storage.pc does. It needs no files.
 * Otherwise this calls `require`, which finds the installed library.
 *
 * Raises an error if the library is not found or too old, if it is open in this Lua state and options are given, or if there is no
 * memory. Outside of a protected call a Lua error ends the process, as everywhere in Lua. A state in which this has failed is not
 * restricted: close it, and run no script in it. */
#ifdef TORCH_STORAGE_STATIC
int torch_storage_require(lua_State *L, const torch_storage_options *options);
#else
/* Calls `require 'torch.storage'`. If that fails, takes the parts of the library that were loaded out of package.loaded, where scripts
 * would find what a restricted state must not have. */
static inline void torch_storage_load_(lua_State *L) {
  int top = lua_gettop(L) + 1;
  lua_getglobal(L, "require");
  if (lua_isnil(L, -1)) luaL_error(L, "there is no function `require`: open the library `package` first, and take it from scripts afterwards");
  lua_pushliteral(L, "torch.storage");
  if (lua_pcall(L, 1, 1, 0) == 0) return;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushnil(L);
  while (lua_istable(L, top + 1) && lua_next(L, top + 1) != 0) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING && strncmp(lua_tostring(L, -1), "torch.", 6) == 0) {
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, top + 1);
    }
  }
  lua_settop(L, top);
  lua_error(L);
}

static inline int torch_storage_require(lua_State *L, const torch_storage_options *options) {
  int was_taken;
  if (options != NULL) {
    const char *const *name = options->publications;
    int position = 0;
    if (options->size != sizeof *options)
      luaL_error(L, "the field 'size' of torch_storage_options is %d: sizeof(torch_storage_options) is %d", (int)options->size,
                 (int)sizeof *options);
    lua_getfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_KEY);
    if (!lua_isnil(L, -1)) luaL_error(L, "torch is open in this Lua state already, so it cannot be opened with other options");
    lua_pop(L, 1);
    lua_newtable(L);
    position = lua_gettop(L);
    lua_pushboolean(L, options->restricted);
    lua_setfield(L, position, "restricted");
    lua_pushnumber(L, (lua_Number)options->memory);
    lua_setfield(L, position, "memory");
    lua_pushnumber(L, (lua_Number)(options->threads > 0 ? options->threads : 0));
    lua_setfield(L, position, "threads");
    lua_newtable(L);
    for (; name != NULL && *name != NULL; name++) {
      lua_pushboolean(L, 1);
      lua_setfield(L, -2, *name);
    }
    lua_setfield(L, position, "publications");
    lua_setfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_OPTIONS);
  }
  torch_storage_load_(L);
  /* The library takes the options away. One that is older than this header does not know them. */
  lua_getfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_OPTIONS);
  was_taken = lua_isnil(L, -1);
  lua_pop(L, 1);
  if (options != NULL && !was_taken) {
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_OPTIONS);
    luaL_error(L, "the library that is loaded is older than torch_storage.h %d.%d, and does not know options: install a newer torch-storage",
               TORCH_STORAGE_MAJOR, TORCH_STORAGE_MINOR);
  }
  return 1;
}
#endif

/* The table of functions of a Lua state in which the library is open. Raises an error if it is not. Uses one stack slot. */
static inline const torch_storage_api *torch_storage_find(lua_State *L) {
  const torch_storage_api *torch;
  lua_getfield(L, LUA_REGISTRYINDEX, TORCH_STORAGE_KEY);
  torch = torch_storage_unbox(L, -1);
  lua_pop(L, 1);
  if (torch == NULL || torch->size < sizeof *torch)
    luaL_error(L, "torch-storage %d.%d or later is not open in this Lua state: call torch_storage_require first", TORCH_STORAGE_MAJOR,
               TORCH_STORAGE_MINOR);
  return torch;
}

/* How many bytes the storages of this Lua state have: the heap memory that was allocated in it. Memory of the program
 * (torch_storage_wrap), files and shared memory do not count. It is 0 in a state without options, until torch_storage_limit is called.
 * Raises an error if the library is not open in this state. */
static inline size_t torch_storage_memory(lua_State *L) {
  return torch_storage_find(L)->memory(L);
}

/* Sets how many bytes they may have; 0 is no limit. What would exceed it is an error in Lua, after garbage was collected. Returns 1, or 0
 * if more than that is in use: then nothing new is made until it is not. Raises an error as torch_storage_memory does. */
static inline int torch_storage_limit(lua_State *L, size_t bytes) {
  return torch_storage_find(L)->limit(L, bytes);
}

/* Whether the scripts of this Lua state are restricted: 1 or 0. Raises an error as torch_storage_memory does. */
static inline int torch_storage_restricted(lua_State *L) {
  return torch_storage_find(L)->restricted(L);
}

#ifdef __cplusplus
}
#endif

#endif
