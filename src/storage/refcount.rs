//! The number of references to a storage, which is the `refcount` field of its header.
//!
//! A storage lives as long as it has references. Each handle or userdata, each outstanding `retain()`, each token and each
//! publication counts as one reference. `register.rs` records which holder they belong to.

use std::sync::atomic::Ordering;

use super::sync::AtomicI32;
use crate::error::Error;

/// The number of references to a storage.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct RefCount(AtomicI32);

impl RefCount {
    #[cfg(not(loom))]
    pub(super) const fn none() -> Self {
        Self(AtomicI32::new(0))
    }

    pub(super) fn one() -> Self {
        Self(AtomicI32::new(1))
    }

    /// Whether the caller's reference is the only one.
    ///
    /// Acquire: everything that a former holder did to the storage before it gave its reference back
    /// ([`subtract`](Self::subtract)) has happened before.
    pub(super) fn is_one(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }

    /// The number of references. Relaxed: the number is only shown, or it is read under the register's lock.
    pub(super) fn get(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds a reference, under the register's lock. Relaxed: the caller holds a reference itself, and the lock orders the
    /// changes.
    pub(super) fn add(&self) -> Result<(), Error> {
        let more = self.get().checked_add(1).ok_or(Error::TooManyReferences)?;
        self.0.store(more, Ordering::Relaxed);
        Ok(())
    }

    /// Removes a reference, under the register's lock, and returns how many are left. Release: it pairs with the load in
    /// [`is_one`](Self::is_one).
    pub(super) fn subtract(&self) -> i32 {
        self.0.fetch_sub(1, Ordering::Release) - 1
    }
}
