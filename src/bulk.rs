//! Kernels over raw storage memory: fill, copy with conversion, comparison, byte order, single elements.
//!
//! They take an address and a number of elements ([`Readable`], [`Writable`]) and never form a reference: views, maps, foreign
//! pointers and threads alias the same bytes. Addresses need no alignment. A size of 0 takes any pointer, null included.

mod access;
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

pub use access::{Readable, Writable, get_as, set_as};
pub use level::Level;
pub use threads::{set_threads, threads};

use crate::convert::{Complex, Number, Scalar};
use crate::element::{Element, with_element};

/// Elements for which choosing a kernel would take longer than the work.
const FEW: usize = 32;

/// Sets all elements to `value`, converted once.
#[inline]
pub fn fill(target: Writable<'_>, value: Scalar) {
    if target.size() <= FEW {
        return with_element!(target.dtype(), T => target.values::<T>().set_all(T::from_scalar(value)));
    }
    fill_many(target, value);
}

fn fill_many(target: Writable<'_>, value: Scalar) {
    let dtype = target.dtype();
    let (level, pattern) = (Level::current(), fill::pattern(dtype, value));
    let streamed = stream::pays_for_fill(target.nbytes());
    if !threads::pay_for(target.nbytes()) {
        return fill::fill(level, target.values(), pattern, streamed);
    }
    threads::in_blocks(target.size(), dtype.width(), |indices| {
        fill::fill(level, target.part(indices).values(), pattern, streamed);
    });
}

/// Whether two blocks are of one dtype and one size, and hold equal values: NaN differs from itself, -0 equals 0.
#[must_use]
pub fn equal(left: Readable<'_>, right: Readable<'_>) -> bool {
    Level::current().equal(left, right)
}

/// Copies elements, converting them by the rules of `convert.rs`. The blocks may overlap in any way: the result is as if the
/// source had been read first.
///
/// # Panics
/// If the two have not as many elements.
#[inline]
pub fn copy(target: Writable<'_>, source: Readable<'_>) {
    assert!(target.size() == source.size(), "both blocks must have the same number of elements");
    if target.size() <= FEW && target.dtype() == source.dtype() {
        return target.values::<u8>().copy_from(source.values());
    }
    copy_many(target, source);
}

fn copy_many(target: Writable<'_>, source: Readable<'_>) {
    let size = target.size();
    let (to, from) = (cast::numbers(target.dtype()), cast::numbers(source.dtype()));
    let weight = to.width() + from.width();
    let (streamed, threaded) = (stream::pays_for_copy(target.nbytes()), threads::pay_for(size * weight));
    if to == from && !streamed && !threaded {
        return target.values().copy_from(source.values());
    }
    let level = Level::current();
    if !threaded || !cast::are_apart(target, source) {
        return cast::copy(level, target, source, streamed);
    }
    // What one thread writes no other thread reads or writes: the two blocks are apart, and each index is given out once.
    threads::in_blocks(size, weight, |indices| {
        cast::copy(level, target.part(indices.clone()), source.part(indices), streamed);
    });
}

/// Copies elements of one width that are `step` elements apart in the source, where the first of them has index `first`.
///
/// # Panics
/// If the two dtypes have different widths, or an element is outside of the source.
pub fn gather(target: Writable<'_>, source: Readable<'_>, first: usize, step: isize) {
    fn each<T: Element>(target: Writable<'_>, source: Readable<'_>, first: usize, step: isize) {
        let (target, source) = (target.values::<T>(), source.values::<T>());
        let mut from = first;
        for index in 0..target.size() {
            target.set(index, source.get(from));
            from = from.wrapping_add_signed(step);
        }
    }
    let width = target.dtype().width();
    assert_eq!(width, source.dtype().width(), "elements of one width");
    match width {
        _ if step == 1 => target.values().copy_from(source.part(first..first + target.size()).values()),
        1 => each::<u8>(target, source, first, step),
        2 => each::<i16>(target, source, first, step),
        4 => each::<i32>(target, source, first, step),
        16 => each::<Complex<f64>>(target, source, first, step),
        _ => each::<i64>(target, source, first, step),
    }
}

/// Reverses the bytes of every word of `width` bytes. Other widths than 2, 4 and 8, and the rest of a length that is not a multiple
/// of the width, change nothing.
pub fn byteswap(target: Writable<'_>, width: usize) {
    Level::current().byteswap(target, width);
}

/// The operations at one level, in this thread: for the tests and benchmarks that compare levels.
impl Level {
    /// [`fill`](fn@fill) at this level.
    pub fn fill(self, target: Writable<'_>, value: Scalar) {
        fill::fill(self, target.values(), fill::pattern(target.dtype(), value), stream::pays_for_fill(target.nbytes()));
    }

    /// [`copy`] at this level.
    ///
    /// # Panics
    /// As there.
    pub fn copy(self, target: Writable<'_>, source: Readable<'_>) {
        assert_eq!(target.size(), source.size(), "as many elements");
        cast::copy(self, target, source, stream::pays_for_copy(target.nbytes()));
    }

    /// [`equal`] at this level.
    #[must_use]
    pub fn equal(self, left: Readable<'_>, right: Readable<'_>) -> bool {
        left.dtype() == right.dtype() && left.size() == right.size() && compare::equal(self, left, right)
    }

    /// [`byteswap`] at this level.
    pub fn byteswap(self, target: Writable<'_>, width: usize) {
        swap::byteswap(self, target, width);
    }
}
