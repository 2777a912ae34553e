//! Adding and multiplying in place.

use std::ops::Range;

use crate::bulk::scale::{Change, change};
use crate::bulk::threads::for_each_block;
use crate::bulk::{Readable, Writable};
use crate::convert::Scalar;
use crate::error::Error;
use crate::fallible;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// What becomes of each element.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// This number is added.
    Add(Scalar),
    /// It is multiplied by this number.
    Multiply(Scalar),
    /// The element beside it is multiplied by this number and added.
    AddScaled(Scalar),
}

/// How many elements of a tensor that is not contiguous are copied at once.
const CHUNK: usize = 1 << 16;

impl Scale {
    /// The change of elements. `beside` are the elements beside them, if any are needed.
    fn of(self, beside: Option<Readable<'_>>) -> Change<'_> {
        match self {
            Self::Add(number) => Change::Add(number),
            Self::Multiply(number) => Change::Multiply(number),
            // Without elements beside them, these are none.
            Self::AddScaled(number) => beside.map_or(Change::Add(Scalar::Signed(0)), |beside| Change::AddScaled(number, beside)),
        }
    }

    /// Changes the elements of a tensor with these numbers, from 0 in row-major order. `beside` are the elements beside those of the range,
    /// if any are needed. An element that has several numbers is changed once for each, in their order.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfMemory`], those of [`Tensor::check`].
    pub fn run(self, storage: &Storage, layout: &Layout, range: Range<usize>, beside: Option<Readable<'_>>) -> Result<(), Error> {
        let tensor = Tensor::new(storage, layout);
        tensor.check()?;
        let target = storage.writable()?;
        if layout.is_contiguous() {
            let first = layout.offset();
            self.contiguous(target.part(first + range.start..first + range.end), beside);
            return Ok(());
        }
        if has_elements_twice(layout)? {
            self.one_by_one(target, layout, range, beside);
            return Ok(());
        }
        let copy = Storage::unset(storage.dtype(), CHUNK.min(range.len()))?;
        for start in range.clone().step_by(CHUNK) {
            let chunk = start..range.end.min(start + CHUNK);
            let elements = copy.writable()?.part(0..chunk.len());
            tensor.copy_to(elements, chunk.clone())?;
            let beside = beside.map(|beside| beside.part(chunk.start - range.start..chunk.end - range.start));
            change(elements, self.of(beside));
            let flat = Layout::contiguous(&[chunk.len()])?;
            tensor.put(&Tensor::new(&copy, &flat), chunk)?;
        }
        Ok(())
    }

    /// Changes elements that lie side by side, in several threads if they are many.
    fn contiguous(self, target: Writable<'_>, beside: Option<Readable<'_>>) {
        let weight = target.dtype().width() * if beside.is_some() { 3 } else { 2 };
        for_each_block(target.size(), weight, |indices| {
            let beside = beside.map(|beside| beside.part(indices.clone()));
            change(target.part(indices), self.of(beside));
        });
    }

    /// Changes one element after the other.
    fn one_by_one(self, target: Writable<'_>, layout: &Layout, range: Range<usize>, beside: Option<Readable<'_>>) {
        for number in range.clone() {
            let mut element = layout.offset();
            let mut rest = number;
            for (&size, &stride) in layout.sizes().iter().zip(layout.strides()).rev() {
                element = element.wrapping_add_signed(stride.wrapping_mul((rest % size).cast_signed()));
                rest /= size;
            }
            let place = number - range.start;
            change(target.part(element..element + 1), self.of(beside.map(|beside| beside.part(place..place + 1))));
        }
    }
}

/// Whether several positions of a tensor may have the same element. It may be true for tensors whose dimensions cross without meeting.
fn has_elements_twice(layout: &Layout) -> Result<bool, Error> {
    let axes = layout.sizes().iter().zip(layout.strides()).filter(|(size, _)| **size > 1);
    let mut axes = fallible::collected::<_, Error>(axes.map(|(&size, stride)| Ok((stride.unsigned_abs(), size))))?;
    axes.sort_unstable();
    // How far the last element is behind the first one in the dimensions with smaller strides. A step of this dimension has to be longer.
    let mut reach = 0usize;
    Ok(axes.iter().any(|&(stride, size)| {
        let is_too_short = stride <= reach;
        reach = reach.saturating_add(stride.saturating_mul(size - 1));
        is_too_short
    }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::has_elements_twice;
    use crate::tensor::Layout;

    #[test]
    fn a_layout_with_an_element_twice_is_noticed() {
        let twice =
            |sizes: &[usize], strides: &[isize]| has_elements_twice(&Layout::strided(100, sizes, strides).unwrap()).unwrap();
        assert!(!twice(&[3, 4], &[4, 1]));
        assert!(!twice(&[4, 3], &[1, 4]));
        assert!(!twice(&[3, 4], &[8, 2]));
        assert!(!twice(&[3, 4], &[-8, 2]));
        assert!(!twice(&[1, 4], &[0, 2]));
        assert!(!twice(&[], &[]));
        assert!(twice(&[3, 4], &[0, 1]));
        assert!(twice(&[3], &[0]));
        assert!(twice(&[3, 4], &[1, 1]));
        assert!(twice(&[3, 4], &[3, 1]));
        assert!(twice(&[3, 4], &[-3, 1]));
    }
}
