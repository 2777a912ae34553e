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
