//! What can go wrong in the engine: facts, in elements and bytes, without any Lua wording.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::element::DType;

/// Why a storage operation failed. The storage is what it was before.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// `size` elements of `dtype` are more bytes than an address can count.
    TooLarge {
        /// Elements asked for.
        size: usize,
        /// Their type.
        dtype: DType,
    },
    /// The system would not give that much memory.
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// A copy between storages of different sizes.
    SizeMismatch {
        /// Elements of the destination.
        expected: usize,
        /// Elements of the source.
        got: usize,
    },
    /// A part that is not inside the storage.
    OutOfRange {
        /// First element, from 0.
        offset: usize,
        /// Elements asked for.
        size: usize,
        /// Elements that the storage has.
        available: usize,
    },
    /// Only heap memory that is no view can change its size.
    NotResizable {
        /// What the storage is instead.
        kind: Kind,
    },
    /// Only a shared map has anything to write back.
    NothingToFlush {
        /// What the storage is instead.
        kind: Kind,
    },
    /// A file could not be opened, extended or mapped.
    File {
        /// What was tried: `"open"`, `"extend"` ...
        action: &'static str,
        /// The file, as the caller named it.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// A file that cannot be mapped at all: a directory, a device, a pipe.
    NotAFile {
        /// The file, as the caller named it.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A private map of more than the file holds.
    FileTooSmall {
        /// The file, as the caller named it.
        path: PathBuf,
        /// Bytes that it has.
        bytes: u64,
        /// Bytes that the map needs.
        needed: usize,
    },
    /// A file that is missing, asked for shared and without a size.
    MissingFile {
        /// The file, as the caller named it.
        path: PathBuf,
    },
    /// A file name with a zero byte in it.
    NulInName {
        /// The file, as the caller named it.
        path: PathBuf,
    },
    /// One reference more than a 32-bit count holds.
    TooManyReferences,
    /// No storage at this address has an outstanding `retain()`.
    NotRetained {
        /// The address.
        address: usize,
    },
    /// The retained storage at this address is of another class.
    OtherClass {
        /// Its class.
        got: DType,
        /// The class asked for.
        expected: DType,
    },
}

/// What kind of storage it is, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Memory of its own.
    Heap,
    /// A part of another storage.
    View,
    /// A private map of a file.
    PrivateMap,
    /// A shared map of a file.
    SharedMap,
    /// Somebody else's memory.
    Foreign,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap memory",
            Self::View => "a view of another storage",
            Self::PrivateMap => "a private map of a file",
            Self::SharedMap => "a shared map of a file",
            Self::Foreign => "memory of the caller",
        })
    }
}

impl Error {
    /// Whether freeing something may help: worth a garbage collection and another try.
    #[must_use]
    pub fn is_exhaustion(&self) -> bool {
        match self {
            Self::OutOfMemory { .. } => true,
            Self::File { reason, .. } => {
                matches!(reason.raw_os_error(), Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE))
            }
            _ => false,
        }
    }
}

/// A file name for a message: the middle of a very long one is left out.
fn name_text(path: &Path) -> String {
    const SHOWN: usize = 200;
    let name: Vec<char> = path.to_string_lossy().chars().collect();
    if name.len() <= 3 * SHOWN {
        return name.iter().collect();
    }
    let ends = [&name[..SHOWN], &['.', '.', '.'], &name[name.len() - SHOWN..]];
    ends.concat().iter().collect()
}

/// The system's reason without Rust's `(os error N)`.
fn reason_text(reason: &io::Error) -> String {
    let text = reason.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, dtype } => {
                write!(f, "{size} elements of {} bytes are more than a machine can address", dtype.width())
            }
            Self::OutOfMemory { bytes } => write!(f, "not enough memory: {bytes} bytes were asked for"),
            Self::SizeMismatch { expected, got } => {
                write!(f, "size mismatch: {expected} elements expected, got {got}")
            }
            Self::OutOfRange { offset, size, available } => {
                write!(f, "{size} elements from place {offset} are not inside a storage of {available}")
            }
            Self::NotResizable { kind } => {
                write!(f, "not resizable: the storage is {kind}; clone() gives one that can change its size")
            }
            Self::NothingToFlush { kind } => {
                write!(f, "nothing to flush: only a shared map of a file writes to it, this storage is {kind}")
            }
            Self::File { action, path, reason } => {
                write!(f, "cannot {action} file '{}': {}", name_text(path), reason_text(reason))
            }
            Self::NotAFile { path, what } => {
                write!(f, "cannot map '{}': it is {what}, not a regular file", name_text(path))
            }
            Self::FileTooSmall { path, bytes, needed } => {
                write!(f, "cannot map file '{}': it has {bytes} bytes, {needed} are needed", name_text(path))
            }
            Self::MissingFile { path } => {
                write!(f, "cannot open file '{}': No such file or directory (give a size to create it)", name_text(path))
            }
            Self::NulInName { path } => {
                write!(f, "a file name cannot contain a zero byte, got '{}'", name_text(path).replace('\0', "\\0"))
            }
            Self::TooManyReferences => write!(f, "too many references: a storage holds at most {}", i32::MAX),
            Self::NotRetained { address } => {
                write!(f, "no storage with an outstanding retain() is at address {address}")
            }
            Self::OtherClass { got, expected } => {
                write!(f, "the storage at this address is a {}, not a {}", got.class_name(), expected.class_name())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { reason, .. } => Some(reason),
            _ => None,
        }
    }
}
