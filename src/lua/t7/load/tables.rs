//! Loads tables: their keys, their values and the order of the keys.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::lua::state::{State, Table};
use crate::lua::t7::levels::{expect_list, expect_table};
use crate::lua::t7::open::slots::{CONTAINER, KEY, ORDER};
use crate::lua::t7::open::{Work, values};
use crate::t7::Problem;

/// Makes the value on the top the current key of the current table. If the order of the keys is kept, `number` is the key's
/// number, counted from 1.
pub(super) fn take_key(work: &Work<'_>, number: Option<c_int>) {
    let lua = work.lua;
    // The reader refuses nil and NaN, but the factory of a class can return any value.
    if lua.kind(-1) == ffi::LUA_TNUMBER && lua.raw_number(-1).is_nan() {
        work.fail_at_object(Problem::Key { what: "NaN" });
    }
    lua.replace(KEY);
    let Some(number) = number else { return };
    if lua.table(ORDER).is_none() {
        // The keys before this one are 1, 2, 3 and so on.
        lua.push_table(0);
        lua.replace(ORDER);
        let list = expect_list(work);
        for key in 1..number {
            lua.push_whole(key.into());
            lua.raw_set(list, key);
        }
    }
    if !matches!(lua.kind(KEY), ffi::LUA_TSTRING | ffi::LUA_TNUMBER | ffi::LUA_TBOOLEAN) {
        lua.raw_get(work.values, values::WEAK);
        lua.set_metatable_from_top(ORDER);
    }
    lua.push_value(KEY);
    lua.raw_set(expect_list(work), number);
}

/// Whether a table has as many keys as the list. Then the list has each of its keys once.
fn is_order(lua: State, table: Table, list: Table) -> bool {
    let mut left = lua.length(list.index());
    lua.push_nil();
    // SAFETY: [no-drop] the key is nil or comes from this loop, in which no Lua code runs.
    while unsafe { lua.next(table) } {
        lua.set_top(lua.top() - 1);
        let Some(fewer) = left.checked_sub(1) else {
            lua.set_top(ORDER);
            return false;
        };
        left = fewer;
    }
    left == 0
}

/// Stores the value on the top in the current table, under `key` or under the key that was taken last. `last` tells whether the
/// table is complete now.
pub(super) fn take_value(work: &Work<'_>, key: Option<c_int>, last: bool) {
    let lua = work.lua;
    let table = expect_table(work);
    match key {
        Some(key) => lua.raw_set(table, key),
        None => {
            lua.push_value(KEY);
            lua.push_value(-2);
            lua.raw_set_top(table);
            lua.set_top(ORDER);
        }
    }
    // A file may have a key twice, or a nil value. Then the order is not kept.
    if last
        && let Some(list) = lua.table(ORDER)
        && is_order(lua.state(), table, list)
    {
        lua.raw_get(work.values, values::ORDERS);
        if let Some(orders) = lua.table(-1) {
            lua.push_value(CONTAINER);
            lua.push_value(ORDER);
            lua.raw_set_top(orders);
        }
    }
}
