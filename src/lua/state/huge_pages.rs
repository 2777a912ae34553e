//! Huge pages for a string of several MiB that Lua makes. Touching 8 MB for the first time took 4 ms in small pages and 1 ms in huge
//! pages (virtual machine, Linux 6.18).
//!
//! Lua does not tell where a new string is before it has filled it. So the allocator of the Lua state is replaced during the
//! protected call that makes the string. The new allocator calls the old one with the same data, and gives the system advice about
//! each new block that is large enough. Code that asks Lua for its allocator during that call, which only C code in a finalizer or a hook
//! could do, gets the new one. It gives no memory when the call has ended.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use mlua_sys as ffi;

use super::State;
use crate::system::{self, HUGE_PAGE};

/// The size in bytes from which on a string gets huge pages. Its block contains at least one whole huge page, wherever it begins.
pub const LARGE_STRING: usize = 2 * HUGE_PAGE;

thread_local! {
    /// The old allocator of the Lua state whose allocator is replaced, if there is one on this thread.
    static ALLOCATOR: Cell<Option<ffi::lua_Alloc>> = const { Cell::new(None) };
}

impl State<'_> {
    /// Does the same as [`protected_call`](Self::protected_call) for a function that makes a string of `bytes` bytes. A large string
    /// gets huge pages.
    pub fn protected_call_for_string(self, bytes: usize, arguments: c_int, results: c_int) -> bool {
        // A finalizer or hook that runs in the call may make another string. Then the allocator stays as it is, even if that code
        // uses another Lua state.
        if !cfg!(target_os = "linux") || bytes < LARGE_STRING || ALLOCATOR.get().is_some() {
            return self.protected_call(arguments, results);
        }
        let mut data = ptr::null_mut();
        // SAFETY: [state] the second argument is a local variable.
        let allocator = unsafe { ffi::lua_getallocf(self.raw, &raw mut data) };
        ALLOCATOR.set(Some(allocator));
        // SAFETY: [state] `allocate` does what the old allocator does.
        unsafe { ffi::lua_setallocf(self.raw, allocate, data) };
        let done = self.protected_call(arguments, results);
        // SAFETY: [state] the old allocator can free what `allocate` has made, because it made it.
        unsafe { ffi::lua_setallocf(self.raw, allocator, data) };
        ALLOCATOR.set(None);
        done
    }
}

/// Calls the old allocator. A large new block gets huge pages.
unsafe extern "C" fn allocate(data: *mut c_void, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
    let Some(allocator) = ALLOCATOR.get() else { return ptr::null_mut() };
    // SAFETY: [state] Lua calls this with the arguments for its allocator, on the thread that has replaced it.
    let made = unsafe { allocator(data, block, old, new) };
    if block.is_null() && !made.is_null() && new >= LARGE_STRING {
        let made = made.cast::<u8>();
        let before = made.align_offset(HUGE_PAGE);
        system::advise_huge_pages(made.wrapping_add(before), (new - before) / HUGE_PAGE * HUGE_PAGE);
    }
    made
}
