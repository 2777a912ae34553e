//! Stores that go past the caches: for blocks that would only push everything else out of them.
//!
//! An ordinary store to memory that is not in a cache reads the line first. Memory that a streaming store writes is not read:
//! a fill then moves half the bytes, a copy two thirds.

use super::access::{Bytes, BytesMut};

/// Bytes of what a streaming store writes at once: a line of the caches.
pub(super) const LINE: usize = 64;

/// Whether it pays to write the target of a copy of this many bytes past the caches. Measured (`benches/bulk.rs`).
pub(super) fn pays_for_copy(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 8 << 20
}

/// Whether it pays to fill this many bytes past the caches. A fill has nothing else in them, so it pays later than for a copy.
pub(super) fn pays_for_fill(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 16 << 20
}

/// How many of the target's bytes come before the first line that begins in it.
pub(super) fn to_line(target: BytesMut) -> usize {
    (target.data().addr().wrapping_neg() % LINE).min(target.size())
}

/// How far ahead lines are asked for, in bytes. Measured: streaming stores keep the processor from doing so by itself.
const AHEAD: usize = 8192;

/// Asks for lines that will be read soon: `lines` of them, [`AHEAD`] bytes after `source`. They need not exist.
#[inline(always)]
pub(super) fn prefetch(source: Bytes, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: [cpu] every x86-64 processor has it, and it does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.data().wrapping_add(AHEAD + line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (source, lines);
}

/// Copies whole lines to where a line begins; the two do not overlap. [`finish`] is called before another thread looks at them.
#[inline]
pub(super) fn copy(target: BytesMut, source: Bytes) {
    let bytes = target.size();
    assert!(bytes == source.size() && bytes.is_multiple_of(LINE) && to_line(target) == 0, "whole lines");
    for line in (0..bytes).step_by(LINE) {
        // SAFETY: [in-bounds] both have `bytes` bytes, and the lines that the target is made of begin where it does.
        unsafe { copy_line(target.data().wrapping_add(line), source.data().wrapping_add(line)) };
    }
}

/// Writes one line to all lines of the target, which begins where a line does. [`finish`] is called as for [`copy`].
pub(super) fn fill(target: BytesMut, line: &[u8]) {
    let bytes = target.size();
    assert!(line.len() == LINE && bytes.is_multiple_of(LINE) && to_line(target) == 0, "whole lines");
    for start in (0..bytes).step_by(LINE) {
        // SAFETY: [in-bounds] the target has `bytes` bytes, and the lines that it is made of begin where it does.
        unsafe { copy_line(target.data().wrapping_add(start), line.as_ptr()) };
    }
}

/// Copies one line.
///
/// # Safety
/// `target` is valid for writes of a line, and begins one; `source` is valid for reads of a line.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::cast_ptr_alignment, reason = "the load takes any address, and the caller aligns the target")]
#[inline(always)]
unsafe fn copy_line(target: *mut u8, source: *const u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for part in 0..LINE / size_of::<__m128i>() {
        // SAFETY: [in-bounds] the part is inside the line; it may be loaded from any address.
        let vector = unsafe { _mm_loadu_si128(source.cast::<__m128i>().wrapping_add(part)) };
        // SAFETY: [in-bounds] the part is inside the line, which begins at a multiple of 64: so it is aligned to its 16 bytes.
        unsafe { _mm_stream_si128(target.cast::<__m128i>().wrapping_add(part), vector) };
    }
}

/// Copies one line.
///
/// # Safety
/// `target` is valid for writes of a line; `source` is valid for reads of a line.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn copy_line(target: *mut u8, source: *const u8) {
    // SAFETY: [in-bounds] the caller vouches for a line at both addresses.
    unsafe { std::ptr::copy(source, target, LINE) }
}

/// Orders what was streamed before whatever is written afterwards: streaming stores are not in order by themselves.
pub(super) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: [cpu] every x86-64 processor has it, and it only waits.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
