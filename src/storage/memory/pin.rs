//! Locking memory, so that it is not swapped out.

use super::page_locks::{Identity, no_pages_are_locked};
use crate::error::Error;
use crate::storage::locks;

/// Locks the pages of `bytes` bytes from `data` on, which belong to `memory`, until [`unpin`] is called for it.
pub fn pin(memory: Identity, data: *const u8, bytes: usize) -> Result<(), Error> {
    if bytes == 0 || is_pinned(memory, data, bytes) {
        return Ok(());
    }
    locks::page_locks().lock(memory, data, bytes)
}

/// Whether all of the `bytes` bytes from `data` on are locked for this memory.
pub fn is_pinned(memory: Identity, data: *const u8, bytes: usize) -> bool {
    bytes == 0 || (!no_pages_are_locked() && locks::page_locks().covers(memory, data, bytes))
}

/// Unlocks all pages that are locked for this memory only.
#[inline]
pub fn unpin(memory: Identity) {
    if !no_pages_are_locked() {
        locks::page_locks().unlock(memory);
    }
}
