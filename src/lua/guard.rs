//! The guard of a Lua state: the first of our objects, which Lua finalizes last of all when the state is closed.
//!
//! It frees the objects that are [left](super::living), and closes the account of the state.

use std::ffi::c_int;

use super::context::{Context, Shared, UPVALUES};
use super::entry::raising;
use super::living;
use super::state::Raising;
use crate::budget::AccountId;

/// Makes the guard, if there is none. `push_upvalue` pushes the upvalue of a function of ours.
pub fn install(lua: Raising, shared: &Shared, push_upvalue: impl FnOnce()) {
    if shared.is_guarded.replace(true) {
        return;
    }
    lua.push_userdata(1);
    let guard = lua.top();
    let metatable = lua.push_table(0);
    push_upvalue();
    lua.push_function(raising(end), UPVALUES);
    lua.set_field(metatable, c"__gc");
    lua.push_boolean(false);
    lua.set_field(metatable, c"__metatable");
    lua.set_metatable_from_top(guard);
    lua.reference();
}

/// The finalizer of the guard. Finalizers that run afterwards make no objects and allocate nothing.
fn end(lua: Raising) -> c_int {
    let shared = Context::of(lua.state()).shared();
    living::free_all(lua, shared);
    let account = shared.account.get();
    if account != AccountId::NONE {
        shared.account.set(AccountId::CLOSED);
        account.close();
    }
    0
}
