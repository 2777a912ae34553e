//! Keeping a storage's memory from being swapped out.

use super::Storage;
use super::memory::{is_pinned, pin};
use crate::error::Error;

impl Storage {
    /// Locks the pages of the elements in memory (`mlock`), until the memory ends or the storage is resized. Other storages on the same
    /// memory have them locked too. A child made by `fork` has the memory, but not the lock.
    ///
    /// # Errors
    /// [`Error::Pin`], with the most that this process may lock; [`Error::OutOfMemory`].
    pub fn pin(&self) -> Result<(), Error> {
        // A reference to the memory is enough: so what takes its time does not hold the register's lock.
        let (memory, data, bytes) = self.with_hold(|hold| Ok((hold.share()?, self.data(), self.nbytes())))?;
        pin(memory.identity(), data, bytes)
    }

    /// Whether the pages of the elements are locked: by [`pin`](Self::pin), or because the file was mapped so. An empty storage has none
    /// that are not.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.with_memory(|memory| is_pinned(memory.identity(), self.data(), self.nbytes()))
    }
}
