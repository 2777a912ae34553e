//! Functions for the records of CUDA tensors, which `lua/torch/records.lua` keeps.

use std::ffi::c_int;

use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::entry::Answer;
use crate::lua::fault::Fault;
use crate::storage::Storage;
use crate::t7;
use crate::tensor::{Layout, Tensor};

/// `core.checktensor(sizes, strides, offset, available)`: raises an error unless a storage of `available` elements has all
/// elements of such a tensor. Sizes and strides are LongStorages, and the offset counts from 1.
pub fn check_tensor(call: Call) -> Result<Answer, Fault> {
    let (available, offset) = (call.size(4)?, call.whole(3)?);
    layout(call, 1, offset)?.span_in(available)?;
    Ok(Answer::Nothing)
}

/// `core.gather(storage, sizes, strides, offset)`: the elements of a tensor over the storage, in row-major order, as a new
/// storage of its class. The other arguments are those of `core.checktensor`.
pub fn gather(call: Call) -> Result<Storage, Fault> {
    let layout = layout(call, 2, call.whole(4)?)?;
    let storage = call.storage(1)?;
    Ok(Tensor::new(&storage, &layout).to_storage(storage.dtype())?)
}

pub fn class_of_storage(call: Call) -> Result<DType, Fault> {
    Ok(call.storage(1)?.dtype())
}

/// The layout with the sizes at argument `n`, the strides at the next argument, and an offset.
fn layout(call: Call, n: c_int, offset: i64) -> Result<Layout, Fault> {
    Ok(t7::layout(&call.list(n)?, &call.list(n + 1)?, offset)?)
}
