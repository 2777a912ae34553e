//! Messages name the current value by its path in the loaded or saved object, like `layers.3.weight`. The methods of `Work` that read or
//! refuse something are here, because their errors have such messages.

use std::convert::Infallible;
use std::ffi::c_int;
use std::fmt::{self, Display, Write};

use super::open::{Engine, Open, Work, slots};
use crate::error::Error;
use crate::lua::args::show;
use crate::lua::fault::{Fault, written};
use crate::lua::file::File;
use crate::lua::state::State;
use crate::t7::{Key, Level, Problem, Reader};

/// The name of a value in the table or object around it.
enum Name {
    Unknown,
    /// A key that is a small whole number.
    Whole(c_int),
    /// The value in a stack slot.
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

    /// Adds a part. Returns false if there is no room for it.
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
/// others are in the table of values.
#[cold]
#[inline(never)]
fn path(work: &Work<'_>, open: &Open) -> Path {
    let lua = work.lua.state();
    let top = lua.top();
    let mut path = Path { bytes: [0; Path::MOST], length: 0, is_cut: false };
    let depth = open.depth();
    for number in 0..depth {
        let fits = match name(open, number) {
            Name::Unknown => true,
            Name::Whole(key) => path.push(key),
            Name::Slot(slot) => {
                if number + 1 == depth {
                    lua.push_value(slot);
                } else {
                    let index = Open::kept(number + 1).find(|(own, _)| *own == slot).map_or(0, |(_, index)| index);
                    lua.raw_get(work.values, index);
                }
                // SAFETY: [live] the string stays on the top while it is looked at.
                let text = unsafe { lua.string(-1) };
                let is_named = lua.kind(-1) != mlua_sys::LUA_TNIL && text.is_none_or(|name| !name.is_empty());
                !is_named || path.push(shown_name(lua))
            }
        };
        lua.set_top(top);
        if !fits {
            break;
        }
    }
    path
}

/// The name of the value that comes next in a table or object.
fn name(open: &Open, number: usize) -> Name {
    match &open.engine {
        Engine::Writing(writing) => writing.levels[number].map_or(Name::Unknown, |_| Name::Slot(slots::KEY)),
        Engine::Reading(reader) => match &reader.levels()[number] {
            Level::Object => Name::Slot(slots::ORDER),
            Level::Table(table) => match table.key() {
                Key::Missing => Name::Unknown,
                Key::Whole(key) => Name::Whole(key),
                Key::Delivered => Name::Slot(slots::KEY),
            },
            Level::Callback => Name::Unknown,
        },
    }
}

/// The value on the top as a part of a path.
fn shown_name(lua: State) -> impl Display {
    const SHOWN: usize = 80;
    written(move |f| match lua.kind(-1) {
        mlua_sys::LUA_TSTRING => {
            // SAFETY: [live] the string stays on the top while it is copied.
            let bytes = unsafe { lua.string(-1) }.unwrap_or_default();
            write_start(f, bytes, SHOWN, |letter| if letter.is_control() { '?' } else { letter })
        }
        mlua_sys::LUA_TNUMBER => write!(f, "{}", show(lua.raw_scalar(-1))),
        mlua_sys::LUA_TBOOLEAN => write!(f, "{}", lua.boolean(-1)),
        _ => write!(f, "[{}]", lua.kind_name(-1)),
    })
}

/// An error of the reader, with the path to the current value.
pub(super) fn located(work: &Work<'_>, open: &Open, error: Error) -> Fault {
    match error {
        Error::Malformed(malformed) => match path(work, open) {
            path if path.is_empty() => Fault::new(format_args!("at byte {}: {malformed}", malformed.offset)),
            path => Fault::new(format_args!("at byte {} ({path}): {malformed}", malformed.offset)),
        },
        error => error.into(),
    }
}

/// Fails because a value cannot be saved: `cannot save WHAT at PATH: WHY`. The outermost value has no path.
#[cold]
#[inline(never)]
pub(super) fn refuse<R>(work: &Work<'_>, open: &Open, what: impl Display, why: impl Display) -> Result<R, Fault> {
    Err(match path(work, open) {
        path if path.is_empty() => Fault::new(format_args!("cannot save {what}: {why}")),
        path => Fault::new(format_args!("cannot save {what} at {path}: {why}")),
    })
}

impl Work<'_> {
    /// Calls `act` with the reader. Raises if the file is not open for reading. An error of `act` gets the path to the current value.
    pub(super) fn read<R: Copy>(&self, act: impl FnOnce(&mut Reader) -> Result<R, Error>) -> R {
        self.step(|open| act(open.reader()?).map_err(|error| located(self, open, error)))
    }

    /// Raises because a value cannot be saved.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&self, what: impl Display, why: impl Display) -> ! {
        match self.step(|open| refuse::<Infallible>(self, open, &what, &why)) {}
    }

    /// Raises a problem at the position of the reader.
    #[cold]
    #[inline(never)]
    pub(super) fn fail_at_position(&self, problem: Problem) -> ! {
        match self.read(|reader| Err::<Infallible, _>(reader.malformed(problem))) {}
    }

    /// Raises a problem of the object that was read last.
    #[cold]
    #[inline(never)]
    pub(super) fn fail_at_object(&self, problem: Problem) -> ! {
        match self.read(|reader| Err::<Infallible, _>(reader.malformed_object(problem))) {}
    }
}

/// The message at a stack index, which `records.lua` has made.
pub(super) fn message(lua: State, index: c_int) -> impl Display {
    const SHOWN: usize = 1024;
    // SAFETY: [live] the string stays in its slot while it is copied.
    let text = unsafe { lua.string(index) }.unwrap_or_default();
    written(move |f| write_start(f, text, SHOWN, |letter| letter))
}

/// Writes the first `most` bytes of a text.
fn write_start(f: &mut fmt::Formatter<'_>, text: &[u8], most: usize, show: fn(char) -> char) -> fmt::Result {
    text[..text.len().min(most)].utf8_chunks().try_for_each(|chunk| {
        chunk.valid().chars().try_for_each(|letter| f.write_char(show(letter)))?;
        if chunk.invalid().is_empty() { Ok(()) } else { f.write_char(char::REPLACEMENT_CHARACTER) }
    })
}
