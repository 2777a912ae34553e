//! Loading storages: their elements, a piece after the other, or parts of the map.

use std::ffi::c_int;

use super::located;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::attempt;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::State;
use crate::lua::steps::changed;
use crate::lua::t7::block::{Block, Open, step};
use crate::lua::t7::pace::keep_pace;
use crate::lua::userdata;
use crate::storage::Storage;

/// Pushes a storage and reads its elements. `and` comes before they are read.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive. The reader has expected `count` elements.
pub(in crate::lua::t7) unsafe fn push_storage(call: Call, block: &Block, dtype: DType, count: usize, and: impl FnOnce(State)) {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    unsafe { pressure::relieve(lua) };
    // SAFETY: see above.
    unsafe { userdata::push_dead(lua, dtype) };
    let place = lua.top();
    let make = |_: Call| {
        block.with(|open| Ok(open.reader()?.mapped(dtype, count)?)).and_then(|part| match part {
            Some(part) => Ok((part, true)),
            None => Ok((Storage::zeroed(dtype, count)?, false)),
        })
    };
    // SAFETY: see above.
    let made = unsafe { attempt(call.with_frame(place), &make) };
    let adopt = |_: &mut Open| {
        let (storage, is_read) = made?;
        // Looked up again: what was freed for the second try had finalizers.
        let payload =
            userdata::payload(lua, place).filter(|(payload, class)| *class == dtype && userdata::storage(payload).is_none());
        userdata::adopt(payload.ok_or_else(changed)?.0, storage);
        Ok(is_read)
    };
    // SAFETY: what was made is moved.
    let is_read = unsafe { step(call, block, adopt) };
    and(lua);
    if !is_read {
        // SAFETY: see above.
        unsafe { fill(call, block, place, dtype, count) };
    }
}

/// Reads `count` elements into the storage of class `dtype` and that size at a stack index, a piece after the other.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive. The reader has expected `count` elements.
pub(in crate::lua::t7) unsafe fn fill(call: Call, block: &Block, place: c_int, dtype: DType, count: usize) {
    /// Bytes of a piece.
    const PIECE: usize = 16 << 20;
    let (lua, width) = (call.state(), dtype.width());
    let mut done = 0;
    while done < count {
        let read = |open: &mut Open| {
            // Looked up each time: between two pieces Lua code may run.
            let payload = userdata::payload(lua, place).filter(|(_, class)| *class == dtype).ok_or_else(changed)?.0;
            let storage = userdata::storage(payload).filter(|storage| storage.size() == count).ok_or_else(changed)?;
            if storage.is_read_only() {
                return Err(Error::ReadOnly { kind: storage.kind() }.into());
            }
            let now = (PIECE / width).min(count - done);
            let target = storage.data().wrapping_add(done * width);
            // SAFETY: they are inside the storage, whose memory is alive and can be written.
            match unsafe { open.reader()?.elements(dtype, target, now) } {
                Ok(()) => Ok(now),
                Err(error) => Err(located(call, open, error)),
            }
        };
        // SAFETY: as the caller says.
        done += unsafe { step(call, block, read) };
        if done < count {
            // SAFETY: as the caller says.
            unsafe { keep_pace(call, block) };
        }
    }
    // SAFETY: as the caller says.
    unsafe { step(call, block, |open| open.reader()?.end_of_elements(count).map_err(Fault::from)) };
}
