//! Programs and libraries that are loaded into the process.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::files::LONGEST;

/// Keeps the library that contains a function loaded from now on. Does nothing if the function is in no library, for example in a
/// program that is linked statically.
pub fn keep_loaded(function: *const c_void) {
    /// The last function for which this was done. Relaxed: if it is out of date, the work is done once more.
    static LAST: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    if LAST.load(Ordering::Relaxed).cast_const() == function {
        return;
    }
    if let Some(name) = file_of(function) {
        // Nothing is loaded: the library is there. Its new flag stays when the handle is closed, so the handle is left open.
        // SAFETY: [system] the name ends with a zero byte, and belongs to a library that is loaded while its function is used.
        unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
    LAST.store(function.cast_mut(), Ordering::Relaxed);
}

/// The path of the library or program that contains a function of ours. This system keeps the bytes as long as that library is loaded,
/// and does not need the room.
pub fn path_of(function: *const c_void, _room: &mut [u8; LONGEST]) -> Option<&[u8]> {
    // SAFETY: [system] the name ends with a zero byte, and belongs to a library that is loaded, because it runs this function.
    let name = unsafe { CStr::from_ptr(file_of(function)?) };
    Some(name.to_bytes())
}

/// Whether two functions are in the same library, or both in the program.
pub fn are_in_one_file(a: *const c_void, b: *const c_void) -> bool {
    // The name is that of the dynamic linker's own entry, so that one file has one address here.
    file_of(a).is_some_and(|file| file_of(b) == Some(file))
}

/// The name under which the dynamic linker knows the library or program that contains a function.
fn file_of(function: *const c_void) -> Option<*const c_char> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: [system] the linker looks the address up, whatever it is, and writes to the structure.
    let is_found = unsafe { libc::dladdr(function, found.as_mut_ptr()) } != 0;
    // SAFETY: [layout] all its fields are pointers, which may be null.
    let found = unsafe { found.assume_init() };
    (is_found && !found.dli_fname.is_null()).then_some(found.dli_fname)
}
