//! Filling memory with one element.

use super::level::{Kernel, Level, Set};
use super::{set_as, stream};
use crate::convert::{Number, Scalar};
use crate::element::{DType, with_element};

/// Sixteen bytes of memory, filled.
type Pattern = [u8; 16];

/// Sixteen bytes of elements of `dtype` with this value, converted once.
pub(super) fn pattern(dtype: DType, value: Scalar) -> Pattern {
    let mut pattern = Pattern::default();
    with_element!(dtype, T => {
        let element = T::from_scalar(value);
        for place in 0..pattern.len() / size_of::<T>() {
            // SAFETY: the place is inside the pattern, whose length is a multiple of every width.
            unsafe { set_as::<T>(pattern.as_mut_ptr(), place, element) }
        }
    });
    pattern
}

/// Repeats the pattern over `bytes` bytes, past the caches if `streamed`; the last one may be cut.
///
/// # Safety
/// `data` is valid for writes of `bytes` bytes.
pub(super) unsafe fn fill(level: Level, data: *mut u8, pattern: Pattern, bytes: usize, streamed: bool) {
    if !streamed && bytes > 0 && pattern == [pattern[0]; size_of::<Pattern>()] {
        // SAFETY: as the caller says.
        return unsafe { std::ptr::write_bytes(data, pattern[0], bytes) };
    }
    if !streamed {
        // SAFETY: as the caller says.
        return unsafe { level.run(Fill { data, pattern, bytes }) };
    }
    let head = stream::to_line(data, bytes);
    // SAFETY: the head is inside.
    unsafe { level.run(Fill { data, pattern, bytes: head }) };
    let mut turned = pattern;
    turned.rotate_left(head % pattern.len());
    let line = [turned; stream::LINE / size_of::<Pattern>()];
    let lines = (bytes - head) / stream::LINE;
    for place in 0..lines {
        let target = data.wrapping_add(head + place * stream::LINE);
        // SAFETY: the line is inside, and begins where a line does; the source is as long.
        unsafe { stream::copy(target, line.as_ptr().cast(), stream::LINE) };
    }
    stream::finish();
    let done = head + lines * stream::LINE;
    // SAFETY: what is left is inside.
    unsafe { level.run(Fill { data: data.wrapping_add(done), pattern: turned, bytes: bytes - done }) };
}

/// Who makes one promises that `data` is valid for writes of `bytes` bytes.
struct Fill {
    data: *mut u8,
    pattern: Pattern,
    bytes: usize,
}

impl Kernel for Fill {
    type Output = ();

    #[inline(always)]
    unsafe fn run(self, _: Set) {
        let whole = self.bytes / size_of::<Pattern>();
        for place in 0..whole {
            // SAFETY: the pattern is inside; bytes need no alignment.
            unsafe { self.data.cast::<Pattern>().wrapping_add(place).write(self.pattern) };
        }
        for place in whole * size_of::<Pattern>()..self.bytes {
            // SAFETY: the byte is inside.
            unsafe { self.data.wrapping_add(place).write(self.pattern[place % size_of::<Pattern>()]) };
        }
    }
}
