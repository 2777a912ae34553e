//! The calls of Linux, macOS and the BSDs.

pub mod cores;
pub mod file_system;
pub mod files;
#[cfg(feature = "lua")]
pub mod library;
pub mod maps;
#[cfg(feature = "lua")]
pub mod names;
pub mod signals;
pub mod texts;
pub mod workers;
mod write;

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

use memmap2::MmapRaw;

use super::{Advice, Resource};
pub use write::write_all;

/// Whether memory is set aside for a private map when it is made. Here a page counts when it is written.
pub const COUNTS_PRIVATE_MAPS: bool = false;

/// The device and the inode of a file, which identify it whatever names it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

/// Whether two descriptors are of the same file.
pub fn is_same(one: &File, other: &File) -> bool {
    matches!((files::status_of(one), files::status_of(other)), (Ok(one), Ok(other)) if one.id == other.id)
}

/// Calls `act` with a path to an open file that works even if the file has no other name. Linux only.
pub fn with_descriptor_path<R>(file: &File, act: impl FnOnce(&Path) -> R) -> R {
    let mut text = [0; 40];
    let mut rest = &mut text[..];
    // Writing does not fail: a number of 32 bits has at most 11 characters.
    let _ = write!(rest, "/proc/self/fd/{}", file.as_raw_fd());
    let left = rest.len();
    act(texts::of_bytes(&text[..text.len() - left]))
}

/// Whether a variable of the environment has this value. `std::env` would copy the value.
pub fn is_set(variable: &CStr, value: &str) -> bool {
    // SAFETY: [system] the name is a C string. As for every reader of the environment, nobody may be changing it.
    let found = unsafe { libc::getenv(variable.as_ptr()) };
    // SAFETY: [system] the system gives a C string.
    !found.is_null() && unsafe { CStr::from_ptr(found) }.to_bytes() == value.as_bytes()
}

/// Makes a system call, and makes it again while signals interrupt it. A negative result means that `errno` holds the error.
pub fn retry_interrupted(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(result) = usize::try_from(call()) {
            return Ok(result);
        }
        let reason = io::Error::last_os_error();
        if reason.kind() != io::ErrorKind::Interrupted {
            return Err(reason);
        }
    }
}

/// Reads at least `least` and at most `most` bytes of a file, from `offset` on. Returns how many. If the file has fewer, that is an
/// error of the kind `UnexpectedEof`.
///
/// # Safety
///
/// `[live]` `[in-bounds]`: `target` is valid for writes of `most` bytes, and `least` is not more than that.
pub unsafe fn read_exactly(file: &File, target: *mut u8, least: usize, most: usize, offset: u64) -> io::Result<usize> {
    /// The largest size of one read. Linux moves at most 2 GiB less a page in one call, and other systems refuse 2 GiB and more.
    const MOST: usize = 1 << 30;
    let mut got = 0;
    while got < least {
        let at = libc::off_t::try_from(offset.saturating_add(got as u64));
        let at = at.map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        let rest = target.wrapping_add(got).cast();
        // SAFETY: [system] the descriptor is open. [live] [in-bounds] the target has room for `most - got` bytes from `rest` on.
        let moved = retry_interrupted(|| unsafe { libc::pread(file.as_raw_fd(), rest, (most - got).min(MOST), at) })?;
        if moved == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        got += moved;
    }
    Ok(got)
}

/// The result of a system call that returns 0, or sets `errno` and returns another number.
fn zero_or_error(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reserves space on the disk for `bytes` bytes from byte `from` on, and extends the file to their end if it is shorter. The file
/// never becomes shorter. On systems other than Linux this is an error.
#[cfg(target_os = "linux")]
pub fn reserve(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let too_big = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let from = libc::off_t::try_from(from).map_err(too_big)?;
    let bytes = libc::off_t::try_from(bytes).map_err(too_big)?;
    // SAFETY: [system] the descriptor is open; the call touches no memory of ours.
    retry_interrupted(|| isize::try_from(unsafe { libc::fallocate(file.as_raw_fd(), 0, from, bytes) }).unwrap_or(-1)).map(|_| ())
}

#[cfg(not(target_os = "linux"))]
pub fn reserve(_file: &File, _from: u64, _bytes: u64) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// The number of free bytes in the file system of a file.
#[cfg(target_os = "linux")]
pub fn free_space(file: &File) -> io::Result<u64> {
    let mut room = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: [system] the descriptor is open, and the structure is a local variable.
    zero_or_error(unsafe { libc::fstatvfs(file.as_raw_fd(), room.as_mut_ptr()) })?;
    // SAFETY: [layout] the call succeeded, so it has written the structure.
    let room = unsafe { room.assume_init() };
    // A file system in memory that has no limit reports 0 blocks.
    Ok(if room.f_blocks == 0 { u64::MAX } else { room.f_bavail.saturating_mul(room.f_frsize) })
}

#[cfg(not(target_os = "linux"))]
pub fn free_space(_file: &File) -> io::Result<u64> {
    Ok(u64::MAX)
}

/// Takes, changes or gives back the lock of an open file description. `operation` is `LOCK_SH`, `LOCK_EX` or `LOCK_UN`.
pub fn flock(file: &File, operation: libc::c_int) -> io::Result<()> {
    // SAFETY: [system] the descriptor is open; the call touches no memory of ours.
    zero_or_error(unsafe { libc::flock(file.as_raw_fd(), operation) })
}

/// Gives an open file a name, in addition to those that it has. The file may have had no name before. Linux only.
///
/// Linux 6.10 and later can name the file of a descriptor directly. Before, only root could do that. Everybody else goes through
/// `/proc`, which takes longer because the system looks the descriptor up there.
pub fn link(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match files::link_at(file.as_raw_fd(), Path::new(""), path, libc::AT_EMPTY_PATH) {
        Err(reason) if reason.kind() != io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    with_descriptor_path(file, |from| files::link_at(libc::AT_FDCWD, from, path, libc::AT_SYMLINK_FOLLOW))
}

/// The limit of a resource for this process in bytes, or `None` if there is no limit or it is unknown.
pub fn soft_limit(resource: Resource) -> Option<u64> {
    let number = match resource {
        Resource::FileLength => libc::RLIMIT_FSIZE,
        Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
    };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: [system] the structure is a local variable.
    let known = unsafe { libc::getrlimit(number, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The size of a page of memory in bytes.
pub fn page_size() -> usize {
    // SAFETY: [system] the call returns a constant and touches no memory of ours.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Whether the page at this address is in memory. New memory has no pages until it is touched. Returns true if the system does
/// not tell.
#[cfg(target_os = "linux")]
pub fn is_present(address: *const u8) -> bool {
    let page = page_size();
    let mut present = 1u8;
    let first = address.wrapping_sub(address.addr() % page).cast_mut().cast();
    // One byte stands for its page. An emulator with larger pages than the system would write more than one byte for the whole page.
    // SAFETY: [system] the call changes no page, and an address without memory is an error. For one page it writes one byte.
    unsafe { libc::mincore(first, 1, &raw mut present) };
    present & 1 == 1
}

/// Always true, because this system is not asked.
#[cfg(not(target_os = "linux"))]
pub fn is_present(_: *const u8) -> bool {
    true
}

/// Asks for huge pages at these addresses, which begin with a page. If the system has none, nothing changes.
#[cfg(target_os = "linux")]
pub fn advise_huge_pages(start: *mut u8, bytes: usize) {
    // SAFETY: [system] the advice changes no byte, and an address without memory is an error.
    unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// Does nothing, because this system takes no such advice.
#[cfg(not(target_os = "linux"))]
pub fn advise_huge_pages(_: *mut u8, _: usize) {}

/// Tells the system how `bytes` bytes of a map from byte `start` on are going to be used.
pub fn advise(map: &MmapRaw, advice: Advice, start: usize, bytes: usize) -> io::Result<()> {
    let advice = match advice {
        Advice::Normal => memmap2::Advice::Normal,
        Advice::Sequential => memmap2::Advice::Sequential,
        Advice::Random => memmap2::Advice::Random,
        Advice::WillNeed => memmap2::Advice::WillNeed,
    };
    map.advise_range(advice, start, bytes)
}

/// Locks the pages at these addresses in memory, so that they are not swapped out.
pub fn lock_pages(pages: &Range<usize>) -> io::Result<()> {
    // SAFETY: [system] locking a page changes none of its bytes, and an address without memory is an error.
    zero_or_error(unsafe { libc::mlock(std::ptr::without_provenance(pages.start), pages.len()) })
}

/// Unlocks the pages at these addresses.
pub fn unlock_pages(pages: &Range<usize>) -> io::Result<()> {
    // SAFETY: [system] unlocking a page changes none of its bytes, and an address without memory is an error.
    zero_or_error(unsafe { libc::munlock(std::ptr::without_provenance(pages.start), pages.len()) })
}

/// Calls these functions when the process forks: before that, and afterwards in the parent and in the child.
pub fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) {
    // The call fails only without memory. The functions are not called then.
    // SAFETY: [system] the functions are those of this library, which is never unloaded.
    let _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}
