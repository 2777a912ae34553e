//! Elements in memory, checked against their number: what kernels read and write.
//!
//! [`Readable`] and [`Writable`] are an address, a dtype and a number of elements. Whoever makes one from an address vouches for
//! that memory, once; everything that is done with it afterwards is checked against its size, and so needs no `unsafe`.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_element};

/// Element `index` (from 0) of memory known to hold `T`. The address needs no alignment.
///
/// # Safety
/// `data` is valid for reads of more than `index` elements of `T`.
#[inline]
#[must_use]
pub unsafe fn get_as<T: Element>(data: *const u8, index: usize) -> T {
    // SAFETY: [in-bounds] the caller vouches for element `index`. [alias] it is read through a raw pointer, and any bits are a `T`.
    unsafe { data.cast::<T>().wrapping_add(index).read_unaligned() }
}

/// Sets element `index` (from 0) of memory known to hold `T`. The address needs no alignment.
///
/// # Safety
/// `data` is valid for writes of more than `index` elements of `T`.
#[inline]
pub unsafe fn set_as<T: Element>(data: *mut u8, index: usize, value: T) {
    // SAFETY: [in-bounds] the caller vouches for element `index`. [alias] it is written through a raw pointer.
    unsafe { data.cast::<T>().wrapping_add(index).write_unaligned(value) }
}

/// Elements that can be read. Others may change them at any time, so no reference to them is ever made.
#[derive(Clone, Copy, Debug)]
pub struct Readable<'a> {
    data: *const u8,
    dtype: DType,
    size: usize,
    memory: PhantomData<&'a ()>,
}

/// Elements that can be read and written. Like a raw pointer it can be copied, and others may change the elements at any time.
#[derive(Clone, Copy, Debug)]
pub struct Writable<'a> {
    data: *mut u8,
    dtype: DType,
    size: usize,
    memory: PhantomData<&'a ()>,
}

// SAFETY: [alias] the elements are only accessed through raw pointers, which works from every thread.
unsafe impl Send for Readable<'_> {}
// SAFETY: [alias] a shared `Readable` gives nothing that a copy would not give.
unsafe impl Sync for Readable<'_> {}
// SAFETY: [alias] the elements are only accessed through raw pointers. `bulk` gives each thread elements of its own to write.
unsafe impl Send for Writable<'_> {}
// SAFETY: [alias] a shared `Writable` gives nothing that a copy would not give.
unsafe impl Sync for Writable<'_> {}

impl<'a> Readable<'a> {
    /// `size` elements of `dtype` from `data` on. The address needs no alignment; a size of 0 takes any pointer, null included.
    ///
    /// # Safety
    /// `data` is valid for reads of `size` elements of `dtype` as long as the value and its copies are used.
    #[inline]
    #[must_use]
    pub unsafe fn new(data: *const u8, dtype: DType, size: usize) -> Self {
        Self { data, dtype, size, memory: PhantomData }
    }

    /// The whole elements of `dtype` that the bytes hold.
    #[must_use]
    pub fn of(bytes: &'a [u8], dtype: DType) -> Self {
        Self { data: bytes.as_ptr(), dtype, size: bytes.len() / dtype.width(), memory: PhantomData }
    }

    /// The address of the first element.
    #[inline]
    #[must_use]
    pub fn data(self) -> *const u8 {
        self.data
    }

    /// What the elements are.
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

    /// The elements in this range of indices.
    ///
    /// # Panics
    /// If the range is not inside.
    #[inline]
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.size, "elements {range:?} of {}", self.size);
        let data = self.data.wrapping_add(range.start * self.dtype.width());
        Self { data, size: range.len(), ..self }
    }

    /// Element `index`, from 0, as a Lua number: of a complex one the real part; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn get(self, index: usize) -> Option<f64> {
        (index < self.size).then(|| with_element!(self.dtype, T => self.values::<T>().get(index).to_f64()))
    }

    /// Element `index`, from 0, as a number of the kind that holds it; `None` if there is none.
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

    /// The same bytes as elements of another dtype, as many as are whole. All widths are powers of two.
    #[inline]
    pub(super) fn retyped(self, dtype: DType) -> Self {
        Self { dtype, size: self.nbytes() >> dtype.width().trailing_zeros(), ..self }
    }

    /// The same bytes as values of `T`, as many as are whole.
    #[inline(always)]
    pub(super) fn values<T: Element>(self) -> Values<T> {
        let size = if self.dtype == T::DTYPE { self.size } else { self.nbytes() / size_of::<T>() };
        Values { data: self.data.cast(), size }
    }
}

impl<'a> Writable<'a> {
    /// `size` elements of `dtype` from `data` on. The address needs no alignment; a size of 0 takes any pointer, null included.
    ///
    /// # Safety
    /// `data` is valid for reads and writes of `size` elements of `dtype` as long as the value and its copies are used.
    #[inline]
    #[must_use]
    pub unsafe fn new(data: *mut u8, dtype: DType, size: usize) -> Self {
        Self { data, dtype, size, memory: PhantomData }
    }

    /// The whole elements of `dtype` that there is room for.
    #[must_use]
    pub fn of(bytes: &'a mut [u8], dtype: DType) -> Self {
        Self { data: bytes.as_mut_ptr(), dtype, size: bytes.len() / dtype.width(), memory: PhantomData }
    }

    /// The same elements, to be read.
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

    /// What the elements are.
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

    /// The elements in this range of indices.
    ///
    /// # Panics
    /// If the range is not inside.
    #[inline]
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        let data = self.data.wrapping_add(range.start * self.dtype.width());
        Self { data, size: self.readable().part(range).size, ..self }
    }

    /// Sets element `index`, from 0, converting `value` by the rules of `convert.rs`; false if there is none.
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

    /// The same bytes as elements of another dtype, as many as are whole. All widths are powers of two.
    #[inline]
    pub(super) fn retyped(self, dtype: DType) -> Self {
        Self { dtype, size: self.nbytes() >> dtype.width().trailing_zeros(), ..self }
    }

    /// The same bytes as values of `T`, as many as are whole.
    #[inline(always)]
    pub(super) fn values<T: Element>(self) -> ValuesMut<T> {
        let size = if self.dtype == T::DTYPE { self.size } else { self.nbytes() / size_of::<T>() };
        ValuesMut { data: self.data.cast(), size }
    }
}

/// Values of one type, at any address, to be read. Kernels work on these: they are two machine words, and the compiler knows the
/// width.
#[derive(Clone, Copy)]
pub(super) struct Values<T> {
    data: *const T,
    size: usize,
}

/// Values of one type, at any address, to be read and written.
#[derive(Clone, Copy)]
pub(super) struct ValuesMut<T> {
    data: *mut T,
    size: usize,
}

/// Elements as bytes.
pub(super) type Bytes = Values<u8>;

/// Elements as bytes, to be read and written.
pub(super) type BytesMut = ValuesMut<u8>;

impl<T: Element> Values<T> {
    /// # Safety
    /// As [`Readable::new`], for `size` values of `T`.
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

    /// The same bytes as values of another type, as many as are whole.
    #[inline(always)]
    pub(super) fn of<U: Element>(self) -> Values<U> {
        Values { data: self.data.cast(), size: self.size * size_of::<T>() / size_of::<U>() }
    }

    #[inline(always)]
    pub(super) fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.size, "values {range:?} of {}", self.size);
        Self { data: self.data.wrapping_add(range.start), size: range.end - range.start }
    }

    /// The first `size` of them. In a loop up to `size` the compiler then leaves out the check of each index.
    #[inline(always)]
    pub(super) fn first(self, size: usize) -> Self {
        assert!(size <= self.size, "as many values");
        Self { size, ..self }
    }

    #[inline(always)]
    pub(super) fn get(self, index: usize) -> T {
        assert!(index < self.size, "a value");
        // SAFETY: [in-bounds] the index is below the size.
        unsafe { get_as(self.data.cast(), index) }
    }
}

impl Bytes {
    /// Whether they are equal to as many others.
    pub(super) fn are(self, other: Self) -> bool {
        let size = self.size;
        assert_eq!(size, other.size, "as many bytes");
        // SAFETY: [in-bounds] [alias] both have so many bytes, which are compared through raw pointers; of no bytes none is read.
        size == 0 || unsafe { libc::memcmp(self.data.cast(), other.data.cast(), size) } == 0
    }
}

impl<T: Element> ValuesMut<T> {
    /// # Safety
    /// As [`Writable::new`], for `size` values of `T`.
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

    /// The same bytes as values of another type, as many as are whole.
    #[inline(always)]
    pub(super) fn of<U: Element>(self) -> ValuesMut<U> {
        ValuesMut { data: self.data.cast(), size: self.size * size_of::<T>() / size_of::<U>() }
    }

    #[inline(always)]
    pub(super) fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.size, "values {range:?} of {}", self.size);
        Self { data: self.data.wrapping_add(range.start), size: range.end - range.start }
    }

    /// [`Values::get`]. A loop that reads and writes the same values uses this one: of two pointers the compiler would not know
    /// whether they overlap.
    #[inline(always)]
    pub(super) fn get(self, index: usize) -> T {
        assert!(index < self.size, "a value");
        // SAFETY: [in-bounds] the index is below the size.
        unsafe { get_as(self.data.cast_const().cast(), index) }
    }

    #[inline(always)]
    pub(super) fn set(self, index: usize, value: T) {
        assert!(index < self.size, "a value");
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
        // SAFETY: [in-bounds] [alias] it has so many bytes, which are written through a raw pointer.
        unsafe { ptr::write_bytes(self.data, byte, self.size) };
    }

    /// Copies as many bytes as this has, as if all of them had been read first.
    #[inline]
    pub(super) fn copy_from(self, source: Bytes) {
        let size = self.size;
        assert!(size == source.size, "both blocks must have the same number of bytes");
        if size > 0 {
            // SAFETY: [in-bounds] [alias] both have so many bytes, which may overlap, and need no alignment.
            unsafe { ptr::copy(source.data, self.data, size) };
        }
    }
}
