//! What is done with the elements of storages: reading, writing, filling, copying, comparing, turning their bytes round.

use super::Storage;
use crate::bulk;
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::Error;

impl Storage {
    /// Element `place` as a Lua number, of a complex one the real part; `None` if there is none.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<f64> {
        // SAFETY: the place is inside the storage, and the storage's memory is alive.
        (place < self.size()).then(|| unsafe { bulk::get(self.data(), self.dtype(), place) })
    }

    /// Element `place` as a Lua number, or as a complex one; `None` if there is none.
    #[must_use]
    pub fn get_scalar(&self, place: usize) -> Option<Scalar> {
        // SAFETY: the place is inside the storage, and the storage's memory is alive.
        (place < self.size()).then(|| unsafe { bulk::get_scalar(self.data(), self.dtype(), place) })
    }

    /// Sets element `place`; false if there is none.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn set(&self, place: usize, value: Scalar) -> Result<bool, Error> {
        let inside = place < self.size();
        if inside {
            self.for_writing()?;
            // SAFETY: the place is inside the storage, and the storage's memory is alive and can be written.
            unsafe { bulk::set(self.data(), self.dtype(), place, value) };
        }
        Ok(inside)
    }

    /// Sets every element to `value`, converted once.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn fill(&self, value: Scalar) -> Result<(), Error> {
        self.fill_range(0, self.size(), value)
    }

    /// Sets `count` elements from `place` on to `value`, converted once.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfRange`].
    pub fn fill_range(&self, place: usize, count: usize, value: Scalar) -> Result<(), Error> {
        self.for_writing()?;
        let data = self.part(place, count)?;
        // SAFETY: the part is inside the header's size, which is that of live memory that can be written.
        unsafe { bulk::fill(data, self.dtype(), count, value) };
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

    /// Copies the elements of `source`, converting them: a byte without a type is a number here, from 0 to 255. The two may overlap in
    /// any way.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::SizeMismatch`].
    pub fn copy_from(&self, source: &Self) -> Result<(), Error> {
        self.for_writing()?;
        let (expected, got) = (self.size(), source.size());
        if expected != got {
            return Err(Error::SizeMismatch { expected, got });
        }
        // SAFETY: both headers' sizes are those of live memory; this one's can be written.
        unsafe { bulk::copy(self.data(), self.dtype(), source.data(), source.dtype(), got) };
        Ok(())
    }

    /// Copies `count` elements of `source` from `source_place` on to those from `target_place` on, converting them. The two may
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
    /// assert_eq!([0, 1, 2, 3].map(|place| bytes.get(place)), [Some(0.0), Some(44.0), Some(44.0), Some(0.0)]);
    /// assert!(bytes.copy_range(3, &halves, 0, 2).is_err());
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::OutOfRange`] of the target, then of the source.
    pub fn copy_range(&self, target_place: usize, source: &Self, source_place: usize, count: usize) -> Result<(), Error> {
        self.for_writing()?;
        let target = self.part(target_place, count)?;
        let from = source.part(source_place, count)?;
        // SAFETY: the parts are inside both headers' sizes, which are those of live memory; this one's can be written.
        unsafe { bulk::copy(target, self.dtype(), from, source.dtype(), count) };
        Ok(())
    }

    /// Whether the two have no byte in common.
    #[must_use]
    pub fn is_apart(&self, other: &Self) -> bool {
        let (here, there) = (self.data().addr(), other.data().addr());
        here + self.nbytes() <= there || there + other.nbytes() <= here
    }

    /// Copies the bytes of `source` as they are, whatever the classes. The two may overlap in any way.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::LengthMismatch`] if they have not as many bytes.
    pub fn copy_bytes(&self, source: &Self) -> Result<(), Error> {
        self.for_writing()?;
        let (expected, got) = (self.nbytes(), source.nbytes());
        if expected != got {
            return Err(Error::LengthMismatch { expected, got });
        }
        self.copy_byte_range(source, 0, got)
    }

    /// Copies `bytes` bytes from byte `place` on to the same place here, as [`copy_bytes`](Self::copy_bytes).
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if they are not inside both.
    pub fn copy_byte_range(&self, source: &Self, place: usize, bytes: usize) -> Result<(), Error> {
        self.for_writing()?;
        let (target, source) = (self.bytes_at(place, bytes)?, source.bytes_at(place, bytes)?);
        // SAFETY: the bytes are inside both, which are live memory; any bytes are elements; this one's can be written.
        unsafe { bulk::copy(target, DType::Byte, source, DType::Byte, bytes) };
        Ok(())
    }

    /// Turns the bytes of each word of `width` bytes round; without a width, of each element, or of each part of a complex one.
    /// Words of one byte stay as they are.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::NoWords`] if the width is not 1, 2, 4 or 8, or does not divide the length in bytes.
    pub fn byteswap(&self, width: Option<usize>) -> Result<(), Error> {
        self.byteswap_range(width, 0, self.nbytes())
    }

    /// [`byteswap`](Self::byteswap) for the words of `bytes` bytes from byte `place` on, where a word begins.
    ///
    /// # Errors
    /// As there, also for parts that are not made of such words; [`Error::OutOfRange`], in bytes, if they are not all inside.
    pub fn byteswap_range(&self, width: Option<usize>, place: usize, bytes: usize) -> Result<(), Error> {
        self.for_writing()?;
        let width = width.unwrap_or(self.dtype().part().width());
        let has_no_words = |bytes: &usize| !matches!(width, 1 | 2 | 4 | 8) || !bytes.is_multiple_of(width);
        if let Some(bytes) = [self.nbytes(), place, bytes].into_iter().find(has_no_words) {
            return Err(Error::NoWords { width, bytes });
        }
        let data = self.bytes_at(place, bytes)?;
        // SAFETY: the bytes are inside this storage, which is live memory that can be written.
        unsafe { bulk::byteswap(data, width, bytes) };
        Ok(())
    }

    /// Where `bytes` bytes from byte `place` on are.
    pub(super) fn bytes_at(&self, place: usize, bytes: usize) -> Result<*mut u8, Error> {
        let available = self.nbytes();
        if place > available || bytes > available - place {
            return Err(Error::OutOfRange { offset: place, size: bytes, available });
        }
        Ok(self.data().wrapping_add(place))
    }

    /// Where `count` elements from `place` on are.
    pub(super) fn part(&self, place: usize, count: usize) -> Result<*mut u8, Error> {
        let available = self.size();
        if place > available || count > available - place {
            return Err(Error::OutOfRange { offset: place, size: count, available });
        }
        Ok(self.data().wrapping_add(place * self.dtype().width()))
    }

    /// Writes bytes from the first element on, as many as fit.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        self.write_bytes_at(0, &bytes[..bytes.len().min(self.nbytes())])
    }

    /// Writes bytes from byte `place` on.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if they do not all fit.
    pub fn write_bytes_at(&self, place: usize, bytes: &[u8]) -> Result<(), Error> {
        self.for_writing()?;
        let target = self.bytes_at(place, bytes.len())?;
        // SAFETY: so many bytes are inside both, and this storage's can be written.
        unsafe { bulk::copy(target, DType::Byte, bytes.as_ptr(), DType::Byte, bytes.len()) };
        Ok(())
    }

    /// The elements of a strided array over this storage, in row-major order, as a heap storage. The array's first element is number
    /// `place`, from 0; the next along a dimension is that dimension's stride further. With no dimension, or one of size 0, there are none.
    ///
    /// ```
    /// use torch_storage::{DType, Storage};
    ///
    /// let rows = Storage::from_bytes(DType::Byte, &[1, 2, 3, 4, 5, 6])?; // 2 x 3
    /// let columns = rows.gather(0, &[3, 2], &[1, 3])?;
    /// assert_eq!((0..6).filter_map(|place| columns.get(place)).collect::<Vec<_>>(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// assert!(rows.gather(0, &[3, 2], &[1, 4]).is_err());
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if an element is outside, [`Error::TooLarge`], [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If there are not as many strides as sizes.
    pub fn gather(&self, place: usize, sizes: &[usize], strides: &[isize]) -> Result<Self, Error> {
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
                return self.gather(place, &long, &steps);
            }
        }
        let Some((&inner, outer)) = sizes.split_last().filter(|_| !sizes.contains(&0)) else { return Self::zeroed(dtype, 0) };
        let too_large = || Error::TooLarge { size: usize::MAX, dtype };
        let size = sizes.iter().try_fold(1_usize, |size, &next| size.checked_mul(next)).ok_or_else(too_large)?;
        self.check_reach(place, sizes, strides)?;
        let target = Self::zeroed(dtype, size)?;
        let step = strides.last().copied().unwrap_or(0);
        let mut indices = Vec::new();
        indices.try_reserve_exact(outer.len()).map_err(|_| Error::OutOfMemory { bytes: size_of_val(outer) })?;
        indices.resize(outer.len(), 0);
        let mut row = place;
        for done in (0..size).step_by(inner) {
            let rows = (target.part(done, inner)?, self.data().wrapping_add(row * dtype.width()));
            // SAFETY: the row of the target is inside it; the elements of the source's are inside this storage: `check_reach`.
            unsafe { bulk::gather(rows.0, rows.1, dtype.width(), step, inner) };
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
    fn check_reach(&self, place: usize, sizes: &[usize], strides: &[isize]) -> Result<(), Error> {
        let available = self.size();
        let outside =
            || Error::OutOfRange { offset: place, size: sizes.iter().copied().fold(1, usize::saturating_mul), available };
        let (mut first, mut last) = (place as u128, place as u128);
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
        self.size() == other.size() && self.equals_range(other, 0, self.size())
    }

    /// Whether the two are of one class, both have `count` elements from `place` on, and those are the same, as
    /// [`equals`](Self::equals) says.
    #[must_use]
    pub fn equals_range(&self, other: &Self, place: usize, count: usize) -> bool {
        let parts = (self.part(place, count), other.part(place, count));
        let (Ok(here), Ok(there)) = parts else { return false };
        // SAFETY: the parts are inside both headers' sizes, which are those of live memory.
        self.dtype() == other.dtype() && unsafe { bulk::equal(here, there, self.dtype(), count) }
    }
}
