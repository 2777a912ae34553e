//! An allocator that counts, for each thread, how many bytes are allocated, and that fails on request.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// This is below 0 if a thread has freed memory that another one allocated.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    /// The number of allocations that still succeed; `None` if all do.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether all allocations fail after the first that does.
    static LASTING: Cell<bool> = const { Cell::new(false) };
    /// How many allocations have failed.
    static FAILED: Cell<usize> = const { Cell::new(0) };
}

/// Whether this allocation fails.
fn fails() -> bool {
    match LEFT.get() {
        None => false,
        Some(0) => {
            FAILED.set(FAILED.get() + 1);
            if !LASTING.get() {
                LEFT.set(None);
            }
            true
        }
        Some(left) => {
            LEFT.set(Some(left - 1));
            false
        }
    }
}

fn count(more: usize, less: usize) {
    let now = LIVE.get().wrapping_add_unsigned(more).wrapping_sub_unsigned(less);
    LIVE.set(now);
    PEAK.set(PEAK.get().max(now));
}

// SAFETY: [owned] every block comes from the system's allocator, and goes back to it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        count(layout.size(), 0);
        // SAFETY: [layout] [owned] the system's allocator has the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        count(layout.size(), 0);
        // SAFETY: [layout] [owned] the system's allocator has the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: [layout] [owned] the system's allocator has the same contract.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        // Both blocks exist while the bytes are moved.
        count(size, 0);
        count(0, layout.size());
        // SAFETY: [layout] [owned] the system's allocator has the same contract.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[allow(dead_code, reason = "not every test program with this allocator asks for it")]
/// The largest number of bytes that are allocated at one time while `act` runs.
pub fn peak(act: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    act();
    PEAK.get().abs_diff(before)
}

/// From now on allocation number `number`, from 0, of this thread fails; and with `lasting`, all that follow.
#[allow(dead_code, reason = "not every test program with this allocator lets it fail")]
pub fn fail_at(number: usize, lasting: bool) {
    LASTING.set(lasting);
    FAILED.set(0);
    LEFT.set(Some(number));
}

/// From now on all allocations succeed. Returns how many have failed.
#[allow(dead_code, reason = "not every test program with this allocator lets it fail")]
pub fn succeed() -> usize {
    LEFT.set(None);
    FAILED.get()
}

/// Runs `act`, in which no allocation fails: it is not what is tested.
#[allow(dead_code, reason = "not every test program with this allocator lets it fail")]
pub fn untested<R>(act: impl FnOnce() -> R) -> R {
    let left = LEFT.take();
    let result = act();
    LEFT.set(left);
    result
}

/// The number of bytes that are allocated now.
#[allow(dead_code, reason = "not every test program with this allocator needs it")]
pub fn live() -> isize {
    LIVE.get()
}
