//! Saving: Lua values to an open file.

mod identity;
mod leaves;
mod tables;

use std::ffi::c_int;

use mlua_sys as ffi;

use super::block::{Open, values};
use super::guard::{FILE, Work, file_functions};
use super::pace::keep_pace;
use super::path::{message, place, refuse};
use super::slots::{ORDER, call_outside, lay_out};
use super::writing::DEEPEST;
use crate::element::DType;
use crate::lua::fault::Fault;
use crate::lua::state::CDATA;
use crate::lua::steps::changed;
use crate::lua::userdata;
use crate::t7::tag;
pub use identity::index;
use identity::{index_of, push_identity, remember_storage};
use leaves::{at_path, write_leaf};
use tables::{advance, begin_table};

file_functions! {
    /// `file:writeObject(object)`: for `write` of a class.
    pub fn write_object(work) -> 1 {
        work.step(|open| open.writing().map(|_| ()));
        save_object(work, 2);
        work.lua.push_nil();
    }
}

/// Writes the object at a stack index below [`ORDER`].
pub(super) fn save_object(work: &Work<'_>, slot: c_int) {
    lay_out(work);
    work.lua.push_value(slot);
    loop {
        write(work);
        if !advance(work) {
            return;
        }
        keep_pace(work);
    }
}

/// Writes the value on the top, and pops it. Of a table it writes the beginning, and enters it.
fn write(work: &Work<'_>) {
    let (lua, call) = (work.lua, work.call);
    let own_ways = work.block.request.get().own_ways;
    loop {
        let leaf = |open: &mut Open| {
            let is_leaf = write_leaf(lua.state(), &mut open.writing()?.writer, -1);
            is_leaf.map_err(|error| at_path(call, open, error))
        };
        if work.step(leaf) {
            return lua.set_top(ORDER);
        }
        let kind = lua.kind(-1);
        let storage = userdata::payload(lua.state(), -1).map(|(_, dtype)| dtype);
        if let Some(dtype) = storage.filter(|dtype| own_ways & (1 << dtype.number()) == 0) {
            return write_storage(work, dtype);
        }
        let asks = match kind {
            ffi::LUA_TTABLE => lua.has_metatable(-1),
            ffi::LUA_TUSERDATA | CDATA => true,
            _ => false,
        };
        match if asks { ask(work) } else { Asked::Nothing } {
            Asked::Done => return lua.set_top(ORDER),
            // What is left of it is on the top.
            Asked::Rest => {}
            Asked::Nothing if kind == ffi::LUA_TTABLE => return begin_table(work),
            Asked::Nothing => {
                work.step(|open| refuse::<()>(call, open, &format!("<{}>", call.name_of(-1))));
            }
        }
    }
}

/// Writes the storage on the top, and pops it.
fn write_storage(work: &Work<'_>, dtype: DType) {
    let (lua, call) = (work.lua, work.call);
    let identify = |open: &mut Open| {
        if !dtype.is_in_torch7() {
            let (class, place) = (dtype.class_name(), place(call, open));
            return Err(Fault::new(format!("cannot save a {class}{place}: Torch7 has no such class")));
        }
        push_identity(call, open, -1, 0)
    };
    work.step(identify);
    let (index, is_known) = index_of(work);
    let storage = lua.top();
    remember_storage(work, index, storage);
    let begin = |open: &mut Open| {
        let found = userdata::payload(lua.state(), storage).and_then(|(payload, _)| userdata::storage(payload));
        let Some(size) = found.map(|found| found.size()) else { return refuse(call, open, "a storage that was freed,") };
        let writing = open.writing()?;
        let writer = &mut writing.writer;
        writer.int(tag::OBJECT)?;
        writer.int(index)?;
        if !is_known {
            writer.string(b"V 1")?;
            writer.string(dtype.class_name().as_bytes())?;
            writer.long(i64::try_from(size).unwrap_or(i64::MAX))?;
        }
        writing.chain = 0;
        Ok(size)
    };
    let size = work.step(begin);
    if !is_known {
        write_elements(work, storage, size);
    }
    lua.set_top(ORDER);
}

/// Writes all elements of the storage at a stack index, a piece after the other.
pub(super) fn write_elements(work: &Work<'_>, storage: c_int, size: usize) {
    /// Bytes of a piece.
    const PIECE: usize = 16 << 20;
    let mut done = 0;
    while done < size {
        let write = |open: &mut Open| {
            // Looked up each time: between two pieces Lua code may run.
            let found = userdata::payload(work.lua.state(), storage).and_then(|(payload, _)| userdata::storage(payload));
            let found = found.filter(|found| found.size() == size).ok_or_else(changed)?;
            let width = found.dtype().width();
            let now = (PIECE / width).min(size - done);
            let source = found.data().wrapping_add(done * width);
            // SAFETY: [live] [in-bounds] [alias] the range is inside the storage.
            unsafe { open.writing()?.writer.elements(found.dtype(), source, now) }?;
            Ok(now)
        };
        done += work.step(write);
        if done < size {
            keep_pace(work);
        }
    }
    work.step(|open| Ok(open.writing()?.writer.end_of_elements()?));
}

/// What the Lua side does with a value.
enum Asked {
    /// It knows nothing of it.
    Nothing,
    /// It has written it.
    Done,
    /// It has written its beginning; the rest, a value, is on the top in its place.
    Rest,
}

/// Asks the Lua side to write the value on the top.
fn ask(work: &Work<'_>) -> Asked {
    let (lua, call) = (work.lua, work.call);
    let value = lua.top();
    lua.raw_get(work.values, values::CLASSES);
    lua.push_value(value);
    lua.push_value(FILE);
    call_outside(work, 2, 3);
    // Whether it is written; whether something is left, or what is wrong; what is left.
    match (lua.kind(-3), lua.kind(-2)) {
        (ffi::LUA_TBOOLEAN, ffi::LUA_TBOOLEAN) if lua.boolean(-2) => {
            lua.replace(value);
            lua.set_top(value);
            let further = |open: &mut Open| {
                let writing = open.writing()?;
                writing.chain += 1;
                let is_circle = !writing.is_referenced && writing.chain > DEEPEST;
                if is_circle { refuse(call, open, "an object that contains itself, without references,") } else { Ok(()) }
            };
            work.step(further);
            Asked::Rest
        }
        (ffi::LUA_TBOOLEAN, _) if lua.boolean(-3) => Asked::Done,
        (_, ffi::LUA_TSTRING) => {
            work.step(|open| refuse::<()>(call, open, &message(lua.state(), -2)));
            Asked::Done
        }
        _ => {
            lua.set_top(value);
            Asked::Nothing
        }
    }
}
