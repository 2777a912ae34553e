//! Kernels over raw storage memory: fill, copy with conversion, comparison, single elements.
//!
//! They take a pointer and a number of elements and never form a reference: views, maps, foreign pointers and threads alias
//! the same bytes. Pointers need no alignment. A size of 0 takes any pointer, null included.

use std::ptr;

use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_element};

/// Element `place` (from 0) as a Lua number.
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

/// Sets all `size` elements to `value`, converted once.
///
/// # Safety
/// `data` is valid for writes of `size` elements of `dtype`.
pub unsafe fn fill(data: *mut u8, dtype: DType, size: usize, value: Scalar) {
    with_element!(dtype, T => {
        let element = T::from_scalar(value);
        for place in 0..size {
            // SAFETY: `place` is below `size`, and the caller says that all of them are writable.
            unsafe { set_as::<T>(data, place, element) }
        }
    });
}

/// Whether two blocks hold equal values: NaN differs from itself, -0 equals 0.
///
/// # Safety
/// Both pointers are valid for reads of `size` elements of `dtype`.
#[must_use]
pub unsafe fn equal(left: *const u8, right: *const u8, dtype: DType, size: usize) -> bool {
    with_element!(dtype, T => {
        (0..size).all(|place| {
            // SAFETY: `place` is below `size`, and the caller says that all of them are readable.
            let a = unsafe { get_as::<T>(left, place) };
            // SAFETY: as above.
            let b = unsafe { get_as::<T>(right, place) };
            a == b
        })
    })
}

/// Copies `size` elements of `from` to `size` elements of `to`, converting by the rules of `convert.rs`. The blocks may overlap
/// in any way: the result is as if the source had been read first.
///
/// # Safety
/// `target` is valid for writes of `size` elements of `to`, `source` for reads of `size` elements of `from`.
pub unsafe fn copy(target: *mut u8, to: DType, source: *const u8, from: DType, size: usize) {
    if size == 0 {
        return;
    }
    if to == from {
        // SAFETY: the caller says that these bytes are readable and writable; `ptr::copy` allows overlap; bytes need no alignment.
        unsafe { ptr::copy(source, target, size * to.width()) };
        return;
    }
    with_element!(from, S => with_element!(to, D => {
        // SAFETY: the dtypes of `S` and `D` are those of the caller's promise.
        unsafe { convert::<S, D>(target, source, size) }
    }));
}

/// [`copy`] for two element types.
///
/// Writing element `i` may only hit source bytes that have been read. With `gap(i)` = address of target element `i` minus that
/// of source element `i`: going up is right where the gap is <= 0, going down where it is >= 0. The gap is linear in `i`, so it
/// changes sign at most once, at `turn`; the two parts are done in the order in which neither hits the other's source.
///
/// # Safety
/// As [`copy`].
unsafe fn convert<S: Element, D: Element>(target: *mut u8, source: *const u8, size: usize) {
    let one = |place: usize| {
        // SAFETY: `place` is below `size`, and the caller says that all of them are readable.
        let value = unsafe { get_as::<S>(source, place) };
        // SAFETY: `place` is below `size`, and the caller says that all of them are writable.
        unsafe { set_as::<D>(target, place, value.convert::<D>()) };
    };
    let (wide, narrow) = (size_of::<D>(), size_of::<S>());
    let (to, from) = (target.addr(), source.addr());
    let disjoint = to + size * wide <= from || from + size * narrow <= to;
    if disjoint || (to <= from && wide <= narrow) {
        (0..size).for_each(one);
    } else if to >= from && wide >= narrow {
        (0..size).rev().for_each(one);
    } else if wide > narrow {
        // The target starts below and grows faster: low part up, high part down, high part first.
        let turn = ((from - to) / (wide - narrow) + 1).min(size);
        (turn..size).rev().for_each(one);
        (0..turn).for_each(one);
    } else {
        // The target starts above and grows slower: low part down, high part up, low part first.
        let turn = (to - from).div_ceil(narrow - wide).min(size);
        (0..turn).rev().for_each(one);
        (turn..size).for_each(one);
    }
}

#[cfg(test)]
mod tests {
    use super::{copy, equal, fill};
    use crate::convert::Scalar;
    use crate::element::DType;
    use proptest::prelude::{ProptestConfig, any, proptest};

    #[test]
    fn a_size_of_zero_takes_a_null_pointer() {
        let null = std::ptr::null_mut();
        // SAFETY: no element is touched.
        unsafe { fill(null, DType::Double, 0, Scalar::Float(1.0)) };
        // SAFETY: no element is touched.
        unsafe { copy(null, DType::Int, null, DType::Byte, 0) };
        // SAFETY: no element is touched.
        assert!(unsafe { equal(null, null, DType::Half, 0) });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Any two classes, any two places in one buffer: the same as through a second buffer.
        #[test]
        fn overlap_is_as_if_the_source_had_been_read_first(
            bytes in proptest::collection::vec(any::<u8>(), 256),
            to in 0..DType::ALL.len(),
            from in 0..DType::ALL.len(),
            target in 0usize..128,
            source in 0usize..128,
            size in 0usize..16,
        ) {
            let (to, from) = (DType::ALL[to], DType::ALL[from]);
            let mut expected = bytes.clone();
            let apart = bytes.clone();
            // SAFETY: both blocks end below 128 + 16 * 8 = 256; the buffers are two.
            unsafe { copy(expected.as_mut_ptr().wrapping_add(target), to, apart.as_ptr().wrapping_add(source), from, size) };
            let mut got = bytes;
            let base = got.as_mut_ptr();
            // SAFETY: both blocks end below 256 bytes; both pointers come from the one mutable pointer.
            unsafe { copy(base.wrapping_add(target), to, base.wrapping_add(source), from, size) };
            assert_eq!(got, expected);
        }
    }
}
