//! Where the elements of a tensor are in its storage.

use std::fmt;
use std::ops::Range;

use super::shape::{Shape, Sizes, Strides, copied, repeated};
use crate::error::{Error, ShapeError};

/// Where the elements of a tensor are in its storage: the element that comes first, and a size and a stride for each dimension.
///
/// Element `(i, j, ...)` of the tensor is element `offset + i * strides[0] + j * strides[1] + ...` of the storage. A stride may be
/// negative or 0. No element has an index below 0 or above `isize::MAX`, so indices of elements cannot overflow. Whether the
/// storage has all these elements is another question, because a storage may shrink: see [`span_in`](Self::span_in).
///
/// ```
/// # #[cfg(feature = "host")]
/// use torch_storage::host::Layout;
/// # #[cfg(not(feature = "host"))]
/// # use torch_storage::tensor::Layout;
///
/// let rows = Layout::contiguous(&[2, 3])?;
/// let columns = rows.transpose(0, 1)?;
/// assert_eq!((columns.sizes(), columns.strides()), ([3, 2].as_slice(), [1, 3].as_slice()));
/// assert_eq!(columns.select(0, 2)?.offset(), 2);
/// assert_eq!(rows.view(&[3, -1])?.sizes(), [3, 2]);
/// assert!(columns.view(&[6]).is_err()); // the elements are not at equal distances
/// # Ok::<(), torch_storage::Error>(())
/// ```
#[derive(PartialEq, Eq)]
pub struct Layout {
    offset: usize,
    shape: Shape,
    strides: Strides,
}

impl Clone for Layout {
    fn clone(&self) -> Self {
        // As in `Shape`, all strides are copied at once.
        Self { offset: self.offset, shape: self.shape.clone(), strides: Strides::from_slice(&self.strides) }
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout {{ {:?}, strides {:?}, from {} }}", self.shape, self.strides(), self.offset)
    }
}

impl Layout {
    /// Does what `clone` does, which ends the process if there is no memory for more than six dimensions.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    #[inline]
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { offset: self.offset, shape: self.shape.try_clone()?, strides: copied(&self.strides, 0)? })
    }

    /// The layout of a tensor whose elements follow each other in row-major order, from the first element of the storage on.
    ///
    /// # Errors
    /// [`ShapeError::TooManyDimensions`], [`ShapeError::TooManyElements`].
    pub fn contiguous(sizes: &[usize]) -> Result<Self, Error> {
        Self::contiguous_from(0, Shape::new(sizes)?)
    }

    /// The layout of all elements of a storage of `size` elements, as a tensor of one dimension.
    #[must_use]
    #[inline]
    pub fn of_storage(size: usize) -> Self {
        Self { offset: 0, shape: Shape::of_line(size), strides: Strides::from_buf_and_len([1; 6], 1) }
    }

    /// Does the same as [`contiguous`](Self::contiguous), from element `offset` (from 0) of the storage on.
    ///
    /// # Errors
    /// [`ShapeError::TooManyElements`], [`ShapeError::Outside`].
    pub fn contiguous_at(offset: usize, shape: &Shape) -> Result<Self, Error> {
        Self::contiguous_from(offset, shape.try_clone()?)
    }

    /// Does the same as [`contiguous_at`](Self::contiguous_at), and keeps the shape.
    #[inline]
    pub(super) fn contiguous_from(offset: usize, shape: Shape) -> Result<Self, Error> {
        let last = offset.saturating_add(shape.elements().saturating_sub(1));
        let mut layout = Self { offset, strides: repeated(1, shape.sizes().len())?, shape };
        layout.shape.set_contiguous(&mut layout.strides)?;
        if last < isize::MAX.unsigned_abs() { Ok(layout) } else { Err(layout.outside(None)) }
    }

    /// A layout with these sizes and strides, whose first element is element `offset` (from 0) of the storage.
    ///
    /// # Errors
    /// [`ShapeError::TooManyDimensions`], [`ShapeError::TooManyElements`]; [`ShapeError::StrideCount`] if there is not one stride
    /// for each size; [`ShapeError::Outside`] if no storage could have all the elements.
    pub fn strided(offset: usize, sizes: &[usize], strides: &[isize]) -> Result<Self, Error> {
        let shape = Shape::new(sizes)?;
        if sizes.len() != strides.len() {
            return Err(ShapeError::StrideCount { sizes: sizes.len(), strides: strides.len() }.into());
        }
        let layout = Self { offset, shape, strides: copied(strides, 0)? };
        if layout.reach().is_some() { Ok(layout) } else { Err(layout.outside(None)) }
    }

    /// A layout that needs no check, because its elements are some of those of another layout. If it has no elements, its offset
    /// is below `isize::MAX`. There is one stride for each size.
    #[inline]
    pub(super) fn inside(offset: usize, shape: Shape, strides: Strides) -> Self {
        let layout = Self { offset, shape, strides };
        debug_assert!(layout.sizes().len() == layout.strides().len() && layout.reach().is_some());
        layout
    }

    /// The lowest and the highest element of the storage that the tensor has; `None` if no storage has one of them. A tensor
    /// without elements has an offset all the same, which is both.
    fn reach(&self) -> Option<(usize, usize)> {
        let offset = isize::try_from(self.offset).ok()?;
        let (mut first, mut last) = (offset, offset);
        if self.elements() > 0 {
            for (&size, &stride) in self.sizes().iter().zip(self.strides()) {
                let distance = (size.cast_signed() - 1).checked_mul(stride)?;
                let end = if stride < 0 { &mut first } else { &mut last };
                *end = end.checked_add(distance)?;
            }
        }
        (last < isize::MAX).then_some((usize::try_from(first).ok()?, last.cast_unsigned()))
    }

    /// The error for elements that a storage of `available` elements does not have, or that no storage has.
    fn outside(&self, available: Option<usize>) -> Error {
        let (mut first, mut last) = (self.offset as i128, self.offset as i128);
        if self.elements() > 0 {
            for (&size, &stride) in self.sizes().iter().zip(self.strides()) {
                let distance = (size as i128 - 1).saturating_mul(stride as i128);
                let end = if stride < 0 { &mut first } else { &mut last };
                *end = end.saturating_add(distance);
            }
        }
        let (sizes, strides) = (self.sizes().into(), self.strides().into());
        let (first, last) = (first.saturating_add(1), last.saturating_add(1));
        ShapeError::Outside { sizes, strides, first, last, available }.into()
    }

    /// The range from the lowest element of the storage that the tensor has to the highest. It is empty if the tensor has no
    /// elements. Not all elements in the range need be the tensor's.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        if self.elements() == 0 {
            return 0..0;
        }
        // Every constructor makes sure that a storage can have both.
        self.reach().map_or(0..usize::MAX, |(first, last)| first..last + 1)
    }

    /// Returns the [`span`](Self::span) if a storage of `available` elements has all of it.
    ///
    /// # Errors
    /// [`ShapeError::Outside`].
    pub fn span_in(&self, available: usize) -> Result<Range<usize>, Error> {
        let span = self.span();
        if span.end > available { Err(self.outside(Some(available))) } else { Ok(span) }
    }

    /// The index in the storage of the tensor's first element, if it has elements.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The sizes as a shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sizes of all dimensions.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        self.shape.sizes()
    }

    /// The strides of all dimensions, in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of dimensions.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.sizes().len()
    }

    /// The number of elements. Elements that several positions of the tensor share count several times.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.shape.elements()
    }

    /// Whether the elements follow each other in the storage in row-major order. The strides of dimensions of size 1 do not
    /// matter. This is Torch7's rule.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.elements() == 0
            || self.sizes().iter().zip(self.strides()).rev().filter(|(size, _)| **size != 1).all(|(&size, &stride)| {
                let fits = stride == expected;
                expected = expected.wrapping_mul(size.cast_signed());
                fits
            })
    }

    /// The index in the storage of an element, which is named by an index (from 0) for each dimension.
    ///
    /// # Errors
    /// [`ShapeError::IndexCount`], [`ShapeError::Index`].
    pub fn element(&self, indices: &[usize]) -> Result<usize, Error> {
        if indices.len() != self.dimensions() {
            return Err(ShapeError::IndexCount { indices: indices.len(), dimensions: self.dimensions() }.into());
        }
        let mut element = self.offset;
        for (dimension, &index) in indices.iter().enumerate() {
            self.check_index(dimension, index)?;
            element = element.wrapping_add_signed(self.strides[dimension].wrapping_mul(index.cast_signed()));
        }
        // The first index may lead beyond the range of `usize`, and the next one back. The sum of all is inside it.
        Ok(element)
    }

    /// The sizes and strides, to be changed. There is room for `more` dimensions.
    #[inline]
    pub(super) fn copied(&self, more: usize) -> Result<(Sizes, Strides), Error> {
        Ok((copied(self.sizes(), more)?, copied(&self.strides, more)?))
    }

    /// Returns an error if a dimension does not exist.
    pub(super) fn check_dimension(&self, dimension: usize) -> Result<(), Error> {
        let dimensions = self.dimensions();
        if dimension < dimensions {
            return Ok(());
        }
        Err(ShapeError::Dimension { dimension: from_one(dimension), dimensions }.into())
    }

    /// Returns an error if an existing dimension does not have this index.
    pub(super) fn check_index(&self, dimension: usize, index: usize) -> Result<(), Error> {
        let size = self.sizes()[dimension];
        if index < size {
            return Ok(());
        }
        Err(ShapeError::Index { index: from_one(index), dimension: dimension + 1, size }.into())
    }

    /// The error for a stride that would be too large.
    pub(super) fn stride_too_large(&self) -> Error {
        ShapeError::StrideTooLarge { sizes: self.sizes().into(), strides: self.strides().into() }.into()
    }
}

/// A number that counts from 0 as one that counts from 1, for an error.
pub(super) fn from_one(number: usize) -> i64 {
    i64::try_from(number).map_or(i64::MAX, |number| number.saturating_add(1))
}
