//! The errors of tensors: sizes, strides, dimensions and indices that do not fit, and their texts.

use std::fmt;
use std::ops::Deref;

use super::text::count;
use crate::element::DType;
use crate::fallible;

/// The largest number of dimensions of a tensor.
pub const MAX_DIMENSIONS: usize = 64;

/// Sizes, strides or other numbers in an error: the first 64 of them.
///
/// They are a copy. There are none of them if there was no memory for it.
#[derive(PartialEq, Eq)]
pub struct Numbers<T> {
    list: Box<[T]>,
    count: usize,
}

impl<T> Numbers<T> {
    /// How many numbers there were.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

impl<T: Copy> From<&[T]> for Numbers<T> {
    fn from(numbers: &[T]) -> Self {
        let kept = &numbers[..numbers.len().min(MAX_DIMENSIONS)];
        // A copy has no spare room, so that making a box of it allocates nothing.
        Self { list: fallible::copied(kept).unwrap_or_default().into_boxed_slice(), count: numbers.len() }
    }
}

impl<T: Copy> Clone for Numbers<T> {
    fn clone(&self) -> Self {
        Self { count: self.count, ..Self::from(&*self.list) }
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T: fmt::Debug> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A size, a stride, a dimension or an index that does not fit. Dimensions and indices are counted from 1, as in Lua.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation and the text of a variant say what its fields are")]
pub enum ShapeError {
    /// A tensor cannot have that many dimensions.
    #[error("a tensor can have at most {MAX_DIMENSIONS} dimensions, got {dimensions}")]
    TooManyDimensions { dimensions: usize },
    /// The sizes have a product that a machine cannot address.
    #[error("a tensor of {} has more elements than a machine can address", By(.sizes))]
    TooManyElements { sizes: Numbers<usize> },
    /// A negative size. One size may be -1 in some functions, to be calculated from the others.
    #[error("size {size} is not allowed: sizes are 0 or more{}", if *.may_be_unknown { ", or -1 once" } else { "" })]
    NegativeSize { size: i64, may_be_unknown: bool },
    /// More than one size is -1.
    #[error("only one size can be -1")]
    SeveralUnknown,
    /// The size that is given as -1 can be anything, because the tensor has no elements and the other sizes contain 0.
    #[error("the size for -1 is not determined: there are no elements and another size is 0, so any size would do")]
    Undetermined,
    /// The product of the sizes that are given does not divide the number of elements.
    #[error("{} cannot be divided into rows of {row}", count(*.elements, "element"))]
    NotDivisible { elements: usize, row: usize },
    /// The sizes of a view have another product than those of the tensor.
    #[error(fmt = view_size)]
    ViewSize { view: Numbers<usize>, sizes: Numbers<usize> },
    /// The elements of a view would not be at constant distances.
    #[error(
        "a view of {} would need a copy: the tensor of {} has strides {}; use x:contiguous():view(...) or x:reshape(...)",
        By(.view), By(.sizes), List(.strides)
    )]
    NeedsCopy { view: Numbers<usize>, sizes: Numbers<usize>, strides: Numbers<isize> },
    /// A number that is not a dimension of the tensor. A negative number counts from the last dimension.
    #[error("dimension {dimension} is out of range: the tensor has {}", count(*.dimensions, "dimension"))]
    Dimension { dimension: i64, dimensions: usize },
    /// An index that the dimension does not have. A negative index counts from the end.
    #[error("index {index} is out of range: dimension {dimension} has size {size}")]
    Index { index: i64, dimension: usize, size: usize },
    /// There is not one index for each dimension.
    #[error("an element has an index for each dimension: the tensor has {}, got {indices}", count(*.dimensions, "dimension"))]
    IndexCount { indices: usize, dimensions: usize },
    /// A range that is not inside a dimension.
    #[error(fmt = range)]
    Range { first: i64, length: i64, dimension: usize, size: usize },
    /// A range that ends before it begins.
    #[error("the range from {first} to {last} of dimension {dimension} ends before it begins")]
    Reversed { first: i64, last: i64, dimension: usize },
    /// There are not as many strides as sizes.
    #[error("there is a stride for each size, got {} and {}", count(*.sizes, "size"), count(*.strides, "stride"))]
    StrideCount { sizes: usize, strides: usize },
    /// A stride, or an offset, would be larger than a machine can address.
    #[error("a stride would be more than a machine can address: the tensor of {} has strides {}", By(.sizes), List(.strides))]
    StrideTooLarge { sizes: Numbers<usize>, strides: Numbers<isize> },
    /// A tensor has elements that are outside its storage, or outside any storage if `available` is `None`. The elements are counted
    /// from 1.
    #[error(fmt = outside)]
    Outside { sizes: Numbers<usize>, strides: Numbers<isize>, first: i128, last: i128, available: Option<usize> },
    /// The numbers are not a permutation of the dimensions.
    #[error("a permutation has each dimension from 1 to {dimensions} once, got {}", List(.order))]
    Permutation { order: Numbers<i64>, dimensions: usize },
    /// A tensor that is not a matrix cannot be transposed without naming two dimensions.
    #[error("t() needs a tensor of 2 dimensions, and this one has {dimensions}; use x:transpose(a, b)")]
    NotAMatrix { dimensions: usize },
    /// A window is larger than the dimension.
    #[error("a window of size {window} is too large: dimension {dimension} has size {size}")]
    Window { window: usize, dimension: usize, size: usize },
    /// A number of which at least 1 is needed.
    #[error("{what} is 1 or more, got {got}")]
    NotPositive { what: &'static str, got: i64 },
    /// An expansion with another number of sizes than the tensor has dimensions.
    #[error(
        "an expansion has a size for each dimension: the tensor of {} has {}, got {}",
        By(.sizes), count(.sizes.count(), "dimension"), count(.wanted.count(), "size")
    )]
    ExpandCount { wanted: Numbers<usize>, sizes: Numbers<usize> },
    /// An expansion of a dimension whose size is not 1: `dimension` is the first one that does not fit.
    #[error(
        "the tensor of {} cannot be expanded to {}: only dimensions of size 1 expand, and dimension {dimension} has size {}",
        By(.sizes), By(.wanted), .sizes.get(dimension - 1).copied().unwrap_or(0)
    )]
    Expand { wanted: Numbers<usize>, sizes: Numbers<usize>, dimension: usize },
    /// A tensor cannot be viewed as elements of another width.
    #[error("a {} tensor cannot be viewed as {}: {obstacle}", .from.element_name(), .to.element_name())]
    Width { from: DType, to: DType, obstacle: WidthObstacle },
    /// A copy between tensors with different numbers of elements.
    #[error(
        "a copy needs as many elements on both sides: the target of {} has {}, and the source of {} has {}",
        By(.to), elements(.to), By(.from), elements(.from)
    )]
    CopySize { to: Numbers<usize>, from: Numbers<usize> },
    /// Tensors that are joined along a dimension differ in another size.
    #[error(
        "tensors that are joined along dimension {dimension} have the same sizes otherwise: the first has {}, and this one {}",
        By(.first), By(.sizes)
    )]
    Join { first: Numbers<usize>, sizes: Numbers<usize>, dimension: usize },
    /// A mask with another number of elements than the tensor.
    #[error(
        "a mask has as many elements as the tensor: the mask of {} has {}, and the tensor of {} has {}",
        By(.mask), elements(.mask), By(.sizes), elements(.sizes)
    )]
    Mask { mask: Numbers<usize>, sizes: Numbers<usize> },
    /// The elements of a tensor do not follow each other in its storage, and an operation needs that.
    #[error(
        "the elements of the tensor of {} with strides {} do not lie side by side; x:contiguous() is a tensor whose elements do",
        By(.sizes), List(.strides)
    )]
    NotContiguous { sizes: Numbers<usize>, strides: Numbers<isize> },
}

/// What prevents a view of a tensor with elements of another width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WidthObstacle {
    /// The tensor has no dimension whose size could change.
    #[error("it has no dimension whose size could change")]
    NoDimension,
    /// The last stride is not 1.
    #[error("its last stride must be 1, and is {0}")]
    LastStride(isize),
    /// The last size is not a multiple of the ratio of the widths, which is the second number.
    #[error("its last size must be a multiple of {1}, and is {0}")]
    LastSize(usize, usize),
    /// The offset of the first element is not a multiple of the ratio of the widths, which is the second number.
    #[error("the number of elements before its first one in the storage must be a multiple of {1}, and is {0}")]
    Offset(usize, usize),
    /// The stride of a dimension (from 1) is not a multiple of the ratio of the widths, which is the last number.
    #[error("the stride of dimension {0} must be a multiple of {2}, and is {1}")]
    Stride(usize, isize, usize),
}

/// Sizes in the form `3 x 4`.
pub(super) struct By<'a>(pub &'a Numbers<usize>);

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.0.split_first() else {
            return f.write_str(if self.0.count() > 0 { "..." } else { "no dimensions" });
        };
        write!(f, "{first}")?;
        others.iter().try_for_each(|size| write!(f, " x {size}"))?;
        f.write_str(if self.0.count() > self.0.len() { " x ..." } else { "" })
    }
}

/// Strides, or other numbers, with commas between them.
struct List<'a, T>(&'a Numbers<T>);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.0.split_first() else {
            return f.write_str(if self.0.count() > 0 { "..." } else { "none" });
        };
        write!(f, "{first}")?;
        others.iter().try_for_each(|number| write!(f, ", {number}"))?;
        f.write_str(if self.0.count() > self.0.len() { ", ..." } else { "" })
    }
}

/// The number of elements of sizes whose product is known to fit.
fn elements(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

fn view_size(view: &Numbers<usize>, sizes: &Numbers<usize>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "a view of {} needs {}, and ", By(view), count(elements(view), "element"))?;
    match &**sizes {
        [] if sizes.count() == 0 => write!(f, "there is 1"),
        // This may be a view of a storage.
        [size] => write!(f, "there are {size}"),
        _ => write!(f, "the tensor of {} has {}", By(sizes), elements(sizes)),
    }
}

fn range(first: &i64, length: &i64, dimension: &usize, size: &usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if *length < 0 {
        return write!(f, "a length cannot be negative, got {length}");
    }
    write!(f, "a range of length {length} from index {first} on is out of range: dimension {dimension} has size {size}")
}

fn outside(
    sizes: &Numbers<usize>,
    strides: &Numbers<isize>,
    first: &i128,
    last: &i128,
    available: &Option<usize>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if let (true, Some(available)) = (sizes.is_empty(), available) {
        return write!(f, "the element is number {first} of its storage, which has {available}");
    }
    let strides = List(strides);
    write!(f, "the tensor of {} with strides {strides} uses elements {first} to {last} of its storage", By(sizes))?;
    match available {
        Some(available) => write!(f, ", which has {available}"),
        None => write!(f, ", and elements are counted from 1 to 2^63-1"),
    }
}
