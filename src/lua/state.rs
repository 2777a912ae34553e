//! Lua's C API. The methods of [`State`] never raise a Lua error; those of [`Raising`] may.
//!
//! A Lua error leaves Rust frames without running their destructors (`longjmp` in PUC Lua), or unwinds them as a foreign
//! exception, which `catch_unwind` turns into an abort (LuaJIT). Therefore a function that may raise is a method of the token
//! [`Raising`]. Each C entry creates this token once, and promises to keep the rule `[no-drop]` of `docs/architecture.md`.

#[cfg(not(any(feature = "lua53", feature = "lua54", feature = "lua55")))]
mod floats;
mod huge_pages;
#[cfg(any(feature = "lua53", feature = "lua54", feature = "lua55"))]
mod integers;
mod raising;
mod versions;

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

#[cfg(not(any(feature = "lua53", feature = "lua54", feature = "lua55")))]
pub use floats::{HAS_INTEGERS, Real, ZERO, real_at};
pub use huge_pages::LARGE_STRING;
#[cfg(any(feature = "lua53", feature = "lua54", feature = "lua55"))]
pub use integers::{HAS_INTEGERS, Real, ZERO, real_at};
use mlua_sys as ffi;
pub use mlua_sys::lua_State;
pub use raising::Raising;

/// LuaJIT's type of FFI values, which PUC Lua does not have.
pub const CDATA: c_int = 10;

/// What the key of an element is, without the cases that take time.
#[derive(Clone, Copy)]
pub enum Key {
    /// An index, counted from 0, that is within the limit.
    Index(usize),
    /// A string.
    Name,
    /// Anything else, also an index that is out of range.
    Other,
}

/// A name that ends with a zero byte, as Lua's C API needs it.
pub type Name = &'static CStr;

/// The Lua state that called the running C function. Stack indices are those of this call.
///
/// No method raises. Each C function keeps within the `LUA_MINSTACK` stack slots that Lua gives it, or asks for more with
/// [`Raising::check_stack`].
#[derive(Clone, Copy)]
pub struct State(*mut lua_State);

/// The former value of a flag. The flag is set while a body runs, which must not raise. Only builds with debug assertions set and
/// check it.
#[derive(Clone, Copy)]
pub struct Quiet(bool);

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

impl Quiet {
    /// From now on no method that may raise may be called, because `catch_unwind` is open. Answers the former value of the flag,
    /// for [`restore`](Self::restore).
    pub fn begin() -> Self {
        Self::set(true)
    }

    /// From now on methods that may raise may be called again, because Lua code runs in a protected call.
    #[inline]
    fn pause() -> Self {
        Self::set(false)
    }

    fn set(is_quiet: bool) -> Self {
        Self(cfg!(debug_assertions) && IS_QUIET.replace(is_quiet))
    }

    /// Sets the flag to its former value.
    pub fn restore(self) {
        if cfg!(debug_assertions) {
            IS_QUIET.set(self.0);
        }
    }

    fn assert_may_raise() {
        debug_assert!(
            !IS_QUIET.get(),
            "a method that may raise was called although catch_unwind is open: see the rule [no-drop]"
        );
    }
}

/// The absolute stack index of a table. Only methods that push or check a table make one.
#[derive(Clone, Copy)]
pub struct Table(c_int);

/// Whether Lua calls the metamethod `__close`.
pub const HAS_CLOSE: bool = cfg!(any(feature = "lua54", feature = "lua55"));

/// The registry.
pub const REGISTRY: Table = Table(ffi::LUA_REGISTRYINDEX);

impl Table {
    /// The stack index, for the methods that take any value.
    pub const fn index(self) -> c_int {
        self.0
    }
}

impl State {
    pub fn top(self) -> c_int {
        // SAFETY: [state]
        unsafe { ffi::lua_gettop(self.0) }
    }

    /// Drops values from the top until `top` are left. Does nothing if there are not more.
    pub fn set_top(self, top: c_int) {
        if top < self.top() {
            // SAFETY: [state] shrinking the stack cannot raise.
            unsafe { ffi::lua_settop(self.0, top) }
        }
    }

    /// The type of a value: one of Lua's constants like `LUA_TNUMBER`, or [`CDATA`].
    pub fn kind(self, index: c_int) -> c_int {
        // SAFETY: [state] for a positive index beyond the top, Lua answers `LUA_TNONE`.
        unsafe { ffi::lua_type(self.0, index) }
    }

    /// Lua's name of a value's type: `"no value"`, `"number"` and so on.
    pub fn kind_name(self, index: c_int) -> &'static str {
        // SAFETY: [state] Lua gave this type.
        let name = unsafe { ffi::lua_typename(self.0, self.kind(index)) };
        // SAFETY: [state] Lua's type names are constants of the interpreter that end with a zero byte.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("value")
    }

    /// The table at a stack index, or `None` if another value is there.
    pub fn table(self, index: c_int) -> Option<Table> {
        let index = if index < 0 && index > ffi::LUA_REGISTRYINDEX { self.top() + 1 + index } else { index };
        (self.kind(index) == ffi::LUA_TTABLE).then_some(Table(index))
    }

    /// The value as a number, if it is a number or a string that Lua can convert to one.
    pub fn number(self, index: c_int) -> Option<f64> {
        let number = self.raw_number(index);
        // Only 0 may mean that the value is not a number.
        // SAFETY: [state] asking does not change the value.
        (number != 0.0 || unsafe { ffi::lua_isnumber(self.0, index) } != 0).then_some(number)
    }

    /// The value as a number, when the caller has checked its type. Like [`number`](Self::number) it converts a string. A value
    /// that is not a number gives 0.
    #[inline]
    pub fn raw_number(self, index: c_int) -> f64 {
        // SAFETY: [state] Lua converts a string without changing it.
        unsafe { ffi::lua_tonumber(self.0, index) }
    }

    pub fn boolean(self, index: c_int) -> bool {
        // SAFETY: [state]
        unsafe { ffi::lua_toboolean(self.0, index) != 0 }
    }

    /// The bytes of a string. A number gives `None`, because Lua would convert it in its slot. The caller uses the bytes only
    /// while the string is on the stack, although the lifetime is longer.
    pub fn string(self, index: c_int) -> Option<&'static [u8]> {
        if self.kind(index) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        // SAFETY: [state] the value is a string, so nothing is converted.
        let bytes = unsafe { ffi::lua_tolstring(self.0, index, &raw mut length) };
        // SAFETY: [state] Lua gives `length` bytes, which do not change while the string is on the stack.
        Some(unsafe { std::slice::from_raw_parts(bytes.cast(), length) })
    }

    /// The block of a full userdata, if the block has `bytes` bytes. `bytes` is not 0.
    #[inline]
    pub fn block(self, index: c_int, bytes: usize) -> Option<NonNull<c_void>> {
        // SAFETY: [state] the answer is null if the value is not a userdata.
        let block = NonNull::new(unsafe { ffi::lua_touserdata(self.0, index) })?;
        // A light userdata has the length 0.
        (self.length(index) == bytes).then_some(block)
    }

    /// The pointer of a light userdata.
    pub fn light(self, index: c_int) -> Option<*mut c_void> {
        // SAFETY: [state] the value is a light userdata.
        (self.kind(index) == ffi::LUA_TLIGHTUSERDATA).then(|| unsafe { ffi::lua_touserdata(self.0, index) })
    }

    /// The address of a C function.
    pub fn c_function(self, index: c_int) -> Option<*const c_void> {
        // SAFETY: [state] the answer is null if the value is not a C function.
        unsafe { ffi::lua_tocfunction(self.0, index) }.map(|function| function as *const c_void)
    }

    /// The block of the userdata that is upvalue `n` of the running function, or null.
    #[inline]
    pub fn upvalue(self, n: c_int) -> *const c_void {
        // SAFETY: [state]
        unsafe { ffi::lua_touserdata(self.0, ffi::lua_upvalueindex(n)) }
    }

    /// The raw length of a table, the length of a string, or the size of a userdata's block. Callers do not pass numbers, because
    /// Lua would convert them in their slots.
    #[inline]
    pub fn length(self, index: c_int) -> usize {
        // SAFETY: [state]
        unsafe { ffi::lua_rawlen(self.0, index) }
    }

    /// An address that identifies a table, function, thread or userdata.
    pub fn address(self, index: c_int) -> *const c_void {
        // SAFETY: [state]
        unsafe { ffi::lua_topointer(self.0, index) }
    }

    pub fn raw_equal(self, a: c_int, b: c_int) -> bool {
        // SAFETY: [state]
        unsafe { ffi::lua_rawequal(self.0, a, b) != 0 }
    }

    /// Pushes `table[n]`, without metamethods.
    pub fn raw_get(self, table: Table, n: c_int) {
        // SAFETY: [state] the value is a table, so a raw access cannot raise.
        unsafe { versions::raw_get_index(self.0, table.0, n) }
    }

    /// Replaces the key on the top by `table[key]`, without metamethods.
    pub fn raw_get_top(self, table: Table) {
        // SAFETY: [state] the value is a table, so a raw access cannot raise.
        unsafe { versions::raw_get(self.0, table.0) };
    }

    /// Replaces the key on the top by the pair that follows it. At the end it pops the key and answers false. The key is nil or
    /// comes from this method, and the caller adds no key to the table meanwhile: Lua would raise if the table did not have the
    /// key.
    pub fn next(self, table: Table) -> bool {
        // SAFETY: [state] the value is a table. The caller vouches that the key on the top is nil or one of the table's keys.
        unsafe { ffi::lua_next(self.0, table.0) != 0 }
    }

    /// Pops the top into the slot at `index`. Callers do not replace a slot that they hold as a [`Table`] by another value.
    pub fn replace(self, index: c_int) {
        // SAFETY: [state] the slot belongs to this call.
        unsafe { ffi::lua_replace(self.0, index) }
    }

    /// Removes the value at `index`, where there is one. The values above it move down.
    pub fn remove(self, index: c_int) {
        // SAFETY: [state] the index is that of a value on the stack of this call.
        unsafe { ffi::lua_remove(self.0, index) }
    }

    /// Pushes the metatable of a value, whatever its `__metatable` says. Pushes nothing if it has none.
    pub fn push_metatable_of(self, index: c_int) -> Option<Table> {
        // SAFETY: [state] this call has a free stack slot.
        let has_one = unsafe { ffi::lua_getmetatable(self.0, index) } != 0;
        has_one.then(|| Table(self.top()))
    }

    /// Whether a value has a metatable.
    pub fn has_metatable(self, index: c_int) -> bool {
        let has_one = self.push_metatable_of(index).is_some();
        if has_one {
            self.set_top(self.top() - 1);
        }
        has_one
    }

    /// Sets the metatable of the full userdata or table at `index`. Pops `metatable`, which has to be on the top.
    pub fn set_metatable(self, index: c_int, metatable: Table) {
        debug_assert!(metatable.0 == self.top());
        // SAFETY: [state] the top is a table.
        unsafe { ffi::lua_setmetatable(self.0, index) };
    }

    /// Pops the top. If it is a table, it becomes the metatable of the full userdata at `index`.
    pub fn set_metatable_from_top(self, index: c_int) {
        if self.kind(-1) == ffi::LUA_TTABLE {
            // SAFETY: [state] the top is a table.
            unsafe { ffi::lua_setmetatable(self.0, index) };
        } else {
            self.set_top(self.top() - 1);
        }
    }

    pub fn push_value(self, index: c_int) {
        // SAFETY: [state] this call has a free stack slot.
        unsafe { ffi::lua_pushvalue(self.0, index) }
    }

    pub fn push_nil(self) {
        // SAFETY: [state] this call has a free stack slot.
        unsafe { ffi::lua_pushnil(self.0) }
    }

    #[inline]
    pub fn push_number(self, number: f64) {
        // SAFETY: [state] this call has a free stack slot.
        unsafe { ffi::lua_pushnumber(self.0, number) }
    }

    pub fn push_boolean(self, value: bool) {
        // SAFETY: [state] this call has a free stack slot.
        unsafe { ffi::lua_pushboolean(self.0, c_int::from(value)) }
    }

    pub fn push_light(self, pointer: *mut c_void) {
        // SAFETY: [state] this call has a free stack slot.
        unsafe { ffi::lua_pushlightuserdata(self.0, pointer) }
    }

    /// Pops the top into upvalue `n` of the C function at `function`. Does nothing if the function has no such upvalue.
    pub fn set_upvalue(self, function: c_int, n: c_int) {
        // SAFETY: [state] Lua checks the function and the number.
        unsafe { ffi::lua_setupvalue(self.0, function, n) };
    }

    /// Frees a slot of the registry. Lua sets two keys of the registry for that: the slot, and the head of its list of free slots.
    /// Setting a key that is new needs memory and may raise. Neither key is new here: the slot is in use, and
    /// `class::push_module` has freed a slot before in this Lua state.
    pub fn unreference(self, slot: c_int) {
        // SAFETY: [state]
        unsafe { ffi::luaL_unref(self.0, ffi::LUA_REGISTRYINDEX, slot) }
    }

    /// Pushes the value in a slot of the registry.
    pub fn push_referenced(self, slot: c_int) {
        self.raw_get(REGISTRY, slot);
    }

    /// Calls the function that is on the stack below its `arguments` arguments. If it raises, the answer is false and the error is
    /// on the top.
    pub fn protected_call(self, arguments: c_int, results: c_int) -> bool {
        let outer = Quiet::pause();
        // SAFETY: [state] the function and its arguments are on the top, and errors end in this call.
        let status = unsafe { ffi::lua_pcall(self.0, arguments, results, 0) };
        outer.restore();
        status == ffi::LUA_OK
    }

    /// Whether a hook is set.
    pub fn has_hook(self) -> bool {
        // SAFETY: [state]
        unsafe { ffi::lua_gethook(self.0) }.is_some()
    }

    /// Calls a function that does nothing, so that a hook runs. If the hook raises, the answer is false and its error is on the
    /// top.
    pub fn call_nothing(self) -> bool {
        unsafe extern "C-unwind" fn nothing(_: *mut lua_State) -> c_int {
            0
        }
        let outer = Quiet::pause();
        // SAFETY: [state] errors end in this call.
        let status = unsafe { versions::protected_call(self.0, nothing) };
        outer.restore();
        status == ffi::LUA_OK
    }

    /// Runs a full garbage collection. Answers false if a finalizer raised. That ends the collection early, and the error is
    /// dropped.
    ///
    /// On Lua 5.3 nothing is collected in a finalizer that runs while the Lua state is closed. The collection may not end there:
    /// `collectgarbage` has this fault, too. Lua 5.4 and later collect nothing in any finalizer.
    pub fn collect(self) -> bool {
        unsafe extern "C-unwind" fn collect(state: *mut lua_State) -> c_int {
            // SAFETY: [state] an error ends in the protected call below.
            unsafe { ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0) };
            0
        }
        // SAFETY: [state]
        if unsafe { versions::must_not_collect(self.0) } {
            return true;
        }
        let top = self.top();
        let outer = Quiet::pause();
        // SAFETY: [state] errors end in this call.
        let status = unsafe { versions::protected_call(self.0, collect) };
        outer.restore();
        self.set_top(top);
        status == ffi::LUA_OK
    }

    /// The size of Lua's own heap in bytes, rounded down to whole kilobytes.
    pub fn heap_bytes(self) -> usize {
        // SAFETY: [state] counting cannot raise.
        let kilobytes = unsafe { ffi::lua_gc(self.0, ffi::LUA_GCCOUNT, 0) };
        usize::try_from(kilobytes).unwrap_or(0) * 1024
    }
}
