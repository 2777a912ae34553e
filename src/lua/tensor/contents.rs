//! Methods that act on all elements of a tensor: fill, copy, equal, conversion to other classes, bytes.

use std::ffi::c_int;

use super::making::Made;
use crate::convert::Scalar;
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::entry::Answer;
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::steps::{changed, in_steps};
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// The methods of this file, without those of [`CASTS`].
pub const METHODS: &[Method] = &[];

pub const CASTS: &[Method] = &[];

/// Sets the elements of a part of the tensor at argument 1 to a value; answers the tensor.
pub fn fill(call: Call, part: &Layout, value: Scalar) -> Result<Answer, Fault> {
    in_steps(call, part.elements(), call.dtype().width(), |done, now| {
        let this = call.this_tensor()?;
        Ok(Tensor::new(&this.storage, part).fill_range(done..done + now, value)?)
    })?;
    // For a part without elements the closure above is never called, so the check for a read-only storage is made here too.
    let this = call.this_tensor()?;
    if part.elements() == 0 {
        Tensor::new(&this.storage, part).fill_range(0..0, value)?;
    }
    Ok(Answer::Value(1))
}

/// Copies the elements of the tensor at argument `n` into a part of the tensor at argument 1; answers that.
pub fn copy_into(call: Call, part: &Layout, n: c_int) -> Result<Answer, Fault> {
    let elements = part.elements();
    let is_disjoint = {
        let (this, source) = (call.this_tensor()?, call.tensor(n)?);
        let target = Tensor::new(&this.storage, part);
        let is_disjoint = target.is_disjoint(&source.elements());
        if !is_disjoint || elements != source.layout.elements() || elements == 0 {
            target.copy_from(&source.elements())?;
            return Ok(Answer::Value(1));
        }
        is_disjoint
    };
    debug_assert!(is_disjoint);
    in_steps(call, elements, call.dtype().width(), |done, now| {
        let (this, source) = (call.this_tensor()?, call.tensor(n)?);
        Ok(Tensor::new(&this.storage, part).copy_range(&source.elements(), done..done + now)?)
    })?;
    Ok(Answer::Value(1))
}

/// A contiguous tensor of class `dtype` with the converted elements of the tensor at argument 1.
pub fn converted(call: Call, dtype: DType) -> Result<Made, Fault> {
    let (sizes, elements) = {
        let this = call.this_tensor()?;
        this.elements().check()?;
        (this.layout.sizes().to_vec(), this.layout.elements())
    };
    let (target, layout) = (Storage::zeroed(dtype, elements)?, Layout::contiguous(&sizes)?);
    in_steps(call, elements, dtype.width().max(call.dtype().width()), |done, now| {
        let this = call.this_tensor()?;
        if this.layout.sizes() != sizes {
            return Err(changed());
        }
        Ok(Tensor::new(&target, &layout).copy_range(&this.elements(), done..done + now)?)
    })?;
    Ok(Made::new(target, layout))
}
