//! Bounds-checked blocks of elements, which kernels read and write.
//!
//! A [`Readable`] or [`Writable`] holds an address, a dtype and a number of elements. Whoever makes one from an address vouches
//! for that memory, once. All later accesses are checked against the number of elements, so they need no `unsafe`.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_element};

/// Returns element `index` (from 0) of memory that holds elements of type `T`. The address needs no alignment.
///
/// # Safety
/// `data` is valid for reads of more than `index` elements of `T`.
#[inline]
#[must_use]
pub unsafe fn get_as<T: Element>(data: *const u8, index: usize) -> T {
    // SAFETY: [in-bounds] the caller checked the index. [alias] the read is through a raw pointer, and any bits are a valid `T`.
    unsafe { data.cast::<T>().wrapping_add(index).read_unaligned() }
}

/// Sets element `index` (from 0) of memory that holds elements of type `T`. The address needs no alignment.
///
/// # Safety
/// `data` is valid for writes of more than `index` elements of `T`.
#[inline]
pub unsafe fn set_as<T: Element>(data: *mut u8, index: usize, value: T) {
    // SAFETY: [in-bounds] the caller checked the index. [alias] the write is through a raw pointer.
    unsafe { data.cast::<T>().wrapping_add(index).write_unaligned(value) }
}

/// A block of elements that can be read. Others may change the elements at any time, so no reference to them is ever made.
#[derive(Clone, Copy, Debug)]
pub struct Readable<'a> {
    data: *const u8,
    dtype: DType,
    size: usize,
    memory: PhantomData<&'a ()>,
}

/// A block of elements that can be read and written. It can be copied like a raw pointer, and others may change the elements at
/// any time.
#[derive(Clone, Copy, Debug)]
pub struct Writable<'a> {
    data: *mut u8,
    dtype: DType,
    size: usize,
    memory: PhantomData<&'a ()>,
}

// SAFETY: [alias] the elements are only accessed through raw pointers, which is possible from every thread.
unsafe impl Send for Readable<'_> {}
// SAFETY: [alias] a thread can do no more with a shared `Readable` than with a copy of its own.
unsafe impl Sync for Readable<'_> {}
// SAFETY: [alias] the elements are only accessed through raw pointers, and `bulk` gives each thread different elements to write.
unsafe impl Send for Writable<'_> {}
// SAFETY: [alias] a thread can do no more with a shared `Writable` than with a copy of its own.
unsafe impl Sync for Writable<'_> {}

impl<'a> Readable<'a> {
    /// Makes a block of `size` elements of `dtype` that begins at `data`. The address needs no alignment. With a size of 0 any
    /// pointer is allowed, also null.
    ///
    /// # Safety
    /// `data` is valid for reads of `size` elements of `dtype` as long as this value or a copy of it is used.
    #[inline]
    #[must_use]
    pub unsafe fn new(data: *const u8, dtype: DType, size: usize) -> Self {
        Self { data, dtype, size, memory: PhantomData }
    }

    /// Reads the bytes as elements of `dtype`. Bytes after the last whole element are left out.
    #[must_use]
    pub fn of(bytes: &'a [u8], dtype: DType) -> Self {
        Self { data: bytes.as_ptr(), dtype, size: bytes.len() / dtype.width(), memory: PhantomData }
    }

    /// The numbers as elements of a Double.
    #[must_use]
    pub fn of_numbers(numbers: &'a [f64]) -> Self {
        Self { data: numbers.as_ptr().cast(), dtype: DType::Double, size: numbers.len(), memory: PhantomData }
    }

    /// The address of the first element.
    #[inline]
    #[must_use]
    pub fn data(self) -> *const u8 {
        self.data
    }

    /// The dtype of the elements.
    #[inline]
    #[must_use]
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    /// The length in bytes.
    #[inline]
    #[must_use]
    pub fn nbytes(self) -> usize {
        self.size * self.dtype.width()
    }

    /// The elements in a range of indices, from 0.
    ///
    /// # Panics
    /// If the range is reversed, or not inside the block.
    #[inline]
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.size, "elements {range:?} are not inside a block of {}", self.size);
        let data = self.data.wrapping_add(range.start * self.dtype.width());
        Self { data, size: range.len(), ..self }
    }

    /// Element `index` (from 0) as a Lua number, or `None` if the index is out of range. For a complex element this is its real
    /// part.
    #[inline]
    #[must_use]
    pub fn get(self, index: usize) -> Option<f64> {
        (index < self.size).then(|| with_element!(self.dtype, T => self.values::<T>().get(index).to_f64()))
    }

    /// Element `index` (from 0) as a number of a kind that holds it exactly, or `None` if the index is out of range.
    #[must_use]
    pub fn get_scalar(self, index: usize) -> Option<Scalar> {
        (index < self.size).then(|| with_element!(self.dtype, T => self.values::<T>().get(index).to_scalar()))
    }

    /// The same memory as bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> Self {
        Self { dtype: DType::Byte, size: self.nbytes(), ..self }
    }

    /// The same bytes as elements of another dtype. Bytes after the last whole element are left out. All widths are powers of
    /// two.
    #[inline]
    pub(super) fn retyped(self, dtype: DType) -> Self {
        Self { dtype, size: self.nbytes() >> dtype.width().trailing_zeros(), ..self }
    }

    /// The same bytes as values of `T`. Bytes after the last whole value are left out.
    #[inline(always)]
    pub(super) fn values<T: Element>(self) -> Values<T> {
        let size = if self.dtype == T::DTYPE { self.size } else { self.nbytes() / size_of::<T>() };
        Values { data: self.data.cast(), size }
    }
}

impl<'a> Writable<'a> {
    /// Makes a block of `size` elements of `dtype` that begins at `data`. The address needs no alignment. With a size of 0 any
    /// pointer is allowed, also null.
    ///
    /// # Safety
    /// `data` is valid for reads and writes of `size` elements of `dtype` as long as this value or a copy of it is used.
    #[inline]
    #[must_use]
    pub unsafe fn new(data: *mut u8, dtype: DType, size: usize) -> Self {
        Self { data, dtype, size, memory: PhantomData }
    }

    /// Reads and writes the bytes as elements of `dtype`. Bytes after the last whole element are left out.
    #[must_use]
    pub fn of(bytes: &'a mut [u8], dtype: DType) -> Self {
        Self { data: bytes.as_mut_ptr(), dtype, size: bytes.len() / dtype.width(), memory: PhantomData }
    }

    /// The same elements, for reading.
    #[inline]
    #[must_use]
    pub fn readable(self) -> Readable<'a> {
        Readable { data: self.data, dtype: self.dtype, size: self.size, memory: PhantomData }
    }

    /// The address of the first element.
    #[inline]
    #[must_use]
    pub fn data(self) -> *mut u8 {
        self.data
    }

    /// The dtype of the elements.
    #[inline]
    #[must_use]
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    /// The length in bytes.
    #[inline]
    #[must_use]
    pub fn nbytes(self) -> usize {
        self.size * self.dtype.width()
    }

    /// The elements in a range of indices, from 0.
    ///
    /// # Panics
    /// If the range is reversed, or not inside the block.
    #[inline]
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        let data = self.data.wrapping_add(range.start * self.dtype.width());
        Self { data, size: self.readable().part(range).size, ..self }
    }

    /// Sets element `index` (from 0) to `value`, converted by the rules of `convert.rs`. Returns false, and changes nothing, if
    /// the index is out of range.
    #[inline]
    #[must_use]
    pub fn set(self, index: usize, value: Scalar) -> bool {
        let inside = index < self.size;
        if inside {
            with_element!(self.dtype, T => self.values::<T>().set(index, T::from_scalar(value)));
        }
        inside
    }

    /// The same memory as bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> Self {
        Self { dtype: DType::Byte, size: self.nbytes(), ..self }
    }

    /// The same bytes as elements of another dtype. Bytes after the last whole element are left out. All widths are powers of
    /// two.
    #[inline]
    pub(super) fn retyped(self, dtype: DType) -> Self {
        Self { dtype, size: self.nbytes() >> dtype.width().trailing_zeros(), ..self }
    }

    /// The same bytes as values of `T`. Bytes after the last whole value are left out.
    #[inline(always)]
    pub(super) fn values<T: Element>(self) -> ValuesMut<T> {
        let size = if self.dtype == T::DTYPE { self.size } else { self.nbytes() / size_of::<T>() };
        ValuesMut { data: self.data.cast(), size }
    }
}

/// A block of values of one type, for reading, at any address. Kernels use it because it is only two machine words, and because
/// the compiler knows the width.
#[derive(Clone, Copy)]
pub(super) struct Values<T> {
    data: *const T,
    size: usize,
}

/// A block of values of one type, for reading and writing, at any address.
#[derive(Clone, Copy)]
pub(super) struct ValuesMut<T> {
    data: *mut T,
    size: usize,
}

/// Elements as bytes, for reading.
pub(super) type Bytes = Values<u8>;

/// Elements as bytes, for reading and writing.
pub(super) type BytesMut = ValuesMut<u8>;

impl<T: Element> Values<T> {
    /// # Safety
    /// `data` is valid for reads of `size` values of `T` as long as this value or a copy of it is used.
    #[inline(always)]
    pub(super) unsafe fn new(data: *const T, size: usize) -> Self {
        Self { data, size }
    }

    #[inline(always)]
    pub(super) fn data(self) -> *const T {
        self.data
    }

    #[inline(always)]
    pub(super) fn size(self) -> usize {
        self.size
    }

    /// The same bytes as values of another type. Bytes after the last whole value are left out.
    #[inline(always)]
    pub(super) fn retyped<U: Element>(self) -> Values<U> {
        Values { data: self.data.cast(), size: self.size * size_of::<T>() / size_of::<U>() }
    }

    #[inline(always)]
    pub(super) fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.size, "values {range:?} are not inside a block of {}", self.size);
        Self { data: self.data.wrapping_add(range.start), size: range.end - range.start }
    }

    /// The first `size` values. In a loop up to `size` the compiler can then leave out the check of each index.
    #[inline(always)]
    pub(super) fn first(self, size: usize) -> Self {
        assert!(size <= self.size, "the block has that many values");
        Self { size, ..self }
    }

    #[inline(always)]
    pub(super) fn get(self, index: usize) -> T {
        assert!(index < self.size, "the index is in range");
        // SAFETY: [in-bounds] the index is below the size.
        unsafe { get_as(self.data.cast(), index) }
    }
}

impl Bytes {
    /// Whether all bytes are equal to those of another block of the same size.
    pub(super) fn equals(self, other: Self) -> bool {
        let size = self.size;
        assert_eq!(size, other.size, "both blocks have the same number of bytes");
        // SAFETY: [in-bounds] both blocks have `size` bytes. [alias] they are read through raw pointers.
        size == 0 || unsafe { libc::memcmp(self.data.cast(), other.data.cast(), size) } == 0
    }
}

impl<T: Element> ValuesMut<T> {
    /// # Safety
    /// `data` is valid for reads and writes of `size` values of `T` as long as this value or a copy of it is used.
    #[inline(always)]
    pub(super) unsafe fn new(data: *mut T, size: usize) -> Self {
        Self { data, size }
    }

    #[inline(always)]
    pub(super) fn data(self) -> *mut T {
        self.data
    }

    #[inline(always)]
    pub(super) fn size(self) -> usize {
        self.size
    }

    /// The same bytes as values of another type. Bytes after the last whole value are left out.
    #[inline(always)]
    pub(super) fn retyped<U: Element>(self) -> ValuesMut<U> {
        ValuesMut { data: self.data.cast(), size: self.size * size_of::<T>() / size_of::<U>() }
    }

    #[inline(always)]
    pub(super) fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.size, "values {range:?} are not inside a block of {}", self.size);
        Self { data: self.data.wrapping_add(range.start), size: range.end - range.start }
    }

    /// Does the same as [`Values::get`]. A loop that reads and writes the same values uses this method, because with a second
    /// pointer the compiler would not know whether the two overlap.
    #[inline(always)]
    pub(super) fn get(self, index: usize) -> T {
        assert!(index < self.size, "the index is in range");
        // SAFETY: [in-bounds] the index is below the size.
        unsafe { get_as(self.data.cast_const().cast(), index) }
    }

    #[inline(always)]
    pub(super) fn set(self, index: usize, value: T) {
        assert!(index < self.size, "the index is in range");
        // SAFETY: [in-bounds] the index is below the size.
        unsafe { set_as(self.data.cast(), index, value) }
    }

    /// Sets all values, one after the other: for few of them.
    #[inline]
    pub(super) fn set_all(self, value: T) {
        for index in 0..self.size {
            // SAFETY: [in-bounds] the index is below the size.
            unsafe { set_as(self.data.cast(), index, value) }
        }
    }
}

impl BytesMut {
    /// Sets every byte.
    pub(super) fn fill(self, byte: u8) {
        // SAFETY: [in-bounds] the block has `size` bytes. [alias] they are written through a raw pointer.
        unsafe { ptr::write_bytes(self.data, byte, self.size) };
    }

    /// Copies all bytes of `source`, which has the same size. The blocks may overlap: the result is the same as if all bytes had
    /// been read first.
    #[inline]
    pub(super) fn copy_from(self, source: Bytes) {
        let size = self.size;
        assert!(size == source.size, "both blocks have the same number of bytes");
        if size > 0 {
            // SAFETY: [in-bounds] both blocks have `size` bytes. [alias] the copy goes through raw pointers, and allows overlap.
            unsafe { ptr::copy(source.data, self.data, size) };
        }
    }
}
