//! Signals that are kept from a thread for a while.

use std::io;
use std::mem::MaybeUninit;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

impl Signals {
    /// The set that `write` makes of an empty one.
    fn made_by(write: impl FnOnce(*mut libc::sigset_t)) -> Self {
        let mut set = MaybeUninit::zeroed();
        // SAFETY: [system] the set is ours to write to.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        write(set.as_mut_ptr());
        // SAFETY: [layout] `sigemptyset` has initialised it.
        Self(unsafe { set.assume_init() })
    }

    /// Every signal.
    pub fn all() -> Self {
        // SAFETY: [system] the set is initialised, and ours to write to.
        Self::made_by(|set| _ = unsafe { libc::sigfillset(set) })
    }

    /// These signals, which exist.
    pub fn of(signals: &[libc::c_int]) -> Self {
        Self::made_by(|set| {
            for &signal in signals {
                // SAFETY: [system] the set is initialised, and ours to write to; a signal that does not exist is an error.
                unsafe { libc::sigaddset(set, signal) };
            }
        })
    }

    /// The signals that wait for this thread or for the process.
    pub fn pending() -> Self {
        // SAFETY: [system] the set is initialised, and ours to write to.
        Self::made_by(|set| _ = unsafe { libc::sigpending(set) })
    }

    /// Whether the signal is one of them.
    pub fn contain(&self, signal: libc::c_int) -> bool {
        // SAFETY: [system] the set is initialised.
        unsafe { libc::sigismember(&raw const self.0, signal) == 1 }
    }

    /// Takes one of these signals that is pending and blocked, so that it never comes; waits for one if there is none.
    pub fn take(&self) {
        let mut taken = 0;
        // SAFETY: [system] the set is initialised, and the number ours to write to.
        unsafe { libc::sigwait(&raw const self.0, &raw mut taken) };
    }

    /// Changes which signals are kept from this thread; returns which were before.
    fn apply(&self, how: libc::c_int) -> io::Result<Self> {
        let mut before = Self::of(&[]);
        // SAFETY: [system] both sets are initialised, and ours.
        match unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) } {
            0 => Ok(before),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

/// Keeps signals from this thread while it lives, and from the threads that this one starts meanwhile.
pub struct Blocked {
    before: Signals,
}

impl Blocked {
    /// # Errors
    /// The system's.
    pub fn new(signals: Signals) -> io::Result<Self> {
        Ok(Self { before: signals.apply(libc::SIG_BLOCK)? })
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // It cannot fail: the system gave this set.
        let _ = self.before.apply(libc::SIG_SETMASK);
    }
}

/// The signals that are kept from this thread now.
#[cfg(test)]
pub fn kept_back() -> io::Result<Signals> {
    Signals::of(&[]).apply(libc::SIG_BLOCK)
}
