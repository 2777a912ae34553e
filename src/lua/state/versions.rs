//! The functions of Lua's C API that differ from Lua to Lua, with one name for each.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;

use mlua_sys as ffi;
use mlua_sys::lua_State;

// Lua 5.1 and 5.2 have functions that push a value and return nothing. `mlua-sys` gives them an underscore, and imitates the later ones,
// which return the type, with more calls.
#[cfg(not(any(feature = "lua51", feature = "luajit", feature = "lua52")))]
pub use ffi::{lua_getfield as get_field, lua_pushlstring as push_string, lua_rawget as raw_get};
#[cfg(any(feature = "lua51", feature = "luajit", feature = "lua52"))]
pub use ffi::{
    lua_getfield_ as get_field, lua_pushlstring_ as push_string, lua_rawget_ as raw_get, lua_rawgeti_ as raw_get_index,
    lua_rawseti_ as raw_set_index,
};

/// Pushes `table[n]`, without metamethods.
///
/// # Safety
/// `[state]`: the value at the index is a table.
#[cfg(not(any(feature = "lua51", feature = "luajit", feature = "lua52")))]
#[inline]
pub unsafe fn raw_get_index(state: *mut lua_State, table: c_int, n: c_int) {
    // SAFETY: [state] the value is a table.
    unsafe { ffi::lua_rawgeti(state, table, n.into()) };
}

/// Pops the top into `table[n]`, without metamethods.
///
/// # Safety
/// `[state]` `[no-drop]`: the value at the index is a table.
#[cfg(not(any(feature = "lua51", feature = "luajit", feature = "lua52")))]
#[inline]
pub unsafe fn raw_set_index(state: *mut lua_State, table: c_int, n: c_int) {
    // SAFETY: [state] [no-drop] the value is a table.
    unsafe { ffi::lua_rawseti(state, table, n.into()) };
}

/// Pushes a full userdata of `bytes` bytes without values of its own.
///
/// # Safety
/// `[state]` `[no-drop]`
pub unsafe fn new_userdata(state: *mut lua_State, bytes: usize) -> *mut c_void {
    #[cfg(any(feature = "lua54", feature = "lua55"))]
    // SAFETY: [state] the caller has a free slot. [no-drop] the caller keeps it.
    return unsafe { ffi::lua_newuserdatauv(state, bytes, 0) };
    #[cfg(not(any(feature = "lua54", feature = "lua55")))]
    // SAFETY: [state] the caller has a free slot. [no-drop] the caller keeps it.
    return unsafe { ffi::lua_newuserdata(state, bytes) };
}

/// Calls a C function without arguments and results. If it raises, the result is not `LUA_OK`, and the error is on the top.
///
/// # Safety
/// `[state]`: this call has a free stack slot.
pub unsafe fn protected_call(state: *mut lua_State, function: ffi::lua_CFunction) -> c_int {
    #[cfg(any(feature = "lua51", feature = "luajit"))]
    // SAFETY: [state] errors end in this call.
    return unsafe { ffi::lua_cpcall(state, function, std::ptr::null_mut()) };
    #[cfg(not(any(feature = "lua51", feature = "luajit")))]
    {
        // SAFETY: [state] a C function without upvalues is pushed without an allocation, so this cannot raise.
        unsafe { ffi::lua_pushcclosure(state, function, 0) };
        // SAFETY: [state] the function is on the top, and errors end in this call.
        unsafe { ffi::lua_pcall(state, 0, 0, 0) }
    }
}

/// A function for [`protected_call`] that runs the hook if the hook only counts the instructions of Lua code. Lua itself has run any other
/// hook when it called this.
///
/// # Safety
/// `[state]`: Lua calls this with its state.
pub unsafe extern "C-unwind" fn run_counting_hook(state: *mut lua_State) -> c_int {
    // SAFETY: [state] asking changes nothing.
    let hook = unsafe { ffi::lua_gethook(state) };
    // SAFETY: [state] asking changes nothing.
    let mask = unsafe { ffi::lua_gethookmask(state) };
    let Some(hook) = hook.filter(|_| mask & (ffi::LUA_MASKCOUNT | ffi::LUA_MASKCALL) == ffi::LUA_MASKCOUNT) else { return 0 };
    let mut record = MaybeUninit::<ffi::lua_Debug>::zeroed();
    // SAFETY: [state] the record is ours.
    if unsafe { ffi::lua_getstack(state, 0, record.as_mut_ptr()) } != 0 {
        // SAFETY: [layout] all bits of the record are zero or what Lua has written, which are values of its fields.
        let record = unsafe { record.assume_init_mut() };
        record.event = ffi::LUA_HOOKCOUNT;
        record.currentline = -1;
        // SAFETY: [state] a hook is called with its state and a record of a function that runs. [no-drop] nothing here has a destructor.
        unsafe { hook(state, record) };
    }
    0
}

/// Whether the host knows by which name the running function was called.
///
/// # Safety
/// `[state]`
#[cfg(not(any(feature = "lua51", feature = "luajit")))]
pub const unsafe fn knows_name(_: *mut lua_State) -> bool {
    true
}

/// Whether the host knows by which name the running function was called.
///
/// # Safety
/// `[state]`
#[cfg(any(feature = "lua51", feature = "luajit"))]
pub unsafe fn knows_name(state: *mut lua_State) -> bool {
    let mut record = MaybeUninit::<ffi::lua_Debug>::zeroed();
    // SAFETY: [state] the record is ours.
    if unsafe { ffi::lua_getstack(state, 0, record.as_mut_ptr()) } == 0 {
        return true;
    }
    // SAFETY: [state] lua_getstack has filled the record for the running function.
    unsafe { ffi::lua_getinfo(state, c"n".as_ptr(), record.as_mut_ptr()) };
    // SAFETY: [layout] it consists of numbers and pointers, which may be zero.
    !unsafe { record.assume_init() }.name.is_null()
}

/// Raises `bad argument #n to 'function' (message)`.
///
/// # Safety
/// `[state]` `[no-drop]`
pub unsafe fn raise_argument(state: *mut lua_State, n: c_int, message: &CStr) {
    #[cfg(feature = "lua55")]
    // Lua 5.5 subtracts the objects that `__call` has put before the arguments. `n` does not count them on any Lua.
    // SAFETY: [state] the state is live, and asking changes nothing.
    let n = n + unsafe { called_objects(state) };
    // SAFETY: [state] [no-drop] Lua copies the message.
    unsafe { ffi::luaL_argerror(state, n, message.as_ptr()) };
}

/// The number of objects that `__call` has put before the arguments of the running function.
///
/// # Safety
/// `[state]`
#[cfg(feature = "lua55")]
unsafe fn called_objects(state: *mut lua_State) -> c_int {
    let mut record = MaybeUninit::<ffi::lua_Debug>::zeroed();
    // SAFETY: [state] the record is ours.
    if unsafe { ffi::lua_getstack(state, 0, record.as_mut_ptr()) } == 0 {
        return 0;
    }
    // SAFETY: [state] lua_getstack has filled the record for the running function.
    unsafe { ffi::lua_getinfo(state, c"t".as_ptr(), record.as_mut_ptr()) };
    // SAFETY: [layout] it consists of numbers and pointers, which may be zero.
    unsafe { record.assume_init() }.extraargs.into()
}

/// Raises if the library was built for another Lua than the one that is running.
///
/// Lua 5.1 and LuaJIT have no function for that. They do not load a library for another Lua, because they lack symbols that it needs.
///
/// # Safety
/// `[state]` `[no-drop]`
#[cfg(any(feature = "lua51", feature = "luajit"))]
pub const unsafe fn check(_: *mut lua_State) {}

/// Raises if the library was built for another Lua than the one that is running.
///
/// # Safety
/// `[state]` `[no-drop]`
#[cfg(feature = "lua52")]
pub unsafe fn check(state: *mut lua_State) {
    // SAFETY: [state] nothing of ours is on the stack. [no-drop] the caller keeps it.
    unsafe { ffi::luaL_checkversion_(state, 502.0) };
}

/// Raises if the library was built for another Lua than the one that is running.
///
/// # Safety
/// `[state]` `[no-drop]`
#[cfg(not(any(feature = "lua51", feature = "luajit", feature = "lua52")))]
pub unsafe fn check(state: *mut lua_State) {
    const VERSION: f64 = if cfg!(feature = "lua53") {
        503.0
    } else if cfg!(feature = "lua54") {
        504.0
    } else {
        505.0
    };
    /// The sizes of Lua's two types of numbers, as `LUAL_NUMSIZES` in `lauxlib.h`.
    const SIZES: usize = size_of::<ffi::lua_Integer>() * 16 + size_of::<ffi::lua_Number>();
    // SAFETY: [state] nothing of ours is on the stack. [no-drop] the caller keeps it.
    unsafe { ffi::luaL_checkversion_(state, VERSION, SIZES) };
}

/// Whether a full collection could be without end. This is so only on Lua 5.3.
///
/// # Safety
/// `[state]`
#[cfg(not(feature = "lua53"))]
#[inline]
pub const unsafe fn must_not_collect(_: *mut lua_State) -> bool {
    false
}

/// Whether a full collection could be without end: in a finalizer that runs because the Lua state is closing. Lua has stopped its
/// collector then, and the finalizer is the first function that was called. If a host calls Lua functions without a C function, and
/// the program has stopped the collector, the result is true as well.
///
/// # Safety
/// `[state]`: this call has a free stack slot.
#[cfg(feature = "lua53")]
pub unsafe fn must_not_collect(state: *mut lua_State) -> bool {
    // SAFETY: [state] the state is live, and asking changes nothing.
    if unsafe { ffi::lua_gc(state, ffi::LUA_GCISRUNNING, 0) } != 0 {
        return false;
    }
    // SAFETY: [state] the registry always has the main thread.
    unsafe { ffi::lua_rawgeti(state, ffi::LUA_REGISTRYINDEX, ffi::LUA_RIDX_MAINTHREAD) };
    // SAFETY: [state] the thread is on the top.
    let main = unsafe { ffi::lua_tothread(state, -1) };
    // SAFETY: [state] this removes what was pushed.
    unsafe { ffi::lua_settop(state, -2) };
    let mut record = MaybeUninit::<ffi::lua_Debug>::zeroed();
    let mut level = 0;
    // SAFETY: [state] the record is ours. It keeps the last level that there is.
    while unsafe { ffi::lua_getstack(main, level, record.as_mut_ptr()) } != 0 {
        level += 1;
    }
    if level == 0 {
        return false;
    }
    // SAFETY: [state] the record is of the function that was called first. This pushes nothing.
    unsafe { ffi::lua_getinfo(main, c"S".as_ptr(), record.as_mut_ptr()) };
    // SAFETY: [layout] the record consists of numbers and pointers, which may be zero.
    let what = unsafe { record.assume_init() }.what;
    // SAFETY: [live] lua_getinfo has set it to one of Lua's own constant strings.
    unsafe { CStr::from_ptr(what) == c"Lua" }
}
