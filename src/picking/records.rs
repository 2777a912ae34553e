//! One field of records of equal length, in a storage of bytes and in a storage of its elements.

use std::ops::Range;

use crate::bulk::{self, Field};
use crate::error::Error;
use crate::storage::Storage;

/// Reads the field of `count` records, from record `first` (from 0) of `bytes` on, into the elements of `target` from element `at` on. The
/// two storages have no byte in common.
///
/// # Errors
/// [`Error::OutOfRange`] if the records are not inside `bytes`, or the elements not inside `target`; [`Error::ReadOnly`].
pub fn read_field(
    (bytes, first): (&Storage, usize),
    (target, at): (&Storage, usize),
    count: usize,
    field: Field,
) -> Result<(), Error> {
    let records = bytes.readable().bytes().part(range(bytes, first, count, field)?);
    bulk::read_field(target.writable()?.part(target.range(at, count)?), records, field);
    Ok(())
}

/// Writes `count` elements of `source`, from element `at` (from 0) on, into the field of the records of `bytes` from record `first` (from
/// 0) on. The two storages have no byte in common.
///
/// # Errors
/// Those of [`read_field`].
pub fn write_field(
    (bytes, first): (&Storage, usize),
    (source, at): (&Storage, usize),
    count: usize,
    field: Field,
) -> Result<(), Error> {
    let records = bytes.writable()?.bytes().part(range(bytes, first, count, field)?);
    bulk::write_field(records, source.readable().part(source.range(at, count)?), field);
    Ok(())
}

/// The bytes of records, or an error if they are not all inside the storage.
fn range(bytes: &Storage, first: usize, count: usize, field: Field) -> Result<Range<usize>, Error> {
    bytes.byte_range(first.saturating_mul(field.record), count.saturating_mul(field.record))
}
