//! Numbers at equal distances.

use std::ops::Range;

use crate::bulk::{self, Readable};
use crate::convert::count_to_f64;
use crate::error::Error;
use crate::storage::Storage;

/// Numbers at equal distances: number `i`, from 0, is the first one plus `i` steps.
#[derive(Clone, Copy, Debug)]
pub enum Sequence {
    /// Whole numbers, which are calculated exactly. All of them are in the range of the type.
    Whole {
        /// The first number.
        first: i64,
        /// The distance from each number to the next.
        step: i64,
    },
    /// Number `i` is `first + i * way / parts`, in this order.
    Float {
        /// The first number.
        first: f64,
        /// What is divided by `parts`.
        way: f64,
        /// 1, or the number of steps in `way`.
        parts: f64,
    },
}

/// How many numbers are converted together.
const CHUNK: usize = 512;

impl Sequence {
    /// Sets the elements of a storage in a range to the numbers of the same range, converted to its dtype.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`] if the range is not inside the storage.
    pub fn write(self, target: &Storage, range: Range<usize>) -> Result<(), Error> {
        let elements = target.writable()?;
        target.range(range.start, range.len())?;
        for start in range.clone().step_by(CHUNK) {
            let chunk = start..range.end.min(start + CHUNK);
            let part = elements.part(chunk.clone());
            match self {
                Self::Whole { first, step } => {
                    let mut numbers = [0; CHUNK];
                    for (number, index) in numbers.iter_mut().zip(chunk.clone()) {
                        // The product may be outside of the type where the sum is inside.
                        *number = first.wrapping_add(step.wrapping_mul(index.cast_signed() as i64));
                    }
                    bulk::copy(part, Readable::of_integers(&numbers[..chunk.len()]));
                }
                Self::Float { first, way, parts } => {
                    let mut numbers = [0.0; CHUNK];
                    for (number, index) in numbers.iter_mut().zip(chunk.clone()) {
                        *number = first + count_to_f64(index) * way / parts;
                    }
                    bulk::copy(part, Readable::of_numbers(&numbers[..chunk.len()]));
                }
            }
        }
        Ok(())
    }
}
