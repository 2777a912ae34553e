//! How much memory the storages of this process use.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that this process's storages use, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Memory of their own, reserved capacity included.
    pub heap: usize,
    /// Mapped files.
    pub mapped: usize,
    /// Shared memory that they map, whoever else does.
    pub shared: usize,
    /// Other people's memory that storages point at.
    pub foreign: usize,
}

/// A number of bytes for [`usage`]. Relaxed: a statistic, nothing is decided by it.
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
/// Maps, not bytes.
pub static MAPS: Tally = Tally::new();

/// Bytes of private maps that can be written, whose pages become memory of this process when they are, and of shared memory that
/// this process has made. What it attaches to takes none.
pub static PRIVATE: Tally = Tally::new();

/// What a map weighs by itself: a process can have some 65,000 of them.
const MAP_WEIGHT: usize = 32 * 1024;

/// How much this process would win, at most, if all its storages were garbage: in bytes.
#[must_use]
pub fn weight() -> usize {
    HEAP.get().saturating_add(PRIVATE.get()).saturating_add(MAPS.get().saturating_mul(MAP_WEIGHT))
}

/// What all storages of this process use now.
#[must_use]
pub fn usage() -> Usage {
    Usage { heap: HEAP.get(), mapped: MAPPED.get(), shared: SHARED.get(), foreign: FOREIGN.get() }
}
