//! What is done with the elements of storages: reading, writing, filling, copying, comparing.

use super::Storage;
use crate::bulk;
use crate::convert::Scalar;
use crate::error::Error;

impl Storage {
    /// Element `place` as a Lua number; `None` if there is none.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<f64> {
        // SAFETY: the place is inside the storage, and the storage's memory is alive.
        (place < self.size()).then(|| unsafe { bulk::get(self.data(), self.dtype(), place) })
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
        self.for_writing()?;
        // SAFETY: the header's pointer and size are those of live memory that can be written.
        unsafe { bulk::fill(self.data(), self.dtype(), self.size(), value) };
        Ok(())
    }

    /// Sets every byte to 0.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn zero(&self) -> Result<(), Error> {
        self.for_writing()?;
        if self.size() > 0 {
            // SAFETY: the header's pointer and size are those of live memory that can be written.
            unsafe { std::ptr::write_bytes(self.data(), 0, self.nbytes()) };
        }
        Ok(())
    }

    /// Copies the elements of `source`, converting them. The two may overlap in any way.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::SizeMismatch`].
    pub fn copy_from(&self, source: &Self) -> Result<(), Error> {
        self.for_writing()?;
        let (expected, got) = (self.size(), source.size());
        if expected != got {
            return Err(Error::SizeMismatch { expected, got });
        }
        // SAFETY: both headers' pointers and sizes are those of live memory; this one's can be written.
        unsafe { bulk::copy(self.data(), self.dtype(), source.data(), source.dtype(), expected) };
        Ok(())
    }

    /// Writes bytes from the first element on, as many as fit.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        self.for_writing()?;
        let length = bytes.len().min(self.nbytes());
        if length > 0 {
            // SAFETY: `length` bytes are inside both, and this storage's can be written; `ptr::copy` allows any overlap.
            unsafe { std::ptr::copy(bytes.as_ptr(), self.data(), length) };
        }
        Ok(())
    }

    /// Whether class, size and all values are the same: NaN differs from itself, -0 equals 0.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        self.dtype() == other.dtype()
            && self.size() == other.size()
            // SAFETY: both headers' pointers and sizes are those of live memory.
            && unsafe { bulk::equal(self.data(), other.data(), self.dtype(), self.size()) }
    }
}
