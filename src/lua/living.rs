//! The storages, tensors and open files of a restricted Lua state that are alive.
//!
//! Lua calls no finalizer of an object that is made while the state is closed. The finalizer of a script can make such objects on
//! purpose, and nobody would free what is behind them. So the objects of a restricted state are the weak keys of a table. What is in it
//! when the last of our finalizers runs is freed then, and afterwards no more objects are made.

use std::ffi::c_int;

use super::context::{Context, Living, Place, Shared};
use super::fault::{Fault, raise};
use super::state::Raising;

/// Begins the table. All objects that are made from now on are in it.
pub fn know_objects(lua: Raising, shared: &Shared) {
    let objects = lua.push_table(0);
    let metatable = lua.push_table(0);
    lua.push_text("k");
    lua.set_field(metatable, c"__mode");
    lua.set_metatable_from_top(objects.index());
    shared.living.set(Living::InTable(lua.reference()));
}

/// Makes the new userdata on the top an object with the metatable in a place. It has nothing yet that must be freed.
#[inline]
pub fn adopt(lua: Raising, place: Place) {
    let context = Context::of(lua.state());
    context.set_metatable(lua.state(), place);
    if !matches!(context.shared().living.get(), Living::Unknown) {
        remember(lua, context.shared());
    }
}

/// Enters the userdata on the top into the table. Raises an error if the Lua state is being closed.
#[cold]
fn remember(lua: Raising, shared: &Shared) {
    let userdata = lua.top();
    match shared.living.get() {
        Living::Unknown => return,
        Living::InTable(slot) => lua.push_referenced(slot),
        Living::Ended => raise(lua, Fault::new("this Lua state is being closed, so nothing can be made in it")),
    }
    if let Some(objects) = lua.table(-1) {
        lua.push_value(userdata);
        lua.push_boolean(true);
        lua.raw_set_top(objects);
    }
    lua.set_top(userdata);
}

/// Ends the table, and calls the finalizers of all objects in it. Those that were called before do nothing.
pub fn free_all(lua: Raising, shared: &Shared) {
    let Living::InTable(slot) = shared.living.get() else { return };
    shared.living.set(Living::Ended);
    lua.push_referenced(slot);
    let Some(objects) = lua.table(-1) else { return };
    lua.push_nil();
    // SAFETY: [no-drop] the key is nil or the one that was given last, and nothing is added to the table any more.
    while unsafe { lua.next(objects) } {
        let object = lua.top() - 1;
        free(lua, object);
        lua.set_top(object);
    }
}

/// Calls the finalizer of an object.
fn free(lua: Raising, object: c_int) {
    let Some(metatable) = lua.push_metatable_of(object) else { return };
    lua.push_field(metatable, c"__gc");
    lua.push_value(object);
    lua.protected_call(1, 0);
}
