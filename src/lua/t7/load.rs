//! Loads objects: makes Lua values from the events of an open file.

mod storages;
mod tables;
mod tensors;

use std::ffi::c_int;

use mlua_sys as ffi;

use super::block::{Open, values};
use super::guard::{FILE, Work};
use super::overridden::is_overridden;
use super::pace::keep_pace;
use super::path::{located, message, wrong, wrong_object};
use super::request::Objects;
use super::slots::{CONTAINER, KEY, ORDER, ascend, call_lua, descend, expect_table, lay_out, leave_to};
use crate::error::{Error, Text};
use crate::lua::fault::Fault;
use crate::t7::{Delivery, Event, Kind, Problem, Reader};
pub(super) use storages::{fill, push_made, push_storage};
use tables::{take_key, take_value};
use tensors::{begin_tensor, finish_tensor};

/// An [`Event`] with pointers instead of references. The bytes stay in the reader's buffer until the reader is used again.
#[derive(Clone, Copy)]
enum Next {
    Nil,
    Boolean(bool),
    Number(f64),
    String(*const [u8]),
    Known(c_int),
    Table {
        index: c_int,
        /// The number of its level, from 0, if it has pairs.
        level: Option<usize>,
        room: c_int,
        is_array: bool,
    },
    Pairs(*const [(c_int, f64)]),
    Object {
        index: c_int,
        kind: Kind,
        class: *const [u8],
        version: Option<*const [u8]>,
    },
    Function {
        tag: c_int,
        index: Option<c_int>,
        code: *const [u8],
    },
}

/// `file:readObject()`: the next object, for the `read` method of a class.
pub fn read_object(work: &Work) {
    work.step(|open| open.reader().map(|_| ()));
    load_object(work);
}

/// Pushes the next object.
pub(super) fn load_object(work: &Work<'_>) {
    lay_out(work);
    while !(begin_value(work) && deliver(work)) {
        keep_pace(work);
    }
}

/// Reads the beginning of a value. Answers true if the value is complete. Then it is on the top.
fn begin_value(work: &Work<'_>) -> bool {
    let lua = work.lua;
    match work.step(|open| next(work, open)) {
        Next::Nil => lua.push_nil(),
        Next::Boolean(value) => lua.push_boolean(value),
        Next::Number(number) => lua.push_whole(number),
        Next::String(bytes) => push_bytes(work, bytes),
        Next::Pairs(pairs) => {
            let table = expect_table(work);
            // SAFETY: [live] the pairs are in the reader, which stays and is not used, because the file is busy.
            for &(key, value) in unsafe { &*pairs } {
                lua.push_whole(value);
                lua.raw_set(table, key);
            }
            return false;
        }
        Next::Known(index) => {
            lua.raw_get(work.objects, index);
            if lua.kind(-1) == ffi::LUA_TNIL {
                work.step(|open| wrong_object::<()>(work.call, open, Problem::Unfinished { index }));
            }
        }
        Next::Table { index, level, room, is_array } => {
            let (array, others) = if is_array { (room, 0) } else { (0, room) };
            lua.push_table_for(array, others);
            remember(work, index);
            if let Some(level) = level {
                descend(work, level);
                lua.replace(CONTAINER);
                return false;
            }
        }
        Next::Object { index, kind: Kind::Storage(dtype), .. } if !is_overridden(work, Objects::Storages, dtype) => {
            let size = |open: &mut Open| open.reader()?.size(dtype).map_err(|error| located(work.call, open, error));
            push_storage(work, dtype, work.step(size), |work| remember(work, index));
        }
        Next::Object { index, kind: Kind::Tensor(dtype), .. } if !is_overridden(work, Objects::Tensors, dtype) => {
            begin_tensor(work, dtype, |work| remember(work, index));
            return false;
        }
        Next::Object { index, class, version, .. } => return begin_object(work, Ok(class), version, Some(index)),
        Next::Function { tag, index, code } => return begin_object(work, Err(tag), Some(code), index),
    }
    true
}

/// Reads the beginning of the next value.
fn next(work: &Work<'_>, open: &mut Open) -> Result<Next, Fault> {
    read_next(open.reader()?).map_err(|error| located(work.call, open, error))
}

fn read_next(reader: &mut Reader) -> Result<Next, Error> {
    Ok(match reader.next()? {
        Event::Nil => Next::Nil,
        Event::Boolean(value) => Next::Boolean(value),
        Event::Number(number) => Next::Number(number),
        Event::String(bytes) => Next::String(bytes),
        Event::Known(index) => Next::Known(index),
        Event::Pairs(pairs) => Next::Pairs(pairs),
        Event::Function { tag, index, code } => Next::Function { tag, index, code },
        Event::Table { index, count, room, is_array } => {
            let level = if count > 0 { reader.levels().len().checked_sub(1) } else { None };
            Next::Table { index, level, room: c_int::try_from(room).unwrap_or(c_int::MAX), is_array }
        }
        Event::Object { index, kind, class, version } => {
            Next::Object { index, kind, class, version: version.map(std::ptr::from_ref) }
        }
    })
}

/// Pushes bytes of the open file's buffer as a string.
pub(super) fn push_bytes(work: &Work<'_>, bytes: *const [u8]) {
    // SAFETY: [live] the bytes are in the reader or writer, which stays and is not used, because the file is busy.
    unsafe { work.lua.push_bytes(bytes) }
}

/// Makes the value on the top the object with the index `index`.
fn remember(work: &Work<'_>, index: c_int) {
    work.lua.push_value(-1);
    work.lua.raw_set(work.objects, index);
}

/// Calls the loading function of `records.lua` for an object of a class, with its name, version and index, or for a function,
/// with its tag, code and index. Answers true if the object is complete. Then it is on the top.
fn begin_object(work: &Work<'_>, class: Result<*const [u8], c_int>, text: Option<*const [u8]>, index: Option<c_int>) -> bool {
    let lua = work.lua;
    lua.raw_get(work.values, values::CLASSES);
    match class {
        Ok(class) => push_bytes(work, class),
        Err(tag) => lua.push_whole(tag.into()),
    }
    match text {
        Some(text) => push_bytes(work, text),
        None => lua.push_nil(),
    }
    match index {
        Some(index) => lua.push_whole(index.into()),
        None => lua.push_nil(),
    }
    lua.push_value(FILE);
    lua.push_value(work.objects.index());
    call_lua(work, 5, 3);
    // The results are the object, the function that takes the next value, and the name of that value; or nil and a message.
    if lua.kind(-3) == ffi::LUA_TNIL {
        lua.set_top(lua.top() - 1);
        fail_with_message(work);
        let why = Text::from("the loading function of the class gave no object");
        work.step(|open| wrong::<()>(work.call, open, Problem::Refused { why }));
    }
    if lua.kind(-2) != ffi::LUA_TFUNCTION {
        lua.set_top(lua.top() - 2);
        return true;
    }
    let level = work.step(|open| {
        open.reader()?.expect_value()?;
        Ok(open.depth() - 1)
    });
    descend(work, level);
    lua.replace(ORDER);
    lua.replace(KEY);
    lua.replace(CONTAINER);
    false
}

/// Raises if there is a string on the top. It is the message of `records.lua` for an invalid object.
fn fail_with_message(work: &Work<'_>) {
    if work.lua.kind(-1) == ffi::LUA_TSTRING {
        work.step(|open| wrong::<()>(work.call, open, Problem::Refused { why: Text::displayed(&message(work.lua.state(), -1)) }));
    }
}

/// Gives the value on the top to the current table or object. If that is complete now, it is given to the one around it, and so
/// on. Answers true if the value that the caller wants is complete. Then it is on the top.
fn deliver(work: &Work<'_>) -> bool {
    let lua = work.lua;
    loop {
        let (delivery, depth) = work.step(|open| Ok((open.reader()?.deliver(), open.depth())));
        match delivery {
            Delivery::Root => return true,
            Delivery::Key { number } => {
                take_key(work, number);
                return false;
            }
            Delivery::Value { key, last } => {
                take_value(work, key, last);
                if !last {
                    return false;
                }
            }
            Delivery::Rest if finish_tensor(work) => {}
            Delivery::Rest => {
                lua.push_value(KEY);
                lua.push_value(CONTAINER);
                lua.push_value(-3);
                call_lua(work, 2, 1);
                fail_with_message(work);
            }
        }
        lua.set_top(ORDER);
        lua.push_value(CONTAINER);
        ascend(work, depth - 1);
        leave_to(work, depth - 1);
    }
}
