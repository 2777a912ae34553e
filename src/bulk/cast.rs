//! Copying elements from one class to another, in memory that may overlap.
//!
//! A conversion goes through other classes where its rule does: `Double -> Float -> Half`, `Half -> Float -> Int -> Byte`. Each
//! step is one loop over one pair of classes; between the steps a few elements are in a buffer that the first cache holds. So one
//! list of steps makes all pairs, and only the few steps that have instructions of their own are written by hand (`lanes.rs`).
//! Through such a buffer go also parts that overlap, and what is streamed past the caches.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use super::level::{Kernel, Level, Set};
use super::{get_as, lanes, set_as, stream};
use crate::element::{DType, Element, with_element};

/// Where elements go, and their class.
#[derive(Clone, Copy)]
pub(super) struct Target(pub *mut u8, pub DType);

/// Where elements come from, and their class.
#[derive(Clone, Copy)]
pub(super) struct Source(pub *const u8, pub DType);

/// Elements that are converted at once on their way past the caches. Few, as reading and writing mix best so; as many as a line
/// has bytes, so that they are whole lines of every class.
const PART: usize = stream::LINE;

/// Elements that are between two steps at once otherwise.
const STEP: usize = 4 * PART;

/// Overlapping elements that are read at once before they are written.
const CHUNK: usize = 16 * PART;

/// `SIZE` elements of any class.
#[repr(align(64))]
struct Buffer<const SIZE: usize>(MaybeUninit<[u64; SIZE]>);

impl<const SIZE: usize> Buffer<SIZE> {
    const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    fn data<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

/// How the target is written.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    /// By the last step: the target is not read any more.
    Directly,
    /// From a buffer, when all of the chunk has been read.
    Later,
    /// From a buffer, past the caches.
    Streamed,
}

impl Target {
    /// The same from element `place` on.
    pub(super) fn from(self, place: usize) -> Self {
        Self(self.0.wrapping_add(place * self.1.width()), self.1)
    }
}

impl Source {
    /// The same from element `place` on.
    pub(super) fn from(self, place: usize) -> Self {
        Self(self.0.wrapping_add(place * self.1.width()), self.1)
    }
}

/// The class that elements become next on their way to `to`.
const fn next(from: DType, to: DType) -> DType {
    use DType::{Float, Half, Int};
    match (from, to) {
        (Half, Float) | (Float, Half) => to,
        (Half, _) | (_, Half) => Float,
        _ if !from.is_integer() && to.is_integer() && to.width() < Int.width() => Int,
        _ => to,
    }
}

/// Whether elements of the two are the same bytes: integers of one width differ in what their bits mean.
fn same_bytes(to: DType, from: DType) -> bool {
    to == from || (to.is_integer() && from.is_integer() && to.width() == from.width())
}

/// Whether no byte of the target is one of the source.
pub(super) fn are_apart(target: Target, source: Source, size: usize) -> bool {
    let (to, from) = (target.0.addr(), source.0.addr());
    to + size * target.1.width() <= from || from + size * source.1.width() <= to
}

/// Copies elements as if all had been read first: past the caches if `streamed`, where it can be done.
///
/// # Safety
/// The target is valid for writes of `size` elements, the source for reads.
pub(super) unsafe fn copy(level: Level, target: Target, source: Source, size: usize, streamed: bool) {
    if size == 0 {
        return;
    }
    let width = target.1.width();
    let apart = are_apart(target, source, size);
    // Only elements that do not lie across lines make whole lines.
    let streamed = streamed && apart && target.0.addr().is_multiple_of(width);
    if same_bytes(target.1, source.1) {
        // SAFETY: the caller says that these bytes can be read and written; where they are streamed they are apart.
        return unsafe { copy_bytes(target.0, source.0, size * width, streamed) };
    }
    if apart && !streamed {
        // SAFETY: the caller says that the elements can be read and written; they are apart.
        return unsafe { convert(level, target, source, size, Store::Directly) };
    }
    // SAFETY: as the caller says.
    unsafe { copy_in_parts(level, target, source, size, streamed) };
}

/// [`copy`] of what overlaps, or is streamed.
///
/// # Safety
/// As [`copy`]; if `streamed`, target and source are apart, and no element of the target lies across lines.
#[cold]
unsafe fn copy_in_parts(level: Level, target: Target, source: Source, size: usize, streamed: bool) {
    let mut buffer = Buffer::<CHUNK>::new();
    for (places, direction, store) in parts(target, source, size, streamed) {
        if store != Store::Later {
            // SAFETY: the places are inside both, which are apart; see `parts` for what is streamed.
            unsafe { convert(level, target.from(places.start), source.from(places.start), places.len(), store) };
            continue;
        }
        for chunk in Chunks(places, direction) {
            let read = Target(buffer.data(), target.1);
            // SAFETY: the chunk is inside the source; the buffer has room for it, and is apart from every storage.
            unsafe { convert(level, read, source.from(chunk.start), chunk.len(), Store::Directly) };
            // SAFETY: as above; the chunk is inside the target.
            unsafe { ptr::copy_nonoverlapping(read.0, target.from(chunk.start).0, chunk.len() * target.1.width()) };
        }
    }
    if streamed {
        stream::finish();
    }
}

/// Copies bytes, past the caches if `streamed`.
///
/// # Safety
/// `target` is valid for writes of `bytes` bytes, `source` for reads; if `streamed` they are apart.
unsafe fn copy_bytes(target: *mut u8, source: *const u8, bytes: usize, streamed: bool) {
    let mut done = 0;
    if streamed {
        let head = stream::to_line(target, bytes);
        let lines = bytes - head - (bytes - head) % stream::LINE;
        // SAFETY: the head is inside.
        unsafe { ptr::copy_nonoverlapping(source, target, head) };
        // SAFETY: the lines are inside, and the target begins one.
        unsafe { stream::copy(target.wrapping_add(head), source.wrapping_add(head), lines) };
        stream::finish();
        done = head + lines;
    }
    // SAFETY: what is left is inside both; `ptr::copy` allows overlap; bytes need no alignment.
    unsafe { ptr::copy(source.wrapping_add(done), target.wrapping_add(done), bytes - done) };
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Down,
}

/// Chunks of places, from the first up or from the last down.
struct Chunks(Range<usize>, Direction);

impl Iterator for Chunks {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let left = self.0.clone();
        let size = left.len().min(CHUNK);
        let (chunk, left) = match self.1 {
            Direction::Up => (left.start..left.start + size, left.start + size..left.end),
            Direction::Down => (left.end - size..left.end, left.start..left.end - size),
        };
        self.0 = left;
        (size > 0).then_some(chunk)
    }
}

/// The parts of a conversion that is streamed, or overlaps, in the order in which they are done.
///
/// Where target and source overlap, writing element `i` may only hit source bytes that have been read. With `gap(i)` = address of
/// target element `i` minus that of source element `i`: going up is right where the gap is <= 0, going down where it is >= 0. The
/// gap is linear in `i`, so it changes sign at most once, at `turn`; the two parts are done in the order in which neither hits the
/// other's source.
fn parts(target: Target, source: Source, size: usize, streamed: bool) -> impl Iterator<Item = (Range<usize>, Direction, Store)> {
    use Direction::{Down, Up};
    let (wide, narrow) = (target.1.width(), source.1.width());
    let (to, from) = (target.0.addr(), source.0.addr());
    let none = (0..0, Up, Store::Directly);
    let parts = if streamed {
        // Up to where a line begins, then whole lines.
        let head = stream::to_line(target.0, size * wide) / wide;
        let end = size - (size - head) % PART;
        [(0..head, Up, Store::Directly), (head..end, Up, Store::Streamed), (end..size, Up, Store::Directly)]
    } else if to <= from && wide <= narrow {
        [(0..size, Up, Store::Later), none.clone(), none]
    } else if to >= from && wide >= narrow {
        [(0..size, Down, Store::Later), none.clone(), none]
    } else if wide > narrow {
        // The target starts below and grows faster: low part up, high part down, high part first.
        let turn = ((from - to) / (wide - narrow) + 1).min(size);
        [(turn..size, Down, Store::Later), (0..turn, Up, Store::Later), none]
    } else {
        // The target starts above and grows slower: low part down, high part up, low part first.
        let turn = (to - from).div_ceil(narrow - wide).min(size);
        [(0..turn, Down, Store::Later), (turn..size, Up, Store::Later), none]
    };
    parts.into_iter()
}

/// Converts elements in memory that does not overlap.
///
/// # Safety
/// The target is valid for writes of `size` elements, the source for reads; they are apart. If the store is `Streamed`, the target
/// begins a line, `size` is a multiple of `PART`, and [`stream::finish`] is called at the end.
unsafe fn convert(level: Level, target: Target, source: Source, size: usize, store: Store) {
    let streamed = store == Store::Streamed;
    with_element!(source.1, S => with_element!(target.1, D => {
        let conversion = Conversion::<S, D> { target: target.0.cast(), source: source.0.cast(), size, streamed };
        // SAFETY: the dtypes of `S` and `D` are those of the caller's promise.
        unsafe { level.run(conversion) }
    }));
}

/// Who makes one promises what [`convert`] asks for.
struct Conversion<S, D> {
    target: *mut D,
    source: *const S,
    size: usize,
    streamed: bool,
}

impl<S: Element, D: Element> Kernel for Conversion<S, D> {
    type Output = ();

    #[inline(always)]
    unsafe fn run(self, set: Set) {
        let Self { target, source, size, streamed } = self;
        let mut buffer = Buffer::<PART>::new();
        if streamed {
            for start in (0..size).step_by(PART) {
                let source = source.wrapping_add(start);
                stream::prefetch(source.cast(), size_of::<S>());
                // The compiler is not told that this is `PART` each time: it would unroll first and then vectorise no more.
                // SAFETY: the part is inside, and the buffer has room for it.
                unsafe { convert_part::<S, D>(set, buffer.data(), source, PART.min(size - start)) };
                // SAFETY: the part is inside; it is whole lines, as the target begins one and `PART` is what it is.
                unsafe { stream::copy(target.wrapping_add(start).cast(), buffer.data(), PART * size_of::<D>()) };
            }
        } else if const { is(next(S::DTYPE, D::DTYPE), D::DTYPE) } {
            // SAFETY: as our caller promises.
            unsafe { step(set, target, source, size) };
        } else {
            for start in (0..size).step_by(STEP) {
                let (target, source) = (target.wrapping_add(start), source.wrapping_add(start));
                // SAFETY: the part is inside.
                unsafe { convert_part::<S, D>(set, target, source, STEP.min(size - start)) };
            }
        }
    }
}

/// `==`, where a constant is wanted.
const fn is(one: DType, other: DType) -> bool {
    one.number() == other.number()
}

/// Converts at most `STEP` elements, in as many steps as their rule has. Which ones is known when it is compiled.
///
/// # Safety
/// `target` is valid for writes of `size` elements, `source` for reads; they are apart; the processor has the instructions of `set`.
#[inline(always)]
unsafe fn convert_part<S: Element, D: Element>(set: Set, target: *mut D, source: *const S, size: usize) {
    if const { is(next(S::DTYPE, D::DTYPE), D::DTYPE) } {
        // SAFETY: as the caller says.
        return unsafe { step(set, target, source, size) };
    }
    let mut buffer = Buffer::<STEP>::new();
    if const { is(next(S::DTYPE, D::DTYPE), DType::Int) } {
        // SAFETY: as the caller says; the buffer has room for a part.
        unsafe { step::<S, i32>(set, buffer.data(), source, size) };
        // SAFETY: the buffer has the part now.
        return unsafe { step::<i32, D>(set, target, buffer.data(), size) };
    }
    // SAFETY: as the caller says; the buffer has room for a part.
    unsafe { step::<S, f32>(set, buffer.data(), source, size) };
    if const { is(next(DType::Float, D::DTYPE), D::DTYPE) } {
        // SAFETY: the buffer has the part now.
        return unsafe { step::<f32, D>(set, target, buffer.data(), size) };
    }
    let mut integers = Buffer::<STEP>::new();
    // SAFETY: the buffer has the part now, the other one has room for it.
    unsafe { step::<f32, i32>(set, integers.data(), buffer.data(), size) };
    // SAFETY: as above.
    unsafe { step::<i32, D>(set, target, integers.data(), size) };
}

/// One step.
///
/// # Safety
/// As [`convert_part`].
#[inline(always)]
unsafe fn step<S: Element, D: Element>(set: Set, target: *mut D, source: *const S, size: usize) {
    // SAFETY: our caller's promise is that of `lanes`.
    let done = unsafe { lanes::convert(set, target, source, size) };
    for place in done..size {
        // SAFETY: the place is below the size.
        let value = unsafe { get_as::<S>(source.cast(), place) };
        // SAFETY: as above.
        unsafe { set_as::<D>(target.cast(), place, value.convert::<D>()) };
    }
}
