//! Elements that are picked by their indices, and the indices of those that are not 0.

use super::access::{Readable, Writable};
use crate::convert::{Complex, Scalar};
use crate::element::{DType, Element, with_element};

/// Where elements are in a block: the index of the first, and the distance to the next, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The index of the first one, from 0.
    pub first: usize,
    /// How far it is to the next one.
    pub step: isize,
}

impl Places {
    #[inline(always)]
    fn at(self, index: usize) -> usize {
        self.first.wrapping_add_signed(self.step.wrapping_mul(index.cast_signed()))
    }
}

/// Copies runs of `run` elements: to place `k` of the target that from place `indices[k]` of the source. Both blocks have the same dtype,
/// and do not overlap.
///
/// # Panics
/// If a run is not inside its block, or if the dtypes differ.
pub fn pick(target: (Writable<'_>, Places), source: (Readable<'_>, Places), run: usize, indices: &[usize]) {
    assert_eq!(target.0.dtype(), source.0.dtype(), "both blocks have the same dtype");
    match target.0.dtype().width() {
        _ if run != 1 => pick_runs(target, source, run, indices),
        1 => pick_elements::<u8>(target, source, indices),
        2 => pick_elements::<i16>(target, source, indices),
        4 => pick_elements::<i32>(target, source, indices),
        8 => pick_elements::<i64>(target, source, indices),
        _ => pick_elements::<Complex<f64>>(target, source, indices),
    }
}

fn pick_elements<T: Element>(target: (Writable<'_>, Places), source: (Readable<'_>, Places), indices: &[usize]) {
    let (to, from) = (target.0.values::<T>(), source.0.values::<T>());
    for (place, &index) in indices.iter().enumerate() {
        to.set(target.1.at(place), from.get(source.1.at(index)));
    }
}

fn pick_runs(target: (Writable<'_>, Places), source: (Readable<'_>, Places), run: usize, indices: &[usize]) {
    let width = target.0.dtype().width();
    let (to, from) = (target.0.values::<u8>(), source.0.values::<u8>());
    let bytes = |first: usize| first * width..(first + run) * width;
    for (place, &index) in indices.iter().enumerate() {
        to.part(bytes(target.1.at(place))).copy_from(from.part(bytes(source.1.at(index))));
    }
}

/// How many elements are not 0. NaN is not 0, and -0 is.
#[must_use]
pub fn count_nonzero(source: Readable<'_>) -> usize {
    with_element!(source.dtype(), T => {
        let values = source.values::<T>();
        (0..values.size()).map(|index| usize::from(is_nonzero(values.get(index)))).sum()
    })
}

/// Puts the indices (from 0) of the elements that are not 0 into `found`, which has room for all of them, in place of what is there.
pub fn find_nonzero(source: Readable<'_>, found: &mut Vec<usize>) {
    found.clear();
    assert!(found.capacity() >= source.size(), "there is room for the index of each element");
    with_element!(source.dtype(), T => {
        let values = source.values::<T>();
        found.extend((0..values.size()).filter(|&index| is_nonzero(values.get(index))));
    });
}

#[inline(always)]
fn is_nonzero<T: Element>(value: T) -> bool {
    if T::DTYPE.is_complex() {
        return !matches!(value.to_scalar(), Scalar::Complex(re, im) if re == 0.0 && im == 0.0);
    }
    // No whole number but 0 is rounded to 0.
    value.to_f64() != 0.0
}

impl<'a> Readable<'a> {
    /// The numbers as elements of a Long.
    #[must_use]
    pub fn of_integers(numbers: &'a [i64]) -> Self {
        // SAFETY: [in-bounds] the list has as many numbers, and is borrowed as long as the block. [layout] an element of a Long is an
        // `i64`.
        unsafe { Self::new(numbers.as_ptr().cast(), DType::Long, numbers.len()) }
    }
}

impl<'a> Writable<'a> {
    /// The numbers as elements of a Long.
    #[must_use]
    pub fn of_integers(numbers: &'a mut [i64]) -> Self {
        // SAFETY: [in-bounds] the list has as many numbers, and is borrowed as long as the block. [layout] an element of a Long is an
        // `i64`.
        unsafe { Self::new(numbers.as_mut_ptr().cast(), DType::Long, numbers.len()) }
    }
}
