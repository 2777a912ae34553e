//! How often an element occurs in a part.

use super::PART;
use super::extremes::{NOT_CONVERTED, comparable};
use crate::bulk::access::{Readable, Values};
use crate::bulk::level::{Kernel, Level};
use crate::convert::{Number, Scalar};
use crate::element::{Element, with_native};

/// How many elements of a part equal a number, which is one of their dtype. -0 equals 0, and NaN equals nothing.
///
/// # Panics
/// If the elements are no real numbers of at least a byte, or more than a part.
#[must_use]
pub fn count(elements: Readable<'_>, number: Scalar) -> usize {
    assert!(elements.size() <= PART, "the elements are one part");
    let level = Level::current();
    let elements = comparable(elements);
    with_native!(elements.dtype(), T => {
        level.run(Count { values: elements.values::<T>(), wanted: T::from_scalar(number) })
    }, else unreachable!("{NOT_CONVERTED}"))
}

struct Count<T> {
    values: Values<T>,
    wanted: T,
}

impl<T: Element + PartialEq> Kernel for Count<T> {
    type Output = usize;

    #[inline(always)]
    fn run(self, _: Level) -> usize {
        let (values, wanted) = (self.values, self.wanted);
        // A part has fewer elements than 16 bits can count.
        let found = (0..values.size()).fold(0u16, |found, index| found + u16::from(values.get(index) == wanted));
        usize::from(found)
    }
}
