//! The process-wide locks across `fork`: this thread holds them meanwhile, so that a child never inherits them half-way.

use std::cell::UnsafeCell;
use std::sync::Once;

use super::{memory, refcount};

/// The locks, in the order in which they are taken: what changes a storage may get or give back shared memory, or
/// memory that is locked, never the reverse.
struct Locks {
    _references: refcount::Guard,
    holders: memory::HoldersGuard,
    pins: memory::PinsGuard,
}

/// Where the locks are kept while the process forks.
struct Slot(UnsafeCell<Option<Locks>>);

// SAFETY: only the fork handlers touch it, and they run one after the other in the thread that forks, holding the locks.
unsafe impl Sync for Slot {}

static HELD: Slot = Slot(UnsafeCell::new(None));

extern "C" fn before() {
    let references = refcount::guard();
    let mut holders = memory::holders_guard();
    holders.before_fork();
    let pins = memory::pins_guard();
    // SAFETY: this thread holds the locks, so no other handler runs.
    unsafe { *HELD.0.get() = Some(Locks { _references: references, holders, pins }) };
}

fn take() -> Option<Locks> {
    // SAFETY: this thread, or its copy in the child, holds the locks since `before`.
    unsafe { (*HELD.0.get()).take() }
}

extern "C" fn in_parent() {
    if let Some(mut locks) = take() {
        locks.holders.in_parent();
    }
}

extern "C" fn in_child() {
    if let Some(mut locks) = take() {
        locks.holders.in_child();
        locks.pins.in_child();
    }
}

/// Makes the process's storages safe across `fork`. The first one that several hold does it too; but whoever forks in one thread
/// just while that happens in another has a child that waits for ever. So do it before there are threads.
pub fn protect_across_fork() {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        // SAFETY: the handlers are functions of this library, which is linked never to be unloaded.
        // A failure (no memory) leaves the locks unprotected across fork, as they would be without this call.
        let _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}
