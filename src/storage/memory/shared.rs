//! Shared memory, whose objects differ in concept from system to system: files in memory with locks, which end when the last process gives
//! its lock back, and sections of Windows, which end with their last handle.

use std::ffi::OsString;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{Holders, SharedMemory, shared_memory, unlink_shared_memory};
#[cfg(windows)]
pub use windows::{Holders, SharedMemory, shared_memory, unlink_shared_memory};

/// What to do with the shared memory of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedAccess {
    /// Creates the memory if nothing has the name, and extends it if it is too short.
    Create,
    /// Attaches to memory that exists, to read and write it.
    Attach,
    /// Attaches to memory that exists, to read it only.
    Read,
}

impl SharedAccess {
    /// The access to memory that was there.
    pub fn to_existing(self) -> Self {
        if self == Self::Create { Self::Attach } else { self }
    }
}

/// Which bytes of the shared memory of a name are wanted, and for what.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// The number of bytes from the first one on. `None` is as many whole units as there are.
    pub bytes: Option<usize>,
    /// The width of a unit in bytes.
    pub width: usize,
    pub access: SharedAccess,
}

impl Wanted {
    /// How many bytes are wanted of memory that has `length` bytes.
    pub fn bytes_of(self, length: usize) -> usize {
        self.bytes.unwrap_or(length / self.width * self.width)
    }
}

/// A shared memory object of this machine, in the list that [`shared_memory`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedObject {
    /// The name of the object, without a leading slash.
    pub name: OsString,
    /// The length of the object in bytes.
    pub bytes: u64,
    /// Whether a storage of any process holds it. It is false for objects that only other programs use, because they do not lock
    /// their objects.
    pub held: bool,
}
