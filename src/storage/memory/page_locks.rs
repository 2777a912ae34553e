//! Which pages are locked in memory, and for which memory.
//!
//! Locks of the system do not nest: unlocking a page unlocks it for everybody. Small blocks share pages, so the ranges that are
//! locked are kept here, and a page is unlocked when no range has it any more.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;
use crate::system;

/// Which memory pages are locked for: it begins at an address. Pieces of foreign memory can begin where other memory does, so
/// each has a number; all other kinds have no byte in common, and the number 0.
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

/// Locked pages.
struct PageLock {
    /// The memory for which they are locked.
    memory: Identity,
    /// Addresses of whole pages.
    pages: Range<usize>,
}

/// The ranges that are locked.
pub struct PageLocks(Vec<PageLock>);

/// How many ranges are locked: memory that ends has nothing to do if there are none.
///
/// Relaxed: whoever ends a memory knows what its other holders did, by the count of references.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether no page is locked.
pub fn no_pages_are_locked() -> bool {
    COUNT.load(Ordering::Relaxed) == 0
}

impl PageLocks {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Locks the pages of `bytes` bytes from `data`, which are those of live memory.
    pub fn lock(&mut self, memory: Identity, data: *const u8, bytes: usize) -> Result<(), Error> {
        self.0.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<PageLock>() })?;
        let pages = pages(data, bytes);
        if let Err(reason) = system::lock_pages(&pages) {
            // Some of them may be locked.
            self.unlock_unless_shared(&pages);
            return Err(Error::Pin { bytes, limit: system::soft_limit(system::Resource::LockedMemory), reason });
        }
        self.0.push(PageLock { memory, pages });
        self.update_count();
        Ok(())
    }

    /// Whether all of `bytes` bytes from `data` have been locked for that memory.
    pub fn covers(&self, memory: Identity, data: *const u8, bytes: usize) -> bool {
        let pages = pages(data, bytes);
        self.0.iter().any(|lock| lock.memory == memory && lock.pages.start <= pages.start && lock.pages.end >= pages.end)
    }

    /// Ends all locks of a memory.
    pub fn unlock(&mut self, memory: Identity) {
        while let Some(index) = self.0.iter().position(|lock| lock.memory == memory) {
            let ended = self.0.swap_remove(index);
            self.unlock_unless_shared(&ended.pages);
        }
        self.update_count();
    }

    /// A child has the memory, but not the locks.
    pub fn after_fork_in_child(&mut self) {
        self.0.clear();
        self.update_count();
    }

    fn update_count(&self) {
        COUNT.store(self.0.len(), Ordering::Relaxed);
    }

    /// Unlocks those of these pages that no other range has.
    fn unlock_unless_shared(&self, pages: &Range<usize>) {
        let mut start = pages.start;
        while start < pages.end {
            let kept = self.0.iter().find(|lock| lock.pages.contains(&start));
            let next = self.0.iter().map(|lock| lock.pages.start).filter(|&other| other > start).min();
            let end = kept.map_or_else(|| next.unwrap_or(pages.end), |lock| lock.pages.end).min(pages.end);
            if kept.is_none() {
                // A failure would mean that they are not locked.
                let _: io::Result<()> = system::unlock_pages(&(start..end));
            }
            start = end;
        }
    }
}

/// The pages that `bytes` bytes from `data` are in.
fn pages(data: *const u8, bytes: usize) -> Range<usize> {
    let size = system::page_size();
    data.addr() - data.addr() % size..(data.addr() + bytes).next_multiple_of(size)
}
