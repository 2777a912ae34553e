//! Saves objects: writes Lua values to an open file.

mod identity;
mod plain;
mod tables;
mod tensors;

use std::ffi::c_int;
use std::fmt::Display;

use mlua_sys as ffi;

use super::levels::make_slots;
use super::open::slots::ORDER;
use super::open::{Objects, Open, Work, values};
use super::path::{message, refuse};
use super::storages::write_elements;
use super::writing::{CONTAINS_ITSELF, DEEPEST};
use crate::element::{DType, Kind};
use crate::lua::fault::written;
use crate::lua::state::CDATA;
use crate::lua::tensor;
use crate::lua::userdata;
pub use identity::index;
use identity::{index_of, push_identity, remember_storage};
use plain::{at_path, write_plain};
use tables::{begin_table, push_next};
pub use tensors::layout;
use tensors::write_tensor;

/// `file:writeObject(object)`: writes an object, for the `write` method of a class.
pub fn write_object(work: &Work) {
    work.write(|_| Ok(()));
    save_object(work, 2);
    work.lua.push_nil();
}

/// Writes the object at a stack index below [`ORDER`].
pub(super) fn save_object(work: &Work<'_>, slot: c_int) {
    make_slots(work);
    work.lua.push_value(slot);
    loop {
        write(work);
        if !push_next(work) {
            return;
        }
        work.pause_if_due();
    }
}

/// Writes the value on the top, and pops it. For a table it writes only the beginning, and enters the table.
fn write(work: &Work<'_>) {
    let lua = work.lua;
    loop {
        let plain = |open: &mut Open| {
            let is_plain = write_plain(lua.state(), &mut open.writing()?.writer, -1);
            is_plain.map_err(|error| at_path(work, open, error))
        };
        if work.step(plain) {
            return lua.set_top(ORDER);
        }
        let kind = lua.kind(-1);
        let storage = userdata::class(lua.state(), -1);
        if let Some(dtype) = storage.filter(|&dtype| !work.is_overridden(Objects::Storages, dtype)) {
            return write_storage(work, dtype);
        }
        let tensor = tensor::class(lua.state(), -1);
        if let Some(dtype) = tensor.filter(|&dtype| !work.is_overridden(Objects::Tensors, dtype)) {
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
                work.refuse(format_args!("<{}>", work.call.name_of(-1)), why);
            }
        }
    }
}

/// Writes the storage on the top, and pops it.
fn write_storage(work: &Work<'_>, dtype: DType) {
    let lua = work.lua;
    expect_torch7(work, dtype, dtype.class_name(), 's');
    push_identity(work, -1, 0);
    let (index, is_known) = index_of(work);
    let storage = lua.top();
    remember_storage(work, index, storage);
    let begin = |open: &mut Open| {
        // SAFETY: [live] the storage is in its slot, and no Lua code runs while it is used.
        let found = unsafe { userdata::payload(lua.state(), storage) }.and_then(|(payload, _)| userdata::storage(payload));
        let Some(size) = found.map(|found| found.size()) else { return refuse(work, open, "a storage", "it was freed") };
        let writing = open.writing()?;
        writing.begin_object(index, is_known, dtype.class_name())?;
        if !is_known {
            writing.writer.long(i64::try_from(size).unwrap_or(i64::MAX))?;
        }
        Ok(size)
    };
    let size = work.step(begin);
    if !is_known {
        write_elements(work, storage, dtype, size);
    }
    lua.set_top(ORDER);
}

/// Raises unless Torch7 has the class of the storage or tensor on the top. `name` is what the message calls it.
fn expect_torch7(work: &Work<'_>, dtype: DType, class: &str, name: char) {
    if !dtype.is_in_torch7() {
        let why = format_args!("Torch7 has no such class; save {} instead", instead(dtype, name));
        work.refuse(format_args!("a {class}"), why);
    }
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
    let lua = work.lua;
    let value = lua.top();
    lua.raw_get(work.values, values::RECORD);
    lua.push_value(value);
    work.push_file();
    work.call_lua(2, 3);
    // The results are nothing; true; true, true and a value that has to be written next; or false, a description and a message.
    match (lua.kind(-3), lua.kind(-2)) {
        (ffi::LUA_TBOOLEAN, ffi::LUA_TBOOLEAN) if lua.boolean(-2) => {
            lua.replace(value);
            lua.set_top(value);
            let further = |open: &mut Open| {
                let writing = open.writing()?;
                writing.chain += 1;
                let is_circle = !writing.is_referenced && writing.chain > DEEPEST;
                if is_circle { refuse(work, open, "an object", CONTAINS_ITSELF) } else { Ok(()) }
            };
            work.step(further);
            Written::Beginning
        }
        (ffi::LUA_TBOOLEAN, _) if lua.boolean(-3) => Written::All,
        (_, ffi::LUA_TSTRING) => {
            work.refuse(message(lua.state(), -2), message(lua.state(), -1));
        }
        _ => {
            lua.set_top(value);
            Written::Nothing
        }
    }
}
