//! `x:index(dim, indices)` and `s:index(indices)`: the elements with given indices, as a new tensor or storage.

use std::ffi::c_int;

use super::indices::Indices;
use crate::convert::Scalar;
use crate::fallible::{collected, copied};
use crate::lua::args::{Call, out_of_bounds};
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{STEP, changed, in_steps};
use crate::lua::tensor::{Made, make_as};
use crate::picking;
use crate::storage::Storage;
use crate::tensor::Layout;

/// How many indices are read together.
const CHUNK: usize = 4096;

/// `x:index(dim, indices)`: the parts of a tensor with these indices along a dimension, in their order. Torch7.
pub fn index_tensor(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    make_as(lua, call, call.dtype(), |call| {
        let number = call.whole(2)?;
        call.this_tensor()?;
        let indices = Indices::at(call, 3)?;
        call.expect_end(4)?;
        let count = indices.count()?;
        let (dimension, layout) = {
            let this = call.this_tensor()?;
            let dimension = this.layout.dimension(number)?;
            let mut sizes = copied(this.layout.sizes())?;
            sizes[dimension] = count;
            (dimension, Layout::contiguous(&sizes)?)
        };
        let target = Storage::unset(call.dtype(), layout.elements())?;
        pick(call, indices, count, layout.elements() / count.max(1), |at, numbers| {
            let this = call.this_tensor()?;
            let numbers = collected(numbers.iter().map(|&number| this.layout.index(dimension, number)))?;
            Ok(picking::pick((&target, &layout), at, (&this.storage, this.layout), dimension, &numbers)?)
        })?;
        let shows_storage = layout.sizes() != [0];
        Ok(Made { storage: target, layout, shows_storage })
    })
}

/// `s:index(indices)`: the elements of a storage with these indices, in their order.
pub fn index_storage(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    entry::construct(lua, call, call.dtype(), |call| {
        call.this()?;
        let indices = Indices::at(call, 2)?;
        call.expect_end(3)?;
        let count = indices.count()?;
        let layout = Layout::contiguous(&[count])?;
        let target = Storage::unset(call.dtype(), count)?;
        pick(call, indices, count, 1, |at, numbers| {
            let this = call.this()?;
            let size = this.size();
            let index = |&number: &i64| {
                let index = usize::try_from(number).ok().filter(|index| (1..=size).contains(index));
                index.map(|index| index - 1).ok_or_else(|| out_of_bounds(2, "index", Scalar::Signed(number), size))
            };
            let numbers = collected(numbers.iter().map(index))?;
            Ok(picking::pick((&target, &layout), at, (&this, &Layout::contiguous(&[size])?), 0, &numbers)?)
        })?;
        Ok(target)
    })
}

/// Calls `act` with the indices, and the number (from 0) of the first of them, in pieces. `elements` is how many there are for one index.
fn pick(
    call: Call,
    indices: Indices,
    count: usize,
    elements: usize,
    act: impl Fn(usize, &[i64]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let weight = elements.saturating_mul(2 * call.dtype().width()).clamp(size_of::<i64>(), STEP);
    in_steps(call, count, weight, |done, now| {
        for first in (done..done + now).step_by(CHUNK) {
            if indices.count()? != count {
                return Err(changed());
            }
            act(first, &indices.read(first, CHUNK.min(done + now - first))?)?;
        }
        Ok(())
    })
}
