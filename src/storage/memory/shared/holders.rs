//! Who holds shared memory by name: this process's descriptors of the objects. The last holder anywhere removes the name.
//!
//! ```text
//! Ticket -> Holder { path, descriptor with a shared flock }   one a map
//! ```
//!
//! A shared lock says "somebody maps this". The system drops it however a process ends, so the names of the killed are not held
//! for ever. Who leaves tries for the exclusive lock: to get it is to be the last.
//!
//! A lock belongs to the *opening* of a file, which `fork` makes two processes share. So parent and child get one each: the
//! object is opened again before the fork, and afterwards the parent keeps the old one and the child the new one.
//! A map keeps its opening as well, in every child that inherits it: so what is locked is never what is mapped.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::error::Error;
use crate::storage::fork;

/// The holders of this process.
pub struct Holders {
    all: Vec<Holder>,
    /// How many there have been.
    count: u64,
}

struct Holder {
    number: u64,
    path: PathBuf,
    /// The process that it is of. A child that was made behind the handlers' back (by `clone`) shares the opening with its
    /// parent, and must leave the parent's lock alone.
    process: u32,
    /// None if a forked child could not open the object again (another user id): it maps the memory, and holds nothing.
    file: Option<File>,
    /// While the process forks: the child's opening.
    heir: Option<File>,
}

/// A holder's place in the list. Dropping it leaves. Not under the lock of [`lock`].
#[derive(Debug)]
pub struct Ticket(u64);

static HOLDERS: Mutex<Holders> = Mutex::new(Holders { all: Vec::new(), count: 0 });

/// The lock, held.
pub type HoldersGuard = MutexGuard<'static, Holders>;

/// The lock as it is: for the fork handlers.
pub fn holders_guard() -> HoldersGuard {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The holders. While they are locked, no other thread forks: what is opened meanwhile is not inherited half-way.
pub fn lock() -> HoldersGuard {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        fork::protect_across_fork();
        // SAFETY: the handler is a function of this library, which is linked never to be unloaded.
        // A failure (no memory) is as if the process were killed: the names stay, and can be removed.
        let _ = unsafe { libc::atexit(leave_all) };
    });
    holders_guard()
}

/// The process ends, perhaps with storages alive. Their memory stays mapped: other threads may still use it. And the list stays
/// as it is: a child of `vfork` looks at its parent's.
extern "C" fn leave_all() {
    holders_guard().all.iter().for_each(Holder::leave);
}

impl Holders {
    /// Makes sure that [`join`](Self::join) finds room.
    pub fn make_room(&mut self) -> Result<(), Error> {
        self.all.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<Holder>() })
    }

    /// Takes up an object that is locked shared.
    pub fn join(&mut self, file: File, path: PathBuf) -> Ticket {
        self.count += 1;
        let holder = Holder { number: self.count, path, process: process::id(), file: Some(file), heir: None };
        self.all.push(holder);
        Ticket(self.count)
    }

    /// Opens everything that this process holds once more, for the child.
    pub fn before_fork(&mut self) {
        let this = process::id();
        for holder in &mut self.all {
            if holder.process == this {
                holder.heir = holder.file.as_ref().and_then(heir);
            }
        }
    }

    /// The child has its openings now.
    pub fn in_parent(&mut self) {
        self.all.iter_mut().for_each(|holder| holder.heir = None);
    }

    /// The parent's openings are closed here, without a word to their locks.
    pub fn in_child(&mut self) {
        let this = process::id();
        for holder in &mut self.all {
            holder.file = holder.heir.take();
            holder.process = this;
        }
    }
}

impl Holder {
    fn leave(&self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.process == process::id()) {
            leave(file, &self.path);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut holders = holders_guard();
        if let Some(place) = holders.all.iter().position(|holder| holder.number == self.0) {
            holders.all.swap_remove(place).leave();
        }
    }
}

/// Ends a hold, and removes the name if nobody else has one. What goes wrong has nobody to go to: the name then stays.
pub fn leave(file: &File, path: &Path) {
    // The last act: where others hold the object, trying costs the shared lock.
    if matches!(try_lock(file, libc::LOCK_EX), Ok(true)) && is_at(file, path) {
        let _ = fs::remove_file(path);
    }
    // Closing alone would not do while a child made by `clone` has the same opening.
    let _ = flock(file, libc::LOCK_UN);
}

/// Whether the path still leads to this object, and not to another that somebody has put in its place.
fn is_at(file: &File, path: &Path) -> bool {
    matches!((file.metadata(), path.symlink_metadata()), (Ok(ours), Ok(there))
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

/// Tries for a lock (`LOCK_SH`, `LOCK_EX`), or changes the one that the opening has. False if somebody else's is in the way; one
/// that was to be changed is then lost.
pub fn try_lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    match flock(file, kind | libc::LOCK_NB) {
        Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => Ok(false),
        other => other.map(|()| true),
    }
}

fn flock(file: &File, operation: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The child's opening, held. None without the right to it, and where there are no descriptors left.
fn heir(file: &File) -> Option<File> {
    let heir = open_again(file, OpenOptions::new().read(true)).ok()?;
    matches!(try_lock(&heir, libc::LOCK_SH), Ok(true)).then_some(heir)
}

/// The object of an open file by an opening of its own.
pub fn open_again(file: &File, options: &OpenOptions) -> io::Result<File> {
    options.open(descriptor_path(file))
}

/// A name of an open file, whether it has another or not.
pub fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
