//! Filling memory with one value.

use super::access::{Bytes, BytesMut, Writable};
use super::level::{Kernel, Level};
use super::stream;
use crate::convert::{Number, Scalar};
use crate::element::{DType, with_element};

/// Sixteen bytes that are repeated over the memory. The width of every dtype divides 16.
type Pattern = [u8; 16];

/// Fills sixteen bytes with elements of `dtype` that have this value, which is converted once.
pub(super) fn pattern(dtype: DType, value: Scalar) -> Pattern {
    let mut pattern = Pattern::default();
    let elements = Writable::of(&mut pattern, dtype);
    with_element!(dtype, T => {
        let element = T::from_scalar(value);
        (0..elements.size()).for_each(|index| elements.values::<T>().set(index, element));
    });
    pattern
}

/// Fills sixteen bytes with the bytes of one element.
pub(super) fn repeated(element: Bytes) -> Pattern {
    std::array::from_fn(|index| element.get(index % element.size()))
}

/// Repeats the pattern over all bytes. The last repetition may be cut off. If `streamed`, the stores go past the caches.
pub(super) fn fill(level: Level, target: BytesMut, pattern: Pattern, streamed: bool) {
    if !streamed && pattern == [pattern[0]; size_of::<Pattern>()] {
        return target.fill(pattern[0]);
    }
    if !streamed {
        return level.run(Fill { target, pattern });
    }
    let head = stream::bytes_before_line(target);
    level.run(Fill { target: target.part(0..head), pattern });
    let mut rotated = pattern;
    rotated.rotate_left(head % pattern.len());
    let end = target.size() - (target.size() - head) % stream::LINE;
    stream::fill(target.part(head..end), [rotated; stream::LINE / size_of::<Pattern>()].as_flattened());
    stream::finish();
    level.run(Fill { target: target.part(end..target.size()), pattern: rotated });
}

/// A target and the pattern that fills it.
struct Fill {
    target: BytesMut,
    pattern: Pattern,
}

impl Kernel for Fill {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        let whole = self.target.size() / size_of::<Pattern>();
        for index in 0..whole {
            // SAFETY: [in-bounds] the index is below `whole`, the number of patterns that fit. [alias] a pattern is an array of
            // bytes.
            unsafe { self.target.data().cast::<Pattern>().wrapping_add(index).write(self.pattern) };
        }
        for index in whole * size_of::<Pattern>()..self.target.size() {
            self.target.set(index, self.pattern[index % size_of::<Pattern>()]);
        }
    }
}
