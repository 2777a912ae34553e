//! Loading tables: pair after pair, and the order of their keys.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::wrong_object;
use crate::lua::args::Call;
use crate::lua::state::State;
use crate::lua::t7::block::{Block, Open, VALUES, step, values};
use crate::lua::t7::frames::{CONTAINER, KEY, ORDER, expect_tables};
use crate::t7::Problem;

/// The value on the top becomes the key of the table in hand. `number` is which one, from 1, if the order of the keys is kept.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn take_key(call: Call, block: &Block, number: Option<c_int>) {
    let lua = call.state();
    // The reader refuses nil and NaN, but a class can make anything of its objects.
    if lua.kind(-1) == ffi::LUA_TNUMBER && lua.raw_number(-1).is_nan() {
        let nan = |open: &mut Open| wrong_object::<()>(call, open, Problem::Key { what: "NaN" });
        // SAFETY: as the caller says, here and below.
        unsafe { step(call, block, nan) };
    }
    lua.replace(KEY);
    let Some(number) = number else { return };
    if lua.kind(ORDER) != ffi::LUA_TTABLE {
        // The keys so far were 1, 2, 3 and so on.
        // SAFETY: see above.
        unsafe { lua.push_table(0) };
        lua.replace(ORDER);
        for key in 1..number {
            lua.push_number(f64::from(key));
            // SAFETY: see above; `ORDER` is a table.
            unsafe { lua.raw_set(ORDER, key) };
        }
    }
    if !matches!(lua.kind(KEY), ffi::LUA_TSTRING | ffi::LUA_TNUMBER | ffi::LUA_TBOOLEAN) {
        lua.raw_get(VALUES, values::WEAK);
        if lua.kind(-1) == ffi::LUA_TTABLE {
            // SAFETY: the top and `ORDER` are tables.
            unsafe { lua.set_metatable(ORDER) };
        } else {
            lua.set_top(ORDER);
        }
    }
    lua.push_value(KEY);
    // SAFETY: see above; `ORDER` is a table.
    unsafe { lua.raw_set(ORDER, number) };
}

/// Whether the list has each key of a table once, and no others. Both are in their slots.
fn is_order(lua: State) -> bool {
    let mut left = lua.length(ORDER);
    lua.push_nil();
    while lua.next(CONTAINER) {
        lua.set_top(lua.top() - 1);
        let Some(fewer) = left.checked_sub(1) else {
            lua.set_top(ORDER);
            return false;
        };
        left = fewer;
    }
    left == 0
}

/// The value on the top goes to the table in hand, under `key` or under the key that was taken last. `last`: the table is whole.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn take_value(call: Call, block: &Block, key: Option<c_int>, last: bool) {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    unsafe { expect_tables(call, block, false) };
    match key {
        // SAFETY: see above; `CONTAINER` is a table.
        Some(key) => unsafe { lua.raw_set(CONTAINER, key) },
        None => {
            lua.push_value(KEY);
            lua.push_value(-2);
            // SAFETY: see above; the key is neither nil nor NaN.
            unsafe { lua.raw_set_top(CONTAINER) };
            lua.set_top(ORDER);
        }
    }
    // A file may have a key twice, or with nil.
    if last && lua.kind(ORDER) == ffi::LUA_TTABLE && is_order(lua) {
        lua.raw_get(VALUES, values::ORDERS);
        if lua.kind(-1) == ffi::LUA_TTABLE {
            lua.push_value(CONTAINER);
            lua.push_value(ORDER);
            // SAFETY: see above.
            unsafe { lua.raw_set_top(-3) };
        }
    }
}
