//! What is asked of the operating system about files and pages, as safe functions: names, identities, limits, locks, room.

pub mod cores;
pub mod signals;

use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Turns the system's reason into an error about a file: `action` is what was tried.
pub fn failure(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::File { action, path: path.to_owned(), reason }
}

/// Whether a name has a zero byte in it, where C's names end.
pub fn has_zero_byte(name: &OsStr) -> bool {
    name.as_bytes().contains(&0)
}

/// Refuses a name with a zero byte in it.
pub fn check_name(path: &Path) -> Result<(), Error> {
    if has_zero_byte(path.as_os_str()) { Err(Error::NulInName { path: path.to_owned() }) } else { Ok(()) }
}

/// What tells a file from all others, whatever its names: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    pub fn of(metadata: &Metadata) -> Self {
        Self(metadata.dev(), metadata.ino())
    }
}

/// Whether the path, which is no link, leads to this open file, and not to another one that somebody has put there.
pub fn is_at(file: &File, path: &Path) -> bool {
    matches!((file.metadata(), path.symlink_metadata()), (Ok(ours), Ok(there)) if FileId::of(&ours) == FileId::of(&there))
}

/// A name of an open file, whether it has another one or not. Linux only.
pub fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What a call answered; it is made again as long as signals interrupt it. A negative answer is an error, as C's calls give it.
pub fn retried(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(answer) = usize::try_from(call()) {
            return Ok(answer);
        }
        let reason = io::Error::last_os_error();
        if reason.kind() != io::ErrorKind::Interrupted {
            return Err(reason);
        }
    }
}

/// The answer of a call that says 0, or -1 and an error.
fn done(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the file reach to the end of `bytes` bytes from `from` on, with room for them. Never makes it shorter.
#[cfg(target_os = "linux")]
pub fn reserve(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let too_big = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let from = libc::off_t::try_from(from).map_err(too_big)?;
    let bytes = libc::off_t::try_from(bytes).map_err(too_big)?;
    // SAFETY: [system] the descriptor is open; the call touches no memory of ours.
    retried(|| isize::try_from(unsafe { libc::fallocate(file.as_raw_fd(), 0, from, bytes) }).unwrap_or(-1)).map(|_| ())
}

#[cfg(not(target_os = "linux"))]
pub fn reserve(_file: &File, _from: u64, _bytes: u64) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Bytes that are free in the file's file system.
#[cfg(target_os = "linux")]
pub fn free_room(file: &File) -> io::Result<u64> {
    let mut room = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: [system] the descriptor is open; the structure is ours to write to.
    done(unsafe { libc::fstatvfs(file.as_raw_fd(), room.as_mut_ptr()) })?;
    // SAFETY: [layout] the call has succeeded, so it has written the structure.
    let room = unsafe { room.assume_init() };
    // A file system in memory without a limit has no blocks.
    Ok(if room.f_blocks == 0 { u64::MAX } else { room.f_bavail.saturating_mul(room.f_frsize) })
}

#[cfg(not(target_os = "linux"))]
pub fn free_room(_file: &File) -> io::Result<u64> {
    Ok(u64::MAX)
}

/// Sets, changes or ends (`LOCK_SH`, `LOCK_EX`, `LOCK_UN`) the lock of the opening of a file.
pub fn flock(file: &File, operation: libc::c_int) -> io::Result<()> {
    // SAFETY: [system] the descriptor is open; the call touches no memory of ours.
    done(unsafe { libc::flock(file.as_raw_fd(), operation) })
}

/// Gives a name to an open file that may have none yet. Linux only.
pub fn link(file: &File, path: &Path) -> io::Result<()> {
    let c_name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
    let (from, to) = (c_name(&descriptor_path(file))?, c_name(path)?);
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: [system] both names end with a zero byte and live until the call returns.
    done(unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) })
}

/// What the system limits for each process.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    /// The length of a file that it writes (`ulimit -f`).
    FileLength,
    /// Bytes that it keeps in memory (`ulimit -l`).
    LockedMemory,
}

/// How much of a resource this process may have; `None` if there is no limit, or nobody can tell.
pub fn soft_limit(resource: Resource) -> Option<u64> {
    let number = match resource {
        Resource::FileLength => libc::RLIMIT_FSIZE,
        Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
    };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: [system] the structure is ours to write to.
    let known = unsafe { libc::getrlimit(number, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: [system] the call asks for a constant, and touches no memory of ours.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Keeps the pages at these addresses from being swapped out.
pub fn lock_pages(pages: &Range<usize>) -> io::Result<()> {
    // SAFETY: [system] locking changes no byte, of whatever pages; addresses without memory are an error.
    done(unsafe { libc::mlock(std::ptr::without_provenance(pages.start), pages.len()) })
}

/// Ends that.
pub fn unlock_pages(pages: &Range<usize>) -> io::Result<()> {
    // SAFETY: [system] unlocking changes no byte, of whatever pages; addresses without memory are an error.
    done(unsafe { libc::munlock(std::ptr::without_provenance(pages.start), pages.len()) })
}
