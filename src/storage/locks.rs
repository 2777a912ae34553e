//! The process-wide locks, their order, and what happens to them when the process forks.
//!
//! The order is that of the functions below: whoever holds one lock takes only those after it. The thread that forks holds all
//! of them meanwhile, so that a child never inherits data that another thread was changing.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use super::memory::{Holders, PageLocks};
use super::register::Register;

static REGISTER: Mutex<Register> = Mutex::new(Register::new());
static HOLDERS: Mutex<Holders> = Mutex::new(Holders::new());
static PAGE_LOCKS: Mutex<PageLocks> = Mutex::new(PageLocks::new());

/// A lock, held.
pub(super) type Guard<T> = MutexGuard<'static, T>;

/// First: who holds which storage. Under it storages change their memory.
pub(super) fn register() -> Guard<Register> {
    lock(&REGISTER)
}

/// Second: this process's part in shared memory. While it is held no other thread forks, so what is opened meanwhile is not
/// inherited half-way.
pub(super) fn holders() -> Guard<Holders> {
    lock(&HOLDERS)
}

/// Third: the pages that are locked in memory.
pub(super) fn page_locks() -> Guard<PageLocks> {
    lock(&PAGE_LOCKS)
}

fn lock<T>(mutex: &'static Mutex<T>) -> Guard<T> {
    protect_across_fork();
    wait_for(mutex)
}

/// A thread that panicked with a lock left the data as it should be: no step of a change can panic half-way.
fn wait_for<T>(mutex: &'static Mutex<T>) -> Guard<T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All locks, taken in their order.
struct All {
    _register: Guard<Register>,
    holders: Guard<Holders>,
    page_locks: Guard<PageLocks>,
}

thread_local! {
    /// The locks, while this thread forks. The child's only thread is a copy of it, and has a copy of this.
    static WHILE_FORKING: RefCell<Option<All>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    let register = wait_for(&REGISTER);
    let mut holders = wait_for(&HOLDERS);
    holders.before_fork();
    let page_locks = wait_for(&PAGE_LOCKS);
    // A thread that forks while its thread-local values are being destroyed forks without the locks.
    let _ = WHILE_FORKING.try_with(|slot| slot.replace(Some(All { _register: register, holders, page_locks })));
}

fn locks_of_fork() -> Option<All> {
    WHILE_FORKING.try_with(RefCell::take).ok().flatten()
}

extern "C" fn in_parent() {
    if let Some(mut locks) = locks_of_fork() {
        locks.holders.in_parent();
    }
}

extern "C" fn in_child() {
    if let Some(mut locks) = locks_of_fork() {
        locks.holders.in_child();
        locks.page_locks.in_child();
    }
}

/// Makes the process's storages safe across `fork`. The first use of a lock does it too; but if one thread forks just while that
/// happens in another one, the child waits for ever. So a program with threads does it before it starts them.
pub fn protect_across_fork() {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        // A failure (no memory) leaves the locks unprotected across fork, as they would be without this call.
        // SAFETY: [system] the handlers are functions of this library, which is linked never to be unloaded.
        let _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}
