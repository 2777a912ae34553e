//! The header of no storage: a userdata whose storage was freed points to it.

use super::super::refcount::RefCount;
use super::super::sync::{AtomicU8, Cell};
use super::StorageHeader;
use crate::element::DType;

/// Wraps the dead header, so that all threads can share it.
struct DeadHeader(StorageHeader);

// SAFETY: [in-bounds] nobody writes to the dead header, because only `Storage` changes headers, and nobody writes through it,
// because no index is below its limits of -1.
unsafe impl Sync for DeadHeader {}

static DEAD: DeadHeader = DeadHeader(StorageHeader {
    data: Cell::new(std::ptr::null_mut()),
    size: Cell::new(0),
    refcount: RefCount::none(),
    flag: AtomicU8::new(0),
    dtype: DType::Byte,
    read_limit: Cell::new(-1.0),
    write_limit: Cell::new(-1.0),
    int_read_limit: Cell::new(-1),
    int_write_limit: Cell::new(-1),
});

/// The dead header, which every userdata points to whose storage was freed. No index is below its limits.
#[must_use]
pub fn dead() -> *const StorageHeader {
    &raw const DEAD.0
}
