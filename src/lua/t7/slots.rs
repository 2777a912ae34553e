//! The Lua values of the tables and objects that are not complete. Those of the current one are in stack slots, and the others
//! are in a table.

use std::ffi::c_int;

use super::block::Open;
use super::guard::Work;
use crate::lua::fault::Fault;
use crate::lua::state::Table;

/// The stack slot of the current table or object.
pub(super) const CONTAINER: c_int = 3;

/// The stack slot of a table's current key, unless that is a small whole number. For an object, the function that takes its
/// value.
pub(super) const KEY: c_int = 4;

/// The stack slot of the list of a table's keys, or nil. For an object, the name of its value.
pub(super) const ORDER: c_int = 5;

/// Makes the three slots in a function that loads or saves. The two slots below them are arguments. Lua code that runs later may
/// put anything into the slots.
pub(super) fn lay_out(work: &Work<'_>) {
    let lua = work.lua;
    lua.set_top(CONTAINER - 1);
    while lua.top() < ORDER {
        lua.push_nil();
    }
}

/// How many callbacks may run within each other. Each level takes 2 KB of the C stack, and a thread may have only 1 MB of that. PUC Lua
/// allows 200 nested calls of C functions, and LuaJIT as many as fit on its own stack.
const MOST_CALLBACKS: u32 = 200;

/// Calls a Lua function that may use the file itself. The values of the slots are in the table during the call, so that messages
/// can give the path to a value that the function reads or writes.
pub(super) fn call_lua(work: &Work<'_>, arguments: c_int, results: c_int) {
    let callbacks = &work.call.shared().callbacks;
    if callbacks.get() == MOST_CALLBACKS {
        // The Lua code is above this function and the method of the file that runs it.
        work.lua.push_position_at(2);
        work.lua.push_text("methods that read or write objects call each other more than 200 levels deep");
        work.lua.concat(2);
        work.lua.raise_top();
    }
    callbacks.set(callbacks.get() + 1);
    let depth = work.step(Open::enter_callback);
    let lua = work.lua;
    for (slot, index) in kept(depth) {
        lua.push_value(slot);
        lua.raw_set(work.stack, index);
    }
    work.block.busy.set(false);
    lua.call(arguments, results);
    work.block.busy.set(true);
    callbacks.set(callbacks.get() - 1);
    // If the function has caught an error of the file, some levels may remain.
    leave_to(work, depth);
}

/// Leaves all tables and objects except the outermost `depth`.
pub(super) fn leave_to(work: &Work<'_>, depth: usize) {
    work.step(|open| {
        open.leave_to(depth);
        Ok(())
    });
}

/// The current table. Raises if Lua code has replaced it.
pub(super) fn expect_table<'call>(work: &Work<'call>) -> Table<'call> {
    table_in(work, CONTAINER)
}

/// The list of the current table's keys. Raises if Lua code has replaced it.
pub(super) fn expect_list<'call>(work: &Work<'call>) -> Table<'call> {
    table_in(work, ORDER)
}

fn table_in<'call>(work: &Work<'call>, slot: c_int) -> Table<'call> {
    let replaced = || Fault::new("the current table was replaced by debug.setlocal");
    work.lua.table(slot).unwrap_or_else(|| work.fail(replaced()))
}

/// Moves the values of the slots to the table, so that the slots are free for a new table or object. Its number is `depth`, from
/// 0.
pub(super) fn descend(work: &Work<'_>, depth: usize) {
    let lua = work.lua;
    for (slot, index) in kept(depth) {
        lua.push_value(slot);
        lua.raw_set(work.stack, index);
        lua.push_nil();
        lua.replace(slot);
    }
}

/// Moves the values of the table or object around number `depth` back to the slots.
pub(super) fn ascend(work: &Work<'_>, depth: usize) {
    for (slot, index) in kept(depth) {
        work.lua.raw_get(work.stack, index);
        work.lua.replace(slot);
    }
}

/// The slots, each with the index at which its value is kept while table or object number `depth` is the current one.
pub(super) fn kept(depth: usize) -> impl Iterator<Item = (c_int, c_int)> {
    // The conversion does not fail: 2^29 levels would need more memory than there is.
    let first = c_int::try_from(depth).unwrap_or(0).saturating_mul(3).saturating_add(1);
    (CONTAINER..=ORDER).zip(first..)
}
