//! The list of pages that are locked in memory, and the memory for which they are locked.
//!
//! The system does not count locks: unlocking a page once unlocks it for everybody. Small blocks share pages. So this list keeps
//! all locked ranges, and a page is unlocked when no range contains it any more.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;
use crate::system;

/// Identifies the memory for which pages are locked, by the address of its first byte and a number. Foreign memory can begin at
/// the same address as other memory, so each piece of it has its own number. Memory of other kinds never overlaps, and has the
/// number 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    address: usize,
    foreign: u64,
}

impl Identity {
    pub fn new(data: *const u8, foreign: u64) -> Self {
        Self { address: data.addr(), foreign }
    }
}

/// A range of locked pages.
struct PageLock {
    /// The memory for which they are locked.
    memory: Identity,
    /// The addresses of whole pages.
    pages: Range<usize>,
}

/// The list of locked ranges.
pub struct PageLocks(Vec<PageLock>);

/// The number of locked ranges. If it is 0, memory that ends need not take the lock.
///
/// Relaxed: the reference count of a storage already orders the end of its memory after a lock by another holder.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether no page is locked.
#[inline]
pub fn no_pages_are_locked() -> bool {
    COUNT.load(Ordering::Relaxed) == 0
}

impl PageLocks {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Locks the pages that contain `bytes` bytes from `data` on. They belong to live memory.
    pub fn lock(&mut self, memory: Identity, data: *const u8, bytes: usize) -> Result<(), Error> {
        self.0.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<PageLock>() })?;
        let pages = pages(data, bytes);
        if let Err(reason) = system::lock_pages(&pages) {
            // The system may have locked some of the pages before it failed.
            self.unlock_unless_shared(&pages);
            return Err(Error::Pin { bytes, limit: system::soft_limit(system::Resource::LockedMemory), reason });
        }
        self.0.push(PageLock { memory, pages });
        self.update_count();
        Ok(())
    }

    /// Whether all of the `bytes` bytes from `data` on are locked for this memory.
    pub fn covers(&self, memory: Identity, data: *const u8, bytes: usize) -> bool {
        let pages = pages(data, bytes);
        self.0.iter().any(|lock| lock.memory == memory && lock.pages.start <= pages.start && lock.pages.end >= pages.end)
    }

    /// Unlocks all pages that are locked for this memory only.
    pub fn unlock(&mut self, memory: Identity) {
        while let Some(index) = self.0.iter().position(|lock| lock.memory == memory) {
            let ended = self.0.swap_remove(index);
            self.unlock_unless_shared(&ended.pages);
        }
        self.update_count();
    }

    /// Forgets all locks, because a child made by `fork` does not inherit them.
    pub fn after_fork_in_child(&mut self) {
        self.0.clear();
        self.update_count();
    }

    fn update_count(&self) {
        COUNT.store(self.0.len(), Ordering::Relaxed);
    }

    /// Unlocks the pages of a range that no range in the list contains.
    fn unlock_unless_shared(&self, pages: &Range<usize>) {
        let mut start = pages.start;
        while start < pages.end {
            let kept = self.0.iter().find(|lock| lock.pages.contains(&start));
            let next = self.0.iter().map(|lock| lock.pages.start).filter(|&other| other > start).min();
            let end = kept.map_or_else(|| next.unwrap_or(pages.end), |lock| lock.pages.end).min(pages.end);
            if kept.is_none() {
                // An error would mean that the pages are not locked, which is what is wanted.
                let _: io::Result<()> = system::unlock_pages(&(start..end));
            }
            start = end;
        }
    }
}

/// The pages that contain `bytes` bytes from `data` on.
fn pages(data: *const u8, bytes: usize) -> Range<usize> {
    let size = system::page_size();
    data.addr() - data.addr() % size..(data.addr() + bytes).next_multiple_of(size)
}
