//! Loading storages: their elements, a piece after the other, or parts of the map.

use std::ffi::c_int;

use super::located;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::attempt;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::changed;
use crate::lua::t7::block::{Block, Open, keep_pace, step};
use crate::lua::userdata;
use crate::storage::Storage;

/// Pushes a storage and reads its elements. `and` comes before they are read.
pub(in crate::lua::t7) fn push_storage(
    lua: Raising,
    call: Call,
    block: &Block,
    dtype: DType,
    count: usize,
    and: impl FnOnce(Raising),
) {
    pressure::relieve(lua);
    userdata::push_dead(lua, dtype);
    let place = lua.top();
    let make = |_: Call| {
        block.with(|open| Ok(open.reader()?.mapped(dtype, count)?)).and_then(|part| match part {
            Some(part) => Ok((part, true)),
            None => Ok((Storage::zeroed(dtype, count)?, false)),
        })
    };
    let made = attempt(lua, call.with_frame(place), &make);
    let adopt = |_: &mut Open| {
        let (storage, is_read) = made?;
        // Looked up again: what was freed for the second try had finalizers.
        let payload =
            userdata::payload(*lua, place).filter(|(payload, class)| *class == dtype && userdata::storage(payload).is_none());
        userdata::adopt(payload.ok_or_else(changed)?.0, storage);
        Ok(is_read)
    };
    let is_read = step(lua, block, adopt);
    and(lua);
    if !is_read {
        fill(lua, call, block, place, dtype, count);
    }
}

/// Reads `count` elements into the storage of class `dtype` and that size at a stack index, a piece after the other.
pub(in crate::lua::t7) fn fill(lua: Raising, call: Call, block: &Block, place: c_int, dtype: DType, count: usize) {
    /// Bytes of a piece.
    const PIECE: usize = 16 << 20;
    let width = dtype.width();
    let mut done = 0;
    while done < count {
        let read = |open: &mut Open| {
            // Looked up each time: between two pieces Lua code may run.
            let payload = userdata::payload(*lua, place).filter(|(_, class)| *class == dtype).ok_or_else(changed)?.0;
            let storage = userdata::storage(payload).filter(|storage| storage.size() == count).ok_or_else(changed)?;
            if storage.is_read_only() {
                return Err(Error::ReadOnly { kind: storage.kind() }.into());
            }
            let now = (PIECE / width).min(count - done);
            let target = storage.data().wrapping_add(done * width);
            // SAFETY: [live] [in-bounds] [alias] the range is inside the storage, which is writable.
            match unsafe { open.reader()?.elements(dtype, target, now) } {
                Ok(()) => Ok(now),
                Err(error) => Err(located(call, open, error)),
            }
        };
        done += step(lua, block, read);
        if done < count {
            keep_pace(lua, call, block);
        }
    }
    step(lua, block, |open| open.reader()?.end_of_elements(count).map_err(Fault::from));
}
