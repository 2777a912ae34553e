//! Safe functions for calls of the operating system: files by their paths, locks, pages of memory, threads, libraries. `unix` and `windows`
//! have the same functions; what differs in concept, shared memory and the replacing of files, has two forms in the layers that use it.

pub mod code;
pub mod processor;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::fallible::NoMemory;
pub use code::Code;
#[cfg(all(test, unix))]
pub use unix::signals;
#[cfg(unix)]
pub use unix::{
    COUNTS_PRIVATE_MAPS, FileId, advise, advise_huge_pages, at_fork, cores, file_system, files, flock, free_space, is_present,
    is_same, is_set, link, lock_pages, maps, page_size, read_exactly, reserve, soft_limit, texts, unlock_pages,
    with_descriptor_path, workers, write_all,
};
#[cfg(all(feature = "lua", unix))]
pub use unix::{library, names};
#[cfg(windows)]
pub use windows::{
    COUNTS_PRIVATE_MAPS, FileId, advise, advise_huge_pages, at_fork, cores, file_system, files, halves, is_present, is_set,
    lock_pages, maps, page_size, read_exactly, reserve, soft_limit, texts, unlock_pages, workers, write_all,
};
#[cfg(all(feature = "lua", windows))]
pub use windows::{library, names};

/// The size of a huge page in bytes, on most systems.
pub const HUGE_PAGE: usize = 2 << 20;

/// What a program does with a file that it opens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    ReadAndWrite,
    /// The same for a new file. On Unix only this user may open it. It is an error if the file exists.
    Create,
}

/// A resource that the system limits for each process.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    /// The length in bytes of a file that the process writes (`ulimit -f`).
    FileLength,
    /// The number of bytes that the process locks in memory (`ulimit -l`).
    LockedMemory,
}

/// How a program is going to use a map. The system reads pages ahead or drops them accordingly. The advice changes no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// In no particular way (`MADV_NORMAL`). This takes earlier advice back.
    Normal,
    /// From the beginning to the end (`MADV_SEQUENTIAL`). The system reads far ahead, and may drop pages soon after they were
    /// read.
    Sequential,
    /// In random order (`MADV_RANDOM`). The system does not read ahead.
    Random,
    /// All of it soon (`MADV_WILLNEED`). The system begins to read the pages now, and the call does not wait for that.
    WillNeed,
}

/// Turns an error of the system into an [`Error`] about a file. `action` is a verb that says what failed, for example `"open"`.
pub fn failure(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::File { action, path: path.into(), reason }
}

/// Whether a name contains a zero byte. The system would take it for the end of the name.
pub fn has_zero_byte(name: &OsStr) -> bool {
    name.as_encoded_bytes().contains(&0)
}

/// Refuses the name of a file to open: [`Error::NulInName`] if it contains a zero byte, and [`Error::File`] if it is longer than
/// systems take.
pub fn check_name(path: &Path) -> Result<(), Error> {
    if path.as_os_str().len() >= files::LONGEST {
        return Err(failure("open", path)(Code::NameTooLong.error()));
    }
    if has_zero_byte(path.as_os_str()) { Err(Error::NulInName { path: path.into() }) } else { Ok(()) }
}

/// Whether the path still names this open file, and not another one that somebody has put there. Symbolic links are not followed.
pub fn is_at(file: &File, path: &Path) -> bool {
    matches!((files::status_of(file), files::link_status(path)), (Ok(ours), Ok(there)) if ours.id == there.id)
}

impl From<NoMemory> for io::Error {
    fn from(_: NoMemory) -> Self {
        Code::NoMemory.error()
    }
}
