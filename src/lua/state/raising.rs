//! The functions of Lua's C API that may raise a Lua error, as methods of the token [`Raising`].

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Deref;
use std::ptr;

use mlua_sys as ffi;

use super::{Name, Quiet, State, Table, lua_State, versions};

/// The permission to raise a Lua error, created once in each C entry.
///
/// Code that uses it keeps the rule `[no-drop]`: no value with a destructor is alive in the frames of this C function, and no
/// `catch_unwind` is open. Some methods may run Lua code (finalizers, hooks, callbacks), which may change every storage. So the
/// caller looks its storages up again afterwards.
#[derive(Clone, Copy)]
pub struct Raising(State);

impl Deref for Raising {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        &self.0
    }
}

impl Raising {
    /// The token of a C function that Lua has just called.
    ///
    /// # Safety
    /// `[state]`: `state` is the live Lua state that Lua gave to the C function that is running, and the token is used only during
    /// that call. `[no-drop]`: whenever a method of the token runs, no value with a destructor is alive in the frames of that C
    /// function, and no `catch_unwind` of it is open.
    #[inline]
    pub unsafe fn new(state: *mut lua_State) -> Self {
        // A body may run a value's destructor of the host program, which may call Lua, and Lua this function. Its errors end in Lua.
        Quiet::pause();
        Self(State(state))
    }

    /// Raises if the library was built for another Lua than the one that is running.
    pub fn check_version(self) {
        // SAFETY: [state] [no-drop]
        unsafe { versions::check(self.raw()) }
    }

    /// The same Lua state without the permission to raise.
    #[inline]
    pub const fn state(self) -> State {
        self.0
    }

    #[inline]
    fn raw(self) -> *mut lua_State {
        Quiet::assert_may_raise();
        self.0.0
    }

    /// Calls the function that is on the stack below its `arguments` arguments.
    pub fn call(self, arguments: c_int, results: c_int) {
        // SAFETY: [state] [no-drop] the function and its arguments are on the top.
        unsafe { ffi::lua_call(self.raw(), arguments, results) }
    }

    /// Does the same as [`State::next`] for a table that may have changed since it gave the key. Raises if the table does not have
    /// the key any more.
    pub fn next_if_unchanged(self, table: Table) -> bool {
        // SAFETY: [state] [no-drop] the value is a table.
        unsafe { ffi::lua_next(self.raw(), table.0) != 0 }
    }

    /// Pushes `table[name]`, with metamethods.
    pub fn push_field(self, table: Table, name: Name) {
        // SAFETY: [state] [no-drop] the value is a table.
        unsafe { versions::get_field(self.raw(), table.0, name.as_ptr()) };
    }

    /// Pushes a full userdata of `bytes` bytes, aligned for any type of at most 8 bytes, and answers its block.
    pub fn push_userdata(self, bytes: usize) -> *mut c_void {
        // SAFETY: [state] [no-drop]
        unsafe { versions::new_userdata(self.raw(), bytes) }
    }

    /// Pushes a constant as a string.
    pub fn push_text(self, text: &'static str) {
        // SAFETY: [live] the text is a constant.
        unsafe { self.push_bytes(text.as_bytes()) }
    }

    /// Pushes a string of bytes. Making it may run finalizers.
    ///
    /// # Safety
    /// `[live]`: the bytes stay readable and unchanged, even if finalizers run.
    pub unsafe fn push_bytes(self, bytes: *const [u8]) {
        let data = if bytes.len() == 0 { c"".as_ptr() } else { bytes.cast::<c_char>() };
        // SAFETY: [state] [no-drop] [live] the caller keeps the bytes.
        unsafe { versions::push_string(self.raw(), data, bytes.len()) };
    }

    /// Replaces the number at `index` by the string that Lua converts it to.
    pub fn number_to_string(self, index: c_int) {
        // SAFETY: [state] [no-drop]
        unsafe { ffi::lua_tolstring(self.raw(), index, ptr::null_mut()) };
    }

    /// Pushes a table with room for `array` elements.
    pub fn push_table(self, array: c_int) -> Table {
        self.push_table_for(array, 0)
    }

    /// Pushes a table with room for `array` elements and `others` other pairs.
    pub fn push_table_for(self, array: c_int, others: c_int) -> Table {
        // SAFETY: [state] [no-drop]
        unsafe { ffi::lua_createtable(self.raw(), array, others) };
        Table(self.top())
    }

    /// Pops the top into `table[n]`, without metamethods.
    #[inline]
    pub fn raw_set(self, table: Table, n: c_int) {
        // SAFETY: [state] [no-drop] the value is a table.
        unsafe { versions::raw_set_index(self.raw(), table.0, n) }
    }

    /// Pops the value on the top and the key below it into `table[key]`, without metamethods. The key is not nil.
    pub fn raw_set_top(self, table: Table) {
        // SAFETY: [state] [no-drop] the value is a table.
        unsafe { ffi::lua_rawset(self.raw(), table.0) }
    }

    /// Pops the value on the top and the key below it into the table at the stack index `slot`. Drops them if a finalizer has replaced
    /// that table.
    pub fn raw_set_pair(self, slot: c_int) {
        match self.table(slot) {
            Some(table) => self.raw_set_top(table),
            None => self.set_top(self.top() - 2),
        }
    }

    /// Pops the top into `table[name]`, with metamethods.
    pub fn set_field(self, table: Table, name: Name) {
        // SAFETY: [state] [no-drop] the value is a table.
        unsafe { ffi::lua_setfield(self.raw(), table.0, name.as_ptr()) }
    }

    /// Pops `upvalues` values, and pushes `function` with them as its upvalues.
    pub fn push_function(self, function: ffi::lua_CFunction, upvalues: c_int) {
        // SAFETY: [state] [no-drop] the upvalues are on the top.
        unsafe { ffi::lua_pushcclosure(self.raw(), function, upvalues) }
    }

    /// Asks for `more` stack slots. Answers false if the stack cannot grow that much.
    pub fn check_stack(self, more: c_int) -> bool {
        // SAFETY: [state] [no-drop]
        unsafe { ffi::lua_checkstack(self.raw(), more) != 0 }
    }

    /// Pops the top into a new slot of the registry.
    pub fn reference(self) -> c_int {
        // SAFETY: [state] [no-drop]
        unsafe { ffi::luaL_ref(self.raw(), ffi::LUA_REGISTRYINDEX) }
    }

    /// Puts the value at `index` into a new slot of the registry.
    pub fn reference_to(self, index: c_int) -> c_int {
        self.push_value(index);
        self.reference()
    }

    /// Pushes the position of the Lua code that called the running function, in the form `file:line: `. Pushes an empty string if
    /// there is none.
    pub fn push_position(self) {
        // SAFETY: [state] [no-drop]
        unsafe { ffi::luaL_where(self.raw(), 1) }
    }

    /// Replaces the `count` strings on the top by their concatenation.
    pub fn concat(self, count: c_int) {
        // SAFETY: [state] [no-drop] the values are on the top. Lua raises if they are not strings.
        unsafe { ffi::lua_concat(self.raw(), count) }
    }

    /// Whether the host knows by which name the running function was called. LuaJIT forgets it when a function returns the results
    /// of another, as in `= f()` at its prompt.
    pub fn knows_name(self) -> bool {
        // SAFETY: [state] [no-drop]
        unsafe { versions::knows_name(self.raw()) }
    }

    /// Raises `bad argument #n to 'function' (message)`. The host decides whether the object of a method call counts as an
    /// argument.
    pub fn raise_argument(self, n: c_int, message: &CStr) -> ! {
        // SAFETY: [state] [no-drop]
        unsafe { versions::raise_argument(self.raw(), n, message) };
        unreachable!("luaL_argerror returned")
    }

    /// Raises the value on the top as it is.
    pub fn raise_top(self) -> ! {
        // SAFETY: [state] [no-drop]
        unsafe { ffi::lua_error(self.raw()) }
    }

    /// Raises `position: message`.
    pub fn raise(self, message: &CStr) -> ! {
        // SAFETY: [state] [no-drop] Lua copies the message, and the format has one string.
        unsafe { ffi::luaL_error(self.raw(), c"%s".as_ptr(), message.as_ptr()) };
        unreachable!("luaL_error returned")
    }
}
