//! Large blocks that have pages of their own. The system zeroes a page when it is first touched. Blocks that fill huge pages use
//! them, and a block is resized by remapping its pages instead of copying.

use std::ptr::{self, NonNull};

use crate::system;

/// Blocks of this number of bytes or more begin at a multiple of it, and ask the system for huge pages. The first touch of 2 MiB
/// took 0.06 ms in a huge page and 0.93 ms in small pages (virtual machine, Linux 6.18).
pub const HUGE: usize = system::HUGE_PAGE;

/// The size in bytes from which on blocks have pages of their own. For smaller blocks the allocator is faster, because it finds
/// memory that was used before. From this size on, glibc may get new memory from the system each time.
pub const LARGE: usize = 64 << 10;

/// The lengths of blocks are multiples of this number of bytes, which is a multiple of every page size. So a block that grows in
/// small steps seldom needs a system call.
pub const GRANULE: usize = 64 << 10;

/// An anonymous private map. The system sees it as one map, so that it can be remapped.
///
/// ```text
/// below 2 MiB             |.......... 64 KiB granules ..........|
/// from 2 MiB on, aligned  |#### 2 MiB ####|#### 2 MiB ####|.....|    the rest is a huge page too if that adds at most an eighth
/// ```
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: [owned] the value owns its map, and the system calls that use it work from every thread.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps at least `bytes` zero bytes. Returns `None` if the system refuses, for example because the process has too many maps.
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

    /// Changes the length to at least `bytes` bytes. A block that grows gets additional room. The bytes that are in both lengths
    /// are kept without copying, new pages are zero, and pages beyond the new length are given back. Returns false, and changes
    /// nothing, if the system refuses.
    pub fn resize(&mut self, bytes: usize) -> bool {
        let Some(length) = length_for(bytes) else { return false };
        if length <= self.length {
            return length == self.length || self.remap(length);
        }
        // A block that grows is likely to grow again. Additional room costs only addresses as long as it is not touched.
        let resized = self.remap(length + length / 8 / GRANULE * GRANULE) || self.remap(length);
        if resized {
            self.advise();
        }
        resized
    }

    /// Whether the page of the byte at `offset` is in memory. It may be false for a page that is swapped out.
    pub fn is_present(&self, offset: usize) -> bool {
        system::is_present(self.start().wrapping_add(offset))
    }

    /// Gives the pages back and keeps the addresses. All bytes are zero then. Returns false if the system refuses.
    pub fn clear(&mut self) -> bool {
        // SAFETY: [owned] this value owns the map. The bytes become zero, which are valid elements.
        unsafe { libc::madvise(self.start().cast(), self.length, libc::MADV_DONTNEED) == 0 }
    }

    /// Makes a map at an address that the system chooses.
    fn anywhere(length: usize) -> Option<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: [system] the system chooses the address, so no other memory changes.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, kind, -1, 0) };
        if start == libc::MAP_FAILED { None } else { Some(Self { start: NonNull::new(start.cast())?, length }) }
    }

    /// Makes a map that begins at a multiple of the size of a huge page. Newer systems place a map of whole huge pages there by
    /// themselves. On other systems this function makes a larger map and gives the surplus at its beginning back.
    fn aligned(length: usize) -> Option<Self> {
        let mut pages = Self::anywhere(length.next_multiple_of(HUGE))?;
        if !pages.is_aligned() {
            drop(pages);
            pages = Self::anywhere(length.checked_add(HUGE)?)?;
            let surplus = pages.start().align_offset(HUGE);
            if surplus > 0 {
                let rest = Self { start: NonNull::new(pages.start().wrapping_add(surplus))?, length: pages.length - surplus };
                pages.length = surplus;
                // Unmaps the surplus.
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

    /// Asks for huge pages. If the system has none, nothing changes.
    fn advise(&self) {
        if self.length >= HUGE {
            system::advise_huge_pages(self.start(), self.length);
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
            // The kernel has replaced the target by this map, so the target must not be unmapped.
            std::mem::forget(target);
        }
        moved
    }

    fn resize_in_place(&mut self, length: usize) -> bool {
        self.move_to(length, 0, ptr::null_mut())
    }

    /// Calls `mremap` with these flags. `target` is null, or a map that the caller owns and has not used yet. Returns false, and
    /// changes nothing, if the system refuses.
    fn move_to(&mut self, length: usize, flags: libc::c_int, target: *mut u8) -> bool {
        // SAFETY: [owned] this value owns its map, and the caller owns the target, which the map replaces.
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
        // SAFETY: [owned] this value owns the map, and nothing uses it any more.
        if unsafe { libc::munmap(self.start().cast(), self.length) } != 0 {
            // Unmapping can split a map in two, and fails if the process has too many maps. Then at least the memory is given
            // back.
            self.clear();
        }
    }
}

/// The length of a map for `bytes` bytes: a multiple of huge pages if that adds at most an eighth, otherwise a multiple of
/// granules.
fn length_for(bytes: usize) -> Option<usize> {
    let granules = bytes.checked_next_multiple_of(GRANULE)?;
    let huge = bytes.checked_next_multiple_of(HUGE)?;
    isize::try_from(huge).ok()?;
    Some(if bytes >= HUGE && huge - bytes <= bytes / 8 { huge } else { granules })
}
