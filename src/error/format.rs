//! The errors in safetensors, npy and npz files, and their texts.

use std::fmt;

use super::name::Text;
use super::shape::{By, Numbers, ShapeError};
use super::text::{are, count};

/// A file that is refused because of an error in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// The file, as the caller named it.
    pub path: Text,
    /// The offset of the byte at which the error was found, from 0.
    pub byte: u64,
    /// The part of the file that has the error, if it is not the file as a whole.
    pub part: Option<Part>,
    /// The error.
    pub flaw: Flaw,
}

/// A part of a file, by its name in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A tensor of a safetensors file.
    Tensor(Text),
    /// An entry of an npz file.
    Entry(Text),
}

/// The kinds of errors in these files. [`FormatError`] adds the file, the position and the tensor or entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation and the text of a variant say what its fields are")]
pub enum Flaw {
    /// The file or the entry ends too early.
    #[error("{what} expected ({}), but {} {} left", count(*.needed, "byte"), count(*.left, "byte"), are(*.left))]
    Short { what: &'static str, needed: u64, left: u64 },
    /// A header or a list that is longer than this library reads.
    #[error("{what} has {}, and at most {most} are allowed", count(*.bytes, "byte"))]
    TooLong { what: &'static str, bytes: u64, most: u64 },
    /// The beginning is not that of such a file (`"an npy file"`).
    #[error("this is not {expected}: it begins with '{}'", .got.as_bytes().escape_ascii())]
    Beginning { expected: &'static str, got: Text },
    /// A version of the npy format that does not exist.
    #[error("version 1.0, 2.0 or 3.0 of the npy format expected, got {major}.{minor}")]
    Version { major: u8, minor: u8 },
    /// Something else than what the format has at this position. `got` is empty at the end.
    #[error(fmt = unexpected)]
    Unexpected { expected: &'static str, got: Text },
    /// Text that is not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// Text that is not JSON, or JSON with other values than the format has.
    #[error("{reason}")]
    Json { reason: Text },
    /// A name that is there twice.
    #[error("the name '{name}' is there twice")]
    Twice { name: Text },
    /// A key that is missing.
    #[error("'{key}' is missing")]
    Missing { key: &'static str },
    /// A key that the format does not have.
    #[error("the key '{key}' does not exist in this format")]
    Key { key: Text },
    /// Elements for which there is no dtype.
    #[error("{what} ('{descr}') cannot be loaded")]
    Elements { what: &'static str, descr: Text },
    /// Elements whose type NumPy does not write.
    #[error("the file does not say the type of the elements ('{descr}'): name it, for example dtype='bfloat16'")]
    Untyped { descr: Text },
    /// The caller named a dtype, and the elements have another one.
    #[error("the elements ('{descr}') are not {requested}")]
    OtherDType { descr: Text, requested: &'static str },
    /// A name of a dtype that does not exist.
    #[error("the dtype '{name}' does not exist")]
    DType { name: Text },
    /// Sizes that no tensor can have.
    #[error("{0}")]
    Shape(ShapeError),
    /// The elements do not fill whole bytes.
    #[error("{} of {dtype} do not fill whole bytes", count(*.elements, "element"))]
    PartOfByte { dtype: &'static str, elements: usize },
    /// The range of a tensor does not have the bytes that its dtype and sizes need. `dtype` is its name in the file.
    #[error(
        "{dtype} elements of {} need {}, and the range from {begin} to {end} does not have that size",
        By(.sizes), count(*.needed, "byte")
    )]
    Size { dtype: &'static str, sizes: Numbers<usize>, needed: u64, begin: u64, end: u64 },
    /// Data of a tensor that does not begin where the one before it ends. Both positions count from the first byte after the header.
    #[error("its range begins at {begin} and not at {expected}, so it {}", overlap_or_gap(.begin < .expected))]
    Begin { begin: u64, expected: u64 },
    /// Bytes after the last tensor, or after the end of an archive.
    #[error("{} {} {what}", count(*.bytes, "byte"), if *.bytes == 1 { "follows" } else { "follow" })]
    Behind { what: &'static str, bytes: u64 },
    /// An entry that is compressed.
    #[error("the entry is compressed: save it with numpy.savez, not savez_compressed")]
    Compressed,
    /// An entry that is encrypted.
    #[error("the entry is encrypted")]
    Encrypted,
    /// An entry that is stored by a method that this library does not know.
    #[error("the entry is compressed by method {method}, and only stored entries can be loaded")]
    Method { method: u16 },
    /// A stored entry whose two sizes differ.
    #[error("a stored entry has one size, and this one has {stored} bytes in the archive and {size} as a file")]
    StoredSizes { stored: u64, size: u64 },
    /// An entry whose bytes overlap another entry or the directory.
    #[error("the entry overlaps {other}")]
    Overlap { other: Text },
    /// The end record of an archive does not fit the directory: in `"entries"` or in `"bytes"`.
    #[error("the end record says that the directory has {said} {what}, and it has {found}")]
    Directory { what: &'static str, said: u64, found: u64 },
    /// An archive whose structure is wrong.
    #[error("{why}")]
    Archive { why: &'static str },
    /// A checksum that is not that of the data.
    #[error("the checksum of the entry is {expected:08x}, and that of its data {got:08x}")]
    Checksum { expected: u32, got: u32 },
    /// The name of a file in an index that is not a plain file name.
    #[error("a shard has a plain file name, got '{name}'")]
    Shard { name: Text },
    /// A tensor that the index expects in a shard that does not have it.
    #[error("the tensor is not in '{shard}', where it should be")]
    NotInShard { shard: Text },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot load '{}': at byte {}", self.path, self.byte)?;
        match &self.part {
            Some(Part::Tensor(name)) => write!(f, " (tensor '{}')", name)?,
            Some(Part::Entry(name)) => write!(f, " (entry '{}')", name)?,
            None => {}
        }
        write!(f, ": {}", self.flaw)
    }
}

fn unexpected(expected: &str, got: &Text, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match got.as_bytes() {
        [] => write!(f, "{expected} expected, but the header ends"),
        got => write!(f, "{expected} expected, got '{}'", got.escape_ascii()),
    }
}

fn overlap_or_gap(overlaps: bool) -> &'static str {
    if overlaps { "overlaps the tensor before it" } else { "leaves a gap before it" }
}
