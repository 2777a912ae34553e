//! Stores that go past the caches, for blocks so large that they would push everything else out of the caches.
//!
//! An ordinary store to memory that is not in a cache reads the cache line first. A streaming store does not, so a fill moves
//! half as many bytes, and a copy two thirds.

use std::cmp::Ordering;
use std::ops::Range;

use super::access::{Bytes, BytesMut};
use crate::system;
#[cfg(target_arch = "x86_64")]
use crate::system::processor::{is_intel, last_cache};

/// The size of a cache line in bytes. Streaming stores write whole lines.
pub(super) const LINE: usize = 64;

/// Whether an operation on this many bytes is large enough to ask how large the last cache is.
const fn is_large(bytes: usize) -> bool {
    bytes >= 1 << 20
}

/// There are no streaming stores for this architecture here, so no cache is too small.
#[cfg(not(target_arch = "x86_64"))]
fn last_cache() -> usize {
    usize::MAX
}

/// Whether a copy between blocks of these sizes in bytes is faster with streaming stores. The limits of this file were measured with a
/// cache of 32 MiB, on memory that was in the cache and on memory that was not: at 8 MiB, streaming takes 1.4 times as long as
/// `memcpy` in the first case, and half as long in the second.
///
/// A conversion to wider elements mostly writes, and what it writes is usually read soon. So it streams only if its target does not
/// fit in the cache: for smaller targets, streaming took up to 2.4 times as long in the cache, and up to 1.2 times as long outside of
/// it. A conversion to narrower elements mostly reads, and streaming made it slower.
pub(super) fn speeds_up_copy(target: usize, source: usize) -> bool {
    is_large(target)
        && match source.cmp(&target) {
            Ordering::Less => target >= last_cache(),
            Ordering::Equal => target >= last_cache() / 4,
            Ordering::Greater => false,
        }
}

/// Whether a transpose of this many bytes is faster with streaming stores. It writes lines that are far apart, so an ordinary store
/// waits longer for the line than in a copy.
pub(super) fn speeds_up_transpose(bytes: usize) -> bool {
    is_large(bytes) && bytes >= last_cache() / 8
}

/// Whether filling this many bytes is faster with streaming stores. The limit is higher than that of a copy, because a fill has
/// the cache for its target alone, and because processors do not read a line that is overwritten at once: up to twice the cache,
/// streaming took 1.1 times as long, and from four times on as long. Then it leaves other data in the cache.
pub(super) fn speeds_up_fill(bytes: usize) -> bool {
    is_large(bytes) && bytes / 4 >= last_cache()
}

/// Whether `memcpy` copies this many bytes faster than the functions of this file. For so large a copy it streams by itself, in an
/// order of the pages that suits Intel's processors: [`copy`] takes 1.2 times as long there. On AMD's processors `memcpy` takes
/// longer, up to twice as long.
pub(super) fn is_left_to_memcpy(bytes: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return speeds_up_copy(bytes, bytes) && is_intel();
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = bytes;
        true
    }
}

/// Divides a target into parts, each with whether it is streamed. Streamed are the parts whose pages are present. When a page is
/// touched for the first time, the system clears it, so its lines are in the cache then. Streaming would write them to memory
/// twice.
pub(super) fn parts(target: BytesMut) -> impl Iterator<Item = (Range<usize>, bool)> {
    /// The size of a huge page, and the most that is expected to stay in the cache from the clearing of the page on.
    const PIECE: usize = 2 << 20;
    let (size, address) = (target.size(), target.data().addr());
    let end_of_piece = move |offset: usize| size.min(offset + PIECE - (address + offset) % PIECE);
    let is_present = move |offset: usize| system::is_present(target.data().wrapping_add(offset));
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == size {
            return None;
        }
        let (mut end, streamed) = (end_of_piece(start), is_present(start));
        while streamed && end < size && is_present(end) {
            end = end_of_piece(end);
        }
        let part = start..end;
        start = end;
        Some((part, streamed))
    })
}

/// The shortest run in bytes, among many runs of a strided operation, for which streaming is worthwhile: the lines at its two ends are
/// not streamed.
pub(super) const WORTHWHILE_RUN: usize = 4096;

/// The number of bytes of the target that come before the first cache line that begins in it.
pub(super) fn bytes_before_line(target: BytesMut) -> usize {
    (target.data().addr().wrapping_neg() % LINE).min(target.size())
}

/// How far ahead of the current line a copy prefetches, in bytes. Measurements show that the processor does not prefetch enough
/// by itself while it executes streaming stores.
const AHEAD: usize = 8192;

/// Prefetches `lines` cache lines that will be read soon, from [`AHEAD`] bytes after `source` on. There need not be memory at
/// these addresses.
#[inline(always)]
pub(super) fn prefetch(source: Bytes, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: [cpu] every x86-64 processor has the instruction, and it does nothing at an address without memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.data().wrapping_add(AHEAD + line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (source, lines, AHEAD);
}

/// Prefetches a cache line that will be written soon. There need not be memory at this address.
#[inline(always)]
pub(super) fn prefetch_for_writing(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: [cpu] every x86-64 processor takes the instruction, and it does nothing at an address without memory.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Copies whole cache lines. The target begins at a line, and the two blocks do not overlap. The caller calls [`finish`] before
/// another thread reads the target.
#[inline]
pub(super) fn copy(target: BytesMut, source: Bytes) {
    let bytes = target.size();
    assert!(
        bytes == source.size() && bytes.is_multiple_of(LINE) && bytes_before_line(target) == 0,
        "the target consists of whole cache lines"
    );
    for line in (0..bytes).step_by(LINE) {
        // SAFETY: [in-bounds] the line ends at or before `bytes`, the size of both blocks; the assertion aligned the target.
        unsafe { copy_line(target.data().wrapping_add(line), source.data().wrapping_add(line)) };
    }
}

/// Writes the same cache line to every line of the target, which begins at a line. The caller calls [`finish`] before another
/// thread reads the target.
pub(super) fn fill(target: BytesMut, line: &[u8; LINE]) {
    let bytes = target.size();
    assert!(bytes.is_multiple_of(LINE) && bytes_before_line(target) == 0, "the target consists of whole cache lines");
    for start in (0..bytes).step_by(LINE) {
        // SAFETY: [in-bounds] the line ends at or before `bytes`, the size of the target; the assertion aligned it. `line` has
        // as many bytes.
        unsafe { copy_line(target.data().wrapping_add(start), line.as_ptr()) };
    }
}

/// Copies one cache line.
///
/// # Safety
/// `target` is valid for writes of a cache line and begins at one. `source` is valid for reads of as many bytes.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::cast_ptr_alignment, reason = "the load takes any address, and the caller aligns the target")]
#[inline(always)]
unsafe fn copy_line(target: *mut u8, source: *const u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for part in 0..LINE / size_of::<__m128i>() {
        // SAFETY: [in-bounds] the part is inside the line. The instruction loads from any address.
        let vector = unsafe { _mm_loadu_si128(source.cast::<__m128i>().wrapping_add(part)) };
        // SAFETY: [in-bounds] the part is inside the line. The line begins at a multiple of 64, so the part is aligned to 16
        // bytes.
        unsafe { _mm_stream_si128(target.cast::<__m128i>().wrapping_add(part), vector) };
    }
}

/// Copies one cache line.
///
/// # Safety
/// `target` is valid for writes of a cache line. `source` is valid for reads of as many bytes.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn copy_line(target: *mut u8, source: *const u8) {
    // SAFETY: [in-bounds] the caller vouches for a cache line at both addresses.
    unsafe { std::ptr::copy(source, target, LINE) }
}

/// Makes the streaming stores visible before all later stores. Without it they may become visible in any order.
pub(super) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: [cpu] every x86-64 processor has the instruction, and it only waits.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::{Level, Readable, Writable, cast, fill};
    use super::parts;
    use crate::convert::Scalar;
    use crate::element::DType;

    const PIECE: usize = 2 << 20;

    /// New memory from the system with a target of six pieces in it, which begins and ends inside a piece. The second, the third and
    /// the fifth piece were written.
    fn new_memory() -> (Vec<u8>, std::ops::Range<usize>) {
        let mut memory = vec![0u8; 48 << 20];
        let first = memory.as_ptr().align_offset(PIECE) + PIECE;
        for piece in [1, 2, 4] {
            memory[first + piece * PIECE..][..PIECE].fill(7);
        }
        (memory, first + 104..first + 6 * PIECE - 8)
    }

    #[test]
    fn only_pages_that_are_present_are_streamed() {
        let (mut memory, range) = new_memory();
        let target = Writable::of(&mut memory[range.clone()], DType::Byte);
        let mut start = 0;
        let expected = [(1, false), (3, true), (4, false), (5, true), (6, false)].map(|(pieces, streamed)| {
            let end = (pieces * PIECE - 104).min(range.len());
            let part = start..end;
            start = end;
            (part, streamed)
        });
        assert_eq!(parts(target.values()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn operations_on_partly_new_memory_write_all_elements() {
        let bytes: Vec<u8> = (0..6 * PIECE).map(|index| u8::try_from(index % 251).unwrap_or(0)).collect();
        for (to, from) in [(DType::Double, DType::Double), (DType::Short, DType::Byte)] {
            let results = [false, true].map(|streamed| {
                let (mut memory, range) = new_memory();
                let target = Writable::of(&mut memory[range.clone()], to);
                let source = Readable::of(&bytes[..target.size() * from.width()], from);
                cast::copy(Level::current(), target, source, streamed);
                memory[range.start - 200..range.end + 8].to_vec()
            });
            assert!(results[0] == results[1], "{from:?} to {to:?}");
        }
        let (mut memory, range) = new_memory();
        let pattern = fill::pattern(DType::Float, Scalar::Float(0.1));
        let target = Writable::of(&mut memory[range.clone()], DType::Float);
        fill::fill(Level::current(), target.values(), pattern, true);
        assert!(memory[range.clone()].chunks(16).all(|chunk| *chunk == pattern[..chunk.len()]));
        assert!(memory[range.start - 200..range.start].iter().all(|&byte| byte == 0), "bytes before the target have changed");
    }
}
