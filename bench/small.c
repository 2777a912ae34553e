/* The least that C must do for a small object, what Torch7 does to map files, to create shared memory and to write to memory, and what
   the library asks of the system for shared memory.
   bench/small.lua measures storages next to it. Each function that makes an object returns a userdata, whose `__gc` frees it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua.h"
#include "lauxlib.h"

/* The header of a storage in Torch7, and what it needs to give its memory back. */
typedef struct {
  void *data;
  ptrdiff_t size;
  int refcount;
  char flag;
  void *allocator;
  void *context;
} header;

typedef struct {
  header *storage;
  void *data;
  void *elements; /* from malloc, or NULL */
  size_t bytes;
  char *name;
  int is_shared_memory;
  int lock; /* the descriptor of the lock, plus 1; or 0 */
  pid_t process;
} object;

/* Pushes a userdata with the metatable in the upvalue of the running function. */
static object *push(lua_State *L) {
  object *made = lua_newuserdata(L, sizeof(object));
  memset(made, 0, sizeof(object));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setmetatable(L, -2);
  return made;
}

/* A userdata, and nothing else. */
static int l_userdata(lua_State *L) {
  push(L);
  return 1;
}

/* A userdata, and as many zero bytes as the argument says, in one allocation. */
static int l_block(lua_State *L) {
  size_t bytes = (size_t)lua_tonumber(L, 1);
  push(L)->storage = calloc(1, bytes);
  return 1;
}

/* The header of a storage and its elements behind it. */
static int l_header_and_block(lua_State *L) {
  size_t bytes = (size_t)lua_tonumber(L, 1);
  object *made = push(L);
  made->storage = calloc(1, sizeof(header) + bytes);
  made->storage->data = made->storage + 1;
  made->storage->size = (ptrdiff_t)bytes;
  made->storage->refcount = 1;
  return 1;
}

static int fail(lua_State *L, const char *what) {
  return luaL_error(L, "%s failed", what);
}

/* Maps a file as Torch7 does: a private map of the whole file. */
static int l_map(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  object *made = push(L);
  struct stat status;
  int file = open(name, O_RDONLY);
  if (file < 0 || fstat(file, &status) != 0) {
    return fail(L, "open");
  }
  made->bytes = (size_t)status.st_size;
  made->data = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  close(file);
  if (made->data == MAP_FAILED) {
    made->data = NULL;
    return fail(L, "mmap");
  }
  made->name = strdup(name);
  made->storage = calloc(1, sizeof(header));
  return 1;
}

/* Creates shared memory as Torch7 does. */
static int l_share(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  object *made = push(L);
  struct stat status;
  int file = shm_open(name, O_RDWR | O_CREAT, 0600);
  made->bytes = (size_t)luaL_checknumber(L, 2);
  if (file < 0 || fstat(file, &status) != 0 || ftruncate(file, (off_t)made->bytes) != 0 || fstat(file, &status) != 0) {
    return fail(L, "shm_open");
  }
  made->data = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (made->data == MAP_FAILED) {
    made->data = NULL;
    return fail(L, "mmap");
  }
  made->is_shared_memory = 1;
  made->name = strdup(name);
  made->storage = calloc(1, sizeof(header));
  return 1;
}

/* Creates shared memory with the system calls that the library makes. The object is locked, and has its memory before its name. */
static int l_share_locked(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  object *made = push(L);
  struct rlimit limit;
  int other = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int file = open("/dev/shm", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  made->bytes = (size_t)luaL_checknumber(L, 2);
  if (other >= 0 || file < 0 || flock(file, LOCK_SH | LOCK_NB) != 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
      fallocate(file, 0, 0, (off_t)made->bytes) != 0) {
    return fail(L, "open");
  }
  made->lock = file + 1;
  made->data = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (made->data == MAP_FAILED) {
    made->data = NULL;
    return fail(L, "mmap");
  }
  if (linkat(file, "", AT_FDCWD, name, AT_EMPTY_PATH) != 0) {
    char path[32]; /* before Linux 6.10 */
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0) {
      return fail(L, "linkat");
    }
  }
  made->process = getpid();
  made->name = strdup(name);
  made->storage = calloc(1, sizeof(header));
  return 1;
}

/* Ends what `l_share_locked` has made. The last holder removes the name, if it is still that of its object. */
static void leave(object *made) {
  int file = made->lock - 1;
  struct stat ours, there;
  if (getpid() == made->process && flock(file, LOCK_EX | LOCK_NB) == 0 && made->name != NULL && fstat(file, &ours) == 0 &&
      lstat(made->name, &there) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) {
    unlink(made->name);
  }
  flock(file, LOCK_UN);
  close(file);
}

/* Writes the elements of a storage to memory and makes a string of them, as Torch7's MemoryFile does: the memory grows to their size,
   they are copied there, and Lua copies the string. The userdata of a storage begins with the address of its header, as in Torch7. */
static int l_save(lua_State *L) {
  header **storage = lua_touserdata(L, 1);
  const void *data = (*storage)->data;
  size_t bytes = (size_t)lua_tonumber(L, 2), head = 64;
  char *memory = calloc(1, head), *more = realloc(memory, head + bytes + 1);
  if (more == NULL) {
    free(memory);
    return fail(L, "realloc");
  }
  memmove(more + head, data, bytes);
  lua_pushlstring(L, more, head + bytes);
  free(more);
  return 1;
}

/* A string of the bytes of a storage, without anything before them. */
static int l_string(lua_State *L) {
  header **storage = lua_touserdata(L, 1);
  lua_pushlstring(L, (*storage)->data, (size_t)lua_tonumber(L, 2));
  return 1;
}

/* Copies the bytes of a string to a storage of as many bytes. */
static int l_set(lua_State *L) {
  header **storage = lua_touserdata(L, 1);
  size_t bytes;
  const char *text = luaL_checklstring(L, 2, &bytes);
  memmove((*storage)->data, text, bytes);
  return 0;
}

/* A storage of as many doubles as the first argument says, each of them the second, made as Torch7 makes it: malloc and a loop. */
static int l_filled(lua_State *L) {
  size_t count = (size_t)lua_tonumber(L, 1), index;
  double value = lua_tonumber(L, 2), *data;
  object *made = push(L);
  made->storage = calloc(1, sizeof(header));
  made->elements = data = malloc(count * sizeof(double));
  if (data == NULL) {
    return fail(L, "malloc");
  }
  for (index = 0; index < count; index++) {
    data[index] = value;
  }
  return 1;
}

static int l_free(lua_State *L) {
  object *made = lua_touserdata(L, 1);
  if (made->data != NULL) {
    munmap(made->data, made->bytes);
    if (made->is_shared_memory) {
      shm_unlink(made->name);
    }
  }
  if (made->lock != 0) {
    leave(made);
  }
  free(made->name);
  free(made->storage);
  free(made->elements);
  memset(made, 0, sizeof(object));
  return 0;
}

int luaopen_small(lua_State *L) {
  static const luaL_Reg functions[] = {
    { "userdata", l_userdata }, { "block", l_block }, { "header_and_block", l_header_and_block },
    { "map", l_map },           { "share", l_share },   { "share_locked", l_share_locked },
    { "save", l_save },         { "string", l_string }, { "set", l_set },
    { "filled", l_filled },     { "free", l_free },
    { NULL, NULL },
  };
  const luaL_Reg *function;
  lua_newtable(L);
  lua_newtable(L);
  lua_pushcfunction(L, l_free);
  lua_setfield(L, -2, "__gc");
  for (function = functions; function->name != NULL; function++) {
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, function->func, 1);
    lua_setfield(L, -3, function->name);
  }
  lua_pop(L, 1);
  return 1;
}
