//! Answers about the elements of a storage or tensor: sums, extremes, counts. The cargo feature `answers`, and `docs/answers.md`.
//!
//! ```text
//! fold         goes through the elements of a tensor, in parts and in threads, or through the lines along a dimension
//! sums         sums of elements, of what is calculated from each of them, of integers
//! spread       how far elements are from their mean
//! magnitudes   complex numbers by their magnitudes
//! extremes     the least and the greatest element, and where it is
//! products     sums of what is calculated from two elements
//! scale        adding and multiplying in place
//! counts       how many elements equal a number
//! nearest      the best of many scores
//! order        the first elements of lines in their order
//! search       where numbers belong among sorted elements
//! quotient     a sum of integers divided by their number, rounded once
//! ```
//!
//! A [`Fold`] says what is made of the elements. The results depend neither on the number of threads nor on how the elements lie in memory:
//! parts always have the same elements, and their results are always joined in the same order.

mod counts;
mod extremes;
mod fold;
mod magnitudes;
mod nearest;
mod order;
mod products;
mod quotient;
mod scale;
mod search;
mod spread;
mod sums;

#[cfg(feature = "lua")]
pub(crate) use crate::bulk::order::with_ordered;
pub use crate::bulk::order::{Bound, Direction, List, Ordered, Ranks, Side, Sorted};
pub use crate::bulk::reduce::{Both, Extreme, Term};
pub use counts::{Count, as_element};
pub use extremes::{Best, Extremes, Magnitudes};
pub use fold::{Fold, LEVELS, fold_all_of, fold_lines, fold_range};
pub use magnitudes::OfMagnitudes;
pub use nearest::{Nearest, Scored};
pub use order::{First, Found};
pub use products::{Cosines, Others, Products, WholeProducts};
pub use quotient::quotient;
pub use scale::Scale;
pub use search::search_all;
pub use spread::{Moments, Spread};
pub use sums::{Sum, WholeSum, read_as_floats};
