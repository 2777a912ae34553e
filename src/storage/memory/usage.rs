//! Statistics: how much memory the storages of this process use.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes that the storages of this process use, by the kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of heap memory, including reserved capacity.
    pub heap: usize,
    /// Bytes of mapped files.
    pub mapped: usize,
    /// Bytes of shared memory that this process maps. Other processes may map the same memory.
    pub shared: usize,
    /// Bytes of foreign memory.
    pub foreign: usize,
}

/// A counter for the statistics. Relaxed: no other data depends on it.
pub struct Tally(AtomicUsize);

impl Tally {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

pub static HEAP: Tally = Tally::new();
pub static MAPPED: Tally = Tally::new();
pub static SHARED: Tally = Tally::new();
pub static FOREIGN: Tally = Tally::new();
/// The part of the foreign memory that ends together with its owner.
pub static OWNED: Tally = Tally::new();
/// The number of maps of files and shared memory.
pub static MAPS: Tally = Tally::new();

/// The number of bytes of private maps that can be written, and of shared memory that this process created. A private map counts
/// in full, because each of its pages becomes memory of this process when it is written. Shared memory that this process only
/// attached to takes no memory of its own.
pub static PRIVATE: Tally = Tally::new();

/// The number of bytes that [`weight`] counts for each map, because a process can have only about 65,000 of them.
const MAP_WEIGHT: usize = 32 * 1024;

/// The largest number of bytes that this process would gain if all its storages were freed. The Lua side calls
/// its collector by this number. Each map counts for 32 KiB in addition, because the number of maps is limited too.
#[must_use]
pub fn weight() -> usize {
    HEAP.get().saturating_add(OWNED.get()).saturating_add(PRIVATE.get()).saturating_add(MAPS.get().saturating_mul(MAP_WEIGHT))
}

/// The number of bytes that all storages of this process use now.
#[must_use]
pub fn usage() -> Usage {
    Usage { heap: HEAP.get(), mapped: MAPPED.get(), shared: SHARED.get(), foreign: FOREIGN.get() }
}
