//! Writes bytes to a descriptor: all of them, and without signals.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::signals::{Blocked, Signals};

/// The largest size of one write. Linux moves at most 2 GiB less a page in one call, and other systems refuse 2 GiB and more.
const MOST: usize = 1 << 30;

/// Writes all `size` bytes from `data` on. A closed pipe and a file that becomes too large (`ulimit -f`) give errors, and no signals.
///
/// # Safety
///
/// `[live]` `[in-bounds]`: `data` is valid for reads of `size` bytes.
pub unsafe fn write_all(file: &File, data: *const u8, size: usize) -> io::Result<()> {
    let quiet = Quiet::begin()?;
    let mut done = 0;
    while done < size {
        let rest = data.wrapping_add(done).cast();
        // SAFETY: [system] the descriptor is open. [live] [in-bounds] `done` is below the size, and the bytes after it are
        // readable.
        let moved = unsafe { libc::write(file.as_raw_fd(), rest, (size - done).min(MOST)) };
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

/// Blocks the two signals in this thread while it lives, so that the signal of a failed write stays pending. The process's
/// handlers for these signals do not change.
struct Quiet {
    _blocked: Blocked,
    /// The signals that were pending before. They are not ours.
    pending: Signals,
}

impl Quiet {
    fn begin() -> io::Result<Self> {
        let pending = Signals::pending();
        Ok(Self { _blocked: Blocked::new(Signals::of(&[libc::SIGPIPE, libc::SIGXFSZ]))?, pending })
    }

    /// Removes the pending signal of a write that has just failed. There is none if the process ignores that signal.
    fn take(&self, signal: libc::c_int) {
        if !self.pending.contains(signal) && Signals::pending().contains(signal) {
            // The signal is pending and blocked, so this does not wait.
            Signals::of(&[signal]).take();
        }
    }
}
