//! Opens a file for a request, and finishes it.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::block::{Engine, Open, values};
use super::guard::Work;
use super::load::{push_bytes, push_made};
use super::request::{Medium, Request};
use super::writing::Writing;
use crate::element::DType;
use crate::error::{Error, shown};
use crate::lua::fault::Fault;
use crate::lua::methods::transfer::push_bytes_of;
use crate::lua::state::LARGE_STRING;
use crate::lua::steps::changed;
use crate::lua::userdata;
use crate::output::Output;
use crate::storage::{MapOptions, Storage};
use crate::t7::{Encoding, Input, Malformed, Problem, Reader, Writer};

/// Goes back to the first byte, and reads longs of 4 bytes from now on.
pub(super) fn restart(open: &mut Open) -> Result<(), Fault> {
    open.report_at = 0;
    let reader = open.reader()?;
    if let Encoding::Binary { swapped, .. } = reader.encoding() {
        reader.restart(Encoding::Binary { long: 4, swapped })?;
    }
    Ok(())
}

/// Opens the file, string or storage to read from.
pub(super) fn open_for_reading(work: &Work<'_>, request: Request) -> Result<(), Fault> {
    let (lua, block) = (work.lua.state(), work.block);
    let top = lua.top();
    // The source comes from the table of values: a finalizer may have replaced the argument.
    lua.raw_get(work.values, values::SOURCE);
    // SAFETY: [live] the table of values keeps the string until the file is closed.
    let bytes = unsafe { lua.string(-1) }.unwrap_or_default();
    let path = Path::new(OsStr::from_bytes(bytes));
    let input = match request.medium {
        Medium::File => Input::open(path),
        Medium::Storage => {
            // SAFETY: [live] the storage is on the top, and no Lua code runs while it is copied.
            let found = unsafe { userdata::payload(lua, -1) }.and_then(|(payload, _)| userdata::storage(payload));
            Input::copy_of(&*found.ok_or_else(changed)?)
        }
        // SAFETY: [live] the table of values keeps the string, which never changes, until the file is closed.
        Medium::String | Medium::Nowhere => Ok(unsafe { Input::of_memory(bytes) }),
    };
    lua.set_top(top);
    let mut input = input?;
    let encoding = match request.encoding {
        Some(encoding) => encoding,
        None => detect(&mut input).inspect_err(|_| block.notes.names_file.set(false))?,
    };
    let total = input.total();
    let mut reader = Reader::new(input, encoding, request.is_referenced);
    if request.maps && encoding != Encoding::Ascii {
        let map = Storage::map(DType::Byte, path, &MapOptions::default())?;
        if map.nbytes() as u64 != total {
            return Err(Fault::new(format_args!("the size of file '{}' changed while it was opened", shown(bytes))));
        }
        reader.use_map(map);
    }
    if request.keeps_order {
        reader.keep_order();
    }
    block.open(Open { engine: Engine::Reading(reader), report_at: 0, total, values: block.values.get() })
}

/// Recognises the encoding from the first bytes.
fn detect(input: &mut Input) -> Result<Encoding, Error> {
    const SHOWN: usize = 8;
    let start = input.window(SHOWN)?;
    Encoding::detect(start).ok_or_else(|| {
        let got = start[..start.len().min(SHOWN)].into();
        Malformed { offset: 0, problem: Problem::Beginning { got } }.into()
    })
}

/// Opens the file or memory to write to.
pub(super) fn open_for_writing(work: &Work<'_>, request: Request) -> Result<(), Fault> {
    let lua = work.lua.state();
    let output = match request.medium {
        Medium::String | Medium::Storage => Output::to_memory(),
        Medium::Nowhere => Output::counting(),
        Medium::File => {
            lua.raw_get(work.values, values::SOURCE);
            // SAFETY: [live] the table of values keeps the string until the file is closed.
            let path = Path::new(OsStr::from_bytes(unsafe { lua.string(-1) }.unwrap_or_default()));
            let output = Output::to_file(path, request.is_atomic, request.total);
            lua.set_top(lua.top() - 1);
            output?
        }
    };
    let writer = Writer::new(output, request.encoding.unwrap_or(Encoding::NATIVE));
    let engine = Engine::Writing(Writing::new(writer, request.is_referenced));
    work.block.open(Open { engine, report_at: 0, total: request.total, values: work.block.values.get() })
}

/// Finishes a file that was written: it gets its name, or its bytes are pushed. Answers the number of pushed values.
pub(super) fn finish(work: &Work<'_>, request: Request) -> c_int {
    if request.medium == Medium::Storage {
        push_made(work, DType::Char, || work.block.with(|open| Ok((open.writing()?.writer.take_storage()?, ()))));
        return 1;
    }
    let bytes = work.step(|open| {
        let writer = &mut open.writing()?.writer;
        writer.finish()?;
        Ok(std::ptr::from_ref(writer.memory()))
    });
    if request.medium == Medium::String {
        if bytes.len() < LARGE_STRING {
            push_bytes(work, bytes);
        } else {
            // The bytes stay in the writer, which is not used meanwhile, because the file is busy.
            push_bytes_of(work.lua, work.call, |_, push| Ok(push(bytes)));
        }
    }
    c_int::from(request.medium == Medium::String)
}

/// Pushes the table that describes the encoding of a file.
pub(super) fn push_encoding(work: &Work<'_>) {
    let lua = work.lua;
    let encoding = work.step(|open| Ok(open.reader()?.encoding()));
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
