//! Memory that is kept from being swapped out.

use super::page_locks::{Identity, no_pages_are_locked};
use crate::error::Error;
use crate::storage::locks;

/// Locks `bytes` bytes from `data`, of a memory, until [`unpin`] of that memory.
pub fn pin(memory: Identity, data: *const u8, bytes: usize) -> Result<(), Error> {
    if bytes == 0 || is_pinned(memory, data, bytes) {
        return Ok(());
    }
    locks::page_locks().lock(memory, data, bytes)
}

/// Whether all of `bytes` bytes from `data` have been locked for that memory.
pub fn is_pinned(memory: Identity, data: *const u8, bytes: usize) -> bool {
    bytes == 0 || (!no_pages_are_locked() && locks::page_locks().covers(memory, data, bytes))
}

/// Ends all locks of a memory.
pub fn unpin(memory: Identity) {
    if !no_pages_are_locked() {
        locks::page_locks().unlock(memory);
    }
}
