//! Access to the elements of a storage, next to other threads and scripts: rule `[race]` of `docs/architecture.md`.

use std::ops::Range;

use super::Storage;
use crate::bulk::Writable;
use crate::bulk::racing::{self, Source, Target};
use crate::convert::Scalar;
use crate::element::{DType, Element};
use crate::error::Error;
use crate::storage::{self, StateId};

impl Storage {
    /// The elements, for reading, whoever accesses them.
    #[inline]
    fn source(&self) -> Source<'_> {
        // SAFETY: [race] nobody ever writes constant elements. Otherwise others keep to the rule, as this type does.
        unsafe { Source::new(self.inner.readable(), !self.constant) }
    }

    /// The elements, for reading and writing, whoever accesses them.
    #[inline]
    fn target(&self) -> Result<Target<'_>, Error> {
        // SAFETY: [race] others keep to the rule, as this type does.
        Ok(unsafe { Target::new(self.inner.writable()?, true) })
    }

    /// Whether nobody but this handle can access the elements during a call. To ask takes longer than to access a few elements.
    fn is_alone(&self) -> bool {
        self.inner.is_alone(StateId::of_this_thread())
    }

    /// The elements, for a kernel that reads them.
    fn kernel_source(&self) -> Source<'_> {
        // SAFETY: [race] nobody can write elements that this handle has alone, or that are constant. Otherwise as in `source`.
        unsafe { Source::new(self.inner.readable(), !self.constant && !self.is_alone()) }
    }

    /// The elements, for a kernel that writes them.
    fn kernel_target(&self) -> Result<Target<'_>, Error> {
        let elements = self.inner.writable()?;
        // SAFETY: [race] nobody else can access elements that this handle has alone. Otherwise as in `target`.
        Ok(unsafe { Target::new(elements, !self.is_alone()) })
    }

    /// Copies and converts elements, as many as there are in both ranges.
    fn copy(&self, to: Range<usize>, source: &Self, from: Range<usize>) -> Result<(), Error> {
        let (target, elements) = if self.dtype() == source.dtype() {
            (self.target()?, source.source())
        } else {
            (self.kernel_target()?, source.kernel_source())
        };
        racing::copy(target.part(to), elements.part(from));
        Ok(())
    }

    /// Element `index` (from 0) as a Lua number, or `None` if the index is out of range. For a complex element this is its real
    /// part.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<f64> {
        self.source().get(index)
    }

    /// Element `index` (from 0) as a number of a kind that holds it exactly, or `None` if the index is out of range.
    #[must_use]
    pub fn get_scalar(&self, index: usize) -> Option<Scalar> {
        self.source().get_scalar(index)
    }

    /// Sets element `index` (from 0) to `value`, which is converted. Returns false if the index is out of range.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn set(&self, index: usize, value: Scalar) -> Result<bool, Error> {
        if index >= self.size() {
            return Ok(false);
        }
        Ok(self.target()?.set(index, value))
    }

    /// Sets every element to `value`, which is converted once.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn fill(&self, value: Scalar) -> Result<(), Error> {
        self.kernel_target()?.fill(value);
        Ok(())
    }

    /// Makes a heap storage of `dtype` with the converted elements of this storage.
    ///
    /// From an untyped storage each byte is converted as a number from 0 to 255. To an untyped storage the bytes of the elements
    /// are copied as they are.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn cast(&self, dtype: DType) -> Result<Self, Error> {
        let source = if dtype.is_untyped() { self.source().bytes() } else { self.kernel_source() };
        let copy = storage::Storage::unset(dtype, source.size())?;
        // SAFETY: [race] nobody else has the copy yet.
        racing::copy(unsafe { Target::new(copy.writable()?, false) }, source);
        Ok(Self::of(copy))
    }

    /// Copies all elements of `source` and converts them. The two storages may overlap in any way.
    ///
    /// Between an untyped storage and one of another dtype the bytes are copied as they are. This is PyTorch's rule.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::SizeMismatch`], or [`Error::LengthMismatch`] if bytes are copied as they are.
    pub fn copy_from(&self, source: &Self) -> Result<(), Error> {
        let target = self.target()?;
        if self.inner.copies_raw_bytes_from(&source.inner) {
            let (expected, got) = (self.nbytes(), source.nbytes());
            if expected != got {
                return Err(Error::LengthMismatch { expected, got });
            }
            racing::copy(target.bytes(), source.source().bytes());
            return Ok(());
        }
        expect_size(self.size(), source.size())?;
        self.copy(0..self.size(), source, 0..self.size())
    }

    /// Copies and converts `count` elements, from element `source_offset` of `source` on, to element `target_offset` of this
    /// storage and those after it. A byte of an untyped storage is converted as a number from 0 to 255. The two storages may
    /// overlap in any way.
    ///
    /// ```
    /// use torch_storage::convert::Scalar;
    /// use torch_storage::{DType, Storage};
    ///
    /// let bytes = Storage::zeroed(DType::Byte, 4)?;
    /// let halves = Storage::zeroed(DType::Half, 2)?;
    /// halves.fill(Scalar::Float(300.5))?;
    /// bytes.copy_range(1, &halves, 0, 2)?;
    /// assert_eq!([0, 1, 2, 3].map(|index| bytes.get(index)), [Some(0.0), Some(44.0), Some(44.0), Some(0.0)]);
    /// assert!(bytes.copy_range(3, &halves, 0, 2).is_err());
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`] if the elements are not all inside the target, or not all inside the source.
    pub fn copy_range(&self, target_offset: usize, source: &Self, source_offset: usize, count: usize) -> Result<(), Error> {
        self.inner.writable()?;
        self.copy(self.inner.range(target_offset, count)?, source, source.inner.range(source_offset, count)?)
    }

    /// Reverses the byte order of each word of `width` bytes. Without a width the words are the elements, or the parts of complex
    /// elements. Words of one byte stay as they are.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::NoWords`] if the width is not 1, 2, 4 or 8, or does not divide the length in bytes.
    pub fn byteswap(&self, width: Option<usize>) -> Result<(), Error> {
        let target = self.kernel_target()?;
        let (width, bytes) = (width.unwrap_or(self.dtype().part().width()), self.nbytes());
        if !matches!(width, 1 | 2 | 4 | 8) || !bytes.is_multiple_of(width) {
            return Err(Error::NoWords { width, bytes });
        }
        target.bytes().byteswap(width);
        Ok(())
    }

    /// Writes bytes from byte `offset` (from 0) on.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if the bytes do not all fit.
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let target = self.target()?.bytes().part(self.inner.byte_range(offset, bytes.len())?);
        racing::copy(target, Source::of(bytes, DType::Byte));
        Ok(())
    }

    /// Whether the two storages have the same dtype, the same size and equal values. NaN differs from itself, and -0 equals 0.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        racing::equal(self.kernel_source(), other.kernel_source())
    }

    /// The elements as a new vector.
    ///
    /// # Errors
    /// [`Error::OtherElements`] if the elements are not of the type `T`, [`Error::OutOfMemory`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.expect_elements::<T>()?;
        let (size, source) = (self.size(), self.source());
        let mut elements = Vec::<T>::new();
        elements.try_reserve_exact(size).map_err(|_| Error::OutOfMemory { bytes: self.nbytes() })?;
        // SAFETY: [in-bounds] the vector has this capacity.
        let target = unsafe { Writable::new(elements.as_mut_ptr().cast(), T::DTYPE, size) };
        // SAFETY: [race] the vector is new, and nobody else has it.
        racing::copy(unsafe { Target::new(target, false) }, source);
        // SAFETY: [in-bounds] this many elements were copied. [alias] any bits are a valid element.
        unsafe { elements.set_len(size) };
        Ok(elements)
    }

    /// Copies all elements to a slice of the same length.
    ///
    /// ```
    /// use torch_storage::Storage;
    ///
    /// let mut out = [0i64; 2];
    /// Storage::from_vec(vec![3i64, 4]).copy_to_slice(&mut out)?;
    /// assert_eq!(out, [3, 4]);
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherElements`] if the elements are not of the type `T`, [`Error::SizeMismatch`] if the slice has another length.
    pub fn copy_to_slice<T: Element>(&self, target: &mut [T]) -> Result<(), Error> {
        self.expect_elements::<T>()?;
        expect_size(target.len(), self.size())?;
        // SAFETY: [in-bounds] the slice has this length.
        let target = unsafe { Writable::new(target.as_mut_ptr().cast(), T::DTYPE, target.len()) };
        // SAFETY: [race] the slice is borrowed exclusively.
        racing::copy(unsafe { Target::new(target, false) }, self.source());
        Ok(())
    }

    /// Copies the elements of a slice of the same length to this storage.
    ///
    /// ```
    /// use torch_storage::{DType, Storage};
    ///
    /// let storage = Storage::zeroed(DType::Short, 3)?;
    /// storage.copy_from_slice(&[1i16, 2, 3])?;
    /// assert_eq!(storage.get(1), Some(2.0));
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherElements`] if the elements are not of the type `T`, [`Error::ReadOnly`], [`Error::SizeMismatch`] if the slice has
    /// another length.
    pub fn copy_from_slice<T: Element>(&self, source: &[T]) -> Result<(), Error> {
        self.expect_elements::<T>()?;
        let target = self.target()?;
        expect_size(self.size(), source.len())?;
        racing::copy(target, Source::of_elements(source));
        Ok(())
    }

    /// The elements as a slice, if no other handle, view, token, publication or Lua state can access them.
    ///
    /// Also returns `None` if the elements are not of the type `T` or not aligned for it, if they are read-only, and for mapped files,
    /// shared memory and memory that came as a raw pointer, because others may access these.
    ///
    /// ```
    /// use torch_storage::Storage;
    ///
    /// let mut samples = Storage::from_vec(vec![3.0f32, 1.0, 2.0]);
    /// if let Some(samples) = samples.as_mut_slice::<f32>() {
    ///     samples.sort_by(f32::total_cmp);
    /// }
    /// assert_eq!(samples.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// let other = samples.clone();
    /// assert!(samples.as_mut_slice::<f32>().is_none());
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    #[must_use]
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let (data, size) = (self.data().cast::<T>(), self.size());
        if self.dtype() != T::DTYPE || self.is_read_only() || !self.inner.has_one_reference() || !self.is_alone() {
            return None;
        }
        if size == 0 {
            return Some(&mut []);
        }
        // SAFETY: [in-bounds] the storage has this many elements, and the address is aligned. [live] and [race] this is the only reference
        // to the storage, the storage is the only user of the memory, and both are borrowed exclusively, so until then nothing else
        // accesses, moves or shares the elements. [alias] any bits are a valid element.
        data.is_aligned().then(|| unsafe { std::slice::from_raw_parts_mut(data, size) })
    }

    fn expect_elements<T: Element>(&self) -> Result<(), Error> {
        let got = self.dtype();
        if got == T::DTYPE { Ok(()) } else { Err(Error::OtherElements { got, expected: T::DTYPE }) }
    }
}

fn expect_size(expected: usize, got: usize) -> Result<(), Error> {
    if expected == got { Ok(()) } else { Err(Error::SizeMismatch { expected, got }) }
}
