// Frames: 10,000 floats to a script and back, as a game does it 60 times a second. Each round is timed in these ways, one after the other:
// through a torch::ring, as a table of sol2, and to a function in C that gets a plain array. The script does nothing, so the times are
// those of the border. Prints the least and the median time of each, and how often memory was allocated in a frame.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <sol/sol.hpp>

#include "torch_storage.hpp"

static std::size_t allocations = 0;
void *operator new(std::size_t size) {
  allocations++;
  if (void *block = std::malloc(size ? size : 1)) return block;
  std::abort();
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

static lua_Alloc original;
static void *counting(void *data, void *block, std::size_t before, std::size_t size) {
  allocations += size != 0;
  return original(data, block, before, size);
}

static const std::size_t SIZE = 10000;
static const int ROUNDS = 2000;

struct way {
  const char *name;
  std::function<void()> frame;
  std::vector<double> times{};
  std::size_t most = 0;
};

// What a C function costs that gets a pointer and the size as numbers would: a light userdata, and nothing else.
static int l_plain(lua_State *L) {
  lua_pushvalue(L, 1);
  return 1;
}

int main() {
  sol::state lua;
  lua.open_libraries();
  torch::open(lua);
  lua.script("function same(s) return s end");
  lua_State *L = lua;
  std::vector<float> values(SIZE), back(SIZE);
  for (std::size_t n = 0; n < SIZE; n++) values[n] = static_cast<float>(n);

  torch::ring<float> ring(L, SIZE, 3);
  way ways[] = {
      {"torch::ring: filled, passed, read back",
       [&] {
         torch::view<float> frame = ring.next();
         std::copy(values.begin(), values.end(), frame.begin());
         lua_getglobal(L, "same");
         ring.push(L);
         lua_call(L, 1, 1);
         torch::view<const float> result = torch::to<const float>(L, -1);
         std::copy(result.begin(), result.end(), back.begin());
         lua_pop(L, 1);
       }},
      {"torch::ring: passed and taken, without the copies",
       [&] {
         ring.next();
         lua_getglobal(L, "same");
         ring.push(L);
         lua_call(L, 1, 1);
         back[0] = torch::to<const float>(L, -1)[1];
         lua_pop(L, 1);
       }},
      {"a plain C array: copied, a light userdata passed to C, copied",
       [&] {
         static std::vector<float> buffer(SIZE);
         std::copy(values.begin(), values.end(), buffer.begin());
         lua_pushcfunction(L, l_plain);
         lua_pushlightuserdata(L, buffer.data());
         lua_call(L, 1, 1);
         const float *result = static_cast<const float *>(lua_touserdata(L, -1));
         std::copy(result, result + SIZE, back.begin());
         lua_pop(L, 1);
       }},
      {"sol2: a table and back",
       [&] {
         sol::protected_function same = lua["same"];
         sol::table result = same(sol::as_table(values));
         back = result.as<std::vector<float>>();
       }},
  };
  original = lua_getallocf(L, nullptr);
  void *data;
  original = lua_getallocf(L, &data);
  lua_setallocf(L, counting, data);
  for (int round = 0; round < ROUNDS; round++) {
    for (way &one : ways) {
      std::size_t before = allocations;
      auto begin = std::chrono::steady_clock::now();
      one.frame();
      double took = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
      std::size_t made = allocations - before;
      if (round >= ROUNDS / 10) one.times.push_back(took);
      if (round >= ROUNDS / 10) one.most = std::max(one.most, made);
    }
  }
  std::printf("%-64s %10s %10s %12s\n", "10,000 floats to a script and back", "least, us", "median, us", "allocations");
  for (way &one : ways) {
    std::sort(one.times.begin(), one.times.end());
    std::printf("%-64s %10.3f %10.3f %12zu\n", one.name, one.times.front(), one.times[one.times.size() / 2], one.most);
  }
}
