//! The part of Lua's C API that this library calls. The methods of [`State`] never raise a Lua error; those of [`Raising`] may.
//!
//! A Lua error leaves Rust frames without running their destructors. So a function that may raise is a method of the token
//! [`Raising`], which each C entry creates once, and it keeps the rule `[no-drop]`.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use mlua_sys as ffi;
pub use mlua_sys::lua_State;

/// A name that ends with a zero byte, as Lua's C API needs it.
pub type Name = &'static CStr;

/// A function that Lua calls.
pub type Function = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;

/// The Lua state that called the running C function.
#[derive(Clone, Copy)]
pub struct State(*mut lua_State);

/// What the block of a userdata of ours has in it. It begins with the address of a constant, which is a different one for each type.
pub trait Payload: Sized {
    fn magic() -> *const c_void;
}

/// The stack index of upvalue `n`.
pub const fn upvalue(n: c_int) -> c_int {
    ffi::lua_upvalueindex(n)
}

pub const REGISTRY: c_int = ffi::LUA_REGISTRYINDEX;

impl State {
    pub const fn raw(self) -> *mut lua_State {
        self.0
    }

    pub fn top(self) -> c_int {
        // SAFETY: [state] the state is live, and asking changes nothing.
        unsafe { ffi::lua_gettop(self.0) }
    }

    pub fn pop(self) {
        // SAFETY: [state] there is a value on the stack.
        unsafe { ffi::lua_settop(self.0, -2) }
    }

    fn kind(self, index: c_int) -> c_int {
        // SAFETY: [state] for an index beyond the top, Lua returns `LUA_TNONE`.
        unsafe { ffi::lua_type(self.0, index) }
    }

    /// Lua's name of a value's type.
    pub fn kind_name(self, index: c_int) -> &'static str {
        let kind = self.kind(index);
        // SAFETY: [state] Lua gave this type.
        let name = unsafe { ffi::lua_typename(self.0, kind) };
        // SAFETY: [state] the names are constants of the interpreter.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("value")
    }

    pub fn is_absent(self, index: c_int) -> bool {
        self.kind(index) <= ffi::LUA_TNIL
    }

    pub fn is_table(self, index: c_int) -> bool {
        self.kind(index) == ffi::LUA_TTABLE
    }

    pub fn is_function(self, index: c_int) -> bool {
        self.kind(index) == ffi::LUA_TFUNCTION
    }

    pub fn is_string(self, index: c_int) -> bool {
        self.kind(index) == ffi::LUA_TSTRING
    }

    pub fn is_number(self, index: c_int) -> bool {
        self.kind(index) == ffi::LUA_TNUMBER
    }

    pub fn truth(self, index: c_int) -> bool {
        // SAFETY: [state] for an index beyond the top, Lua returns false.
        unsafe { ffi::lua_toboolean(self.0, index) != 0 }
    }

    /// The number at `index`, or `None` if another value is there.
    pub fn number(self, index: c_int) -> Option<f64> {
        // SAFETY: [state] converting a number to a number cannot raise.
        self.is_number(index).then(|| unsafe { ffi::lua_tonumber(self.0, index) })
    }

    /// The bytes of the string at `index`, or `None` if another value is there. They are good while the value is on the stack.
    pub fn bytes(self, index: c_int) -> Option<*const [u8]> {
        if !self.is_string(index) {
            return None;
        }
        let mut length = 0;
        // SAFETY: [state] the value is a string already, so nothing is converted.
        let data = unsafe { ffi::lua_tolstring(self.0, index, &raw mut length) };
        Some(ptr::slice_from_raw_parts(data.cast(), length))
    }

    /// The text of the string at `index`.
    pub fn text(self, index: c_int) -> Option<String> {
        let bytes = self.bytes(index)?;
        // SAFETY: [state] the string is on the stack, and Lua does not run here.
        Some(String::from_utf8_lossy(unsafe { &*bytes }).into_owned())
    }

    /// The block of the full userdata at `index`, if it has `size` bytes.
    pub fn block(self, index: c_int, size: usize) -> Option<*mut c_void> {
        if self.kind(index) != ffi::LUA_TUSERDATA {
            return None;
        }
        // SAFETY: [state] the value is a userdata.
        let length = unsafe { ffi::lua_rawlen(self.0, index) };
        // SAFETY: [state] the value is a userdata.
        (length == size).then(|| unsafe { ffi::lua_touserdata(self.0, index) })
    }

    /// The payload of the userdata at `index`, if it is of this type.
    pub fn payload<T: Payload>(self, index: c_int) -> Option<*mut T> {
        let block = self.block(index, size_of::<T>())?;
        // SAFETY: [layout] [in-bounds] blocks of this size have room for an address.
        let magic = unsafe { block.cast::<*const c_void>().read() };
        (magic == T::magic()).then(|| block.cast())
    }

    /// Pushes element `n` of the table at `index`, without metamethods.
    pub fn push_item(self, index: c_int, n: c_int) {
        // SAFETY: [state] the value is a table, and there is a free slot: no function here uses all of `LUA_MINSTACK`.
        unsafe { ffi::lua_rawgeti(self.0, index, n.into()) };
    }

    pub fn length(self, index: c_int) -> usize {
        // SAFETY: [state] the callers pass tables, so nothing is converted.
        unsafe { ffi::lua_rawlen(self.0, index) }
    }
}

/// The permission to raise a Lua error.
#[derive(Clone, Copy)]
pub struct Raising(State);

impl Raising {
    /// # Safety
    /// `[state]`: Lua gave `state` to the C function that is running, and the token is used only during that call. `[no-drop]`
    /// holds whenever a method of the token runs.
    pub const unsafe fn new(state: *mut lua_State) -> Self {
        Self(State(state))
    }

    pub const fn state(self) -> State {
        self.0
    }

    pub const fn raw(self) -> *mut lua_State {
        self.0.0
    }

    /// Makes the stack `top` values high. New values are nil.
    pub fn set_top(self, top: c_int) {
        // SAFETY: [state] there are always as many slots as `LUA_MINSTACK`.
        unsafe { ffi::lua_settop(self.raw(), top) }
    }

    pub fn push_integer(self, value: i64) {
        // SAFETY: [state] there is a free slot: no function here uses all of `LUA_MINSTACK`.
        unsafe { ffi::lua_pushinteger(self.raw(), value as ffi::lua_Integer) }
    }

    pub fn push_number(self, value: f64) {
        // SAFETY: [state] there is a free slot: no function here uses all of `LUA_MINSTACK`.
        unsafe { ffi::lua_pushnumber(self.raw(), value) }
    }

    pub fn push_boolean(self, value: bool) {
        // SAFETY: [state] there is a free slot: no function here uses all of `LUA_MINSTACK`.
        unsafe { ffi::lua_pushboolean(self.raw(), value.into()) }
    }

    pub fn push_nil(self) {
        // SAFETY: [state] there is a free slot: no function here uses all of `LUA_MINSTACK`.
        unsafe { ffi::lua_pushnil(self.raw()) }
    }

    pub fn push_value(self, index: c_int) {
        // SAFETY: [state] there is a value at the index, and a free slot: no function here uses all of `LUA_MINSTACK`.
        unsafe { ffi::lua_pushvalue(self.raw(), index) }
    }

    /// Pushes a string of bytes.
    ///
    /// # Safety
    /// `[live]`: the bytes stay readable, even if finalizers run.
    pub unsafe fn push_bytes(self, bytes: *const [u8]) {
        let data = if bytes.len() == 0 { c"".as_ptr() } else { bytes.cast() };
        // SAFETY: [state] [no-drop] [live] the caller keeps the bytes.
        unsafe { ffi::lua_pushlstring(self.raw(), data, bytes.len()) };
    }

    pub fn push_text(self, text: &CStr) {
        // SAFETY: [live] the caller has the text.
        unsafe { self.push_bytes(text.to_bytes()) }
    }

    /// Pushes a new userdata with a block of `size` bytes, which Lua aligns for any type of ours.
    pub fn push_block(self, size: usize) -> *mut c_void {
        // SAFETY: [state] there is a free slot: no function here uses all of `LUA_MINSTACK`. [no-drop] whoever has the token keeps
        // it.
        unsafe { ffi::lua_newuserdata(self.raw(), size) }
    }

    pub fn push_table(self) {
        // SAFETY: [state] there is a free slot: no function here uses all of `LUA_MINSTACK`. [no-drop] whoever has the token keeps
        // it.
        unsafe { ffi::lua_createtable(self.raw(), 0, 16) }
    }

    /// Pushes field `name` of the table at `index`.
    pub fn push_field(self, index: c_int, name: Name) {
        // SAFETY: [state] there is a value at the index, and a free slot. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_getfield(self.raw(), index, name.as_ptr()) };
    }

    /// Pushes the global variable `name`.
    pub fn push_global(self, name: Name) {
        // SAFETY: [state] there is a free slot. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_getglobal(self.raw(), name.as_ptr()) };
    }

    /// Pops the top into field `name` of the table at `index`.
    pub fn set_field(self, index: c_int, name: Name) {
        // SAFETY: [state] there is a value at the index, and another on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_setfield(self.raw(), index, name.as_ptr()) }
    }

    /// Pops the table on the top and makes it the metatable of the userdata at `index`.
    pub fn set_metatable(self, index: c_int) {
        // SAFETY: [state] [no-drop] a table is on the top.
        unsafe { ffi::lua_setmetatable(self.raw(), index) };
    }

    /// Pops `upvalues` values, and pushes `function` with them.
    pub fn push_function(self, function: Function, upvalues: c_int) {
        // SAFETY: [state] [no-drop] the upvalues are on the top.
        unsafe { ffi::lua_pushcclosure(self.raw(), function, upvalues) }
    }

    /// Calls the function below its arguments.
    pub fn call(self, arguments: c_int, results: c_int) {
        // SAFETY: [state] [no-drop] the function and its arguments are on the top.
        unsafe { ffi::lua_call(self.raw(), arguments, results) }
    }

    /// Calls the function below its arguments. Returns false if it failed, with the error on the top. The handler at stack index
    /// `handler` may change the error; 0 means that there is none.
    pub fn try_call(self, arguments: c_int, results: c_int, handler: c_int) -> bool {
        // SAFETY: [state] the function and its arguments are on the top.
        unsafe { ffi::lua_pcall(self.raw(), arguments, results, handler) == ffi::LUA_OK }
    }

    /// Moves the top to `index`.
    pub fn insert(self, index: c_int) {
        // SAFETY: [state] there are values at both.
        unsafe { ffi::lua_insert(self.raw(), index) }
    }

    pub fn remove(self, index: c_int) {
        // SAFETY: [state] there is a value.
        unsafe { ffi::lua_remove(self.raw(), index) }
    }

    /// Raises the value on the top.
    pub fn raise_top(self) -> ! {
        // SAFETY: [state] the error is on the top. [no-drop] whoever has the token keeps it.
        unsafe { ffi::lua_error(self.raw()) };
    }

    /// Raises `position: message`.
    pub fn raise(self, message: &CStr) -> ! {
        // SAFETY: [state] [no-drop] Lua copies the message, and the format has one string.
        unsafe { ffi::luaL_error(self.raw(), c"%s".as_ptr(), message.as_ptr()) };
        unreachable!("luaL_error returned")
    }

    /// Raises `bad argument #n to 'function' (message)`.
    pub fn raise_argument(self, n: c_int, message: &CStr) -> ! {
        // SAFETY: [state] [no-drop] Lua copies the message.
        unsafe { ffi::luaL_argerror(self.raw(), n, message.as_ptr()) };
        unreachable!("luaL_argerror returned")
    }
}
