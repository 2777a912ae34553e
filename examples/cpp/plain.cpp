// A program that embeds Lua: it gives a script its samples, and takes a filtered array back. Nothing is copied.
#include <cstdio>

#include "torch_storage.hpp"

extern "C" {
#include <lualib.h>
}

// mean(s): a function in C++ that scripts call. An exception in it becomes a Lua error.
static int l_mean(lua_State *L) {
  double sum = 0;
  torch::view<const float> samples = torch::to<const float>(L, 1);
  for (float sample : samples) sum += sample;
  lua_pushnumber(L, sum / static_cast<double>(samples.size()));
  return 1;
}

int main() {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  try {
    torch::open(L);  // the global variable `torch`
    torch::push_function<l_mean>(L);
    lua_setglobal(L, "mean");

    torch::push(L, std::vector<float>{1, 2, 6});  // the vector's own memory
    lua_setglobal(L, "samples");
    if (luaL_dostring(L, "print(mean(samples)) return samples:clone():mul(2)") != 0) throw torch::error(lua_tostring(L, -1));

    torch::view<const float> louder = torch::to<const float>(L, -1);
    std::printf("%zu samples, the last is %g\n", louder.size(), static_cast<double>(louder[louder.size() - 1]));

    if (luaL_dostring(L, "mean { 1, 2, 6 }") != 0) std::printf("%s\n", lua_tostring(L, -1));
  } catch (const torch::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  lua_close(L);
}
