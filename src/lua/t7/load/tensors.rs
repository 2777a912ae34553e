//! Loads tensors. Their layout comes first in a file, and then their storage.

use std::fmt::Display;

use mlua_sys as ffi;

use super::expect_value;
use crate::element::DType;
use crate::error::Text;
use crate::lua::steps::changed;
use crate::lua::t7::levels::descend;
use crate::lua::t7::open::{Open, Work, slots};
use crate::lua::t7::path::located;
use crate::lua::tensor::{class, fulfil, payload, promise, push_dead};
use crate::lua::userdata;
use crate::storage::Storage;
use crate::t7::Problem;

/// Reads the layout of a tensor, and enters a tensor that has no storage yet. Calls `remember` with this tensor on the top.
pub(super) fn begin_tensor(work: &Work<'_>, dtype: DType, remember: impl FnOnce(&Work<'_>)) {
    let lua = work.lua;
    push_dead(lua, dtype);
    let slot = lua.top();
    work.step(|open| {
        let layout = open.reader()?.layout().map_err(|error| located(work, open, error))?;
        // SAFETY: [live] the tensor is in its slot, and no Lua code runs while it is used.
        let (tensor, _) = unsafe { payload(lua.state(), slot) }.filter(|(_, class)| *class == dtype).ok_or_else(changed)?;
        promise(tensor, layout);
        Ok(())
    });
    remember(work);
    descend(work, expect_value(work));
    lua.push_text("storage");
    lua.replace(slots::ORDER);
    lua.replace(slots::CONTAINER);
}

/// Gives the value on the top, a storage or nil, to the current object if that is a tensor. Returns whether it is one.
pub(super) fn finish_tensor(work: &Work<'_>) -> bool {
    let (state, call) = (work.lua.state(), work.call);
    let Some(dtype) = class(state, slots::CONTAINER) else { return false };
    let refuse = |open: &mut Open, why: &dyn Display| {
        let error = open.reader()?.malformed(Problem::Refused { why: Text::displayed(why) });
        Err(located(work, open, error))
    };
    work.step(|open| {
        // SAFETY: [live] the tensor is in its slot, and no Lua code runs while it is used.
        let tensor = unsafe { payload(state, slots::CONTAINER) }.and_then(|(tensor, _)| Some((tensor, tensor.promised()?)));
        let (tensor, layout) = tensor.ok_or_else(changed)?;
        if state.kind(-1) == ffi::LUA_TNIL && layout.elements() == 0 {
            fulfil(tensor, Storage::zeroed(dtype, 0)?, false);
            return Ok(());
        }
        // SAFETY: [live] the storage is on the top, and no Lua code runs while it is used.
        let Some(storage) = (unsafe { userdata::storage_of(state, -1, dtype) }) else {
            let (class, expected, got) = (dtype.tensor_class_name(), dtype.class_name(), call.name_of(-1));
            return refuse(open, &format_args!("the storage of a {class} must be a {expected}, got {got}"));
        };
        if let Err(error) = layout.span_in(storage.size()) {
            return refuse(open, &error);
        }
        fulfil(tensor, storage.share(call.state_id())?, true);
        Ok(())
    });
    true
}
