//! The format of NumPy for one array: a magic number, a version, a header that is a Python literal, and the elements.

mod dtypes;
mod literal;
mod write;

use std::ops::Range;

use super::source::{Place, Source, bytes_of};
use crate::element::DType;
use crate::error::{Error, Flaw, MAX_DIMENSIONS};
use crate::tensor::Layout;
pub(super) use dtypes::Wanted;
use literal::Cursor;
pub use write::{Order, header};

/// The first bytes of an npy file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The largest length of the literal in the header.
const LONGEST: u64 = 65_535;

/// The number of bytes that are read first. The usual headers of NumPy have 128 bytes.
const USUAL: u64 = 128;

/// An array in an npy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Where the elements are, in elements from the first one of `data` on. They fill `data` without gaps.
    pub layout: Layout,
    /// The bytes of the elements, from the beginning of the file. The file has all of them.
    pub data: Range<u64>,
    /// The number of bytes whose order must be reversed to get this machine's elements. It is 1 if none must be.
    pub swap: usize,
}

/// Reads the header of an npy file.
///
/// NumPy does not write the type of some elements, for example of bfloat16, but only their width. Then `dtype` must say it. For
/// other elements it must be theirs, or `None`.
pub fn read(source: &Source<'_>, dtype: Option<DType>) -> Result<Array, Error> {
    read_part(source, None, 0..source.length(), Wanted::Only(dtype))
}

/// Whether a range of a file begins as an npy file does.
pub(super) fn begins(source: &Source<'_>, range: Range<u64>) -> Result<bool, Error> {
    let length = MAGIC.len() as u64;
    Ok(range.end - range.start >= length && source.read(None, "an npy file", range.start, length)? == MAGIC)
}

/// Does the same as [`read`] for a range of a file, which is the entry `place` of an archive.
pub(super) fn read_part(
    source: &Source<'_>,
    place: Option<Place<'_>>,
    range: Range<u64>,
    wanted: Wanted,
) -> Result<Array, Error> {
    let length = range.end - range.start;
    let fail = |byte: u64, flaw| source.error(range.start + byte, place, flaw);
    let start = source.read(place, "an npy file", range.start, USUAL.min(length))?;
    if !start.starts_with(MAGIC) {
        let got = start[..start.len().min(MAGIC.len())].into();
        return Err(fail(0, Flaw::Beginning { expected: "an npy file", got }));
    }
    let cut = || fail(length, Flaw::Short { what: "the header", needed: 1, left: 0 });
    let (begin, size) = match start[MAGIC.len()..] {
        [1, 0, a, b, ..] => (10, u64::from(u16::from_le_bytes([a, b]))),
        [2 | 3, 0, a, b, c, d, ..] => (12, u64::from(u32::from_le_bytes([a, b, c, d]))),
        [1..=3, 0, ..] | [] | [1..=3] => return Err(cut()),
        [major, minor, ..] => return Err(fail(6, Flaw::Version { major, minor })),
        [major] => return Err(fail(6, Flaw::Version { major, minor: 0 })),
    };
    if size > LONGEST {
        return Err(fail(8, Flaw::TooLong { what: "the header", bytes: size, most: LONGEST }));
    }
    let end = begin + size;
    if end > length {
        return Err(fail(begin, Flaw::Short { what: "the header", needed: size, left: length - begin }));
    }
    let whole = if end <= USUAL { start } else { source.read(place, "the header", range.start, end)? };
    let positions = usize::try_from(begin).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
    let text = &whole[positions];
    let literal = Cursor::new(text).header().map_err(|(at, flaw)| fail(begin + at as u64, flaw))?;
    let (dtype, swap) = dtypes::resolve(literal.descr, wanted).map_err(|flaw| fail(begin + literal.descr_at as u64, flaw))?;
    let sizes = literal.sizes();
    let bytes = bytes_of(sizes, dtype.width() * 8).map_err(|flaw| fail(begin + literal.shape_at as u64, flaw))?;
    let left = length - end;
    if bytes > left {
        return Err(fail(end, Flaw::Short { what: "the elements", needed: bytes, left }));
    }
    let data = range.start + end..range.start + end + bytes;
    Ok(Array { dtype, layout: layout(sizes, literal.fortran_order)?, data, swap })
}

/// The layout of at most 2^63-1 elements without gaps.
fn layout(sizes: &[usize], is_fortran: bool) -> Result<Layout, Error> {
    if !is_fortran {
        return Layout::contiguous(sizes);
    }
    let (mut strides, mut next) = ([0_isize; MAX_DIMENSIONS], 1_usize);
    for (stride, &size) in strides.iter_mut().zip(sizes) {
        *stride = next.cast_signed();
        next = next.saturating_mul(size.max(1));
    }
    Layout::strided(0, sizes, &strides[..sizes.len()])
}
