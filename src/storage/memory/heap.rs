//! Heap memory: zeroed, small blocks from the allocator, large ones in pages of their own that grow without copying.

#[cfg(target_os = "linux")]
mod pages;
#[cfg(not(target_os = "linux"))]
#[path = "heap/no_pages.rs"]
mod pages;
mod spares;

use std::alloc::{Layout, alloc_zeroed, dealloc, realloc};
use std::ptr;

use super::usage::HEAP;
use crate::error::Error;
use pages::{LARGE, Pages};
use spares::Spare;

/// What the allocator aligns to anyway: with more, zeroed memory would be touched page by page.
const ALIGNMENT: usize = 16;

/// A block that grows to this size and at least twice its own gets pages of its own, as it is going to grow further; it keeps
/// them if it shrinks down to this size.
const GROWING: usize = 128 << 10;

/// Zeroed memory, or none.
///
/// ```text
/// 0 ........ size ........ dirty ........ capacity ........ end of the block
///   elements      unknown                zero bytes
/// ```
#[derive(Debug)]
pub struct Heap {
    bytes: Bytes,
    /// What is asked for, in bytes; pages may be more.
    capacity: usize,
    /// Bytes from here to the end of the block are known to be zero.
    dirty: usize,
    /// What `reserve` asked for: the capacity does not go below it.
    reserved: usize,
}

/// Where the bytes come from.
#[derive(Debug)]
enum Bytes {
    /// The allocator, in the layout of the capacity; null for no bytes.
    Allocated(*mut u8),
    /// The system.
    Pages(Pages),
}

impl Heap {
    /// No memory.
    pub const fn none() -> Self {
        Self { bytes: Bytes::Allocated(ptr::null_mut()), capacity: 0, dirty: 0, reserved: 0 }
    }

    /// `bytes` zero bytes, all of them taken as in use.
    #[inline]
    pub fn zeroed(bytes: usize) -> Result<Self, Error> {
        Self::with_capacity(bytes, bytes, 0)
    }

    /// Zeroed memory for `bytes` bytes in use and at least `reserved` bytes in all.
    #[inline]
    pub fn with_capacity(bytes: usize, capacity: usize, reserved: usize) -> Result<Self, Error> {
        let mut heap = if capacity < LARGE { Self::allocated(capacity)? } else { Self::large(capacity)? };
        heap.reserved = reserved;
        heap.take_into_use(0, bytes);
        Ok(heap)
    }

    pub fn data(&self) -> *mut u8 {
        match &self.bytes {
            Bytes::Allocated(data) => *data,
            Bytes::Pages(pages) => pages.start(),
        }
    }

    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn reserved(&self) -> usize {
        self.reserved
    }

    /// Memory of this capacity in pages of its own if the system gives them.
    #[cold]
    fn large(capacity: usize) -> Result<Self, Error> {
        match Self::in_pages(capacity) {
            Some(heap) => Ok(heap),
            None => Self::allocated(capacity),
        }
    }

    /// Memory of this capacity in pages of its own; the system may have no more maps for this process.
    fn in_pages(capacity: usize) -> Option<Self> {
        let fresh = || Pages::zeroed(capacity).map(|pages| Spare { pages, dirty: 0 });
        let spare = spares::take(capacity).or_else(fresh);
        spare.or_else(|| if spares::release_all() { fresh() } else { None }).map(|spare| Self::of_pages(spare, capacity))
    }

    /// Memory of this capacity, to be filled: pages that are there.
    fn in_touched_pages(capacity: usize) -> Option<Self> {
        spares::take_touched(capacity).map(|spare| Self::of_pages(spare, capacity))
    }

    fn of_pages(Spare { pages, dirty }: Spare, capacity: usize) -> Self {
        HEAP.add(capacity);
        Self { bytes: Bytes::Pages(pages), capacity, dirty, reserved: 0 }
    }

    /// Memory of this capacity from the allocator.
    #[inline]
    fn allocated(capacity: usize) -> Result<Self, Error> {
        let data = allocate(capacity)?;
        HEAP.add(capacity);
        Ok(Self { bytes: Bytes::Allocated(data), capacity, dirty: 0, reserved: 0 })
    }

    /// Changes the bytes in use from `old` to `new`; new ones are zero. On failure nothing has changed.
    pub fn resize(&mut self, old: usize, new: usize) -> Result<(), Error> {
        self.set_capacity(old.min(new), new.max(self.reserved))?;
        self.take_into_use(old, new);
        Ok(())
    }

    /// The bytes from `old` to `new`, which is at most the capacity, are zero, and in use from now on.
    #[inline]
    fn take_into_use(&mut self, old: usize, new: usize) {
        let unknown = new.min(self.dirty).saturating_sub(old);
        if unknown > 0 {
            // SAFETY: [in-bounds] `old + unknown` is at most `new`, which is at most the capacity.
            unsafe { ptr::write_bytes(self.data().wrapping_add(old), 0, unknown) };
        }
        self.dirty = self.dirty.max(new);
    }

    /// Holds at least `reserved` bytes from now on; `used` bytes are in use.
    pub fn reserve(&mut self, used: usize, reserved: usize) -> Result<(), Error> {
        self.set_capacity(used, used.max(reserved))?;
        self.reserved = reserved;
        Ok(())
    }

    /// Changes the capacity, keeping the first `keep` bytes: in the same block if that can be. On failure nothing has changed.
    fn set_capacity(&mut self, keep: usize, capacity: usize) -> Result<(), Error> {
        if capacity == self.capacity {
            return Ok(());
        }
        let grows = capacity > self.capacity;
        let grows_fast = capacity >= GROWING && capacity / 2 >= self.capacity;
        match &mut self.bytes {
            Bytes::Pages(pages) if grows && capacity <= pages.length() => {}
            Bytes::Pages(_) if capacity < GROWING => {
                self.move_to(Self::allocated(capacity)?, keep);
                return Ok(());
            }
            Bytes::Pages(pages) => {
                if let Some(target) = grows_fast.then(|| Self::in_touched_pages(capacity)).flatten() {
                    self.move_to(target, keep);
                    return Ok(());
                }
                if !pages.resize(capacity) {
                    if grows {
                        self.move_to(Self::large(capacity)?, keep);
                    }
                    // A block that would not shrink is still a block of the right content.
                    return Ok(());
                }
                // What was cut off, and grows again, is zero.
                self.dirty = self.dirty.min(pages.length());
            }
            Bytes::Allocated(data) => {
                let pages = capacity >= LARGE || (grows_fast && !data.is_null());
                let target = || Self::in_touched_pages(capacity).or_else(|| Self::in_pages(capacity));
                if let Some(target) = pages.then(target).flatten() {
                    self.move_to(target, keep);
                    return Ok(());
                }
                if capacity == 0 || data.is_null() {
                    self.move_to(Self::allocated(capacity)?, keep);
                    return Ok(());
                }
                // SAFETY: [owned] the block came from this allocator. [layout] it has this layout; the new size is checked, and
                // not 0.
                let moved = unsafe { realloc(*data, layout(self.capacity)?, layout(capacity)?.size()) };
                if moved.is_null() {
                    // A block that would not shrink is still a block of the right content.
                    return if grows { Err(Error::OutOfMemory { bytes: capacity }) } else { Ok(()) };
                }
                *data = moved;
                self.dirty = if grows { capacity } else { self.dirty.min(capacity) };
            }
        }
        HEAP.add(capacity);
        HEAP.subtract(self.capacity);
        self.capacity = capacity;
        Ok(())
    }

    /// Moves to another block, keeping the first `keep` bytes.
    fn move_to(&mut self, mut target: Self, keep: usize) {
        if keep > 0 {
            // SAFETY: [in-bounds] `keep` bytes are in use in the old block and fit the new one. [owned] two blocks do not
            // overlap.
            unsafe { ptr::copy_nonoverlapping(self.data(), target.data(), keep) };
        }
        target.dirty = target.dirty.max(keep);
        target.reserved = self.reserved;
        *self = target;
    }

    /// Gives the pages away, for another heap or back.
    #[cold]
    fn keep_pages_as_spare(&mut self) {
        if let Bytes::Pages(pages) = std::mem::replace(&mut self.bytes, Bytes::Allocated(ptr::null_mut())) {
            spares::keep(pages, self.dirty);
        }
    }
}

impl Drop for Heap {
    #[inline]
    fn drop(&mut self) {
        HEAP.subtract(self.capacity);
        match self.bytes {
            Bytes::Pages(_) => self.keep_pages_as_spare(),
            Bytes::Allocated(data) => {
                if let (false, Ok(layout)) = (data.is_null(), layout(self.capacity)) {
                    // SAFETY: [owned] the block came from this allocator, and this is its end. [layout] it has this layout.
                    unsafe { dealloc(data, layout) };
                }
            }
        }
    }
}

fn layout(bytes: usize) -> Result<Layout, Error> {
    Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| Error::OutOfMemory { bytes })
}

/// Zeroed memory of the allocator.
#[inline]
fn allocate(bytes: usize) -> Result<*mut u8, Error> {
    if bytes == 0 {
        return Ok(ptr::null_mut());
    }
    let layout = layout(bytes)?;
    // SAFETY: [layout] its size is not 0.
    let try_to = || unsafe { alloc_zeroed(layout) };
    let mut data = try_to();
    if data.is_null() && spares::release_all() {
        data = try_to();
    }
    if data.is_null() { Err(Error::OutOfMemory { bytes }) } else { Ok(data) }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Heap, spares};
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
    use proptest::sample::Index;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Resize(usize),
        Reserve(usize),
        /// Some of the bytes: memory is given back untouched, touched at one end, in the middle and all over.
        Fill(Index, Index),
        /// Gives the memory back and begins with this much of new, which may be the old.
        Renew(usize),
        /// Looks at all bytes, which the system takes for touching them.
        Look,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // On both sides of what makes the heap do things in another way, and far from it.
        let near = |bytes: usize| bytes - 70_000..bytes + 70_000;
        let bytes = move || prop_oneof![4 => 0usize..64, 4 => near(128 << 10), 4 => near(512 << 10), 2 => near(2 << 20), 1 => 0usize..5 << 20];
        let step = prop_oneof![
            4 => bytes().prop_map(Step::Resize),
            2 => bytes().prop_map(Step::Reserve),
            4 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Step::Fill(from, to)),
            2 => bytes().prop_map(Step::Renew),
            2 => Just(Step::Look),
        ];
        proptest::collection::vec(step, 1..16)
    }

    fn bytes_of(heap: &Heap, bytes: usize) -> Vec<u8> {
        let mut copy = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: [in-bounds] as many bytes are in use, and the vector has room for them.
            unsafe { std::ptr::copy_nonoverlapping(heap.data().cast_const(), copy.as_mut_ptr(), bytes) };
        }
        copy
    }

    fn heap(bytes: usize) -> Heap {
        Heap::zeroed(bytes).unwrap_or_else(|_| unreachable!())
    }

    proptest! {
        /// Against a plain vector: the common prefix stays, new bytes are zero, reserved capacity does not move.
        #[test]
        fn resizing_keeps_the_prefix_and_clears_the_rest(steps in steps()) {
            let mut model: Vec<u8> = Vec::new();
            let mut heap = heap(0);
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
                    Step::Fill(from, to) => {
                        let ends = [from.index(model.len() + 1), to.index(model.len() + 1)];
                        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                        model[from..to].fill(0xa5);
                        if to > from {
                            // SAFETY: [in-bounds] `to` is at most the bytes in use.
                            unsafe { heap.data().wrapping_add(from).write_bytes(0xa5, to - from) };
                        }
                    }
                    Step::Renew(bytes) => {
                        drop(heap);
                        heap = self::heap(bytes);
                        model = vec![0; bytes];
                    }
                    Step::Look => assert!(bytes_of(&heap, model.len()) == model),
                }
                assert_eq!(heap.capacity(), model.len().max(heap.reserved()));
            }
            assert!(bytes_of(&heap, model.len()) == model);
        }
    }

    #[test]
    fn a_growth_that_fails_leaves_the_block_as_it_was() {
        for bytes in [8, 1 << 20, 3 << 20] {
            let mut heap = heap(bytes);
            // SAFETY: [in-bounds] eight bytes are in use.
            unsafe { heap.data().write(7) };
            assert!(heap.resize(bytes, 1 << 60).is_err());
            assert_eq!(heap.capacity(), bytes);
            // SAFETY: [in-bounds] eight bytes are in use.
            assert_eq!(unsafe { heap.data().read() }, 7);
        }
    }

    #[test]
    fn what_is_cut_off_and_grown_again_within_reserved_memory_is_zero() {
        for (bytes, reserved) in [(100, 1000), (100_000, 1 << 20), (600_000, 3 << 20)] {
            let mut heap = heap(bytes);
            // SAFETY: [in-bounds] as many bytes are in use.
            unsafe { heap.data().write_bytes(7, bytes) };
            assert!(heap.reserve(bytes, reserved).is_ok());
            assert!(heap.resize(bytes, bytes / 2).is_ok());
            assert!(heap.resize(bytes / 2, bytes).is_ok());
            assert!(bytes_of(&heap, bytes)[bytes / 2..].iter().all(|&byte| byte == 0), "{bytes} bytes of {reserved}");
        }
    }

    #[test]
    fn what_was_in_a_block_is_not_in_the_next_one() {
        const BYTES: usize = 1 << 20;
        for touched in [&[][..], &[0], &[BYTES / 2], &[BYTES - 1], &[0, BYTES - 1], &[0, BYTES / 2, BYTES - 1]] {
            spares::release_all();
            let old = heap(BYTES);
            for &offset in touched {
                // SAFETY: [in-bounds] the offset is below the length of the block.
                unsafe { old.data().wrapping_add(offset).write(7) };
            }
            drop(old);
            for bytes in [BYTES, BYTES - 1000, BYTES] {
                assert!(bytes_of(&heap(bytes), bytes).iter().all(|&byte| byte == 0), "{bytes} bytes after {touched:?}");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_block_keeps_its_pages_while_it_shrinks_a_little() {
        let mut heap = heap(600 << 10);
        for (bytes, pages) in [(200 << 10, true), (600 << 10, true), (100 << 10, false), (500 << 10, true), (0, false)] {
            assert!(heap.resize(0, bytes).is_ok());
            assert_eq!(matches!(heap.bytes, Bytes::Pages(_)), pages, "{bytes} bytes");
        }
    }
}
