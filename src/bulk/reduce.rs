//! Kernels that make one number of many elements: sums, extremes, counts. The cargo feature `answers`.
//!
//! ```text
//! pairs        results of parts, joined two by two
//! products     sums of products and of squared differences of two
//! sums         sums of floats, in double
//! rows         vector instructions of x86-64 for both
//! whole        sums of integers, exactly
//! extremes     the least and the greatest element
//! counts       how often an element occurs
//! ```
//!
//! A kernel takes a *part*: at most [`PART`] elements, which lie together. Its result does not depend on the instructions of the processor,
//! because the order in which floats are added is written down here: element `i` of a piece goes to lane `i % LANES`.

mod counts;
mod extremes;
mod pairs;
mod products;
mod rows;
mod sums;
mod whole;

pub use counts::count;
pub use extremes::{Extreme, extreme, magnitude, position};
pub use pairs::{Joined, Pairs};
pub use products::{Both, sum_of_both, sums_of_both, takes_small_floats, whole_product};
pub use sums::{Term, sum};
pub use whole::whole_sum;

/// The greatest number of elements that a kernel takes at once. It is a power of two.
pub const PART: usize = 4096;
