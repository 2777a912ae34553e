//! The elements with given indices along one dimension of a tensor.

use crate::bulk::{self, Places};
use crate::error::Error;
use crate::fallible::list;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// With at most this many places, each of them is gone through once for all indices.
const FEW: usize = 16;

/// Copies the parts of a tensor with these indices (from 0) along a dimension, in their order, to the indices from `at` on of a contiguous
/// tensor of the same dtype, which differs only in the size of this dimension. The two have no element in common.
///
/// # Errors
/// [`Error::ReadOnly`]; errors of a dimension, an index or a size that does not fit; [`Error::OutOfMemory`].
pub fn pick(
    target: (&Storage, &Layout),
    at: usize,
    source: (&Storage, &Layout),
    dimension: usize,
    indices: &[usize],
) -> Result<(), Error> {
    Tensor::new(target.0, target.1).check()?;
    Tensor::new(source.0, source.1).check()?;
    target.1.narrow(dimension, at, indices.len())?;
    let size = source.1.sizes().get(dimension).copied().unwrap_or(0);
    if let Some(&index) = indices.iter().find(|&&index| index >= size) {
        source.1.select(dimension, index)?;
    }
    if target.1.elements() == 0 {
        return Ok(());
    }
    let (run, outer) = rows(source.1, dimension)?;
    let places = outer.iter().map(|&dimension| source.1.sizes()[dimension]).product::<usize>();
    if places > FEW.max(indices.len()) {
        return pick_parts(target, at, source, dimension, indices);
    }
    let (write, read) = (target.0.writable()?, source.0.readable());
    let step = |layout: &Layout| layout.strides()[dimension];
    for place in 0..places {
        let first = |layout: &Layout| {
            let mut rest = place;
            outer.iter().fold(layout.offset(), |first, &dimension| {
                let size = source.1.sizes()[dimension];
                let index = (rest % size).cast_signed();
                rest /= size;
                first.wrapping_add_signed(layout.strides()[dimension].wrapping_mul(index))
            })
        };
        let begin = first(target.1).wrapping_add_signed(step(target.1).wrapping_mul(at.cast_signed()));
        let to = Places { first: begin, step: step(target.1) };
        let from = Places { first: first(source.1), step: step(source.1) };
        bulk::pick((write, to), (read, from), run, indices);
    }
    Ok(())
}

/// Copies one part after the other.
fn pick_parts(
    target: (&Storage, &Layout),
    at: usize,
    source: (&Storage, &Layout),
    dimension: usize,
    indices: &[usize],
) -> Result<(), Error> {
    for (place, &index) in indices.iter().enumerate() {
        let (to, from) = (target.1.narrow(dimension, at + place, 1)?, source.1.narrow(dimension, index, 1)?);
        Tensor::new(target.0, &to).copy_from(&Tensor::new(source.0, &from))?;
    }
    Ok(())
}

/// The number of elements after one index of the dimension that lie side by side in the tensor, as in a contiguous one, and the dimensions
/// that are left without those and this one.
fn rows(layout: &Layout, dimension: usize) -> Result<(usize, Vec<usize>), Error> {
    let (mut run, mut last) = (1_usize, layout.dimensions());
    while last > dimension + 1 {
        let (size, stride) = (layout.sizes()[last - 1], layout.strides()[last - 1]);
        if size != 1 && stride != run.cast_signed() {
            break;
        }
        run *= size;
        last -= 1;
    }
    let mut outer = list(layout.dimensions())?;
    outer.extend((0..last).filter(|&other| other != dimension));
    Ok((run, outer))
}
