//! Arguments that are sizes, indices and ranges, and numbers as messages show them.

use std::ffi::c_int;
use std::fmt::{self, Display};

use super::Call;
use crate::convert::{Scalar, truncate};
use crate::lua::fault::{Fault, written};

impl Call<'_> {
    /// Argument `n` as a number of elements, truncated toward zero. It must not be negative.
    pub fn size(self, n: c_int) -> Result<usize, Fault> {
        self.size_of(n, self.scalar(n)?)
    }

    /// Does the same as [`size`](Self::size) for the number that argument `n` is.
    pub fn size_of(self, n: c_int, scalar: Scalar) -> Result<usize, Fault> {
        self.count_of(scalar).ok_or_else(|| {
            Fault::argument(n, format_args!("a size is a whole number of elements from 0 to 2^63-1, got {}", show(scalar)))
        })
    }

    /// Argument `n` as a number of bytes, truncated toward zero. It must not be negative.
    pub fn bytes(self, n: c_int) -> Result<usize, Fault> {
        let scalar = self.scalar(n)?;
        self.count_of(scalar).ok_or_else(|| {
            Fault::argument(n, format_args!("an offset is a whole number of bytes from 0 to 2^63-1, got {}", show(scalar)))
        })
    }

    /// A number as a count, truncated toward zero, or `None` if it is negative or too large.
    pub fn count_of(self, value: Scalar) -> Option<usize> {
        truncate(value).and_then(|count| usize::try_from(count).ok())
    }

    /// Argument `n` as a whole number, truncated toward zero.
    pub fn whole(self, n: c_int) -> Result<i64, Fault> {
        let scalar = self.scalar(n)?;
        truncate(scalar).ok_or_else(|| Fault::argument(n, format_args!("a whole number is needed, got {}", show(scalar))))
    }

    /// Argument `n` as an index. The argument is from 1 to `last`, and the result is counted from 0. If the argument is missing,
    /// the result is `default`. `what` names the argument in the error.
    pub fn index(self, n: c_int, what: &str, last: usize, default: usize) -> Result<usize, Fault> {
        if self.is_absent(n) { Ok(default) } else { self.index_of(n, what, self.scalar(n)?, last) }
    }

    /// Does the same as [`index`](Self::index) for the number `index` that argument `n` has given.
    pub fn index_of(self, n: c_int, what: &str, index: Scalar, last: usize) -> Result<usize, Fault> {
        truncate(index)
            .and_then(|index| usize::try_from(index).ok())
            .filter(|index| (1..=last).contains(index))
            .map(|index| index - 1)
            .ok_or_else(|| out_of_bounds(n, what, index, last))
    }

    /// Arguments `n` and `n + 1` as the first and the last index of a range. If one is missing, the range begins at the first
    /// element or ends at the last. Callers read the range before they look up the storage, because reading an FFI value runs Lua
    /// code, which could change the storage.
    pub fn range(self, n: c_int) -> Result<Range, Fault> {
        let bound = |n| if self.is_absent(n) { Ok(None) } else { self.whole(n).map(Some) };
        Ok(Range { n, first: bound(n)?, last: bound(n + 1)? })
    }
}

/// A range of elements as a Lua program gives it: the first and the last index, counted from 1. Both are in the range.
#[derive(Clone, Copy)]
pub struct Range {
    n: c_int,
    first: Option<i64>,
    last: Option<i64>,
}

impl Range {
    /// The range in a storage of `size` elements: the index of its first element, counted from 0, and its length. A range that
    /// ends before it begins is empty.
    pub fn of(self, size: usize) -> Result<(usize, usize), Fault> {
        let first = self.first.unwrap_or(1);
        let last = self.last.unwrap_or_else(|| i64::try_from(size).unwrap_or(i64::MAX));
        if first > last {
            return Ok((0, 0));
        }
        let from_zero = |n, index: i64| {
            let inside = usize::try_from(index).ok().filter(|index| (1..=size).contains(index));
            inside.map(|index| index - 1).ok_or_else(|| out_of_bounds(n, "index", Scalar::Signed(index), size))
        };
        let (first, last) = (from_zero(self.n, first)?, from_zero(self.n + 1, last)?);
        Ok((first, last - first + 1))
    }

    /// Does the same as [`of`](Self::of) by the rules of Lua's `string.sub`: a negative index counts from the end, and the part
    /// of the range that is outside the storage is cut off.
    pub fn sub(self, size: usize) -> (usize, usize) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let from_end = |index: i64| if index < 0 { index.saturating_add(size).saturating_add(1) } else { index };
        let first = from_end(self.first.unwrap_or(1)).max(1);
        let last = from_end(self.last.unwrap_or(-1)).min(size);
        let count = if first > last { 0 } else { last - first + 1 };
        let whole = |number: i64| usize::try_from(number).unwrap_or(0);
        (if count == 0 { 0 } else { whole(first - 1) }, whole(count))
    }
}

/// The fault for an index or offset, argument `n`, that is not in the range 1 to `last`.
pub fn out_of_bounds(n: c_int, what: &str, value: Scalar, last: usize) -> Fault {
    let value = show(value);
    match last {
        0 => Fault::argument(n, format_args!("{what} out of bounds: {value} is not in an empty storage")),
        _ => Fault::argument(n, format_args!("{what} out of bounds: {value} is not in the range 1 to {last}")),
    }
}

/// A number as a `usize`, or `None` if it is negative, too large or not a whole number.
pub fn whole(number: Scalar) -> Option<usize> {
    match number {
        Scalar::Float(number) if number.fract() != 0.0 => None,
        Scalar::Unsigned(number) => usize::try_from(number).ok(),
        number => truncate(number).and_then(|number| usize::try_from(number).ok()),
    }
}

/// A number in a message: see [`show`].
#[derive(Clone, Copy)]
pub struct ShownNumber(Scalar);

/// A number for a message, in nearly the same form as Lua prints it.
pub fn show(value: Scalar) -> ShownNumber {
    ShownNumber(value)
}

impl Display for ShownNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Scalar::Float(number) if number.is_nan() => f.write_str("nan"),
            Scalar::Float(number) if number.is_finite() && number.abs() >= 1e20 => write!(f, "{number:e}"),
            // This writes all digits of a whole number. Rust's shortest form would replace the last digits by zeros.
            Scalar::Float(number) if number.fract() == 0.0 => write!(f, "{number:.0}"),
            Scalar::Float(number) => write!(f, "{number}"),
            Scalar::Signed(number) => write!(f, "{number}"),
            Scalar::Unsigned(number) => write!(f, "{number}"),
            Scalar::Complex(re, im) => write!(f, "{{re={}, im={}}}", show(Scalar::Float(re)), show(Scalar::Float(im))),
        }
    }
}

/// The size of a storage and the indices that it has, for messages.
pub fn show_range(size: usize) -> impl Display {
    written(move |f| match size {
        0 => f.write_str("the storage is empty"),
        1 => f.write_str("the storage has 1 element"),
        _ => write!(f, "the storage has {size} elements, 1 to {size}"),
    })
}
