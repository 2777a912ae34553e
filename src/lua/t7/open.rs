//! Opening and finishing `.t7` files, for the Lua side.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use mlua_sys as ffi;

use super::block::{Block, Engine, Open, bytes_as_number, guard, guarded, idle_block, push_block, step, values};
use super::frames::{VALUES, lay_out};
use super::load::{located, push_storage};
use crate::convert::truncate;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::{self, functions};
use crate::lua::fault::Fault;
use crate::lua::state::Raising;
use crate::storage::{MapOptions, Storage};
use crate::t7::{Encoding, Input, Malformed, Output, Problem, Reader, Writer};

/// What a mode says; nil says nothing.
fn encoding(call: Call, n: c_int) -> Result<Option<Encoding>, Fault> {
    if call.is_absent(n) {
        return Ok(None);
    }
    Ok(Some(match call.string(n)? {
        b"ascii" => Encoding::Ascii,
        b"binary" | b"b64" => Encoding::NATIVE,
        b"b32" => Encoding::Binary { long: 4, swapped: false },
        mode => {
            let mode = String::from_utf8_lossy(mode);
            return Err(Fault::new(format!("the mode is 'binary', 'ascii', 'b32' or 'b64', got '{mode}'")));
        }
    }))
}

/// Makes the block at the top an open file, with the table at argument 1 as its values.
fn open_as(lua: Raising, call: Call, block: &Block, pins_source: bool, make: impl Fn(Call) -> Result<Open, Fault>) {
    lua.push_value(1);
    block.values.set(lua.reference());
    if pins_source {
        lua.push_value(2);
        block.source.set(lua.reference());
    }
    let open = |call: Call| {
        let mut open = make(call)?;
        if block.values.get() == ffi::LUA_NOREF {
            // A finalizer has found the file, and closed it.
            return Err(Fault::new("the file is closed"));
        }
        open.values = block.values.get();
        block.open.set(Box::into_raw(Box::new(open)));
        Ok(())
    };
    entry::run(lua, call.with_frame(lua.top()), open);
}

functions! {
    /// `core.t7reader(values, source, isfile, mode, referenced, mmap, keeporder, ownways)`: a file open for reading, of a name or of a string.
    pub raising fn reader(lua) {
        let call = Call::new(lua);
        let is_file = entry::run(lua, call, |call| arguments(call).map(|_| call.state().boolean(3)));
        let block = push_block(lua);
        let make = |call: Call| {
            let (source, mode) = arguments(call)?;
            let path = Path::new(OsStr::from_bytes(source));
            let mut input = if is_file {
                Input::open(path)?
            } else {
                // The one that is kept, whatever a finalizer has put in the place of the argument.
                call.state().push_referenced(block.source.get());
                let kept = call.state().string(-1).unwrap_or_default();
                call.state().set_top(call.frame());
                // SAFETY: [live] `open_as` keeps this string in the registry until the file is closed.
                unsafe { Input::of_memory(ptr::from_ref(kept)) }
            };
            let encoding = match mode {
                Some(encoding) => encoding,
                None => detect(&mut input)?,
            };
            let total = input.total();
            let mut reader = Reader::new(input, encoding, call.state().boolean(5));
            if call.state().boolean(6) && is_file && encoding != Encoding::Ascii {
                let map = Storage::map(DType::Byte, path, &MapOptions::default())?;
                if map.nbytes() as u64 != total {
                    return Err(Fault::new(format!("file '{}' changes while it is opened", path.display())));
                }
                reader.use_map(map);
            }
            let room = reader.most_pairs();
            let mut open = Open::new(Engine::Reading(reader));
            open.room = room;
            open.total = total;
            open.keep_order = call.state().boolean(7);
            open.own_ways = own_ways(call, 8)?;
            Ok(open)
        };
        open_as(lua, call, block, !is_file, make);
        1
    }
}

fn arguments(call: Call) -> Result<(&'static [u8], Option<Encoding>), Fault> {
    if call.kind(1) != ffi::LUA_TTABLE {
        return Err(call.mismatch(1, "table"));
    }
    Ok((call.string(2)?, encoding(call, 4)?))
}

/// Argument `n`: a bit for each class that has its own ways.
fn own_ways(call: Call, n: c_int) -> Result<u32, Fault> {
    let bits = truncate(call.scalar(n)?).and_then(|bits| u32::try_from(bits).ok());
    bits.ok_or_else(|| call.mismatch(n, "set of classes"))
}

fn detect(input: &mut Input) -> Result<Encoding, Error> {
    const SHOWN: usize = 8;
    let start = input.window(SHOWN)?;
    Encoding::detect(start).ok_or_else(|| {
        let got = start.iter().copied().take(SHOWN).collect();
        Error::Malformed(Box::new(Malformed { offset: 0, problem: Problem::Beginning { got } }))
    })
}

functions! {
    /// `core.t7writer(values, name, mode, referenced, atomic, ownways, total)`: a file open for writing; without a name in memory, and with false in its
    /// place to count its bytes only.
    pub raising fn writer(lua) {
        let call = Call::new(lua);
        let check = |call: Call| {
            if call.kind(1) != ffi::LUA_TTABLE {
                return Err(call.mismatch(1, "table"));
            }
            encoding(call, 3).map(|_| ())
        };
        entry::run(lua, call, check);
        let block = push_block(lua);
        let make = |call: Call| {
            let encoding = encoding(call, 3)?.unwrap_or(Encoding::NATIVE);
            let output = match call.kind(2) {
                ffi::LUA_TNIL => Output::to_memory(),
                ffi::LUA_TBOOLEAN => Output::counting(),
                _ => Output::to_file(Path::new(OsStr::from_bytes(call.string(2)?)), call.state().boolean(5))?,
            };
            let mut open = Open::new(Engine::Writing(Writer::new(output, encoding)));
            open.referenced = call.state().boolean(4);
            open.own_ways = own_ways(call, 6)?;
            open.total = truncate(call.scalar(7)?).and_then(|total| u64::try_from(total).ok()).unwrap_or(0);
            Ok(open)
        };
        open_as(lua, call, block, false, make);
        1
    }

    /// `core.t7restart(file)`: to the front again, taking longs for 4 bytes; false if that makes no difference. What was loaded is forgotten.
    pub raising fn restart(lua) {
        guard(lua, restart_inner, 1, false)
    }

    raising fn restart_inner(lua) {
        let call = Call::new(lua);
        let block = entry::run(lua, call, guarded);
        let again = |open: &mut Open| {
            expect_whole(open)?;
            let reader = open.reader()?;
            let Encoding::Binary { long: 8, swapped } = reader.encoding() else { return Ok(false) };
            if !reader.has_read_long() {
                return Ok(false);
            }
            reader.restart(Encoding::Binary { long: 4, swapped })?;
            let room = reader.most_pairs();
            open.frames.clear();
            (open.room, open.report_at) = (room, 0);
            Ok(true)
        };
        let again = step(lua, block, again);
        if again && lua.kind(VALUES.index()) == ffi::LUA_TTABLE {
            lua.push_table(0);
            lua.raw_set(VALUES, values::OBJECTS);
        }
        call.state().push_boolean(again);
        1
    }
}

/// An error while an object is in the middle of being loaded or saved.
fn expect_whole(open: &Open) -> Result<(), Fault> {
    if open.frames.is_empty() { Ok(()) } else { Err(Fault::new("the file is in use")) }
}

functions! {
    /// `core.t7atend(file)`: whether nothing is left to be read.
    pub raising fn at_end(lua) {
        let call = Call::new(lua);
        let at_end = entry::run(lua, call, |call| idle_block(call)?.with(|open| Ok(open.reader()?.is_at_end()?)));
        call.state().push_boolean(at_end);
        1
    }

    /// `core.t7elements(file, class)`: the size of a storage and its elements, as a storage of that class.
    pub raising fn elements(lua) {
        guard(lua, elements_inner, 1, false)
    }

    raising fn elements_inner(lua) {
        let call = Call::new(lua);
        let block = entry::run(lua, call, guarded);
        let expect = |open: &mut Open| {
            let dtype = call.class(2)?;
            lay_out(call)?;
            let size = open.reader()?.size(dtype);
            size.map(|size| (dtype, size)).map_err(|error| located(call, open, error))
        };
        let (dtype, size) = step(lua, block, expect);
        push_storage(lua, call, block, dtype, size, |_| ());
        1
    }

    /// `core.t7encoding(file)`: mode, bytes of a long, whether the byte order is little.
    pub raising fn encoding_of(lua) {
        let call = Call::new(lua);
        let encoding = entry::run(lua, call, |call| idle_block(call)?.with(|open| Ok(open.reader()?.encoding())));
        match encoding {
            Encoding::Ascii => {
                lua.push_text("ascii");
                1
            }
            Encoding::Binary { long, swapped } => {
                lua.push_text("binary");
                lua.push_number(if long == 4 { 4.0 } else { 8.0 });
                lua.push_boolean(swapped != cfg!(target_endian = "little"));
                3
            }
        }
    }

    /// `core.t7total(file)`: the bytes of the whole file.
    pub raising fn total(lua) {
        let call = Call::new(lua);
        let total = entry::run(lua, call, |call| idle_block(call)?.with(|open| Ok(open.total)));
        call.state().push_number(bytes_as_number(total));
        1
    }

    /// `core.t7finish(file)`: a file that was written gets its name; of one in memory, the bytes; of one that was counted, their number.
    pub raising fn finish(lua) {
        guard(lua, finish_inner, 1, true)
    }

    raising fn finish_inner(lua) {
        let call = Call::new(lua);
        let block = entry::run(lua, call, guarded);
        let finish = |open: &mut Open| {
            expect_whole(open)?;
            let writer = open.writer()?;
            writer.finish()?;
            Ok((writer.memory(), writer.position()))
        };
        let (bytes, position) = step(lua, block, finish);
        if call.state().boolean(2) {
            lua.push_number(bytes_as_number(position));
        } else {
            // SAFETY: [live] the bytes are in the writer, which stays because the file is busy.
            unsafe { lua.push_bytes(bytes) };
        }
        1
    }

    /// `core.t7storage(file)`: what was written to memory, as a CharStorage.
    pub raising fn storage(lua) {
        let body = |call: Call| idle_block(call)?.with(|open| Ok(open.writer()?.take_storage()?));
        entry::construct(lua, |_| Ok(DType::Char), body)
    }
}
