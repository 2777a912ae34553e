//! `torch.load`, `torch.save` and similar functions, from the arguments to the closed file.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::block::{Block, Open, push_block, values};
use super::guard::{Work, is_fault, protect};
use super::load::load_object;
use super::opening::{finish, open_for_reading, open_for_writing, push_encoding, restart};
use super::pace::report;
use super::request::{Medium, Request};
use super::save::save_object;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::entry::{raising, run};
use crate::lua::fault::{Fault, raise};
use crate::lua::state::Raising;
use crate::t7::Encoding;

/// The number of stack slots that the functions of this file use in addition to their arguments.
const ROOM: c_int = 60;

/// The slots of the table with the arguments of `core.setrecords`.
mod records {
    use std::ffi::c_int;

    pub const LOADING: c_int = 1;
    pub const SAVING: c_int = 2;
    pub const OVERRIDDEN: c_int = 3;
    pub const ORDERS: c_int = 4;
    pub const WEAK: c_int = 5;
}

/// `torch.load(name [, mode | options [, referenced]])`: the object in a file. With the option `info`, also the encoding.
/// Torch7.
pub fn load(lua: Raising) -> c_int {
    load_from(lua, Medium::File, &["mode", "referenced", "mmap", "progress", "info", "keeporder"])
}

/// `torch.deserialize(bytes [, mode | options [, referenced]])`: the object in a string. Torch7.
pub fn deserialize(lua: Raising) -> c_int {
    load_from(lua, Medium::String, &["mode", "referenced", "progress", "info", "keeporder"])
}

/// `torch.deserializeFromStorage(storage [, mode | options [, referenced]])`: the object in the bytes of a storage. Torch7.
pub fn deserialize_from_storage(lua: Raising) -> c_int {
    load_from(lua, Medium::Storage, &["mode", "referenced", "progress", "info", "keeporder"])
}

/// `torch.save(name, object [, mode | options [, referenced]])`: writes an object to a file. Torch7.
pub fn save(lua: Raising) -> c_int {
    save_to(lua, Medium::File, 2, &["mode", "referenced", "atomic", "progress"])
}

/// `torch.serialize(object [, mode | options [, referenced]])`: an object as a string. Torch7.
pub fn serialize(lua: Raising) -> c_int {
    save_to(lua, Medium::String, 1, &["mode", "referenced", "progress"])
}

/// `torch.serializeToStorage(object [, mode | options [, referenced]])`: an object as a CharStorage. Torch7.
pub fn serialize_to_storage(lua: Raising) -> c_int {
    save_to(lua, Medium::Storage, 1, &["mode", "referenced", "progress"])
}

/// `core.setrecords(loading, saving, overridden, orders, weak)`, for `lua/torch/serialization.lua`. `loading` and `saving`
/// load and save objects of classes and functions. `overridden(loading, name)` answers whether the program loads or
/// saves the objects of a class of storages or tensors itself. `orders` has the list of keys of each loaded table. `weak` is the
/// metatable for lists with keys that are objects.
pub fn set_records(lua: Raising) -> c_int {
    let check = |call: Call| {
        let kind = |n| if n <= records::OVERRIDDEN { ffi::LUA_TFUNCTION } else { ffi::LUA_TTABLE };
        let wrong = (records::LOADING..=records::WEAK).find(|&n| call.kind(n) != kind(n));
        wrong.map_or(Ok(()), |n| Err(call.mismatch(n, if n <= records::OVERRIDDEN { "function" } else { "table" })))
    };
    run(lua, Call::new(lua), check);
    lua.push_table(records::WEAK);
    let slot = lua.top();
    for n in records::LOADING..=records::WEAK {
        lua.push_value(n);
        if let Some(table) = lua.table(slot) {
            lua.raw_set(table, n);
        }
    }
    let new = lua.reference_to(slot);
    if let Some(old) = Context::of(lua.state()).shared().records.replace(Some(new)) {
        // SAFETY: [owned] the slot came from `reference_to` in an earlier call, and was just taken out of the cell.
        unsafe { lua.unreference(old) };
    }
    0
}

fn load_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    let request = work.block.notes.request.get();
    if request.short_longs {
        work.step(restart);
    } else {
        work.block.notes.names_file.set(request.medium == Medium::File);
        work.ask_lua(|_| open_for_reading(work, request));
        work.block.notes.names_file.set(false);
    }
    load_object(work);
    let total = work.step(|open| match open.reader()?.is_at_end()? {
        // The longs of the file have 8 bytes after all.
        false if request.short_longs => Err(Fault::new("the file does not end after the object")),
        _ => Ok(open.total),
    });
    report(work, total, total);
    if request.tells_encoding {
        push_encoding(work);
    }
    1 + c_int::from(request.tells_encoding)
}

fn save_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    let request = work.block.notes.request.get();
    work.ask_lua(|_| open_for_writing(work, request));
    lua.set_top(0);
    lua.raw_get(work.values, values::OBJECT);
    save_object(work, 1);
    report(work, request.total, request.total);
    finish(work, request)
}

/// Loads from the file, string or storage at argument 1.
fn load_from(lua: Raising, medium: Medium, options: &'static [&'static str]) -> c_int {
    let read = |call: Call| {
        match medium {
            Medium::Storage => _ = call.storage(1)?,
            Medium::File => _ = call.string(1).map_err(|_| call.mismatch(1, "file name"))?,
            Medium::String | Medium::Nowhere => _ = call.string(1)?,
        }
        Request::read(call, medium, 2, options)
    };
    lua.check_stack(ROOM);
    let request = run(lua, Call::new(lua), read);
    let file = push_file(lua, request, records::LOADING, 1, 1);
    let results = 1 + c_int::from(request.tells_encoding);
    let (block, done) = protect(lua, file, 0, raising(load_inner), results);
    if done {
        block.close(lua.state());
        return results;
    }
    // A file of a 32-bit machine differs only in its longs. So the file is read once more, with longs of 4 bytes. If that is
    // wrong, the object ends too early or too late.
    let error = lua.top();
    let is_fault = is_fault(lua, block);
    if !(is_fault && request.encoding.is_none() && has_read_wide_longs(block)) {
        fail(lua, block, error, is_fault, None);
    }
    block.notes.request.set(Request { short_longs: true, ..request });
    lua.push_referenced(block.values.get());
    lua.push_table(0);
    if let Some(values) = lua.table(error + 1) {
        lua.raw_set(values, values::OBJECTS);
    }
    lua.set_top(error);
    let (block, done) = protect(lua, file, 0, raising(load_inner), results);
    if !done {
        fail(lua, block, error, true, None);
    }
    block.close(lua.state());
    results
}

/// Saves argument `n` to the file that argument 1 names, or to memory.
fn save_to(lua: Raising, medium: Medium, n: c_int, options: &'static [&'static str]) -> c_int {
    let read = |call: Call| {
        if medium == Medium::File {
            call.string(1).map_err(|_| call.mismatch(1, "file name"))?;
        }
        let request = Request::read(call, medium, n + 1, options)?;
        if call.count() < n { Err(call.mismatch(n, "value")) } else { Ok(request) }
    };
    lua.check_stack(ROOM);
    let mut request = run(lua, Call::new(lua), read);
    if request.progress.is_some() {
        // The progress function gets the number of all bytes, so they are counted first.
        request.total = write(lua, request.counting(), medium, n, 0);
    }
    let results = c_int::from(medium != Medium::File);
    write(lua, request, medium, n, results);
    results
}

/// Writes argument `n`. Answers the number of bytes. `medium` is where they go in the end: they may only be counted now.
fn write(lua: Raising, request: Request, medium: Medium, n: c_int, results: c_int) -> u64 {
    let file = push_file(lua, request, records::SAVING, 1, n);
    let (block, done) = protect(lua, file, 0, raising(save_inner), results);
    if !done {
        fail(lua, block, lua.top(), is_fault(lua, block), Some(medium));
    }
    let written = block.with(|open| Ok(open.position())).unwrap_or(0);
    block.close(lua.state());
    written
}

/// Pushes a file that is not open yet, and its tables. Answers its stack index. `classes` is the slot in `records` of the
/// function for objects of classes. `source` and `object` are arguments.
fn push_file(lua: Raising, request: Request, classes: c_int, source: c_int, object: c_int) -> c_int {
    lua.push_table_for(values::COUNT, 0);
    let first = lua.top();
    lua.push_table(0);
    lua.push_table(0);
    push_records(lua);
    let block = push_block(lua, request);
    let file = lua.top();
    // From here on nothing is allocated, so no finalizer can replace a stack slot.
    let Some(values) = lua.table(first) else { raise(lua, Fault::new("the file is closed")) };
    lua.push_value(first);
    block.values.set(lua.reference());
    let progress = request.progress.unwrap_or(0);
    for (slot, index) in [
        (values::OBJECTS, first + 1),
        (values::STACK, first + 2),
        (values::SOURCE, source),
        (values::OBJECT, object),
        (values::PROGRESS, progress),
    ] {
        if index != 0 {
            lua.push_value(index);
            lua.raw_set(values, slot);
        }
    }
    if let Some(records) = lua.table(first + 3) {
        for (slot, index) in [
            (values::CLASSES, classes),
            (values::OVERRIDDEN, records::OVERRIDDEN),
            (values::ORDERS, records::ORDERS),
            (values::WEAK, records::WEAK),
        ] {
            lua.raw_get(records, index);
            lua.raw_set(values, slot);
        }
    }
    file
}

/// Pushes the table of [`records`], or nil.
fn push_records(lua: Raising) {
    match Context::of(lua.state()).shared().records.get() {
        Some(slot) => lua.push_referenced(slot),
        None => lua.push_nil(),
    }
}

/// Closes the file and raises the error at a stack index. A fault gets the position of the caller and the name of the file or
/// source, unless it names the file already. An error of a class is raised unchanged. `saved` is the medium if something was being
/// saved, and not loaded.
fn fail(lua: Raising, block: &Block, error: c_int, is_fault: bool, saved: Option<Medium>) -> ! {
    let (medium, is_named) = (block.notes.request.get().medium, block.notes.names_file.get());
    lua.set_top(error);
    lua.push_referenced(block.values.get());
    match lua.table(-1) {
        Some(values) => lua.raw_get(values, values::SOURCE),
        None => lua.push_nil(),
    }
    let source = lua.top();
    block.close(lua.state());
    if !is_fault {
        lua.set_top(error);
        lua.raise_top();
    }
    lua.push_position();
    if saved.is_none() && !is_named {
        match medium {
            Medium::File => {
                lua.push_text("cannot load '");
                lua.push_value(source);
                lua.push_text("': ");
            }
            Medium::Storage => lua.push_text("cannot load the storage: "),
            Medium::String | Medium::Nowhere => lua.push_text("cannot load the string: "),
        }
    }
    // SAFETY: [live] the error and the name stay in their slots to the end of this function.
    let [message, name] = [error, source].map(|index| unsafe { lua.string(index) });
    match message.filter(|_| saved == Some(Medium::File)) {
        Some(message) if !names(message, name.unwrap_or_default()) => {
            lua.push_text("cannot save '");
            lua.push_value(source);
            lua.push_text("': ");
            // SAFETY: [live] the message is in its slot below.
            unsafe { lua.push_bytes(message.strip_prefix(b"cannot save ").unwrap_or(message)) }
        }
        _ => lua.push_value(error),
    }
    lua.concat(lua.top() - source);
    lua.raise_top()
}

/// Whether a message names a file, or is about memory, of which there may not be enough for a longer one.
fn names(message: &[u8], path: &[u8]) -> bool {
    message.starts_with(b"not enough memory") || message.windows(path.len().max(1)).any(|part| part == path)
}

/// Whether longs of 8 bytes were read from the file, so that it could be one with longs of 4 bytes.
fn has_read_wide_longs(block: &Block) -> bool {
    let ask = |open: &mut Open| {
        let reader = open.reader()?;
        Ok(matches!(reader.encoding(), Encoding::Binary { long: 8, .. }) && reader.has_read_long())
    };
    block.with(ask).unwrap_or(false)
}
