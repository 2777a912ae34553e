//! Filling memory with one element.

use super::access::{BytesMut, Writable};
use super::level::{Kernel, Level};
use super::stream;
use crate::convert::{Number, Scalar};
use crate::element::{DType, with_element};

/// Sixteen bytes of memory, filled. Every width divides them.
type Pattern = [u8; 16];

/// Sixteen bytes of elements of `dtype` with this value, converted once.
pub(super) fn pattern(dtype: DType, value: Scalar) -> Pattern {
    let mut pattern = Pattern::default();
    let elements = Writable::of(&mut pattern, dtype);
    with_element!(dtype, T => {
        let element = T::from_scalar(value);
        (0..elements.size()).for_each(|index| elements.values::<T>().set(index, element));
    });
    pattern
}

/// Repeats the pattern over all bytes, past the caches if `streamed`; the last pattern may be cut.
pub(super) fn fill(level: Level, target: BytesMut, pattern: Pattern, streamed: bool) {
    if !streamed && pattern == [pattern[0]; size_of::<Pattern>()] {
        return target.fill(pattern[0]);
    }
    if !streamed {
        return level.run(Fill { target, pattern });
    }
    let head = stream::to_line(target);
    level.run(Fill { target: target.part(0..head), pattern });
    let mut turned = pattern;
    turned.rotate_left(head % pattern.len());
    let end = target.size() - (target.size() - head) % stream::LINE;
    stream::fill(target.part(head..end), [turned; stream::LINE / size_of::<Pattern>()].as_flattened());
    stream::finish();
    level.run(Fill { target: target.part(end..target.size()), pattern: turned });
}

/// Bytes, and what they are filled with.
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
            // SAFETY: [in-bounds] `whole` patterns are inside. [alias] they are written through a raw pointer, as bytes.
            unsafe { self.target.data().cast::<Pattern>().wrapping_add(index).write(self.pattern) };
        }
        for index in whole * size_of::<Pattern>()..self.target.size() {
            self.target.set(index, self.pattern[index % size_of::<Pattern>()]);
        }
    }
}
