// A game loop without a window: a script moves 100,000 particles in each frame, in the memory of the program.
//
//   particles [SCRIPT [FRAMES [PARTICLES]]]
//
// The program makes the particles, and the script moves them: one function call a frame, without a copy and without an allocation. The
// scripts are not trusted: they cannot open files, and their storages have at most 64 MiB. Change the script while the program runs, and
// it is loaded again. docs/cpp.md says how to compile this.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "torch_storage.hpp"

extern "C" {
#include <lualib.h>
}

struct particles {
  std::vector<float> x, y, vx, vy;

  explicit particles(std::size_t count) : x(count), y(count), vx(count), vy(count) {
    std::mt19937 random(42);
    std::uniform_real_distribution<float> place(0, 1), speed(-0.5f, 0.5f);
    for (std::size_t n = 0; n < count; n++) {
      x[n] = place(random), y[n] = place(random);
      vx[n] = speed(random), vy[n] = speed(random);
    }
  }
};

// Gives the arrays to the script as global variables. The program keeps them alive longer than the Lua state.
static void share(lua_State *L, particles &all) {
  const std::pair<const char *, std::vector<float> *> arrays[] = {{"x", &all.x}, {"y", &all.y}, {"vx", &all.vx}, {"vy", &all.vy}};
  for (auto [name, array] : arrays) {
    torch::push(L, array->data(), array->size(), nullptr);
    lua_setglobal(L, name);
  }
}

// Opens what scripts that are not trusted may have. The library needs `package` and, on LuaJIT, `jit` and `ffi` while it is opened.
static lua_State *open_state() {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  torch::options options;
  options.restricted = true;
  options.memory = 64 << 20;
  torch::open(L, options);
  for (const char *name : {"package", "require", "jit", "io", "os", "debug", "dofile", "loadfile", "load", "loadstring"}) {
    lua_pushnil(L);
    lua_setglobal(L, name);
  }
  return L;
}

static time_t changed(const char *file) {
  struct stat status;
  return stat(file, &status) == 0 ? status.st_mtime : 0;
}

// Loads the script, which defines `frame(dt)`. If it has a mistake, the game goes on with what there was.
static void load(lua_State *L, const char *file) {
  if (luaL_loadfile(L, file) != 0 || lua_pcall(L, 0, 0, 0) != 0) {
    std::fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

int main(int count, char **arguments) {
  const char *script = count > 1 ? arguments[1] : "examples/cpp/particles.lua";
  int frames = count > 2 ? std::atoi(arguments[2]) : 300;
  particles all(count > 3 ? std::strtoul(arguments[3], nullptr, 10) : 100000);
  try {
    lua_State *L = open_state();
    share(L, all);
    load(L, script);
    time_t loaded = changed(script);
    double longest = 0, sum = 0;
    for (int n = 0; n < frames; n++) {
      if (changed(script) != loaded) load(L, script), loaded = changed(script);
      auto begin = std::chrono::steady_clock::now();
      lua_getglobal(L, "frame");
      lua_pushnumber(L, 1.0 / 60);
      if (lua_pcall(L, 1, 0, 0) != 0) {
        std::fprintf(stderr, "%s\n", lua_tostring(L, -1));
        return 1;
      }
      double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      longest = took > longest ? took : longest;
      sum += took;
    }
    std::size_t inside = 0;
    for (std::size_t n = 0; n < all.x.size(); n++) inside += all.x[n] >= 0 && all.x[n] <= 1 && all.y[n] >= 0 && all.y[n] <= 1;
    std::printf("%zu particles, %d frames: %zu are inside, the storages of the scripts have %zu bytes\n", all.x.size(), frames, inside,
                torch::memory(L));
    std::fprintf(stderr, "%.2f ms a frame in the mean, %.2f ms the longest\n", sum / frames, longest);
    lua_close(L);
  } catch (const torch::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
