//! The waiting of macOS since 14.4, for memory that several processes share. Earlier versions take the list of this process.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::time::Duration;

use super::{Bytes, Slept, elsewhere};

/// `os_sync_wait_on_address_with_timeout(address, value, size, flags, clock, nanoseconds)`.
type Wait = unsafe extern "C" fn(*mut c_void, u64, usize, u32, u32, u64) -> c_int;
/// `os_sync_wake_by_address_any(address, size, flags)`, which returns -1 if nobody sleeps there.
type Wake = unsafe extern "C" fn(*mut c_void, usize, u32) -> c_int;

/// The flag for memory that several processes share, and the clock for times from now on.
const SHARED: u32 = 1;
const CLOCK: u32 = 32;

/// The functions of the system, if it has them.
fn functions() -> Option<(Wait, Wake)> {
    static FUNCTIONS: OnceLock<Option<(Wait, Wake)>> = OnceLock::new();
    let find = |name: &CStr| {
        // SAFETY: [system] the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    *FUNCTIONS.get_or_init(|| {
        let (wait, wake) = (find(c"os_sync_wait_on_address_with_timeout")?, find(c"os_sync_wake_by_address_any")?);
        // SAFETY: [system] the function of this name has this type.
        let wait = unsafe { std::mem::transmute::<*mut c_void, Wait>(wait) };
        // SAFETY: [system] the function of this name has this type.
        let wake = unsafe { std::mem::transmute::<*mut c_void, Wake>(wake) };
        Some((wait, wake))
    })
}

/// Sleeps while the bytes at `at` are `expected`, until [`wake`] is called for the address, or for `time`. `is_same` says whether they
/// are.
pub fn sleep(at: *mut u8, expected: Bytes, is_same: &dyn Fn() -> bool, time: Duration) -> Slept {
    let Some((wait, _)) = functions() else { return elsewhere::sleep(at, expected, is_same, time) };
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if nanoseconds == 0 {
        return Slept::Over;
    }
    // The low bytes come first on both processors.
    let value = u64::from_le_bytes(expected.bytes);
    // SAFETY: [system] the system reads the bytes at an address that it checks.
    let done = unsafe { wait(at.cast(), value, expected.width, SHARED, CLOCK, nanoseconds) };
    if done >= 0 { Slept::Woken } else { Slept::Over }
}

/// Wakes up to `count` threads that sleep for the address. Returns how many. An element has 4 or 8 bytes, and so has the sleep for it.
pub fn wake(at: *mut u8, count: usize) -> usize {
    let Some((_, wake)) = functions() else { return elsewhere::wake(at, count) };
    let mut woken = 0;
    for width in [4, 8] {
        // SAFETY: [system] the system takes any address, and reads and writes nothing there.
        while woken < count && unsafe { wake(at.cast(), width, SHARED) } == 0 {
            woken += 1;
        }
    }
    woken
}
