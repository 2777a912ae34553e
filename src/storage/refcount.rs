//! The count of a storage's references: the `refcount` field of its header, and the only atomic of a storage.
//!
//! A storage lives while somebody holds it: each userdata counts once, each `retain()` that no `free()` or `pushudata` has taken
//! back, each token, each publication. `register.rs` says whose they are.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::error::Error;

/// The number of references to a storage.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct RefCount(AtomicI32);

impl RefCount {
    pub(super) const fn none() -> Self {
        Self(AtomicI32::new(0))
    }

    pub(super) const fn one() -> Self {
        Self(AtomicI32::new(1))
    }

    /// Whether the caller, who holds one reference, is the only holder.
    ///
    /// Acquire: what a former holder did to the storage before it let go ([`subtract`](Self::subtract)) has happened before.
    pub(super) fn is_one(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }

    /// The number, to show it. Relaxed: nothing is decided by it.
    pub(super) fn get(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more reference, under the register's lock. Relaxed: the caller holds a reference itself, and the lock orders changes.
    pub(super) fn add(&self) -> Result<(), Error> {
        let more = self.get().checked_add(1).ok_or(Error::TooManyReferences)?;
        self.0.store(more, Ordering::Relaxed);
        Ok(())
    }

    /// One reference less, under the register's lock; returns how many are left. Release: see [`is_one`](Self::is_one).
    pub(super) fn subtract(&self) -> i32 {
        self.0.fetch_sub(1, Ordering::Release) - 1
    }
}
