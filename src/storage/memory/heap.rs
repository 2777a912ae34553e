//! Heap memory: zeroed, growing in place where the allocator can.

use std::alloc::{Layout, alloc_zeroed, dealloc, realloc};
use std::ptr;

use super::HEAP;
use crate::error::Error;

/// What the allocator aligns to anyway: with more, zeroed memory would be touched page by page.
const ALIGNMENT: usize = 16;

/// From here on, growing to twice the size or more goes to fresh zero pages instead of `realloc` and clearing: the system
/// gives such pages lazily.
const LAZY: usize = 128 * 1024;

/// A block of the allocator, or none.
///
/// ```text
/// 0 ........ size ........ dirty ........ capacity
///   elements      unknown        zero bytes
/// ```
#[derive(Debug)]
pub struct Heap {
    data: *mut u8,
    capacity: usize,
    /// Bytes from here to the capacity are known to be zero.
    dirty: usize,
    /// What `reserve` asked for: the capacity does not go below it.
    reserved: usize,
}

impl Heap {
    /// No memory.
    pub const fn none() -> Self {
        Self { data: ptr::null_mut(), capacity: 0, dirty: 0, reserved: 0 }
    }

    /// `bytes` zero bytes, all of them taken as in use.
    #[inline]
    pub fn zeroed(bytes: usize) -> Result<Self, Error> {
        Self::with_capacity(bytes, bytes, 0)
    }

    /// Zeroed memory for `bytes` bytes in use and at least `reserved` bytes in all.
    #[inline]
    pub fn with_capacity(bytes: usize, capacity: usize, reserved: usize) -> Result<Self, Error> {
        let data = allocate_zeroed(capacity)?;
        HEAP.add(capacity);
        Ok(Self { data, capacity, dirty: bytes, reserved })
    }

    pub fn data(&self) -> *mut u8 {
        self.data
    }

    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn reserved(&self) -> usize {
        self.reserved
    }

    /// Changes the bytes in use from `old` to `new`; new ones are zero. On failure nothing has changed.
    pub fn resize(&mut self, old: usize, new: usize) -> Result<(), Error> {
        self.set_capacity(old.min(new), new.max(self.reserved))?;
        if new > old {
            let unknown = new.min(self.dirty).saturating_sub(old);
            if unknown > 0 {
                // SAFETY: `old + unknown` is at most `new`, which is at most the capacity: the block is writable there.
                unsafe { ptr::write_bytes(self.data.wrapping_add(old), 0, unknown) };
            }
            self.dirty = self.dirty.max(new);
        }
        Ok(())
    }

    /// Holds at least `reserved` bytes from now on; `used` bytes are in use.
    pub fn reserve(&mut self, used: usize, reserved: usize) -> Result<(), Error> {
        self.set_capacity(used, used.max(reserved))?;
        self.reserved = reserved;
        Ok(())
    }

    /// Moves to a block of `capacity` bytes, keeping the first `keep`. On failure nothing has changed.
    fn set_capacity(&mut self, keep: usize, capacity: usize) -> Result<(), Error> {
        if capacity == self.capacity {
            return Ok(());
        }
        if capacity == 0 || self.capacity == 0 || (capacity >= LAZY && capacity / 2 >= self.capacity) {
            let data = allocate_zeroed(capacity)?;
            if keep > 0 {
                // SAFETY: `keep` bytes are in use in the old block and fit the new one; two blocks do not overlap.
                unsafe { ptr::copy_nonoverlapping(self.data, data, keep) };
            }
            self.free();
            self.data = data;
            self.dirty = keep;
        } else {
            // SAFETY: the block came from this allocator with this layout; the new size is not 0 and its layout was checked.
            let data = unsafe { realloc(self.data, layout(self.capacity)?, layout(capacity)?.size()) };
            if data.is_null() {
                // A block that would not shrink is still a block of the right content.
                return if capacity < self.capacity { Ok(()) } else { Err(Error::OutOfMemory { bytes: capacity }) };
            }
            self.data = data;
            self.dirty = if capacity > self.capacity { capacity } else { self.dirty.min(capacity) };
        }
        HEAP.add(capacity);
        HEAP.subtract(self.capacity);
        self.capacity = capacity;
        Ok(())
    }

    fn free(&mut self) {
        if let (false, Ok(layout)) = (self.data.is_null(), layout(self.capacity)) {
            // SAFETY: the block came from this allocator with this layout, and the pointer is not used again.
            unsafe { dealloc(self.data, layout) };
        }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.free();
        HEAP.subtract(self.capacity);
    }
}

fn layout(bytes: usize) -> Result<Layout, Error> {
    Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| Error::OutOfMemory { bytes })
}

fn allocate_zeroed(bytes: usize) -> Result<*mut u8, Error> {
    if bytes == 0 {
        return Ok(ptr::null_mut());
    }
    // SAFETY: the layout's size is not 0.
    let data = unsafe { alloc_zeroed(layout(bytes)?) };
    if data.is_null() { Err(Error::OutOfMemory { bytes }) } else { Ok(data) }
}

#[cfg(test)]
mod tests {
    use super::Heap;
    use proptest::prelude::{Strategy, prop_oneof, proptest};

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Resize(usize),
        Reserve(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let bytes = || prop_oneof![0usize..64, 0usize..300_000];
        proptest::collection::vec(prop_oneof![bytes().prop_map(Step::Resize), bytes().prop_map(Step::Reserve)], 1..12)
    }

    proptest! {
        /// Against a plain vector: the common prefix stays, new bytes are zero, reserved capacity does not move.
        #[test]
        fn resizing_keeps_the_prefix_and_clears_the_rest(steps in steps()) {
            let mut model: Vec<u8> = Vec::new();
            let mut heap = Heap::zeroed(0).unwrap_or_else(|_| unreachable!());
            for step in steps {
                let (before, reserved) = (heap.data(), heap.reserved());
                match step {
                    Step::Resize(bytes) => {
                        assert!(heap.resize(model.len(), bytes).is_ok());
                        if model.len().max(bytes) <= reserved {
                            assert_eq!(heap.data(), before);
                        }
                        model.resize(bytes, 0);
                    }
                    Step::Reserve(bytes) => assert!(heap.reserve(model.len(), bytes).is_ok()),
                }
                for (place, byte) in model.iter_mut().enumerate() {
                    // SAFETY: `place` is below the bytes in use.
                    assert_eq!(unsafe { heap.data().wrapping_add(place).read() }, *byte);
                    *byte = 0xa5;
                    // SAFETY: as above.
                    unsafe { heap.data().wrapping_add(place).write(*byte) };
                }
            }
        }
    }

    #[test]
    fn a_growth_that_fails_leaves_the_block_as_it_was() {
        let mut heap = Heap::zeroed(8).unwrap_or_else(|_| unreachable!());
        // SAFETY: eight bytes are in use.
        unsafe { heap.data().write(7) };
        assert!(heap.resize(8, 1 << 60).is_err());
        assert_eq!(heap.capacity(), 8);
        // SAFETY: eight bytes are in use.
        assert_eq!(unsafe { heap.data().read() }, 7);
    }
}
