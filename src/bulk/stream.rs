//! Stores that go past the caches, for blocks so large that they would push everything else out of the caches.
//!
//! An ordinary store to memory that is not in a cache reads the cache line first. A streaming store does not, so a fill moves
//! half as many bytes, and a copy two thirds.

use super::access::{Bytes, BytesMut};

/// The size of a cache line in bytes. Streaming stores write whole lines.
pub(super) const LINE: usize = 64;

/// Whether a copy of this many bytes is faster with streaming stores. The limit was measured with `benches/bulk.rs`.
pub(super) fn speeds_up_copy(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 8 << 20
}

/// Whether a transpose of this many bytes is faster with streaming stores. It writes lines that are far apart, so an ordinary store
/// waits longer for the line than in a copy.
pub(super) fn speeds_up_transpose(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 4 << 20
}

/// Whether filling this many bytes is faster with streaming stores. The limit is higher than that of a copy, because a fill has
/// the caches for its target alone.
pub(super) fn speeds_up_fill(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 16 << 20
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
    let _ = (source, lines);
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
pub(super) fn fill(target: BytesMut, line: &[u8]) {
    let bytes = target.size();
    assert!(
        line.len() == LINE && bytes.is_multiple_of(LINE) && bytes_before_line(target) == 0,
        "the target consists of whole cache lines"
    );
    for start in (0..bytes).step_by(LINE) {
        // SAFETY: [in-bounds] the line ends at or before `bytes`, the size of the target; the assertion aligned it, and sized
        // `line`.
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
