//! Who holds a storage: live userdata and outstanding `retain()`s. The only atomics of a storage, and the one process-wide lock.
//!
//! A storage lives while somebody holds it: each userdata once, and each `retain()` that no `free()` or `pushudata` has taken
//! back. The header's `refcount` is the sum. The set [`RETAINED`] has exactly the storages with outstanding retains; it is
//! what makes an address given to `pushudata` trustworthy.
//!
//! Every change of a storage that several hold is made under the lock of that set. One holder alone needs no lock: its
//! storage is not in the set, so nobody else can come by it.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use super::Block;
use crate::element::DType;
use crate::error::Error;

/// The `refcount` field of a header.
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
    /// Acquire: what a former holder did to the storage before it let go (Release, in [`leave`]) has happened before.
    pub(super) fn is_one(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }

    /// For showing.
    pub(super) fn get(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more holder. Relaxed: the caller holds a reference itself, and the lock orders the changes.
    fn add(&self) -> Result<(), Error> {
        let more = self.get().checked_add(1).ok_or(Error::TooManyReferences)?;
        self.0.store(more, Ordering::Relaxed);
        Ok(())
    }

    /// One holder less; returns what is left. Release: see [`is_one`](Self::is_one).
    fn subtract(&self) -> i32 {
        self.0.fetch_sub(1, Ordering::Release) - 1
    }
}

/// A storage in the set.
pub(super) struct Retained(NonNull<Block>);

// SAFETY: a block's address may be known to every thread; what is done with it is done under the lock.
unsafe impl Send for Retained {}

pub(super) type Set = BTreeMap<usize, Retained>;

/// The storages with outstanding retains, by address.
static RETAINED: Mutex<Set> = Mutex::new(BTreeMap::new());

/// Where the lock is kept while the process forks.
struct ForkSlot(UnsafeCell<Option<MutexGuard<'static, Set>>>);

// SAFETY: only the fork handlers touch it, and they run one after the other in the thread that forks, holding the lock.
unsafe impl Sync for ForkSlot {}

static HELD: ForkSlot = ForkSlot(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let guard = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: this thread holds the lock, so no other handler runs.
    unsafe { *HELD.0.get() = Some(guard) };
}

extern "C" fn after_fork() {
    // SAFETY: this thread, or its copy in the child, holds the lock since `before_fork`.
    drop(unsafe { (*HELD.0.get()).take() });
}

/// The process-wide lock. It is held across `fork`, so that a child never inherits it half-way.
pub(super) fn lock() -> MutexGuard<'static, Set> {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        // SAFETY: the handlers are functions of this library, which is linked never to be unloaded.
        // A failure (no memory) leaves the lock unprotected across fork, as it would be without this call.
        let _ = unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
    });
    RETAINED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One more outstanding `retain()`.
pub(super) fn retain(block: NonNull<Block>) -> Result<(), Error> {
    let mut set = lock();
    // SAFETY: the caller holds a reference, so the block is alive.
    let shared = unsafe { block.as_ref() };
    shared.header.refcount.add()?;
    shared.retained.set(shared.retained.get() + 1);
    set.insert(block.addr().get(), Retained(block));
    Ok(())
}

/// Gives back one outstanding `retain()`, if there is one.
pub(super) fn release_retained(block: NonNull<Block>) -> bool {
    let mut set = lock();
    // SAFETY: the caller holds a reference, so the block is alive.
    let shared = unsafe { block.as_ref() };
    if shared.retained.get() == 0 {
        return false;
    }
    shared.header.refcount.subtract();
    take_one(&mut set, shared, block);
    true
}

/// Turns the outstanding `retain()` of the storage at `address` into a reference of the caller.
pub(super) fn adopt(address: usize, dtype: DType) -> Result<NonNull<Block>, Error> {
    let mut set = lock();
    let block = set.get(&address).ok_or(Error::NotRetained { address })?.0;
    // SAFETY: what is in the set has a retain outstanding, so the block is alive.
    let shared = unsafe { block.as_ref() };
    if shared.header.dtype != dtype {
        return Err(Error::OtherClass { got: shared.header.dtype, expected: dtype });
    }
    // The sum stays: a retain becomes a live reference.
    take_one(&mut set, shared, block);
    Ok(block)
}

fn take_one(set: &mut Set, shared: &Block, block: NonNull<Block>) {
    let left = shared.retained.get() - 1;
    shared.retained.set(left);
    if left == 0 {
        set.remove(&block.addr().get());
    }
}

/// The caller's reference ends. Returns true if it was the last: the block is then the caller's to destroy.
pub(super) fn leave(block: NonNull<Block>) -> bool {
    // SAFETY: the caller holds a reference until this call, so the block is alive.
    let shared = unsafe { block.as_ref() };
    if shared.header.refcount.is_one() {
        return true;
    }
    let _set = lock();
    // Acquire by the lock: the other holders left under it, or see `is_one`.
    shared.header.refcount.subtract() == 0
}
