//! Sums, extremes and counts of storages and tensors. The cargo feature `answers`.
//!
//! ```text
//! subject     a storage or a tensor as the argument of a method
//! number      a number that is compared with elements, exactly
//! folded      goes through all elements in steps, or through lines along a dimension
//! sums        sum, mean, var, std, norm
//! extremes    min, max, argmin, argmax
//! counts      count, any, all
//! products    dot, cosine, dist, mv
//! scale       add, mul
//! order       sort, argsort, topk
//! search      where a number belongs among sorted elements
//! nearest     the rows of a matrix that are nearest to a query
//! ```

mod counts;
mod extremes;
mod folded;
mod nearest;
mod number;
mod order;
mod products;
mod scale;
mod search;
mod subject;
mod sums;

use super::entry::Method;
use crate::element::DType;
pub use products::FUNCTIONS;
use subject::{OfStorages, OfTensors};

/// Calls `register` with the methods of a class of storages.
pub fn for_storages(_: DType, register: impl FnMut(Method)) {
    [
        sums::methods::<OfStorages>(),
        extremes::methods::<OfStorages>(),
        counts::methods::<OfStorages>(),
        products::methods::<OfStorages>(),
        scale::methods::<OfStorages>(),
        order::OF_STORAGES,
        search::methods::<OfStorages>(),
    ]
    .iter()
    .copied()
    .flatten()
    .copied()
    .for_each(register);
}

/// Calls `register` with the methods of a class of tensors.
pub fn for_tensors(_: DType, register: impl FnMut(Method)) {
    [
        sums::methods::<OfTensors>(),
        extremes::methods::<OfTensors>(),
        counts::methods::<OfTensors>(),
        products::methods::<OfTensors>(),
        scale::methods::<OfTensors>(),
        order::OF_TENSORS,
        search::methods::<OfTensors>(),
        products::OF_TENSORS,
        nearest::METHODS,
    ]
    .iter()
    .copied()
    .flatten()
    .copied()
    .for_each(register);
}
