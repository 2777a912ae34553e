//! What errors show: the system's words for an error, and names. This uses nothing of the library, because errors use it.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes what the system says about an error into `text`. Returns the bytes up to the first zero byte, or nothing for an unknown error.
pub fn message(code: i32, text: &mut [u8; 256]) -> Option<&[u8]> {
    // SAFETY: [system] [in-bounds] the system writes at most as many bytes as the variable has, and a zero byte at the end.
    let known = unsafe { libc::strerror_r(code, text.as_mut_ptr().cast(), text.len()) } == 0;
    CStr::from_bytes_until_nul(text).ok().filter(|_| known).map(CStr::to_bytes)
}

/// The path with these encoded bytes.
pub fn of_bytes(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
