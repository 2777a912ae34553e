//! A storage or a tensor as the argument of a method that both have.

use std::ffi::c_int;

use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::tensor::class;
use crate::lua::userdata;
use crate::tensor::{Layout, Tensor};

/// Whether a method belongs to storages or to tensors. A storage is seen as a tensor of one dimension.
pub trait Subject: Copy + 'static {
    /// Whether its methods take a dimension.
    const HAS_DIMENSIONS: bool;

    /// Calls `act` with argument 1. No Lua code may run in it.
    fn with<R>(call: Call, act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>) -> Result<R, Fault>;

    /// Calls `act` with argument `n`, which is of a class. No Lua code may run in it.
    fn with_other<R>(
        call: Call,
        n: c_int,
        dtype: DType,
        act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>,
    ) -> Result<R, Fault>;

    /// The class of argument 1.
    fn dtype(call: Call) -> Result<DType, Fault> {
        Ok(call.dtype())
    }
}

#[derive(Clone, Copy)]
pub struct OfStorages;

#[derive(Clone, Copy)]
pub struct OfTensors;

/// Functions of the module, whose argument 1 is a storage or a tensor of any class.
#[derive(Clone, Copy)]
pub struct OfBoth;

impl Subject for OfStorages {
    const HAS_DIMENSIONS: bool = false;

    fn with<R>(call: Call, act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>) -> Result<R, Fault> {
        let this = call.this()?;
        let layout = Layout::of_storage(this.size());
        act(&Tensor::new(&this, &layout), &layout)
    }

    fn with_other<R>(
        call: Call,
        n: c_int,
        dtype: DType,
        act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let other = call.storage_of(n, dtype)?;
        let layout = Layout::of_storage(other.size());
        act(&Tensor::new(&other, &layout), &layout)
    }
}

impl Subject for OfTensors {
    const HAS_DIMENSIONS: bool = true;

    fn with<R>(call: Call, act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>) -> Result<R, Fault> {
        let this = call.this_tensor()?;
        act(&this.elements(), this.layout)
    }

    fn with_other<R>(
        call: Call,
        n: c_int,
        dtype: DType,
        act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let other = call.tensor_of(n, dtype)?;
        act(&other.elements(), other.layout)
    }
}

impl Subject for OfBoth {
    const HAS_DIMENSIONS: bool = false;

    fn with<R>(call: Call, act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>) -> Result<R, Fault> {
        Self::with_other(call, 1, Self::dtype(call)?, act)
    }

    fn with_other<R>(
        call: Call,
        n: c_int,
        dtype: DType,
        act: impl FnOnce(&Tensor<'_>, &Layout) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        if class(call.state(), n).is_some() {
            return OfTensors::with_other(call, n, dtype, act);
        }
        OfStorages::with_other(call, n, dtype, act)
    }

    fn dtype(call: Call) -> Result<DType, Fault> {
        let found = class(call.state(), 1).or_else(|| userdata::class(call.state(), 1));
        found.filter(|_| call.count() > 0).ok_or_else(|| call.mismatch(1, "storage or tensor"))
    }
}
