//! Whether two blocks hold equal values.

use super::access::{Readable, Values};
use super::level::{Kernel, Level};
use crate::element::{Element, with_element};

/// Elements that are compared before the kernel looks whether all of them were equal.
const CHUNK: usize = 1024;

/// Whether two blocks of one dtype and one size hold equal values.
pub(super) fn equal(level: Level, left: Readable<'_>, right: Readable<'_>) -> bool {
    if left.dtype().is_integer() {
        return left.values().are(right.values());
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
        // The loop has no way out in the middle, which would keep it from being vectorised.
        for index in 0..size {
            equal &= left.get(index) == right.get(index);
        }
        equal
    }
}
