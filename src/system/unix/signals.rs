//! Blocking signals in a thread for a while.

use std::io;
use std::mem::MaybeUninit;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

impl Signals {
    /// Returns the set that `write` makes from an empty set.
    fn from_empty(write: impl FnOnce(*mut libc::sigset_t)) -> Self {
        let mut set = MaybeUninit::zeroed();
        // SAFETY: [system] the set is a local variable.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        write(set.as_mut_ptr());
        // SAFETY: [layout] `sigemptyset` has initialised the set.
        Self(unsafe { set.assume_init() })
    }

    /// The set of all signals.
    pub fn all() -> Self {
        // SAFETY: [system] `from_empty` gives a pointer to an initialised local variable.
        Self::from_empty(|set| _ = unsafe { libc::sigfillset(set) })
    }

    /// The set of these signals. Numbers that are not signals are left out.
    pub fn of(signals: &[libc::c_int]) -> Self {
        Self::from_empty(|set| {
            for &signal in signals {
                // SAFETY: [system] `from_empty` gives a pointer to an initialised local variable, and a wrong number is an error.
                unsafe { libc::sigaddset(set, signal) };
            }
        })
    }

    /// The signals that are pending for this thread or for the process.
    pub fn pending() -> Self {
        // SAFETY: [system] `from_empty` gives a pointer to an initialised local variable.
        Self::from_empty(|set| _ = unsafe { libc::sigpending(set) })
    }

    /// Whether the set contains a signal.
    pub fn contains(&self, signal: libc::c_int) -> bool {
        // SAFETY: [system] the set is initialised and only read.
        unsafe { libc::sigismember(&raw const self.0, signal) == 1 }
    }

    /// Accepts one pending signal of this set, so that it is not delivered any more. The signals have to be blocked. Waits for a
    /// signal if none is pending.
    pub fn take(&self) {
        let mut taken = 0;
        // SAFETY: [system] the set is initialised, and the number is a local variable.
        unsafe { libc::sigwait(&raw const self.0, &raw mut taken) };
    }

    /// Changes which signals are blocked in this thread, and returns those that were blocked before.
    fn apply(&self, how: libc::c_int) -> io::Result<Self> {
        let mut before = Self::of(&[]);
        // SAFETY: [system] both sets are initialised, and the one that is written is a local variable.
        match unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) } {
            0 => Ok(before),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

/// Blocks signals in this thread as long as the value lives. Threads that this thread starts then inherit the blocked
/// signals.
pub struct Blocked {
    before: Signals,
}

impl Blocked {
    /// Blocks these signals in addition to those that are blocked already.
    ///
    /// # Errors
    /// An error of the system.
    pub fn new(signals: Signals) -> io::Result<Self> {
        Ok(Self { before: signals.apply(libc::SIG_BLOCK)? })
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // This cannot fail, because the system itself returned this set.
        let _ = self.before.apply(libc::SIG_SETMASK);
    }
}

/// The signals that are blocked in this thread now.
#[cfg(test)]
pub fn blocked_now() -> io::Result<Signals> {
    Signals::of(&[]).apply(libc::SIG_BLOCK)
}
