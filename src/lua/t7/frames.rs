//! The way down to the value in hand: frames in Rust, their Lua values beside them, and how a message names it.

use std::ffi::c_int;

use super::block::{Block, Engine, Open, step, values};
use crate::convert::Scalar;
use crate::lua::args::{Call, show};
use crate::lua::context::UPVALUES;
use crate::lua::fault::Fault;
use crate::lua::state::{Raising, State, Table};

/// A value that is being read or written, and is not whole. With each belong three Lua values, in the slots [`CONTAINER`], [`KEY`] and
/// [`ORDER`] of the function that works on it; those of the frames below are in the array `STACK`, three after the other.
#[derive(Clone, Copy)]
pub(super) enum Frame {
    /// A table: container, current key unless it is in `integer`, list of keys or nil.
    Table(TableFrame),
    /// Reading: an object (container) waits for a value, to be given to a function (key); the third is the value's name.
    Finish,
    /// A Lua function of a class is at work.
    Outside,
}

/// See [`Frame::Table`].
#[derive(Clone, Copy)]
pub(super) struct TableFrame {
    /// Pairs that are left.
    pub(super) left: usize,
    /// Keys so far.
    pub(super) seen: c_int,
    /// The current key, if it is a small whole number: then it is not in the slot.
    pub(super) integer: Option<c_int>,
    /// A value comes next, not a key.
    pub(super) has_key: bool,
    /// Reading: the order of the keys is to be remembered. Writing: it is remembered.
    pub(super) ordered: bool,
    /// The third slot has the list of the keys; a sequence needs none.
    pub(super) has_list: bool,
}

/// What the functions that [`guard`](super::block::guard) calls have besides our usual upvalues. Stack slots can be replaced by whoever is called
/// (`debug.setlocal`), a function's upvalues cannot: these are what `guard` made them.
pub(super) const FILE: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 1);

// SAFETY: [state] `lay_out` checks that this upvalue is a table before it is used.
pub(super) const VALUES: Table = unsafe { Table::upvalue(UPVALUES + 2) };

// SAFETY: [state] `lay_out` checks that this upvalue is a table before it is used.
pub(super) const OBJECTS: Table = unsafe { Table::upvalue(UPVALUES + 3) };

// SAFETY: [state] `lay_out` checks that this upvalue is a table before it is used.
pub(super) const STACK: Table = unsafe { Table::upvalue(UPVALUES + 4) };

/// Stack slots of the functions that load and save; the first two are arguments. After Lua code has run they may hold anything.
pub(super) const CONTAINER: c_int = 3;

pub(super) const KEY: c_int = 4;

pub(super) const ORDER: c_int = 5;

/// Calls a function of the Lua side, or of a class, that may use the file itself. The current frame's values are kept below
/// meanwhile, so that the way to what it reads or writes is known.
pub(super) fn call_outside(lua: Raising, block: &Block, arguments: c_int, results: c_int) {
    let depth = step(lua, block, |open| open.push_frame(Frame::Outside).map(|()| open.frames.len() - 1));
    for (slot, place) in slots(depth) {
        lua.push_value(slot);
        lua.raw_set(STACK, place);
    }
    block.busy.set(false);
    lua.call(arguments, results);
    block.busy.set(true);
    // What failed in there, and was caught there, may have left frames.
    step(lua, block, |open| open.leave_frames(depth));
    block.forget_fault();
}

/// Fills the slots of a function that loads or saves: see [`CONTAINER`] and those after it.
pub(super) fn lay_out(call: Call) -> Result<(), Fault> {
    let lua = call.state();
    if [VALUES, OBJECTS, STACK].into_iter().any(|table| lua.kind(table.index()) != mlua_sys::LUA_TTABLE) {
        return Err(Fault::new("the file is closed"));
    }
    lua.set_top(CONTAINER - 1);
    while lua.top() < ORDER {
        lua.push_nil();
    }
    Ok(())
}

/// The table in hand is a table still, and so is the list of its keys if it is needed.
pub(super) fn expect_tables(lua: Raising, block: &Block) -> Table {
    lua.table(CONTAINER).unwrap_or_else(|| step(lua, block, |_| Err(replaced())))
}

/// The list of the keys of the table in hand.
pub(super) fn expect_list(lua: Raising, block: &Block) -> Table {
    lua.table(ORDER).unwrap_or_else(|| step(lua, block, |_| Err(replaced())))
}

fn replaced() -> Fault {
    Fault::new("the table in hand was replaced, by debug.setlocal")
}

/// Puts the current frame's values below those of a new one, which is number `depth` from 0. The new one's slots are empty then.
pub(super) fn descend(lua: Raising, depth: usize) {
    for (slot, place) in slots(depth) {
        lua.push_value(slot);
        lua.raw_set(STACK, place);
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
    if let Some(values) = lua.table(-1) {
        lua.raw_get(values, values::STACK);
    }
    let mut path = String::new();
    let Some(stack) = lua.table(-1) else {
        lua.set_top(top);
        return path;
    };
    let is_writing = matches!(open.engine, Engine::Writing(_));
    for (number, frame) in open.frames.iter().enumerate() {
        let value_in = |slot| {
            if number + 1 == open.frames.len() {
                lua.push_value(slot);
            } else {
                let place = slots(number + 1).find(|(own, _)| *own == slot).map_or(0, |(_, place)| place);
                lua.raw_get(stack, place);
            }
            let name = name(lua);
            lua.set_top(stack.index());
            name
        };
        let name = match frame {
            Frame::Table(TableFrame { has_key: true, integer: Some(place), .. }) => place.to_string(),
            Frame::Table(table) if table.has_key || is_writing => value_in(KEY),
            Frame::Finish => value_in(ORDER),
            Frame::Table(_) | Frame::Outside => continue,
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
