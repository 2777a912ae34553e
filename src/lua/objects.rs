//! The class names of objects whose class Lua code has registered. Such objects are never storages.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::args::Call;
use super::context::Context;
use super::fault::Fault;
use super::state::CDATA;

/// Pushes the class name of argument `n`, which is not a storage. There may be other new values below the name. If the argument has no
/// class name, returns false and leaves the stack as it was.
///
/// For an FFI value this calls Lua code, which may run finalizers. So callers look their storages up again afterwards.
pub fn push_class_name(call: Call, n: c_int) -> Result<bool, Fault> {
    let state = call.state();
    if call.kind(n) != CDATA {
        return Ok(push_name_by_metatable(call, n));
    }
    let Some(namer) = Context::of(state).shared().namer.get() else { return Ok(false) };
    let top = state.top();
    state.push_referenced(namer);
    state.push_value(n);
    if !state.protected_call(1, 1) {
        return Err(Fault::on_top(call.state()));
    }
    let found = state.kind(-1) == ffi::LUA_TSTRING;
    if !found {
        state.set_top(top);
    }
    Ok(found)
}

/// [`push_class_name`] for an argument that is not an FFI value. The class name belongs to its metatable.
pub fn push_name_by_metatable(call: Call, n: c_int) -> bool {
    let state = call.state();
    let top = state.top();
    if call.kind(n) == ffi::LUA_TNONE {
        return false;
    }
    let Some(metatable) = state.push_metatable_of(n) else { return false };
    if let Some(names) = Context::of(state).shared().names.get() {
        state.push_referenced(names);
        if let Some(names) = state.table(-1) {
            state.push_value(metatable.index());
            state.raw_get_top(names);
            if state.kind(-1) == ffi::LUA_TSTRING {
                return true;
            }
        }
    }
    state.set_top(top);
    false
}
