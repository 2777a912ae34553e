//! An allocator that counts, for each thread, how many bytes are allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// This is below 0 if a thread has freed memory that another one allocated.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(more: usize, less: usize) {
    let now = LIVE.get().wrapping_add_unsigned(more).wrapping_sub_unsigned(less);
    LIVE.set(now);
    PEAK.set(PEAK.get().max(now));
}

// SAFETY: [owned] every block comes from the system's allocator, and goes back to it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: [layout] [owned] the system's allocator has the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
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
        // Both blocks exist while the bytes are moved.
        count(size, 0);
        count(0, layout.size());
        // SAFETY: [layout] [owned] the system's allocator has the same contract.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The largest number of bytes that are allocated at one time while `act` runs.
pub fn peak(act: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    act();
    PEAK.get().abs_diff(before)
}
