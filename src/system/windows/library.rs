//! Programs and libraries that are loaded into the process.

use std::ffi::c_void;
use std::ptr;

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
    GetModuleFileNameW, GetModuleHandleExW,
};

use super::files::LONGEST;
use super::names;

/// Keeps the library that contains a function loaded from now on. Does nothing if the function is in no library.
pub fn keep_loaded(function: *const c_void) {
    find(function, GET_MODULE_HANDLE_EX_FLAG_PIN);
}

/// The path of the library or program that contains a function, as Lua programs write names.
pub fn path_of(function: *const c_void, room: &mut [u8; LONGEST]) -> Option<&[u8]> {
    let module = find(function, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT)?;
    let mut found = [0_u16; LONGEST];
    let units = u32::try_from(found.len()).ok()?;
    // SAFETY: [system] [in-bounds] the module is loaded, and the system writes at most as many units as the variable has.
    let length = unsafe { GetModuleFileNameW(module, found.as_mut_ptr(), units) };
    names::of_wide(found.get(..length as usize)?, room)
}

/// Whether two functions are in the same library, or both in the program.
pub fn are_in_one_file(a: *const c_void, b: *const c_void) -> bool {
    let module = |function| find(function, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT);
    module(a).is_some_and(|file| module(b) == Some(file))
}

/// The library or program that contains a function.
fn find(function: *const c_void, flags: u32) -> Option<HMODULE> {
    let mut module = ptr::null_mut();
    // SAFETY: [system] with the first flag the name is any address, which is looked up. The result is a local variable.
    let found = unsafe { GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | flags, function.cast(), &raw mut module) };
    (found != 0).then_some(module)
}
