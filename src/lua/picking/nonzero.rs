//! `x:nonzero()` and `x:maskedSelect(mask)`: where elements are not 0, and the elements of a tensor there.

use std::cell::Cell;
use std::ffi::c_int;

use crate::element::DType;
use crate::error::{Error, ShapeError};
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{changed, in_steps};
use crate::lua::tensor::{Made, make_as};
use crate::picking;
use crate::storage::Storage;
use crate::tensor::Layout;

/// `x:nonzero()`, `torch.nonzero(x)`: a LongTensor with a row for each element of a tensor of any class that is not 0, in row-major order,
/// and a column for each dimension: the indices of the element, from 1. Torch7.
pub fn nonzero(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    make_as(lua, call, DType::Long, |call| {
        call.tensor(1)?;
        call.expect_end(2)?;
        let rows = count(call, 1)?;
        let all = call.tensor(1)?.layout.try_clone()?;
        let layout = Layout::contiguous(&[rows, all.dimensions()])?;
        let target = Storage::unset(DType::Long, layout.elements())?;
        let next = Cell::new(0);
        in_steps(call, all.elements(), call.tensor(1)?.dtype().width().max(size_of::<i64>()), |done, now| {
            let this = call.tensor(1)?;
            if this.layout.sizes() != all.sizes() {
                return Err(changed());
            }
            next.set(picking::write_places((&this.storage, this.layout), done..done + now, &target, next.get())?);
            Ok(())
        })?;
        // Somebody else may have changed elements in between.
        if next.get() == rows { Ok(Made::new(target, layout)) } else { Err(other_elements()) }
    })
}

/// `x:maskedSelect(mask)`: the elements of a tensor, in row-major order, where those of a ByteTensor or BoolTensor with as many elements
/// are not 0, as a tensor of one dimension. Torch7.
pub fn masked_select(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    make_as(lua, call, call.dtype(), |call| {
        call.this_tensor()?;
        let elements = check_mask(call)?;
        call.expect_end(3)?;
        let selected = count(call, 2)?;
        let layout = Layout::contiguous(&[selected])?;
        let target = Storage::unset(call.dtype(), selected)?;
        let next = Cell::new(0);
        in_steps(call, elements, call.dtype().width(), |done, now| {
            if check_mask(call)? != elements {
                return Err(changed());
            }
            let (this, mask) = (call.this_tensor()?, call.tensor(2)?);
            let (source, mask) = ((&*this.storage, this.layout), (&*mask.storage, mask.layout));
            next.set(picking::select(source, mask, done..done + now, &target, next.get())?);
            Ok(())
        })?;
        if next.get() != selected {
            return Err(other_elements());
        }
        Ok(Made { storage: target, layout, shows_storage: selected > 0 })
    })
}

/// The number of elements of the tensor at argument 1, if argument 2 is a mask for it.
fn check_mask(call: Call) -> Result<usize, Fault> {
    let (this, mask) = (call.this_tensor()?, call.tensor(2)?);
    if !picking::is_mask(mask.dtype()) {
        let got = mask.dtype().tensor_class_name();
        return Err(Fault::argument(2, format_args!("torch.ByteTensor or torch.BoolTensor expected, got {got}")));
    }
    let elements = this.layout.elements();
    if elements != mask.layout.elements() {
        let shape = ShapeError::Mask { mask: mask.layout.sizes().into(), sizes: this.layout.sizes().into() };
        return Err(Fault::from(Error::from(shape)).at(2));
    }
    Ok(elements)
}

/// The number of elements of the tensor at argument `n` that are not 0.
fn count(call: Call, n: c_int) -> Result<usize, Fault> {
    let (elements, width) = {
        let tensor = call.tensor(n)?;
        tensor.elements().check()?;
        (tensor.layout.elements(), tensor.dtype().width())
    };
    let count = Cell::new(0_usize);
    in_steps(call, elements, width, |done, now| {
        let tensor = call.tensor(n)?;
        if tensor.layout.elements() != elements {
            return Err(changed());
        }
        count.set(count.get() + picking::count_nonzero((&tensor.storage, tensor.layout), done..done + now)?);
        Ok(())
    })?;
    Ok(count.get())
}

fn other_elements() -> Fault {
    Fault::new("elements became 0, or were no longer 0, in the middle of the operation")
}
