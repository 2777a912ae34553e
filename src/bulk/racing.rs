//! The operations on elements that other threads may access at the same time, for Rust programs: rule `[race]` of
//! `docs/architecture.md`.
//!
//! Bytes move between such memory and a buffer of the caller, as if by relaxed atomic accesses of single bytes ([`bytes`]). The kernels
//! run on the buffer, chunk by chunk. If others write the same elements at that time, any element may be read or written half.

pub(crate) mod bytes;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::access::{Readable, Writable};
use super::cast::{Buffer, chunks, same_bytes};
use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_element};

/// The number of bytes of a buffer for a conversion, and of the elements of a chunk. Two such buffers fit in the first-level cache.
/// Measured: conversions through smaller ones take longer.
const BYTES: usize = 16 << 10;

/// The number of bytes of a buffer for a fill or a comparison, whose kernels do little.
const FEW_BYTES: usize = 1 << 10;

/// A buffer for a chunk.
type Chunk = Buffer<{ BYTES / size_of::<u64>() }>;

/// A buffer for a small chunk.
type SmallChunk = Buffer<{ FEW_BYTES / size_of::<u64>() }>;

/// Elements to read. `races` says that other threads may write them at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    elements: Readable<'a>,
    races: bool,
}

/// Elements to read and write. `races` says that other threads may access them at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    elements: Writable<'a>,
    races: bool,
}

impl<'a> Source<'a> {
    /// # Safety
    /// `[race]`: if `races` is false, nobody writes the elements as long as this value or a copy of it is used. Otherwise whoever does
    /// writes them atomically.
    #[inline]
    pub(crate) unsafe fn new(elements: Readable<'a>, races: bool) -> Self {
        Self { elements, races }
    }

    /// Bytes as elements that nobody else can write, because they are borrowed.
    pub(crate) fn of(bytes: &'a [u8], dtype: DType) -> Self {
        Self { elements: Readable::of(bytes, dtype), races: false }
    }

    /// Elements that nobody else can write, because they are borrowed.
    pub(crate) fn of_elements<T: Element>(elements: &'a [T]) -> Self {
        // SAFETY: [in-bounds] the slice has this length. [live] it is borrowed.
        Self { elements: unsafe { Readable::new(elements.as_ptr().cast(), T::DTYPE, elements.len()) }, races: false }
    }

    /// The number of elements.
    pub(crate) fn size(self) -> usize {
        self.elements.size()
    }

    /// The same memory as bytes.
    pub(crate) fn bytes(self) -> Self {
        Self { elements: self.elements.bytes(), ..self }
    }

    /// The elements in a range of indices, from 0.
    ///
    /// # Panics
    /// If the range is not inside the block.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        Self { elements: self.elements.part(range), ..self }
    }

    /// Element `index` (from 0) as a Lua number, or `None` if the index is out of range.
    #[inline]
    pub(crate) fn get(self, index: usize) -> Option<f64> {
        if !self.races {
            return self.elements.get(index);
        }
        (index < self.elements.size()).then(|| with_element!(self.elements.dtype(), T => self.load::<T>(index).to_f64()))
    }

    /// Element `index` (from 0) as a number of a kind that holds it exactly, or `None` if the index is out of range.
    #[inline]
    pub(crate) fn get_scalar(self, index: usize) -> Option<Scalar> {
        if !self.races {
            return self.elements.get_scalar(index);
        }
        (index < self.elements.size()).then(|| with_element!(self.elements.dtype(), T => self.load::<T>(index).to_scalar()))
    }

    /// An element of a block of `T`.
    #[inline(always)]
    fn load<T: Element>(self, index: usize) -> T {
        assert!(index < self.elements.size(), "the index is in range");
        // SAFETY: [in-bounds] the index is below the size. [race] `new` was promised it.
        unsafe { bytes::load(self.elements.data().wrapping_add(index * size_of::<T>())) }
    }

    /// These elements where only the caller has them: here, or in the buffer.
    fn alone<'b, const WORDS: usize>(self, buffer: &'b mut Buffer<WORDS>) -> Readable<'b>
    where
        'a: 'b,
    {
        if !self.races {
            return self.elements;
        }
        let (data, dtype) = (self.elements.data(), self.elements.dtype());
        let bytes = buffer.fill_with(self.elements.nbytes(), |buffer| {
            // SAFETY: [in-bounds] both blocks have as many bytes as the buffer. [race] `new` was promised it.
            unsafe { bytes::read(buffer.data(), data, buffer.size()) };
        });
        // SAFETY: [live] the buffer is borrowed. [in-bounds] it has the bytes of all elements.
        unsafe { Readable::new(bytes.data(), dtype, self.elements.size()) }
    }
}

impl<'a> Target<'a> {
    /// # Safety
    /// `[race]`: if `races` is false, nobody else accesses the elements as long as this value or a copy of it is used. Otherwise whoever
    /// does accesses them atomically.
    #[inline]
    pub(crate) unsafe fn new(elements: Writable<'a>, races: bool) -> Self {
        Self { elements, races }
    }

    /// The same memory as bytes.
    pub(crate) fn bytes(self) -> Self {
        Self { elements: self.elements.bytes(), ..self }
    }

    /// The elements in a range of indices, from 0.
    ///
    /// # Panics
    /// If the range is not inside the block.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        Self { elements: self.elements.part(range), ..self }
    }

    /// Sets element `index` (from 0) to `value`, which is converted. Returns false, and changes nothing, if the index is out of range.
    #[inline]
    pub(crate) fn set(self, index: usize, value: Scalar) -> bool {
        if !self.races {
            return self.elements.set(index, value);
        }
        let inside = index < self.elements.size();
        if inside {
            let at = self.elements.data();
            with_element!(self.elements.dtype(), T => {
                // SAFETY: [in-bounds] the index is below the size. [race] `new` was promised it.
                unsafe { bytes::store(at.wrapping_add(index * size_of::<T>()), T::from_scalar(value)) }
            });
        }
        inside
    }

    /// Sets all elements to `value`, which is converted once.
    pub(crate) fn fill(self, value: Scalar) {
        if !self.races {
            return super::fill(self.elements, value);
        }
        let mut buffer = SmallChunk::new();
        let dtype = self.elements.dtype();
        let size = self.elements.size().min(FEW_BYTES / dtype.width());
        let filled = elements_in(&mut buffer, dtype, size, |elements| super::fill(elements, value));
        for chunk in chunks_of(self.elements.size(), FEW_BYTES / dtype.width()) {
            let part = self.part(chunk);
            part.store(filled.part(0..part.elements.size()));
        }
    }

    /// Reverses the byte order of each word of `width` bytes, which is at most 8, as [`super::byteswap`] does.
    pub(crate) fn byteswap(self, width: usize) {
        if !self.races {
            return super::byteswap(self.elements, width);
        }
        let mut buffer = Chunk::new();
        let dtype = self.elements.dtype();
        for chunk in chunks_of(self.elements.size(), BYTES / dtype.width()) {
            let part = self.part(chunk);
            let swapped = elements_in(&mut buffer, dtype, part.elements.size(), |elements| {
                // SAFETY: [in-bounds] both blocks have the same elements. [race] `new` was promised it.
                unsafe { bytes::read(elements.data(), part.elements.data(), elements.nbytes()) };
                super::byteswap(elements, width);
            });
            part.store(swapped);
        }
    }

    /// Copies the bytes of elements that only the caller has to this block, which has as many.
    fn store(self, elements: Readable<'_>) {
        self.take(Source { elements, races: false });
    }

    /// Copies the bytes of other elements, which are as many and may overlap with this block.
    fn take(self, source: Source<'_>) {
        let (to, from, size) = (self.elements.data(), source.elements.data(), self.elements.nbytes());
        assert_eq!(size, source.elements.nbytes(), "both blocks have the same number of bytes");
        match (self.races, source.races) {
            // SAFETY: [in-bounds] both blocks have this many bytes. [race] `new` was promised it.
            (true, true) => unsafe { bytes::copy(to, from, size) },
            // SAFETY: [in-bounds] both blocks have this many bytes. [race] `new` was promised it for the target. The two do not overlap.
            (true, false) => unsafe { bytes::write(to, from, size) },
            // SAFETY: [in-bounds] both blocks have this many bytes. [race] `new` was promised it for the source. The two do not overlap.
            (false, true) => unsafe { bytes::read(to, from, size) },
            (false, false) => super::copy(self.elements.bytes(), source.elements.bytes()),
        }
    }
}

/// Copies elements, and converts them by the rules of `convert.rs`. The blocks may overlap in any way: the result is the same as
/// if the whole source had been read before the first element was written, with nobody else writing.
///
/// # Panics
/// If the two blocks have different numbers of elements.
pub(crate) fn copy(target: Target<'_>, source: Source<'_>) {
    if !target.races && !source.races {
        return super::copy(target.elements, source.elements);
    }
    assert_eq!(target.elements.size(), source.elements.size(), "target and source have the same number of elements");
    let (to, from) = (target.elements.dtype(), source.elements.dtype());
    if same_bytes(to, from) {
        return target.take(source);
    }
    let (mut read, mut written) = (Chunk::new(), Chunk::new());
    let size = BYTES / to.width().max(from.width());
    for chunk in chunks(target.elements, source.elements, size) {
        let (target, source) = (target.part(chunk.clone()), source.part(chunk));
        let elements = source.alone(&mut read);
        if target.races {
            target.store(elements_in(&mut written, to, elements.size(), |written| super::copy(written, elements)));
        } else {
            super::copy(target.elements, elements);
        }
    }
}

/// Whether two blocks have the same dtype, the same size and equal values. NaN differs from itself, and -0 equals 0.
pub(crate) fn equal(left: Source<'_>, right: Source<'_>) -> bool {
    let size = left.elements.size();
    if left.elements.dtype() != right.elements.dtype() || size != right.elements.size() {
        return false;
    }
    if !left.races && !right.races {
        return super::equal(left.elements, right.elements);
    }
    let (mut one, mut other) = (SmallChunk::new(), SmallChunk::new());
    chunks_of(size, FEW_BYTES / left.elements.dtype().width())
        .all(|chunk| super::equal(left.part(chunk.clone()).alone(&mut one), right.part(chunk).alone(&mut other)))
}

/// The indices of `size` elements in chunks of up to `chunk` elements.
fn chunks_of(size: usize, chunk: usize) -> impl Iterator<Item = Range<usize>> {
    (0..size).step_by(chunk).map(move |start| start..size.min(start + chunk))
}

/// `size` elements in a buffer, after `write` has set all of them.
fn elements_in<const WORDS: usize>(
    buffer: &mut Buffer<WORDS>,
    dtype: DType,
    size: usize,
    write: impl FnOnce(Writable<'_>),
) -> Readable<'_> {
    let bytes = buffer.fill_with(size * dtype.width(), |bytes| {
        // SAFETY: [in-bounds] the buffer has the bytes of this many elements, and is used in this call only.
        write(unsafe { Writable::new(bytes.data(), dtype, size) });
    });
    // SAFETY: [live] the buffer is borrowed. [in-bounds] it has the bytes of all elements.
    unsafe { Readable::new(bytes.data(), dtype, size) }
}
