//! Kernels over raw storage memory: fill, copy with conversion, comparison, byte order, single elements.
//!
//! They take a pointer and a number of elements and never form a reference: views, maps, foreign pointers and threads alias
//! the same bytes. Pointers need no alignment. A size of 0 takes any pointer, null included.

mod cast;
mod compare;
mod fill;
mod lanes;
mod level;
mod stream;
mod swap;
#[cfg(test)]
mod tests;
mod threads;

use cast::{Source, Target};
pub use level::Level;
pub use threads::{set_threads, threads};

use std::ptr;

use crate::convert::{Complex, Number, Scalar};
use crate::element::{DType, Element, with_element};

/// Element `place` (from 0) as a Lua number: of a complex one the real part.
///
/// # Safety
/// `data` is valid for reads of more than `place` elements of `dtype`.
#[must_use]
pub unsafe fn get(data: *const u8, dtype: DType, place: usize) -> f64 {
    with_element!(dtype, T => {
        // SAFETY: the caller says that element `place` is readable; unaligned reads need no alignment; every bit pattern is a `T`.
        unsafe { get_as::<T>(data, place) }.to_f64()
    })
}

/// Element `place` (from 0) as a number of the kind that holds it.
///
/// # Safety
/// As [`get`].
#[must_use]
pub unsafe fn get_scalar(data: *const u8, dtype: DType, place: usize) -> Scalar {
    with_element!(dtype, T => {
        // SAFETY: as the caller says; unaligned reads need no alignment; every bit pattern is a `T`.
        unsafe { get_as::<T>(data, place) }.to_scalar()
    })
}

/// Element `place` (from 0) of memory known to hold `T`.
///
/// # Safety
/// `data` is valid for reads of more than `place` elements of `T`.
#[inline]
#[must_use]
pub unsafe fn get_as<T: Element>(data: *const u8, place: usize) -> T {
    // SAFETY: the caller says that element `place` is readable; unaligned reads need no alignment; every bit pattern is a `T`.
    unsafe { data.cast::<T>().wrapping_add(place).read_unaligned() }
}

/// Sets element `place` (from 0) of memory known to hold `T`.
///
/// # Safety
/// `data` is valid for writes of more than `place` elements of `T`.
#[inline]
pub unsafe fn set_as<T: Element>(data: *mut u8, place: usize, value: T) {
    // SAFETY: the caller says that element `place` is writable; unaligned writes need no alignment.
    unsafe { data.cast::<T>().wrapping_add(place).write_unaligned(value) }
}

/// Sets element `place` (from 0), converting `value` by the rules of `convert.rs`.
///
/// # Safety
/// `data` is valid for writes of more than `place` elements of `dtype`.
pub unsafe fn set(data: *mut u8, dtype: DType, place: usize, value: Scalar) {
    with_element!(dtype, T => {
        // SAFETY: the caller says that element `place` is writable.
        unsafe { set_as::<T>(data, place, T::from_scalar(value)) }
    });
}

/// Elements for which choosing a kernel would take longer than the work.
const FEW: usize = 32;

/// Sets all `size` elements to `value`, converted once.
///
/// # Safety
/// `data` is valid for writes of `size` elements of `dtype`.
pub unsafe fn fill(data: *mut u8, dtype: DType, size: usize, value: Scalar) {
    if size <= FEW {
        return with_element!(dtype, T => {
            let element = T::from_scalar(value);
            for place in 0..size {
                // SAFETY: `place` is below `size`, and the caller says that all of them can be written.
                unsafe { set_as::<T>(data, place, element) }
            }
        });
    }
    let (level, pattern, width) = (Level::current(), fill::pattern(dtype, value), dtype.width());
    let streamed = stream::pays_for_fill(size * width);
    let data = Address(data);
    threads::in_blocks(size, width, |places| {
        let data = data.get().wrapping_add(places.start * width);
        // SAFETY: the places are below `size`, and the caller says that all of them can be written.
        unsafe { fill::fill(level, data, pattern, places.len() * width, streamed) };
    });
}

/// Whether two blocks hold equal values: NaN differs from itself, -0 equals 0.
///
/// # Safety
/// Both pointers are valid for reads of `size` elements of `dtype`.
#[must_use]
pub unsafe fn equal(left: *const u8, right: *const u8, dtype: DType, size: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe { Level::current().equal(left, right, dtype, size) }
}

/// Copies `size` elements of `from` to `size` elements of `to`, converting by the rules of `convert.rs`. The blocks may overlap
/// in any way: the result is as if the source had been read first.
///
/// # Safety
/// `target` is valid for writes of `size` elements of `to`, `source` for reads of `size` elements of `from`.
pub unsafe fn copy(target: *mut u8, to: DType, source: *const u8, from: DType, size: usize) {
    let (to, from) = (cast::numbers(to), cast::numbers(from));
    if to == from && size <= FEW {
        if size > 0 {
            // SAFETY: as the caller says; `ptr::copy` allows overlap, and bytes need no alignment.
            unsafe { ptr::copy(source, target, size * to.width()) };
        }
        return;
    }
    let (level, streamed) = (Level::current(), stream::pays_for_copy(size * to.width()));
    let moved = size * (to.width() + from.width());
    if !threads::pay_for(moved) || !cast::are_apart(Target(target, to), Source(source, from), size) {
        // SAFETY: as the caller says.
        return unsafe { cast::copy(level, Target(target, to), Source(source, from), size, streamed) };
    }
    let (target, source) = (Address(target), Address(source.cast_mut()));
    threads::in_blocks(size, to.width() + from.width(), |places| {
        let target = Target(target.get(), to).from(places.start);
        let source = Source(source.get(), from).from(places.start);
        // SAFETY: the places are below `size`, and the caller says that all of them can be read and written; what different
        // threads write is apart from what they read, and from what the others write.
        unsafe { cast::copy(level, target, source, places.len(), streamed) };
    });
}

/// Copies `size` elements of `width` bytes (1, 2, 4, 8 or 16) that are `step` elements apart.
///
/// # Safety
/// `source` is valid for reads of these elements, `target` for writes of `size`; the two are apart.
pub unsafe fn gather(target: *mut u8, source: *const u8, width: usize, step: isize, size: usize) {
    /// # Safety
    /// As [`gather`], `T` having the width.
    unsafe fn apart<T: Element>(target: *mut u8, source: *const u8, step: isize, size: usize) {
        let mut from = source.cast::<T>();
        for place in 0..size {
            // SAFETY: the caller says that it is readable; unaligned reads need no alignment.
            let value = unsafe { from.read_unaligned() };
            // SAFETY: as the caller says.
            unsafe { set_as(target, place, value) };
            from = from.wrapping_offset(step);
        }
    }
    match width {
        // SAFETY: as the caller says.
        _ if step == 1 => unsafe { ptr::copy_nonoverlapping(source, target, size * width) },
        // SAFETY: as the caller says.
        1 => unsafe { apart::<u8>(target, source, step, size) },
        // SAFETY: as the caller says.
        2 => unsafe { apart::<i16>(target, source, step, size) },
        // SAFETY: as the caller says.
        4 => unsafe { apart::<i32>(target, source, step, size) },
        // SAFETY: as the caller says.
        16 => unsafe { apart::<Complex<f64>>(target, source, step, size) },
        // SAFETY: as the caller says.
        _ => unsafe { apart::<i64>(target, source, step, size) },
    }
}

/// Turns the bytes of each word of `width` bytes round, in `bytes` bytes. A width other than 2, 4 and 8, and what is left of a
/// length that the width does not divide, change nothing.
///
/// # Safety
/// `data` is valid for reads and writes of `bytes` bytes.
pub unsafe fn byteswap(data: *mut u8, width: usize, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { Level::current().byteswap(data, width, bytes) }
}

/// Where a block begins, for several threads.
struct Address(*mut u8);

// SAFETY: an address is a number; who uses it says why that is right.
unsafe impl Sync for Address {}

impl Address {
    fn get(&self) -> *mut u8 {
        self.0
    }
}
