//! Saves tensors: their layout, and then their storage.

use std::ffi::c_int;
use std::fmt::Display;

use super::expect_torch7;
use super::identity::index_of;
use crate::element::DType;
use crate::error::Error;
use crate::lua::fault::{Fault, written};
use crate::lua::steps::changed;
use crate::lua::t7::levels::make_slots;
use crate::lua::t7::open::{Open, Work};
use crate::lua::t7::path::refuse;
use crate::lua::t7::storages::push_made;
use crate::lua::tensor::payload;
use crate::tensor::{Layout, Tensor};

/// `core.t7layout(file, tensor)`, for `records.lua`: writes the sizes, the strides and the offset of a tensor. Returns the
/// storage, which has to be written next, or nil.
pub fn layout(work: &Work) {
    const TENSOR: c_int = 2;
    let dtype = work.step(|open| {
        open.writing()?;
        Ok(work.call.tensor(TENSOR)?.dtype())
    });
    make_slots(work);
    push_storage(work, TENSOR, dtype);
    work.step(|open| with_layout(work, open, TENSOR, dtype, |open, layout| write_layout(work, open, dtype, layout)));
}

/// Writes the beginning of the tensor on the top, and puts its storage or nil in its place, which has to be written next. Returns
/// false if nothing has to follow, because the tensor was written before.
pub(super) fn write_tensor(work: &Work<'_>, dtype: DType) -> bool {
    let lua = work.lua;
    let tensor = lua.top();
    expect_torch7(work, dtype, dtype.tensor_class_name(), 'x');
    work.step(|open| with_layout(work, open, tensor, dtype, |_, _| Ok(())));
    lua.push_value(tensor);
    let (index, is_known) = index_of(work);
    if !is_known {
        push_storage(work, tensor, dtype);
    }
    let begin = |open: &mut Open, layout: &Layout| {
        open.writing()?.begin_object(index, is_known, dtype.tensor_class_name())?;
        if is_known { Ok(()) } else { write_layout(work, open, dtype, layout) }
    };
    work.step(|open| with_layout(work, open, tensor, dtype, begin));
    if !is_known {
        lua.replace(tensor);
    }
    !is_known
}

/// Calls `act` with the layout of the tensor at a stack index. Fails if the storage does not have all its elements.
fn with_layout<R>(
    work: &Work<'_>,
    open: &mut Open,
    tensor: c_int,
    dtype: DType,
    act: impl FnOnce(&mut Open, &Layout) -> Result<R, Fault>,
) -> Result<R, Fault> {
    // SAFETY: [live] the tensor is in its slot, and no Lua code runs while its parts are used.
    let found = unsafe { payload(work.lua.state(), tensor) }.filter(|(_, class)| *class == dtype).ok_or_else(changed)?.0;
    let Some((storage, layout)) = found.parts() else {
        return refuse(work, open, described(dtype), "it has no storage: it was collected, or it is being loaded");
    };
    match Tensor::new(&storage, layout).check() {
        Ok(()) => act(open, layout),
        Err(error) => refuse(work, open, described(dtype), error),
    }
}

fn write_layout(work: &Work<'_>, open: &mut Open, dtype: DType, layout: &Layout) -> Result<(), Fault> {
    match open.writing()?.writer.layout(layout) {
        Err(Error::Malformed(malformed)) => refuse(work, open, described(dtype), malformed),
        written => Ok(written?),
    }
}

/// A tensor as messages call it.
fn described(dtype: DType) -> impl Display {
    written(move |f| write!(f, "a {}", dtype.tensor_class_name()))
}

/// Pushes the storage of the tensor at a stack index, or nil if it shows none.
fn push_storage(work: &Work<'_>, tensor: c_int, dtype: DType) {
    let lua = work.lua;
    // SAFETY: [live] the tensor is in its slot, and no Lua code runs while its parts are used.
    let find =
        || unsafe { payload(lua.state(), tensor) }.and_then(|(tensor, _)| Some((tensor.parts()?.0, tensor.shows_storage())));
    if !work.step(|_| Ok(find().ok_or_else(changed)?.1)) {
        return lua.push_nil();
    }
    // The tensor is looked up again, because pushing may run finalizers.
    push_made(work, dtype, || Ok((find().ok_or_else(changed)?.0.share(work.call.state_id())?, ())));
}
