//! Views with other dimensions: exchanged, added, removed and expanded ones.

use super::layout::{Layout, from_one};
use super::shape::{Shape, Sizes, Strides, copied, with_room};
use crate::error::{Error, MAX_DIMENSIONS, ShapeError};

impl Layout {
    /// Exchanges two dimensions.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn transpose(&self, one: usize, other: usize) -> Result<Self, Error> {
        self.check_dimension(one)?;
        self.check_dimension(other)?;
        let (mut sizes, mut strides) = self.copied(0)?;
        sizes.swap(one, other);
        strides.swap(one, other);
        Ok(self.with_as_many(sizes, strides))
    }

    /// Exchanges the two dimensions of a matrix.
    ///
    /// # Errors
    /// [`ShapeError::NotAMatrix`].
    pub fn matrix_transpose(&self) -> Result<Self, Error> {
        match self.dimensions() {
            2 => self.transpose(0, 1),
            dimensions => Err(ShapeError::NotAMatrix { dimensions }.into()),
        }
    }

    /// Orders the dimensions anew: dimension `d` of the result is dimension `order[d]` of this layout.
    ///
    /// # Errors
    /// [`ShapeError::Permutation`] if not each dimension is there once.
    pub fn permute(&self, order: &[usize]) -> Result<Self, Error> {
        let dimensions = self.dimensions();
        let mut seen = [false; MAX_DIMENSIONS];
        let is_new = |&dimension: &usize| dimension < dimensions && !std::mem::replace(&mut seen[dimension], true);
        if order.len() != dimensions || !order.iter().all(is_new) {
            let mut numbers = [0; MAX_DIMENSIONS + 1];
            for (number, &dimension) in numbers.iter_mut().zip(order) {
                *number = from_one(dimension);
            }
            // With one more number than an error shows, it says that there are more.
            let order = numbers[..order.len().min(numbers.len())].into();
            return Err(ShapeError::Permutation { order, dimensions }.into());
        }
        let (mut sizes, mut strides) = (with_room(dimensions)?, with_room(dimensions)?);
        for &dimension in order {
            sizes.push(self.sizes()[dimension]);
            strides.push(self.strides()[dimension]);
        }
        Ok(self.with_as_many(sizes, strides))
    }

    /// Repeats dimensions of size 1, without a copy: they get the wanted sizes and the stride 0. Each other size must be that of
    /// the dimension.
    ///
    /// # Errors
    /// [`ShapeError::ExpandCount`], [`ShapeError::Expand`], [`ShapeError::TooManyElements`].
    pub fn expand(&self, wanted: &[usize]) -> Result<Self, Error> {
        let facts = || (wanted.into(), self.sizes().into());
        if wanted.len() != self.dimensions() {
            let (wanted, sizes) = facts();
            return Err(ShapeError::ExpandCount { wanted, sizes }.into());
        }
        let mut strides = copied(self.strides(), 0)?;
        for (dimension, (&size, &new)) in self.sizes().iter().zip(wanted).enumerate() {
            if size != new {
                if size != 1 {
                    let (wanted, sizes) = facts();
                    return Err(ShapeError::Expand { wanted, sizes, dimension: dimension + 1 }.into());
                }
                strides[dimension] = 0;
            }
        }
        Ok(Self::inside(self.offset(), Shape::new(wanted)?, strides))
    }

    /// Removes all dimensions of size 1. What is left of a single element is a scalar.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn squeeze(&self) -> Result<Self, Error> {
        let (sizes, strides) = self.kept(|_, size| size != 1)?;
        Ok(self.with_as_many(sizes, strides))
    }

    /// Removes one dimension if its size is 1.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn squeeze_dimension(&self, dimension: usize) -> Result<Self, Error> {
        self.check_dimension(dimension)?;
        let (sizes, strides) = self.kept(|at, size| at != dimension || size != 1)?;
        Ok(self.with_as_many(sizes, strides))
    }

    /// Inserts a dimension of size 1 before dimension `dimension`, or after the last one. Its stride is `size * stride` of the
    /// dimension that it pushes back, or 1 at the end.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`], [`ShapeError::TooManyDimensions`], [`ShapeError::StrideTooLarge`].
    pub fn unsqueeze(&self, dimension: usize) -> Result<Self, Error> {
        let dimensions = self.dimensions();
        if dimension > dimensions {
            self.check_dimension(dimension)?;
        }
        if dimensions == MAX_DIMENSIONS {
            return Err(ShapeError::TooManyDimensions { dimensions: dimensions + 1 }.into());
        }
        let stride = match (self.sizes().get(dimension), self.strides().get(dimension)) {
            (Some(&size), Some(&stride)) => {
                isize::try_from(size).ok().and_then(|size| size.checked_mul(stride)).ok_or_else(|| self.stride_too_large())?
            }
            _ => 1,
        };
        let (mut sizes, mut strides) = self.copied(1)?;
        sizes.insert(dimension, 1);
        strides.insert(dimension, stride);
        Ok(self.with_as_many(sizes, strides))
    }

    /// The sizes and strides of the dimensions for which `wanted`, called with the number and the size of each, returns true.
    #[inline]
    pub(super) fn kept(&self, wanted: impl Fn(usize, usize) -> bool) -> Result<(Sizes, Strides), Error> {
        let (mut sizes, mut strides) = (with_room(self.dimensions())?, with_room(self.dimensions())?);
        for (dimension, (&size, &stride)) in self.sizes().iter().zip(self.strides()).enumerate() {
            if wanted(dimension, size) {
                sizes.push(size);
                strides.push(stride);
            }
        }
        Ok((sizes, strides))
    }

    /// The same elements with other sizes and strides.
    #[inline]
    fn with_as_many(&self, sizes: Sizes, strides: Strides) -> Self {
        Self::inside(self.offset(), Shape::of_known_product(sizes, self.elements()), strides)
    }
}
