//! Makes, joins and picks elements of storages and tensors, without calculating with them.
//!
//! ```text
//! records     one field of records of equal length
//! indexed     the elements with given indices along one dimension
//! nonzero     where elements are not 0, and the elements of another tensor there
//! sequence    numbers at equal distances
//! ```

mod indexed;
mod nonzero;
mod records;
mod sequence;

pub use indexed::pick;
pub use nonzero::{count_nonzero, is_mask, select, write_places};
pub use records::{read_field, write_field};
pub use sequence::Sequence;
