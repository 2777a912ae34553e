//! Storages in a file: makes new ones, and reads and writes their elements in pieces.

use std::ffi::c_int;

use super::open::{Open, Work};
use super::path::located;
use crate::element::DType;
use crate::error::Error;
use crate::lua::entry::attempt;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::steps::changed;
use crate::lua::userdata;
use crate::storage::Storage;

/// Pushes a storage of `count` elements, for which the reader has checked the rest of the file, and reads them, or makes it a view of
/// the map. Calls `before_reading` with the storage on the top.
pub(super) fn push_storage(work: &Work<'_>, dtype: DType, count: usize, before_reading: impl FnOnce(&Work<'_>)) {
    let make = || {
        let part = work.block.with(|open| Ok(open.reader()?.mapped(dtype, count)?))?;
        let is_read = part.is_some();
        Ok((part.map_or_else(|| Storage::zeroed(dtype, count), Ok)?, is_read))
    };
    let is_read = push_made(work, dtype, make);
    before_reading(work);
    if !is_read {
        read_elements(work, work.lua.top(), dtype, count);
    }
}

/// Pushes the storage that `make` makes. Returns the other result of `make`.
pub(super) fn push_made<R: Copy>(work: &Work<'_>, dtype: DType, make: impl Fn() -> Result<(Storage, R), Fault>) -> R {
    let lua = work.lua;
    pressure::relieve(lua);
    userdata::push_dead(lua, dtype);
    let slot = lua.top();
    let made = attempt(lua, work.call.with_frame(slot), &|_| make());
    work.step(|_| {
        let (storage, rest) = made?;
        // The storage is looked up again: the second attempt collects garbage, which may run finalizers.
        // SAFETY: [live] the userdata is in its slot, and no Lua code runs before it gets the storage.
        let payload = unsafe { userdata::payload(lua.state(), slot) };
        let payload = payload.filter(|(payload, class)| *class == dtype && userdata::storage(payload).is_none());
        userdata::give(payload.ok_or_else(changed)?.0, storage);
        Ok(rest)
    })
}

/// Reads `count` elements, after the reader has checked the rest of the file. They go into the storage at a stack index, which has the
/// class `dtype` and the size `count`.
pub(super) fn read_elements(work: &Work<'_>, slot: c_int, dtype: DType, count: usize) {
    in_pieces(work, slot, dtype, count, |open, storage, first, count| {
        if storage.is_read_only() {
            return Err(Error::ReadOnly { kind: storage.kind() }.into());
        }
        // SAFETY: [live] [in-bounds] `in_pieces` gives elements of the storage, which is writable, and no Lua code runs.
        unsafe { open.reader()?.elements(dtype, first, count) }.map_err(|error| located(work, open, error))
    });
    work.read(|reader| reader.end_of_elements(count));
}

/// Writes all elements of the storage at a stack index, which has the class `dtype` and the size `size`.
pub(super) fn write_elements(work: &Work<'_>, slot: c_int, dtype: DType, size: usize) {
    in_pieces(work, slot, dtype, size, |open, _, first, count| {
        // SAFETY: [live] [in-bounds] `in_pieces` gives elements of the storage, and no Lua code runs.
        Ok(unsafe { open.writing()?.writer.elements(dtype, first, count) }?)
    });
    work.write(|writing| Ok(writing.writer.end_of_elements()?));
}

/// Calls `act` for one piece after the other of the storage at a stack index, which has the class `dtype` and the size `size`, with
/// the address of its first element and its number of elements.
fn in_pieces(
    work: &Work<'_>,
    slot: c_int,
    dtype: DType,
    size: usize,
    act: impl Fn(&mut Open, &Storage, *mut u8, usize) -> Result<(), Fault>,
) {
    /// The size of a piece in bytes.
    const PIECE: usize = 16 << 20;
    let mut done = 0;
    while done < size {
        done += work.step(|open| {
            // The storage is looked up for each piece, because Lua code may run between two pieces.
            // SAFETY: [live] the storage is in its slot, and no Lua code runs while a piece is read or written.
            let storage = unsafe { userdata::storage_of(work.lua.state(), slot, dtype) };
            let storage = storage.filter(|storage| storage.size() == size).ok_or_else(changed)?;
            let now = (PIECE / dtype.width()).min(size - done);
            act(open, &storage, storage.data().wrapping_add(done * dtype.width()), now)?;
            Ok(now)
        });
        if done < size {
            work.pause_if_due();
        }
    }
}
