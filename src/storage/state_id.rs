//! The number of a holder of references: a Lua state, a thread of a Rust program, or a module in C that pins elements.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of a holder. The references of each holder are counted separately, because only what one holder has alone may move.
///
/// A Lua state runs in one thread at a time, and so does a thread of a Rust program. So whatever one holder does happens one after the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(usize);

/// The bit that the numbers of threads have, and those of Lua states have not.
const THREAD: usize = 1 << (usize::BITS - 1);

thread_local! {
    /// The number of this thread, or 0 as long as it has none. It has no destructor, so it can be used until the thread has ended.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

impl StateId {
    /// The holder of references that modules in C have to elements that stay where they are. Any thread may give them back. Nobody else
    /// takes this number, so the memory does not move as long as there is such a reference.
    pub const PIN: Self = Self(0);

    /// The holder with this number, for tests.
    pub const fn new(number: NonZeroUsize) -> Self {
        Self(number.get())
    }

    /// The number of a new Lua state, which nobody else has or gets.
    pub fn of_new_state() -> Self {
        Self(next())
    }

    /// The number of this thread, for what a Rust program holds. Another thread never gets the same, not even after this one has ended.
    pub fn of_this_thread() -> Self {
        OWN.with(|own| {
            if own.get() == 0 {
                own.set(next() | THREAD);
            }
            Self(own.get())
        })
    }

    /// Whether this is no Lua state, but a thread of the program or a module in C.
    pub(super) const fn is_of_program(self) -> bool {
        self.0 == Self::PIN.0 || self.0 & THREAD != 0
    }
}

/// The next number. It never reaches the bit of the threads. Relaxed: it only matters that every number is given once.
fn next() -> usize {
    static HOLDERS: AtomicUsize = AtomicUsize::new(1);
    HOLDERS.fetch_add(1, Ordering::Relaxed)
}
