//! The errors of tensors: sizes, strides, dimensions and indices that do not fit, and their texts.

use std::fmt;
use std::ops::Deref;

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
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// A tensor cannot have that many dimensions.
    TooManyDimensions {
        /// The number that was requested.
        dimensions: usize,
    },
    /// The sizes have a product that a machine cannot address.
    TooManyElements {
        /// The sizes.
        sizes: Numbers<usize>,
    },
    /// A negative size.
    NegativeSize {
        /// The size.
        size: i64,
        /// Whether one size may be -1, to be calculated from the others.
        may_be_unknown: bool,
    },
    /// More than one size is -1.
    SeveralUnknown,
    /// The size that is given as -1 can be anything, because the tensor has no elements and the other sizes contain 0.
    Undetermined,
    /// The product of the sizes that are given does not divide the number of elements.
    NotDivisible {
        /// The number of elements.
        elements: usize,
        /// The product of the other sizes.
        row: usize,
    },
    /// The sizes of a view have another product than those of the tensor.
    ViewSize {
        /// The sizes that were requested.
        view: Numbers<usize>,
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
    },
    /// The elements of a view would not be at constant distances.
    NeedsCopy {
        /// The sizes that were requested.
        view: Numbers<usize>,
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
        /// The strides of the tensor.
        strides: Numbers<isize>,
    },
    /// A number that is not a dimension of the tensor.
    Dimension {
        /// The number. A negative number counts from the last dimension.
        dimension: i64,
        /// The number of dimensions.
        dimensions: usize,
    },
    /// An index that the dimension does not have.
    Index {
        /// The index. A negative index counts from the end.
        index: i64,
        /// The dimension.
        dimension: usize,
        /// The size of the dimension.
        size: usize,
    },
    /// There is not one index for each dimension.
    IndexCount {
        /// The number of indices.
        indices: usize,
        /// The number of dimensions.
        dimensions: usize,
    },
    /// A range that is not inside a dimension.
    Range {
        /// The first index.
        first: i64,
        /// The number of indices.
        length: i64,
        /// The dimension.
        dimension: usize,
        /// The size of the dimension.
        size: usize,
    },
    /// A range that ends before it begins.
    Reversed {
        /// The first index, as it was given.
        first: i64,
        /// The last index, as it was given.
        last: i64,
        /// The dimension.
        dimension: usize,
    },
    /// There are not as many strides as sizes.
    StrideCount {
        /// The number of sizes.
        sizes: usize,
        /// The number of strides.
        strides: usize,
    },
    /// A stride, or an offset, would be larger than a machine can address.
    StrideTooLarge {
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
        /// The strides of the tensor.
        strides: Numbers<isize>,
    },
    /// A tensor has elements that are outside its storage. The numbers of the elements count from 1.
    Outside {
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
        /// The strides of the tensor.
        strides: Numbers<isize>,
        /// The lowest element of the storage that the tensor has.
        first: i128,
        /// The highest one.
        last: i128,
        /// The number of elements of the storage; `None` for any storage.
        available: Option<usize>,
    },
    /// The numbers are not a permutation of the dimensions.
    Permutation {
        /// The numbers.
        order: Numbers<i64>,
        /// The number of dimensions.
        dimensions: usize,
    },
    /// A tensor that is not a matrix cannot be transposed without naming two dimensions.
    NotAMatrix {
        /// The number of dimensions.
        dimensions: usize,
    },
    /// A window is larger than the dimension.
    Window {
        /// The size of the window.
        window: usize,
        /// The dimension.
        dimension: usize,
        /// The size of the dimension.
        size: usize,
    },
    /// A number of which at least 1 is needed.
    NotPositive {
        /// What the number is: `"the size of a window"` ...
        what: &'static str,
        /// The number.
        got: i64,
    },
    /// An expansion with another number of sizes than the tensor has dimensions.
    ExpandCount {
        /// The sizes that were requested.
        wanted: Numbers<usize>,
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
    },
    /// An expansion of a dimension whose size is not 1.
    Expand {
        /// The sizes that were requested.
        wanted: Numbers<usize>,
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
        /// The first dimension that does not fit.
        dimension: usize,
    },
    /// A tensor cannot be viewed as elements of another width.
    Width {
        /// The dtype of the tensor.
        from: DType,
        /// The dtype that was requested.
        to: DType,
        /// What prevents it.
        obstacle: WidthObstacle,
    },
    /// A copy between tensors with different numbers of elements.
    CopySize {
        /// The sizes of the target.
        target: Numbers<usize>,
        /// The sizes of the source.
        source: Numbers<usize>,
    },
    /// The elements of a tensor do not follow each other in its storage, and an operation needs that.
    NotContiguous {
        /// The sizes of the tensor.
        sizes: Numbers<usize>,
        /// The strides of the tensor.
        strides: Numbers<isize>,
    },
}

/// What prevents a view of a tensor with elements of another width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WidthObstacle {
    /// The tensor has no dimension whose size could change.
    NoDimension,
    /// The last stride is not 1.
    LastStride(isize),
    /// The last size is not a multiple of the ratio of the widths, which is the second number.
    LastSize(usize, usize),
    /// The offset of the first element is not a multiple of the ratio of the widths, which is the second number.
    Offset(usize, usize),
    /// The stride of a dimension (from 1) is not a multiple of the ratio of the widths, which is the last number.
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

/// A number of things, for example `1 element` or `2 elements`.
pub(super) struct Count<'a>(usize, &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

pub(super) fn count(number: usize, what: &str) -> Count<'_> {
    Count(number, what)
}

/// The number of elements of sizes whose product is known to fit.
fn elements(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyDimensions { dimensions } => {
                write!(f, "a tensor can have at most {MAX_DIMENSIONS} dimensions, got {dimensions}")
            }
            Self::TooManyElements { sizes } => {
                write!(f, "a tensor of {} has more elements than a machine can address", By(sizes))
            }
            Self::NegativeSize { size, may_be_unknown: true } => {
                write!(f, "size {size} is not allowed: sizes are 0 or more, or -1 once")
            }
            Self::NegativeSize { size, .. } => write!(f, "size {size} is not allowed: sizes are 0 or more"),
            Self::SeveralUnknown => write!(f, "only one size can be -1"),
            Self::Undetermined => {
                write!(f, "the size for -1 is not determined: there are no elements and another size is 0, so any size would do")
            }
            Self::NotDivisible { elements, row } => {
                write!(f, "{} cannot be divided into rows of {row}", count(*elements, "element"))
            }
            Self::ViewSize { view, sizes } => {
                write!(f, "a view of {} needs {}, and ", By(view), count(elements(view), "element"))?;
                match &**sizes {
                    [] if sizes.count() == 0 => write!(f, "there is 1"),
                    // This may be a view of a storage.
                    [size] => write!(f, "there are {size}"),
                    _ => write!(f, "the tensor of {} has {}", By(sizes), elements(sizes)),
                }
            }
            Self::NeedsCopy { view, sizes, strides } => write!(
                f,
                "a view of {} would need a copy: the tensor of {} has strides {}; use x:contiguous():view(...) or x:reshape(...)",
                By(view),
                By(sizes),
                List(strides)
            ),
            Self::Dimension { dimension, dimensions } => {
                write!(f, "dimension {dimension} is out of range: the tensor has {}", count(*dimensions, "dimension"))
            }
            Self::Index { index, dimension, size } => {
                write!(f, "index {index} is out of range: dimension {dimension} has size {size}")
            }
            Self::IndexCount { indices, dimensions } => write!(
                f,
                "an element has an index for each dimension: the tensor has {}, got {indices}",
                count(*dimensions, "dimension")
            ),
            Self::Range { length, .. } if *length < 0 => write!(f, "a length cannot be negative, got {length}"),
            Self::Range { first, length, dimension, size } => {
                write!(
                    f,
                    "a range of length {length} from index {first} on is out of range: dimension {dimension} has size {size}"
                )
            }
            Self::Reversed { first, last, dimension } => {
                write!(f, "the range from {first} to {last} of dimension {dimension} ends before it begins")
            }
            Self::StrideCount { sizes, strides } => {
                write!(f, "there is a stride for each size, got {} and {}", count(*sizes, "size"), count(*strides, "stride"))
            }
            Self::StrideTooLarge { sizes, strides } => write!(
                f,
                "a stride would be more than a machine can address: the tensor of {} has strides {}",
                By(sizes),
                List(strides)
            ),
            Self::Outside { sizes, first, available: Some(available), .. } if sizes.is_empty() => {
                write!(f, "the element is number {first} of its storage, which has {available}")
            }
            Self::Outside { sizes, strides, first, last, available } => {
                write!(
                    f,
                    "the tensor of {} with strides {} uses elements {first} to {last} of its storage",
                    By(sizes),
                    List(strides)
                )?;
                match available {
                    Some(available) => write!(f, ", which has {available}"),
                    None => write!(f, ", and elements are counted from 1 to 2^63-1"),
                }
            }
            Self::Permutation { order, dimensions } => {
                write!(f, "a permutation has each dimension from 1 to {dimensions} once, got {}", List(order))
            }
            Self::NotAMatrix { dimensions } => {
                write!(f, "t() needs a tensor of 2 dimensions, and this one has {dimensions}; use x:transpose(a, b)")
            }
            Self::Window { window, dimension, size } => {
                write!(f, "a window of size {window} is too large: dimension {dimension} has size {size}")
            }
            Self::NotPositive { what, got } => write!(f, "{what} is 1 or more, got {got}"),
            Self::ExpandCount { wanted, sizes } => write!(
                f,
                "an expansion has a size for each dimension: the tensor of {} has {}, got {}",
                By(sizes),
                count(sizes.count(), "dimension"),
                count(wanted.count(), "size")
            ),
            Self::Expand { wanted, sizes, dimension } => write!(
                f,
                "the tensor of {} cannot be expanded to {}: only dimensions of size 1 expand, and dimension {dimension} has size {}",
                By(sizes),
                By(wanted),
                sizes.get(dimension - 1).copied().unwrap_or(0)
            ),
            Self::Width { from, to, obstacle } => {
                write!(f, "a {} tensor cannot be viewed as {}: {obstacle}", from.element_name(), to.element_name())
            }
            Self::CopySize { target, source } => write!(
                f,
                "a copy needs as many elements on both sides: the target of {} has {}, and the source of {} has {}",
                By(target),
                elements(target),
                By(source),
                elements(source)
            ),
            Self::NotContiguous { sizes, strides } => write!(
                f,
                "the elements of the tensor of {} with strides {} do not lie side by side; x:contiguous() is a tensor whose elements do",
                By(sizes),
                List(strides)
            ),
        }
    }
}

impl fmt::Display for WidthObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDimension => write!(f, "it has no dimension whose size could change"),
            Self::LastStride(stride) => write!(f, "its last stride must be 1, and is {stride}"),
            Self::LastSize(size, ratio) => write!(f, "its last size must be a multiple of {ratio}, and is {size}"),
            Self::Offset(offset, ratio) => {
                write!(
                    f,
                    "the number of elements before its first one in the storage must be a multiple of {ratio}, and is {offset}"
                )
            }
            Self::Stride(dimension, stride, ratio) => {
                write!(f, "the stride of dimension {dimension} must be a multiple of {ratio}, and is {stride}")
            }
        }
    }
}
