//! Views with other sizes: PyTorch's `view` and `reshape`, and views of the same bytes as another dtype.

use super::layout::Layout;
use super::shape::{Shape, Strides, product, repeated};
use crate::element::DType;
use crate::error::{Error, MAX_DIMENSIONS, ShapeError, WidthObstacle};

/// What [`Layout::reshape`] finds out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reshaped {
    /// The elements where they are.
    View(Layout),
    /// The layout of a contiguous copy, in a storage of its own.
    Copy(Layout),
}

impl Layout {
    /// The same elements in the same order with other sizes. One of these may be -1: it is calculated from the others. This is
    /// PyTorch's rule, with PyTorch's strides.
    ///
    /// # Errors
    /// [`ShapeError::NeedsCopy`] if the elements would not be at equal distances, and those of a shape with these sizes.
    pub fn view(&self, sizes: &[i64]) -> Result<Self, Error> {
        let shape = Shape::of_view(sizes, self.shape())?;
        if let Some(strides) = self.strides_of_view(&shape)? {
            return Ok(Self::inside(self.offset(), shape, strides));
        }
        let (sizes, strides) = (self.sizes().into(), self.strides().into());
        Err(ShapeError::NeedsCopy { view: shape.sizes().into(), sizes, strides }.into())
    }

    /// A view with other sizes, as by [`view`](Self::view), or the layout of a copy where no view is possible.
    ///
    /// # Errors
    /// Those of a shape with these sizes.
    pub fn reshape(&self, sizes: &[i64]) -> Result<Reshaped, Error> {
        let shape = Shape::of_view(sizes, self.shape())?;
        Ok(match self.strides_of_view(&shape)? {
            Some(strides) => Reshaped::View(Self::inside(self.offset(), shape, strides)),
            None => Reshaped::Copy(Self::contiguous_from(0, shape)?),
        })
    }

    /// The strides of a view with the sizes of `shape`, which has the same number of elements; `None` if there is no such view.
    ///
    /// The dimensions fall into chunks, in which every stride is the size times the stride of the next dimension. Every new
    /// dimension must lie in one chunk. A new dimension of size 1 fits anywhere, and gets the stride that continues the chunk on its
    /// right.
    #[inline]
    fn strides_of_view(&self, shape: &Shape) -> Result<Option<Strides>, Error> {
        let (old, old_strides, new) = (self.sizes(), self.strides(), shape.sizes());
        let mut strides = repeated(1, new.len())?;
        if self.elements() == 0 {
            if old == new {
                strides.copy_from_slice(old_strides);
            } else {
                shape.set_contiguous(&mut strides)?;
            }
            return Ok(Some(strides));
        }
        let Some(&last) = old_strides.last() else { return Ok(Some(strides)) };
        // The new dimensions that have no stride yet, and the stride of the last dimension of the chunk.
        let (mut open, mut base) = (new.len(), last);
        let (mut in_chunk, mut in_view) = (1_usize, 1_usize);
        let distance = |number: usize, stride: isize| number.cast_signed().checked_mul(stride);
        for dimension in (0..old.len()).rev() {
            in_chunk *= old[dimension];
            let goes_on =
                dimension > 0 && (old[dimension - 1] == 1 || Some(old_strides[dimension - 1]) == distance(in_chunk, base));
            if goes_on {
                continue;
            }
            while open > 0 && (in_view < in_chunk || new[open - 1] == 1) {
                open -= 1;
                strides[open] = distance(in_view, base).ok_or_else(|| self.stride_too_large())?;
                in_view *= new[open];
            }
            if in_view != in_chunk {
                return Ok(None);
            }
            if dimension > 0 {
                (base, in_chunk, in_view) = (old_strides[dimension - 1], 1, 1);
            }
        }
        Ok((open == 0).then_some(strides))
    }

    /// The same bytes as elements of another dtype. If the width changes, the last size changes with it. These are PyTorch's
    /// conditions.
    ///
    /// # Errors
    /// [`ShapeError::Width`], [`ShapeError::TooManyElements`], [`ShapeError::StrideTooLarge`], [`ShapeError::Outside`].
    pub fn view_dtype(&self, from: DType, to: DType) -> Result<Self, Error> {
        if from.width() == to.width() {
            return self.try_clone();
        }
        let refused = |obstacle| Error::from(ShapeError::Width { from, to, obstacle });
        let (mut sizes, mut strides) = self.copied(0)?;
        let Some(last) = self.dimensions().checked_sub(1) else { return Err(refused(WidthObstacle::NoDimension)) };
        if strides[last] != 1 {
            return Err(refused(WidthObstacle::LastStride(strides[last])));
        }
        let mut offset = self.offset();
        if from.width() > to.width() {
            let ratio = from.width() / to.width();
            let too_many = || ShapeError::TooManyElements { sizes: self.sizes().into() };
            sizes[last] = sizes[last].checked_mul(ratio).ok_or_else(too_many)?;
            offset = offset.checked_mul(ratio).ok_or_else(|| self.stride_too_large())?;
            for stride in &mut strides[..last] {
                *stride = stride.checked_mul(ratio.cast_signed()).ok_or_else(|| self.stride_too_large())?;
            }
        } else {
            let ratio = to.width() / from.width();
            if !sizes[last].is_multiple_of(ratio) {
                return Err(refused(WidthObstacle::LastSize(sizes[last], ratio)));
            }
            if !offset.is_multiple_of(ratio) {
                return Err(refused(WidthObstacle::Offset(offset, ratio)));
            }
            sizes[last] /= ratio;
            offset /= ratio;
            for (dimension, stride) in strides[..last].iter_mut().enumerate() {
                if *stride % ratio.cast_signed() != 0 {
                    return Err(refused(WidthObstacle::Stride(dimension + 1, *stride, ratio)));
                }
                *stride /= ratio.cast_signed();
            }
        }
        Self::strided(offset, &sizes, &strides)
    }
}

impl Shape {
    /// The sizes of a view of the elements of `tensor`. At most one of them is -1, and is calculated from the others.
    ///
    /// # Errors
    /// [`ShapeError::NegativeSize`], [`ShapeError::SeveralUnknown`], [`ShapeError::ViewSize`], [`ShapeError::NotDivisible`],
    /// [`ShapeError::Undetermined`], [`ShapeError::TooManyDimensions`], [`ShapeError::TooManyElements`].
    #[inline]
    pub fn of_view(sizes: &[i64], tensor: &Self) -> Result<Self, Error> {
        let elements = tensor.elements();
        if sizes.len() > MAX_DIMENSIONS {
            return Err(ShapeError::TooManyDimensions { dimensions: sizes.len() }.into());
        }
        let mut known = repeated(1, sizes.len())?;
        let mut unknown = None;
        for (dimension, &size) in sizes.iter().enumerate() {
            match usize::try_from(size) {
                Ok(size) => known[dimension] = size,
                Err(_) if size != -1 => return Err(ShapeError::NegativeSize { size, may_be_unknown: true }.into()),
                Err(_) if unknown.is_some() => return Err(ShapeError::SeveralUnknown.into()),
                Err(_) => unknown = Some(dimension),
            }
        }
        let row = product(&known)?;
        if let Some(unknown) = unknown {
            if row == 0 && elements == 0 {
                return Err(ShapeError::Undetermined.into());
            }
            if row == 0 || !elements.is_multiple_of(row) {
                return Err(ShapeError::NotDivisible { elements, row }.into());
            }
            known[unknown] = elements / row;
        } else if row != elements {
            return Err(ShapeError::ViewSize { view: (*known).into(), sizes: tensor.sizes().into() }.into());
        }
        Ok(Self::of_known_product(known, elements))
    }
}
