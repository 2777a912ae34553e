//! The way down to the value in hand: frames in Rust, their Lua values beside them, and how a message names it.

use std::ffi::c_int;

use super::block::{Block, Engine, OBJECTS, Open, STACK, VALUES, step, values};
use super::writing;
use crate::convert::Scalar;
use crate::lua::args::{Call, show};
use crate::lua::fault::Fault;
use crate::lua::state::State;
use crate::t7::{Key, Level};

/// Stack slots of the functions that load and save; the first two are arguments. After Lua code has run they may hold anything.
pub(super) const CONTAINER: c_int = 3;

pub(super) const KEY: c_int = 4;

pub(super) const ORDER: c_int = 5;

/// Calls a function of the Lua side, or of a class, that may use the file itself. The current frame's values are kept below
/// meanwhile, so that the way to what it reads or writes is known.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed.
pub(super) unsafe fn call_outside(call: Call, block: &Block, arguments: c_int, results: c_int) {
    // SAFETY: as the caller says.
    let depth = unsafe { step(call, block, Open::step_aside) };
    let lua = call.state();
    for (slot, place) in slots(depth) {
        lua.push_value(slot);
        // SAFETY: `STACK` is a table; nothing droppable is alive.
        unsafe { lua.raw_set(STACK, place) };
    }
    block.busy.set(false);
    // SAFETY: as the caller says.
    unsafe { lua.call(arguments, results) };
    block.busy.set(true);
    // What failed in there, and was caught there, may have left frames.
    // SAFETY: as the caller says.
    unsafe { leave_to(call, block, depth) };
    block.forget_fault();
}

/// Leaves all tables and objects but the first `depth`.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn leave_to(call: Call, block: &Block, depth: usize) {
    let leave = |open: &mut Open| {
        open.leave_to(depth);
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { step(call, block, leave) };
}

/// Fills the slots of a function that loads or saves: see [`CONTAINER`] and those after it.
pub(super) fn lay_out(call: Call) -> Result<(), Fault> {
    let lua = call.state();
    if [VALUES, OBJECTS, STACK].into_iter().any(|table| lua.kind(table) != mlua_sys::LUA_TTABLE) {
        return Err(Fault::new("the file is closed"));
    }
    lua.set_top(CONTAINER - 1);
    while lua.top() < ORDER {
        lua.push_nil();
    }
    Ok(())
}

/// The table in hand is a table still, and so is the list of its keys if it is needed.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn expect_tables(call: Call, block: &Block, with_list: bool) {
    let is_table = |slot| call.state().kind(slot) == mlua_sys::LUA_TTABLE;
    if !is_table(CONTAINER) || with_list && !is_table(ORDER) {
        // SAFETY: as the caller says.
        unsafe { step::<()>(call, block, |_| Err(Fault::new("the table in hand was replaced, by debug.setlocal"))) }
    }
}

/// Puts the current frame's values below those of a new one, which is number `depth` from 0. The new one's slots are empty then.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn descend(lua: State, depth: usize) {
    for (slot, place) in slots(depth) {
        lua.push_value(slot);
        // SAFETY: `STACK` is a table; nothing droppable is alive.
        unsafe { lua.raw_set(STACK, place) };
        lua.push_nil();
        lua.replace(slot);
    }
}

/// Takes the values of the frame below number `depth` back.
pub(super) fn ascend(lua: State, depth: usize) {
    for (slot, place) in slots(depth) {
        lua.raw_get(STACK, place);
        lua.replace(slot);
    }
}

/// The slots, and where in `STACK` their values are while frame number `depth` is the current one.
pub(super) fn slots(depth: usize) -> impl Iterator<Item = (c_int, c_int)> {
    // More than 2^29 frames are not reached: they take memory.
    let first = c_int::try_from(depth).unwrap_or(0).saturating_mul(3).saturating_add(1);
    (CONTAINER..=ORDER).zip(first..)
}

/// The way from the whole to the value in hand, for messages: `layers.3.weight`. The slots are those of the function that works on the
/// last frame, unless that is [`Frame::Outside`].
pub(super) fn path(call: Call, open: &Open) -> String {
    /// Bytes of a path in a message.
    const MOST: usize = 400;
    let lua = call.state();
    let top = lua.top();
    lua.push_referenced(open.values);
    if lua.kind(-1) == mlua_sys::LUA_TTABLE {
        lua.raw_get(-1, values::STACK);
    }
    let mut path = String::new();
    let stack = lua.top();
    let depth = open.depth();
    for number in (0..depth).filter(|_| lua.kind(stack) == mlua_sys::LUA_TTABLE) {
        let value_in = |slot| {
            if number + 1 == depth {
                lua.push_value(slot);
            } else {
                let place = slots(number + 1).find(|(own, _)| *own == slot).map_or(0, |(_, place)| place);
                lua.raw_get(stack, place);
            }
            let name = name(lua);
            lua.set_top(stack);
            name
        };
        let name = match part(open, number) {
            Part::Whole(number) => number.to_string(),
            Part::In(slot) => value_in(slot),
            Part::Nothing => continue,
        };
        if name.is_empty() {
            continue;
        }
        if path.len() + name.len() > MOST {
            path.push_str(" ...");
            break;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&name);
    }
    lua.set_top(top);
    path
}

/// What a table or object adds to the path.
enum Part {
    Nothing,
    /// A key that is a small whole number.
    Whole(c_int),
    /// What is in a slot.
    In(c_int),
}

fn part(open: &Open, number: usize) -> Part {
    match &open.engine {
        Engine::Writing(writing) => match writing.levels.get(number) {
            Some(writing::Level::Table(_)) => Part::In(KEY),
            Some(writing::Level::Apart) | None => Part::Nothing,
        },
        Engine::Reading(reader) => match reader.levels().get(number) {
            Some(Level::Object) => Part::In(ORDER),
            Some(Level::Table(table)) => match table.key() {
                Key::Missing => Part::Nothing,
                Key::Whole(key) => Part::Whole(key),
                Key::Delivered => Part::In(KEY),
            },
            Some(Level::Apart) | None => Part::Nothing,
        },
    }
}

/// What the Lua side says is wrong. Nobody reads more of it.
pub(super) fn message(text: &[u8]) -> String {
    const SHOWN: usize = 1024;
    String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned()
}

/// The value on the top as a part of a path.
pub(super) fn name(lua: State) -> String {
    const SHOWN: usize = 80;
    match lua.kind(-1) {
        mlua_sys::LUA_TSTRING => {
            let bytes = lua.string(-1).unwrap_or_default();
            String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).replace(char::is_control, "?")
        }
        mlua_sys::LUA_TNUMBER => show(Scalar::Float(lua.raw_number(-1))),
        mlua_sys::LUA_TBOOLEAN => lua.boolean(-1).to_string(),
        mlua_sys::LUA_TNIL => String::new(),
        _ => format!("[{}]", lua.kind_name(-1)),
    }
}
