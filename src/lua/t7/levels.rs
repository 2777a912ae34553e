//! The Lua values of the tables and objects that are not complete. Those of the current one are in [`slots`], and the others are in
//! the table of values.

use std::ffi::c_int;

use super::open::{Open, Work, slots};
use crate::lua::fault::Fault;
use crate::lua::file::File;
use crate::lua::state::Table;

/// Makes the slots in a function that loads or saves. The two slots below them are arguments. Lua code that runs later may put
/// anything into the slots.
pub(super) fn make_slots(work: &Work<'_>) {
    let lua = work.lua;
    lua.set_top(slots::CONTAINER - 1);
    while lua.top() < slots::ORDER {
        lua.push_nil();
    }
}

/// The current table. Raises if Lua code has replaced it.
pub(super) fn expect_table<'call>(work: &Work<'call>) -> Table<'call> {
    table_in(work, slots::CONTAINER)
}

/// The list of the current table's keys. Raises if Lua code has replaced it.
pub(super) fn expect_list<'call>(work: &Work<'call>) -> Table<'call> {
    table_in(work, slots::ORDER)
}

fn table_in<'call>(work: &Work<'call>, slot: c_int) -> Table<'call> {
    let replaced = || Fault::new("the current table was replaced by debug.setlocal");
    work.lua.table(slot).unwrap_or_else(|| work.fail(replaced()))
}

/// Moves the values of the slots to the table, so that the slots are free for a new table or object. Its number is `depth`, from
/// 0.
pub(super) fn descend(work: &Work<'_>, depth: usize) {
    let lua = work.lua;
    for (slot, index) in Open::kept(depth) {
        lua.push_value(slot);
        lua.raw_set(work.values, index);
        lua.push_nil();
        lua.replace(slot);
    }
}

/// Moves the values of the table or object around number `depth` back to the slots.
pub(super) fn ascend(work: &Work<'_>, depth: usize) {
    for (slot, index) in Open::kept(depth) {
        work.lua.raw_get(work.values, index);
        work.lua.replace(slot);
    }
}
