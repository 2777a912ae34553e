//! Views of a part of a tensor: ranges, rows, windows and pieces.

use super::layout::Layout;
use super::shape::{Shape, Sizes, Strides};
use crate::error::{Error, MAX_DIMENSIONS, ShapeError};

impl Layout {
    /// The part of a dimension from index `first` on that has `length` indices. `first` may be the size if the length is 0.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::Range`].
    pub fn narrow(&self, dimension: usize, first: usize, length: usize) -> Result<Self, Error> {
        self.check_dimension(dimension)?;
        let size = self.sizes()[dimension];
        if first > size || length > size - first {
            let (first, length) = (super::layout::from_one(first), i64::try_from(length).unwrap_or(i64::MAX));
            return Err(ShapeError::Range { first, length, dimension: dimension + 1, size }.into());
        }
        let (mut sizes, strides) = self.copied(0)?;
        sizes[dimension] = length;
        Ok(self.part(dimension, first, length, sizes, strides))
    }

    /// The part with one index of a dimension, without that dimension.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::Index`].
    pub fn select(&self, dimension: usize, index: usize) -> Result<Self, Error> {
        self.check_dimension(dimension)?;
        self.check_index(dimension, index)?;
        let (sizes, strides) = self.kept(|at, _| at != dimension)?;
        Ok(self.part(dimension, index, 1, sizes, strides))
    }

    /// The part of a dimension from index `first` on that has `length` indices, with these sizes and strides.
    #[inline]
    fn part(&self, dimension: usize, first: usize, length: usize, sizes: Sizes, strides: Strides) -> Self {
        // Only a part without elements may begin where no storage has an element. It keeps the offset of the whole.
        let distance = self.strides()[dimension].checked_mul(first.cast_signed());
        let offset = distance.and_then(|distance| self.offset().checked_add_signed(distance));
        let offset = offset.filter(|&offset| offset < isize::MAX.unsigned_abs()).unwrap_or(self.offset());
        let elements = self.elements() / self.sizes()[dimension].max(1) * length;
        Self::inside(offset, Shape::of_known_product(sizes, elements), strides)
    }

    /// All windows of `window` neighbours along a dimension, each `step` after the one before. The dimension becomes the number of
    /// the window, and a new last dimension the index in the window.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::NotPositive`], [`ShapeError::Window`], [`ShapeError::TooManyDimensions`],
    /// [`ShapeError::TooManyElements`].
    pub fn unfold(&self, dimension: usize, window: usize, step: usize) -> Result<Self, Error> {
        self.check_dimension(dimension)?;
        for (number, what) in [(window, "the size of a window"), (step, "the step between windows")] {
            if number == 0 {
                return Err(ShapeError::NotPositive { what, got: 0 }.into());
            }
        }
        let (size, dimensions) = (self.sizes()[dimension], self.dimensions());
        if window > size {
            return Err(ShapeError::Window { window, dimension: dimension + 1, size }.into());
        }
        if dimensions == MAX_DIMENSIONS {
            return Err(ShapeError::TooManyDimensions { dimensions: dimensions + 1 }.into());
        }
        let (mut sizes, mut strides) = self.copied(1)?;
        let windows = (size - window) / step + 1;
        sizes[dimension] = windows;
        sizes.push(window);
        strides.push(strides[dimension]);
        let stride = isize::try_from(step).ok().and_then(|step| step.checked_mul(strides[dimension]));
        // With a single window the stride is not used, and a step that is too large for a stride leaves a single window.
        strides[dimension] = match stride {
            Some(stride) => stride,
            None if windows == 1 => strides[dimension],
            None => return Err(self.stride_too_large()),
        };
        Ok(Self::inside(self.offset(), Shape::new(&sizes)?, strides))
    }

    /// Cuts a dimension into pieces of `size` indices. The last piece has those that are left. A dimension of size 0 is one piece.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::NotPositive`].
    pub fn split(&self, dimension: usize, size: usize) -> Result<Pieces, Error> {
        self.check_dimension(dimension)?;
        if size == 0 {
            return Err(ShapeError::NotPositive { what: "the size of a piece", got: 0 }.into());
        }
        Ok(Pieces { layout: self.try_clone()?, dimension, size, next: 0 })
    }

    /// Cuts a dimension into at most `count` pieces of the same size; the last one may be smaller. This is Torch7's rule, so 0
    /// means a single piece.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn chunk(&self, dimension: usize, count: usize) -> Result<Pieces, Error> {
        self.check_dimension(dimension)?;
        self.split(dimension, self.sizes()[dimension].div_ceil(count.max(1)).max(1))
    }
}

/// The pieces of a dimension, from the first to the last.
#[derive(Clone, Debug)]
pub struct Pieces {
    layout: Layout,
    dimension: usize,
    size: usize,
    /// The number of the next piece.
    next: usize,
}

impl Pieces {
    fn total(&self) -> usize {
        self.layout.sizes()[self.dimension].div_ceil(self.size).max(1)
    }
}

impl Iterator for Pieces {
    /// An error means that there is no memory for the layout.
    type Item = Result<Layout, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = (self.next < self.total()).then_some(self.next)?;
        self.next += 1;
        let first = number * self.size;
        let length = self.size.min(self.layout.sizes()[self.dimension] - first);
        Some(self.layout.narrow(self.dimension, first, length))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.total() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Pieces {}
