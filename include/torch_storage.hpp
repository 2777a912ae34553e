// torch_storage.hpp: storages and tensors of torch-storage in C++ programs that embed Lua. C++17; more of it with C++20 (std::span) and
// C++23 (std::mdspan). It is one header over torch_storage.h. docs/cpp.md explains it. In short:
//
//   torch::open(L);                                            // sets the global variable torch
//   torch::push(L, std::vector<float>(1000));                  // the vector's own memory, without a copy
//   lua_setglobal(L, "samples");
//   lua_getglobal(L, "result");
//   torch::view<const float> result = torch::to<const float>(L, -1);   // throws torch::error if it is none
//   for (float x : result) use(x);
//
// Errors: a function that fails throws torch::error. It leaves the Lua stack as it was. Where exceptions are off, or the macro
// TORCH_NO_EXCEPTIONS is defined, it returns an empty value or false, and torch::last_error() says why.
//
// Lua errors and destructors: Lua raises errors by longjmp, which skips destructors. So this header calls what may raise an error in
// protected calls, and no Lua error leaves a function of it, also if Lua has no memory. A function that Lua calls is written as
// `int f(lua_State *)` and pushed by torch::push_function<f>(L): an exception in it becomes a Lua error after its destructors have run. A
// Lua that is compiled as C++ raises its errors by exceptions, which pass.
//
// A function that takes a Lua state needs 5 free stack slots, as those of lauxlib.h do.
#ifndef TORCH_STORAGE_HPP
#define TORCH_STORAGE_HPP

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#include <typeinfo>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif
#if defined(__cpp_lib_ranges)
#include <ranges>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include "torch_storage.h"

#if !defined(__cpp_exceptions) && !defined(TORCH_NO_EXCEPTIONS)
#define TORCH_NO_EXCEPTIONS
#endif

namespace torch {

// Why a function failed. A program without exceptions reads it from last_error().
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A number of 16 bits in a storage of class HalfStorage or BFloat16Storage. C++ does not calculate with it.
struct half {
  std::uint16_t bits;
};
struct bfloat16 {
  std::uint16_t bits;
};

namespace detail {

inline std::string &message() {
  thread_local std::string text;
  return text;
}

// Throws, or records why a function failed.
inline void fail(const std::string &why) {
#if defined(TORCH_NO_EXCEPTIONS)
  message() = why;
#else
  throw error(why);
#endif
}

template <class T>
constexpr int integer() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return is_signed ? TORCH_CHAR : TORCH_BYTE;
    case 2: return is_signed ? TORCH_SHORT : TORCH_UINT16;
    case 4: return is_signed ? TORCH_INT : TORCH_UINT32;
    default: return is_signed ? TORCH_LONG : TORCH_UINT64;
  }
}

}  // namespace detail

// The number of the class of storages whose elements are of type T. Specialise it for a type of the program that has the bytes of one.
template <class T>
struct element {
  static_assert(std::is_integral_v<T>, "there is no class of storages with elements of this type");
  static constexpr int dtype = detail::integer<T>();
};
template <> struct element<bool> { static constexpr int dtype = TORCH_BOOL; };
template <> struct element<float> { static constexpr int dtype = TORCH_FLOAT; };
template <> struct element<double> { static constexpr int dtype = TORCH_DOUBLE; };
template <> struct element<half> { static constexpr int dtype = TORCH_HALF; };
template <> struct element<bfloat16> { static constexpr int dtype = TORCH_BFLOAT16; };
template <> struct element<std::byte> { static constexpr int dtype = TORCH_UNTYPED; };
template <> struct element<std::complex<float>> { static constexpr int dtype = TORCH_COMPLEX_FLOAT; };
template <> struct element<std::complex<double>> { static constexpr int dtype = TORCH_COMPLEX_DOUBLE; };

template <class T>
inline constexpr int dtype_of = element<std::remove_const_t<T>>::dtype;

// Why the last function of this thread failed, in a program without exceptions.
inline const std::string &last_error() { return detail::message(); }

// The elements of a storage, or of a contiguous tensor, from the first to the last. In C++20 it is a range that a std::span takes. It owns
// nothing: it is good until Lua code runs, or the collector. torch::storage keeps elements longer. An empty view is false.
template <class T>
class view {
 public:
  using value_type = std::remove_const_t<T>;

  view() = default;
  view(T *data, std::size_t size) : data_(data), size_(size), is_valid_(true) {}
  // A view for reading of what may be written.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T> && !std::is_const_v<U>>>
  view(const view<U> &other) : data_(other.data()), size_(other.size()), is_valid_(static_cast<bool>(other)) {}

  T *data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T *begin() const { return data_; }
  T *end() const { return data_ + size_; }
  // Counts from 0, and is not checked.
  T &operator[](std::size_t index) const { return data_[index]; }
  // Whether there is a storage. One without elements is true.
  explicit operator bool() const { return is_valid_; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
  bool is_valid_ = false;
};

}  // namespace torch

#if defined(__cpp_lib_ranges)
// A view owns nothing, so a std::span of one that ends at once is good.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<torch::view<T>> = true;
#endif

namespace torch {

// The elements of a tensor. It is good as long as a view is. Sizes and strides count elements.
template <class T>
class tensor_view {
 public:
  tensor_view() = default;
  explicit tensor_view(const torch_tensor_view &tensor) : tensor_(tensor), is_valid_(true) {}

  T *data() const { return static_cast<T *>(tensor_.data); }
  std::size_t size() const { return tensor_.size; }
  std::size_t dimensions() const { return static_cast<std::size_t>(tensor_.dimensions); }
  std::size_t size(std::size_t dimension) const { return tensor_.sizes[dimension]; }
  std::ptrdiff_t stride(std::size_t dimension) const { return tensor_.strides[dimension]; }
  bool is_contiguous() const { return (tensor_.flags & TORCH_CONTIGUOUS) != 0; }
  explicit operator bool() const { return is_valid_; }

  // The element at these indices, from 0, one for each dimension. They are not checked.
  template <class... Indices>
  T &operator()(Indices... indices) const {
    std::ptrdiff_t offset = 0;
    std::size_t dimension = 0;
    ((offset += static_cast<std::ptrdiff_t>(indices) * tensor_.strides[dimension++]), ...);
    return data()[offset];
  }

#if defined(__cpp_lib_mdspan)
  // The same elements as a std::mdspan of this rank. Fails if the tensor has another number of dimensions, or a stride that an mdspan
  // does not have: 0 or negative, where the size is not 1.
  template <std::size_t Rank>
  std::mdspan<T, std::dextents<std::size_t, Rank>, std::layout_stride> mdspan() const {
    std::array<std::size_t, Rank> sizes{}, strides{};
    bool fits = is_valid_ && dimensions() == Rank;
    for (std::size_t n = 0; fits && n < Rank; n++) {
      sizes[n] = size(n);
      strides[n] = size(n) == 1 ? 1 : static_cast<std::size_t>(stride(n));
      fits = size(n) == 1 || stride(n) > 0;
    }
    if (!fits) {
      detail::fail("the tensor has no such mdspan: another number of dimensions, or a stride that is not positive");
      return {};
    }
    using extents = std::dextents<std::size_t, Rank>;
    return {data(), std::layout_stride::mapping<extents>(extents(sizes), strides)};
  }
#endif

 private:
  torch_tensor_view tensor_{};
  bool is_valid_ = false;
};

namespace detail {

// A piece of work that may raise a Lua error. Nothing in it has a destructor while it runs.
struct work {
  void (*run)(lua_State *L, void *data);
  void *data;
  int results;
  bool has_begun = false;
};

// The C function that does it. Argument 1 is the work, and the others are for it; it leaves its results on the top.
inline int trampoline(lua_State *L) {
  work *w = static_cast<work *>(lua_touserdata(L, 1));
  lua_remove(L, 1);
  w->has_begun = true;
  w->run(L, w->data);
  return w->results;
}

// Pushes the trampoline, and makes room for 12 values more. Returns false if there is no memory. Since Lua 5.2 neither of the two raises an
// error. Before, both may, so a protected call does it first, and puts the function into the registry.
inline bool push_trampoline(lua_State *L) {
#if LUA_VERSION_NUM >= 502
  if (!lua_checkstack(L, 12)) return false;
  lua_pushcfunction(L, trampoline);
  return true;
#else
  static const char *const name = "torch_storage.hpp";
  auto prepare = [](lua_State *state) {
    int here = 0;
    luaL_checkstack(state, 20, name);
    // LuaJIT notes the upper bits of the addresses that it has, and those of the work are the same.
    lua_pushlightuserdata(state, &here);
    lua_getfield(state, LUA_REGISTRYINDEX, name);
    if (lua_isnil(state, -1)) {
      lua_pushcfunction(state, trampoline);
      lua_setfield(state, LUA_REGISTRYINDEX, name);
    }
    return 0;
  };
  if (lua_cpcall(L, prepare, nullptr) != 0) {
    lua_pop(L, 1);
    return false;
  }
  // The room and the name are there by now, so this allocates nothing.
  if (!lua_checkstack(L, 12)) return false;
  lua_getfield(L, LUA_REGISTRYINDEX, name);
  return true;
#endif
}

// Takes an error message off the stack at the end, also if there is no memory for a copy of it.
struct popped {
  lua_State *L;
  ~popped() { lua_pop(L, 1); }
};

// Runs `body(L)` in a protected call, with the top `arguments` values as its arguments. It leaves `results` values on the stack instead. If
// it raises an error, `why` gets the message, and nothing is left. `begun` gets whether the body began at all.
template <class Body>
bool protect(lua_State *L, int arguments, int results, Body &body, std::string &why, bool *begun = nullptr) {
  work w{[](lua_State *state, void *data) { (*static_cast<Body *>(data))(state); }, &body, results};
  if (!push_trampoline(L)) {
    lua_pop(L, arguments);
    why = "not enough memory for the stack of Lua";
    return false;
  }
  lua_insert(L, -1 - arguments);
  lua_pushlightuserdata(L, &w);
  lua_insert(L, -1 - arguments);
  bool is_done = lua_pcall(L, arguments + 1, results, 0) == 0;
  if (begun != nullptr) *begun = w.has_begun;
  if (!is_done) {
    popped at_the_end{L};
    // Of a number, lua_tostring would make a string, for which there may be no memory.
    why = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is not a string";
  }
  return is_done;
}

// The registry of a Lua state has the table of functions under this number, too. Looking up a number allocates nothing, but the name in
// torch_storage.h may be a new string, and LuaJIT may have to note a new address. luaL_ref counts from 1, and does not get that far.
constexpr int TABLE_KEY = 0x746f7263;

inline const torch_storage_api *usable(const torch_storage_api *api) {
  return api != nullptr && api->size >= sizeof *api ? api : nullptr;
}

// Looks the table up by its name, and notes it. Returns NULL if the library is not open.
inline const torch_storage_api *find_by_name(lua_State *L) {
  const torch_storage_api *api = nullptr;
  auto body = [&api](lua_State *state) {
    lua_getfield(state, LUA_REGISTRYINDEX, TORCH_STORAGE_KEY);
    const torch_storage_api *found = usable(torch_storage_unbox(state, -1));
    if (found == nullptr) return;
    lua_rawseti(state, LUA_REGISTRYINDEX, TABLE_KEY);
    api = found;
  };
  std::string why;
  protect(L, 0, 0, body, why);
  return api;
}

// The table of functions, or NULL where the library is not open. Raises nothing, and allocates only the first time in a Lua state.
inline const torch_storage_api *find(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, TABLE_KEY);
  const torch_storage_api *api = torch_storage_unbox(L, -1);
  lua_pop(L, 1);
  return api != nullptr ? usable(api) : find_by_name(L);
}

inline const torch_storage_api *expect_open(lua_State *L) {
  const torch_storage_api *api = find(L);
  if (api == nullptr) fail("torch is not open in this Lua state, or is too old: call torch::open first");
  return api;
}

inline int absolute(lua_State *L, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}

inline const char *class_of(int dtype) {
  static const char *const names[] = {"storage",      "ByteStorage",   "CharStorage",   "ShortStorage",        "IntStorage",
                                      "LongStorage",  "HalfStorage",   "FloatStorage",  "DoubleStorage",       "UInt16Storage",
                                      "UInt32Storage", "UInt64Storage", "BFloat16Storage", "BoolStorage",      "Float8_e4m3fnStorage",
                                      "Float8_e5m2Storage", "Float8_e4m3fnuzStorage", "Float8_e5m2fnuzStorage", "ComplexFloatStorage",
                                      "ComplexDoubleStorage", "UntypedStorage"};
  return dtype >= 0 && dtype <= TORCH_UNTYPED ? names[dtype] : "storage";
}

// What is wrong with the value at `index`, of which such a view was wanted.
inline std::string mismatch(const torch_storage_api *api, lua_State *L, int index, int dtype, int wants) {
  std::string expected = std::string("torch.") + class_of(dtype) + " expected at stack index " + std::to_string(index) + ", got ";
  torch_storage_view any;
  torch_tensor_view tensor;
  if (torch_storage_test(api, L, index, TORCH_ANY, wants & TORCH_TENSORS, &any)) {
    if (any.dtype != dtype) return expected + any.class_name;
    if ((wants & TORCH_WRITABLE) != 0 && (any.flags & TORCH_WRITABLE) == 0) return expected + "one that is read-only";
    return expected + "one whose elements are not aligned";
  }
  if (torch_tensor_test(api, L, index, TORCH_ANY, 0, &tensor)) return expected + "a " + tensor.class_name + " that is not contiguous";
  const char *name = luaL_typename(L, index);
  return expected + (lua_isuserdata(L, index) ? "a userdata, or a storage that was freed" : name);
}

template <class T>
constexpr int wants() {
  return TORCH_ALIGNED | (std::is_const_v<T> ? 0 : TORCH_WRITABLE);
}

// Memory of the program, which a storage owns from now on.
struct memory {
  void *data;
  std::size_t size;
  int dtype;
  int flags;
  void (*free)(void *);
  void *owner;
};

// Frees memory at the end, unless a storage has it by then.
struct given {
  const memory &m;
  bool is_taken = false;
  ~given() {
    if (!is_taken && m.free != nullptr) m.free(m.owner);
  }
};

// Pushes a storage over memory. If that fails, the owner is freed nevertheless.
inline bool push_memory(lua_State *L, const memory &m) {
  std::string why;
  bool is_done = false;
  {
    given owner{m};
    const torch_storage_api *api = find(L);
    if (api == nullptr) {
      why = "torch is not open in this Lua state, or is too old: call torch::open first";
    } else {
      auto body = [api, &m](lua_State *state) { torch_storage_wrap(api, state, m.data, m.size, m.dtype, m.flags, m.free, m.owner); };
      is_done = protect(L, 0, 1, body, why, &owner.is_taken);
    }
  }
  if (!is_done) fail(why);
  return is_done;
}

template <class Owner>
void destroy(void *owner) {
  delete static_cast<Owner *>(owner);
}

template <class T>
memory memory_of(std::vector<T> &&elements) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no array of bool: use std::vector<std::uint8_t>, or bool[]");
  auto *owner = new std::vector<T>(std::move(elements));
  return {owner->data(), owner->size(), dtype_of<T>, TORCH_WRITABLE, destroy<std::vector<T>>, owner};
}

template <class T>
memory memory_of(T *data, std::size_t size, std::shared_ptr<const void> owner) {
  auto *kept = owner ? new std::shared_ptr<const void>(std::move(owner)) : nullptr;
  void *start = const_cast<std::remove_const_t<T> *>(data);
  return {start, size, dtype_of<T>, std::is_const_v<T> ? 0 : TORCH_WRITABLE, kept ? destroy<std::shared_ptr<const void>> : nullptr, kept};
}

}  // namespace detail

// What a program allows the scripts of a Lua state: see torch_storage_options.
struct options {
  bool restricted = false;
  std::size_t memory = 0;                       // how many bytes the storages of the state may have, 0: no limit
  int threads = 0;                              // of large operations of the process, 0: as many as there are cores
  std::vector<const char *> publications = {};  // names that restricted scripts may look up
  bool sets_global = true;                      // whether the global variable `torch` is set
};

// Opens the library. Without options it may be open already.
inline bool open(lua_State *L, const options &wanted = {}) {
  std::vector<const char *> names = wanted.publications;
  names.push_back(nullptr);
  torch_storage_options given{};
  given.size = sizeof given;
  given.restricted = wanted.restricted;
  given.memory = wanted.memory;
  given.threads = wanted.threads;
  given.publications = names.data();
  bool has_options = wanted.restricted || wanted.memory != 0 || wanted.threads != 0 || names.size() > 1;
  auto body = [&given, has_options, &wanted](lua_State *state) {
    torch_storage_require(state, has_options ? &given : nullptr);
    if (wanted.sets_global) lua_setglobal(state, "torch");
  };
  std::string why;
  bool is_open = detail::protect(L, 0, 0, body, why);
  if (!is_open) detail::fail(why);
  return is_open;
}

// How many bytes the storages of this state have: see torch_storage_memory.
inline std::size_t memory(lua_State *L) {
  const torch_storage_api *api = detail::expect_open(L);
  std::size_t bytes = 0;
  std::string why;
  auto body = [api, &bytes](lua_State *state) { bytes = api->memory(state); };
  if (api != nullptr && !detail::protect(L, 0, 0, body, why)) detail::fail(why);
  return bytes;
}

// Sets how many they may have; 0 is no limit. Returns whether no more is in use.
inline bool limit(lua_State *L, std::size_t bytes) {
  const torch_storage_api *api = detail::expect_open(L);
  int is_kept = 0;
  std::string why;
  auto body = [api, bytes, &is_kept](lua_State *state) { is_kept = api->limit(state, bytes); };
  if (api != nullptr && !detail::protect(L, 0, 0, body, why)) detail::fail(why);
  return is_kept != 0;
}

// Whether the value at a stack index is a storage with elements of type T, or a contiguous tensor of them. A T that is not const also asks
// for elements that may be written. An empty view if not.
template <class T>
view<T> try_to(lua_State *L, int index) {
  const torch_storage_api *api = detail::find(L);
  torch_storage_view found;
  if (api == nullptr || !torch_storage_test(api, L, detail::absolute(L, index), dtype_of<T>, detail::wants<T>() | TORCH_TENSORS, &found))
    return {};
  return {static_cast<T *>(found.data), found.size};
}

// The same, but fails if the value is none. Allocates nothing if it is one.
template <class T>
view<T> to(lua_State *L, int index) {
  view<T> found = try_to<T>(L, index);
  if (!found) {
    const torch_storage_api *api = detail::expect_open(L);
    if (api != nullptr) detail::fail(detail::mismatch(api, L, detail::absolute(L, index), dtype_of<T>, detail::wants<T>() | TORCH_TENSORS));
  }
  return found;
}

// The tensor at a stack index, contiguous or not. Fails if it is none with elements of type T.
template <class T>
tensor_view<T> to_tensor(lua_State *L, int index) {
  const torch_storage_api *api = detail::expect_open(L);
  if (api == nullptr) return {};
  torch_tensor_view found;
  int place = detail::absolute(L, index);
  if (torch_tensor_test(api, L, place, dtype_of<T>, detail::wants<T>(), &found)) return tensor_view<T>(found);
  std::string name = detail::class_of(dtype_of<T>);
  name.replace(name.find("Storage"), 7, "Tensor");
  std::string got = torch_tensor_test(api, L, place, TORCH_ANY, 0, &found) ? found.class_name : luaL_typename(L, place);
  detail::fail("torch." + name + " expected at stack index " + std::to_string(place) + ", got " + got);
  return {};
}

// Pushes a storage over the vector's own memory. The vector is dropped with the last storage over it, in whatever thread that is.
template <class T>
bool push(lua_State *L, std::vector<T> elements) {
  return detail::push_memory(L, detail::memory_of(std::move(elements)));
}

// Pushes a storage over memory of the program. The owner is kept until the last storage over it ends, and is dropped then, in whatever
// thread that is. Without an owner the memory stays for ever. For a T that is const the storage is read-only.
template <class T>
bool push(lua_State *L, T *data, std::size_t size, std::shared_ptr<const void> owner) {
  return detail::push_memory(L, detail::memory_of(data, size, std::move(owner)));
}
#if defined(__cpp_lib_span)
template <class T>
bool push(lua_State *L, std::span<T> elements, std::shared_ptr<const void> owner) {
  return push(L, elements.data(), elements.size(), std::move(owner));
}
#endif

// Replaces the storage on the top of the stack by a contiguous tensor over it, with these sizes.
inline bool to_shape(lua_State *L, std::initializer_list<std::size_t> sizes) {
  const torch_storage_api *api = detail::expect_open(L);
  if (api == nullptr) return false;
  const std::size_t *first = sizes.begin();
  int count = static_cast<int>(sizes.size());
  auto body = [api, first, count](lua_State *state) { torch_tensor_new(api, state, 1, count, first); };
  std::string why;
  lua_pushvalue(L, -1);
  bool is_made = detail::protect(L, 1, 1, body, why);
  if (is_made) lua_remove(L, -2);
  else detail::fail(why);
  return is_made;
}

// A storage that the program holds. Its elements stay where they are as long as this lives: scripts cannot resize it. It may outlive the
// Lua state, and be moved to, used and destroyed in any thread. Pushing needs a Lua state, in its thread.
template <class T>
class storage {
 public:
  storage() = default;

  // The storage, or the elements of the contiguous tensor, at a stack index.
  static storage from(lua_State *L, int index) {
    storage held;
    if (to<T>(L, index)) {
      lua_pushvalue(L, index);
      held.retain_top(L);
    }
    return held;
  }
  // A storage of zeros. It counts for the memory of this Lua state.
  storage(lua_State *L, std::size_t size) {
    const torch_storage_api *api = detail::expect_open(L);
    if (api == nullptr) return;
    auto body = [api, size](lua_State *state) {
      torch_storage_view made;
      torch_storage_new(api, state, dtype_of<T>, size, &made);
    };
    std::string why;
    if (detail::protect(L, 0, 1, body, why)) retain_top(L);
    else detail::fail(why);
  }
  // A storage over the vector's own memory.
  storage(lua_State *L, std::vector<std::remove_const_t<T>> elements) {
    if (push(L, std::move(elements))) retain_top(L);
  }
  // A storage over memory of the program, which `owner` keeps alive.
  storage(lua_State *L, T *data, std::size_t size, std::shared_ptr<const void> owner) {
    if (torch::push(L, data, size, std::move(owner))) retain_top(L);
  }

  storage(storage &&other) noexcept { swap(other); }
  storage &operator=(storage &&other) noexcept {
    storage old(std::move(other));
    swap(old);
    return *this;
  }
  storage(const storage &) = delete;
  storage &operator=(const storage &) = delete;
  ~storage() {
    if (api_ != nullptr) torch_storage_release(api_, hold_);
  }

  // Pushes it, into any Lua state of this process.
  bool push(lua_State *L) const {
    if (api_ == nullptr) {
      detail::fail("an empty torch::storage has nothing to push");
      return false;
    }
    const torch_storage_api *api = api_;
    const torch_storage_hold *hold = hold_;
    auto body = [api, hold](lua_State *state) { torch_storage_push(api, state, hold); };
    std::string why;
    bool is_pushed = detail::protect(L, 0, 1, body, why);
    if (!is_pushed) detail::fail(why);
    return is_pushed;
  }

  view<T> elements() const { return elements_; }
  T *data() const { return elements_.data(); }
  std::size_t size() const { return elements_.size(); }
  T *begin() const { return elements_.begin(); }
  T *end() const { return elements_.end(); }
  T &operator[](std::size_t index) const { return elements_[index]; }
  explicit operator bool() const { return api_ != nullptr; }

 private:
  static bool push(lua_State *L, std::vector<std::remove_const_t<T>> elements) { return torch::push(L, std::move(elements)); }

  void swap(storage &other) noexcept {
    std::swap(api_, other.api_);
    std::swap(hold_, other.hold_);
    std::swap(elements_, other.elements_);
  }
  // Holds the storage on the top of the stack, and pops it.
  void retain_top(lua_State *L) {
    const torch_storage_api *api = detail::find(L);
    torch_storage_hold *hold = nullptr;
    auto body = [api, &hold](lua_State *state) { hold = torch_storage_retain(api, state, 1, TORCH_PIN); };
    std::string why;
    if (!detail::protect(L, 1, 0, body, why)) return detail::fail(why);
    api_ = api;
    hold_ = hold;
    torch_storage_view found;
    torch_storage_held(api, hold, &found);
    elements_ = view<T>(static_cast<T *>(found.data), found.size);
  }

  const torch_storage_api *api_ = nullptr;
  torch_storage_hold *hold_ = nullptr;
  view<T> elements_;
};

// Frames for a host that gives Lua new data again and again: `count` storages of `size` elements, which it fills in turn. A frame is
// pushed and filled without any allocation. The memory counts for the Lua state. Destroy a ring before lua_close, in the thread of its
// Lua state; `L` has to stay: on Lua 5.1 give the main state, not a coroutine.
template <class T>
class ring {
 public:
  ring(lua_State *L, std::size_t size, std::size_t count = 2) {
    frames_.reserve(count);
    for (std::size_t n = 0; n < count; n++) {
      frames_.emplace_back(L, size);
      if (frames_.back().slot == LUA_NOREF) {
        frames_.clear();
        return;
      }
    }
  }
  ring(const ring &) = delete;
  ring &operator=(const ring &) = delete;

  // The elements of the next frame, to fill.
  view<T> next() {
    if (frames_.empty()) return {};
    now_ = (now_ + 1) % frames_.size();
    return frames_[now_].held.elements();
  }
  // The elements of the frame that `next` gave last, after a script has changed it, for example.
  view<T> elements() const { return frames_.empty() ? view<T>() : frames_[now_].held.elements(); }
  // Pushes that frame. If a script has called free() on it, the script gets it as a new Lua value.
  bool push(lua_State *L) {
    bool is_there = !frames_.empty();
    lua_rawgeti(L, LUA_REGISTRYINDEX, is_there ? frames_[now_].slot : LUA_REFNIL);
    if (!is_there || try_to<T>(L, -1)) return is_there;
    lua_pop(L, 1);
    if (!frames_[now_].make(L)) return false;
    lua_rawgeti(L, LUA_REGISTRYINDEX, frames_[now_].slot);
    return true;
  }
  std::size_t count() const { return frames_.size(); }

 private:
  // A storage, and the slot of the registry in which its Lua value is.
  struct frame {
    lua_State *L;
    storage<T> held;
    int slot = LUA_NOREF;

    frame(lua_State *state, std::size_t size) : L(state), held(state, size) { make(L); }
    // Makes the Lua value, and puts it into the slot.
    bool make(lua_State *state) {
      if (!held || !held.push(state)) return false;
      auto body = [this](lua_State *inner) {
        if (slot == LUA_NOREF)
          slot = luaL_ref(inner, LUA_REGISTRYINDEX);
        else
          lua_rawseti(inner, LUA_REGISTRYINDEX, slot);
      };
      std::string why;
      bool is_made = detail::protect(state, 1, 0, body, why);
      if (!is_made) detail::fail(why);
      return is_made;
    }
    frame(frame &&other) noexcept : L(other.L), held(std::move(other.held)), slot(std::exchange(other.slot, LUA_NOREF)) {}
    ~frame() { luaL_unref(L, LUA_REGISTRYINDEX, slot); }
  };
  std::vector<frame> frames_;
  std::size_t now_ = 0;
};

namespace detail {

#if !defined(TORCH_NO_EXCEPTIONS)
// Whether the exception that is being handled is an error or a yield of a Lua that is compiled as C++.
inline bool is_thrown_by_lua() {
#if __has_include(<cxxabi.h>)
  const std::type_info *type = abi::__cxa_current_exception_type();
  return type != nullptr && std::strcmp(type->name(), "P11lua_longjmp") == 0;
#else
  return false;
#endif
}
#endif

// Calls a function. An exception leaves its text in `text` and returns false; what it has allocated is gone then.
template <int (*F)(lua_State *)>
bool call(lua_State *L, int &results, char *text, std::size_t room) {
#if defined(TORCH_NO_EXCEPTIONS)
  (void)text;
  (void)room;
  results = F(L);
  return true;
#else
  try {
    results = F(L);
    return true;
  } catch (const std::exception &e) {
    std::snprintf(text, room, "%s", e.what());
#if !defined(LUA_LJDIR)
  } catch (...) {
    // LuaJIT's own errors come as exceptions of another kind, which have to pass, as those of C++ that are no std::exception.
    if (is_thrown_by_lua()) throw;
    std::snprintf(text, room, "an exception that is not a std::exception");
#endif
  }
  return false;
#endif
}

template <int (*F)(lua_State *)>
int guarded(lua_State *L) {
  // These have no destructor, so lua_error may skip them.
  int results = 0;
  char text[512];
  if (call<F>(L, results, text, sizeof text)) return results;
  return luaL_error(L, "%s", text);
}

}  // namespace detail

// Pushes a function that Lua calls. An exception in it becomes a Lua error with the position of the caller.
template <int (*F)(lua_State *)>
bool push_function(lua_State *L) {
  auto body = [](lua_State *state) { lua_pushcfunction(state, detail::guarded<F>); };
  std::string why;
  bool is_pushed = detail::protect(L, 0, 1, body, why);
  if (!is_pushed) detail::fail(why);
  return is_pushed;
}

}  // namespace torch

#endif
