//! The sizes, strides and offset of a tensor, as a file has them.
//!
//! In a file, a tensor without elements that never had a size has no dimension, and its offset is 1. Here such a tensor has one
//! dimension of size 0. A tensor without dimensions is a scalar here. A file has no scalars, so it gets one dimension of size 1.

use super::{Encoding, Malformed, Problem, Reader, Writer};
use crate::element::DType;
use crate::error::{Error, MAX_DIMENSIONS, ShapeError, Text};
use crate::fallible::collected;
use crate::tensor::{Layout, checked_size};

/// The layout of a tensor with these sizes and strides. The offset counts from 1.
///
/// # Errors
/// [`Error::Shape`], if no storage could have all the elements.
pub fn layout(sizes: &[i64], strides: &[i64], offset: i64) -> Result<Layout, Error> {
    let first = offset.checked_sub(1).and_then(|first| usize::try_from(first).ok());
    let first = first.ok_or(ShapeError::NotPositive { what: "the offset of a tensor", got: offset })?;
    let sizes = collected(sizes.iter().map(|&size| checked_size(size)))?;
    // The conversion does not fail: an `isize` has 64 bits.
    let strides = collected(strides.iter().filter_map(|&stride| isize::try_from(stride).ok()).map(Ok::<_, Error>))?;
    match (&*sizes, &*strides) {
        ([], []) | ([0], [_]) => Layout::strided(first, &[0], &[1]),
        _ => Layout::strided(first, &sizes, &strides),
    }
}

impl Reader {
    /// Reads the number of dimensions, the sizes, the strides and the offset of a tensor. Its storage follows, or nil.
    pub fn layout(&mut self) -> Result<Layout, Error> {
        let offset = self.position();
        let announced = i64::from(self.int()?);
        let dimensions = self.expect_elements(DType::Long, announced)?;
        if dimensions > MAX_DIMENSIONS {
            return Err(Malformed::refused(offset, ShapeError::TooManyDimensions { dimensions }.into()));
        }
        let (mut sizes, mut strides) = ([0_i64; MAX_DIMENSIONS], [0_i64; MAX_DIMENSIONS]);
        for list in [&mut sizes, &mut strides] {
            self.expect_elements(DType::Long, announced)?;
            // SAFETY: [live] [in-bounds] a list has room for all dimensions.
            unsafe { self.elements(DType::Long, list.as_mut_ptr().cast(), dimensions) }?;
            self.end_of_elements(dimensions)?;
        }
        let first = self.long()?;
        layout(&sizes[..dimensions], &strides[..dimensions], first).map_err(|error| Malformed::refused(offset, error))
    }
}

impl Writer {
    /// Writes the number of dimensions, the sizes, the strides and the offset of a tensor. The caller writes its storage next, or
    /// nil.
    ///
    /// # Errors
    /// [`Error::Malformed`], before anything is written, if the file has longs of 4 bytes and a number needs more; otherwise as
    /// [`int`](Self::int).
    pub fn layout(&mut self, layout: &Layout) -> Result<(), Error> {
        let (sizes, strides): (&[usize], &[isize]) = match layout.sizes() {
            [] => (&[1], &[1]),
            [0] => (&[], &[]),
            sizes => (sizes, layout.strides()),
        };
        // The conversions do not fail: a layout has at most 64 dimensions, and its numbers are at most 2^63-1.
        let dimensions = i32::try_from(sizes.len()).unwrap_or(i32::MAX);
        let sizes = sizes.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX));
        let strides = strides.iter().map(|&stride| i64::try_from(stride).unwrap_or(i64::MAX));
        let first = i64::try_from(layout.offset()).unwrap_or(i64::MAX).saturating_add(1);
        if matches!(self.encoding(), Encoding::Binary { long: 4, .. })
            && let Some(wide) = sizes.clone().chain(strides.clone()).chain([first]).find(|&number| i32::try_from(number).is_err())
        {
            let why = Text::displayed(&format_args!(
                "the number {wide} of its sizes, strides and offset does not fit into a long of 4 bytes"
            ));
            return Err(Malformed { offset: self.position(), problem: Problem::Refused { why } }.into());
        }
        self.int(dimensions)?;
        self.longs(sizes)?;
        self.longs(strides)?;
        self.long(first)
    }

    /// Writes numbers as a block of longs.
    fn longs(&mut self, numbers: impl Iterator<Item = i64>) -> Result<(), Error> {
        for number in numbers {
            // SAFETY: [live] [in-bounds] a reference to a long can be read as one element.
            unsafe { self.elements(DType::Long, (&raw const number).cast(), 1) }?;
        }
        self.end_of_elements()
    }
}
