//! Stores that go past the caches: for blocks that would only push everything else out of them.
//!
//! An ordinary store to memory that is not in a cache reads the line first. Memory that a streaming store writes is not read:
//! a fill then moves half the bytes, a copy two thirds.

/// Bytes of what a streaming store writes at once.
pub(super) const LINE: usize = 64;

/// Whether it pays to write the target of a copy of this many bytes past the caches. Measured (`benches/bulk.rs`).
pub(super) fn pays_for_copy(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 8 << 20
}

/// Whether it pays to fill this many bytes past the caches: nothing else is in them, so later than for a copy.
pub(super) fn pays_for_fill(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes >= 16 << 20
}

/// Bytes from `target` up to the next line, of those that there are.
pub(super) fn to_line(target: *const u8, bytes: usize) -> usize {
    (target.addr().wrapping_neg() % LINE).min(bytes)
}

/// How far ahead lines are asked for, in bytes. Measured: streaming stores keep the processor from doing so by itself.
const AHEAD: usize = 8192;

/// Asks for lines that will be read soon: `lines` of them, [`AHEAD`] bytes after `source`. They need not be there.
#[inline(always)]
pub(super) fn prefetch(source: *const u8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has it, and it does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.wrapping_add(AHEAD + line * LINE).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (source, lines);
}

/// Copies whole lines.
///
/// # Safety
/// `target` is valid for writes of `bytes` bytes and the address of a line, `source` is valid for reads of as many; they do not
/// overlap. Before another thread may look at them, [`finish`] is called.
#[inline]
pub(super) unsafe fn copy(target: *mut u8, source: *const u8, bytes: usize) {
    for line in (0..bytes / LINE).map(|line| line * LINE) {
        // SAFETY: the line is inside both blocks.
        unsafe { copy_line(target.wrapping_add(line), source.wrapping_add(line)) };
    }
}

/// Copies one line.
///
/// # Safety
/// As [`copy`], for one line.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::cast_ptr_alignment, reason = "the load takes any address, and the caller aligns the target")]
#[inline(always)]
unsafe fn copy_line(target: *mut u8, source: *const u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for part in 0..4 {
        // SAFETY: a line has four parts; any address can be loaded from.
        let vector = unsafe { _mm_loadu_si128(source.cast::<__m128i>().wrapping_add(part)) };
        // SAFETY: as above; the parts of a line are at addresses that 16 divides.
        unsafe { _mm_stream_si128(target.cast::<__m128i>().wrapping_add(part), vector) };
    }
}

/// Copies one line.
///
/// # Safety
/// As [`copy`], for one line.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn copy_line(target: *mut u8, source: *const u8) {
    // SAFETY: as the caller says.
    unsafe { std::ptr::copy_nonoverlapping(source, target, LINE) }
}

/// Puts what was streamed before whatever is written afterwards: streaming stores are not in order by themselves.
pub(super) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and it only waits.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
