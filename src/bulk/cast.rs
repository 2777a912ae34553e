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

use super::access::{Bytes, BytesMut, Readable, Writable};
use super::level::{Conversion, Level, Loop};
use super::{lanes, stream};
use crate::element::{DType, Element, Kind, with_element};

/// As many elements as a line has bytes, so that they are whole lines of every class.
const PART: usize = stream::LINE;

/// Bytes that are read or written at once, whichever is more, on the way past the caches. Few, as the two mix best so.
const MIXED: usize = 16 * PART;

/// Elements that are between two steps at once otherwise.
const STEP: usize = 16 * PART;

/// Overlapping elements that are read at once before they are written.
const CHUNK: usize = 16 * PART;

/// Room for `WORDS` elements of any class but complex ones, which are twice as large.
#[repr(align(64))]
struct Buffer<const WORDS: usize>(MaybeUninit<[u64; WORDS]>);

impl<const WORDS: usize> Buffer<WORDS> {
    const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Lets `write` write `size` bytes, all of them and without reading any before, and gives them to be read.
    #[inline]
    fn filled(&mut self, size: usize, write: impl FnOnce(BytesMut)) -> Bytes {
        assert!(size <= size_of::<Self>(), "room in the buffer");
        let data = self.0.as_mut_ptr().cast();
        // SAFETY: [in-bounds] the buffer has room for them. [layout] nothing is read before it was written.
        write(unsafe { BytesMut::new(data, size) });
        // SAFETY: [in-bounds] the buffer has room for them. [layout] all have just been written.
        unsafe { Bytes::new(data, size) }
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
pub(super) fn are_apart(target: Writable<'_>, source: Readable<'_>) -> bool {
    let (to, from) = (target.data().addr(), source.data().addr());
    to + target.nbytes() <= from || from + source.nbytes() <= to
}

/// Copies elements as if all had been read first: past the caches if `streamed`, where that is possible.
pub(super) fn copy(level: Level, target: Writable<'_>, source: Readable<'_>, streamed: bool) {
    if target.size() == 0 {
        return;
    }
    let (mut target, mut source) = (target.retyped(numbers(target.dtype())), source.retyped(numbers(source.dtype())));
    if target.dtype().is_complex() && source.dtype().is_complex() {
        // Part by part: an element is two parts.
        (target, source) = (target.retyped(target.dtype().part()), source.retyped(source.dtype().part()));
    }
    let apart = are_apart(target, source);
    // Only elements that do not lie across lines make whole lines.
    let streamed = streamed && apart && target.data().addr().is_multiple_of(target.dtype().width());
    if same_bytes(target.dtype(), source.dtype()) {
        return copy_bytes(target.values(), source.values(), streamed);
    }
    if apart && !streamed {
        return convert(level, target, source, Store::Directly);
    }
    copy_in_parts(level, target, source, streamed);
}

/// [`copy`] of what overlaps, or is streamed. If it is streamed, target and source are apart, and no element of the target lies
/// across lines.
#[cold]
fn copy_in_parts(level: Level, target: Writable<'_>, source: Readable<'_>, streamed: bool) {
    let mut buffer = Buffer::<{ 2 * CHUNK }>::new();
    for (indices, direction, store) in parts(target, source, streamed) {
        if store != Store::Later {
            convert(level, target.part(indices.clone()), source.part(indices), store);
            continue;
        }
        for chunk in Chunks(indices, direction) {
            let read = source.part(chunk.clone());
            let target = target.part(chunk);
            let route = Route::new(level, read.dtype(), target.dtype());
            let write = |buffer: BytesMut| route.convert_all(buffer, read.values());
            target.values().copy_from(buffer.filled(target.nbytes(), write));
        }
    }
    if streamed {
        stream::finish();
    }
}

/// Copies bytes, past the caches if `streamed`.
fn copy_bytes(target: BytesMut, source: Bytes, streamed: bool) {
    let (mut done, size) = (0, target.size());
    if streamed {
        let head = stream::to_line(target);
        done = size - (size - head) % stream::LINE;
        target.part(0..head).copy_from(source.part(0..head));
        stream::copy(target.part(head..done), source.part(head..done));
        stream::finish();
    }
    target.part(done..size).copy_from(source.part(done..size));
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Down,
}

/// Chunks of a range of indices, from the first up or from the last down.
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
fn parts(
    target: Writable<'_>,
    source: Readable<'_>,
    streamed: bool,
) -> impl Iterator<Item = (Range<usize>, Direction, Store)> + use<> {
    use Direction::{Down, Up};
    let (wide, narrow, size) = (target.dtype().width(), source.dtype().width(), target.size());
    let (to, from) = (target.data().addr(), source.data().addr());
    let none = (0..0, Up, Store::Directly);
    let parts = if streamed {
        // Up to where a line begins, then whole lines.
        let head = stream::to_line(target.values()) / wide;
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

/// Converts elements in memory that does not overlap. If the store is `Streamed`, the target begins a line and `PART` divides its
/// size; the caller calls [`stream::finish`] at the end.
fn convert(level: Level, target: Writable<'_>, source: Readable<'_>, store: Store) {
    if target.size() == 0 {
        return;
    }
    let route = Route::new(level, source.dtype(), target.dtype());
    let (target, source) = (target.values(), source.values());
    if store != Store::Streamed {
        return route.convert_all(target, source);
    }
    let mut buffer = Buffer::<{ MIXED / size_of::<u64>() }>::new();
    let step = MIXED / route.from.max(route.to);
    route.in_parts(step, target, source, |target, source, size| {
        stream::prefetch(source, route.from * step / stream::LINE);
        stream::copy(target, buffer.filled(target.size(), |buffer| route.convert(buffer, source, size)));
    });
}

/// The steps from one class to another: at most three. Each is chosen once, and called part by part: a few nanoseconds a part,
/// measured the same as compiling all steps of a pair into one function, of which there would be one for each pair.
struct Route {
    /// Bytes of an element that is read.
    from: usize,
    /// Bytes of an element that is written.
    to: usize,
    /// The steps before the last one, if there are any.
    middle: Option<(Step, Option<Step>)>,
    last: Loop,
}

/// A step whose result is read by the next one, and bytes of an element of it.
#[derive(Clone, Copy)]
struct Step(Loop, usize);

impl Route {
    fn new(level: Level, from: DType, to: DType) -> Self {
        let step = |from, to: DType| Step(step_to(level, from, to), to.width());
        let first = next(from, to);
        let (middle, last) = if first == to {
            (None, step_to(level, from, to))
        } else {
            let (second, begin) = (next(first, to), step(from, first));
            if second == to {
                (Some((begin, None)), step_to(level, first, to))
            } else {
                (Some((begin, Some(step(first, second)))), step_to(level, second, to))
            }
        };
        Self { from: from.width(), to: to.width(), middle, last }
    }

    /// Calls `act` on parts of `step` elements, and says how many it has.
    #[inline]
    fn in_parts(&self, step: usize, target: BytesMut, source: Bytes, mut act: impl FnMut(BytesMut, Bytes, usize)) {
        let size = target.size() / self.to;
        for start in (0..size).step_by(step) {
            let end = size.min(start + step);
            let source = source.part(start * self.from..end * self.from);
            act(target.part(start * self.to..end * self.to), source, end - start);
        }
    }

    /// Converts any number of elements.
    fn convert_all(&self, target: BytesMut, source: Bytes) {
        if self.middle.is_none() {
            return self.last.run(target, source);
        }
        self.in_parts(STEP, target, source, |target, source, size| self.convert(target, source, size));
    }

    /// Converts `size` elements in as many steps as the rule has; if that is more than one, at most `STEP` elements.
    fn convert(&self, target: BytesMut, source: Bytes, size: usize) {
        let (mut one, mut other) = (Buffer::<STEP>::new(), Buffer::<STEP>::new());
        let mut source = source;
        if let Some((Step(first, width), second)) = self.middle {
            source = one.filled(size * width, |buffer| first.run(buffer, source));
            if let Some(Step(second, width)) = second {
                source = other.filled(size * width, |buffer| second.run(buffer, source));
            }
        }
        self.last.run(target, source);
    }
}

/// The step from one class to the next one.
fn step_to(level: Level, from: DType, to: DType) -> Loop {
    let to = if from.is_integer() { with_element!(to, D => const { stands_for(D::DTYPE) }) } else { to };
    with_element!(from, S => with_element!(to, D => {
        if const { is_step(S::DTYPE, D::DTYPE) } {
            level.pick::<Convert<S, D>>()
        } else {
            unreachable!("{from:?} does not become {to:?} in one step")
        }
    }))
}

/// Whether there is a loop for this pair: from a class to the next, unless that is the same bytes.
const fn is_step(from: DType, to: DType) -> bool {
    let same = from.number() == to.number() || (from.is_integer() && to.is_integer() && from.width() == to.width());
    let other = from.is_integer() && stands_for(to).number() != to.number();
    next(from, to).number() == to.number() && !same && !other
}

/// The loop from `S` to `D`.
struct Convert<S, D>(PhantomData<(S, D)>);

impl<S: Element, D: Element> Conversion for Convert<S, D> {
    #[inline(always)]
    fn run(level: Level, target: BytesMut, source: Bytes) {
        let done = lanes::convert::<S, D>(level, target, source);
        let (target, source) = (target.of::<D>(), source.of::<S>());
        let (size, source) = (target.size(), source.first(target.size()));
        for index in done..size {
            target.set(index, source.get(index).convert::<D>());
        }
    }
}
