//! Messages name the current value by its path in the loaded or saved object, like `layers.3.weight`.

use std::ffi::c_int;

use super::block::{Engine, Open, values};
use super::slots::{KEY, ORDER, kept};
use super::writing;
use crate::error::Error;
use crate::lua::args::{Call, show};
use crate::lua::fault::Fault;
use crate::lua::state::State;
use crate::t7::{Key, Level, Problem};

/// The part that a table or object adds to the path.
enum Part {
    Nothing,
    /// A key that is a small whole number.
    Whole(c_int),
    /// The value in a stack slot: see `slots.rs`.
    Slot(c_int),
}

/// The path to the current value. The values of the innermost table or object are in the slots of the running function, and the
/// others are in the table.
fn path(call: Call, open: &Open) -> String {
    /// The largest length of a path in a message, in bytes.
    const MOST: usize = 400;
    let lua = call.state();
    let top = lua.top();
    let mut path = String::new();
    lua.push_referenced(open.values);
    if let Some(values) = lua.table(-1) {
        lua.raw_get(values, values::STACK);
    }
    if let Some(stack) = lua.table(-1) {
        let base = lua.top();
        let depth = open.depth();
        for number in 0..depth {
            let name = match part(open, number) {
                Part::Nothing => continue,
                Part::Whole(key) => key.to_string(),
                Part::Slot(slot) => {
                    if number + 1 == depth {
                        lua.push_value(slot);
                    } else {
                        let index = kept(number + 1).find(|(own, _)| *own == slot).map_or(0, |(_, index)| index);
                        lua.raw_get(stack, index);
                    }
                    name(lua)
                }
            };
            lua.set_top(base);
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
    }
    lua.set_top(top);
    path
}

fn part(open: &Open, number: usize) -> Part {
    match &open.engine {
        Engine::Writing(writing) => match writing.levels.get(number) {
            Some(writing::Level::Table(_)) => Part::Slot(KEY),
            Some(writing::Level::Callback) | None => Part::Nothing,
        },
        Engine::Reading(reader) => match reader.levels().get(number) {
            Some(Level::Object) => Part::Slot(ORDER),
            Some(Level::Table(table)) => match table.key() {
                Key::Missing => Part::Nothing,
                Key::Whole(key) => Part::Whole(key),
                Key::Delivered => Part::Slot(KEY),
            },
            Some(Level::Callback) | None => Part::Nothing,
        },
    }
}

/// The value on the top as a part of a path.
fn name(lua: State) -> String {
    const SHOWN: usize = 80;
    match lua.kind(-1) {
        mlua_sys::LUA_TSTRING => {
            // SAFETY: [live] the string stays on the top while it is copied.
            let bytes = unsafe { lua.string(-1) }.unwrap_or_default();
            String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).replace(char::is_control, "?")
        }
        mlua_sys::LUA_TNUMBER => show(lua.raw_scalar(-1)),
        mlua_sys::LUA_TBOOLEAN => lua.boolean(-1).to_string(),
        mlua_sys::LUA_TNIL => String::new(),
        _ => format!("[{}]", lua.kind_name(-1)),
    }
}

/// Where the current value is, for a message: ` at ` and its path, or nothing for the outermost value.
fn location(call: Call, open: &Open) -> String {
    let path = path(call, open);
    if path.is_empty() { path } else { format!(" at {path}") }
}

/// An error of the reader, with the path to the current value.
pub(super) fn located(call: Call, open: &Open, error: Error) -> Fault {
    match error {
        Error::Malformed(malformed) => {
            let path = path(call, open);
            let path = if path.is_empty() { path } else { format!(" ({path})") };
            Fault::new(format!("at byte {}{path}: {malformed}", malformed.offset))
        }
        error => error.into(),
    }
}

/// Fails with a problem at the position of the reader.
pub(super) fn wrong<R>(call: Call, open: &mut Open, problem: Problem) -> Result<R, Fault> {
    let error = open.reader()?.malformed(problem);
    Err(located(call, open, error))
}

/// Fails with a problem of the last object.
pub(super) fn wrong_object<R>(call: Call, open: &mut Open, problem: Problem) -> Result<R, Fault> {
    let error = open.reader()?.malformed_object(problem);
    Err(located(call, open, error))
}

/// Fails because a value cannot be saved: `cannot save WHAT at PATH: WHY`.
pub(super) fn refuse<R>(call: Call, open: &Open, what: &str, why: &str) -> Result<R, Fault> {
    Err(Fault::new(format!("cannot save {what}{}: {why}", location(call, open))))
}

/// The message at a stack index, which `records.lua` has made. A long one is cut.
pub(super) fn message(lua: State, index: c_int) -> String {
    const SHOWN: usize = 1024;
    // SAFETY: [live] the string stays in its slot while it is copied.
    let text = unsafe { lua.string(index) }.unwrap_or_default();
    String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned()
}
