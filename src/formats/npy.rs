//! The format of NumPy for one array: a magic number, a version, a header that is a Python literal, and the elements.

mod dtypes;
mod literal;
mod write;

use std::ops::Range;
use std::path::Path;

use super::source::{self, Source, bytes_of};
use crate::element::DType;
use crate::error::{Error, Flaw, Part, ShapeError};
use crate::tensor::Layout;
pub(super) use dtypes::Wanted;
use literal::{Cursor, Literal};
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

/// Reads the header of the npy file `path`.
///
/// NumPy does not write the type of some elements, for example of bfloat16, but only their width. Then `dtype` must say it. For
/// other elements it must be theirs, or `None`.
///
/// # Errors
/// [`Error::Format`]; [`Error::File`], [`Error::NotAFile`] and [`Error::NulInName`].
pub fn open(path: &Path, dtype: Option<DType>) -> Result<Array, Error> {
    let file = source::open(path)?;
    let source = Source::of_file(path, &file)?;
    read(&source, dtype)
}

/// Does the same as [`open`] for a file that is open, or for memory.
///
/// # Errors
/// As [`open`].
pub fn read(source: &Source<'_>, dtype: Option<DType>) -> Result<Array, Error> {
    read_part(source, None, 0..source.length(), Wanted::Only(dtype))
}

/// Does the same as [`read`] for a range of a file, which is the entry `part` of an archive.
pub(super) fn read_part(source: &Source<'_>, part: Option<&Part>, range: Range<u64>, wanted: Wanted) -> Result<Array, Error> {
    let length = range.end - range.start;
    let fail = |byte: u64, flaw| source.error(range.start + byte, part, flaw);
    let start = source.read(part, "an npy file", range.start, USUAL.min(length))?;
    if !start.starts_with(MAGIC) {
        let got = start[..start.len().min(MAGIC.len())].to_vec();
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
    let whole = if end <= USUAL { start } else { source.read(part, "the header", range.start, end)? };
    let positions = usize::try_from(begin).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
    let text = &whole[positions];
    let literal = Cursor::new(text).header().map_err(|(at, flaw)| fail(begin + at as u64, flaw))?;
    array(&literal, end..length, wanted).map_err(|(at, flaw)| fail(at.map_or(end, |at| begin + at as u64), flaw)).map(|array| {
        let data = range.start + array.data.start..range.start + array.data.end;
        Array { data, ..array }
    })
}

/// The array that a header describes, whose elements are at the beginning of `rest`. A flaw has a position in the header, or none
/// if it is about the data.
fn array(literal: &Literal<'_>, rest: Range<u64>, wanted: Wanted) -> Result<Array, (Option<usize>, Flaw)> {
    let (dtype, swap) = dtypes::resolve(literal.descr, wanted).map_err(|flaw| (Some(literal.descr_at), flaw))?;
    let sizes = &literal.shape;
    let bytes = bytes_of(sizes, dtype.width() * 8).map_err(|flaw| (Some(literal.shape_at), flaw))?;
    let layout = if literal.fortran_order {
        let mut next = 1_usize;
        let strides: Vec<isize> = sizes
            .iter()
            .map(|&size| {
                let stride = next.cast_signed();
                next = next.saturating_mul(size.max(1));
                stride
            })
            .collect();
        Layout::strided(0, sizes, &strides)
    } else {
        Layout::contiguous(sizes)
    };
    // The product was checked, and the literal has at most 64 sizes, so these sizes have a layout.
    let layout =
        layout.map_err(|_| (Some(literal.shape_at), Flaw::Shape(ShapeError::TooManyElements { sizes: sizes[..].into() })))?;
    let left = rest.end - rest.start;
    if bytes > left {
        return Err((None, Flaw::Short { what: "the elements", needed: bytes, left }));
    }
    Ok(Array { dtype, layout, data: rest.start..rest.start + bytes, swap })
}
