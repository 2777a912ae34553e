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
use std::path::{Path, PathBuf};
use std::process;

use crate::error::Error;
use crate::system::{self, flock};

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
    for_child: Option<File>,
}

/// The number of a holder in the list. Whoever has it calls [`Holders::leave`] with it, once.
#[derive(Debug)]
pub struct Ticket(u64);

impl Holders {
    pub const fn new() -> Self {
        Self { all: Vec::new(), count: 0 }
    }

    /// Makes sure that [`join`](Self::join) finds room.
    pub fn make_room(&mut self) -> Result<(), Error> {
        self.all.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<Holder>() })
    }

    /// Takes up an object that is locked shared.
    pub fn join(&mut self, file: File, path: PathBuf) -> Ticket {
        self.count += 1;
        let holder = Holder { number: self.count, path, process: process::id(), file: Some(file), for_child: None };
        self.all.push(holder);
        Ticket(self.count)
    }

    /// Ends the hold of a ticket.
    pub fn leave(&mut self, ticket: &Ticket) {
        if let Some(index) = self.all.iter().position(|holder| holder.number == ticket.0) {
            self.all.swap_remove(index).leave();
        }
    }

    /// Ends all holds, and leaves the list as it is: a child of `vfork` looks at its parent's.
    pub fn leave_all(&self) {
        self.all.iter().for_each(Holder::leave);
    }

    /// Opens everything that this process holds once more, for the child.
    pub fn before_fork(&mut self) {
        let this = process::id();
        for holder in &mut self.all {
            if holder.process == this {
                holder.for_child = holder.file.as_ref().and_then(open_for_child);
            }
        }
    }

    /// The child has its openings now.
    pub fn after_fork_in_parent(&mut self) {
        self.all.iter_mut().for_each(|holder| holder.for_child = None);
    }

    /// The parent's openings are closed here, without a word to their locks.
    pub fn after_fork_in_child(&mut self) {
        let this = process::id();
        for holder in &mut self.all {
            holder.file = holder.for_child.take();
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

/// Ends a hold, and removes the name if nobody else has one. What goes wrong has nobody to go to: the name then stays.
pub fn leave(file: &File, path: &Path) {
    // The last act: where others hold the object, trying costs the shared lock.
    if matches!(try_lock(file, libc::LOCK_EX), Ok(true)) && system::is_at(file, path) {
        let _ = fs::remove_file(path);
    }
    // Closing alone would not do while a child made by `clone` has the same opening.
    let _ = flock(file, libc::LOCK_UN);
}

/// Tries for a lock (`LOCK_SH`, `LOCK_EX`), or changes the one that the opening has. False if somebody else's is in the way; one
/// that was to be changed is then lost.
pub fn try_lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    match flock(file, kind | libc::LOCK_NB) {
        Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => Ok(false),
        other => other.map(|()| true),
    }
}

/// The child's opening, held. None without the right to it, and where there are no descriptors left.
fn open_for_child(file: &File) -> Option<File> {
    let opening = open_again(file, OpenOptions::new().read(true)).ok()?;
    matches!(try_lock(&opening, libc::LOCK_SH), Ok(true)).then_some(opening)
}

/// The object of an open file by an opening of its own.
pub fn open_again(file: &File, options: &OpenOptions) -> io::Result<File> {
    options.open(system::descriptor_path(file))
}
