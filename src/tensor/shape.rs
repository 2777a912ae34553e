//! The sizes of a tensor.

use std::fmt;

use crate::error::{Error, MAX_DIMENSIONS, ShapeError};

/// The sizes of a tensor, at most [`MAX_DIMENSIONS`], whose product a machine can address. Without any size the shape is that of a
/// scalar, which has one element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    dimensions: usize,
    elements: usize,
    /// The sizes, followed by zeros.
    sizes: [usize; MAX_DIMENSIONS],
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sizes()).finish()
    }
}

impl Shape {
    /// # Errors
    /// [`ShapeError::TooManyDimensions`], [`ShapeError::TooManyElements`].
    pub fn new(sizes: &[usize]) -> Result<Self, Error> {
        let dimensions = sizes.len();
        if dimensions > MAX_DIMENSIONS {
            return Err(ShapeError::TooManyDimensions { dimensions }.into());
        }
        let elements = product(sizes)?;
        let mut shape = Self { dimensions, elements, sizes: [0; MAX_DIMENSIONS] };
        shape.sizes[..dimensions].copy_from_slice(sizes);
        Ok(shape)
    }

    /// The sizes of all dimensions.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes[..self.dimensions]
    }

    /// The number of elements: the product of the sizes.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The strides of a tensor whose elements follow each other in row-major order. A size of 0 counts like 1. Entries of
    /// dimensions that the shape does not have are 0.
    ///
    /// # Errors
    /// [`ShapeError::TooManyElements`]. It can only occur if a size is 0.
    pub(super) fn contiguous_strides(&self) -> Result<[isize; MAX_DIMENSIONS], Error> {
        let mut strides = [0; MAX_DIMENSIONS];
        let mut next = 1_usize;
        for (index, &size) in self.sizes().iter().enumerate().rev() {
            let too_many = || ShapeError::TooManyElements { sizes: self.sizes().to_vec() };
            strides[index] = isize::try_from(next).map_err(|_| too_many())?;
            // The last product is the stride of no dimension, so it may be as large as it likes.
            next = next.saturating_mul(size.max(1));
        }
        Ok(strides)
    }
}

/// The product of sizes. It is 0 if one of them is, however large the others are.
///
/// # Errors
/// [`ShapeError::TooManyElements`] if the product is above `isize::MAX`.
pub(super) fn product(sizes: &[usize]) -> Result<usize, Error> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let product = sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    let too_many = || ShapeError::TooManyElements { sizes: sizes.to_vec() }.into();
    product.filter(|&elements| isize::try_from(elements).is_ok()).ok_or_else(too_many)
}
