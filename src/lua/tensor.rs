//! Tensors as Lua values: the classes `torch.TYPETensor`.
//!
//! ```text
//! payload     the userdata of a tensor
//! arguments   reads tensors, dimensions, indices and sizes from arguments
//! making      how a function returns a new tensor
//! construct   the constructors, and `s:view(sizes)` of storages
//! rows        numbers of nested tables become elements, and elements become nested tables
//! ask         sizes, strides, identity
//! views       other views of the same elements
//! element     one element: get, set, exact, decimal
//! index       x[i], x[{...}], and both on the left of `=`
//! contents    all elements: fill, copy, equal, conversion
//! memory      the address of the elements, and their bytes
//! sharing     tokens
//! ```

mod arguments;
mod ask;
mod construct;
mod contents;
mod element;
mod index;
mod making;
mod memory;
mod payload;
mod rows;
mod sharing;
mod views;

use super::methods::Method;
use super::picking;
use crate::element::DType;
use crate::lua::entry::{function, raising};

pub use construct::{call_class, class_text, new, view_of_storage};
#[cfg(feature = "answers")]
pub use making::make_two;
pub use making::{Made, make_as};
pub use memory::bytes_of_tensor;
pub use payload::{FIELDS, class, fulfil, magic, payload, promise, push_dead};
pub use sharing::{from_token, is_of_tensor, read_token};

pub const FUNCTIONS: &[Method] = &[(c"isTensor", function(ask::is_tensor)), (c"looktensor", raising(memory::look))];

/// The dtypes that have a class of tensors: all but bytes without a type.
pub fn dtypes() -> impl Iterator<Item = DType> + Clone {
    DType::ALL.iter().copied().filter(|dtype| !dtype.is_untyped())
}

/// Calls `register` with every method and metamethod of a class of tensors.
pub fn for_each(dtype: DType, mut register: impl FnMut(Method)) {
    let shared =
        [ask::METHODS, construct::METHODS, contents::METHODS, memory::METHODS, rows::METHODS, sharing::METHODS, views::METHODS];
    shared
        .into_iter()
        .flatten()
        .copied()
        .chain(picking::TENSOR_METHODS.iter().copied())
        .chain(contents::casts())
        .chain(element::methods(dtype))
        .chain(index::methods(dtype))
        .chain(ask::CLOSE)
        .for_each(&mut register);
    #[cfg(feature = "answers")]
    super::answers::for_tensors(dtype, register);
}
