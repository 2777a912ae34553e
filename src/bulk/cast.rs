//! Copying elements from one class to another, in memory that may overlap.
//!
//! A conversion goes through other classes where its rule does: `Double -> Float -> Half`, `Half -> Float -> Int -> Byte`. Each
//! step is one loop over one pair of classes; between the steps a few elements are in a buffer that the first cache holds. So a
//! few steps make all pairs: a new class costs the loops to its neighbours, not one loop for every other class. The steps that
//! have instructions of their own are written by hand (`lanes.rs`).
//! Through such a buffer go also parts that overlap, and what is streamed past the caches.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use super::level::{Level, Loop, Looping, Set};
use super::{get_as, lanes, set_as, stream};
use crate::element::{DType, Element, Kind, with_element};

/// Where elements go, and their class.
#[derive(Clone, Copy)]
pub(super) struct Target(pub *mut u8, pub DType);

/// Where elements come from, and their class.
#[derive(Clone, Copy)]
pub(super) struct Source(pub *const u8, pub DType);

/// As many elements as a line has bytes, so that they are whole lines of every class.
const PART: usize = stream::LINE;

/// Bytes that are read or written at once, whichever is more, on the way past the caches. Few, as the two mix best so.
const MIXED: usize = 16 * PART;

/// Elements that are between two steps at once otherwise.
const STEP: usize = 16 * PART;

/// Overlapping elements that are read at once before they are written.
const CHUNK: usize = 16 * PART;

/// `SIZE` elements of any class but complex ones, which are twice as large.
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
    use DType::{BFloat16, Bool, Byte, Char, Double, Float, Int, Short};
    match (from, to) {
        _ if from.is_complex() => {
            if matches!(to, Bool) {
                to
            } else {
                from.part()
            }
        }
        _ if to.is_complex() && from.number() == to.part().number() => to,
        _ if to.is_complex() => next(from, to.part()),
        (Bool, Byte | Char) => to,
        (Bool, _) => Byte,
        // At once, where going through `Float` would round twice: it does not hold these exactly.
        (Double, BFloat16) => to,
        (_, BFloat16) if from.is_integer() && from.width() >= Float.width() => to,
        (Float, _) if is_small(to) => to,
        (_, Float) => to,
        _ if is_small(from) || is_small(to) => Float,
        (_, Bool) | (Float, Short) => to,
        _ if !from.is_integer() && to.is_integer() && to.width() < Int.width() => Int,
        _ => to,
    }
}

/// The class whose kernels convert a class: bytes without a type are converted as `u8`.
pub(super) const fn numbers(dtype: DType) -> DType {
    if dtype.is_untyped() { DType::Byte } else { dtype }
}

/// Whether the elements are floats that are read and written as `Float`.
const fn is_small(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::SmallFloat)
}

/// The class whose loops also convert integers to `to`. Integers of one width get the same bytes, with a sign or without: one
/// loop serves both, that of the first such class in the list.
const fn stands_for(to: DType) -> DType {
    let mut number = 0;
    while number < to.number() {
        let class = DType::ALL[number];
        if class.is_integer() && to.is_integer() && class.width() == to.width() {
            return class;
        }
        number += 1;
    }
    to
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
    let (target, source) = (Target(target.0, numbers(target.1)), Source(source.0, numbers(source.1)));
    if target.1.is_complex() && source.1.is_complex() {
        // Part by part.
        let (target, source) = (Target(target.0, target.1.part()), Source(source.0, source.1.part()));
        // SAFETY: as the caller says: an element is two parts.
        return unsafe { copy(level, target, source, 2 * size, streamed) };
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
    let mut buffer = Buffer::<{ 2 * CHUNK }>::new();
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
    if size == 0 {
        return;
    }
    let route = Route::new(level, source.1, target.1);
    if store != Store::Streamed {
        let step = if route.middle.is_none() { size } else { STEP };
        for start in (0..size).step_by(step) {
            // SAFETY: the part is inside.
            unsafe { route.convert(target.from(start).0, source.from(start).0, step.min(size - start)) };
        }
        return;
    }
    let mut buffer = Buffer::<{ MIXED / size_of::<u64>() }>::new();
    let part = MIXED / source.1.width().max(target.1.width());
    for start in (0..size).step_by(part) {
        let (source, count) = (source.from(start), part.min(size - start));
        stream::prefetch(source.0, source.1.width() * part / stream::LINE);
        // SAFETY: the part is inside, and the buffer has room for it.
        unsafe { route.convert(buffer.data(), source.0, count) };
        // SAFETY: the part is inside; it is whole lines, as the target begins one, and `PART` divides the count.
        unsafe { stream::copy(target.from(start).0, buffer.data(), count * target.1.width()) };
    }
}

/// The steps from one class to another: at most three. Each is chosen once, and called part by part: a few nanoseconds a part,
/// measured the same as compiling all steps of a pair into one function, of which there would be one for each pair.
struct Route {
    /// The steps before the last one, if there are any.
    middle: Option<(Loop, Option<Loop>)>,
    last: Loop,
}

impl Route {
    fn new(level: Level, from: DType, to: DType) -> Self {
        let step = |from, to| step_to(level, from, to);
        let first = next(from, to);
        if first == to {
            return Self { middle: None, last: step(from, to) };
        }
        let (second, begin) = (next(first, to), step(from, first));
        if second == to {
            return Self { middle: Some((begin, None)), last: step(first, to) };
        }
        Self { middle: Some((begin, Some(step(first, second)))), last: step(second, to) }
    }

    /// Converts in as many steps as the rule has; if that is more than one, at most `STEP` elements.
    ///
    /// # Safety
    /// As for a [`Loop`].
    unsafe fn convert(&self, target: *mut u8, source: *const u8, size: usize) {
        let (mut one, mut other) = (Buffer::<STEP>::new(), Buffer::<STEP>::new());
        let mut source = source;
        if let Some((first, second)) = self.middle {
            // SAFETY: as the caller says; the buffer has room for a part.
            unsafe { first(one.data(), source, size) };
            source = one.data();
            if let Some(second) = second {
                // SAFETY: the one buffer has the part now, the other one has room for it.
                unsafe { second(other.data(), source, size) };
                source = other.data();
            }
        }
        // SAFETY: as the caller says; the buffer has the part now.
        unsafe { (self.last)(target, source, size) };
    }
}

/// The step from one class to the next one.
fn step_to(level: Level, from: DType, to: DType) -> Loop {
    let to = if from.is_integer() { with_element!(to, D => const { stands_for(D::DTYPE) }) } else { to };
    with_element!(from, S => with_element!(to, D => {
        if const { is_step(S::DTYPE, D::DTYPE) } {
            level.pick::<Convert<S, D>>()
        } else {
            none
        }
    }))
}

/// The loop of a pair that is no step, which no route has.
///
/// # Safety
/// None is needed: it is that of the others.
unsafe fn none(_: *mut u8, _: *const u8, _: usize) {}

/// Whether there is a loop for this pair: from a class to the next, unless that is the same bytes.
const fn is_step(from: DType, to: DType) -> bool {
    let same = from.number() == to.number() || (from.is_integer() && to.is_integer() && from.width() == to.width());
    let other = from.is_integer() && stands_for(to).number() != to.number();
    next(from, to).number() == to.number() && !same && !other
}

/// The loop from `S` to `D`.
struct Convert<S, D>(PhantomData<(S, D)>);

impl<S: Element, D: Element> Looping for Convert<S, D> {
    #[inline(always)]
    unsafe fn run(set: Set, target: *mut u8, source: *const u8, size: usize) {
        // SAFETY: as our caller promises.
        unsafe { step::<S, D>(set, target.cast(), source.cast(), size) }
    }
}

/// One step.
///
/// # Safety
/// `target` is valid for writes of `size` elements, `source` for reads; they are apart; the processor has the instructions of `set`.
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
