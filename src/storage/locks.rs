//! The process-wide locks, their order, and what happens to them when the process forks.
//!
//! The locks are taken in the order of the functions below: a thread that holds a lock takes only the locks after it. A thread
//! holds all locks while it forks, so that the child never inherits data that another thread was changing.

use std::cell::RefCell;
use std::sync::{Once, PoisonError};

use super::memory::{Holders, PageLocks};
use super::register::Register;
use super::sync::{Mutex, MutexGuard, locks};
use crate::system;

locks! {
    static REGISTER: Mutex<Register> = Mutex::new(Register::new());
    static HOLDERS: Mutex<Holders> = Mutex::new(Holders::new());
    static PAGE_LOCKS: Mutex<PageLocks> = Mutex::new(PageLocks::new());
}

/// A lock that is held.
pub(super) type Guard<T> = MutexGuard<'static, T>;

/// Takes the first lock, for the references to storages. A storage with several references changes its memory under this lock.
pub(super) fn register() -> Guard<Register> {
    lock(&REGISTER)
}

/// Takes the second lock, for the shared memory objects that this process holds. No other thread forks while it is held, so a
/// child inherits no descriptor that was opened under the lock.
#[cfg(unix)]
pub(super) fn holders() -> Guard<Holders> {
    lock(&HOLDERS)
}

/// Takes the second lock when the process ends. A child that was forked while another thread installed the handlers would wait for
/// them for ever. Nobody holds the lock in such a child, because every other way to a lock installs them first.
#[cfg(unix)]
pub(super) fn holders_at_exit() -> Guard<Holders> {
    wait_for(&HOLDERS)
}

/// Takes the third lock, for the pages that are locked in memory.
pub(super) fn page_locks() -> Guard<PageLocks> {
    lock(&PAGE_LOCKS)
}

fn lock<T>(mutex: &'static Mutex<T>) -> Guard<T> {
    protect_across_fork();
    wait_for(mutex)
}

/// Waits for a lock. If a thread panicked while it held the lock, the data are still consistent, because no change can panic in
/// the middle.
fn wait_for<T>(mutex: &'static Mutex<T>) -> Guard<T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All three locks, held.
struct All {
    _register: Guard<Register>,
    holders: Guard<Holders>,
    page_locks: Guard<PageLocks>,
}

thread_local! {
    /// Holds the locks while this thread forks. The only thread of the child is a copy of this thread and has a copy of this
    /// value.
    static WHILE_FORKING: RefCell<Option<All>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let register = wait_for(&REGISTER);
    let mut holders = wait_for(&HOLDERS);
    holders.before_fork();
    let page_locks = wait_for(&PAGE_LOCKS);
    // If the thread-local values of this thread are already being destroyed, the locks are released here, before the fork.
    let _ = WHILE_FORKING.try_with(|slot| slot.replace(Some(All { _register: register, holders, page_locks })));
}

fn locks_of_fork() -> Option<All> {
    WHILE_FORKING.try_with(RefCell::take).ok().flatten()
}

extern "C" fn after_fork_in_parent() {
    if let Some(mut locks) = locks_of_fork() {
        locks.holders.after_fork_in_parent();
    }
}

extern "C" fn after_fork_in_child() {
    if let Some(mut locks) = locks_of_fork() {
        locks.holders.after_fork_in_child();
        locks.page_locks.after_fork_in_child();
    }
}

/// Makes the storages of this process safe across `fork`.
///
/// The first use of a lock calls this function too. But if another thread forks at that very moment, the child may wait for ever.
/// So a program with threads calls it before it starts them.
pub fn protect_across_fork() {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        system::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    });
}
