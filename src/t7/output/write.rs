//! Writing to a descriptor: all of it, and without the signals that end a process for it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::bytes::Bytes;

/// The most that one call writes: Linux moves 2 GiB less a page, other systems nothing at all from 2 GiB on.
const MOST: usize = 1 << 30;

/// Writes bytes. A closed pipe and a file that gets too large (`ulimit -f`) are errors like all others: their signals do not come.
pub fn write_all(file: &File, bytes: Bytes<'_>) -> io::Result<()> {
    let quiet = Quiet::begin()?;
    let mut done = 0;
    while done < bytes.count() {
        let rest = bytes.start().wrapping_add(done).cast();
        // SAFETY: [system] the descriptor is open. [in-bounds] the bytes after the first `done` are readable.
        let moved = unsafe { libc::write(file.as_raw_fd(), rest, (bytes.count() - done).min(MOST)) };
        match usize::try_from(moved) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(moved) => done += moved,
            Err(_) => {
                let reason = io::Error::last_os_error();
                match reason.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EPIPE) => quiet.take(libc::SIGPIPE),
                    Some(libc::EFBIG) => quiet.take(libc::SIGXFSZ),
                    _ => {}
                }
                return Err(reason);
            }
        }
    }
    Ok(())
}

/// While it lives, a failed write of this thread leaves its signal pending. What the process does about these signals is the
/// host's, and stays.
struct Quiet {
    /// The thread's mask, as it was.
    mask: libc::sigset_t,
    /// What was pending before: somebody else's.
    pending: libc::sigset_t,
}

impl Quiet {
    fn begin() -> io::Result<Self> {
        let signals = set_of(&[libc::SIGPIPE, libc::SIGXFSZ]);
        let pending = pending();
        let mut mask = set_of(&[]);
        // SAFETY: [system] both sets are ours.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, &raw mut mask) } {
            0 => Ok(Self { mask, pending }),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    /// Takes the signal that a write has just left, if it did: it does not where the process ignores it.
    fn take(&self, signal: libc::c_int) {
        if !contains(&self.pending, signal) && contains(&pending(), signal) {
            let (set, mut taken) = (set_of(&[signal]), 0);
            // The signal is pending and blocked, so this does not wait.
            // SAFETY: [system] the set and the number are ours.
            unsafe { libc::sigwait(&raw const set, &raw mut taken) };
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // It cannot fail: the mask is one that the system gave.
        // SAFETY: [system] the set is ours, and no old one is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut()) };
    }
}

pub(super) fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: [layout] a set is an array of bits, and no bit is the empty set.
    let mut set = unsafe { std::mem::zeroed() };
    for &signal in signals {
        // SAFETY: [system] the set is ours to write to.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// The signals that wait for this thread or for the process.
fn pending() -> libc::sigset_t {
    let mut set = set_of(&[]);
    // SAFETY: [system] the set is ours to write to.
    unsafe { libc::sigpending(&raw mut set) };
    set
}

pub(super) fn contains(set: &libc::sigset_t, signal: libc::c_int) -> bool {
    // SAFETY: [system] the set is ours.
    unsafe { libc::sigismember(&raw const *set, signal) == 1 }
}
