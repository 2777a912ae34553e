//! The holders of named shared memory: for each map, a descriptor of the object with a shared lock. The last holder in any
//! process removes the name.
//!
//! ```text
//! Ticket -> Holder { path, descriptor with a shared flock }   one for each map
//! ```
//!
//! The shared lock means that somebody maps the object. The system gives the lock back however the process ends, so a killed
//! process does not hold a name for ever. A holder that leaves tries to get the exclusive lock. If it gets the lock, it was the
//! last holder.
//!
//! A lock belongs to the *open file description*, which parent and child share after a `fork`. They need one each, so the object
//! is opened again for the child before the fork.
//!
//! A map keeps the open file description that it was made from, also in every child that inherits the map. If that description
//! stayed locked, the lock of a killed parent would live on in its children. So before its first fork a holder opens the object
//! for itself too, and moves its lock to the new description. Most holders never fork, and save the second description.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;

use crate::error::Error;
use crate::system::{self, files, flock};

/// The holders of this process.
pub struct Holders {
    all: Vec<Holder>,
    /// The number of holders that there have ever been.
    count: u64,
}

struct Holder {
    number: u64,
    path: PathBuf,
    /// The process that holds the object. A child that was made without running the fork handlers (by `clone`) shares the open
    /// file description with its parent, and must not give the parent's lock back.
    process: u32,
    /// The locked descriptor. It is `None` in a forked child for which the object could not be opened again, for example because
    /// the user id has changed. The child maps the memory then, but does not hold the name.
    file: Option<File>,
    /// Whether the locked descriptor is the one that the object was mapped from. This is so until the first fork.
    is_mapped: bool,
    /// The child's descriptor, while the process forks.
    for_child: Option<File>,
}

/// The number of a holder. Whoever owns the ticket calls [`Holders::leave`] with it once.
#[derive(Debug)]
pub struct Ticket(u64);

impl Holders {
    pub const fn new() -> Self {
        Self { all: Vec::new(), count: 0 }
    }

    /// Reserves memory for the next [`join`](Self::join), which then cannot fail.
    pub fn make_room(&mut self) -> Result<(), Error> {
        self.all.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<Holder>() })
    }

    /// Adds a holder. `file` has the shared lock, and the object is mapped from it.
    pub fn join(&mut self, file: File, path: PathBuf) -> Ticket {
        self.count += 1;
        let holder =
            Holder { number: self.count, path, process: process::id(), file: Some(file), is_mapped: true, for_child: None };
        self.all.push(holder);
        Ticket(self.count)
    }

    /// Removes the holder of a ticket. If it was the last holder in any process, the name of the object is removed.
    pub fn leave(&mut self, ticket: &Ticket) {
        if let Some(index) = self.all.iter().position(|holder| holder.number == ticket.0) {
            self.all.swap_remove(index).leave();
        }
    }

    /// Does what [`leave`](Self::leave) does, for all holders. The list stays as it is, because a child of `vfork` shares it with
    /// its parent.
    pub fn leave_all(&self) {
        self.all.iter().for_each(Holder::leave);
    }

    /// Opens each object that this process holds once more, for the child.
    pub fn before_fork(&mut self) {
        let this = process::id();
        for holder in &mut self.all {
            if holder.process == this {
                holder.before_fork();
            }
        }
    }

    /// Closes the child's descriptors in the parent.
    pub fn after_fork_in_parent(&mut self) {
        self.all.iter_mut().for_each(|holder| holder.for_child = None);
    }

    /// Replaces the parent's descriptors by those of the child. Closing them here does not change the parent's locks.
    pub fn after_fork_in_child(&mut self) {
        let this = process::id();
        for holder in &mut self.all {
            holder.file = holder.for_child.take();
            holder.process = this;
        }
    }
}

impl Holder {
    /// Opens the object for the child, and before the first fork for this process too. If that fails, this process stays the
    /// holder that it is, and the child does not become one.
    fn before_fork(&mut self) {
        if self.is_mapped {
            let Some(opened) = self.open_again() else { return };
            // Closing the old descriptor does not end its lock, because the map keeps the open file description.
            let _ = self.file.replace(opened).map(|mapped| flock(&mapped, libc::LOCK_UN));
            self.is_mapped = false;
        }
        self.for_child = self.open_again();
    }

    /// Opens the object with an open file description of its own, and takes a shared lock. Returns `None` if the process may not
    /// open it or has no descriptors left.
    fn open_again(&self) -> Option<File> {
        let opened = open_again(self.file.as_ref()?, &self.path).ok()?;
        matches!(try_lock(&opened, libc::LOCK_SH), Ok(true)).then_some(opened)
    }

    fn leave(&self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.process == process::id()) {
            leave(file, &self.path);
        }
    }
}

/// Gives the lock of a holder back, and removes the name if nobody else holds the object. An error cannot be reported to anybody.
/// The name stays then.
pub fn leave(file: &File, path: &Path) {
    // If others hold the object, this loses the shared lock too, which is not needed any more.
    if matches!(try_lock(file, libc::LOCK_EX), Ok(true)) {
        remove_name(file, path);
    }
    // Closing the file would not be enough, because a child made by `clone` may share the open file description.
    let _ = flock(file, libc::LOCK_UN);
}

/// Removes the name of an object on which this process has the exclusive lock, if the name is still that of this object.
pub fn remove_name(file: &File, path: &Path) {
    if system::is_at(file, path) {
        let _ = files::remove(path);
    }
}

/// Tries to take a lock (`LOCK_SH` or `LOCK_EX`), or to change the lock that the open file description has. Returns false if the
/// lock of somebody else prevents that. A lock that was to be changed is lost then.
pub fn try_lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    match flock(file, kind | libc::LOCK_NB) {
        Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => Ok(false),
        other => other.map(|()| true),
    }
}

/// Whether objects are created and opened by their names only, although this system may be able to do it without. The environment
/// variable `TORCH_STORAGE_SHARED_MEMORY=names` asks for it. It is read once.
pub fn names_only() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| system::is_set(c"TORCH_STORAGE_SHARED_MEMORY", "names"))
}

/// Opens the file of a descriptor again, with an open file description of its own. Where `/proc` is missing, this works only as
/// long as the file has its name.
fn open_again(file: &File, path: &Path) -> io::Result<File> {
    if !names_only() {
        match system::with_descriptor_path(file, |path| files::open(path, libc::O_RDONLY, 0)) {
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    let opened = files::open(path, libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)?;
    if system::is_same(file, &opened) { Ok(opened) } else { Err(io::ErrorKind::NotFound.into()) }
}
