//! The functions of Lua's C API that may raise a Lua error, as methods of the token [`Raising`].

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;

use mlua_sys as ffi;

use super::{Age, Name, Quiet, State, Table, lua_State, versions};

/// The permission to raise a Lua error. [`Frame::raising`](super::Frame::raising) makes it, once in each C entry.
///
/// Code that uses it keeps the rule `[no-drop]`: no value with a destructor is alive in the frames of this C function, and no
/// `catch_unwind` is open. Some methods may run Lua code (finalizers, hooks, callbacks), which may change every storage. So the
/// caller looks its storages up again afterwards.
#[derive(Clone, Copy)]
pub struct Raising<'call>(pub(super) State<'call>);

impl<'call> Deref for Raising<'call> {
    type Target = State<'call>;

    #[inline]
    fn deref(&self) -> &State<'call> {
        &self.0
    }
}

impl<'call> Raising<'call> {
    /// Raises an error if the library was built for a different Lua than the one that is running.
    pub fn check_version(self) {
        // SAFETY: [state] [no-drop] nothing is on the stack yet, and our frames hold nothing.
        unsafe { versions::check(self.may_raise(0, 2)) }
    }

    /// The same Lua state without the permission to raise.
    #[inline]
    pub const fn state(self) -> State<'call> {
        self.0
    }

    /// The Lua state, for an operation that may raise. It takes `taken` values from the top, and then pushes up to `pushed` values.
    #[inline]
    fn may_raise(self, taken: c_int, pushed: c_int) -> *mut lua_State {
        Quiet::assert_may_raise();
        self.0.taking(taken);
        self.0.room(pushed - taken)
    }

    /// Does the same as [`may_raise`](Self::may_raise) for an operation in which Lua code may run, at least a finalizer.
    #[inline]
    fn may_run(self, taken: c_int, pushed: c_int) -> *mut lua_State {
        Age::pass();
        self.may_raise(taken, pushed)
    }

    /// Calls the function that is on the stack below its `arguments` arguments.
    pub fn call(self, arguments: c_int, results: c_int) {
        // SAFETY: [state] the function and its arguments are on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_call(self.may_run(arguments + 1, results), arguments, results) }
    }

    /// Does the same as [`State::next`] for a table that may have changed since it gave the key. Raises if the table does not have
    /// the key any more.
    pub fn next_if_unchanged(self, table: Table<'_>) -> bool {
        // SAFETY: [state] the value is a table, and a key is on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_next(self.may_raise(1, 2), self.at(table)) != 0 }
    }

    /// Pushes `table[name]`, with metamethods.
    pub fn push_field(self, table: Table<'_>, name: Name) {
        // SAFETY: [state] the value is a table. [no-drop] whoever has the token keeps it.
        unsafe { versions::get_field(self.may_run(0, 1), self.at(table), name.as_ptr()) };
    }

    /// Pushes a full userdata of `bytes` bytes, aligned for any type of at most 8 bytes, and returns its block.
    pub fn push_userdata(self, bytes: usize) -> *mut c_void {
        // SAFETY: [state] there is a free slot. [no-drop] whoever has the token keeps it.
        unsafe { versions::new_userdata(self.may_run(0, 1), bytes) }
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
        // SAFETY: [state] there is a free slot. [no-drop] whoever has the token keeps it. [live] the caller keeps the bytes.
        unsafe { versions::push_string(self.may_run(0, 1), data, bytes.len()) };
    }

    /// Replaces the number at `index` by the string that Lua converts it to.
    pub fn number_to_string(self, index: c_int) {
        // SAFETY: [state] Lua changes only the value in that slot. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_tolstring(self.may_run(0, 0), index, ptr::null_mut()) };
    }

    /// Pushes a table with room for `array` elements.
    pub fn push_table(self, array: c_int) -> Table<'call> {
        self.push_table_for(array, 0)
    }

    /// Pushes a table with room for `array` elements and `others` other pairs.
    pub fn push_table_for(self, array: c_int, others: c_int) -> Table<'call> {
        // SAFETY: [state] there is a free slot. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_createtable(self.may_run(0, 1), array, others) };
        Table(self.top(), PhantomData)
    }

    /// Pops the top into `table[n]`, without metamethods.
    #[inline]
    pub fn raw_set(self, table: Table<'_>, n: c_int) {
        // SAFETY: [state] the value is a table. [no-drop] whoever has the token keeps it.
        unsafe { versions::raw_set_index(self.may_raise(1, 0), self.at(table), n) }
    }

    /// Pops the value on the top and the key below it into `table[key]`, without metamethods. The key is not nil.
    pub fn raw_set_top(self, table: Table<'_>) {
        // SAFETY: [state] the value is a table, and a key and a value are on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_rawset(self.may_raise(2, 0), self.at(table)) }
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
    pub fn set_field(self, table: Table<'_>, name: Name) {
        // SAFETY: [state] the value is a table, and another one is on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_setfield(self.may_run(1, 0), self.at(table), name.as_ptr()) }
    }

    /// Pushes a Lua text as a function. Raises if it cannot be compiled. The name is for messages.
    #[cfg(feature = "embedded")]
    pub fn load_text(self, text: &'static str, name: Name) {
        // SAFETY: [state] [live] the text is a constant.
        let status = unsafe { ffi::luaL_loadbuffer(self.may_raise(0, 1), text.as_ptr().cast(), text.len(), name.as_ptr()) };
        if status != ffi::LUA_OK {
            self.raise_top();
        }
    }

    /// Pops `upvalues` values, and pushes `function` with them as its upvalues.
    pub fn push_function(self, function: ffi::lua_CFunction, upvalues: c_int) {
        // SAFETY: [state] the upvalues are on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_pushcclosure(self.may_run(upvalues, 1), function, upvalues) }
    }

    /// Asks for `more` stack slots. Returns false if the stack cannot grow that much.
    pub fn check_stack(self, more: c_int) -> bool {
        // SAFETY: [state] the slots of the call stay as they are. [no-drop] whoever has the token keeps it.
        let has_room = unsafe { ffi::lua_checkstack(self.may_raise(0, 0), more) } != 0;
        #[cfg(debug_assertions)]
        if has_room {
            self.link.has_room(self.top(), more);
        }
        has_room
    }

    /// Pops the top into a new slot of the registry.
    pub fn reference(self) -> c_int {
        // SAFETY: [state] a value is on the top, and Lua needs one more slot. [no-drop] whoever has the token keeps it.
        unsafe { ffi::luaL_ref(self.may_raise(1, 2), ffi::LUA_REGISTRYINDEX) }
    }

    /// Puts the value at `index` into a new slot of the registry.
    pub fn reference_to(self, index: c_int) -> c_int {
        self.push_value(index);
        self.reference()
    }

    /// Pushes the position of the Lua code that called the running function, in the form `file:line: `. Pushes an empty string if
    /// there is none.
    pub fn push_position(self) {
        self.push_position_at(1);
    }

    /// Does the same for the function at a level of the stack of calls, where 1 is the one that called the running function.
    pub fn push_position_at(self, level: c_int) {
        // SAFETY: [state] there is a free slot. [no-drop] whoever has the token keeps it.
        unsafe { ffi::luaL_where(self.may_run(0, 1), level) }
    }

    /// Replaces the `count` strings on the top by their concatenation.
    pub fn concat(self, count: c_int) {
        // SAFETY: [state] the values are on the top. [no-drop] whoever has the token keeps it, and Lua raises if they are not strings.
        unsafe { ffi::lua_concat(self.may_run(count, 1), count) }
    }

    /// Whether the host knows by which name the running function was called. LuaJIT forgets it when a function returns the results
    /// of another, as in `= f()` at its prompt.
    pub fn knows_name(self) -> bool {
        // SAFETY: [state] the state is live, and asking pushes nothing. [no-drop] whoever has the token keeps it.
        unsafe { versions::knows_name(self.may_raise(0, 0)) }
    }

    /// Raises `bad argument #n to 'function' (message)`. The host decides whether the object of a method call counts as an
    /// argument.
    pub fn raise_argument(self, n: c_int, message: &CStr) -> ! {
        // SAFETY: [state] Lua takes the slots for its message itself. [no-drop] whoever has the token keeps it.
        unsafe { versions::raise_argument(self.may_run(0, 0), n, message) };
        unreachable!("luaL_argerror returned")
    }

    /// Raises the value on the top as it is.
    pub fn raise_top(self) -> ! {
        // SAFETY: [state] the error is on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_error(self.may_raise(1, 0)) }
    }

    /// Raises `position: message`.
    pub fn raise(self, message: &CStr) -> ! {
        // SAFETY: [state] Lua copies the message, and the format has one string. [no-drop] whoever has the token keeps it.
        unsafe { ffi::luaL_error(self.may_run(0, 0), c"%s".as_ptr(), message.as_ptr()) };
        unreachable!("luaL_error returned")
    }
}
