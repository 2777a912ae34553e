//! Where numbers belong among sorted elements.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::bulk::order::{Bound, Side, Sorted};
use crate::bulk::threads::for_each_block;
use crate::bulk::{Readable, Writable};
use crate::convert::Scalar;
use crate::element::DType;

/// How many bytes an operation would read and write for a number, if it took as long as the number takes here.
const WEIGHT: usize = 256;

/// The number of bounds that are made at once.
const TOGETHER: usize = 64;

/// Puts into a block of Long where real numbers belong among sorted elements: the index from 1 of the element before which each belongs, or
/// one more than the number of elements. It returns false if one of the numbers is NaN.
///
/// # Panics
/// If the block is not of Long or has another number of elements, or if one of the blocks has complex numbers.
pub fn search_all(sorted: Sorted<'_>, numbers: Readable<'_>, side: Side, target: Writable<'_>) -> bool {
    assert_eq!((target.dtype(), target.size()), (DType::Long, numbers.size()), "there is an index for each number");
    let are_numbers = AtomicBool::new(true);
    for_each_block(numbers.size(), WEIGHT, |indices| {
        for start in indices.clone().step_by(TOGETHER) {
            let mut bounds = [Bound::NONE; TOGETHER];
            let bounds = &mut bounds[..TOGETHER.min(indices.end - start)];
            for (index, bound) in bounds.iter_mut().enumerate() {
                let number = numbers.get_scalar(start + index).unwrap_or(Scalar::Float(f64::NAN));
                let Some(found) = Bound::of(number, side, sorted.dtype()) else {
                    // Relaxed: the end of the threads publishes it.
                    return are_numbers.store(false, Ordering::Relaxed);
                };
                *bound = found;
            }
            sorted.find(bounds, |index, place| {
                let is_there = target.set(start + index, Scalar::Unsigned(place as u64 + 1));
                debug_assert!(is_there, "there is an index for each number");
            });
        }
    });
    are_numbers.into_inner()
}
