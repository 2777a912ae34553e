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

/// Repeats the pattern over all bytes. The last repetition may be cut off. If `streamed`, the stores go past the caches where that
/// is faster.
pub(super) fn fill(level: Level, target: BytesMut, pattern: Pattern, streamed: bool) {
    if !streamed {
        return fill_cached(level, target, pattern);
    }
    for (part, streamed) in stream::parts(target) {
        let pattern = shifted(pattern, part.start);
        let fill = if streamed { fill_streamed } else { fill_cached };
        fill(level, target.part(part), pattern);
    }
}

/// The pattern as it goes on after this many bytes.
fn shifted(mut pattern: Pattern, bytes: usize) -> Pattern {
    let passed = bytes % size_of::<Pattern>();
    if passed > 0 {
        pattern.rotate_left(passed);
    }
    pattern
}

/// Does the work of [`fill`] with stores to the caches.
fn fill_cached(level: Level, target: BytesMut, pattern: Pattern) {
    if pattern == [pattern[0]; size_of::<Pattern>()] {
        target.fill(pattern[0]);
    } else if target.size() < MANY {
        level.run(Fill { target, pattern });
    } else {
        fill_lines(level, target, pattern, |lines, line| level.run(FillLines { target: lines, line }));
    }
}

/// Does the work of [`fill`] with stores past the caches.
fn fill_streamed(level: Level, target: BytesMut, pattern: Pattern) {
    fill_lines(level, target, pattern, stream::fill);
    stream::finish();
}

/// Fills the bytes before the first cache line and those behind the last one, and calls `fill` with the lines between them and with
/// the contents of a line.
fn fill_lines(level: Level, target: BytesMut, pattern: Pattern, fill: impl FnOnce(BytesMut, &Line)) {
    let head = stream::bytes_before_line(target);
    let end = target.size() - (target.size() - head) % stream::LINE;
    level.run(Fill { target: target.part(0..head), pattern });
    let pattern = shifted(pattern, head);
    fill(target.part(head..end), &std::array::from_fn(|index| pattern[index % size_of::<Pattern>()]));
    level.run(Fill { target: target.part(end..target.size()), pattern });
}

/// From this number of bytes on, whole cache lines are stored. For fewer bytes, making a line takes longer.
const MANY: usize = 4096;

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

/// The contents of a cache line.
type Line = [u8; stream::LINE];

/// A target that consists of whole cache lines, and the contents of each.
struct FillLines<'a> {
    target: BytesMut,
    line: &'a Line,
}

impl Kernel for FillLines<'_> {
    type Output = ();

    /// The line is copied from memory, in one or two vectors where the processor has them. If it were made of patterns here, the
    /// compiler would store each pattern by itself.
    #[inline(always)]
    fn run(self, _: Level) {
        for start in (0..self.target.size() / stream::LINE).map(|line| line * stream::LINE) {
            // SAFETY: [in-bounds] the line that begins at `start` is one of the whole lines of the target. [alias] it is an array of
            // bytes.
            unsafe { self.target.data().wrapping_add(start).cast::<Line>().write(*self.line) };
        }
    }
}
