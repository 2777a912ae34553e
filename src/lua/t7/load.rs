//! Loads objects: makes Lua values from the events of an open file.

mod tables;
mod tensors;

use std::ffi::c_int;
use std::mem::transmute;

use mlua_sys as ffi;

use super::levels::{ascend, descend, expect_table, make_slots};
use super::open::{Objects, Work, slots, values};
use super::path::{located, message};
use super::storages::push_storage;
use crate::error::Text;
use crate::lua::file::File;
use crate::t7::{Delivery, Event, Kind, Problem};
use tables::{take_key, take_value};
use tensors::{begin_tensor, finish_tensor};

/// `file:readObject()`: the next object, for the `read` method of a class.
pub fn read_object(work: &Work) {
    work.read(|_| Ok(()));
    load_object(work);
}

/// Pushes the next object.
pub(super) fn load_object(work: &Work<'_>) {
    make_slots(work);
    while !(begin_value(work) && deliver_value(work)) {
        work.pause_if_due();
    }
}

/// Reads the beginning of a value. Returns true if the value is complete. Then it is on the top.
fn begin_value(work: &Work<'_>) -> bool {
    let lua = work.lua;
    let (event, depth) = next_event(work);
    match event {
        Event::Nil => lua.push_nil(),
        Event::Boolean(value) => lua.push_boolean(value),
        Event::Number(number) => lua.push_whole(number),
        Event::String(bytes) => push_bytes(work, bytes),
        Event::Pairs(pairs) => {
            let table = expect_table(work);
            for &(key, value) in pairs {
                lua.push_whole(value);
                lua.raw_set(table, key);
            }
            return false;
        }
        Event::Known(index) => {
            lua.raw_get(work.objects(), index);
            if lua.kind(-1) == ffi::LUA_TNIL {
                work.fail_at_object(Problem::Unfinished { index });
            }
        }
        Event::Table { index, count, room, is_array } => {
            let room = c_int::try_from(room).unwrap_or(c_int::MAX);
            let (array, others) = if is_array { (room, 0) } else { (0, room) };
            lua.push_table_for(array, others);
            remember(work, index);
            if count > 0 {
                descend(work, depth - 1);
                lua.replace(slots::CONTAINER);
                return false;
            }
        }
        Event::Object { index, kind: Kind::Storage(dtype), .. } if !work.is_overridden(Objects::Storages, dtype) => {
            let size = work.read(|reader| reader.size(dtype));
            push_storage(work, dtype, size, |work| remember(work, index));
        }
        Event::Object { index, kind: Kind::Tensor(dtype), .. } if !work.is_overridden(Objects::Tensors, dtype) => {
            begin_tensor(work, dtype, |work| remember(work, index));
            return false;
        }
        Event::Object { index, class, version, .. } => {
            lua.raw_get(work.values, values::RECORD);
            push_bytes(work, class);
            version.map_or_else(|| lua.push_nil(), |version| push_bytes(work, version));
            return begin_object(work, Some(index));
        }
        Event::Function { tag, index, code } => {
            lua.raw_get(work.values, values::RECORD);
            lua.push_whole(tag.into());
            push_bytes(work, code);
            return begin_object(work, index);
        }
    }
    true
}

/// Reads the beginning of the next value. Its bytes and pairs stay until the reader is used again. Also returns the number of levels.
fn next_event<'call>(work: &Work<'call>) -> (Event<'call>, usize) {
    work.step(|open| match open.reader()?.next() {
        Ok(event) => {
            // SAFETY: [live] the reader stays, because the file is busy, and is not used again before `begin_value` has used the event.
            let event = unsafe { transmute::<Event<'_>, Event<'call>>(event) };
            Ok((event, open.depth()))
        }
        Err(error) => Err(located(work, open, error)),
    })
}

/// Pushes bytes of an event as a string.
fn push_bytes(work: &Work<'_>, bytes: &[u8]) {
    // SAFETY: [live] the bytes are in the reader, which stays as it is while the file is busy.
    unsafe { work.lua.push_bytes(bytes) }
}

/// Makes the value on the top the object with the index `index`.
fn remember(work: &Work<'_>, index: c_int) {
    work.lua.push_value(-1);
    work.lua.raw_set(work.objects(), index);
}

/// Calls the loading function of `records.lua`, which is on the stack below two arguments: the name and version of a class, or the tag
/// and code of a function. Returns true if the object is complete. Then it is on the top.
fn begin_object(work: &Work<'_>, index: Option<c_int>) -> bool {
    let lua = work.lua;
    index.map_or_else(|| lua.push_nil(), |index| lua.push_whole(index.into()));
    work.push_file();
    lua.push_value(work.objects().index());
    work.call_lua(5, 3);
    // The results are the object, the function that takes the next value, and the name of that value; or nil and a message.
    if lua.kind(-3) == ffi::LUA_TNIL {
        lua.set_top(lua.top() - 1);
        fail_with_message(work);
        work.fail_at_position(Problem::Refused { why: Text::from("the loading function of the class gave no object") });
    }
    if lua.kind(-2) != ffi::LUA_TFUNCTION {
        lua.set_top(lua.top() - 2);
        return true;
    }
    descend(work, expect_value(work));
    lua.replace(slots::ORDER);
    lua.replace(slots::KEY);
    lua.replace(slots::CONTAINER);
    false
}

/// Enters the object that was read last. Returns the number of its level.
fn expect_value(work: &Work<'_>) -> usize {
    work.read(|reader| {
        reader.expect_value()?;
        Ok(reader.levels().len() - 1)
    })
}

/// Raises if there is a string on the top. It is the message of `records.lua` for an invalid object.
fn fail_with_message(work: &Work<'_>) {
    if work.lua.kind(-1) == ffi::LUA_TSTRING {
        work.fail_at_position(Problem::Refused { why: Text::displayed(&message(work.lua.state(), -1)) });
    }
}

/// Gives the value on the top to the current table or object. If that is complete now, it is given to the one around it, and so
/// on. Returns true if the value that the caller wants is complete. Then it is on the top.
fn deliver_value(work: &Work<'_>) -> bool {
    let lua = work.lua;
    loop {
        let (delivery, depth) = work.read(|reader| Ok((reader.deliver(), reader.levels().len())));
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
                lua.push_value(slots::KEY);
                lua.push_value(slots::CONTAINER);
                lua.push_value(-3);
                work.call_lua(2, 1);
                fail_with_message(work);
            }
        }
        lua.set_top(slots::ORDER);
        lua.push_value(slots::CONTAINER);
        ascend(work, depth - 1);
        work.leave_to(depth - 1);
    }
}
