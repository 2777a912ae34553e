// Tests of include/torch_storage.hpp. The program prints what fails, and at the end `N passed, N failed`. tests/cpp/run compiles it with
// several compilers and Luas, and runs it under valgrind and AddressSanitizer.
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <new>
#include <numeric>
#include <thread>

#include "torch_storage.hpp"

extern "C" {
#include <lualib.h>
}

// Threads count, too.
static std::atomic<int> passed{0}, failed{0};

static void check(bool is_right, const char *what, int line) {
  (is_right ? passed : failed)++;
  if (!is_right) std::cout << "line " << line << ": " << what << '\n';
}
#define CHECK(condition) check(condition, #condition, __LINE__)

// How often the program has allocated memory: by `new`, and in Lua.
static std::size_t allocations = 0;
void *operator new(std::size_t size) {
  allocations++;
  if (void *block = std::malloc(size ? size : 1)) return block;
  std::abort();
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

static bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// A Lua state with the library.
struct state {
  lua_State *L = luaL_newstate();
  explicit state(const torch::options &options = {}) {
    luaL_openlibs(L);
    torch::open(L, options);
  }
  ~state() { lua_close(L); }
  operator lua_State *() const { return L; }
  // Runs a text, and returns its error, or nothing.
  std::string run(const char *text, int results = 0) {
    if (luaL_loadstring(L, text) == 0 && lua_pcall(L, 0, results, 0) == 0) return "";
    std::string message = lua_tostring(L, -1);
    lua_pop(L, 1);
    return message;
  }
};

// The text of the exception that `act` throws, or nothing.
static std::string thrown(const std::function<void()> &act) {
#if defined(TORCH_NO_EXCEPTIONS)
  torch::detail::message().clear();
  act();
  return torch::last_error();
#else
  try {
    act();
    return "";
  } catch (const torch::error &e) {
    return e.what();
  }
#endif
}

static std::shared_ptr<float> counted(std::size_t size, std::shared_ptr<int> drops) {
  return std::shared_ptr<float>(new float[size], [drops](float *block) {
    delete[] block;
    ++*drops;
  });
}

static void vectors_are_pushed_without_a_copy() {
  state lua;
  std::vector<float> samples(1000, 0.5f);
  const float *data = samples.data();
  CHECK(torch::push(lua, std::move(samples)));
  lua_setglobal(lua, "samples");
  CHECK(lua.run("samples[10] = 3; assert(#samples == 1000 and torch.typename(samples) == 'torch.FloatStorage')").empty());
  lua_getglobal(lua, "samples");
  torch::view<float> back = torch::to<float>(lua, -1);
  CHECK(back && back.data() == data && back.size() == 1000 && back[9] == 3.0f);
  float sum = 0;
  for (float x : back) sum += x;
  CHECK(sum == 999 * 0.5f + 3);
  torch::view<const float> reading = back;
  CHECK(reading.data() == data);
#if defined(__cpp_lib_span)
  std::span<float> span = back;
  std::span<const float> constant = reading;
  std::span<const float> at_once = torch::to<const float>(lua, -1);
  CHECK(span.size() == 1000 && constant.data() == data && at_once.data() == data);
#endif
  lua_pop(lua, 1);
  CHECK(torch::push(lua, std::vector<double>()));
  CHECK(torch::to<double>(lua, -1) && torch::to<double>(lua, -1).empty());
  lua_pop(lua, 1);
  CHECK(lua_gettop(lua) == 0);
}

template <class T>
static void class_is(const char *name) {
  state lua;
  torch::storage<T> made(lua, 3);
  CHECK(made && made.size() == 3 && made.push(lua));
  lua_setglobal(lua, "s");
  CHECK(lua.run(("assert(torch.typename(s) == 'torch." + std::string(name) + "')").c_str()).empty());
}

static void each_type_has_its_class() {
  class_is<std::uint8_t>("ByteStorage");
  class_is<signed char>("CharStorage");
  class_is<char>(std::is_signed_v<char> ? "CharStorage" : "ByteStorage");
  class_is<short>("ShortStorage");
  class_is<int>("IntStorage");
  class_is<long long>("LongStorage");
  class_is<std::int64_t>("LongStorage");
  class_is<std::uint16_t>("UInt16Storage");
  class_is<std::uint32_t>("UInt32Storage");
  class_is<std::uint64_t>("UInt64Storage");
  class_is<float>("FloatStorage");
  class_is<double>("DoubleStorage");
  class_is<bool>("BoolStorage");
  class_is<torch::half>("HalfStorage");
  class_is<torch::bfloat16>("BFloat16Storage");
  class_is<std::byte>("UntypedStorage");
  class_is<std::complex<float>>("ComplexFloatStorage");
  class_is<std::complex<double>>("ComplexDoubleStorage");
}

static void owners_are_dropped_once() {
  auto drops = std::make_shared<int>(0);
  {
    state lua;
    auto memory = counted(10, drops);
    memory.get()[2] = 7;
    CHECK(torch::push(lua, memory.get(), 10, memory));
    memory.reset();
    lua_setglobal(lua, "s");
    CHECK(lua.run("assert(s[3] == 7); s = nil; collectgarbage(); collectgarbage()").empty());
    CHECK(*drops == 1);
    auto second = counted(10, drops);
    torch::push(lua, second.get(), 10, second);
    lua_setglobal(lua, "kept");
  }
  CHECK(*drops == 2);
  // A storage of the program outlives the Lua state, and ends in another thread.
  torch::storage<float> held;
  {
    state lua;
    auto third = counted(10, drops);
    third.get()[0] = 5;
    held = torch::storage<float>(lua, third.get(), 10, third);
    third.reset();
    held.push(lua);
    lua_setglobal(lua, "s");
    CHECK(has(lua.run("s:resize(1000)"), "memory"));
  }
  CHECK(*drops == 2 && held[0] == 5);
  std::thread([moved = std::move(held)] { CHECK(moved.size() == 10); }).join();
  CHECK(*drops == 3);
  // Memory that cannot become a storage is given back.
  lua_State *closed = luaL_newstate();
  auto fourth = counted(10, drops);
  CHECK(has(thrown([&] { torch::push(closed, fourth.get(), 10, fourth); }), "torch is not open"));
  fourth.reset();
  CHECK(*drops == 4);
  lua_close(closed);
}

static void storages_are_held_by_scope() {
  torch::storage<double> later;
  {
    state lua;
    CHECK(lua.run("s = torch.DoubleStorage(4):fill(3) keep = torch.DoubleStorage(4):fill(8)").empty());
    {
      lua_getglobal(lua, "s");
      auto held = torch::storage<double>::from(lua, -1);
      lua_pop(lua, 1);
      CHECK(held && held.size() == 4 && held[3] == 3);
      CHECK(has(lua.run("s:resize(100)"), "memory") && has(lua.run("s:shareMemory()"), "memory"));
      // Freeing ends the Lua value only.
      CHECK(lua.run("t = s:view('float64') s:free()").empty() && held[3] == 3);
      held = {};
      CHECK(!held && lua.run("t:fill(1) u = torch.DoubleStorage(4) u:resize(100)").empty());
    }
    CHECK(lua.run("s = torch.DoubleStorage(4)").empty());
    {
      lua_getglobal(lua, "s");
      auto held = torch::storage<const double>::from(lua, -1);
      lua_pop(lua, 1);
      CHECK(!lua.run("s:resize(100)").empty());
    }
    CHECK(lua.run("s:resize(100)").empty());
    lua_getglobal(lua, "keep");
    later = torch::storage<double>::from(lua, -1);
    lua_pop(lua, 1);
  }
  CHECK(later.size() == 4 && later[0] == 8);
  state other;
  CHECK(later.push(other));
  lua_setglobal(other, "keep");
  CHECK(other.run("assert(keep:sum() == 32) keep[1] = 5").empty() && later[0] == 5);
}

static void what_cannot_be_held_stays_on_the_stack() {
  state lua;
  // The memory is that of a string of Lua, which ends with the Lua state.
  CHECK(lua.run("return torch.frombuffer(('x'):rep(64))", 1).empty());
  CHECK(torch::try_to<const std::byte>(lua, -1).size() == 64);
  for (int index : {-1, 1}) {
    CHECK(!thrown([&] { torch::storage<const std::byte>::from(lua, index); }).empty());
    CHECK(lua_gettop(lua) == 1 && torch::try_to<const std::byte>(lua, -1));
  }
}

static void coroutines_have_stacks_of_their_own() {
  state lua;
  lua_State *thread = lua_newthread(lua);
  CHECK(torch::push(thread, std::vector<float>{1, 2, 3}) && lua_gettop(lua) == 1 && lua_gettop(thread) == 1);
  CHECK(torch::to<float>(thread, -1)[2] == 3);
  CHECK(has(thrown([&] { torch::to<double>(thread, 1); }), "torch.DoubleStorage expected at stack index 1, got torch.FloatStorage"));
  torch::storage<float> held = torch::storage<float>::from(thread, -1);
  lua_xmove(thread, lua, 1);
  CHECK(torch::to<float>(lua, -1).data() == held.data() && lua_gettop(thread) == 0);
  lua_settop(lua, 0);
  CHECK(lua.run("collectgarbage() collectgarbage()").empty() && held[0] == 1);
}

static void memory_for_reading_is_read_only() {
  state lua;
  static const double table[] = {1, 2, 3};
  CHECK(torch::push(lua, table, 3, nullptr));
  lua_setglobal(lua, "s");
  CHECK(has(lua.run("s[1] = 2"), "read-only"));
  CHECK(lua.run("assert(s[3] == 3)").empty());
  lua_getglobal(lua, "s");
  CHECK(torch::to<const double>(lua, -1).data() == table);
  CHECK(has(thrown([&] { torch::to<double>(lua, -1); }), "got one that is read-only"));
  lua_pop(lua, 1);
}

static void other_values_are_refused() {
  state lua;
  auto refusal = [&](const char *value) {
    lua.run((std::string("return ") + value).c_str(), 1);
    std::string text = thrown([&] { torch::to<float>(lua, -1); });
    CHECK(!torch::try_to<float>(lua, -1));
    lua_pop(lua, 1);
    return text;
  };
  CHECK(refusal("torch.DoubleStorage(3)") == "torch.FloatStorage expected at stack index 1, got torch.DoubleStorage");
  CHECK(refusal("{1, 2}") == "torch.FloatStorage expected at stack index 1, got table");
  CHECK(refusal("nil") == "torch.FloatStorage expected at stack index 1, got nil");
  CHECK(has(refusal("(function() local s = torch.FloatStorage(3) s:free() return s end)()"), "a storage that was freed"));
  CHECK(has(refusal("torch.FloatTensor(3, 2):t()"), "got a torch.FloatTensor that is not contiguous"));
  CHECK(has(refusal("torch.ByteStorage(9):view('float32', 1, 2)"), "not aligned"));
  CHECK(has(refusal("io.stdout"), "got a userdata"));
  lua.run("return torch.FloatTensor(2, 3):fill(4)", 1);
  CHECK(torch::to<float>(lua, -1).size() == 6 && torch::to<const float>(lua, 1)[5] == 4);
  lua_pop(lua, 1);
  CHECK(lua_gettop(lua) == 0);
}

static void tensors_have_sizes_and_strides() {
  state lua;
  std::vector<float> numbers(6);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  CHECK(torch::push(lua, numbers) && torch::to_shape(lua, {2, 3}));
  lua_setglobal(lua, "x");
  CHECK(lua.run("assert(x:size(1) == 2 and x:get(2, 3) == 5); y = x:t()").empty());
  lua_getglobal(lua, "y");
  auto y = torch::to_tensor<float>(lua, -1);
  CHECK(y && y.dimensions() == 2 && y.size(0) == 3 && y.size(1) == 2 && y.stride(0) == 1 && y.stride(1) == 3);
  CHECK(!y.is_contiguous() && y(2, 1) == 5 && y(0, 1) == 3);
#if defined(__cpp_lib_mdspan)
  auto m = y.mdspan<2>();
  CHECK((m.extent(0) == 3 && m[std::array<std::size_t, 2>{2, 1}] == 5));
  CHECK(has(thrown([&] { y.mdspan<3>(); }), "another number of dimensions"));
#endif
  CHECK(has(thrown([&] { torch::to_tensor<int>(lua, -1); }), "torch.IntTensor expected at stack index 1, got torch.FloatTensor"));
  lua_pop(lua, 1);
  torch::push(lua, std::vector<float>(6));
  CHECK(has(thrown([&] { torch::to_shape(lua, {2, 4}); }), "8"));
  CHECK(lua_gettop(lua) == 1);
}

// Notices that its destructor runs.
struct witness {
  int &ended;
  ~witness() { ended++; }
};
static int ended = 0;

static int l_mean(lua_State *L) {
  witness w{ended};
  std::string text(100, 'x');
  torch::view<const float> s = torch::to<const float>(L, 1);
  if (!s) return luaL_error(L, "%s", torch::last_error().c_str());
  double sum = 0;
  for (float x : s) sum += x;
  lua_pushnumber(L, sum / static_cast<double>(s.size()));
  return 1;
}
// A Lua error, and a yield: with a Lua that is compiled as C++ they are exceptions, which have to pass.
static int l_raises(lua_State *L) { return luaL_error(L, "an error of %s", "Lua"); }
static int l_yields(lua_State *L) {
  lua_settop(L, 1);
  return lua_yield(L, 1);
}
#if !defined(TORCH_NO_EXCEPTIONS)
static int l_throws(lua_State *) {
  witness w{ended};
  std::vector<int> block(1000);
  throw std::runtime_error("no such file");
}
static int l_other(lua_State *) { throw 5; }
static int l_calls(lua_State *L) {
  witness w{ended};
  lua_pushvalue(L, 1);
  // A Lua error in a call that is not protected would skip the destructor, except on LuaJIT.
  if (lua_pcall(L, 0, 0, 0) != 0) throw torch::error(std::string("in the call: ") + lua_tostring(L, -1));
  return 0;
}
#endif

static void exceptions_become_lua_errors() {
  state lua;
  torch::push_function<l_mean>(lua);
  lua_setglobal(lua, "mean");
  ended = 0;
  CHECK(lua.run("assert(mean(torch.FloatStorage{1, 2, 6}) == 3)").empty() && ended == 1);
  CHECK(torch::push_function<l_raises>(lua));
  lua_setglobal(lua, "raises");
  CHECK(torch::push_function<l_yields>(lua));
  lua_setglobal(lua, "yields");
  CHECK(has(lua.run("raises()"), "]:1: an error of Lua"));
  CHECK(lua.run("local c = coroutine.wrap(function() return yields(7) + 1 end) assert(c() == 7 and c(2) == 3)").empty());
#if !defined(TORCH_NO_EXCEPTIONS)
  CHECK(has(lua.run("mean {}"), "]:1: torch.FloatStorage expected at stack index 1, got table") && ended == 2);
  torch::push_function<l_throws>(lua);
  lua_setglobal(lua, "throws");
  torch::push_function<l_other>(lua);
  lua_setglobal(lua, "other");
  torch::push_function<l_calls>(lua);
  lua_setglobal(lua, "calls");
  CHECK(has(lua.run("throws()"), "]:1: no such file") && ended == 3);
  CHECK(has(lua.run("coroutine.wrap(function() throws() end)()"), "no such file") && ended == 4);
  CHECK(has(lua.run("calls(function() error 'oops' end)"), "in the call: ") && ended == 5);
  CHECK(has(lua.run("calls(function() calls(throws) end)"), "in the call: ") && ended == 8);
  // LuaJIT has its own text for these.
  CHECK(has(lua.run("other()"), "xception"));
  for (int n = 0; n < 10000; n++) CHECK(has(lua.run("throws()"), "no such file"));
#endif
}

static void lua_errors_in_functions_of_the_header_are_exceptions() {
  state lua({false, 1 << 20, 0, {}, true});
  ended = 0;
  {
    witness w{ended};
    CHECK(has(thrown([&] { torch::storage<float> large(lua, 1u << 20); }), "the host program allows 1048576"));
    CHECK(has(thrown([&] { torch::storage<float> large(lua, std::size_t(1) << 62); }), "more than a machine can address"));
  }
  CHECK(ended == 1 && lua_gettop(lua) == 0);
  CHECK(torch::memory(lua) == 0);
  CHECK(lua.run("s = torch.FloatStorage(1000)").empty() && torch::memory(lua) == 4000);
  CHECK(!torch::limit(lua, 100) && has(lua.run("torch.FloatStorage(1)"), "the host program allows 100"));
  CHECK(torch::limit(lua, 0) && lua.run("t = torch.FloatStorage(1e6)").empty() && torch::memory(lua) == 4004000);
  CHECK(has(thrown([&] { torch::open(lua, {true, 0, 0, {}, true}); }), "open in this Lua state already"));
  CHECK(torch::open(lua));
}

static void restricted_states_keep_their_scripts_inside() {
  torch::options options;
  options.restricted = true;
  options.memory = 8 << 20;
  options.publications = {"shared"};
  state lua(options), other;
  CHECK(other.run("torch.publish('shared', torch.FloatStorage(4):fill(2)); torch.publish('secret', torch.FloatStorage(4))").empty());
  CHECK(lua.run("assert(torch.lookup('shared')[4] == 2)").empty());
  CHECK(has(lua.run("torch.lookup('secret')"), "not available: the host program restricts this Lua state (got 'secret')"));
  CHECK(has(lua.run("torch.load('x')"), "'load' is not available"));
  CHECK(has(lua.run("torch.FloatStorage(1e9)"), "the host program allows 8388608"));
  CHECK(other.run("torch.unpublish 'shared'; torch.unpublish 'secret'").empty());
  torch::push(lua, std::vector<float>(3, 1.0f));
  lua_setglobal(lua, "s");
  CHECK(lua.run("s[1] = 9; assert(s:sum() == 11)").empty());
}

static void *counting(void *, void *block, std::size_t, std::size_t size) {
  if (size == 0) {
    std::free(block);
    return nullptr;
  }
  allocations++;
  return std::realloc(block, size);
}

static void frames_allocate_nothing() {
  // Some LuaJITs refuse other allocators on 64-bit machines, and then their own is not counted.
  lua_State *L = lua_newstate(counting, nullptr
#if LUA_VERSION_NUM >= 505
                              , 0
#endif
  );
  if (L == nullptr) L = luaL_newstate();
  luaL_openlibs(L);
  torch::open(L);
  {
    torch::ring<float> input(L, 10000, 3);
    CHECK(input.count() == 3);
    // LuaJIT compiles the function in the first frames, which allocates.
    CHECK(luaL_dostring(L, "function frame(s) local x = s[1] s[2] = x + 1 return s end") == 0);
    std::size_t most = 0;
    for (int n = 0; n < 1000; n++) {
      std::size_t before = allocations;
      torch::view<float> frame = input.next();
      frame[0] = static_cast<float>(n);
      lua_getglobal(L, "frame");
      input.push(L);
      if (lua_pcall(L, 1, 1, 0) != 0) std::cout << lua_tostring(L, -1) << '\n';
      torch::view<const float> result = torch::to<const float>(L, -1);
      if (result[1] != static_cast<float>(n + 1) || result.data() != frame.data()) check(false, "the result is of this frame", __LINE__);
      lua_pop(L, 1);
      if (n >= 500 && allocations - before > most) most = allocations - before;
    }
    CHECK(most == 0);
  }
  lua_close(L);
}

static void a_frame_that_a_script_frees_comes_back() {
  state lua;
  torch::ring<float> input(lua, 3);
  for (float n = 1; n < 7; n++) {
    input.next()[0] = n;
    CHECK(input.push(lua));
    lua_setglobal(lua, "s");
    CHECK(lua.run("assert(#s == 3) s[2] = s[1] * 2 s:free()").empty() && input.elements()[1] == 2 * n);
  }
  CHECK(lua.run("s = nil collectgarbage()").empty() && lua_gettop(lua) == 0);
}

static void several_states_in_threads_share_a_storage() {
  state first;
  torch::storage<int> shared(first, std::vector<int>(1000));
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; n++)
    threads.emplace_back([&shared, n] {
      state own;
      shared.push(own);
      lua_setglobal(own, "s");
      CHECK(own.run(("for i = " + std::to_string(n + 1) + ", 1000, 4 do s[i] = i end").c_str()).empty());
    });
  for (std::thread &one : threads) one.join();
  CHECK(shared[0] == 1 && shared[999] == 1000);
}

int main() {
  vectors_are_pushed_without_a_copy();
  each_type_has_its_class();
  owners_are_dropped_once();
  storages_are_held_by_scope();
  what_cannot_be_held_stays_on_the_stack();
  coroutines_have_stacks_of_their_own();
  memory_for_reading_is_read_only();
  other_values_are_refused();
  tensors_have_sizes_and_strides();
  exceptions_become_lua_errors();
  lua_errors_in_functions_of_the_header_are_exceptions();
  restricted_states_keep_their_scripts_inside();
  frames_allocate_nothing();
  a_frame_that_a_script_frees_comes_back();
  several_states_in_threads_share_a_storage();
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed != 0;
}
