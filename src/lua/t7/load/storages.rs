//! Loads storages: reads their elements in pieces, or makes views of the map.

use std::ffi::c_int;

use crate::element::DType;
use crate::error::Error;
use crate::lua::entry::attempt;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::steps::changed;
use crate::lua::t7::block::Open;
use crate::lua::t7::guard::Work;
use crate::lua::t7::pace::keep_pace;
use crate::lua::t7::path::located;
use crate::lua::userdata;
use crate::storage::Storage;

/// Pushes a storage of `count` elements, for which the reader has checked the rest of the file, and reads them. Calls
/// `before_reading` with the storage on the top.
pub(in crate::lua::t7) fn push_storage(work: &Work<'_>, dtype: DType, count: usize, before_reading: impl FnOnce(&Work<'_>)) {
    let make = || {
        let part = work.block.with(|open| Ok(open.reader()?.mapped(dtype, count)?))?;
        let is_read = part.is_some();
        Ok((part.map_or_else(|| Storage::zeroed(dtype, count), Ok)?, is_read))
    };
    let is_read = push_made(work, dtype, make);
    before_reading(work);
    if !is_read {
        fill(work, work.lua.top(), dtype, count);
    }
}

/// Pushes the storage that `make` makes. Answers the other result of `make`.
pub(in crate::lua::t7) fn push_made<R: Copy>(work: &Work<'_>, dtype: DType, make: impl Fn() -> Result<(Storage, R), Fault>) -> R {
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

/// Reads `count` elements in pieces, after the reader has checked the rest of the file. They go into the storage at a stack
/// index, which has the class `dtype` and the size `count`.
pub(in crate::lua::t7) fn fill(work: &Work<'_>, slot: c_int, dtype: DType, count: usize) {
    /// The size of a piece in bytes.
    const PIECE: usize = 16 << 20;
    let width = dtype.width();
    let mut done = 0;
    while done < count {
        let read = |open: &mut Open| {
            // The storage is looked up for each piece, because Lua code may run between two pieces.
            // SAFETY: [live] the userdata is in its slot, and no Lua code runs while a piece is read.
            let storage = unsafe { userdata::storage_of(work.lua.state(), slot, dtype) };
            let storage = storage.filter(|storage| storage.size() == count).ok_or_else(changed)?;
            if storage.is_read_only() {
                return Err(Error::ReadOnly { kind: storage.kind() }.into());
            }
            let now = (PIECE / width).min(count - done);
            let target = storage.data().wrapping_add(done * width);
            // SAFETY: [live] [in-bounds] `now` elements from `done` on are inside the storage, which is writable.
            match unsafe { open.reader()?.elements(dtype, target, now) } {
                Ok(()) => Ok(now),
                Err(error) => Err(located(work.call, open, error)),
            }
        };
        done += work.step(read);
        if done < count {
            keep_pace(work);
        }
    }
    work.step(|open| open.reader()?.end_of_elements(count).map_err(Fault::from));
}
