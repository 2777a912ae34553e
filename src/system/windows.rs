//! The calls of Windows.

pub mod cores;
pub mod file_system;
pub mod files;
#[cfg(feature = "lua")]
pub mod library;
pub mod maps;
#[cfg(feature = "lua")]
pub mod names;
pub mod texts;
pub mod workers;

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use memmap2::MmapRaw;
use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, GetLastError};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::Environment::GetEnvironmentVariableA;
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};
use windows_sys::Win32::System::Memory::{PrefetchVirtualMemory, VirtualLock, VirtualUnlock, WIN32_MEMORY_RANGE_ENTRY};
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};
use windows_sys::Win32::System::Threading::GetCurrentProcess;
use windows_sys::core::BOOL;

use super::{Advice, Code, Resource};

/// Whether memory is set aside for a private map when it is made.
pub const COUNTS_PRIVATE_MAPS: bool = true;

/// The number of the volume and the number of a file on it, which identify the file whatever names it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

/// The result of a call that returns 0 and sets the last error if it fails.
fn done_or_error(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether a variable of the environment has this value.
pub fn is_set(variable: &CStr, value: &str) -> bool {
    let mut found = [0_u8; 64];
    // SAFETY: [system] [in-bounds] the name is a C string, and the system writes at most 64 bytes.
    let length = unsafe { GetEnvironmentVariableA(variable.as_ptr().cast(), found.as_mut_ptr(), 64) };
    // A value that does not fit gives the size that it needs.
    found.get(..length as usize) == Some(value.as_bytes())
}

/// The largest size of one read or write, whose size the system takes in 32 bits.
const MOST: usize = 1 << 30;

/// The low and the high 32 bits of a number, as many calls take them.
pub fn halves(number: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// The size of the next piece of `left` bytes.
fn piece(left: usize) -> u32 {
    u32::try_from(left.min(MOST)).unwrap_or(0)
}

/// Reads at least `least` and at most `most` bytes of a file, from `offset` on. Returns how many. If the file has fewer, that is an
/// error of the kind `UnexpectedEof`.
///
/// # Safety
///
/// `[live]` `[in-bounds]`: `target` is valid for writes of `most` bytes, and `least` is not more than that.
pub unsafe fn read_exactly(file: &File, target: *mut u8, least: usize, most: usize, offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < least {
        // SAFETY: [live] [in-bounds] the target has room for `most - got` bytes from there on.
        match unsafe { read_piece(file, target.wrapping_add(got), most - got, offset.saturating_add(got as u64)) }? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            moved => got += moved,
        }
    }
    Ok(got)
}

/// Reads at most `size` bytes from `offset` on. Returns how many; it is 0 at the end.
///
/// # Safety
///
/// `[live]` `[in-bounds]`: `target` is valid for writes of `size` bytes.
unsafe fn read_piece(file: &File, target: *mut u8, size: usize, offset: u64) -> io::Result<usize> {
    let (low, high) = halves(offset);
    let mut place = OVERLAPPED {
        Internal: 0,
        InternalHigh: 0,
        Anonymous: OVERLAPPED_0 { Anonymous: OVERLAPPED_0_0 { Offset: low, OffsetHigh: high } },
        hEvent: ptr::null_mut(),
    };
    let mut moved = 0;
    // SAFETY: [system] the handle is open, and the call waits until it is done. [live] [in-bounds] the caller vouches for the target.
    let done = unsafe { ReadFile(file.as_raw_handle(), target, piece(size), &raw mut moved, &raw mut place) };
    // SAFETY: [system] the call only reads a number of this thread.
    if done != 0 || unsafe { GetLastError() } == ERROR_HANDLE_EOF {
        return Ok(moved as usize);
    }
    Err(io::Error::last_os_error())
}

/// Writes all `size` bytes from `data` on.
///
/// # Safety
///
/// `[live]` `[in-bounds]`: `data` is valid for reads of `size` bytes.
pub unsafe fn write_all(file: &File, data: *const u8, size: usize) -> io::Result<()> {
    let mut done = 0;
    while done < size {
        let mut moved = 0;
        let rest = data.wrapping_add(done);
        // SAFETY: [system] the handle is open. [live] [in-bounds] `done` is below the size, and the bytes after it are readable.
        let written = unsafe { WriteFile(file.as_raw_handle(), rest, piece(size - done), &raw mut moved, ptr::null_mut()) };
        done_or_error(written)?;
        if moved == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        done += moved as usize;
    }
    Ok(())
}

/// Does nothing and reports that, because a file that is extended here has its space on the disk at once.
pub fn reserve(_file: &File, _from: u64, _bytes: u64) -> io::Result<()> {
    Err(Code::Unsupported.error())
}

/// Always `None`: there are no such limits.
pub fn soft_limit(_resource: Resource) -> Option<u64> {
    None
}

/// The size of a page of memory in bytes.
pub fn page_size() -> usize {
    // SAFETY: [layout] the structure has numbers and addresses only, for which zeros are valid.
    let mut found: SYSTEM_INFO = unsafe { std::mem::zeroed() };
    // SAFETY: [system] the structure is a local variable.
    unsafe { GetSystemInfo(&raw mut found) };
    found.dwPageSize as usize
}

/// Always true, because the system is not asked.
pub fn is_present(_: *const u8) -> bool {
    true
}

/// Does nothing, because this system gives huge pages to privileged users only.
pub fn advise_huge_pages(_: *mut u8, _: usize) {}

/// Begins to read `bytes` bytes of a map from byte `start` on. The system takes no other advice.
pub fn advise(map: &MmapRaw, advice: Advice, start: usize, bytes: usize) -> io::Result<()> {
    if advice != Advice::WillNeed {
        return Ok(());
    }
    let range = WIN32_MEMORY_RANGE_ENTRY { VirtualAddress: map.as_mut_ptr().wrapping_add(start).cast(), NumberOfBytes: bytes };
    // SAFETY: [system] the call returns a constant.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: [system] the call changes no byte, and reads one range, which is a local variable.
    done_or_error(unsafe { PrefetchVirtualMemory(process, 1, &raw const range, 0) })
}

/// Locks the pages at these addresses in memory, so that they are not swapped out.
pub fn lock_pages(pages: &Range<usize>) -> io::Result<()> {
    // SAFETY: [system] locking a page changes none of its bytes, and an address without memory is an error.
    done_or_error(unsafe { VirtualLock(ptr::without_provenance(pages.start), pages.len()) })
}

/// Unlocks the pages at these addresses.
pub fn unlock_pages(pages: &Range<usize>) -> io::Result<()> {
    // SAFETY: [system] unlocking a page changes none of its bytes, and an address without memory is an error.
    done_or_error(unsafe { VirtualUnlock(ptr::without_provenance(pages.start), pages.len()) })
}

/// Does nothing, because a process cannot fork.
pub fn at_fork(_before: extern "C" fn(), _in_parent: extern "C" fn(), _in_child: extern "C" fn()) {}
