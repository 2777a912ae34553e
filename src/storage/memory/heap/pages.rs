//! Large blocks as pages of their own: zeroed by the system when they are touched, in huge pages where a block fills them, and
//! resized by remapping instead of copying.

use std::ptr::{self, NonNull};

use crate::system::page_size;

/// A huge page, on most systems. From here on blocks begin where one does, and ask for them: the first touch of 2 MiB took
/// 0.06 ms in a huge page and 0.93 ms in small ones (virtual machine, Linux 6.18).
pub const HUGE: usize = 2 << 20;

/// Blocks of this size and more have pages of their own. Below, the allocator is faster: it clears old memory in less time than
/// the system gives new.
pub const LARGE: usize = 512 << 10;

/// Lengths are multiples of this, which every page size divides; growing in small steps then seldom asks the system.
pub const GRANULE: usize = 64 << 10;

/// An anonymous private map: nobody else's, and one map to the system, so that it can be remapped.
///
/// ```text
/// below 2 MiB             |.......... 64 KiB granules ..........|
/// from 2 MiB on, aligned  |#### 2 MiB ####|#### 2 MiB ####|.....|    the rest huge as well if that adds at most an eighth
/// ```
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: [owned] an address and a length that have one owner; the system's calls on them work from every thread.
unsafe impl Send for Pages {}

impl Pages {
    /// At least `bytes` zero bytes; none if the system gives no map, of which it has a limited number.
    pub fn zeroed(bytes: usize) -> Option<Self> {
        let length = length_for(bytes)?;
        let pages = if length < HUGE { Self::anywhere(length)? } else { Self::aligned(length)? };
        pages.advise();
        Some(pages)
    }

    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// Has room for `bytes` bytes, and more if it grows. The common prefix stays, new pages are zero, cut ones are given
    /// back; nothing is copied. False if the system refused: nothing has changed then.
    pub fn resize(&mut self, bytes: usize) -> bool {
        let Some(length) = length_for(bytes) else { return false };
        if length <= self.length {
            return length == self.length || self.remap(length);
        }
        // What grows is going to grow again: room for it costs addresses, and nothing else while it is not touched.
        let resized = self.remap(length + length / 8 / GRANULE * GRANULE) || self.remap(length);
        if resized {
            self.advise();
        }
        resized
    }

    /// Whether the system holds a page for the byte at `offset`. It may say no to one that is swapped out.
    pub fn is_present(&self, offset: usize) -> bool {
        let page = page_size();
        let mut present = 0u8;
        let address = self.start().wrapping_add(offset / page * page).cast();
        // SAFETY: [in-bounds] the page lies in this map. [system] the answer for one page is one byte.
        unsafe { libc::mincore(address, page, &raw mut present) == 0 && present & 1 == 1 }
    }

    /// Gives the pages back and keeps the addresses: all bytes are zero. False if the system refused.
    pub fn clear(&mut self) -> bool {
        // SAFETY: [owned] the map is ours alone, and dropped private pages read as zero.
        unsafe { libc::madvise(self.start().cast(), self.length, libc::MADV_DONTNEED) == 0 }
    }

    /// A map where the system likes.
    fn anywhere(length: usize) -> Option<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: [system] the system chooses the address, so no other memory changes.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, kind, -1, 0) };
        if start == libc::MAP_FAILED { None } else { Some(Self { start: NonNull::new(start.cast())?, length }) }
    }

    /// A map that begins where a huge page does: newer systems put maps of whole huge pages there, from others we cut it.
    fn aligned(length: usize) -> Option<Self> {
        let mut pages = Self::anywhere(length.next_multiple_of(HUGE))?;
        if !pages.is_aligned() {
            drop(pages);
            pages = Self::anywhere(length.checked_add(HUGE)?)?;
            let surplus = pages.start().align_offset(HUGE);
            if surplus > 0 {
                let rest = Self { start: NonNull::new(pages.start().wrapping_add(surplus))?, length: pages.length - surplus };
                pages.length = surplus;
                // Given back.
                drop(std::mem::replace(&mut pages, rest));
            }
        }
        if length < pages.length {
            pages.resize_in_place(length);
        }
        Some(pages)
    }

    fn is_aligned(&self) -> bool {
        self.start.addr().get().is_multiple_of(HUGE)
    }

    /// Asks for huge pages. A system that has none declines, and the map is as good as it was.
    fn advise(&self) {
        if self.length >= HUGE {
            // SAFETY: [system] the map is ours; the advice changes no content.
            unsafe { libc::madvise(self.start().cast(), self.length, libc::MADV_HUGEPAGE) };
        }
    }

    fn remap(&mut self, length: usize) -> bool {
        if length < HUGE {
            return self.move_to(length, libc::MREMAP_MAYMOVE, ptr::null_mut());
        }
        if self.is_aligned() && self.resize_in_place(length) {
            return true;
        }
        let Some(target) = Self::aligned(length).filter(|target| target.length == length) else { return false };
        let moved = self.move_to(length, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, target.start());
        if moved {
            // This map has replaced it.
            std::mem::forget(target);
        }
        moved
    }

    fn resize_in_place(&mut self, length: usize) -> bool {
        self.move_to(length, 0, ptr::null_mut())
    }

    /// Remaps by the system's rules for `flags`; `target` is a map of ours that nobody has seen, or null.
    fn move_to(&mut self, length: usize, flags: libc::c_int, target: *mut u8) -> bool {
        // SAFETY: [owned] this map is ours alone, and so is what it replaces, if anything.
        let start = unsafe { libc::mremap(self.start().cast(), self.length, length, flags, target) };
        match NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED) {
            Some(start) => {
                (self.start, self.length) = (start, length);
                true
            }
            None => false,
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: [owned] the map is ours alone, and not used again.
        if unsafe { libc::munmap(self.start().cast(), self.length) } != 0 {
            // Cutting a map in two can be one too many: then at least the memory goes back.
            self.clear();
        }
    }
}

fn length_for(bytes: usize) -> Option<usize> {
    let granules = bytes.checked_next_multiple_of(GRANULE)?;
    let huge = bytes.checked_next_multiple_of(HUGE)?;
    isize::try_from(huge).ok()?;
    Some(if bytes >= HUGE && huge - bytes <= bytes / 8 { huge } else { granules })
}
