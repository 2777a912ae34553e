//! The arguments that all functions of `torch.atomic` have: a storage and an index.

use std::ffi::c_int;

use crate::convert::Scalar;
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::methods::element::{from_zero, outside};
use crate::lua::userdata::{self, Borrowed};

/// The class of the storage at argument 1. It is a fault if `is_for` returns false for it; `classes` says for which it does not.
pub fn class(call: Call, is_for: impl Fn(DType) -> bool, classes: &str) -> Result<DType, Fault> {
    let class = if call.count() > 0 { userdata::class(call.state(), 1) } else { None };
    match class {
        Some(dtype) if is_for(dtype) => Ok(dtype),
        Some(dtype) => Err(Fault::argument(1, format_args!("storage of {classes} expected, got {}", dtype.class_name()))),
        None => Err(call.storage(1).err().unwrap_or_else(|| call.mismatch(1, "torch.*Storage"))),
    }
}

/// Argument `n` as the value of an element of a class.
pub fn value(call: Call, dtype: DType, n: c_int) -> Result<Scalar, Fault> {
    let found = if n > call.count() { None } else { call.element_of(dtype, n)? };
    found.ok_or_else(|| call.mismatch(n, if dtype == DType::Bool { "number or boolean" } else { "number" }))
}

/// The storage at argument 1, and the index (from 0) that the number `key` at argument 2 means. Numbers are read before, because reading
/// an FFI value runs Lua code, which could free the storage.
pub fn element(call: Call<'_>, key: Scalar) -> Result<(Borrowed<'_>, usize), Fault> {
    let storage = call.storage(1)?;
    match from_zero(key, storage.read_limit()) {
        Some(index) => Ok((storage, index)),
        None => Err(outside(key, storage.size())),
    }
}
