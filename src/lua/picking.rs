//! Functions that make tensors, join them, and pick elements out of storages and tensors. `docs/making.md` describes them.
//!
//! ```text
//! making      zeros, ones, range, linspace
//! cat         joins tensors or storages
//! index       the elements with given indices
//! indices     reads the list of these indices
//! nonzero     where elements are not 0, and maskedSelect
//! records     column and setColumn: one field of records of equal length
//! ```

mod cat;
mod index;
mod indices;
mod making;
mod nonzero;
mod records;

use super::entry::Method;
use super::state::Name;
use crate::lua::entry::{function, growing, raising};

pub const FUNCTIONS: &[Method] = &[(c"setdefaultclass", function(making::set_default_class))];

/// The functions of the module that programs call. Those of `making` make tensors of the default class. Methods have the same names, so
/// these have a point in their names, by which messages tell them from methods.
pub const TABLES: [(Name, &[Method]); 1] = [(
    c"picking",
    &[
        (c"torch.cat", raising(cat::cat)),
        (c"torch.linspace", raising(making::linspace::<true>)),
        (c"torch.nonzero", raising(nonzero::nonzero)),
        (c"torch.ones", raising(making::ones::<true>)),
        (c"torch.range", raising(making::range::<true>)),
        (c"torch.zeros", raising(making::zeros::<true>)),
    ],
)];

/// The methods of storages.
pub const METHODS: &[Method] = &[
    (c"cat", raising(cat::cat)),
    (c"column", raising(records::column)),
    (c"index", raising(index::index_storage)),
    (c"setColumn", growing(records::set_column)),
];

/// The methods of tensors.
pub const TENSOR_METHODS: &[Method] = &[
    (c"cat", raising(cat::cat)),
    (c"index", raising(index::index_tensor)),
    (c"linspace", raising(making::linspace::<false>)),
    (c"maskedSelect", raising(nonzero::masked_select)),
    (c"nonzero", raising(nonzero::nonzero)),
    (c"ones", raising(making::ones::<false>)),
    (c"range", raising(making::range::<false>)),
    (c"zeros", raising(making::zeros::<false>)),
];
