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
        return target.fill(pattern[0]);
    }
    if target.size() < MANY { level.run(Fill { target, pattern }) } else { level.run(FillLines { target, pattern }) }
}

/// Does the work of [`fill`] with stores past the caches.
fn fill_streamed(level: Level, target: BytesMut, pattern: Pattern) {
    let head = stream::bytes_before_line(target);
    let end = target.size() - (target.size() - head) % stream::LINE;
    level.run(Fill { target: target.part(0..head), pattern });
    let shifted = shifted(pattern, head);
    stream::fill(target.part(head..end), line(shifted).as_flattened());
    stream::finish();
    level.run(Fill { target: target.part(end..target.size()), pattern: shifted });
}

/// A cache line of patterns.
type Line = [Pattern; stream::LINE / size_of::<Pattern>()];

#[inline(always)]
fn line(pattern: Pattern) -> Line {
    [pattern; stream::LINE / size_of::<Pattern>()]
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

/// A target with room for a line at least, and the pattern that fills it.
struct FillLines {
    target: BytesMut,
    pattern: Pattern,
}

impl Kernel for FillLines {
    type Output = ();

    /// The first and the last line begin anywhere. Those between them begin at cache lines, and overlap with these two.
    #[inline(always)]
    fn run(self, _: Level) {
        let last = self.target.size() - size_of::<Line>();
        let head = stream::bytes_before_line(self.target);
        self.store(0, line(self.pattern));
        let aligned = line(shifted(self.pattern, head));
        for offset in (head..=last).step_by(size_of::<Line>()) {
            self.store(offset, aligned);
        }
        self.store(last, line(shifted(self.pattern, last)));
    }
}

impl FillLines {
    /// Stores a line at an offset from which on a line fits.
    #[inline(always)]
    fn store(&self, offset: usize, line: Line) {
        // SAFETY: [in-bounds] `run` gives no offset beyond its `last`, from which on a line fits. [alias] a line is an array of bytes.
        unsafe { self.target.data().wrapping_add(offset).cast::<Line>().write(line) };
    }
}
