//! Views with other dimensions: exchanged, added, removed and expanded ones.

use super::layout::{Layout, from_one};
use super::shape::{Shape, Sizes, Strides};
use crate::error::{Error, MAX_DIMENSIONS, ShapeError};

impl Layout {
    /// Exchanges two dimensions.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn transpose(&self, one: usize, other: usize) -> Result<Self, Error> {
        self.check_dimension(one)?;
        self.check_dimension(other)?;
        let (mut sizes, mut strides) = self.copied();
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
            return Err(
                ShapeError::Permutation { order: order.iter().map(|&number| from_one(number)).collect(), dimensions }.into()
            );
        }
        let (mut sizes, mut strides) = (Sizes::new(), Strides::new());
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
        let facts = || (wanted.to_vec(), self.sizes().to_vec());
        if wanted.len() != self.dimensions() {
            let (wanted, sizes) = facts();
            return Err(ShapeError::ExpandCount { wanted, sizes }.into());
        }
        let mut strides = Strides::from_slice(self.strides());
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
    #[must_use]
    pub fn squeeze(&self) -> Self {
        let (sizes, strides) = self.kept(|_, size| size != 1);
        self.with_as_many(sizes, strides)
    }

    /// Removes one dimension if its size is 1.
    ///
    /// # Errors
    /// [`ShapeError::Dimension`].
    pub fn squeeze_dimension(&self, dimension: usize) -> Result<Self, Error> {
        self.check_dimension(dimension)?;
        let (sizes, strides) = self.kept(|at, size| at != dimension || size != 1);
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
        let (mut sizes, mut strides) = self.copied();
        sizes.insert(dimension, 1);
        strides.insert(dimension, stride);
        Ok(self.with_as_many(sizes, strides))
    }

    /// The sizes and strides of the dimensions for which `wanted`, called with the number and the size of each, returns true.
    #[inline]
    pub(super) fn kept(&self, wanted: impl Fn(usize, usize) -> bool) -> (Sizes, Strides) {
        let (mut sizes, mut strides) = (Sizes::new(), Strides::new());
        for (dimension, (&size, &stride)) in self.sizes().iter().zip(self.strides()).enumerate() {
            if wanted(dimension, size) {
                sizes.push(size);
                strides.push(stride);
            }
        }
        (sizes, strides)
    }

    /// The same elements with other sizes and strides.
    #[inline]
    fn with_as_many(&self, sizes: Sizes, strides: Strides) -> Self {
        Self::inside(self.offset(), Shape::of_known_product(sizes, self.elements()), strides)
    }
}
