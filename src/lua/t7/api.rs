//! `torch.load`, `torch.save` and similar functions, from the arguments to the closed file.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::load::load_object;
use super::medium::{finish, open_for_reading, open_for_writing, push_encoding, restart};
use super::open::{Block, Open, Work, values};
use super::save::save_object;
use super::task::{Medium, Task};
use crate::lua::args::Call;
use crate::lua::context::{Context, keep};
use crate::lua::entry::{raising, run};
use crate::lua::fault::Fault;
use crate::lua::file::{End, File, protect};
use crate::lua::state::Raising;
use crate::t7::Encoding;

/// The number of stack slots that the functions of this file use in addition to their arguments.
const ROOM: c_int = 60;

/// The slots of the table with the arguments of `core.setrecords`.
mod records {
    use std::ffi::c_int;

    pub const LOAD_RECORD: c_int = 1;
    pub const SAVE_RECORD: c_int = 2;
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

/// `core.setrecords(load_record, save_record, overridden, orders, weak)`, for `lua/torch/serialization.lua`. `load_record` and
/// `save_record` load and save objects of classes and functions. `overridden(loading, name)` tells whether the program loads or
/// saves the objects of a class of storages or tensors itself. `orders` has the list of keys of each loaded table. `weak` is the
/// metatable for lists with keys that are objects.
pub fn set_records(lua: Raising) -> c_int {
    let check = |call: Call| {
        let kind = |n| if n <= records::OVERRIDDEN { ffi::LUA_TFUNCTION } else { ffi::LUA_TTABLE };
        let wrong = (records::LOAD_RECORD..=records::WEAK).find(|&n| call.kind(n) != kind(n));
        wrong.map_or(Ok(()), |n| Err(call.mismatch(n, if n <= records::OVERRIDDEN { "function" } else { "table" })))
    };
    run(lua, Call::new(lua), check);
    lua.push_table(records::WEAK);
    let slot = lua.top();
    for n in records::LOAD_RECORD..=records::WEAK {
        lua.push_value(n);
        if let Some(table) = lua.table(slot) {
            lua.raw_set(table, n);
        }
    }
    keep(lua, slot, &Context::of(lua.state()).shared().records);
    0
}

/// Loads from the file, string or storage at argument 1.
fn load_from(lua: Raising, medium: Medium, options: &'static [&'static str]) -> c_int {
    let read = |call: Call| {
        match medium {
            Medium::Storage => _ = call.storage(1)?,
            Medium::File => _ = call.string(1).map_err(|_| call.mismatch(1, "file name"))?,
            Medium::String | Medium::Nowhere => _ = call.string(1)?,
        }
        Task::read(call, medium, 2, options)
    };
    lua.check_stack(ROOM);
    let task = run(lua, Call::new(lua), read);
    let results = 1 + c_int::from(task.tells_encoding);
    let file = push_file(lua, task, records::LOAD_RECORD, 1, 1);
    let (mut block, mut end) = protect::<Open>(lua, file, 0, raising(load_inner), results);
    let error = lua.top();
    // A file of a 32-bit machine differs only in its longs. So the file is read once more, with longs of 4 bytes. If that is
    // wrong, the object ends too early or too late, and the first error is raised.
    if end == End::Fault && task.encoding.is_none() && has_read_wide_longs(block) {
        block.task.set(Task { short_longs: true, ..task });
        block.push_values(lua.state());
        lua.push_table(0);
        if let Some(values) = lua.table(error + 1) {
            lua.raw_set(values, values::OBJECTS);
        }
        lua.set_top(error);
        (block, end) = protect(lua, file, 0, raising(load_inner), results);
        end = if end == End::Done { end } else { End::Fault };
    }
    if end != End::Done {
        fail(lua, block, error, end, None);
    }
    block.close(lua.state());
    results
}

fn load_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    let task = work.block.task.get();
    if task.short_longs {
        work.step(restart);
    } else {
        open_for_reading(work, task);
    }
    load_object(work);
    work.step(|open| match open.reader()?.is_at_end()? {
        // The longs of the file have 8 bytes after all.
        false if task.short_longs => Err(Fault::new("the file does not end after the object")),
        _ => Ok(()),
    });
    work.report_end();
    if task.tells_encoding {
        push_encoding(work);
    }
    1 + c_int::from(task.tells_encoding)
}

/// Whether longs of 8 bytes were read from the file, so that it could be one with longs of 4 bytes.
fn has_read_wide_longs(block: &Block) -> bool {
    let ask = |open: &mut Open| {
        let reader = open.reader()?;
        Ok(matches!(reader.encoding(), Encoding::Binary { long: 8, .. }) && reader.has_read_long())
    };
    block.with(ask).unwrap_or(false)
}

/// Saves argument `n` to the file that argument 1 names, or to memory.
fn save_to(lua: Raising, medium: Medium, n: c_int, options: &'static [&'static str]) -> c_int {
    let read = |call: Call| {
        if medium == Medium::File {
            call.string(1).map_err(|_| call.mismatch(1, "file name"))?;
        }
        let task = Task::read(call, medium, n + 1, options)?;
        if call.count() < n { Err(call.mismatch(n, "value")) } else { Ok(task) }
    };
    lua.check_stack(ROOM);
    let mut task = run(lua, Call::new(lua), read);
    if task.progress.is_some() {
        // The progress function gets the number of all bytes, so they are counted first.
        task.total = write(lua, task.counting(), medium, n, 0);
    }
    let results = c_int::from(medium != Medium::File);
    write(lua, task, medium, n, results);
    results
}

/// Writes argument `n`. Returns the number of bytes. `medium` is where they go in the end: they may only be counted now.
fn write(lua: Raising, task: Task, medium: Medium, n: c_int, results: c_int) -> u64 {
    let file = push_file(lua, task, records::SAVE_RECORD, 1, n);
    let (block, end) = protect::<Open>(lua, file, 0, raising(save_inner), results);
    if end != End::Done {
        fail(lua, block, lua.top(), end, Some(medium));
    }
    let written = block.look(File::position).unwrap_or(0);
    block.close(lua.state());
    written
}

fn save_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    let task = work.block.task.get();
    work.attempt(|_| open_for_writing(work, task));
    lua.set_top(0);
    lua.raw_get(work.values, values::OBJECT);
    save_object(work, 1);
    work.report_end();
    finish(work, task)
}

/// Pushes a file that is not open yet, and its tables. Returns its stack index. `record` is the slot in `records` of the
/// function for objects of classes. `source` and `object` are arguments.
fn push_file(lua: Raising, task: Task, record: c_int, source: c_int, object: c_int) -> c_int {
    /// The number of levels for which the table of values has room from the beginning.
    const LEVELS: c_int = 4;
    let table = lua.push_table(values::LEVELS + 3 * LEVELS).index();
    lua.push_table(0);
    match Context::of(lua.state()).shared().records.get() {
        Some(slot) => lua.push_referenced(slot),
        None => lua.push_nil(),
    }
    let entries = [(values::OBJECTS, table + 1), (values::SOURCE, source), (values::OBJECT, object)];
    let progress = task.progress.map(|index| (values::PROGRESS, index));
    let file = Block::push(lua, table, task, entries.into_iter().chain(progress));
    // Nothing was allocated since the block was, so no finalizer can have replaced a stack slot.
    if let (Some(values), Some(records)) = (lua.table(table), lua.table(table + 2)) {
        for (slot, index) in [
            (values::RECORD, record),
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

/// Closes the file and raises the error at a stack index. A fault gets the position of the caller and the name of the file or
/// source, unless it names the file already. An error of a class is raised unchanged. `saved` is the medium if something was being
/// saved, and not loaded.
fn fail(lua: Raising, block: &Block, error: c_int, end: End, saved: Option<Medium>) -> ! {
    // What fails before a file is open names the file.
    let (medium, is_open) = (block.task.get().medium, block.look(|_| ()).is_some());
    lua.set_top(error);
    match block.push_values(lua.state()) {
        Some(values) => lua.raw_get(values, values::SOURCE),
        None => lua.push_nil(),
    }
    let source = lua.top();
    block.close(lua.state());
    if end != End::Fault {
        lua.set_top(error);
        lua.raise_top();
    }
    lua.push_position();
    match medium {
        _ if saved.is_some() => {}
        Medium::File if is_open => {
            lua.push_text("cannot load '");
            lua.push_value(source);
            lua.push_text("': ");
        }
        Medium::File => {}
        Medium::Storage => lua.push_text("cannot load the storage: "),
        Medium::String | Medium::Nowhere => lua.push_text("cannot load the string: "),
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
