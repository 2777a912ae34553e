//! The sizes of a tensor.

use std::fmt;

use smallvec::SmallVec;

use crate::error::{Error, MAX_DIMENSIONS, ShapeError};

/// A size for each dimension. Up to six are kept without an allocation.
pub(super) type Sizes = SmallVec<[usize; 6]>;

/// A stride for each dimension. Up to six are kept without an allocation.
pub(super) type Strides = SmallVec<[isize; 6]>;

/// The sizes of a tensor, at most [`MAX_DIMENSIONS`], whose product a machine can address. Without any size the shape is that of a
/// scalar, which has one element.
#[derive(PartialEq, Eq)]
pub struct Shape {
    elements: usize,
    sizes: Sizes,
}

impl Clone for Shape {
    fn clone(&self) -> Self {
        // This copies all sizes at once. `SmallVec::clone` copies them one by one.
        Self { elements: self.elements, sizes: Sizes::from_slice(&self.sizes) }
    }
}

impl Shape {
    /// Does what `clone` does, which ends the process if there is no memory for more than six sizes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    #[inline]
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { elements: self.elements, sizes: copied(&self.sizes, 0)? })
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sizes()).finish()
    }
}

impl Shape {
    /// # Errors
    /// [`ShapeError::TooManyDimensions`], [`ShapeError::TooManyElements`]; [`Error::OutOfMemory`].
    #[inline]
    pub fn new(sizes: &[usize]) -> Result<Self, Error> {
        let dimensions = sizes.len();
        if dimensions > MAX_DIMENSIONS {
            return Err(ShapeError::TooManyDimensions { dimensions }.into());
        }
        Ok(Self { elements: product(sizes)?, sizes: copied(sizes, 0)? })
    }

    /// The shape of one dimension of this size, which a storage has.
    #[inline]
    pub(super) fn of_line(size: usize) -> Self {
        debug_assert!(isize::try_from(size).is_ok());
        Self { elements: size, sizes: Sizes::from_buf_and_len([size; 6], 1) }
    }

    /// A shape whose number of elements the caller knows. There are at most [`MAX_DIMENSIONS`] sizes.
    #[inline]
    pub(super) fn of_known_product(sizes: Sizes, elements: usize) -> Self {
        debug_assert!(sizes.len() <= MAX_DIMENSIONS);
        debug_assert_eq!(product(&sizes).ok(), Some(elements));
        Self { elements, sizes }
    }

    /// The sizes of all dimensions.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The number of elements: the product of the sizes.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Sets `strides`, one for each size, to those of a tensor whose elements follow each other in row-major
    /// order. A size of 0 counts like 1.
    ///
    /// # Errors
    /// [`ShapeError::TooManyElements`]. It can only occur if a size is 0.
    #[inline]
    pub(super) fn set_contiguous(&self, strides: &mut [isize]) -> Result<(), Error> {
        let mut next = 1_usize;
        for (stride, &size) in strides.iter_mut().zip(self.sizes()).rev() {
            let too_many = || ShapeError::TooManyElements { sizes: self.sizes().into() };
            *stride = isize::try_from(next).map_err(|_| too_many())?;
            // The last product is the stride of no dimension, so it may be as large as it likes.
            next = next.saturating_mul(size.max(1));
        }
        Ok(())
    }
}

/// `count` numbers, to be replaced. Up to six come from an array, which is faster than `SmallVec::from_elem`. Fails if
/// there is no memory for more.
#[inline]
pub(super) fn repeated<T: Copy>(number: T, count: usize) -> Result<SmallVec<[T; 6]>, Error> {
    if count <= 6 {
        return Ok(SmallVec::from_buf_and_len([number; 6], count));
    }
    let mut list = with_room(count)?;
    list.resize(count, number);
    Ok(list)
}

/// A copy of numbers, with room for `more` after them.
#[inline]
pub(super) fn copied<T: Copy>(numbers: &[T], more: usize) -> Result<SmallVec<[T; 6]>, Error> {
    // This copies all numbers at once. `SmallVec::clone` copies them one by one.
    if numbers.len() + more <= 6 {
        return Ok(SmallVec::from_slice(numbers));
    }
    let mut list = with_room(numbers.len() + more)?;
    list.extend_from_slice(numbers);
    Ok(list)
}

/// An empty list with room for `count` numbers.
#[inline]
pub(super) fn with_room<T: Copy>(count: usize) -> Result<SmallVec<[T; 6]>, Error> {
    let mut list = SmallVec::new();
    if count > 6 {
        list.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes: count * size_of::<T>() })?;
    }
    Ok(list)
}

/// The product of sizes. It is 0 if one of them is, however large the others are.
///
/// # Errors
/// [`ShapeError::TooManyElements`] if the product is above `isize::MAX`.
#[inline]
pub(super) fn product(sizes: &[usize]) -> Result<usize, Error> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let product = sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    let too_many = || ShapeError::TooManyElements { sizes: sizes.into() }.into();
    product.filter(|&elements| isize::try_from(elements).is_ok()).ok_or_else(too_many)
}
