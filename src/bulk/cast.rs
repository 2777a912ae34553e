//! Copying elements of one dtype to another dtype, in memory that may overlap.
//!
//! A conversion takes several steps where its rule does, for example `Double -> Float -> Half` or `Half -> Float -> Int -> Byte`.
//! Each step is one loop for one pair of dtypes. Between two steps the elements are in a small buffer that fits in the
//! first-level cache. All pairs are made of a few steps, so a new dtype needs only the loops to its neighbours and not one loop
//! for every other dtype. Steps for which the processor has special instructions are written by hand in `lanes.rs`.
//!
//! Overlapping parts and streamed elements go through such a buffer too.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::access::{Bytes, BytesMut, Readable, Writable};
use super::level::{Conversion, Level, Loop};
use super::{lanes, stream};
use crate::element::{DType, Element, Kind, with_element};

/// This many elements fill whole cache lines, whatever their width is.
const PART: usize = stream::LINE;

/// When a copy is streamed, it reads or writes at most this many bytes before it changes between reading and writing.
/// Measurements show that small blocks are fastest.
const MIXED: usize = 16 * PART;

/// The number of elements in the buffer between two steps, if the copy is not streamed.
const STEP: usize = 16 * PART;

/// The number of overlapping elements that are read before they are written.
const CHUNK: usize = 16 * PART;

/// A buffer for `WORDS` elements of at most 8 bytes, or half as many complex elements of 16 bytes.
#[repr(align(64))]
pub struct Buffer<const WORDS: usize>(MaybeUninit<[u64; WORDS]>);

impl<const WORDS: usize> Buffer<WORDS> {
    #[must_use]
    pub const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Calls `write` on the first `size` bytes of the buffer, and returns these bytes for reading. `write` writes all of them,
    /// and reads none before it has written it.
    #[inline]
    pub(super) fn fill_with(&mut self, size: usize, write: impl FnOnce(BytesMut)) -> Bytes {
        assert!(size <= size_of::<Self>(), "the bytes fit in the buffer");
        let data = self.0.as_mut_ptr().cast();
        // SAFETY: [in-bounds] `size` is at most the size of the buffer. [layout] `write` reads nothing that it has not written.
        write(unsafe { BytesMut::new(data, size) });
        // SAFETY: [in-bounds] `size` is at most the size of the buffer. [layout] `write` has initialised all of these bytes.
        unsafe { Bytes::new(data, size) }
    }

    /// Calls `write` on room for `size` elements of `dtype`, and returns these elements for reading. `write` writes all of them, or returns
    /// an error, and reads none before it has written it.
    ///
    /// # Errors
    /// Those of `write`.
    ///
    /// # Panics
    /// If the elements do not fit in the buffer.
    #[cfg(feature = "answers")]
    pub fn elements<E>(
        &mut self,
        dtype: DType,
        size: usize,
        write: impl FnOnce(Writable<'_>) -> Result<(), E>,
    ) -> Result<Readable<'_>, E> {
        assert!(size * dtype.width() <= size_of::<Self>(), "the elements fit in the buffer");
        let data = self.0.as_mut_ptr().cast::<u8>();
        // SAFETY: [in-bounds] the elements fit in the buffer. [live] it is borrowed. [layout] `write` reads nothing that it has not
        // written.
        write(unsafe { Writable::new(data, dtype, size) })?;
        // SAFETY: [in-bounds] the elements fit in the buffer. [live] it is borrowed. [layout] `write` has written all of them.
        Ok(unsafe { Readable::new(data.cast_const(), dtype, size) })
    }
}

/// How the elements of the target are written.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    /// The last step writes them. The memory is no longer needed as a source.
    Directly,
    /// They are copied from a buffer after the whole chunk was read.
    Later,
    /// They are copied from a buffer with stores that go past the caches.
    Streamed,
}

/// The dtype that the next step converts to, on the way from `from` to `to`.
const fn next_dtype(from: DType, to: DType) -> DType {
    use DType::{BFloat16, Bool, Byte, Char, Double, Float, Int, Short};
    match (from, to) {
        (_, Bool) if from.is_complex() => to,
        // One loop reads the real part and converts it to `Float`.
        _ if from.is_complex() && matches!(next_dtype(from.part(), to), Float) => Float,
        _ if from.is_complex() => from.part(),
        _ if to.is_complex() && from.number() == to.part().number() => to,
        _ if to.is_complex() => next_dtype(from, to.part()),
        (Bool, Byte | Char) => to,
        (Bool, _) => Byte,
        // In one step, because `Float` does not hold these values exactly, so that a step through it would round twice.
        (Double, BFloat16) => to,
        (_, BFloat16) if from.is_integer() && from.width() >= Float.width() => to,
        (Float, _) if is_small(to) => to,
        (_, Float) => to,
        _ if is_small(from) || is_small(to) => Float,
        (_, Bool) | (Float, Byte | Short) => to,
        _ if !from.is_integer() && to.is_integer() && to.width() < Int.width() => Int,
        _ => to,
    }
}

/// The dtype whose kernels read `dtype`. Untyped bytes are read like `Byte`.
pub(super) const fn kernel_dtype(dtype: DType) -> DType {
    if dtype.is_untyped() { DType::Byte } else { dtype }
}

/// The dtype whose kernels write `dtype`. Signed and unsigned integers of the same width get the same bytes from every number, so
/// both use the kernels of the dtype that comes first in the list. Its integers are all signed, except for `Byte`.
const fn written_dtype(dtype: DType) -> DType {
    let mut number = 0;
    while number < dtype.number() {
        let first = DType::ALL[number];
        if first.is_integer() && dtype.is_integer() && first.width() == dtype.width() {
            return first;
        }
        number += 1;
    }
    dtype
}

/// Whether the elements are floats that are read and written as `Float`.
const fn is_small(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::SmallFloat)
}

/// Whether a conversion leaves the bytes as they are. This includes integers of the same width, where only the meaning of the
/// bits differs.
pub(super) fn same_bytes(to: DType, from: DType) -> bool {
    to == from || (to.is_integer() && from.is_integer() && to.width() == from.width())
}

/// Whether the target and the source have no byte in common.
pub(super) fn are_disjoint(target: Writable<'_>, source: Readable<'_>) -> bool {
    let (to, from) = (target.data().addr(), source.data().addr());
    to + target.nbytes() <= from || from + source.nbytes() <= to
}

/// Copies elements, with the same result as if all had been read before the first was written. If `streamed`, the stores go past
/// the caches where that is possible.
pub(super) fn copy(level: Level, target: Writable<'_>, source: Readable<'_>, streamed: bool) {
    if target.size() == 0 {
        return;
    }
    let (mut target, mut source) = (target.retyped(written_dtype(target.dtype())), source.retyped(kernel_dtype(source.dtype())));
    if target.dtype().is_complex() && source.dtype().is_complex() {
        // The real and imaginary parts are converted like elements, two for each complex number.
        (target, source) = (target.retyped(target.dtype().part()), source.retyped(source.dtype().part()));
    }
    let disjoint = are_disjoint(target, source);
    // Streaming needs whole cache lines of elements, so no element may lie across two lines. Then none lies across two pages, either.
    let width = target.dtype().width();
    if !(streamed && disjoint && target.data().addr().is_multiple_of(width)) {
        return copy_all(level, target, source, disjoint, false);
    }
    for (part, streamed) in stream::parts(target.values()) {
        let indices = part.start / width..part.end / width;
        copy_all(level, target.part(indices.clone()), source.part(indices), disjoint, streamed);
    }
}

/// Does the work of [`copy`] after it was decided whether the copy is streamed. If it is, the blocks are disjoint, and no element
/// of the target lies across two cache lines.
fn copy_all(level: Level, target: Writable<'_>, source: Readable<'_>, disjoint: bool, streamed: bool) {
    if same_bytes(target.dtype(), source.dtype()) {
        copy_bytes(target.values(), source.values(), streamed);
    } else if disjoint && !streamed {
        convert(level, target, source, Store::Directly);
    } else {
        copy_in_parts(level, target, source, streamed);
    }
}

/// Does the work of [`copy`] if the two blocks overlap or the copy is streamed. If it is streamed, the blocks do not overlap, and
/// no element of the target lies across two cache lines.
#[cold]
fn copy_in_parts(level: Level, target: Writable<'_>, source: Readable<'_>, streamed: bool) {
    let mut buffer = Buffer::<{ 2 * CHUNK }>::new();
    for (indices, direction, store) in parts(target, source, streamed) {
        if store != Store::Later {
            convert(level, target.part(indices.clone()), source.part(indices), store);
            continue;
        }
        for chunk in Chunks(indices, direction, CHUNK) {
            let read = source.part(chunk.clone());
            let target = target.part(chunk);
            let route = Route::new(level, read.dtype(), target.dtype());
            let write = |buffer: BytesMut| route.convert_all(buffer, read.values());
            target.values().copy_from(buffer.fill_with(target.nbytes(), write));
        }
    }
    if streamed {
        stream::finish();
    }
}

/// Copies bytes. If `streamed`, the stores go past the caches.
pub(super) fn copy_bytes(target: BytesMut, source: Bytes, streamed: bool) {
    let (mut done, size) = (0, target.size());
    if streamed && !stream::is_left_to_memcpy(size) {
        let head = stream::bytes_before_line(target);
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

/// The chunks of a range of indices, from the first chunk up or from the last chunk down, and the number of elements of a chunk.
struct Chunks(Range<usize>, Direction, usize);

/// The indices of all elements in chunks of up to `size` elements, in an order in which each chunk can be read before it is written:
/// none overwrites elements of the source that have not been read yet.
pub(super) fn chunks(target: Writable<'_>, source: Readable<'_>, size: usize) -> impl Iterator<Item = Range<usize>> {
    parts(target, source, false).flat_map(move |(indices, direction, _)| Chunks(indices, direction, size))
}

impl Iterator for Chunks {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let left = self.0.clone();
        let size = left.len().min(self.2);
        let (chunk, left) = match self.1 {
            Direction::Up => (left.start..left.start + size, left.start + size..left.end),
            Direction::Down => (left.end - size..left.end, left.start..left.end - size),
        };
        self.0 = left;
        (size > 0).then_some(chunk)
    }
}

/// Divides a conversion that is streamed, or whose blocks overlap, into parts, in the order in which they have to be done.
///
/// Where target and source overlap, writing element `i` may only overwrite source bytes that were already read. Let `gap(i)` be
/// the address of target element `i` minus the address of source element `i`. Going up is correct where the gap is <= 0, and
/// going down is correct where it is >= 0. The gap is linear in `i`, so it changes its sign at most once, at `turn`. The two
/// parts are done in the order in which the first does not overwrite the source of the second.
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
        // The elements before the first line, the whole lines, and the elements after the last line.
        let head = stream::bytes_before_line(target.values()) / wide;
        let end = size - (size - head) % PART;
        [(0..head, Up, Store::Directly), (head..end, Up, Store::Streamed), (end..size, Up, Store::Directly)]
    } else if to <= from && wide <= narrow {
        [(0..size, Up, Store::Later), none.clone(), none]
    } else if to >= from && wide >= narrow {
        [(0..size, Down, Store::Later), none.clone(), none]
    } else if wide > narrow {
        // The target starts at a lower address and grows faster. First the high part goes down, then the low part goes up.
        let turn = ((from - to) / (wide - narrow) + 1).min(size);
        [(turn..size, Down, Store::Later), (0..turn, Up, Store::Later), none]
    } else {
        // The target starts at a higher address and grows slower. First the low part goes down, then the high part goes up.
        let turn = (to - from).div_ceil(narrow - wide).min(size);
        [(0..turn, Down, Store::Later), (turn..size, Up, Store::Later), none]
    };
    parts.into_iter()
}

/// Converts elements between blocks that do not overlap. If the store is `Streamed`, the target begins at a cache line, its size
/// is a multiple of `PART`, and the caller calls [`stream::finish`] at the end.
fn convert(level: Level, target: Writable<'_>, source: Readable<'_>, store: Store) {
    if target.size() == 0 {
        return;
    }
    let route = Route::new(level, source.dtype(), target.dtype());
    let (target, source) = (target.values(), source.values());
    if store != Store::Streamed {
        return route.convert_aligned(target, source);
    }
    let mut buffer = Buffer::<{ MIXED / size_of::<u64>() }>::new();
    let step = MIXED / route.from.max(route.to);
    route.for_each_part(step, target, source, |target, source, size| {
        stream::prefetch(source, route.from * step / stream::LINE);
        stream::copy(target, buffer.fill_with(target.size(), |buffer| route.convert(buffer, source, size)));
    });
}

/// A conversion between blocks that do not overlap, chosen once for many calls. The bytes of the two dtypes differ.
pub(super) struct Converter(Route);

impl Converter {
    pub(super) fn new(level: Level, to: DType, from: DType) -> Self {
        let (to, from) = (written_dtype(to), kernel_dtype(from));
        // As in `copy`, the parts of complex numbers are converted like elements.
        let both = to.is_complex() && from.is_complex();
        Self(if both { Route::new(level, from.part(), to.part()) } else { Route::new(level, from, to) })
    }

    pub(super) fn run(&self, target: BytesMut, source: Bytes) {
        self.0.convert_all(target, source);
    }
}

/// The steps from one dtype to another, at most three.
///
/// Each step is chosen once, and then called for one part of the elements after the other. A call costs a few nanoseconds.
/// Measurements show no gain from compiling the steps into one function for each pair of dtypes.
struct Route {
    /// The width in bytes of the elements that are read.
    from: usize,
    /// The width in bytes of the elements that are written.
    to: usize,
    /// The steps before the last one, if there are any.
    middle: Option<(Step, Option<Step>)>,
    last: Loop,
}

/// A step that is not the last one, and the width in bytes of its results.
#[derive(Clone, Copy)]
struct Step(Loop, usize);

impl Route {
    fn new(level: Level, from: DType, to: DType) -> Self {
        let step = |from, to: DType| Step(step_to(level, from, to), to.width());
        let first = next_dtype(from, to);
        let (middle, last) = if first == to {
            (None, step_to(level, from, to))
        } else {
            let (second, begin) = (next_dtype(first, to), step(from, first));
            if second == to {
                (Some((begin, None)), step_to(level, first, to))
            } else {
                (Some((begin, Some(step(first, second)))), step_to(level, second, to))
            }
        };
        Self { from: from.width(), to: to.width(), middle, last }
    }

    /// Divides the elements into parts of at most `step` elements, and calls `act` with each part and its number of elements.
    #[inline]
    fn for_each_part(&self, step: usize, target: BytesMut, source: Bytes, mut act: impl FnMut(BytesMut, Bytes, usize)) {
        let size = target.size() / self.to;
        for start in (0..size).step_by(step) {
            let end = size.min(start + step);
            let source = source.part(start * self.from..end * self.from);
            act(target.part(start * self.to..end * self.to), source, end - start);
        }
    }

    /// Converts any number of elements. Of many elements, it converts those before the first cache line of the target separately,
    /// so that no vector of the others is stored to two lines.
    fn convert_aligned(&self, target: BytesMut, source: Bytes) {
        /// From this number of bytes on, the stores to two lines take longer than another call.
        const MANY: usize = 16 << 10;
        let head = stream::bytes_before_line(target);
        if target.size() < MANY || head == 0 || !head.is_multiple_of(self.to) {
            return self.convert_all(target, source);
        }
        let read = head / self.to * self.from;
        self.convert_all(target.part(0..head), source.part(0..read));
        self.convert_all(target.part(head..target.size()), source.part(read..source.size()));
    }

    /// Converts any number of elements.
    fn convert_all(&self, target: BytesMut, source: Bytes) {
        if self.middle.is_none() {
            return self.last.run(target, source);
        }
        self.for_each_part(STEP, target, source, |target, source, size| self.convert(target, source, size));
    }

    /// Converts `size` elements. If the conversion has more than one step, these are at most `STEP` elements.
    fn convert(&self, target: BytesMut, source: Bytes, size: usize) {
        let (mut one, mut other) = (Buffer::<STEP>::new(), Buffer::<STEP>::new());
        let mut source = source;
        if let Some((Step(first, width), second)) = self.middle {
            source = one.fill_with(size * width, |buffer| first.run(buffer, source));
            if let Some(Step(second, width)) = second {
                source = other.fill_with(size * width, |buffer| second.run(buffer, source));
            }
        }
        self.last.run(target, source);
    }
}

/// Returns the loop for the step from one dtype to the next.
fn step_to(level: Level, from: DType, to: DType) -> Loop {
    with_element!(from, S => with_element!(to, D => {
        if const { is_step(S::DTYPE, D::DTYPE) } {
            let level = if const { is_halved(S::DTYPE, D::DTYPE) } { level.without_wide_packs() } else { level };
            level.pick::<Convert<S, D>>()
        } else {
            unreachable!("no single step converts {from:?} to {to:?}")
        }
    }))
}

/// Whether there is a loop for this pair of dtypes. There is one if `to` is the next step from `from`, the bytes differ, and the
/// kernels of `to` are not those of another dtype.
const fn is_step(from: DType, to: DType) -> bool {
    let same = from.number() == to.number() || (from.is_integer() && to.is_integer() && from.width() == to.width());
    next_dtype(from, to).number() == to.number() && !same && written_dtype(to).number() == to.number()
}

/// Whether the conversion keeps half of the bits of an integer, or rounds a `Double` to a `Float`.
const fn is_halved(from: DType, to: DType) -> bool {
    from.width() == 2 * to.width()
        && (from.is_integer() && to.is_integer() || matches!((from, to), (DType::Double, DType::Float)))
}

/// The loop that converts elements of type `S` to type `D`.
struct Convert<S, D>(PhantomData<(S, D)>);

impl<S: Element, D: Element> Conversion for Convert<S, D> {
    #[inline(always)]
    fn run(level: Level, target: BytesMut, source: Bytes) {
        let done = lanes::convert::<S, D>(level, target, source);
        let (target, source) = (target.retyped::<D>(), source.retyped::<S>());
        let (size, source) = (target.size(), source.first(target.size()));
        for index in done..size {
            target.set(index, source.get(index).convert::<D>());
        }
    }
}
