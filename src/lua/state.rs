//! Lua's C API. The methods of [`State`] never raise a Lua error; those of [`Raising`] may.
//!
//! A Lua error leaves Rust frames without running their destructors (`longjmp` in PUC Lua), or unwinds them as a foreign
//! exception, which `catch_unwind` turns into an abort (LuaJIT). Therefore a function that may raise is a method of the token
//! [`Raising`]. Each C entry creates this token once, and promises to keep the rule `[no-drop]` of `docs/architecture.md`.

#[cfg(any(feature = "lua51", feature = "luajit", feature = "lua52"))]
mod floats;
mod frame;
mod huge_pages;
#[cfg(not(any(feature = "lua51", feature = "luajit", feature = "lua52")))]
mod integers;
mod raising;
mod versions;
mod watch;

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

#[cfg(any(feature = "lua51", feature = "luajit", feature = "lua52"))]
pub use floats::{HAS_INTEGERS, Real, ZERO, real_at};
pub use frame::Frame;
use frame::Link;
pub use huge_pages::LARGE_STRING;
#[cfg(not(any(feature = "lua51", feature = "luajit", feature = "lua52")))]
pub use integers::{HAS_INTEGERS, Real, ZERO, real_at};
use mlua_sys as ffi;
pub use mlua_sys::lua_State;
pub use raising::Raising;
pub use watch::{Age, Quiet};

use crate::budget::{AccountId, exchange};

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

/// The Lua state that called the running C function. Stack indices are those of this call, and `'call` ends with it: the state
/// borrows the [`Frame`] of the call.
///
/// No method raises. Whoever made the frame promised the rule `[state]` for the code that gets the state: it keeps within its stack
/// slots, pops only what it pushed, and uses a [`Table`] only while the table is in its slot. Builds with debug assertions check
/// that. A method is `unsafe` if it needs more than that.
#[derive(Clone, Copy)]
pub struct State<'call> {
    raw: *mut lua_State,
    link: Link<'call>,
}

/// The absolute stack index of a table, in one call. Only methods that push or check a table make one.
#[derive(Clone, Copy)]
pub struct Table<'call>(c_int, PhantomData<&'call Frame>);

/// Whether Lua calls the metamethod `__close`.
pub const HAS_CLOSE: bool = cfg!(any(feature = "lua54", feature = "lua55"));

pub const REGISTRY: Table<'static> = Table(ffi::LUA_REGISTRYINDEX, PhantomData);

impl Table<'_> {
    /// The stack index, for the methods that take any value.
    pub const fn index(self) -> c_int {
        self.0
    }
}

impl<'call> State<'call> {
    #[inline]
    const fn of(frame: &'call Frame) -> Self {
        Self { raw: frame.state(), link: frame.link() }
    }

    /// The Lua state, for an operation that pushes up to `count` values. Builds with debug assertions check that there are as many
    /// free stack slots.
    #[inline(always)]
    fn room(self, count: c_int) -> *mut lua_State {
        #[cfg(debug_assertions)]
        self.link.assert_room(self.top(), count);
        let _ = count;
        self.raw
    }

    /// The Lua state, for an operation that takes `count` values from the top. Builds with debug assertions check that there are as
    /// many.
    #[inline(always)]
    fn taking(self, count: c_int) -> *mut lua_State {
        debug_assert!(self.top() >= count, "{count} values are taken from a stack of {}: see the rule [state]", self.top());
        self.raw
    }

    /// The stack index of a table. Builds with debug assertions check that the table is there.
    #[inline(always)]
    fn at(self, table: Table<'_>) -> c_int {
        debug_assert!(self.kind(table.0) == ffi::LUA_TTABLE, "slot {} has no table any more: see the rule [state]", table.0);
        table.0
    }

    pub fn top(self) -> c_int {
        // SAFETY: [state] the state is live, and asking changes nothing.
        unsafe { ffi::lua_gettop(self.raw) }
    }

    /// The stack index of a value, counted from the bottom. Indices of upvalues stay as they are.
    pub fn absolute(self, index: c_int) -> c_int {
        let top = self.top();
        if (-top..0).contains(&index) { top + 1 + index } else { index }
    }

    /// Drops values from the top until `top` are left. Does nothing if there are not more.
    pub fn set_top(self, top: c_int) {
        debug_assert!(top >= 0, "a stack has no {top} values: see the rule [state]");
        if top < self.top() {
            // SAFETY: [state] shrinking the stack cannot raise.
            unsafe { ffi::lua_settop(self.raw, top) }
        }
    }

    /// The type of a value: one of Lua's constants like `LUA_TNUMBER`, or [`CDATA`].
    pub fn kind(self, index: c_int) -> c_int {
        // SAFETY: [state] for a positive index beyond the top, Lua returns `LUA_TNONE`.
        unsafe { ffi::lua_type(self.raw, index) }
    }

    /// Lua's name of a value's type: `"no value"`, `"number"` and so on.
    pub fn kind_name(self, index: c_int) -> &'static str {
        // SAFETY: [state] Lua gave this type.
        let name = unsafe { ffi::lua_typename(self.raw, self.kind(index)) };
        // SAFETY: [state] Lua's type names are constants of the interpreter that end with a zero byte.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("value")
    }

    /// The table at a stack index, or `None` if another value is there.
    pub fn table(self, index: c_int) -> Option<Table<'call>> {
        let index = if index < 0 && index > ffi::LUA_REGISTRYINDEX { self.top() + 1 + index } else { index };
        (self.kind(index) == ffi::LUA_TTABLE).then_some(Table(index, PhantomData))
    }

    /// The value as a number, if it is a number or a string that Lua can convert to one.
    pub fn number(self, index: c_int) -> Option<f64> {
        let number = self.raw_number(index);
        // Only 0 may mean that the value is not a number.
        // SAFETY: [state] asking does not change the value.
        (number != 0.0 || unsafe { ffi::lua_isnumber(self.raw, index) } != 0).then_some(number)
    }

    /// The value as a number, when the caller has checked its type. Like [`number`](Self::number) it converts a string. A value
    /// that is not a number gives 0.
    #[inline]
    pub fn raw_number(self, index: c_int) -> f64 {
        // SAFETY: [state] Lua converts a string without changing it.
        unsafe { ffi::lua_tonumber(self.raw, index) }
    }

    pub fn boolean(self, index: c_int) -> bool {
        // SAFETY: [state] the index is that of a value, or beyond the top, where Lua returns false.
        unsafe { ffi::lua_toboolean(self.raw, index) != 0 }
    }

    /// The bytes of a string. A number gives `None`, because Lua would convert it in its slot.
    ///
    /// # Safety
    /// `[live]`: the bytes are used only while the string is on the stack, or as long as the collector does not run.
    pub unsafe fn string(self, index: c_int) -> Option<&'call [u8]> {
        if self.kind(index) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        // SAFETY: [state] the value is a string, so nothing is converted.
        let bytes = unsafe { ffi::lua_tolstring(self.raw, index, &raw mut length) };
        // SAFETY: [state] Lua gives `length` bytes, which never change. [live] the caller uses them only while the string is there.
        Some(unsafe { std::slice::from_raw_parts(bytes.cast(), length) })
    }

    /// The block of a full userdata, if the block has `bytes` bytes. `bytes` is not 0. What is behind the pointer stays while the
    /// userdata is on the stack.
    #[inline]
    pub fn block(self, index: c_int, bytes: usize) -> Option<NonNull<c_void>> {
        // SAFETY: [state] the result is null if the value is not a userdata.
        let block = NonNull::new(unsafe { ffi::lua_touserdata(self.raw, index) })?;
        // A light userdata has the length 0.
        // SAFETY: [state] the value is a userdata, so Lua converts nothing.
        (unsafe { ffi::lua_rawlen(self.raw, index) } == bytes).then_some(block)
    }

    /// The pointer of a light userdata.
    pub fn light(self, index: c_int) -> Option<*mut c_void> {
        // SAFETY: [state] the value is a light userdata.
        (self.kind(index) == ffi::LUA_TLIGHTUSERDATA).then(|| unsafe { ffi::lua_touserdata(self.raw, index) })
    }

    /// Builds with debug assertions check here that the running function is ours, so that its upvalues are.
    #[inline(always)]
    pub fn assert_own_upvalues(self) {
        #[cfg(debug_assertions)]
        self.link.assert_ours();
    }

    /// The address of a C function.
    pub fn c_function(self, index: c_int) -> Option<*const c_void> {
        // SAFETY: [state] the result is null if the value is not a C function.
        unsafe { ffi::lua_tocfunction(self.raw, index) }.map(|function| function as *const c_void)
    }

    /// The block of the userdata that is upvalue `n` of the running function, or null.
    #[inline]
    pub fn upvalue(self, n: c_int) -> *const c_void {
        // SAFETY: [state] for an upvalue that the function does not have, Lua returns null.
        unsafe { ffi::lua_touserdata(self.raw, ffi::lua_upvalueindex(n)) }
    }

    /// The raw length of a table, the length of a string, or the size of a userdata's block; 0 for any other value. A number has none
    /// here, because Lua would make it a string in its slot, which may raise.
    pub fn length(self, index: c_int) -> usize {
        if self.kind(index) == ffi::LUA_TNUMBER {
            return 0;
        }
        // SAFETY: [state] the value is not a number, so Lua converts nothing.
        unsafe { ffi::lua_rawlen(self.raw, index) }
    }

    /// An address that identifies a table, function, thread or userdata.
    pub fn address(self, index: c_int) -> *const c_void {
        // SAFETY: [state] for any other value Lua returns null.
        unsafe { ffi::lua_topointer(self.raw, index) }
    }

    pub fn raw_equal(self, a: c_int, b: c_int) -> bool {
        // SAFETY: [state] comparing without metamethods cannot raise.
        unsafe { ffi::lua_rawequal(self.raw, a, b) != 0 }
    }

    /// Pushes `table[n]`, without metamethods.
    pub fn raw_get(self, table: Table<'_>, n: c_int) {
        // SAFETY: [state] the value is a table, so a raw access cannot raise, and there is a free slot: `room`.
        unsafe { versions::raw_get_index(self.room(1), self.at(table), n) }
    }

    /// Replaces the key on the top by `table[key]`, without metamethods.
    pub fn raw_get_top(self, table: Table<'_>) {
        // SAFETY: [state] the value is a table, so a raw access cannot raise, and a key is on the top.
        unsafe { versions::raw_get(self.taking(1), self.at(table)) };
    }

    /// Replaces the key on the top by the pair that follows it. At the end it pops the key and returns false.
    ///
    /// # Safety
    /// `[no-drop]`: the key on the top is nil or one of the table's keys. Otherwise Lua raises an error, which this type promises not
    /// to do. The key that the last call of this method gave stays one while nobody adds a key to the table.
    pub unsafe fn next(self, table: Table<'_>) -> bool {
        // SAFETY: [state] the value is a table. [no-drop] the caller vouches that the key is nil or one of the table's keys.
        unsafe { ffi::lua_next(self.room(1), self.at(table)) != 0 }
    }

    /// Pops the top into the slot at `index`. Builds with debug assertions check that the call has this slot.
    pub fn replace(self, index: c_int) {
        debug_assert!((1..=self.top()).contains(&index), "the call has no slot {index}: see the rule [state]");
        // SAFETY: [state] the slot belongs to this call, and there is a value on the top.
        unsafe { ffi::lua_replace(self.taking(1), index) }
    }

    /// Removes the value at `index`. The values above it move down. Builds with debug assertions check that the call has this slot.
    pub fn remove(self, index: c_int) {
        debug_assert!(
            index != 0 && (-self.top()..=self.top()).contains(&index),
            "the call has no slot {index}: see the rule [state]"
        );
        // SAFETY: [state] the slot belongs to this call.
        unsafe { ffi::lua_remove(self.raw, index) }
    }

    /// Pushes the metatable of a value, whatever its `__metatable` says. Pushes nothing if it has none.
    pub fn push_metatable_of(self, index: c_int) -> Option<Table<'call>> {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        let has_one = unsafe { ffi::lua_getmetatable(self.room(1), index) } != 0;
        has_one.then(|| Table(self.top(), PhantomData))
    }

    pub fn has_metatable(self, index: c_int) -> bool {
        let has_one = self.push_metatable_of(index).is_some();
        if has_one {
            self.set_top(self.top() - 1);
        }
        has_one
    }

    /// Pops the top. If it is a table, it becomes the metatable of the full userdata or table at `index`.
    pub fn set_metatable_from_top(self, index: c_int) {
        if self.kind(-1) == ffi::LUA_TTABLE {
            // SAFETY: [state] the top is a table.
            unsafe { ffi::lua_setmetatable(self.raw, index) };
        } else {
            self.set_top(self.top() - 1);
        }
    }

    pub fn push_value(self, index: c_int) {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        unsafe { ffi::lua_pushvalue(self.room(1), index) }
    }

    pub fn push_nil(self) {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        unsafe { ffi::lua_pushnil(self.room(1)) }
    }

    #[inline]
    pub fn push_number(self, number: f64) {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        unsafe { ffi::lua_pushnumber(self.room(1), number) }
    }

    pub fn push_boolean(self, value: bool) {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        unsafe { ffi::lua_pushboolean(self.room(1), c_int::from(value)) }
    }

    pub fn push_light(self, pointer: *mut c_void) {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        unsafe { ffi::lua_pushlightuserdata(self.room(1), pointer) }
    }

    /// Pops the top into upvalue `n` of the C function at `function`. Does nothing if the function has no such upvalue.
    pub fn set_upvalue(self, function: c_int, n: c_int) {
        // SAFETY: [state] Lua checks the function and the number, and there is a value on the top.
        unsafe { ffi::lua_setupvalue(self.taking(1), function, n) };
    }

    /// Frees a slot of the registry. Lua sets two keys of the registry for that: the slot, and the head of its list of free slots.
    /// Setting a key that is new needs memory and may raise. Neither key is new here: the slot is in use, and
    /// `class::push_module` has freed a slot before in this Lua state.
    ///
    /// # Safety
    /// `[owned]`: the slot came from [`Raising::reference`] in this Lua state, and nobody frees or uses it afterwards.
    pub unsafe fn unreference(self, slot: c_int) {
        // SAFETY: [owned] the caller gives the slot back once. [state] so both keys exist, and Lua does not raise.
        unsafe { ffi::luaL_unref(self.raw, ffi::LUA_REGISTRYINDEX, slot) }
    }

    /// Pushes the value in a slot of the registry.
    pub fn push_referenced(self, slot: c_int) {
        self.raw_get(REGISTRY, slot);
    }

    /// Calls the function that is on the stack below its `arguments` arguments. If it raises, this returns false, and the error is on
    /// the top. As Lua code runs, the caller looks its storages up again: `[live]`.
    pub fn protected_call(self, arguments: c_int, results: c_int) -> bool {
        let outer = Quiet::pause();
        Age::pass();
        // What others allocate meanwhile is not charged to this call.
        let account = exchange(AccountId::NONE);
        // SAFETY: [state] the function and its arguments are on the top, there is room for the results, and errors end in this call.
        let status = unsafe { ffi::lua_pcall(self.taking(arguments + 1), arguments, results, 0) };
        exchange(account);
        outer.restore();
        status == ffi::LUA_OK
    }

    pub fn has_hook(self) -> bool {
        // SAFETY: [state] the state is live, and asking changes nothing.
        unsafe { ffi::lua_gethook(self.raw) }.is_some()
    }

    /// Runs the hook: calls a function, which is an event for most hooks. If the hook raises, this returns false, and its error is on the
    /// top.
    pub fn call_hook(self) -> bool {
        let outer = Quiet::pause();
        Age::pass();
        // What a hook of the program allocates is not charged to this call.
        let account = exchange(AccountId::NONE);
        // SAFETY: [state] errors end in this call, and there is a free slot: `room`.
        let status = unsafe { versions::protected_call(self.room(1), versions::run_counting_hook) };
        exchange(account);
        outer.restore();
        status == ffi::LUA_OK
    }

    /// Runs a full garbage collection. Returns false if a finalizer raised. That ends the collection early, and the error is
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
        // SAFETY: [state] the state is live, and there is a free slot: `room`.
        if unsafe { versions::must_not_collect(self.room(1)) } {
            return true;
        }
        let top = self.top();
        let outer = Quiet::pause();
        Age::pass();
        // SAFETY: [state] errors end in this call, and there is a free slot: `room`.
        let status = unsafe { versions::protected_call(self.room(1), collect) };
        outer.restore();
        self.set_top(top);
        status == ffi::LUA_OK
    }

    /// The size of Lua's own heap in bytes, rounded down to whole kilobytes.
    pub fn heap_bytes(self) -> usize {
        // SAFETY: [state] counting cannot raise.
        let kilobytes = unsafe { ffi::lua_gc(self.raw, ffi::LUA_GCCOUNT, 0) };
        usize::try_from(kilobytes).unwrap_or(0) * 1024
    }
}
