//! Threads that end with the call that starts them. Starting them allocates nothing here: the threads of the standard library end the
//! process if there is no memory for what it keeps about each of them.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
use windows_sys::Win32::System::Threading::{CreateThread, INFINITE, STACK_SIZE_PARAM_IS_A_RESERVATION, WaitForSingleObject};

/// The largest number of threads that are started.
const MOST: usize = 1024;

/// The threads that run, which are waited for when this is dropped.
struct Running {
    threads: [HANDLE; MOST],
    count: usize,
}

impl Drop for Running {
    fn drop(&mut self) {
        for &thread in &self.threads[..self.count] {
            // SAFETY: [system] the handle is that of a thread that was started.
            unsafe { WaitForSingleObject(thread, INFINITE) };
            // SAFETY: [owned] nobody else has the handle.
            unsafe { CloseHandle(thread) };
        }
    }
}

/// What all threads run.
struct Work<'a, F> {
    work: &'a F,
    has_panicked: AtomicBool,
}

unsafe extern "system" fn run<F: Fn() + Sync>(work: *mut c_void) -> u32 {
    // SAFETY: [live] `beside` waits for this thread before its variable ends. [alias] all threads have shared references.
    let all = unsafe { &*work.cast_const().cast::<Work<'_, F>>() };
    if catch_unwind(AssertUnwindSafe(all.work)).is_err() {
        // Relaxed: waiting for the thread orders it.
        all.has_panicked.store(true, Ordering::Relaxed);
    }
    0
}

/// Starts at most `count` threads that run `work`, calls `meanwhile` with the number of threads that could be started, and waits for
/// the threads. `stack` is the size of their stacks in bytes.
///
/// # Panics
/// If `work` panics.
pub fn beside<F: Fn() + Sync>(count: usize, stack: usize, work: &F, meanwhile: impl FnOnce(usize)) {
    let work = Work { work, has_panicked: AtomicBool::new(false) };
    let mut running = Running { threads: [ptr::null_mut(); MOST], count: 0 };
    for thread in running.threads.iter_mut().take(count) {
        let argument = (&raw const work).cast();
        let flags = STACK_SIZE_PARAM_IS_A_RESERVATION;
        // SAFETY: [system] the function has the type that the system calls. [live] the work lives until the thread has ended.
        *thread = unsafe { CreateThread(ptr::null(), stack, Some(run::<F>), argument, flags, ptr::null_mut()) };
        if thread.is_null() {
            break;
        }
        running.count += 1;
    }
    meanwhile(running.count);
    drop(running);
    assert!(!work.has_panicked.load(Ordering::Relaxed), "a thread has panicked");
}
