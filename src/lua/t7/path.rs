//! Messages name the current value by its path in the loaded or saved object, like `layers.3.weight`.

use std::ffi::c_int;
use std::fmt::{self, Display, Write};

use super::block::{Engine, Open, values};
use super::slots::{KEY, ORDER, kept};
use super::writing;
use crate::error::Error;
use crate::lua::args::{Call, show};
use crate::lua::fault::{Fault, written};
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

/// The path to a value, for messages.
struct Path {
    bytes: [u8; Self::MOST],
    length: usize,
    /// Whether there was no room for the rest.
    is_cut: bool,
}

impl Path {
    /// The largest length of a path in a message, in bytes.
    const MOST: usize = 400;

    /// Adds a part. Answers false if there is no room for it.
    fn push(&mut self, part: impl Display) -> bool {
        let before = self.length;
        let dot = if before > 0 { "." } else { "" };
        self.is_cut = write!(self, "{dot}{part}").is_err();
        if self.is_cut {
            self.length = before;
        }
        !self.is_cut
    }

    fn is_empty(&self) -> bool {
        self.length == 0 && !self.is_cut
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default())?;
        f.write_str(if self.is_cut { " ..." } else { "" })
    }
}

/// The path to the current value. The values of the innermost table or object are in the slots of the running function, and the
/// others are in the table.
fn path(call: Call, open: &Open) -> Path {
    let lua = call.state();
    let top = lua.top();
    let mut path = Path { bytes: [0; Path::MOST], length: 0, is_cut: false };
    lua.push_referenced(open.values);
    if let Some(values) = lua.table(-1) {
        lua.raw_get(values, values::STACK);
    }
    if let Some(stack) = lua.table(-1) {
        let base = lua.top();
        let depth = open.depth();
        for number in 0..depth {
            let fits = match part(open, number) {
                Part::Nothing => true,
                Part::Whole(key) => path.push(key),
                Part::Slot(slot) => {
                    if number + 1 == depth {
                        lua.push_value(slot);
                    } else {
                        let index = kept(number + 1).find(|(own, _)| *own == slot).map_or(0, |(_, index)| index);
                        lua.raw_get(stack, index);
                    }
                    // SAFETY: [live] the string stays on the top while it is looked at.
                    let text = unsafe { lua.string(-1) };
                    let is_named = lua.kind(-1) != mlua_sys::LUA_TNIL && text.is_none_or(|name| !name.is_empty());
                    !is_named || path.push(name(lua))
                }
            };
            lua.set_top(base);
            if !fits {
                break;
            }
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
fn name(lua: State) -> impl Display {
    const SHOWN: usize = 80;
    written(move |f| match lua.kind(-1) {
        mlua_sys::LUA_TSTRING => {
            // SAFETY: [live] the string stays on the top while it is copied.
            let bytes = unsafe { lua.string(-1) }.unwrap_or_default();
            bytes[..bytes.len().min(SHOWN)].utf8_chunks().try_for_each(|chunk| {
                chunk.valid().chars().try_for_each(|letter| f.write_char(if letter.is_control() { '?' } else { letter }))?;
                if chunk.invalid().is_empty() { Ok(()) } else { f.write_char(char::REPLACEMENT_CHARACTER) }
            })
        }
        mlua_sys::LUA_TNUMBER => write!(f, "{}", show(lua.raw_scalar(-1))),
        mlua_sys::LUA_TBOOLEAN => write!(f, "{}", lua.boolean(-1)),
        _ => write!(f, "[{}]", lua.kind_name(-1)),
    })
}

/// An error of the reader, with the path to the current value.
pub(super) fn located(call: Call, open: &Open, error: Error) -> Fault {
    match error {
        Error::Malformed(malformed) => match path(call, open) {
            path if path.is_empty() => Fault::new(format_args!("at byte {}: {malformed}", malformed.offset)),
            path => Fault::new(format_args!("at byte {} ({path}): {malformed}", malformed.offset)),
        },
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

/// Fails because a value cannot be saved: `cannot save WHAT at PATH: WHY`. The outermost value has no path.
pub(super) fn refuse<R>(call: Call, open: &Open, what: impl Display, why: impl Display) -> Result<R, Fault> {
    Err(match path(call, open) {
        path if path.is_empty() => Fault::new(format_args!("cannot save {what}: {why}")),
        path => Fault::new(format_args!("cannot save {what} at {path}: {why}")),
    })
}

/// The message at a stack index, which `records.lua` has made.
pub(super) fn message(lua: State, index: c_int) -> impl Display {
    const SHOWN: usize = 1024;
    // SAFETY: [live] the string stays in its slot while it is copied.
    let text = unsafe { lua.string(index) }.unwrap_or_default();
    written(move |f| {
        let mut chunks = text[..text.len().min(SHOWN)].utf8_chunks();
        chunks.try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            if chunk.invalid().is_empty() { Ok(()) } else { f.write_char(char::REPLACEMENT_CHARACTER) }
        })
    })
}
