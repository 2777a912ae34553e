//! The Lua values of tables and objects that are not complete yet: of the innermost one in stack slots, of the others in a table.

use std::ffi::c_int;

use super::block::Open;
use super::guard::Work;
use crate::lua::fault::Fault;
use crate::lua::state::Table;

/// The table or object in hand.
pub(super) const CONTAINER: c_int = 3;

/// The current key of a table, unless that is a small whole number; the function that an object waits with for its value.
pub(super) const KEY: c_int = 4;

/// The list of the keys of a table, or nil; the name of the value that an object waits for.
pub(super) const ORDER: c_int = 5;

/// Makes the slots of a function that loads or saves; the two below them are arguments. After Lua code has run, the slots may hold
/// anything.
pub(super) fn lay_out(work: &Work<'_>) {
    let lua = work.lua;
    lua.set_top(CONTAINER - 1);
    while lua.top() < ORDER {
        lua.push_nil();
    }
}

/// Calls a function of the Lua side, or of a class, that may use the file itself. The values of the slots are kept in the table
/// meanwhile, so that the path to what it reads or writes is known.
pub(super) fn call_outside(work: &Work<'_>, arguments: c_int, results: c_int) {
    let depth = work.step(Open::step_aside);
    let lua = work.lua;
    for (slot, index) in kept(depth) {
        lua.push_value(slot);
        lua.raw_set(work.stack, index);
    }
    work.block.busy.set(false);
    lua.call(arguments, results);
    work.block.busy.set(true);
    // A call that failed and was caught there may have left levels.
    leave_to(work, depth);
}

/// Leaves all tables and objects but the first `depth`.
pub(super) fn leave_to(work: &Work<'_>, depth: usize) {
    work.step(|open| {
        open.leave_to(depth);
        Ok(())
    });
}

/// The table in hand, unless Lua code has replaced it.
pub(super) fn expect_table(work: &Work<'_>) -> Table {
    table_in(work, CONTAINER)
}

/// The list of the keys of the table in hand, unless Lua code has replaced it.
pub(super) fn expect_list(work: &Work<'_>) -> Table {
    table_in(work, ORDER)
}

fn table_in(work: &Work<'_>, slot: c_int) -> Table {
    let replaced = || Fault::new("the table in hand was replaced, by debug.setlocal");
    work.lua.table(slot).unwrap_or_else(|| work.fail(replaced()))
}

/// Puts the values of the slots below those of a new table or object, which is number `depth` from 0. The slots are empty then.
pub(super) fn descend(work: &Work<'_>, depth: usize) {
    let lua = work.lua;
    for (slot, index) in kept(depth) {
        lua.push_value(slot);
        lua.raw_set(work.stack, index);
        lua.push_nil();
        lua.replace(slot);
    }
}

/// Takes back the values of the table or object below number `depth`.
pub(super) fn ascend(work: &Work<'_>, depth: usize) {
    for (slot, index) in kept(depth) {
        work.lua.raw_get(work.stack, index);
        work.lua.replace(slot);
    }
}

/// The slots, and the indices at which their values are kept while number `depth` is in hand.
pub(super) fn kept(depth: usize) -> impl Iterator<Item = (c_int, c_int)> {
    // 2^29 levels are not reached: they take memory.
    let first = c_int::try_from(depth).unwrap_or(0).saturating_mul(3).saturating_add(1);
    (CONTAINER..=ORDER).zip(first..)
}
