//! Heap memory, which begins as zeros. Small blocks come from the allocator. Large blocks have pages of their own and grow without
//! copying.

// Miri does not know all system calls for pages, and finds more in memory of the allocator.
#[cfg(all(target_os = "linux", not(miri)))]
mod pages;
#[cfg(not(all(target_os = "linux", not(miri))))]
#[path = "heap/no_pages.rs"]
mod pages;
mod spares;
#[cfg(test)]
mod tests;

use std::alloc::{Layout, alloc_zeroed, dealloc, realloc};
use std::ptr;

use super::usage::HEAP;
use crate::budget::{self, AccountId, Charge, run_for};
use crate::error::Error;
use pages::{LARGE, Pages};
use spares::Spare;

/// The alignment that the allocator has anyway. With a larger one, `alloc_zeroed` would write to all pages.
const ALIGNMENT: usize = 16;

/// A block of heap memory, or no memory.
///
/// ```text
/// 0 ........ size ........ dirty ........ capacity ........ end of the block
///   elements      unknown                zero bytes
/// ```
///
/// The bytes from the size to `dirty` were used before, and are cleared when the block grows into them.
#[derive(Debug)]
pub struct Heap {
    bytes: Bytes,
    /// The number of bytes that were asked for. Pages may have more.
    capacity: usize,
    /// The bytes from this offset to the end of the block are known to be zero.
    dirty: usize,
    /// The number of bytes that `reserve` asked for. The capacity is never less.
    reserved: usize,
}

/// Where the bytes come from, and the account to which the capacity is charged.
#[derive(Debug)]
enum Bytes {
    /// A block of the allocator, with the layout of the capacity. It is null if there are no bytes.
    Allocated(*mut u8, AccountId),
    /// Pages from the system, and whether those of the bytes up to `dirty` are known to be in memory.
    Pages(Pages, bool, AccountId),
    /// The bytes behind the block of a storage, which are freed with the block. The second number says how many there are.
    Behind(*mut u8, u16, AccountId),
}

impl Bytes {
    fn account(&mut self) -> &mut AccountId {
        match self {
            Self::Allocated(_, account) | Self::Pages(_, _, account) | Self::Behind(_, _, account) => account,
        }
    }
}

impl Heap {
    /// The `bytes` zero bytes at `data` behind the block of a storage, all of them in use. They were charged by `charge`.
    #[inline]
    pub fn behind(data: *mut u8, bytes: u16, charge: Charge) -> Self {
        let capacity = bytes.into();
        HEAP.add(capacity);
        Self { bytes: Bytes::Behind(data, bytes, charge.keep()), capacity, dirty: capacity, reserved: 0 }
    }

    /// Makes a block of `bytes` zero bytes, all of them in use.
    #[inline]
    pub fn zeroed(bytes: usize) -> Result<Self, Error> {
        Self::with_capacity(bytes, bytes, 0)
    }

    /// Makes a block of at least `capacity` bytes. The first `bytes` of them are in use, and are zero. It never shrinks below
    /// `reserved` bytes.
    #[inline]
    pub fn with_capacity(bytes: usize, capacity: usize, reserved: usize) -> Result<Self, Error> {
        let mut heap = Self::block(capacity)?;
        heap.reserved = reserved;
        heap.take_into_use(0, bytes);
        Ok(heap)
    }

    /// Makes a block of `bytes` bytes, all of them in use. They are zero, or those of a spare block.
    pub fn unset(bytes: usize) -> Result<Self, Error> {
        let mut heap = Self::block(bytes)?;
        heap.mark_dirty(bytes);
        Ok(heap)
    }

    pub fn data(&self) -> *mut u8 {
        match &self.bytes {
            Bytes::Allocated(data, _) | Bytes::Behind(data, _, _) => *data,
            Bytes::Pages(pages, _, _) => pages.start(),
        }
    }

    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn reserved(&self) -> usize {
        self.reserved
    }

    /// Makes a block of at least `capacity` bytes, none of them in use.
    #[inline]
    fn block(capacity: usize) -> Result<Self, Error> {
        if capacity < LARGE { Self::allocated(capacity) } else { Self::large(capacity) }
    }

    /// Makes a block with pages of its own, or from the allocator if the system gives no pages.
    #[cold]
    fn large(capacity: usize) -> Result<Self, Error> {
        match Self::in_pages(capacity)? {
            Some(heap) => Ok(heap),
            None => Self::allocated(capacity),
        }
    }

    /// Makes a block with pages of its own. Returns `None` if the system refuses, for example because the process has too many
    /// maps.
    fn in_pages(capacity: usize) -> Result<Option<Self>, Error> {
        let charge = Charge::new(capacity)?;
        let fresh = || Pages::zeroed(capacity).map(|pages| Spare { pages, dirty: 0 });
        let spare = spares::take(capacity).or_else(fresh);
        let spare = spare.or_else(|| if spares::release_all() { fresh() } else { None });
        Ok(spare.map(|spare| Self::of_pages(spare, capacity, charge)))
    }

    /// Makes a block from a spare block whose pages are present, or returns `None` if there is none.
    fn in_touched_pages(capacity: usize) -> Result<Option<Self>, Error> {
        let charge = Charge::new(capacity)?;
        Ok(spares::take_touched(capacity).map(|spare| Self::of_pages(spare, capacity, charge)))
    }

    fn of_pages(Spare { pages, dirty }: Spare, capacity: usize, charge: Charge) -> Self {
        HEAP.add(capacity);
        // The dirty bytes of a spare block were in use, and its pages were there when it was given back.
        Self { bytes: Bytes::Pages(pages, dirty > 0, charge.keep()), capacity, dirty, reserved: 0 }
    }

    /// Makes a block from the allocator.
    #[inline]
    fn allocated(capacity: usize) -> Result<Self, Error> {
        let charge = Charge::new(capacity)?;
        let data = allocate(capacity)?;
        HEAP.add(capacity);
        Ok(Self { bytes: Bytes::Allocated(data, charge.keep()), capacity, dirty: 0, reserved: 0 })
    }

    /// Charges what this block takes when it has grown in place. The account of the running call pays for all of it, also if the block
    /// was made by the program or by another Lua state.
    fn charge_growth(&mut self, capacity: usize) -> Result<Charge, Error> {
        let is_own = *self.bytes.account() == budget::running();
        Ok(Charge::new(if is_own { capacity - self.capacity } else { capacity })?)
    }

    /// Changes the number of bytes in use from `old` to `new`. New bytes are zero. Nothing changes if there is an error.
    pub fn resize(&mut self, old: usize, new: usize) -> Result<(), Error> {
        self.set_capacity(old.min(new), new.max(self.reserved))?;
        self.take_into_use(old, new);
        Ok(())
    }

    /// Takes the bytes from offset `old` to offset `new` into use, and clears those that may not be zero. `new` is at most the
    /// capacity.
    #[inline]
    fn take_into_use(&mut self, old: usize, new: usize) {
        let unknown = new.min(self.dirty).saturating_sub(old);
        if unknown > 0 {
            // SAFETY: [in-bounds] `old + unknown` is at most `new`, and callers have made the capacity at least `new`.
            unsafe { ptr::write_bytes(self.data().wrapping_add(old), 0, unknown) };
        }
        self.mark_dirty(new);
    }

    /// Records that the bytes up to `end` may be changed from now on. Nobody knows which of the new ones will be.
    #[inline]
    fn mark_dirty(&mut self, end: usize) {
        if end > self.dirty {
            self.dirty = end;
            if let Bytes::Pages(_, are_present, _) = &mut self.bytes {
                *are_present = false;
            }
        }
    }

    /// Keeps a capacity of at least `reserved` bytes from now on. `used` bytes are in use.
    pub fn reserve(&mut self, used: usize, reserved: usize) -> Result<(), Error> {
        self.set_capacity(used, used.max(reserved))?;
        self.reserved = reserved;
        Ok(())
    }

    /// Changes the capacity and keeps the first `keep` bytes. The block stays where it is if possible. Nothing changes if there
    /// is an error.
    fn set_capacity(&mut self, keep: usize, capacity: usize) -> Result<(), Error> {
        if capacity == self.capacity {
            return Ok(());
        }
        let grows = capacity > self.capacity;
        let grows_fast = capacity / 2 >= self.capacity;
        // Another block that the bytes move to is charged when it is made.
        let mut charge = if grows { self.charge_growth(capacity).map(Some) } else { Ok(None) };
        match &mut self.bytes {
            Bytes::Pages(pages, ..) if grows && capacity <= pages.length() => charge = Ok(charge?),
            Bytes::Behind(_, room, _) if capacity > 0 && capacity <= usize::from(*room) => charge = Ok(charge?),
            Bytes::Behind(..) => {
                drop(charge);
                self.move_to(Self::with_capacity(0, capacity, 0)?, keep);
                return Ok(());
            }
            Bytes::Pages(_, _, account) if capacity < LARGE => {
                // This shrinks, so it is allowed also where more than the limit is in use.
                let mut target = {
                    let _nobody = run_for(AccountId::NONE);
                    Self::allocated(capacity)?
                };
                *target.bytes.account() = std::mem::replace(account, AccountId::NONE);
                target.bytes.account().discharge(self.capacity - capacity);
                self.move_to(target, keep);
                return Ok(());
            }
            Bytes::Pages(pages, ..) => {
                if let Some(target) = grows_fast.then(|| Self::in_touched_pages(capacity).ok().flatten()).flatten() {
                    self.move_to(target, keep);
                    return Ok(());
                }
                charge = Ok(charge?);
                if !pages.resize(capacity) {
                    if grows {
                        drop(charge);
                        self.move_to(Self::large(capacity)?, keep);
                    }
                    // If the block cannot shrink, it stays as it is, which is large enough.
                    return Ok(());
                }
                // Pages that were cut off are zero when the block grows again.
                self.dirty = self.dirty.min(pages.length());
            }
            Bytes::Allocated(data, _) => {
                let target = || match Self::in_touched_pages(capacity)? {
                    None => Self::in_pages(capacity),
                    found => Ok(found),
                };
                if let Some(target) = (capacity >= LARGE).then(target).and_then(Result::ok).flatten() {
                    self.move_to(target, keep);
                    return Ok(());
                }
                if capacity == 0 || data.is_null() {
                    drop(charge);
                    self.move_to(Self::allocated(capacity)?, keep);
                    return Ok(());
                }
                charge = Ok(charge?);
                // SAFETY: [owned] the block came from this allocator. [layout] it has the layout of its capacity; the new size is
                // not 0.
                let moved = unsafe { realloc(*data, layout(self.capacity)?, layout(capacity)?.size()) };
                if moved.is_null() {
                    // If the block cannot shrink, it stays as it is, which is large enough.
                    return if grows { Err(Error::OutOfMemory { bytes: capacity }) } else { Ok(()) };
                }
                *data = moved;
                self.dirty = if grows { capacity } else { self.dirty.min(capacity) };
            }
        }
        HEAP.add(capacity);
        HEAP.subtract(self.capacity);
        let account = self.bytes.account();
        match charge?.map(Charge::keep) {
            Some(new) if new == *account => {}
            Some(new) => std::mem::replace(account, new).discharge(self.capacity),
            None => account.discharge(self.capacity - capacity),
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Moves the first `keep` bytes to another block, and gives the old block back.
    fn move_to(&mut self, mut target: Self, keep: usize) {
        if keep > 0 {
            // SAFETY: [in-bounds] `keep` bytes are in use in the old block and fit in the new one. [owned] two blocks do not
            // overlap.
            unsafe { ptr::copy_nonoverlapping(self.data(), target.data(), keep) };
        }
        target.mark_dirty(keep);
        target.reserved = self.reserved;
        *self = target;
    }

    /// Gives the pages to the spare blocks, which keep them or give them back to the system.
    #[cold]
    fn keep_pages_as_spare(&mut self) {
        let none = Bytes::Allocated(ptr::null_mut(), AccountId::NONE);
        if let Bytes::Pages(pages, are_present, _) = std::mem::replace(&mut self.bytes, none) {
            spares::keep(pages, self.dirty, are_present);
        }
    }
}

impl Drop for Heap {
    #[inline]
    fn drop(&mut self) {
        HEAP.subtract(self.capacity);
        self.bytes.account().discharge(self.capacity);
        match self.bytes {
            Bytes::Behind(..) => {}
            Bytes::Pages(..) => self.keep_pages_as_spare(),
            Bytes::Allocated(data, _) => {
                if let (false, Ok(layout)) = (data.is_null(), layout(self.capacity)) {
                    // SAFETY: [owned] the block came from this allocator, and nothing uses it any more. [layout] it has this
                    // layout.
                    unsafe { dealloc(data, layout) };
                }
            }
        }
    }
}

fn layout(bytes: usize) -> Result<Layout, Error> {
    Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| Error::OutOfMemory { bytes })
}

/// Allocates zeroed memory. If there is none, it tries again after the spare blocks were given back.
#[inline]
fn allocate(bytes: usize) -> Result<*mut u8, Error> {
    if bytes == 0 {
        return Ok(ptr::null_mut());
    }
    let layout = layout(bytes)?;
    // SAFETY: [layout] the size of the layout is not 0.
    let attempt = || unsafe { alloc_zeroed(layout) };
    let mut data = attempt();
    if data.is_null() && spares::release_all() {
        data = attempt();
    }
    if data.is_null() { Err(Error::OutOfMemory { bytes }) } else { Ok(data) }
}
