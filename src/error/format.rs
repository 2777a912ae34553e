//! The errors in safetensors, npy and npz files, and their texts.

use std::fmt;

use super::name::Text;
use super::shape::{By, Count, Numbers, ShapeError, count};

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
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// The file or the entry ends too early.
    Short {
        /// What was expected: `"the header"`, `"the elements"` ...
        what: &'static str,
        /// The number of bytes that this takes.
        needed: u64,
        /// The number of bytes that are left.
        left: u64,
    },
    /// A header or a list that is longer than this library reads.
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length in bytes.
        bytes: u64,
        /// The largest length in bytes.
        most: u64,
    },
    /// The beginning is not that of such a file.
    Beginning {
        /// What was expected: `"an npy file"` ...
        expected: &'static str,
        /// The first bytes.
        got: Text,
    },
    /// A version of the npy format that does not exist.
    Version {
        /// The first number of the version.
        major: u8,
        /// The second number of the version.
        minor: u8,
    },
    /// Something else than what the format has at this position.
    Unexpected {
        /// What was expected.
        expected: &'static str,
        /// The bytes there, shortened. They are empty at the end.
        got: Text,
    },
    /// Text that is not UTF-8.
    NotUtf8,
    /// Text that is not JSON, or JSON with other values than the format has.
    Json {
        /// The reason, in the words of the JSON parser or of this library.
        reason: Text,
    },
    /// A name that is there twice.
    Twice {
        /// The name.
        name: Text,
    },
    /// A key that is missing.
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A key that the format does not have.
    Key {
        /// The key.
        key: Text,
    },
    /// Elements for which there is no dtype.
    Elements {
        /// What they are: `"an array of objects"` ...
        what: &'static str,
        /// How the file names them.
        descr: Text,
    },
    /// Elements whose type NumPy does not write.
    Untyped {
        /// How the file names them.
        descr: Text,
    },
    /// The caller named a dtype, and the elements have another one.
    OtherDType {
        /// How the file names the elements.
        descr: Text,
        /// The name of the dtype that was requested.
        requested: &'static str,
    },
    /// A name of a dtype that does not exist.
    DType {
        /// The name in the file.
        name: Text,
    },
    /// Sizes that no tensor can have.
    Shape(ShapeError),
    /// The elements do not fill whole bytes.
    PartOfByte {
        /// The name of the dtype in the file.
        dtype: &'static str,
        /// The number of elements.
        elements: usize,
    },
    /// The range of a tensor does not have the bytes that its dtype and sizes need.
    Size {
        /// The name of the dtype in the file.
        dtype: &'static str,
        /// The sizes.
        sizes: Numbers<usize>,
        /// The number of bytes that they need.
        needed: u64,
        /// Where the range begins.
        begin: u64,
        /// Where the range ends.
        end: u64,
    },
    /// Data of a tensor that does not begin where the one before it ends.
    Begin {
        /// Where it begins, from the first byte after the header.
        begin: u64,
        /// Where the data before it ends.
        expected: u64,
    },
    /// Bytes after the last tensor, or after the end of an archive.
    Behind {
        /// What they follow: `"the last tensor"` ...
        what: &'static str,
        /// The number of these bytes.
        bytes: u64,
    },
    /// An entry that is compressed.
    Compressed,
    /// An entry that is encrypted.
    Encrypted,
    /// An entry that is stored by a method that this library does not know.
    Method {
        /// The number of the method.
        method: u16,
    },
    /// A stored entry whose two sizes differ.
    StoredSizes {
        /// Its size in the archive.
        stored: u64,
        /// Its size as a file.
        size: u64,
    },
    /// An entry whose bytes overlap another entry or the directory.
    Overlap {
        /// What it overlaps.
        other: Text,
    },
    /// The end record of an archive does not fit the directory.
    Directory {
        /// What differs: `"entries"` or `"bytes"`.
        what: &'static str,
        /// The number in the end record.
        said: u64,
        /// The number that the directory has.
        found: u64,
    },
    /// An archive whose structure is wrong.
    Archive {
        /// What is wrong.
        why: &'static str,
    },
    /// A checksum that is not that of the data.
    Checksum {
        /// The checksum in the directory.
        expected: u32,
        /// The checksum of the data.
        got: u32,
    },
    /// The name of a file in an index that is not a plain file name.
    Shard {
        /// The name.
        name: Text,
    },
    /// A tensor that the index expects in a shard that does not have it.
    NotInShard {
        /// The name of the shard.
        shard: Text,
    },
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

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { what, needed, left } => {
                let verb = if *left == 1 { "is" } else { "are" };
                write!(f, "{what} expected ({}), but {} {verb} left", bytes_text(*needed), bytes_text(*left))
            }
            Self::TooLong { what, bytes, most } => {
                write!(f, "{what} has {}, and at most {most} are allowed", bytes_text(*bytes))
            }
            Self::Beginning { expected, got } => {
                write!(f, "this is not {expected}: it begins with '{}'", got.as_bytes().escape_ascii())
            }
            Self::Version { major, minor } => {
                write!(f, "version 1.0, 2.0 or 3.0 of the npy format expected, got {major}.{minor}")
            }
            Self::Unexpected { expected, got } if got.is_empty() => write!(f, "{expected} expected, but the header ends"),
            Self::Unexpected { expected, got } => write!(f, "{expected} expected, got '{}'", got.as_bytes().escape_ascii()),
            Self::NotUtf8 => write!(f, "the text is not UTF-8"),
            Self::Json { reason } => write!(f, "{reason}"),
            Self::Twice { name } => write!(f, "the name '{}' is there twice", name),
            Self::Missing { key } => write!(f, "'{key}' is missing"),
            Self::Key { key } => write!(f, "the key '{}' does not exist in this format", key),
            Self::Elements { what, descr } => write!(f, "{what} ('{}') cannot be loaded", descr),
            Self::Untyped { descr } => {
                write!(f, "the file does not say the type of the elements ('{descr}'): name it, for example dtype='bfloat16'")
            }
            Self::OtherDType { descr, requested } => {
                write!(f, "the elements ('{}') are not {requested}", descr)
            }
            Self::DType { name } => write!(f, "the dtype '{}' does not exist", name),
            Self::Shape(error) => write!(f, "{error}"),
            Self::PartOfByte { dtype, elements } => {
                write!(f, "{} of {dtype} do not fill whole bytes", count(*elements, "element"))
            }
            Self::Size { dtype, sizes, needed, begin, end } => write!(
                f,
                "{dtype} elements of {} need {}, and the range from {begin} to {end} does not have that size",
                By(sizes),
                bytes_text(*needed)
            ),
            Self::Begin { begin, expected } => {
                let how = if begin < expected { "overlaps the tensor before it" } else { "leaves a gap before it" };
                write!(f, "its range begins at {begin} and not at {expected}, so it {how}")
            }
            Self::Behind { what, bytes } => {
                write!(f, "{} {} {what}", bytes_text(*bytes), if *bytes == 1 { "follows" } else { "follow" })
            }
            Self::Compressed => write!(f, "the entry is compressed: save it with numpy.savez, not savez_compressed"),
            Self::Encrypted => write!(f, "the entry is encrypted"),
            Self::Method { method } => {
                write!(f, "the entry is compressed by method {method}, and only stored entries can be loaded")
            }
            Self::StoredSizes { stored, size } => {
                write!(f, "a stored entry has one size, and this one has {stored} bytes in the archive and {size} as a file")
            }
            Self::Overlap { other } => write!(f, "the entry overlaps {other}"),
            Self::Directory { what, said, found } => {
                write!(f, "the end record says that the directory has {said} {what}, and it has {found}")
            }
            Self::Archive { why } => f.write_str(why),
            Self::Checksum { expected, got } => {
                write!(f, "the checksum of the entry is {expected:08x}, and that of its data {got:08x}")
            }
            Self::Shard { name } => write!(f, "a shard has a plain file name, got '{}'", name),
            Self::NotInShard { shard } => write!(f, "the tensor is not in '{}', where it should be", shard),
        }
    }
}

fn bytes_text(bytes: u64) -> Count<'static> {
    count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte")
}
