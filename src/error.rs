//! What can go wrong in the engine: facts, in elements and bytes, without any Lua wording.

mod malformed;
mod text;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::element::DType;
pub use malformed::{Malformed, Problem};

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
    /// A copy of bytes between storages of different lengths.
    LengthMismatch {
        /// Bytes of the destination.
        expected: usize,
        /// Bytes of the source.
        got: usize,
    },
    /// Turning the bytes of words round in memory that is not made of such words.
    NoWords {
        /// Bytes of a word, as asked for.
        width: usize,
        /// Bytes of the storage.
        bytes: usize,
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
    /// Only a map of a file can be given advice, or checked.
    NotMapped {
        /// What the storage is instead.
        kind: Kind,
    },
    /// Writing to what can only be read.
    ReadOnly {
        /// What the storage is.
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
    /// What is no file for the purpose: a directory, a device, a pipe.
    NotAFile {
        /// What was tried: `"map"`, `"read"` ...
        action: &'static str,
        /// The file, as the caller named it.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A map of more than the file holds, which it may not extend: a private one, or one that is only read.
    FileTooSmall {
        /// The file, as the caller named it.
        path: PathBuf,
        /// Bytes that it has.
        bytes: u64,
        /// The byte, from 0, where the map was to begin.
        offset: u64,
        /// Bytes that the map needs, those before the offset included.
        needed: u64,
    },
    /// A map from beyond the end of a file, which it may not extend.
    OffsetBeyondEnd {
        /// The file, as the caller named it.
        path: PathBuf,
        /// The byte, from 0, where the map was to begin.
        offset: u64,
        /// Bytes that the file has.
        bytes: u64,
    },
    /// A map that ends past what any file can have: 2^63 - 1 bytes.
    PastLargestFile {
        /// The file, as the caller named it.
        path: PathBuf,
        /// The byte, from 0, where the map was to begin.
        offset: u64,
        /// Bytes asked for.
        bytes: usize,
    },
    /// The system would not keep a map in memory.
    Lock {
        /// The file, as the caller named it.
        path: PathBuf,
        /// Bytes of the map.
        bytes: usize,
        /// Bytes that this process may lock in all (`RLIMIT_MEMLOCK`); `None` if there is no limit.
        limit: Option<u64>,
        /// The system's reason.
        reason: io::Error,
    },
    /// The system would not keep memory from being swapped out.
    Pin {
        /// Bytes of the storage.
        bytes: usize,
        /// Bytes that this process may lock in all (`RLIMIT_MEMLOCK`); `None` if there is no limit.
        limit: Option<u64>,
        /// The system's reason.
        reason: io::Error,
    },
    /// Another file has the name of the mapped one now.
    OtherFile {
        /// The file, as the caller named it.
        path: PathBuf,
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
    /// Shared memory could not be opened, created, locked, extended, mapped or removed.
    SharedMemory {
        /// What was tried: `"open"`, `"extend"` ...
        action: &'static str,
        /// Its name, without a leading slash; empty if it has none.
        name: OsString,
        /// The system's reason.
        reason: io::Error,
    },
    /// The file system of shared memory has no room for so much.
    SharedMemoryFull {
        /// Its name, without a leading slash.
        name: OsString,
        /// Bytes that the shared memory was to have.
        bytes: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Shared memory that does not exist, asked for without a size.
    MissingSharedMemory {
        /// Its name, without a leading slash.
        name: OsString,
    },
    /// Shared memory to be created, whose name is taken.
    SharedMemoryExists {
        /// Its name, without a leading slash.
        name: OsString,
    },
    /// What cannot name shared memory.
    SharedMemoryName {
        /// The name, as it was given.
        name: OsString,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Only heap memory that is no view can be moved to shared memory.
    NotShareable {
        /// What the storage is instead.
        kind: Kind,
    },
    /// Another party, a token or a publication holds the storage, so it stays where it is.
    HeldElsewhere,
    /// The memory belongs to a value of one Lua state, and stays with it.
    Anchored,
    /// What is no token of a storage.
    NotAToken,
    /// A token that another process made.
    ForeignToken {
        /// That process.
        process: u32,
        /// This one.
        here: u32,
    },
    /// A token that was taken or dropped.
    SpentToken,
    /// Another storage is published under this name.
    Published {
        /// The name.
        name: Vec<u8>,
    },
    /// A `.t7` file that is wrong somewhere.
    Malformed(Box<Malformed>),
    /// A string of more bytes than a `.t7` file can say.
    StringTooLong {
        /// Its bytes.
        bytes: usize,
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
    /// Shared memory.
    SharedMemory,
    /// A map of a file, private or shared, that can only be read.
    ReadOnlyMap,
    /// Somebody else's memory.
    Foreign,
    /// Somebody else's memory that can only be read.
    ReadOnlyForeign,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap memory",
            Self::View => "a view of another storage",
            Self::PrivateMap => "a private map of a file",
            Self::SharedMap => "a shared map of a file",
            Self::SharedMemory => "shared memory",
            Self::ReadOnlyMap => "a read-only map of a file",
            Self::Foreign => "memory of the caller",
            Self::ReadOnlyForeign => "read-only memory of the caller",
        })
    }
}

impl Error {
    /// Whether freeing something may help: worth a garbage collection and another try.
    #[must_use]
    pub fn is_exhaustion(&self) -> bool {
        match self {
            // Garbage may hold shared memory too.
            Self::OutOfMemory { .. } | Self::SharedMemoryFull { .. } => true,
            Self::File { reason, .. } | Self::SharedMemory { reason, .. } => {
                matches!(reason.raw_os_error(), Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE))
            }
            // Other memory may be locked.
            Self::Lock { reason, .. } | Self::Pin { reason, .. } => {
                matches!(reason.raw_os_error(), Some(libc::ENOMEM | libc::EAGAIN))
            }
            _ => false,
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { reason, .. }
            | Self::SharedMemory { reason, .. }
            | Self::Lock { reason, .. }
            | Self::Pin { reason, .. } => Some(reason),
            _ => None,
        }
    }
}
