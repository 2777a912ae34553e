//! Whether two blocks hold equal values.

use std::marker::PhantomData;

use super::get_as;
use super::level::{Kernel, Level, Set};
use crate::element::{DType, Element, with_element};

/// Elements that are compared before it is seen whether all were equal.
const CHUNK: usize = 1024;

/// # Safety
/// Both pointers are valid for reads of `size` elements of `dtype`.
pub(super) unsafe fn equal(level: Level, left: *const u8, right: *const u8, dtype: DType, size: usize) -> bool {
    if dtype.is_integer() {
        // SAFETY: the caller says that these bytes can be read; of no bytes none is.
        return size == 0 || unsafe { libc::memcmp(left.cast(), right.cast(), size * dtype.width()) } == 0;
    }
    with_element!(dtype, T => {
        let part = |start: usize| {
            let bytes = start * size_of::<T>();
            let (left, right) = (left.wrapping_add(bytes), right.wrapping_add(bytes));
            Equal::<T> { left, right, size: CHUNK.min(size - start), element: PhantomData }
        };
        // SAFETY: the part is inside both blocks.
        (0..size).step_by(CHUNK).all(|start| unsafe { level.run(part(start)) })
    })
}

/// Who makes one promises that both pointers are valid for reads of `size` elements of `T`.
struct Equal<T> {
    left: *const u8,
    right: *const u8,
    size: usize,
    element: PhantomData<T>,
}

impl<T: Element> Kernel for Equal<T> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run(self, _: Set) -> bool {
        let mut equal = true;
        // Without a way out in the middle, which would keep it from being vectorised.
        for place in 0..self.size {
            // SAFETY: the place is below the size.
            let left = unsafe { get_as::<T>(self.left, place) };
            // SAFETY: as above.
            let right = unsafe { get_as::<T>(self.right, place) };
            equal &= left == right;
        }
        equal
    }
}
