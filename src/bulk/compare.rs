//! Comparing two blocks of elements for equality.

use super::access::{Readable, Values};
use super::level::{Kernel, Level};
use crate::element::{Element, with_element};

/// The number of elements that are compared before the result is looked at, so that a difference ends the comparison early.
const CHUNK: usize = 1024;

/// Whether two blocks of the same dtype and size hold equal values.
pub(super) fn equal(level: Level, left: Readable<'_>, right: Readable<'_>) -> bool {
    if left.dtype().is_integer() {
        return left.values().equals(right.values());
    }
    with_element!(left.dtype(), T => {
        let (left, right) = (left.values::<T>(), right.values::<T>());
        (0..left.size()).step_by(CHUNK).all(|start| {
            let chunk = start..left.size().min(start + CHUNK);
            level.run(Equal { left: left.part(chunk.clone()), right: right.part(chunk) })
        })
    })
}

struct Equal<T> {
    left: Values<T>,
    right: Values<T>,
}

impl<T: Element> Kernel for Equal<T> {
    type Output = bool;

    #[inline(always)]
    fn run(self, _: Level) -> bool {
        let (size, left) = (self.left.size(), self.left);
        let right = self.right.first(size);
        let mut equal = true;
        // The loop does not end at the first difference, because the compiler could not vectorise it then.
        for index in 0..size {
            equal &= left.get(index) == right.get(index);
        }
        equal
    }
}
