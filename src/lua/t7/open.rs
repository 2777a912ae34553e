//! Opening and finishing `.t7` files, for the Lua side.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use mlua_sys as ffi;

use super::block::{Block, Engine, Open, VALUES, bytes_as_number, guard, guarded, idle_block, push_block, step, values};
use super::frames::lay_out;
use super::load::{located, push_storage};
use super::writing::Writing;
use crate::convert::truncate;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::state::lua_State;
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
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn open_as(call: Call, block: &Block, pins_source: bool, make: impl Fn(Call) -> Result<Open, Fault>) {
    let lua = call.state();
    lua.push_value(1);
    // SAFETY: as the caller says, here and below.
    block.values.set(unsafe { lua.reference() });
    if pins_source {
        lua.push_value(2);
        // SAFETY: see above.
        block.source.set(unsafe { lua.reference() });
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
    // SAFETY: see above.
    unsafe { entry::run(call.with_frame(lua.top()), open) };
}

/// `core.t7reader(values, source, isfile, mode, referenced, mmap, keeporder, ownways)`: a file open for reading, of a name or of a string.
pub unsafe extern "C-unwind" fn reader(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let is_file = unsafe { entry::run(call, |call| arguments(call).map(|_| call.state().boolean(3))) };
    // SAFETY: see above.
    let block = unsafe { push_block(call.state()) };
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
            // SAFETY: `open_as` has this string kept until the file is closed.
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
        if call.state().boolean(7) {
            reader.keep_order();
        }
        let mut open = Open::new(Engine::Reading(reader));
        open.total = total;
        open.own_ways = own_ways(call, 8)?;
        Ok(open)
    };
    // SAFETY: see above.
    unsafe { open_as(call, block, !is_file, make) };
    1
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

/// `core.t7writer(values, name, mode, referenced, atomic, ownways, total)`: a file open for writing; without a name in memory, and with false in its
/// place to count its bytes only.
pub unsafe extern "C-unwind" fn writer(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let check = |call: Call| {
        if call.kind(1) != ffi::LUA_TTABLE {
            return Err(call.mismatch(1, "table"));
        }
        encoding(call, 3).map(|_| ())
    };
    // SAFETY: nothing droppable is alive, here and below.
    unsafe { entry::run(call, check) };
    // SAFETY: see above.
    let block = unsafe { push_block(call.state()) };
    let make = |call: Call| {
        let encoding = encoding(call, 3)?.unwrap_or(Encoding::NATIVE);
        let output = match call.kind(2) {
            ffi::LUA_TNIL => Output::to_memory(),
            ffi::LUA_TBOOLEAN => Output::counting(),
            _ => Output::to_file(Path::new(OsStr::from_bytes(call.string(2)?)), call.state().boolean(5))?,
        };
        let mut open = Open::new(Engine::Writing(Writing::new(Writer::new(output, encoding), call.state().boolean(4))));
        open.own_ways = own_ways(call, 6)?;
        open.total = truncate(call.scalar(7)?).and_then(|total| u64::try_from(total).ok()).unwrap_or(0);
        Ok(open)
    };
    // SAFETY: see above.
    unsafe { open_as(call, block, false, make) };
    1
}

/// `core.t7restart(file)`: to the front again, taking longs for 4 bytes; false if that makes no difference. What was loaded is forgotten.
pub unsafe extern "C-unwind" fn restart(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, restart_inner, 1, false) }
}

unsafe extern "C-unwind" fn restart_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let again = |open: &mut Open| {
        expect_whole(open)?;
        let reader = open.reader()?;
        let Encoding::Binary { long: 8, swapped } = reader.encoding() else { return Ok(false) };
        if !reader.has_read_long() {
            return Ok(false);
        }
        reader.restart(Encoding::Binary { long: 4, swapped })?;
        open.report_at = 0;
        Ok(true)
    };
    // SAFETY: see above.
    let again = unsafe { step(call, block, again) };
    if again && call.state().kind(VALUES) == ffi::LUA_TTABLE {
        // SAFETY: see above.
        unsafe { call.state().push_table(0) };
        // SAFETY: see above; the value is a table.
        unsafe { call.state().raw_set(VALUES, values::OBJECTS) };
    }
    call.state().push_boolean(again);
    1
}

/// An error while an object is in the middle of being loaded or saved.
fn expect_whole(open: &Open) -> Result<(), Fault> {
    if open.depth() == 0 { Ok(()) } else { Err(Fault::new("the file is in use")) }
}

/// `core.t7atend(file)`: whether nothing is left to be read.
pub unsafe extern "C-unwind" fn at_end(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let at_end = unsafe { entry::run(call, |call| idle_block(call)?.with(|open| Ok(open.reader()?.is_at_end()?))) };
    call.state().push_boolean(at_end);
    1
}

/// `core.t7elements(file, class)`: the size of a storage and its elements, as a storage of that class.
pub unsafe extern "C-unwind" fn elements(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, elements_inner, 1, false) }
}

unsafe extern "C-unwind" fn elements_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let expect = |open: &mut Open| {
        let dtype = call.class(2)?;
        lay_out(call)?;
        let size = open.reader()?.size(dtype);
        size.map(|size| (dtype, size)).map_err(|error| located(call, open, error))
    };
    // SAFETY: see above.
    let (dtype, size) = unsafe { step(call, block, expect) };
    // SAFETY: see above; the elements are expected.
    unsafe { push_storage(call, block, dtype, size, |_| ()) };
    1
}

/// `core.t7encoding(file)`: mode, bytes of a long, whether the byte order is little.
pub unsafe extern "C-unwind" fn encoding_of(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let encoding = unsafe { entry::run(call, |call| idle_block(call)?.with(|open| Ok(open.reader()?.encoding()))) };
    let lua = call.state();
    match encoding {
        Encoding::Ascii => {
            // SAFETY: see above.
            unsafe { lua.push_bytes(b"ascii") };
            1
        }
        Encoding::Binary { long, swapped } => {
            // SAFETY: see above.
            unsafe { lua.push_bytes(b"binary") };
            lua.push_number(if long == 4 { 4.0 } else { 8.0 });
            lua.push_boolean(swapped != cfg!(target_endian = "little"));
            3
        }
    }
}

/// `core.t7total(file)`: the bytes of the whole file.
pub unsafe extern "C-unwind" fn total(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let total = unsafe { entry::run(call, |call| idle_block(call)?.with(|open| Ok(open.total))) };
    call.state().push_number(bytes_as_number(total));
    1
}

/// `core.t7finish(file)`: a file that was written gets its name; of one in memory, the bytes; of one that was counted, their number.
pub unsafe extern "C-unwind" fn finish(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, finish_inner, 1, true) }
}

unsafe extern "C-unwind" fn finish_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let finish = |open: &mut Open| {
        expect_whole(open)?;
        let writer = &mut open.writing()?.writer;
        writer.finish()?;
        Ok((writer.memory(), writer.position()))
    };
    // SAFETY: see above.
    let (bytes, position) = unsafe { step(call, block, finish) };
    let lua = call.state();
    if call.state().boolean(2) {
        lua.push_number(bytes_as_number(position));
    } else {
        // SAFETY: see above; the bytes stay, for the file is busy.
        unsafe { lua.push_bytes(bytes) };
    }
    1
}

/// `core.t7storage(file)`: what was written to memory, as a CharStorage.
pub unsafe extern "C-unwind" fn storage(state: *mut lua_State) -> c_int {
    let body = |call: Call| idle_block(call)?.with(|open| Ok(open.writing()?.writer.take_storage()?));
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::construct(state, |_| Ok(DType::Char), body) }
}
