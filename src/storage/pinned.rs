//! Locking the memory of a storage, so that it is not swapped out.

use super::Storage;
use super::memory::{is_pinned, pin};
use crate::error::Error;

impl Storage {
    /// Locks the pages of the elements in memory (`mlock`), until the memory ends or the storage is resized. The pages are then
    /// also locked for other storages over the same memory. A child made by `fork` inherits the memory, but not the lock.
    ///
    /// # Errors
    /// [`Error::Pin`], with the number of bytes that this process may lock; [`Error::OutOfMemory`].
    pub fn pin(&self) -> Result<(), Error> {
        // Pinning may take long, so it does not hold the register's lock. A reference to the memory keeps it where it is.
        let (memory, data, bytes) = self.with_hold(|hold| (hold.share(), self.data(), self.nbytes()));
        pin(memory.identity(), data, bytes)
    }

    /// Whether all pages of the elements are locked, by [`pin`](Self::pin) or by a map with [`lock`](super::MapOptions::lock). An
    /// empty storage is always pinned, because it has no pages.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.with_memory(|memory| is_pinned(memory.identity(), self.data(), self.nbytes()))
    }
}
