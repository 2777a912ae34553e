//! The numbers of a Lua program for dimensions, indices and sizes, which count from 1 and may count from the end.

use std::ops::Range;

use super::layout::Layout;
use crate::error::{Error, ShapeError};

/// A number as the size of a dimension.
///
/// # Errors
/// [`ShapeError::NegativeSize`].
pub fn checked_size(size: i64) -> Result<usize, Error> {
    usize::try_from(size).map_err(|_| ShapeError::NegativeSize { size, may_be_unknown: false }.into())
}

/// A number that counts from 1, or from the end if it is negative, as an index below `size`.
fn from_either_end(number: i64, size: usize) -> Option<usize> {
    match number {
        1.. => usize::try_from(number - 1).ok().filter(|&index| index < size),
        0 => None,
        _ => usize::try_from(number.unsigned_abs()).ok().and_then(|back| size.checked_sub(back)),
    }
}

impl Layout {
    /// The dimension with this number, from 0. The number counts from 1, or from the last dimension if it is negative.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn dimension(&self, number: i64) -> Result<usize, Error> {
        self.dimension_among(number, self.dimensions())
    }

    /// The position of a new dimension, from 0. The number counts from 1, or from the end if it is negative: -1 is after the last
    /// dimension.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn new_dimension(&self, number: i64) -> Result<usize, Error> {
        self.dimension_among(number, self.dimensions() + 1)
    }

    fn dimension_among(&self, number: i64, count: usize) -> Result<usize, Error> {
        let error = || ShapeError::Dimension { dimension: number, dimensions: self.dimensions() }.into();
        from_either_end(number, count).ok_or_else(error)
    }

    /// An index of a dimension, from 0. The number counts from 1.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::Index`].
    pub fn index(&self, dimension: usize, number: i64) -> Result<usize, Error> {
        self.index_among(dimension, number, number > 0)
    }

    /// Does the same as [`index`](Self::index) for a number that may be negative: then it counts from the end.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::Index`].
    pub fn index_from_either_end(&self, dimension: usize, number: i64) -> Result<usize, Error> {
        self.index_among(dimension, number, true)
    }

    fn index_among(&self, dimension: usize, number: i64, allowed: bool) -> Result<usize, Error> {
        self.check_dimension(dimension)?;
        let size = self.sizes()[dimension];
        let error = || ShapeError::Index { index: number, dimension: dimension + 1, size }.into();
        from_either_end(number, size).filter(|_| allowed).ok_or_else(error)
    }

    /// The indices from `first` to `last` of a dimension, from 0. Both numbers count from 1, or from the end if they are negative.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::Index`], [`ShapeError::Reversed`].
    pub fn range(&self, dimension: usize, first: i64, last: i64) -> Result<Range<usize>, Error> {
        let begin = self.index_from_either_end(dimension, first)?;
        let end = self.index_from_either_end(dimension, last)?;
        if end < begin {
            return Err(ShapeError::Reversed { first, last, dimension: dimension + 1 }.into());
        }
        Ok(begin..end + 1)
    }

    /// The `length` indices of a dimension from `first` on, from 0. `first` counts from 1, and may be the size plus 1 if the length
    /// is 0.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::Range`].
    pub fn range_of_length(&self, dimension: usize, first: i64, length: i64) -> Result<Range<usize>, Error> {
        self.check_dimension(dimension)?;
        let size = self.sizes()[dimension];
        let range = first.checked_sub(1).and_then(|first| {
            let (first, length) = (usize::try_from(first).ok()?, usize::try_from(length).ok()?);
            (first <= size && length <= size - first).then(|| first..first + length)
        });
        range.ok_or_else(|| ShapeError::Range { first, length, dimension: dimension + 1, size }.into())
    }
}
