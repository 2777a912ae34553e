//! Operations on the elements of tensors: filling, copying, comparing.

use std::ops::Range;

use super::elements::{Elements, check_range};
use super::layout::Layout;
use super::pairs::Pairs;
use crate::bulk::{self, Writable};
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::{Error, ShapeError};
use crate::storage::Storage;

/// A storage and a layout of it.
///
/// The storage may have become smaller since the layout was made. Every operation compares the two, and changes nothing if it
/// returns an error. Ranges of elements count from 0, in row-major order of the tensor, so that a host can run a long operation in
/// several steps.
///
/// ```
/// use torch_storage::convert::Scalar;
/// use torch_storage::tensor::{Layout, Tensor};
/// use torch_storage::storage::Storage;
/// use torch_storage::DType;
///
/// let numbers = Storage::from_bytes(DType::Byte, &[1, 2, 3, 4, 5, 6])?;
/// let rows = Layout::contiguous(&[2, 3])?;
/// let columns = Tensor::new(&numbers, &rows.transpose(0, 1)?).to_storage(DType::Float)?;
/// assert_eq!((0..6).filter_map(|index| columns.get(index)).collect::<Vec<_>>(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// Tensor::new(&numbers, &rows.select(1, 1)?).fill(Scalar::Float(0.0))?;
/// assert_eq!((0..6).filter_map(|index| numbers.get(index)).collect::<Vec<_>>(), [1.0, 0.0, 3.0, 4.0, 0.0, 6.0]);
/// # Ok::<(), torch_storage::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    storage: &'a Storage,
    layout: &'a Layout,
}

/// The number of elements that are copied at once between tensors whose dimensions do not fit together.
const CHUNK: usize = 1 << 16;

impl<'a> Tensor<'a> {
    /// A tensor over a storage. Whether the storage has all its elements is checked by each operation.
    pub fn new(storage: &'a Storage, layout: &'a Layout) -> Self {
        Self { storage, layout }
    }

    /// Returns an error if the storage does not have all elements of the tensor now.
    pub fn check(&self) -> Result<(), Error> {
        self.layout.span_in(self.storage.size()).map(|_| ())
    }

    /// The storage.
    #[must_use]
    pub fn storage(&self) -> &'a Storage {
        self.storage
    }

    /// The elements as they are now, for reading, also in several threads.
    ///
    /// # Errors
    /// [`ShapeError::Outside`].
    pub fn elements(&self) -> Result<Elements<'a>, Error> {
        self.check()?;
        Ok(Elements::new(self.storage.readable(), self.layout))
    }

    /// The elements of a contiguous tensor as a range of the storage. It is empty if there are none.
    pub fn contiguous_range(&self) -> Result<Range<usize>, Error> {
        if self.layout.is_contiguous() {
            return self.layout.span_in(self.storage.size());
        }
        let (sizes, strides) = (self.layout.sizes().into(), self.layout.strides().into());
        Err(ShapeError::NotContiguous { sizes, strides }.into())
    }

    /// Sets all elements to `value`, which is converted once.
    pub fn fill(&self, value: Scalar) -> Result<(), Error> {
        self.fill_range(0..self.layout.elements(), value)
    }

    /// Sets the elements with these numbers to `value`, which is converted once.
    ///
    /// # Panics
    /// If the range is not one of the tensor's elements.
    pub fn fill_range(&self, range: Range<usize>, value: Scalar) -> Result<(), Error> {
        self.check()?;
        self.check_range(&range);
        let target = self.storage.writable()?;
        if range.is_empty() {
            return Ok(());
        }
        if let Some(range) = self.run(&range) {
            bulk::fill(target.part(range), value);
            return Ok(());
        }
        if let Some(pairs) = Pairs::alone(self.layout) {
            pairs.for_each_box(range, |(first, _), axes| bulk::fill_strided(target, value, first, axes));
        }
        Ok(())
    }

    /// Copies all elements of `source`, which has as many, in row-major order of each, and converts them. The result is the same as
    /// if all had been read before the first was written. If several positions of this tensor share an element, the last is kept.
    ///
    /// # Errors
    /// [`ShapeError::CopySize`], [`ShapeError::Outside`], [`Error::ReadOnly`]; [`Error::OutOfMemory`] if the two tensors overlap,
    /// so that the elements have to be copied twice.
    pub fn copy_from(&self, source: &Tensor<'_>) -> Result<(), Error> {
        let Some((to, from)) = self.layout.copied_once(source.layout) else {
            return self.copy_range(source, 0..self.layout.elements());
        };
        self.check()?;
        source.check()?;
        Tensor::new(self.storage, &to).copy_range(&Tensor::new(source.storage, &from), 0..to.elements())
    }

    /// Does the same as [`copy_from`](Self::copy_from) for the elements with these numbers.
    ///
    /// # Panics
    /// If the range is not one of the tensor's elements.
    pub fn copy_range(&self, source: &Tensor<'_>, range: Range<usize>) -> Result<(), Error> {
        if self.layout.elements() != source.layout.elements() {
            let sizes = |tensor: &Tensor<'_>| tensor.layout.sizes().into();
            return Err(ShapeError::CopySize { to: sizes(self), from: sizes(source) }.into());
        }
        self.check()?;
        source.check()?;
        self.check_range(&range);
        let target = self.storage.writable()?;
        if range.is_empty() {
            return Ok(());
        }
        // This is right for tensors that overlap too.
        if let (Some(to), Some(from)) = (self.run(&range), source.run(&range)) {
            bulk::copy(target.part(to), source.storage.readable().part(from));
            return Ok(());
        }
        if self.is_disjoint(source) {
            return self.copy_disjoint(source, range);
        }
        let elements = Storage::unset(source.storage.dtype(), range.len())?;
        let layout = Layout::contiguous(&[range.len()])?;
        let between = Tensor::new(&elements, &layout);
        source.copy_to(elements.writable()?, range.clone())?;
        self.put(&between, range)
    }

    /// Copies elements between tensors that do not overlap.
    fn copy_disjoint(&self, source: &Tensor<'_>, range: Range<usize>) -> Result<(), Error> {
        let (target, read) = (self.storage.writable()?, source.storage.readable());
        if let Some(pairs) = Pairs::of(self.layout, source.layout) {
            pairs.for_each_box(range, |firsts, axes| bulk::copy_strided(target, read, firsts, axes));
            return Ok(());
        }
        let elements = Storage::unset(source.storage.dtype(), CHUNK.min(range.len()))?;
        for start in range.clone().step_by(CHUNK) {
            let chunk = start..range.end.min(start + CHUNK);
            let layout = Layout::contiguous(&[chunk.len()])?;
            let between = Tensor::new(&elements, &layout);
            source.copy_to(elements.writable()?.part(0..chunk.len()), chunk.clone())?;
            self.put(&between, chunk)?;
        }
        Ok(())
    }

    /// Copies the elements with these numbers to memory with room for them, which is not that of the tensor, and converts them.
    ///
    /// # Panics
    /// If the range is not one of the tensor's elements, or if the memory has another number of elements.
    pub fn copy_to(&self, target: Writable<'_>, range: Range<usize>) -> Result<(), Error> {
        self.elements()?.copy_to(target, range)
    }

    /// Fills a range of the elements with those of `source`, which is contiguous and begins at its storage.
    pub fn put(&self, source: &Tensor<'_>, range: Range<usize>) -> Result<(), Error> {
        let (target, read, begin) = (self.storage.writable()?, source.storage.readable(), range.start);
        let whole = Layout::contiguous(self.layout.sizes())?;
        if let Some(pairs) = Pairs::of(self.layout, &whole) {
            pairs.for_each_box(range, |(to, from), axes| bulk::copy_strided(target, read, (to, from - begin), axes));
        }
        Ok(())
    }

    /// A new storage of `dtype` with the converted elements, in row-major order.
    pub fn to_storage(self, dtype: DType) -> Result<Storage, Error> {
        self.check()?;
        let elements = Storage::unset(dtype, self.layout.elements())?;
        let layout = Layout::contiguous(self.layout.sizes())?;
        Tensor::new(&elements, &layout).copy_from(&self)?;
        Ok(elements)
    }

    /// Whether the two tensors have the same dtype, the same sizes and equal elements. NaN differs from itself, and -0 equals 0.
    pub fn equals(&self, other: &Tensor<'_>) -> Result<bool, Error> {
        let once = if self.layout.sizes() == other.layout.sizes() { self.layout.compared_once(other.layout) } else { None };
        let Some((here, there)) = once else { return self.equals_range(other, 0..self.layout.elements()) };
        self.check()?;
        other.check()?;
        Tensor::new(self.storage, &here).equals_range(&Tensor::new(other.storage, &there), 0..here.elements())
    }

    /// Does the same as [`equals`](Self::equals) for the elements with these numbers.
    ///
    /// # Panics
    /// If the range is not one of the tensor's elements.
    pub fn equals_range(&self, other: &Tensor<'_>, range: Range<usize>) -> Result<bool, Error> {
        self.check()?;
        other.check()?;
        self.check_range(&range);
        if self.storage.dtype() != other.storage.dtype() || self.layout.sizes() != other.layout.sizes() {
            return Ok(false);
        }
        if range.is_empty() {
            return Ok(true);
        }
        let (left, right) = (self.storage.readable(), other.storage.readable());
        if let (Some(here), Some(there)) = (self.run(&range), other.run(&range)) {
            return Ok(bulk::equal(left.part(here), right.part(there)));
        }
        let mut equal = true;
        if let Some(pairs) = Pairs::of(self.layout, other.layout) {
            pairs.for_each_box(range, |firsts, axes| equal = equal && bulk::equal_strided(left, right, firsts, axes));
        }
        Ok(equal)
    }

    /// Whether the two tensors are known to have no byte in common. Then a copy between them can be done in steps, by
    /// [`copy_range`](Self::copy_range). It may be false for tensors whose elements take turns.
    pub fn is_disjoint(&self, other: &Tensor<'_>) -> bool {
        let bytes = |tensor: &Tensor<'_>| {
            let (span, width) = (tensor.layout.span(), tensor.storage.dtype().width());
            let first = tensor.storage.data().addr();
            (first.wrapping_add(span.start.wrapping_mul(width)), first.wrapping_add(span.end.wrapping_mul(width)))
        };
        let (here, there) = (bytes(self), bytes(other));
        here.1 <= there.0 || there.1 <= here.0 || self.takes_turns_with(other)
    }

    /// Whether both tensors have elements of the same width, and all distances between elements of the two are not multiples of
    /// what all strides are multiples of. So the colours of an image whose pixels lie together take turns.
    fn takes_turns_with(&self, other: &Tensor<'_>) -> bool {
        let width = self.storage.dtype().width();
        let long = |tensor: &Tensor<'_>| {
            let strides = tensor.layout.sizes().iter().zip(tensor.layout.strides()).filter(|(size, _)| **size > 1);
            strides.fold(0, |common, (_, stride)| greatest_divisor(common, stride.unsigned_abs()))
        };
        let common = greatest_divisor(long(self), long(other));
        let first = |tensor: &Tensor<'_>| tensor.storage.data().addr().wrapping_add(tensor.layout.offset().wrapping_mul(width));
        let apart = first(self).abs_diff(first(other));
        // Addresses that are not a whole number of elements apart would need a closer look.
        width == other.storage.dtype().width()
            && apart.is_multiple_of(width)
            && common > 1
            && !(apart / width).is_multiple_of(common)
    }

    /// The range of the storage with these elements, if the tensor is contiguous.
    fn run(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let first = self.layout.offset();
        self.layout.is_contiguous().then(|| first + range.start..first + range.end)
    }

    fn check_range(&self, range: &Range<usize>) {
        check_range(self.layout, range);
    }
}

/// The largest number that divides both; the other number if one is 0.
fn greatest_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}
