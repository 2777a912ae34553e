//! Functions for the records of CUDA tensors, which `lua/torch/records.lua` keeps.

use std::ffi::c_int;

use crate::lua::args::Call;
use crate::lua::entry::{Answer, construct, run};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
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
pub fn gather(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    let dtype = run(lua, call, |call| Ok(call.storage(1)?.dtype()));
    construct(lua, call, dtype, |call| {
        let layout = layout(call, 2, call.whole(4)?)?;
        Ok(Tensor::new(&*call.storage(1)?, &layout).to_storage(dtype)?)
    })
}

/// The layout with the sizes at argument `n`, the strides at the next argument, and an offset.
fn layout(call: Call, n: c_int, offset: i64) -> Result<Layout, Fault> {
    Ok(t7::layout(&call.list(n)?, &call.list(n + 1)?, offset)?)
}
