//! What is known about the file system of a file: how many bytes it has room for.

use std::fs::File;
use std::ptr;

use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use super::files;

/// The number of bytes that the file system of a file has room for, at most, and the number that it offers to this user. `None` if
/// that is unknown. A file that is compressed takes fewer bytes than it has, but Windows counts them all when it extends a file.
pub fn room(file: &File) -> Option<(u64, u64)> {
    let path = files::final_path(file).ok()?;
    let (mut all, mut ours) = (0, 0);
    files::with_wide_path(path.parent()?, |folder| {
        // SAFETY: [system] the path ends with a zero, and both numbers are local variables.
        super::done_or_error(unsafe { GetDiskFreeSpaceExW(folder, &raw mut ours, ptr::null_mut(), &raw mut all) })
    })
    .ok()?;
    Some((all, ours))
}
