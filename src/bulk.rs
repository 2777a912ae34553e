//! Kernels over raw storage memory: fill, copy with conversion, compare, reverse bytes, read or write one element.
//!
//! A kernel takes an address and a number of elements ([`Readable`], [`Writable`]). It never forms a reference, because views,
//! maps, foreign pointers and threads alias the same bytes. Addresses need no alignment. With a size of 0 any pointer is allowed,
//! even null.

mod access;
mod cast;
mod compare;
mod fill;
mod lanes;
mod level;
#[cfg(feature = "answers")]
pub mod order;
mod picked;
pub(crate) mod racing;
mod records;
#[cfg(feature = "answers")]
pub mod reduce;
#[cfg(feature = "answers")]
pub mod scale;
mod stream;
mod strided;
mod swap;
#[cfg(test)]
mod tests;
pub(crate) mod threads;

pub use access::{Readable, Writable, get_as, set_as};
#[cfg(feature = "answers")]
pub(crate) use cast::Buffer;
pub use level::Level;
pub use picked::{Places, count_nonzero, find_nonzero, pick};
pub use records::{Field, read_field, write_field};
pub use strided::{Axes, Axis, MAX_AXES, copy_strided, equal_strided, fill_strided};
pub use threads::{set_threads, threads};

use crate::convert::{Number, Scalar};
use crate::element::with_element;

/// The largest number of elements for which choosing a kernel takes longer than the work itself.
const FEW: usize = 32;

/// Sets all elements to `value`, which is converted once.
#[inline]
pub fn fill(target: Writable<'_>, value: Scalar) {
    if target.size() <= FEW {
        return with_element!(target.dtype(), T => target.values::<T>().set_all(T::from_scalar(value)));
    }
    fill_many(target, value);
}

/// It is not inlined, so that filling few elements saves no registers.
#[inline(never)]
fn fill_many(target: Writable<'_>, value: Scalar) {
    let dtype = target.dtype();
    let (level, pattern) = (Level::current(), fill::pattern(dtype, value));
    let streamed = stream::speeds_up_fill(target.nbytes());
    if !threads::are_worth_starting(target.nbytes()) {
        return fill::fill(level, target.values(), pattern, streamed);
    }
    threads::for_each_block(target.size(), dtype.width(), |indices| {
        fill::fill(level, target.part(indices).values(), pattern, streamed);
    });
}

/// Whether two blocks have the same dtype, the same size and equal values. NaN differs from itself, and -0 equals 0.
#[must_use]
pub fn equal(left: Readable<'_>, right: Readable<'_>) -> bool {
    Level::current().equal(left, right)
}

/// Copies elements, and converts them by the rules of `convert.rs`. The blocks may overlap in any way: the result is the same as
/// if the whole source had been read before the first element was written.
///
/// # Panics
/// If the two blocks have different numbers of elements.
#[inline]
pub fn copy(target: Writable<'_>, source: Readable<'_>) {
    assert!(target.size() == source.size(), "target and source have the same number of elements");
    if target.size() <= FEW && target.dtype() == source.dtype() {
        return target.values::<u8>().copy_from(source.values());
    }
    copy_many(target, source);
}

/// It is not inlined, so that copying few elements saves no registers.
#[inline(never)]
fn copy_many(target: Writable<'_>, source: Readable<'_>) {
    let size = target.size();
    let (to, from) = (cast::kernel_dtype(target.dtype()), cast::kernel_dtype(source.dtype()));
    let weight = to.width() + from.width();
    let (streamed, threaded) =
        (stream::speeds_up_copy(target.nbytes(), source.nbytes()), threads::are_worth_starting(size * weight));
    if to == from && !streamed && !threaded {
        return target.values().copy_from(source.values());
    }
    let level = Level::current();
    if !threaded || !cast::are_disjoint(target, source) {
        return cast::copy(level, target, source, streamed);
    }
    // No thread reads or writes an element that another thread writes: the blocks do not overlap, and each index is given out
    // once.
    threads::for_each_block(size, weight, |indices| {
        cast::copy(level, target.part(indices.clone()), source.part(indices), streamed);
    });
}

/// Reverses the byte order of each word of `width` bytes. With a width other than 2, 4 or 8 nothing changes. If the length is not
/// a multiple of the width, the bytes after the last whole word stay as they are.
pub fn byteswap(target: Writable<'_>, width: usize) {
    Level::current().byteswap(target, width);
}

/// The operations at one level, run in the calling thread. The tests use them to compare levels.
impl Level {
    /// [`copy`] at this level.
    ///
    /// # Panics
    /// If the two blocks have different numbers of elements.
    pub fn copy(self, target: Writable<'_>, source: Readable<'_>) {
        assert_eq!(target.size(), source.size(), "target and source have the same number of elements");
        cast::copy(self, target, source, stream::speeds_up_copy(target.nbytes(), source.nbytes()));
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
