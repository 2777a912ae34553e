// Tests of include/torch_storage.hpp without memory: each allocation of Lua fails in turn, and then each `new`. Whatever fails throws an
// exception, leaves the stack as it was, and drops what the program has given once. A Lua error outside of a protected call ends the
// program with a message. The last line is `N passed, N failed`.
#include <cstdlib>
#include <iostream>
#include <new>

#include "torch_storage.hpp"

extern "C" {
#include <lualib.h>
}

static int passed = 0, failed = 0;

static void check(bool is_right, const std::string &what) {
  (is_right ? passed : failed)++;
  if (!is_right) std::cout << what << '\n';
}

// How many allocations still succeed before one fails; -1: all of them do. What fails, and whether it has failed.
static enum { NOTHING, LUA, NEW } fails = NOTHING;
static long left = -1;
static bool has_failed = false;

static bool is_refused(bool is_counted) {
  if (!is_counted || left < 0) return false;
  if (left > 0) {
    left--;
    return false;
  }
  // Only one fails, because reporting it needs memory.
  left = -1;
  has_failed = true;
  return true;
}

void *operator new(std::size_t size) {
  if (is_refused(fails == NEW)) throw std::bad_alloc();
  if (void *block = std::malloc(size ? size : 1)) return block;
  std::abort();
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

// Lua collects garbage and tries again, so all that follow fail, too, until the case has ended.
static bool is_exhausted = false;
static void *failing(void *, void *block, std::size_t before, std::size_t size) {
  if (size == 0) {
    std::free(block);
    return nullptr;
  }
  bool grows = block == nullptr || size > before;
  if (grows && fails == LUA && (is_exhausted || is_refused(true))) {
    is_exhausted = true;
    return nullptr;
  }
  return std::realloc(block, size);
}

static const char *running = "";
static int panic(lua_State *L) {
  std::cout << running << ": a Lua error outside of a protected call: " << (lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?")
            << std::endl;
  std::_Exit(3);
}

static int drops = 0, given = 0;
static std::shared_ptr<float> owned() {
  float *memory = new float[8];
  given++;
  return std::shared_ptr<float>(memory, [](float *block) {
    delete[] block;
    drops++;
  });
}

static int l_nothing(lua_State *) { return 0; }

// A case leaves the stack as it was, also if it succeeds.
struct use {
  const char *name;
  bool is_open;
  void (*run)(lua_State *L);
};

static const use uses[] = {
    {"try_to in a state without torch", false, [](lua_State *L) { torch::try_to<float>(L, 1); }},
    {"push in a state without torch", false,
     [](lua_State *L) {
       auto memory = owned();
       torch::push(L, memory.get(), 8, memory);
       lua_pop(L, 1);
     }},
    {"push of a vector", true,
     [](lua_State *L) {
       torch::push(L, std::vector<float>(3));
       lua_pop(L, 1);
     }},
    {"push with an owner", true,
     [](lua_State *L) {
       auto memory = owned();
       torch::push(L, memory.get(), 8, memory);
       lua_pop(L, 1);
     }},
    {"a storage of the program", true,
     [](lua_State *L) {
       auto memory = owned();
       torch::storage<float> held(L, memory.get(), 8, memory);
       held.push(L);
       lua_pop(L, 1);
     }},
    {"a storage of zeros", true,
     [](lua_State *L) {
       torch::storage<float> held(L, 10);
       held.push(L);
       lua_pop(L, 1);
     }},
    {"a ring", true,
     [](lua_State *L) {
       torch::ring<float> ring(L, 10);
       ring.next();
       ring.push(L);
       lua_pop(L, 1);
     }},
    {"limits", true,
     [](lua_State *L) {
       torch::limit(L, 1 << 20);
       torch::memory(L);
     }},
    {"a refused value", true,
     [](lua_State *L) {
       lua_pushnil(L);
       try {
         torch::to<float>(L, -1);
       } catch (const std::exception &) {
         lua_pop(L, 1);
         throw;
       }
     }},
    {"a function", true,
     [](lua_State *L) {
       torch::push_function<l_nothing>(L);
       lua_pop(L, 1);
     }},
    {"opening", false,
     [](lua_State *L) {
       torch::options options;
       options.publications = {"a name that is long enough to be no part of the object"};
       torch::open(L, options);
     }},
};

// Runs a case with the nth allocation failing. Returns whether there was one.
static bool once(const use &one, decltype(fails) what, long n, int slots) {
  lua_State *L = lua_newstate(failing, nullptr
#if LUA_VERSION_NUM >= 505
                              , 0
#endif
  );
  if (L == nullptr) L = luaL_newstate();
  lua_atpanic(L, panic);
  luaL_openlibs(L);
  if (one.is_open) torch::open(L);
  lua_settop(L, slots);
  running = one.name;
  has_failed = is_exhausted = false;
  bool has_thrown = false;
  fails = what;
  left = n;
  try {
    one.run(L);
  } catch (const std::exception &) {
    has_thrown = true;
  }
  fails = NOTHING;
  left = -1;
  check(lua_gettop(L) == slots, std::string(one.name) + ": the stack has another size after allocation " + std::to_string(n));
  if (has_failed && what == NEW) check(has_thrown, std::string(one.name) + ": no exception after allocation " + std::to_string(n));
  lua_close(L);
  check(drops == given, std::string(one.name) + ": the owner was not dropped once after allocation " + std::to_string(n));
  drops = given = 0;
  return has_failed;
}

int main() {
  for (const use &one : uses) {
    bool is_opening = one.run == uses[sizeof uses / sizeof *uses - 1].run;
    // Opening takes ten thousand allocations in Lua.
    for (long n = 0; once(one, LUA, n, 0); n += is_opening ? 397 : 1) {}
    if (!is_opening)
      for (long n = 0; once(one, LUA, n, 17); n++) {}
    for (long n = 0; once(one, NEW, n, 0); n++) {}
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed != 0;
}
