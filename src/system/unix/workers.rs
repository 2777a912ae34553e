//! Threads that end with the call that starts them. Starting them allocates nothing here: the threads of the standard library end the
//! process if there is no memory for what it keeps about each of them.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::signals::{Blocked, Signals};

/// The largest number of threads that are started.
const MOST: usize = 1024;

/// The threads that run, which are waited for when this is dropped.
struct Running {
    threads: [MaybeUninit<libc::pthread_t>; MOST],
    count: usize,
}

impl Drop for Running {
    fn drop(&mut self) {
        for thread in &self.threads[..self.count] {
            // SAFETY: [layout] the first `count` threads were written.
            let thread = unsafe { thread.assume_init() };
            // SAFETY: [system] the thread was started and not waited for.
            unsafe { libc::pthread_join(thread, ptr::null_mut()) };
        }
    }
}

/// What all threads run.
struct Work<'a, F> {
    work: &'a F,
    has_panicked: AtomicBool,
}

extern "C" fn run<F: Fn() + Sync>(work: *mut c_void) -> *mut c_void {
    // SAFETY: [live] `beside` waits for this thread before its variable ends. [alias] all threads have shared references.
    let all = unsafe { &*work.cast_const().cast::<Work<'_, F>>() };
    if catch_unwind(AssertUnwindSafe(all.work)).is_err() {
        // Relaxed: waiting for the thread orders it.
        all.has_panicked.store(true, Ordering::Relaxed);
    }
    ptr::null_mut()
}

/// Starts at most `count` threads that run `work`, calls `meanwhile` with the number of threads that could be started, and waits for
/// the threads. `stack` is the size of their stacks in bytes.
///
/// # Panics
/// If `work` panics.
pub fn beside<F: Fn() + Sync>(count: usize, stack: usize, work: &F, meanwhile: impl FnOnce(usize)) {
    let work = Work { work, has_panicked: AtomicBool::new(false) };
    // The threads inherit the blocked signals. Otherwise they might run signal handlers that belong to the host's threads.
    let blocked = Blocked::new(Signals::all());
    let mut running = Running { threads: [const { MaybeUninit::uninit() }; MOST], count: 0 };
    let mut kind = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: [system] the call writes the local variable.
    if unsafe { libc::pthread_attr_init(kind.as_mut_ptr()) } == 0 {
        // A size that the system refuses leaves its own size, which works too.
        // SAFETY: [system] the variable was initialised.
        unsafe { libc::pthread_attr_setstacksize(kind.as_mut_ptr(), stack) };
        for thread in running.threads.iter_mut().take(count) {
            let argument = (&raw const work).cast_mut().cast();
            // SAFETY: [system] both variables live until the call returns. [live] the work lives until the thread has ended.
            if unsafe { libc::pthread_create(thread.as_mut_ptr(), kind.as_ptr(), run::<F>, argument) } != 0 {
                break;
            }
            running.count += 1;
        }
        // SAFETY: [system] the variable was initialised, and is not used any more.
        unsafe { libc::pthread_attr_destroy(kind.as_mut_ptr()) };
    }
    drop(blocked);
    meanwhile(running.count);
    drop(running);
    assert!(!work.has_panicked.load(Ordering::Relaxed), "a thread has panicked");
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::beside;

    #[test]
    fn all_threads_have_ended_afterwards() {
        let (ran, said) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            ran.fetch_add(1, Ordering::Relaxed);
        };
        beside(5, 1 << 17, &work, |started| said.store(started, Ordering::Relaxed));
        assert_eq!((ran.into_inner(), said.into_inner()), (5, 5));
    }

    #[test]
    fn a_panic_is_that_of_the_caller() {
        let work = || assert!(std::hint::black_box(false), "on purpose");
        assert!(catch_unwind(|| beside(2, 1 << 17, &work, |_| ())).is_err());
    }
}
