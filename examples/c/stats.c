/* stats: a module in C that works on storages and tensors of torch-storage in place, without copies.
 *
 *   stats.sum(x)                            the sum of a FloatStorage, a DoubleStorage, or a contiguous tensor of floats or doubles
 *   stats.scale(s, factor)                  multiplies all elements of a FloatStorage by a number; returns s
 *   stats.histogram(s, bins, low, high)     a new LongStorage with the number of elements in each bin
 *   stats.trace(x)                          the sum of the diagonal of a DoubleTensor of two dimensions, in whatever order it is
 *   stats.ramp(n, first, step)              a new FloatStorage over memory that this module allocates
 *   stats.start(s)                          begins to sum a DoubleStorage in another thread; returns a job
 *   job:wait()                              waits for the sum
 *
 * To compile it on Linux, with the directory of lua.h in place of /usr/include/lua5.1:
 *
 *   cc -std=c99 -O2 -fPIC -shared -pthread -I../../include -I/usr/include/lua5.1 -o stats.so stats.c
 *
 * On macOS use `-bundle -undefined dynamic_lookup` in place of `-fPIC -shared`. It is also valid C++17. Then, with stats.so on
 * LUA_CPATH:
 *
 *   local torch, stats = require 'torch', require 'stats'
 *   print(stats.sum(torch.FloatStorage { 1, 2, 3.5 }))   --> 6.5
 */
#include <pthread.h>
#include <stdlib.h>

#include "torch_storage.h"

#define JOB "stats.job"

/* The table of functions is the first upvalue of every function of this module. */
static const torch_storage_api *table(lua_State *L) {
  return torch_storage_upvalue(L, 1);
}

/* The elements must be aligned for `const double *`: views and maps can begin at any byte. */
static double sum_of(const torch_storage_view *s) {
  double sum = 0;
  size_t i;
  if (s->dtype == TORCH_FLOAT) {
    const float *x = (const float *)s->data;
    for (i = 0; i < s->size; i++)
      sum += x[i];
  } else {
    const double *x = (const double *)s->data;
    for (i = 0; i < s->size; i++)
      sum += x[i];
  }
  return sum;
}

static int l_sum(lua_State *L) {
  const torch_storage_api *torch = table(L);
  torch_storage_view s;
  /* A storage of any class, or a contiguous tensor, is looked at first; the class is checked here, because two will do. */
  torch_storage_check(torch, L, 1, TORCH_ANY, TORCH_ALIGNED | TORCH_TENSORS, &s);
  if (s.dtype != TORCH_FLOAT && s.dtype != TORCH_DOUBLE)
    return luaL_error(L, "floats or doubles expected, got %s", s.class_name);
  lua_pushnumber(L, sum_of(&s));
  return 1;
}

static int l_scale(lua_State *L) {
  const torch_storage_api *torch = table(L);
  double factor = luaL_checknumber(L, 2);
  torch_storage_view s;
  size_t i;
  /* Without TORCH_WRITABLE this would crash with a read-only map. The view is taken after the number was read, because reading
   * arguments can run Lua code on some hosts. */
  torch_storage_check(torch, L, 1, TORCH_FLOAT, TORCH_WRITABLE | TORCH_ALIGNED, &s);
  for (i = 0; i < s.size; i++)
    ((float *)s.data)[i] = (float)(((float *)s.data)[i] * factor);
  lua_settop(L, 1);
  return 1;
}

static int l_histogram(lua_State *L) {
  const torch_storage_api *torch = table(L);
  lua_Number bins = luaL_checknumber(L, 2);
  double low = luaL_checknumber(L, 3), high = luaL_checknumber(L, 4);
  torch_storage_view s, counts;
  size_t i;
  luaL_argcheck(L, bins >= 1 && bins <= 1e9, 2, "1 to 1e9 bins expected");
  luaL_argcheck(L, low < high, 4, "the upper end is not above the lower one");
  /* Making the new storage may run the collector, and so Lua code. So it comes first, and the view of argument 1 after it. */
  torch_storage_new(torch, L, TORCH_LONG, (size_t)bins, &counts);
  torch_storage_check(torch, L, 1, TORCH_FLOAT, TORCH_ALIGNED, &s);
  for (i = 0; i < s.size; i++) {
    double place = (((const float *)s.data)[i] - low) / (high - low) * (double)counts.size;
    if (place >= 0 && place < (double)counts.size)
      ((int64_t *)counts.data)[(size_t)place]++;
  }
  return 1;
}

static int l_trace(lua_State *L) {
  const torch_storage_api *torch = table(L);
  torch_tensor_view x;
  double sum = 0;
  size_t i;
  torch_tensor_check(torch, L, 1, TORCH_DOUBLE, TORCH_ALIGNED, &x);
  luaL_argcheck(L, x.dimensions == 2, 1, "a tensor of two dimensions expected");
  for (i = 0; i < x.sizes[0] && i < x.sizes[1]; i++)
    sum += ((const double *)x.data)[(ptrdiff_t)i * (x.strides[0] + x.strides[1])];
  lua_pushnumber(L, sum);
  return 1;
}

static int l_ramp(lua_State *L) {
  const torch_storage_api *torch = table(L);
  lua_Number n = luaL_checknumber(L, 1);
  double first = luaL_checknumber(L, 2), step = luaL_checknumber(L, 3);
  float *x;
  size_t i;
  luaL_argcheck(L, n >= 1 && n <= 1e9, 1, "1 to 1e9 elements expected");
  x = (float *)malloc((size_t)n * sizeof *x);
  if (x == NULL)
    return luaL_error(L, "not enough memory");
  for (i = 0; i < (size_t)n; i++)
    x[i] = (float)(first + step * (double)i);
  /* From here on the memory belongs to the storage, also if this raises an error. It is given back by free(x). */
  torch_storage_wrap(torch, L, x, (size_t)n, TORCH_FLOAT, TORCH_WRITABLE, free, x);
  return 1;
}

/* A sum that a thread computes. The thread has no Lua state: it uses a pinned storage, whose elements stay where they are. */
typedef struct {
  const torch_storage_api *torch;
  torch_storage_hold *hold;
  pthread_t thread;
  int runs;
  double sum;
} job_t;

static void *work(void *argument) {
  job_t *job = (job_t *)argument;
  torch_storage_view s;
  torch_storage_held(job->torch, job->hold, &s);
  job->sum = sum_of(&s);
  return NULL;
}

static int l_start(lua_State *L) {
  const torch_storage_api *torch = table(L);
  torch_storage_view s;
  job_t *job;
  torch_storage_check(torch, L, 1, TORCH_DOUBLE, TORCH_ALIGNED, &s);
  /* The userdata has its finalizer before it holds anything, so nothing is lost if the next call raises. */
  job = (job_t *)lua_newuserdata(L, sizeof *job);
  job->torch = torch;
  job->hold = NULL;
  job->runs = 0;
  job->sum = 0;
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_setmetatable(L, -2);
  job->hold = torch_storage_retain(torch, L, 1, TORCH_PIN);
  if (pthread_create(&job->thread, NULL, work, job) != 0)
    return luaL_error(L, "the thread could not be started");
  job->runs = 1;
  return 1;
}

/* Waits for the thread and gives the storage back. Does nothing the second time. */
static void finish(job_t *job) {
  if (job->runs)
    pthread_join(job->thread, NULL);
  job->runs = 0;
  torch_storage_release(job->torch, job->hold);
  job->hold = NULL;
}

/* The metatable of jobs is upvalue 1 of these two functions. */
static job_t *check_job(lua_State *L) {
  int is_job = lua_getmetatable(L, 1) && lua_rawequal(L, -1, lua_upvalueindex(1));
  luaL_argcheck(L, is_job, 1, "a job expected");
  lua_settop(L, 1);
  return (job_t *)lua_touserdata(L, 1);
}

static int l_wait(lua_State *L) {
  job_t *job = check_job(L);
  finish(job);
  lua_pushnumber(L, job->sum);
  return 1;
}

static int l_collected(lua_State *L) {
  finish(check_job(L));
  return 0;
}

#ifdef __cplusplus
extern "C"
#endif
  int
  luaopen_stats(lua_State *L) {
  static const luaL_Reg functions[] = {
    { "sum", l_sum },     { "scale", l_scale }, { "histogram", l_histogram },
    { "trace", l_trace }, { "ramp", l_ramp },   { NULL, NULL },
  };
  const luaL_Reg *function;
  int module, jobs, torch;

  torch_storage_open(L);
  torch = lua_gettop(L);

  lua_newtable(L);
  module = lua_gettop(L);
  for (function = functions; function->name != NULL; function++) {
    lua_pushvalue(L, torch);
    lua_pushcclosure(L, function->func, 1);
    lua_setfield(L, module, function->name);
  }

  /* The metatable of jobs. The global table of metatables (luaL_newmetatable) is not used, so nobody else can find it. */
  lua_newtable(L);
  jobs = lua_gettop(L);
  lua_pushvalue(L, jobs);
  lua_pushcclosure(L, l_collected, 1);
  lua_setfield(L, jobs, "__gc");
  lua_newtable(L);
  lua_pushvalue(L, jobs);
  lua_pushcclosure(L, l_wait, 1);
  lua_setfield(L, -2, "wait");
  lua_setfield(L, jobs, "__index");
  lua_pushliteral(L, JOB);
  lua_setfield(L, jobs, "__metatable");

  lua_pushvalue(L, torch);
  lua_pushvalue(L, jobs);
  lua_pushcclosure(L, l_start, 2);
  lua_setfield(L, module, "start");

  lua_settop(L, module);
  return 1;
}
