//! Saves objects: writes Lua values to an open file.

mod identity;
mod leaves;
mod tables;
mod tensors;

use std::ffi::c_int;
use std::fmt::Display;

use mlua_sys as ffi;

use super::block::{Open, values};
use super::guard::{FILE, Work};
use super::overridden::is_overridden;
use super::pace::keep_pace;
use super::path::{message, refuse};
use super::request::Objects;
use super::slots::{ORDER, call_lua, lay_out};
use super::writing::{CONTAINS_ITSELF, DEEPEST};
use crate::element::{DType, Kind};
use crate::lua::fault::written;
use crate::lua::state::CDATA;
use crate::lua::steps::changed;
use crate::lua::tensor;
use crate::lua::userdata;
use crate::t7::tag;
pub use identity::index;
use identity::{index_of, push_identity, remember_storage};
use leaves::{at_path, write_leaf};
use tables::{advance, begin_table};
pub use tensors::layout;
use tensors::write_tensor;

/// `file:writeObject(object)`: writes an object, for the `write` method of a class.
pub fn write_object(work: &Work) {
    work.step(|open| open.writing().map(|_| ()));
    save_object(work, 2);
    work.lua.push_nil();
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

/// Writes the value on the top, and pops it. For a table it writes only the beginning, and enters the table.
fn write(work: &Work<'_>) {
    let (lua, call) = (work.lua, work.call);
    loop {
        let leaf = |open: &mut Open| {
            let is_leaf = write_leaf(lua.state(), &mut open.writing()?.writer, -1);
            is_leaf.map_err(|error| at_path(call, open, error))
        };
        if work.step(leaf) {
            return lua.set_top(ORDER);
        }
        let kind = lua.kind(-1);
        let storage = userdata::class(lua.state(), -1);
        if let Some(dtype) = storage.filter(|&dtype| !is_overridden(work, Objects::Storages, dtype)) {
            return write_storage(work, dtype);
        }
        let tensor = tensor::class(lua.state(), -1);
        if let Some(dtype) = tensor.filter(|&dtype| !is_overridden(work, Objects::Tensors, dtype)) {
            if write_tensor(work, dtype) {
                continue;
            }
            return lua.set_top(ORDER);
        }
        let may_have_class = match kind {
            ffi::LUA_TTABLE => lua.has_metatable(-1),
            ffi::LUA_TUSERDATA | CDATA => true,
            _ => false,
        };
        match if may_have_class { write_object_of_class(work) } else { Written::Nothing } {
            Written::All => return lua.set_top(ORDER),
            // The value on the top has to be written too.
            Written::Beginning => {}
            Written::Nothing if kind == ffi::LUA_TTABLE => return begin_table(work),
            Written::Nothing => {
                let why = "only nil, booleans, numbers, strings, tables and objects can be saved";
                work.step(|open| refuse::<()>(call, open, format_args!("<{}>", call.name_of(-1)), why));
            }
        }
    }
}

/// Writes the storage on the top, and pops it.
fn write_storage(work: &Work<'_>, dtype: DType) {
    let (lua, call) = (work.lua, work.call);
    let identify = |open: &mut Open| {
        if !dtype.is_in_torch7() {
            let why = format_args!("Torch7 has no such class; save {} instead", instead(dtype, 's'));
            return refuse(call, open, format_args!("a {}", dtype.class_name()), why);
        }
        push_identity(call, open, -1, 0)
    };
    work.step(identify);
    let (index, is_known) = index_of(work);
    let storage = lua.top();
    remember_storage(work, index, storage);
    let begin = |open: &mut Open| {
        // SAFETY: [live] the storage is in its slot, and no Lua code runs while it is used.
        let found = unsafe { userdata::payload(lua.state(), storage) }.and_then(|(payload, _)| userdata::storage(payload));
        let Some(size) = found.map(|found| found.size()) else { return refuse(call, open, "a storage", "it was freed") };
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

/// How to get the same values, or where no class of Torch7 has room for them the same bytes, from a storage or tensor of a class that
/// Torch7 does not have. `name` is the storage or tensor.
fn instead(dtype: DType, name: char) -> impl Display {
    written(move |f| match (dtype.kind(), dtype.width()) {
        (Kind::Complex { part }, _) => write!(f, "{name}:view('{}')", part.dtype_name()),
        (Kind::SmallFloat | Kind::Float, _) => write!(f, "{name}:float()"),
        (Kind::Unsigned | Kind::Signed, 2) => write!(f, "{name}:int()"),
        (Kind::Unsigned | Kind::Signed, 4) => write!(f, "{name}:long()"),
        (Kind::Unsigned | Kind::Signed, 8) => write!(f, "{name}:view('int64')"),
        (Kind::Unsigned | Kind::Signed | Kind::Bool | Kind::Untyped, _) => write!(f, "{name}:view('uint8')"),
    })
}

/// Writes all elements of the storage at a stack index, in pieces.
pub(super) fn write_elements(work: &Work<'_>, storage: c_int, size: usize) {
    /// The size of a piece in bytes.
    const PIECE: usize = 16 << 20;
    let mut done = 0;
    while done < size {
        let write = |open: &mut Open| {
            // The storage is looked up for each piece, because Lua code may run between two pieces.
            // SAFETY: [live] the storage is in its slot, and no Lua code runs while a piece is written.
            let found =
                unsafe { userdata::payload(work.lua.state(), storage) }.and_then(|(payload, _)| userdata::storage(payload));
            let found = found.filter(|found| found.size() == size).ok_or_else(changed)?;
            let width = found.dtype().width();
            let now = (PIECE / width).min(size - done);
            let source = found.data().wrapping_add(done * width);
            // SAFETY: [live] [in-bounds] `now` elements from `done` on are inside the storage.
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

/// The part of a value that `records.lua` has written.
enum Written {
    /// Nothing: the value is not an object of a class.
    Nothing,
    /// The complete value.
    All,
    /// The beginning. Another value, which is on the top instead, has to be written after it.
    Beginning,
}

/// Calls the saving function of `records.lua` for the value on the top.
fn write_object_of_class(work: &Work<'_>) -> Written {
    let (lua, call) = (work.lua, work.call);
    let value = lua.top();
    lua.raw_get(work.values, values::CLASSES);
    lua.push_value(value);
    lua.push_value(FILE);
    call_lua(work, 2, 3);
    // The results are nothing; true; true, true and a value that has to be written next; or false, a description and a message.
    match (lua.kind(-3), lua.kind(-2)) {
        (ffi::LUA_TBOOLEAN, ffi::LUA_TBOOLEAN) if lua.boolean(-2) => {
            lua.replace(value);
            lua.set_top(value);
            let further = |open: &mut Open| {
                let writing = open.writing()?;
                writing.chain += 1;
                let is_circle = !writing.is_referenced && writing.chain > DEEPEST;
                if is_circle { refuse(call, open, "an object", CONTAINS_ITSELF) } else { Ok(()) }
            };
            work.step(further);
            Written::Beginning
        }
        (ffi::LUA_TBOOLEAN, _) if lua.boolean(-3) => Written::All,
        (_, ffi::LUA_TSTRING) => {
            work.step(|open| refuse::<()>(call, open, message(lua.state(), -2), message(lua.state(), -1)));
            Written::All
        }
        _ => {
            lua.set_top(value);
            Written::Nothing
        }
    }
}
