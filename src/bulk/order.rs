//! Kernels that put elements in order. The cargo feature `answers`.
//!
//! ```text
//! keys       integers in the order of the elements
//! radix      sorts a list by its keys, byte after byte
//! list       elements that are sorted themselves
//! ranks      the indices of elements in their order, of all or of the first of them
//! search     where a number belongs among sorted elements
//! ```
//!
//! Equal elements stay in the order in which they were. NaN is behind all numbers, in both directions. So there is one result, whatever the
//! processor and the way to it.

mod keys;
mod list;
mod radix;
mod ranks;
mod search;

pub(crate) use keys::with_ordered;
pub use keys::{Direction, Ordered};
pub use list::List;
pub use ranks::Ranks;
pub use search::{Bound, Side, Sorted, compare};
