//! Lua's C API, divided by what a call may do: the safe methods cannot raise, the unsafe ones may.
//!
//! Raising leaves Rust frames without running destructors (PUC Lua's `longjmp`), or through them as a foreign exception that
//! `catch_unwind` turns into an abort (LuaJIT). So what may raise is called only with nothing droppable alive, and never
//! under `catch_unwind`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use mlua_sys as ffi;
pub use mlua_sys::lua_State;

/// LuaJIT's type of FFI values, which PUC Lua does not have.
pub const CDATA: c_int = 10;

/// A Lua state during a call of one of our C functions. Indices are those of that call; each of our functions keeps within
/// the `LUA_MINSTACK` slots that Lua gives, or asks for more.
#[derive(Clone, Copy)]
pub struct State(*mut lua_State);

/// A `&CStr` for what is wanted as a literal.
pub type Name = &'static CStr;

impl State {
    /// # Safety
    /// `state` is the live state that Lua has given to the C function which is running, and is used in that call only.
    pub const unsafe fn new(state: *mut lua_State) -> Self {
        Self(state)
    }

    pub fn top(self) -> c_int {
        // SAFETY: the state is live (see `new`).
        unsafe { ffi::lua_gettop(self.0) }
    }

    /// Drops values from the top until `top` are left (never more than there are).
    pub fn set_top(self, top: c_int) {
        // SAFETY: the state is live; shrinking cannot raise.
        unsafe { ffi::lua_settop(self.0, top.min(self.top())) }
    }

    /// `LUA_TNONE` and so on; [`CDATA`] for LuaJIT's FFI values.
    pub fn kind(self, index: c_int) -> c_int {
        // SAFETY: the state is live; every positive index is acceptable.
        unsafe { ffi::lua_type(self.0, index) }
    }

    /// Lua's name of a value's type: `"no value"`, `"number"` ...
    pub fn kind_name(self, index: c_int) -> &'static str {
        // SAFETY: the state is live, and the type is one that Lua gave.
        let name = unsafe { ffi::lua_typename(self.0, self.kind(index)) };
        // SAFETY: Lua's type names are constants of the interpreter, ended by a zero byte.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("value")
    }

    /// The value as a number: numbers, and strings that Lua's rules read as one; otherwise `None`.
    pub fn number(self, index: c_int) -> Option<f64> {
        // SAFETY: the state is live; nothing is converted in place.
        (unsafe { ffi::lua_isnumber(self.0, index) } != 0).then(|| self.raw_number(index))
    }

    /// The value of what is known to be a number.
    #[inline]
    pub fn raw_number(self, index: c_int) -> f64 {
        // SAFETY: the state is live; nothing is converted in place.
        unsafe { ffi::lua_tonumber(self.0, index) }
    }

    pub fn boolean(self, index: c_int) -> bool {
        // SAFETY: the state is live.
        unsafe { ffi::lua_toboolean(self.0, index) != 0 }
    }

    /// The bytes of a string (not of a number, which would be converted in place). They stay while the string is on the stack.
    pub fn string(self, index: c_int) -> Option<&'static [u8]> {
        if self.kind(index) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        // SAFETY: the state is live; the value is a string, so nothing is converted.
        let bytes = unsafe { ffi::lua_tolstring(self.0, index, &raw mut length) };
        // SAFETY: Lua gives `length` bytes that do not change. The lifetime is the caller's business: no longer than its call.
        Some(unsafe { std::slice::from_raw_parts(bytes.cast(), length) })
    }

    /// The block of a full userdata, if it has `bytes` bytes (not 0).
    #[inline]
    pub fn block(self, index: c_int, bytes: usize) -> Option<NonNull<c_void>> {
        // SAFETY: the state is live; of what is no userdata the answer is null.
        let block = NonNull::new(unsafe { ffi::lua_touserdata(self.0, index) })?;
        // A light userdata has the length 0.
        (self.length(index) == bytes).then_some(block)
    }

    /// The pointer of a light userdata.
    pub fn light(self, index: c_int) -> Option<*mut c_void> {
        // SAFETY: the state is live, and the value is a light userdata.
        (self.kind(index) == ffi::LUA_TLIGHTUSERDATA).then(|| unsafe { ffi::lua_touserdata(self.0, index) })
    }

    /// The block of the userdata that is upvalue `n` of the running function. The function was made with it.
    #[inline]
    pub fn upvalue(self, n: c_int) -> *const c_void {
        // SAFETY: the state is live.
        unsafe { ffi::lua_touserdata(self.0, ffi::lua_upvalueindex(n)) }
    }

    /// The length of a table (raw), string or userdata block.
    #[inline]
    pub fn length(self, index: c_int) -> usize {
        // SAFETY: the state is live; the callers give no number, which would be converted in place.
        unsafe { ffi::lua_objlen(self.0, index) }
    }

    /// An address that stands for the value: of tables, functions, threads, userdata.
    pub fn address(self, index: c_int) -> *const c_void {
        // SAFETY: the state is live.
        unsafe { ffi::lua_topointer(self.0, index) }
    }

    pub fn raw_equal(self, a: c_int, b: c_int) -> bool {
        // SAFETY: the state is live.
        unsafe { ffi::lua_rawequal(self.0, a, b) != 0 }
    }

    /// Pushes `table[n]`, raw.
    pub fn raw_get(self, table: c_int, n: c_int) {
        // SAFETY: the state is live, and the callers give a table; a raw access cannot raise.
        unsafe { ffi::lua_rawgeti_(self.0, table, n) }
    }

    /// Replaces the key on the top by the pair after it; at the end pops it and answers false. The key is nil or one that this
    /// function gave, and the table has no new ones since.
    pub fn next(self, table: c_int) -> bool {
        // SAFETY: the state is live, and the callers give a table and a key of it: then it cannot raise.
        unsafe { ffi::lua_next(self.0, table) != 0 }
    }

    /// Pops the top into the slot at `index`.
    pub fn replace(self, index: c_int) {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_replace(self.0, index) }
    }

    /// Replaces the key on the top by `table[key]`, raw.
    pub fn raw_get_top(self, table: c_int) {
        // SAFETY: the state is live, and the callers give a table; a raw access cannot raise.
        unsafe { ffi::lua_rawget_(self.0, table) }
    }

    /// Pushes the metatable of a value, whatever its `__metatable` says. Without one pushes nothing and answers false.
    pub fn push_metatable_of(self, index: c_int) -> bool {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_getmetatable(self.0, index) != 0 }
    }

    pub fn push_value(self, index: c_int) {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_pushvalue(self.0, index) }
    }

    pub fn push_nil(self) {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_pushnil(self.0) }
    }

    #[inline]
    pub fn push_number(self, number: f64) {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_pushnumber(self.0, number) }
    }

    pub fn push_boolean(self, value: bool) {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_pushboolean(self.0, c_int::from(value)) }
    }

    pub fn push_light(self, pointer: *mut c_void) {
        // SAFETY: the state is live; one of the slots of this call.
        unsafe { ffi::lua_pushlightuserdata(self.0, pointer) }
    }

    /// Whether a value has a metatable.
    pub fn has_metatable(self, index: c_int) -> bool {
        let has_one = self.push_metatable_of(index);
        if has_one {
            self.set_top(self.top() - 1);
        }
        has_one
    }

    /// Calls the function below `arguments` values.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. Runs Lua code: no storage is borrowed.
    pub unsafe fn call(self, arguments: c_int, results: c_int) {
        // SAFETY: the state is live, and the values are there.
        unsafe { ffi::lua_call(self.0, arguments, results) }
    }

    /// [`next`](Self::next) for a table that may have changed since it gave the key.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. `table` is a table.
    pub unsafe fn next_if_unchanged(self, table: c_int) -> bool {
        // SAFETY: the state is live, and the value is a table.
        unsafe { ffi::lua_next(self.0, table) != 0 }
    }

    /// Pushes `table[name]`.
    ///
    /// # Safety
    /// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed. `table` is a table.
    pub unsafe fn push_field(self, table: c_int, name: Name) {
        // SAFETY: the state is live, and the value is a table.
        unsafe { ffi::lua_getfield_(self.0, table, name.as_ptr()) }
    }

    /// Calls the function below `arguments` values. On failure the error stands there instead of the results.
    pub fn protected_call(self, arguments: c_int, results: c_int) -> bool {
        // SAFETY: the state is live; errors end in this call.
        unsafe { ffi::lua_pcall(self.0, arguments, results, 0) == ffi::LUA_OK }
    }

    /// Whether a hook is set.
    pub fn has_hook(self) -> bool {
        // SAFETY: the state is live.
        unsafe { ffi::lua_gethook(self.0) }.is_some()
    }

    /// Calls a function that does nothing, for a hook to see it. False if the hook raised: its error is then on the top.
    pub fn call_nothing(self) -> bool {
        unsafe extern "C-unwind" fn nothing(_: *mut lua_State) -> c_int {
            0
        }
        // SAFETY: the state is live; errors end in this call.
        unsafe { ffi::lua_cpcall(self.0, nothing, ptr::null_mut()) == ffi::LUA_OK }
    }

    /// A full collection. False if a finalizer raised, which ended it early; the error is dropped.
    pub fn collect(self) -> bool {
        unsafe extern "C-unwind" fn collect(state: *mut lua_State) -> c_int {
            // SAFETY: Lua calls this with a live state; an error ends in the `lua_cpcall` below.
            unsafe { ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0) };
            0
        }
        let top = self.top();
        // SAFETY: the state is live; errors end in this call.
        let status = unsafe { ffi::lua_cpcall(self.0, collect, ptr::null_mut()) };
        self.set_top(top);
        status == ffi::LUA_OK
    }

    /// Bytes of Lua's own heap, without what is less than a kilobyte.
    pub fn heap_bytes(self) -> usize {
        // SAFETY: the state is live; counting cannot raise.
        let kilobytes = unsafe { ffi::lua_gc(self.0, ffi::LUA_GCCOUNT, 0) };
        usize::try_from(kilobytes).unwrap_or(0) * 1024
    }

    /// Pushes a full userdata of `bytes` bytes.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn push_userdata(self, bytes: usize) -> *mut c_void {
        // SAFETY: the state is live; the caller has nothing to lose to an error.
        unsafe { ffi::lua_newuserdata(self.0, bytes) }
    }

    /// Gives the value at `index` the metatable on the top, and pops it.
    ///
    /// # Safety
    /// The top is a table, and the value is a table or a full userdata.
    pub unsafe fn set_metatable(self, index: c_int) {
        // SAFETY: the state is live, and the values are what the caller says.
        unsafe { ffi::lua_setmetatable(self.0, index) };
    }

    /// Pushes a string.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. May collect garbage: `bytes` is readable and stays although finalizers run.
    pub unsafe fn push_bytes(self, bytes: *const [u8]) {
        let data = if bytes.len() == 0 { c"".as_ptr() } else { bytes.cast::<c_char>() };
        // SAFETY: the state is live; the caller says that the bytes are readable and stay.
        unsafe { ffi::lua_pushlstring_(self.0, data, bytes.len()) }
    }

    /// Makes the number at `index` a string, in place.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn number_to_string(self, index: c_int) {
        // SAFETY: the state is live; the caller has nothing to lose to an error.
        unsafe { ffi::lua_tolstring(self.0, index, ptr::null_mut()) };
    }

    /// Pushes a table with room for `array` elements.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn push_table(self, array: c_int) {
        // SAFETY: as the caller says.
        unsafe { self.push_table_for(array, 0) }
    }

    /// Pushes a table with room for `array` elements and `others` other pairs.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn push_table_for(self, array: c_int, others: c_int) {
        // SAFETY: the state is live; the caller has nothing to lose to an error.
        unsafe { ffi::lua_createtable(self.0, array, others) }
    }

    /// Pops the top into `table[n]`, raw.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. `table` is a table.
    pub unsafe fn raw_set(self, table: c_int, n: c_int) {
        // SAFETY: the state is live, and the value is a table.
        unsafe { ffi::lua_rawseti_(self.0, table, n) }
    }

    /// Pops the value on the top and the key below it into `table[key]`, raw.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. `table` is a table.
    pub unsafe fn raw_set_top(self, table: c_int) {
        // SAFETY: the state is live, and the value is a table.
        unsafe { ffi::lua_rawset(self.0, table) }
    }

    /// Pops the top into `table[name]`.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. `table` is a table without metatable.
    pub unsafe fn set_field(self, table: c_int, name: Name) {
        // SAFETY: the state is live, and the value is a table.
        unsafe { ffi::lua_setfield(self.0, table, name.as_ptr()) }
    }

    /// Pushes `function` with the `upvalues` values on the top, which it takes.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn push_function(self, function: ffi::lua_CFunction, upvalues: c_int) {
        // SAFETY: the state is live, and the values are there.
        unsafe { ffi::lua_pushcclosure(self.0, function, upvalues) }
    }

    /// Pops the top into upvalue `n` of the function at `function`.
    ///
    /// # Safety
    /// It is a C function with so many upvalues.
    pub unsafe fn set_upvalue(self, function: c_int, n: c_int) {
        // SAFETY: the state is live, and the function has this upvalue.
        unsafe { ffi::lua_setupvalue(self.0, function, n) };
    }

    /// Asks for room for `more` values; false if there is none.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn check_stack(self, more: c_int) -> bool {
        // SAFETY: the state is live.
        unsafe { ffi::lua_checkstack(self.0, more) != 0 }
    }

    /// Removes the value at `index`, moving down what is above.
    pub fn remove(self, index: c_int) {
        if self.kind(index) != ffi::LUA_TNONE {
            // SAFETY: the state is live, and there is a value at that index.
            unsafe { ffi::lua_remove(self.0, index) }
        }
    }

    /// Pops the top into a new place of the registry.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn reference(self) -> c_int {
        // SAFETY: the state is live.
        unsafe { ffi::luaL_ref(self.0, ffi::LUA_REGISTRYINDEX) }
    }

    /// Puts the value at `index` in a new place of the registry.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive.
    pub unsafe fn reference_to(self, index: c_int) -> c_int {
        self.push_value(index);
        // SAFETY: as the caller says.
        unsafe { self.reference() }
    }

    /// Gives a place of the registry back. It cannot raise once a place has been given back in this state: both keys exist.
    pub fn unreference(self, place: c_int) {
        // SAFETY: the state is live.
        unsafe { ffi::luaL_unref(self.0, ffi::LUA_REGISTRYINDEX, place) }
    }

    /// Pushes what is at a place of the registry.
    pub fn push_referenced(self, place: c_int) {
        self.raw_get(ffi::LUA_REGISTRYINDEX, place);
    }

    /// Raises `bad argument #n to 'function' (message)`, counted as the host counts a method call.
    ///
    /// # Safety
    /// Raises: nothing droppable is alive.
    pub unsafe fn raise_argument(self, n: c_int, message: *const c_char) -> ! {
        // SAFETY: the state is live; the message ends with a zero byte, and is copied.
        unsafe { ffi::luaL_argerror(self.0, n, message) };
        unreachable!("luaL_argerror returned")
    }

    /// Raises the value on the top as it is.
    ///
    /// # Safety
    /// Raises: nothing droppable is alive.
    pub unsafe fn raise_top(self) -> ! {
        // SAFETY: the state is live, and the value is there.
        unsafe { ffi::lua_error(self.0) }
    }

    /// Raises `position: message`.
    ///
    /// # Safety
    /// Raises: nothing droppable is alive.
    pub unsafe fn raise(self, message: *const c_char) -> ! {
        // SAFETY: the state is live; the message ends with a zero byte, is copied, and is no format.
        unsafe { ffi::luaL_error(self.0, c"%s".as_ptr(), message) };
        unreachable!("luaL_error returned")
    }
}
