//! Elements that are not 0: how many, where they are, and the elements of another tensor at their places.

use std::ops::Range;

use crate::bulk::{self, Places, Readable};
use crate::element::DType;
use crate::error::Error;
use crate::fallible::list;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// How many elements are looked at together.
const CHUNK: usize = 4096;

/// The number of elements in a range of a tensor, in row-major order, that are not 0.
///
/// # Errors
/// [`crate::error::ShapeError::Outside`] if the storage has become too small; [`Error::OutOfMemory`].
pub fn count_nonzero(tensor: (&Storage, &Layout), range: Range<usize>) -> Result<usize, Error> {
    let (room, mut count) = (Room::new(tensor, range.len())?, 0);
    for chunk in chunks(range) {
        count += bulk::count_nonzero(room.elements(tensor, chunk)?);
    }
    Ok(count)
}

/// Writes the indices (from 1) of the elements in a range that are not 0 to `target`, a storage of Long, from row `at` on: a row for each
/// element, with an index for each dimension. Returns the number of the row behind the last one. Rows that `target` has no room for are
/// left out.
///
/// # Errors
/// As [`count_nonzero`].
pub fn write_places(tensor: (&Storage, &Layout), range: Range<usize>, target: &Storage, at: usize) -> Result<usize, Error> {
    let dimensions = tensor.1.dimensions();
    let room = Room::new(tensor, range.len())?;
    let (mut found, mut numbers, mut row) = (list(CHUNK)?, list::<i64>(CHUNK * dimensions)?, at);
    for chunk in chunks(range) {
        bulk::find_nonzero(room.elements(tensor, chunk.clone())?, &mut found);
        numbers.clear();
        for &index in &found {
            let begin = numbers.len();
            numbers.resize(begin + dimensions, 0);
            let mut rest = chunk.start + index;
            for (number, &size) in numbers[begin..].iter_mut().zip(tensor.1.sizes()).rev() {
                // An index is below a size, which is at most 2^63 - 1.
                *number = (rest % size).cast_signed() as i64 + 1;
                rest /= size;
            }
        }
        let begin = (row * dimensions).min(target.size());
        let written = numbers.len().min(target.size() - begin);
        bulk::copy(target.writable()?.part(begin..begin + written), Readable::of_integers(&numbers[..written]));
        row += found.len();
    }
    Ok(row)
}

/// Copies the elements of `source` in a range, in row-major order, where `mask`, which has as many elements, is not 0, to the elements of
/// `target` from element `at` on. Returns the index behind the last one. Elements that `target` has no room for are left out. `target` has
/// the dtype of `source`.
///
/// # Errors
/// As [`count_nonzero`].
pub fn select(
    source: (&Storage, &Layout),
    mask: (&Storage, &Layout),
    range: Range<usize>,
    target: &Storage,
    at: usize,
) -> Result<usize, Error> {
    let (rooms, mut found, mut next) = ([Room::new(source, range.len())?, Room::new(mask, range.len())?], list(CHUNK)?, at);
    for chunk in chunks(range) {
        bulk::find_nonzero(rooms[1].elements(mask, chunk.clone())?, &mut found);
        let all = found.len();
        found.truncate(target.size() - next.min(target.size()));
        if !found.is_empty() {
            let places = |first| Places { first, step: 1 };
            bulk::pick((target.writable()?, places(next)), (rooms[0].elements(source, chunk)?, places(0)), 1, &found);
        }
        next += all;
    }
    Ok(next)
}

fn chunks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(CHUNK).map(move |start| start..end.min(start + CHUNK))
}

/// Room for the elements of a chunk, if the tensor is not contiguous.
struct Room(Storage);

impl Room {
    fn new((storage, layout): (&Storage, &Layout), most: usize) -> Result<Self, Error> {
        let size = if layout.is_contiguous() { 0 } else { CHUNK.min(most) };
        Ok(Self(Storage::unset(storage.dtype(), size)?))
    }

    /// The elements of a chunk, side by side.
    fn elements<'a>(&'a self, (storage, layout): (&'a Storage, &Layout), chunk: Range<usize>) -> Result<Readable<'a>, Error> {
        let tensor = Tensor::new(storage, layout);
        if layout.is_contiguous() {
            let whole = tensor.contiguous_range()?;
            return Ok(storage.readable().part(whole.start + chunk.start..whole.start + chunk.end));
        }
        let size = chunk.len();
        tensor.copy_to(self.0.writable()?.part(0..size), chunk)?;
        Ok(self.0.readable().part(0..size))
    }
}

/// Whether a tensor of this dtype can be a mask.
#[must_use]
pub fn is_mask(dtype: DType) -> bool {
    matches!(dtype, DType::Byte | DType::Bool)
}
