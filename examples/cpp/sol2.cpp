// The same with sol2 (Debian's package sol2-dev): torch::view and torch::storage go through sol2 like its own types.
#define SOL_ALL_SAFETIES_ON 1
#include <cstdio>
#include <sol/sol.hpp>
#include <string>

#include "torch_storage.hpp"

namespace torch {

// sol2 finds these functions by their arguments. It calls them to check, to read and to push values.
template <class T, class Handler>
bool sol_lua_check(sol::types<view<T>>, lua_State *L, int index, Handler &&handler, sol::stack::record &tracking) {
  tracking.use(1);
  if (try_to<T>(L, index)) return true;
  handler(L, index, sol::type::userdata, sol::type_of(L, index), "expected a torch storage with elements of this type");
  return false;
}
template <class T>
view<T> sol_lua_get(sol::types<view<T>>, lua_State *L, int index, sol::stack::record &tracking) {
  tracking.use(1);
  return to<T>(L, index);
}
template <class T>
int sol_lua_push(sol::types<storage<T>>, lua_State *L, const storage<T> &held) {
  held.push(L);
  return 1;
}

}  // namespace torch

int main() {
  sol::state lua;
  lua.open_libraries();
  torch::open(lua);
  lua["mean"] = [](torch::view<const float> samples) {
    double sum = 0;
    for (float sample : samples) sum += sample;
    return sum / static_cast<double>(samples.size());
  };
  torch::storage<float> samples(lua, std::vector<float>{1, 2, 6});
  samples.push(lua);
  lua["samples"] = sol::stack::pop<sol::object>(lua);
  lua.script("print(mean(samples)) samples[1] = 4");
  std::printf("the first is %g now\n", static_cast<double>(samples[0]));
  sol::protected_function_result refused = lua.safe_script("mean { 1, 2, 6 }", sol::script_pass_on_error);
  std::string problem = refused.valid() ? "no error" : sol::error(refused).what();
  std::printf("%s\n", problem.c_str());
  return problem.find("expected a torch storage") == std::string::npos;
}
