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
    pub fn set(&self, place: usize, value: Scalar) -> bool {
        let inside = place < self.size();
        if inside {
            // SAFETY: the place is inside the storage, and the storage's memory is alive.
            unsafe { bulk::set(self.data(), self.dtype(), place, value) };
        }
        inside
    }

    /// Sets every element to `value`, converted once.
    pub fn fill(&self, value: Scalar) {
        // SAFETY: the header's pointer and size are those of live memory.
        unsafe { bulk::fill(self.data(), self.dtype(), self.size(), value) };
    }

    /// Sets every byte to 0.
    pub fn zero(&self) {
        if self.size() > 0 {
            // SAFETY: the header's pointer and size are those of live memory.
            unsafe { std::ptr::write_bytes(self.data(), 0, self.nbytes()) };
        }
    }

    /// Copies the elements of `source`, converting them. The two may overlap in any way.
    ///
    /// # Errors
    /// [`Error::SizeMismatch`].
    pub fn copy_from(&self, source: &Self) -> Result<(), Error> {
        let (expected, got) = (self.size(), source.size());
        if expected != got {
            return Err(Error::SizeMismatch { expected, got });
        }
        // SAFETY: both headers' pointers and sizes are those of live memory.
        unsafe { bulk::copy(self.data(), self.dtype(), source.data(), source.dtype(), expected) };
        Ok(())
    }

    /// Writes bytes from the first element on, as many as fit.
    pub fn write_bytes(&self, bytes: &[u8]) {
        let length = bytes.len().min(self.nbytes());
        if length > 0 {
            // SAFETY: `length` bytes are inside both; `ptr::copy` allows any overlap.
            unsafe { std::ptr::copy(bytes.as_ptr(), self.data(), length) };
        }
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
