//! Loading tables: pair after pair, and the order of their keys.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::wrong_object;
use crate::convert::Number;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::state::{Raising, State, Table};
use crate::lua::t7::block::{Block, Engine, Open, step, values};
use crate::lua::t7::frames::{CONTAINER, Frame, KEY, ORDER, TableFrame, VALUES, expect_list, expect_tables};
use crate::t7::{Head, Problem};

/// Pairs of numbers, which most large tables have, many at once.
pub(super) fn next_pairs(open: &mut Open) -> Result<Option<*const [(c_int, f64)]>, Fault> {
    let (Some(Frame::Table(frame)), Engine::Reading(reader)) = (open.frames.last_mut(), &mut open.engine) else {
        return Ok(None);
    };
    // Of an ordered table only while it is a sequence.
    if frame.has_key || frame.left < 2 || frame.has_list {
        return Ok(None);
    }
    let room = open.pairs.len().min(frame.left - 1);
    let next = frame.ordered.then(|| frame.seen.saturating_add(1));
    let count = reader.number_pairs(&mut open.pairs[..room], next)?;
    if count == 0 {
        return Ok(None);
    }
    frame.left -= count;
    frame.seen = frame.seen.saturating_add(c_int::try_from(count).unwrap_or(0));
    Ok(Some(std::ptr::from_ref(&open.pairs[..count])))
}

/// The key of the next pair, if it is one of an array: it is taken here, and the value comes next. Another number is given to be
/// taken as every other key.
pub(super) fn next_place(open: &mut Open) -> Result<Option<f64>, Error> {
    let (Some(Frame::Table(frame)), Engine::Reading(reader)) = (open.frames.last_mut(), &mut open.engine) else {
        return Ok(None);
    };
    if frame.has_key || frame.has_list || !reader.is_number_next()? {
        return Ok(None);
    }
    let Head::Number(number) = reader.head()? else { return Ok(None) };
    let place = frame.seen.saturating_add(1);
    let whole = number.convert::<i32>();
    if f64::from(whole) != number || if frame.ordered { whole != place } else { whole < 1 } {
        return Ok(Some(number));
    }
    (frame.has_key, frame.integer, frame.seen) = (true, Some(whole), place);
    Ok(None)
}

/// The value on the top becomes the key of the table in hand.
pub(super) fn take_key(lua: Raising, call: Call, block: &Block, frame: TableFrame) {
    let take = |open: &mut Open| {
        let number = match lua.kind(-1) {
            ffi::LUA_TNIL => return wrong_object(call, open, Problem::Key { what: "nil" }),
            ffi::LUA_TNUMBER => lua.raw_number(-1),
            _ => 0.0,
        };
        if number.is_nan() {
            return wrong_object(call, open, Problem::Key { what: "NaN" });
        }
        let whole = number.convert::<i32>();
        let integer = (whole > 0 && f64::from(whole) == number).then_some(whole);
        if let Some(Frame::Table(frame)) = open.frames.last_mut() {
            (frame.has_key, frame.integer) = (true, integer);
            frame.seen = frame.seen.saturating_add(1);
            frame.has_list |= frame.ordered && integer != Some(frame.seen);
        }
        Ok(integer)
    };
    let integer = step(lua, block, take);
    lua.replace(KEY);
    let place = frame.seen.saturating_add(1);
    let list = lua.table(ORDER);
    // The keys of a sequence need no list.
    if !frame.ordered || list.is_none() && integer == Some(place) {
        return;
    }
    if list.is_none() {
        lua.push_table(0);
        lua.replace(ORDER);
    }
    let order = expect_list(lua, block);
    if list.is_none() {
        for key in 1..place {
            lua.push_number(f64::from(key));
            lua.raw_set(order, key);
        }
    }
    if !matches!(lua.kind(KEY), ffi::LUA_TSTRING | ffi::LUA_TNUMBER | ffi::LUA_TBOOLEAN) {
        lua.raw_get(VALUES, values::WEAK);
        match lua.table(-1) {
            Some(weak) => lua.set_metatable(ORDER, weak),
            None => lua.set_top(ORDER),
        }
    }
    lua.push_value(KEY);
    lua.raw_set(order, place);
}

/// Whether the list has each key of a table once, and no others. Both are in their slots.
fn is_order(lua: State, container: Table) -> bool {
    let mut left = lua.length(ORDER);
    lua.push_nil();
    while lua.next(container) {
        lua.set_top(lua.top() - 1);
        let Some(fewer) = left.checked_sub(1) else {
            lua.set_top(ORDER);
            return false;
        };
        left = fewer;
    }
    left == 0
}

/// The value on the top goes to the table in hand. True if it was the last.
pub(super) fn take_value(lua: Raising, block: &Block, frame: TableFrame) -> bool {
    let container = expect_tables(lua, block);
    match frame.integer {
        Some(key) => lua.raw_set(container, key),
        None => {
            lua.push_value(KEY);
            lua.push_value(-2);
            lua.raw_set_top(container);
            lua.set_top(ORDER);
        }
    }
    let take = |open: &mut Open| {
        let Some(Frame::Table(frame)) = open.frames.last_mut() else { return Ok(true) };
        (frame.has_key, frame.integer) = (false, None);
        frame.left -= 1;
        Ok(frame.left == 0)
    };
    if !step(lua, block, take) {
        return false;
    }
    // A file may have a key twice, or with nil.
    if lua.kind(ORDER) == ffi::LUA_TTABLE && is_order(lua.state(), container) {
        lua.raw_get(VALUES, values::ORDERS);
        if let Some(orders) = lua.table(-1) {
            lua.push_value(CONTAINER);
            lua.push_value(ORDER);
            lua.raw_set_top(orders);
        }
    }
    true
}
