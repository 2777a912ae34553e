//! The safetensors format: the length of the header in 8 bytes, the header as JSON, and the elements of the tensors one after the
//! other.
//!
//! The crate `safetensors` is the reference. It wants the whole file in memory, accepts a name that is there twice, names no tensor
//! in most errors, takes 40 bytes of memory for each byte of some headers, and ends the process where there is not enough. So this
//! module reads the JSON itself, which takes up to 4 bytes for a byte. The tests compare both.

mod dtypes;
mod index;
mod json;
mod tensors;
mod write;

use std::ops::Range;

use super::source::{Place, Source};
use crate::element::DType;
use crate::error::{Error, Flaw};
use crate::fallible;
use crate::tensor::Layout;
pub use dtypes::FileDType;
pub use index::Index;
use json::Json;
pub use write::{Plan, plan};

/// The largest length of a header, which is that of the reference.
const LONGEST: u64 = 100_000_000;

/// The number of bytes before the header.
const PREFIX: u64 = 8;

/// A tensor in a safetensors file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// The name.
    pub name: String,
    /// The dtype that the file says.
    pub file_dtype: FileDType,
    /// The sizes that the file says.
    pub file_sizes: Box<[usize]>,
    /// The bytes of the elements, from the beginning of the file. The file has all of them.
    pub data: Range<u64>,
}

impl Tensor {
    /// The dtype of the tensor in memory. Elements for which this library has no dtype are bytes.
    pub fn dtype(&self) -> DType {
        self.file_dtype.in_memory()
    }

    /// The layout of the tensor in memory, from the first byte of `data` on. Elements that are smaller than a byte make one
    /// dimension of bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. The sizes of a tensor that was read are right.
    pub fn layout(&self) -> Result<Layout, Error> {
        if self.file_dtype.bits().is_multiple_of(8) {
            return Layout::contiguous(&self.file_sizes);
        }
        let bytes = usize::try_from(self.data.end - self.data.start).unwrap_or(usize::MAX);
        Layout::contiguous(&[bytes])
    }

    fn place(&self) -> Place<'_> {
        Place::Tensor(self.name.as_bytes())
    }
}

/// What the header of a safetensors file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The tensors, in the order of the bytes of their names.
    pub tensors: Vec<Tensor>,
    /// The metadata: names and texts, in the order of the bytes of the names.
    pub metadata: Vec<(String, String)>,
}

/// Reads the header of a safetensors file.
pub fn read(source: &Source<'_>) -> Result<Header, Error> {
    let prefix = source.read(None, "the length of the header", 0, PREFIX)?;
    let length = prefix.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    if length > LONGEST {
        return Err(source.error(0, None, Flaw::TooLong { what: "the header", bytes: length, most: LONGEST }));
    }
    let text = text(source, "the header", PREFIX, length)?;
    let (mut tensors, mut metadata) = tensors::read(Json::new(source, PREFIX, &text))?;
    drop(text);
    let begin = PREFIX + length;
    tensors.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    metadata.sort_unstable();
    let twice = |name: &str, place: Option<Place<'_>>| source.error(PREFIX, place, Flaw::Twice { name: (*name).into() });
    if let Some(pair) = tensors.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(twice(&pair[0].name, Some(pair[0].place())));
    }
    if let Some(pair) = metadata.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(twice(&pair[0].0, None));
    }
    check_ranges(source, begin, &tensors)?;
    for tensor in &mut tensors {
        tensor.data = begin + tensor.data.start..begin + tensor.data.end;
    }
    Ok(Header { tensors, metadata })
}

/// Reads text and checks that it is UTF-8.
fn text(source: &Source<'_>, what: &'static str, from: u64, length: u64) -> Result<String, Error> {
    String::from_utf8(source.read(None, what, from, length)?).map_err(|error| {
        let valid = error.utf8_error().valid_up_to() as u64;
        source.error(from + valid, None, Flaw::NotUtf8)
    })
}

/// Checks that the ranges follow each other from the first byte after the header to the end of the file. They are relative to that
/// byte, which is byte `begin` of the file.
fn check_ranges(source: &Source<'_>, begin: u64, tensors: &[Tensor]) -> Result<(), Error> {
    let available = source.length() - begin;
    let mut in_order = fallible::list_of(tensors.iter())?;
    in_order.sort_unstable_by_key(|tensor| (tensor.data.start, tensor.data.end));
    let mut expected = 0;
    for tensor in in_order {
        let fail = |flaw| Err(source.error(begin + expected, Some(tensor.place()), flaw));
        if tensor.data.start != expected {
            return fail(Flaw::Begin { begin: tensor.data.start, expected });
        }
        if tensor.data.end > available {
            let needed = tensor.data.end - tensor.data.start;
            return fail(Flaw::Short { what: "the elements", needed, left: available - expected });
        }
        expected = tensor.data.end;
    }
    if available > expected {
        let flaw = Flaw::Behind { what: "the last tensor", bytes: available - expected };
        return Err(source.error(begin + expected, None, flaw));
    }
    Ok(())
}
