//! What is done with the elements of storages: reading, writing, filling, copying, comparing, reversing bytes.

use std::ops::Range;

use super::Storage;
use super::memory::Memory;
use crate::bulk::{self, Readable, Writable};
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::Error;

impl Storage {
    /// The elements, to be read. They are used at once, before anything else is done with the storage: who resizes it moves them.
    fn readable(&self) -> Readable<'_> {
        // SAFETY: [live] the handle keeps the memory where it is. [in-bounds] the header's size is that of the memory.
        unsafe { Readable::new(self.data(), self.dtype(), self.size()) }
    }

    /// The elements, to be written. They are used at once, as those of [`readable`](Self::readable).
    ///
    /// # Errors
    /// [`Error::ReadOnly`] if writing an element would end the process. An empty storage has none to write.
    fn writable(&self) -> Result<Writable<'_>, Error> {
        if self.write_limit() != self.read_limit() {
            return Err(Error::ReadOnly { kind: self.with_memory(Memory::kind) });
        }
        // SAFETY: [live] the handle keeps the memory where it is, and it is not read-only. [in-bounds] the header's size is that of
        // the memory.
        Ok(unsafe { Writable::new(self.data(), self.dtype(), self.size()) })
    }

    /// Element `index` as a Lua number, of a complex one the real part; `None` if there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<f64> {
        self.readable().get(index)
    }

    /// Element `index` as a Lua number, or as a complex one; `None` if there is none.
    #[must_use]
    pub fn get_scalar(&self, index: usize) -> Option<Scalar> {
        self.readable().get_scalar(index)
    }

    /// Sets element `index`; false if there is none.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn set(&self, index: usize, value: Scalar) -> Result<bool, Error> {
        Ok(index < self.size() && self.writable()?.set(index, value))
    }

    /// Sets every element to `value`, converted once.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn fill(&self, value: Scalar) -> Result<(), Error> {
        bulk::fill(self.writable()?, value);
        Ok(())
    }

    /// Sets `count` elements from `offset` on to `value`, converted once.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfRange`].
    pub fn fill_range(&self, offset: usize, count: usize, value: Scalar) -> Result<(), Error> {
        let elements = self.writable()?;
        bulk::fill(elements.part(self.range(offset, count)?), value);
        Ok(())
    }

    /// Sets every byte to 0.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn zero(&self) -> Result<(), Error> {
        // Zero is zero bytes in every class.
        self.fill(Scalar::Signed(0))
    }

    /// Copies the elements of `source`, converting them. The two may overlap in any way.
    ///
    /// Between a storage of bytes without a type and one of another class the bytes are copied as they are, as by
    /// [`copy_bytes`](Self::copy_bytes): PyTorch's rule.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::SizeMismatch`], or [`Error::LengthMismatch`] where bytes are copied.
    pub fn copy_from(&self, source: &Self) -> Result<(), Error> {
        if self.copies_raw_bytes_from(source) {
            return self.copy_bytes(source);
        }
        let target = self.writable()?;
        let (expected, got) = (self.size(), source.size());
        if expected != got {
            return Err(Error::SizeMismatch { expected, got });
        }
        bulk::copy(target, source.readable());
        Ok(())
    }

    /// Whether [`copy_from`](Self::copy_from) copies bytes as they are.
    #[must_use]
    pub fn copies_raw_bytes_from(&self, source: &Self) -> bool {
        self.dtype().is_untyped() != source.dtype().is_untyped()
    }

    /// Copies `count` elements of `source` from `source_offset` on to those from `target_offset` on, converting them: a byte without
    /// a type is a number here, from 0 to 255. The two may overlap in any way.
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
    /// [`Error::ReadOnly`], [`Error::OutOfRange`] of the target, then of the source.
    pub fn copy_range(&self, target_offset: usize, source: &Self, source_offset: usize, count: usize) -> Result<(), Error> {
        let target = self.writable()?.part(self.range(target_offset, count)?);
        bulk::copy(target, source.readable().part(source.range(source_offset, count)?));
        Ok(())
    }

    /// Whether the two have no byte in common.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        let (here, there) = (self.data().addr(), other.data().addr());
        here + self.nbytes() <= there || there + other.nbytes() <= here
    }

    /// Copies the bytes of `source` as they are, whatever the classes. The two may overlap in any way.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::LengthMismatch`] if they have not as many bytes.
    pub fn copy_bytes(&self, source: &Self) -> Result<(), Error> {
        self.writable()?;
        let (expected, got) = (self.nbytes(), source.nbytes());
        if expected != got {
            return Err(Error::LengthMismatch { expected, got });
        }
        self.copy_byte_range(source, 0, got)
    }

    /// Copies `bytes` bytes from byte `offset` on to the same offset here, as [`copy_bytes`](Self::copy_bytes).
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if they are not inside both.
    pub fn copy_byte_range(&self, source: &Self, offset: usize, bytes: usize) -> Result<(), Error> {
        let target = self.writable()?.bytes().part(self.byte_range(offset, bytes)?);
        bulk::copy(target, source.readable().bytes().part(source.byte_range(offset, bytes)?));
        Ok(())
    }

    /// Reverses the bytes of each word of `width` bytes; without a width, of each element, or of each part of a complex one.
    /// Words of one byte stay as they are.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::NoWords`] if the width is not 1, 2, 4 or 8, or does not divide the length in bytes.
    pub fn byteswap(&self, width: Option<usize>) -> Result<(), Error> {
        self.byteswap_range(width, 0, self.nbytes())
    }

    /// [`byteswap`](Self::byteswap) for the words of `bytes` bytes from byte `offset` on, where a word begins.
    ///
    /// # Errors
    /// As there, also for parts that are not made of such words; [`Error::OutOfRange`], in bytes, if they are not all inside.
    pub fn byteswap_range(&self, width: Option<usize>, offset: usize, bytes: usize) -> Result<(), Error> {
        let target = self.writable()?;
        let width = width.unwrap_or(self.dtype().part().width());
        let has_no_words = |bytes: &usize| !matches!(width, 1 | 2 | 4 | 8) || !bytes.is_multiple_of(width);
        if let Some(bytes) = [self.nbytes(), offset, bytes].into_iter().find(has_no_words) {
            return Err(Error::NoWords { width, bytes });
        }
        bulk::byteswap(target.bytes().part(self.byte_range(offset, bytes)?), width);
        Ok(())
    }

    /// `bytes` bytes from byte `offset` on, as a range that is inside.
    pub(super) fn byte_range(&self, offset: usize, bytes: usize) -> Result<Range<usize>, Error> {
        range_in(self.nbytes(), offset, bytes)
    }

    /// `count` elements from `offset` on, as a range that is inside.
    pub(super) fn range(&self, offset: usize, count: usize) -> Result<Range<usize>, Error> {
        range_in(self.size(), offset, count)
    }

    /// Writes bytes from the first element on, as many as fit.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        self.write_bytes_at(0, &bytes[..bytes.len().min(self.nbytes())])
    }

    /// Writes bytes from byte `offset` on.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if they do not all fit.
    pub fn write_bytes_at(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let target = self.writable()?.bytes().part(self.byte_range(offset, bytes.len())?);
        bulk::copy(target, Readable::of(bytes, DType::Byte));
        Ok(())
    }

    /// The elements of a strided array over this storage, in row-major order, as a heap storage. The array's first element has the
    /// index `first`; the next along a dimension is that dimension's stride further. With no dimension, or one of size 0, there are none.
    ///
    /// ```
    /// use torch_storage::{DType, Storage};
    ///
    /// let rows = Storage::from_bytes(DType::Byte, &[1, 2, 3, 4, 5, 6])?; // 2 x 3
    /// let columns = rows.gather(0, &[3, 2], &[1, 3])?;
    /// assert_eq!((0..6).filter_map(|index| columns.get(index)).collect::<Vec<_>>(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// assert!(rows.gather(0, &[3, 2], &[1, 4]).is_err());
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if an element is outside, [`Error::TooLarge`], [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If there are not as many strides as sizes.
    pub fn gather(&self, first: usize, sizes: &[usize], strides: &[isize]) -> Result<Self, Error> {
        assert_eq!(sizes.len(), strides.len(), "a stride for each size");
        let dtype = self.dtype();
        if sizes.contains(&1) {
            // Nothing is done along these, and a file may have a million of them.
            let bytes = sizes.len() * (size_of::<usize>() + size_of::<isize>());
            let (mut long, mut steps) = (Vec::new(), Vec::new());
            long.try_reserve_exact(sizes.len()).map_err(|_| Error::OutOfMemory { bytes })?;
            steps.try_reserve_exact(sizes.len()).map_err(|_| Error::OutOfMemory { bytes })?;
            for (&size, &stride) in sizes.iter().zip(strides).filter(|(size, _)| **size != 1) {
                long.push(size);
                steps.push(stride);
            }
            if long.is_empty() {
                (long, steps) = (vec![1], vec![1]);
            }
            if long.len() < sizes.len() {
                return self.gather(first, &long, &steps);
            }
        }
        let Some((&inner, outer)) = sizes.split_last().filter(|_| !sizes.contains(&0)) else { return Self::zeroed(dtype, 0) };
        let too_large = || Error::TooLarge { size: usize::MAX, dtype };
        let size = sizes.iter().try_fold(1_usize, |size, &next| size.checked_mul(next)).ok_or_else(too_large)?;
        self.check_reach(first, sizes, strides)?;
        let target = Self::zeroed(dtype, size)?;
        let (rows, source) = (target.writable()?, self.readable());
        let step = strides.last().copied().unwrap_or(0);
        let mut indices = Vec::new();
        indices.try_reserve_exact(outer.len()).map_err(|_| Error::OutOfMemory { bytes: size_of_val(outer) })?;
        indices.resize(outer.len(), 0);
        let mut row = first;
        for done in (0..size).step_by(inner) {
            bulk::gather(rows.part(done..done + inner), source, row, step);
            // The next row: as an odometer, the last dimension first.
            for (dimension, index) in indices.iter_mut().enumerate().rev() {
                *index += 1;
                row = row.wrapping_add_signed(strides[dimension]);
                if *index < outer[dimension] {
                    break;
                }
                row = row.wrapping_sub(strides[dimension].cast_unsigned().wrapping_mul(*index));
                *index = 0;
            }
        }
        Ok(target)
    }

    /// Whether all elements of a strided array, none of whose sizes is 0, are inside.
    fn check_reach(&self, offset: usize, sizes: &[usize], strides: &[isize]) -> Result<(), Error> {
        let available = self.size();
        let outside = || Error::OutOfRange { offset, size: sizes.iter().copied().fold(1, usize::saturating_mul), available };
        let (mut first, mut last) = (offset as u128, offset as u128);
        for (&size, &stride) in sizes.iter().zip(strides) {
            let reach = (size as u128 - 1) * stride.unsigned_abs() as u128;
            if stride < 0 {
                first = first.checked_sub(reach).ok_or_else(outside)?;
            } else {
                last = last.saturating_add(reach);
            }
        }
        if last < available as u128 { Ok(()) } else { Err(outside()) }
    }

    /// Whether class, size and all values are the same: NaN differs from itself, -0 equals 0.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        bulk::equal(self.readable(), other.readable())
    }

    /// Whether the two are of one class, both have `count` elements from `offset` on, and those are the same, as
    /// [`equals`](Self::equals) says.
    #[must_use]
    pub fn equals_range(&self, other: &Self, offset: usize, count: usize) -> bool {
        match (self.range(offset, count), other.range(offset, count)) {
            (Ok(here), Ok(there)) => bulk::equal(self.readable().part(here), other.readable().part(there)),
            _ => false,
        }
    }
}

/// `count` things from `offset` on, of `available` ones.
fn range_in(available: usize, offset: usize, count: usize) -> Result<Range<usize>, Error> {
    if offset > available || count > available - offset {
        return Err(Error::OutOfRange { offset, size: count, available });
    }
    Ok(offset..offset + count)
}
