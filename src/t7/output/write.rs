//! Writing to a descriptor: all of it, and without the signals that end a process for it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::bulk::Readable;
use crate::system::signals::{Blocked, Signals};

/// The most that one call writes: Linux moves 2 GiB less a page, other systems nothing at all from 2 GiB on.
const MOST: usize = 1 << 30;

/// Writes bytes. A closed pipe and a file that gets too large (`ulimit -f`) are errors like all others: their signals do not come.
pub fn write_all(file: &File, bytes: Readable<'_>) -> io::Result<()> {
    let quiet = Quiet::begin()?;
    let mut done = 0;
    while done < bytes.size() {
        let rest = bytes.data().wrapping_add(done).cast();
        // SAFETY: [system] the descriptor is open. [in-bounds] the bytes after the first `done` are readable.
        let moved = unsafe { libc::write(file.as_raw_fd(), rest, (bytes.size() - done).min(MOST)) };
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
    _blocked: Blocked,
    /// What was pending before: somebody else's.
    pending: Signals,
}

impl Quiet {
    fn begin() -> io::Result<Self> {
        let pending = Signals::pending();
        Ok(Self { _blocked: Blocked::new(Signals::of(&[libc::SIGPIPE, libc::SIGXFSZ]))?, pending })
    }

    /// Takes the signal that a write has just left, if it did: it does not where the process ignores it.
    fn take(&self, signal: libc::c_int) {
        if !self.pending.contain(signal) && Signals::pending().contain(signal) {
            // The signal is pending and blocked, so this does not wait.
            Signals::of(&[signal]).take();
        }
    }
}
