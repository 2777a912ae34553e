//! Opens the file, string or storage of a task, and finishes it.

use std::ffi::c_int;

use super::open::{Engine, Open, Work, values};
use super::storages::push_made;
use super::task::{Medium, Task};
use super::writing::Writing;
use crate::element::DType;
use crate::error::shown;
use crate::lua::fault::Fault;
use crate::lua::methods::transfer::push_bytes_of;
use crate::lua::state::LARGE_STRING;
use crate::lua::steps::changed;
use crate::lua::userdata;
use crate::output::Output;
use crate::storage::{MapOptions, Storage};
use crate::t7::{Encoding, Input, Reader, Writer};

/// Goes back to the first byte, and reads longs of 4 bytes from now on.
pub(super) fn restart(open: &mut Open) -> Result<(), Fault> {
    open.progress.due = 0;
    let reader = open.reader()?;
    if let Encoding::Binary { swapped, .. } = reader.encoding() {
        reader.restart(Encoding::Binary { long: 4, swapped });
    }
    Ok(())
}

/// Opens the file, string or storage to read from, and recognises its encoding.
pub(super) fn open_for_reading(work: &Work<'_>, task: Task) {
    work.attempt(|_| open_input(work, task));
    if task.encoding.is_none() {
        work.read(Reader::detect);
    }
}

fn open_input(work: &Work<'_>, task: Task) -> Result<(), Fault> {
    let lua = work.lua.state();
    let input = match task.medium {
        Medium::File => Input::open(&work.path()?),
        Medium::Storage => {
            // The storage comes from the table of values: a finalizer may have replaced the argument.
            lua.raw_get(work.values, values::SOURCE);
            // SAFETY: [live] the storage is on the top, and no Lua code runs while it is copied.
            let found = unsafe { userdata::payload(lua, -1) }.and_then(|(payload, _)| userdata::storage(payload));
            let input = Input::copy_of(&*found.ok_or_else(changed)?);
            lua.set_top(lua.top() - 1);
            input
        }
        // SAFETY: [live] the table of values keeps the string, which never changes, until the file is closed.
        Medium::String | Medium::Nowhere => Ok(unsafe { Input::of_memory(work.source()) }),
    };
    let mut reader = Reader::new(input?, task.encoding.unwrap_or(Encoding::NATIVE), task.is_referenced);
    let total = reader.total();
    if task.maps && total > 0 {
        let map = Storage::map(DType::Byte, &work.path()?, &MapOptions::default())?;
        if map.nbytes() as u64 != total {
            return Err(Fault::new(format_args!("the size of file '{}' changed while it was opened", shown(work.source()))));
        }
        reader.use_map(map);
    }
    if task.keeps_order {
        reader.keep_order();
    }
    work.block.set_open(Open::new(Engine::Reading(reader), total))
}

/// Opens the file or memory to write to.
pub(super) fn open_for_writing(work: &Work<'_>, task: Task) -> Result<(), Fault> {
    let output = match task.medium {
        Medium::String | Medium::Storage => Output::to_memory(),
        Medium::Nowhere => Output::counting(),
        Medium::File => Output::to_file(&work.path()?, task.is_atomic, task.total)?,
    };
    let writer = Writer::new(output, task.encoding.unwrap_or(Encoding::NATIVE));
    work.block.set_open(Open::new(Engine::Writing(Writing::new(writer, task.is_referenced)), task.total))
}

/// Finishes a file that was written: it gets its name, or its bytes are pushed. Returns the number of pushed values.
pub(super) fn finish(work: &Work<'_>, task: Task) -> c_int {
    if task.medium == Medium::Storage {
        push_made(work, DType::Char, || work.block.with(|open| Ok((open.writing()?.writer.take_storage()?, ()))));
        return 1;
    }
    let bytes = work.write(|Writing { writer, .. }| {
        writer.finish()?;
        Ok(std::ptr::from_ref(writer.memory()))
    });
    if task.medium == Medium::String {
        if bytes.len() < LARGE_STRING {
            work.push_bytes(|open| Ok(open.writing()?.writer.memory()));
        } else {
            // The bytes stay in the writer, which is not used while the file is busy.
            push_bytes_of(work.lua, work.call, |_, push| Ok(push(bytes)));
        }
    }
    c_int::from(task.medium == Medium::String)
}

/// Pushes the table that describes the encoding of a file.
pub(super) fn push_encoding(work: &Work<'_>) {
    let lua = work.lua;
    let encoding = work.read(|reader| Ok(reader.encoding()));
    lua.push_table(0);
    let slot = lua.top();
    lua.push_text("mode");
    lua.push_text(if encoding == Encoding::Ascii { "ascii" } else { "binary" });
    lua.raw_set_pair(slot);
    if let Encoding::Binary { long, swapped } = encoding {
        lua.push_text("longsize");
        lua.push_count(if long == 4 { 4 } else { 8 });
        lua.raw_set_pair(slot);
        lua.push_text("byteorder");
        lua.push_text(if swapped == cfg!(target_endian = "little") { "big" } else { "little" });
        lua.raw_set_pair(slot);
    }
}
