//! The errors of the engine. They carry numbers, in elements and bytes, and know nothing of Lua.

mod format;
mod malformed;
mod name;
mod shape;
mod text;

use std::fmt;
use std::io;

use crate::element::DType;
use crate::fallible::{NoMemory, boxed};
pub use format::{Flaw, FormatError, Part};
pub use malformed::{Malformed, Problem};
pub use name::Text;
#[cfg_attr(
    not(any(feature = "lua", feature = "formats")),
    expect(unused_imports, reason = "only these features have errors that show names without copying them")
)]
pub(crate) use name::shown;
pub use shape::{MAX_DIMENSIONS, Numbers, ShapeError, WidthObstacle};

/// Why a storage operation failed. A failed operation leaves the storage unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// `size` elements of `dtype` take more bytes than a `usize` can count.
    TooLarge {
        /// Number of elements that were requested.
        size: usize,
        /// Type of the elements.
        dtype: DType,
    },
    /// The system refused to allocate this much memory.
    OutOfMemory {
        /// Number of bytes that were requested.
        bytes: usize,
    },
    /// A copy between storages of different sizes.
    SizeMismatch {
        /// Number of elements of the destination.
        expected: usize,
        /// Number of elements of the source.
        got: usize,
    },
    /// A copy of raw bytes between storages with different numbers of bytes.
    LengthMismatch {
        /// Number of bytes of the destination.
        expected: usize,
        /// Number of bytes of the source.
        got: usize,
    },
    /// The byte order of words cannot be reversed: no word has this width, or the length is not a multiple of it.
    NoWords {
        /// Width of a word in bytes, as requested.
        width: usize,
        /// Number of bytes whose order was to be reversed.
        bytes: usize,
    },
    /// A range that does not lie within the storage. The numbers count elements; in operations on raw bytes they count bytes.
    OutOfRange {
        /// Where the range starts, from 0.
        offset: usize,
        /// Size of the range.
        size: usize,
        /// Size of the storage.
        available: usize,
    },
    /// Only heap memory can be resized, and only through a storage that is not a view.
    NotResizable {
        /// The actual kind of the storage.
        kind: MemoryKind,
    },
    /// Only a shared map can be written back to its file.
    NothingToFlush {
        /// The actual kind of the storage.
        kind: MemoryKind,
    },
    /// Only a mapped file can be advised or checked.
    NotMapped {
        /// The actual kind of the storage.
        kind: MemoryKind,
    },
    /// A write to a read-only storage.
    ReadOnly {
        /// The kind of the storage.
        kind: MemoryKind,
    },
    /// A file could not be opened, extended or mapped.
    File {
        /// What was attempted: `"open"`, `"extend"` ...
        action: &'static str,
        /// The file, as the caller named it.
        path: Text,
        /// The system's reason.
        reason: io::Error,
    },
    /// The path leads to something other than a regular file: a directory, a device, a pipe.
    NotAFile {
        /// What was attempted: `"map"`, `"load"` ...
        action: &'static str,
        /// The file, as the caller named it.
        path: Text,
        /// What the path leads to: `"a directory"`, `"a device"` ...
        what: &'static str,
    },
    /// The file system does not have room for a file that is saved.
    NoRoom {
        /// The file, as the caller named it.
        path: Text,
        /// Number of bytes that the file would have.
        bytes: u64,
        /// Number of bytes that are free.
        free: u64,
    },
    /// The file is shorter than the requested map, and a private or read-only map cannot extend it.
    FileTooSmall {
        /// The file, as the caller named it.
        path: Text,
        /// Length of the file in bytes.
        bytes: u64,
        /// Byte offset in the file at which the map was to start.
        offset: u64,
        /// Length that the file needs for this map: the offset and the bytes of the map.
        needed: u64,
    },
    /// The map was to start beyond the end of the file, and this map cannot extend it.
    OffsetBeyondEnd {
        /// The file, as the caller named it.
        path: Text,
        /// Byte offset in the file at which the map was to start.
        offset: u64,
        /// Length of the file in bytes.
        bytes: u64,
    },
    /// The map would end past the largest possible length of a file, 2^63 - 1 bytes.
    PastLargestFile {
        /// The file, as the caller named it.
        path: Text,
        /// Byte offset in the file at which the map was to start.
        offset: u64,
        /// Length of the requested map in bytes.
        bytes: usize,
    },
    /// The system refused to lock a map in memory.
    Lock {
        /// The file, as the caller named it.
        path: Text,
        /// Length of the map in bytes.
        bytes: usize,
        /// Number of bytes that this process may lock in total (`RLIMIT_MEMLOCK`); `None` if there is no limit.
        limit: Option<u64>,
        /// The system's reason.
        reason: io::Error,
    },
    /// The system refused to lock the memory of a storage, which would keep it from being swapped out.
    Pin {
        /// Number of bytes of the storage.
        bytes: usize,
        /// Number of bytes that this process may lock in total (`RLIMIT_MEMLOCK`); `None` if there is no limit.
        limit: Option<u64>,
        /// The system's reason.
        reason: io::Error,
    },
    /// The path now leads to another file than the mapped one.
    OtherFile {
        /// The file, as the caller named it.
        path: Text,
    },
    /// A shared map of a file that does not exist was requested without a size, so the file cannot be created.
    MissingFile {
        /// The file, as the caller named it.
        path: Text,
    },
    /// A file name with a zero byte in it.
    NulInName {
        /// The file, as the caller named it.
        path: Text,
    },
    /// Shared memory could not be opened, created, locked, extended, mapped or removed.
    SharedMemory {
        /// What was attempted: `"open"`, `"extend"` ...
        action: &'static str,
        /// Name of the shared memory, without a leading slash; empty if it has none.
        name: Text,
        /// The system's reason.
        reason: io::Error,
    },
    /// Shared memory cannot be used in this way, for a reason that is none of the system's.
    SharedMemoryUnusable {
        /// What was attempted: `"open"`, `"lock"` ...
        action: &'static str,
        /// Name of the shared memory, without a leading slash.
        name: Text,
        /// The reason.
        why: &'static str,
    },
    /// The file system that holds shared memory does not have enough room.
    SharedMemoryFull {
        /// Name of the shared memory, without a leading slash.
        name: Text,
        /// Number of bytes that the shared memory was to have.
        bytes: u64,
        /// Number of bytes that are free.
        free: u64,
    },
    /// Shared memory that does not exist was requested without a size, so it cannot be created.
    MissingSharedMemory {
        /// Name of the shared memory, without a leading slash.
        name: Text,
    },
    /// Shared memory was to be created, and the name is already in use.
    SharedMemoryExists {
        /// Name of the shared memory, without a leading slash.
        name: Text,
    },
    /// This is not a valid name for shared memory.
    SharedMemoryName {
        /// The name, as it was given.
        name: Text,
        /// What is wrong with the name.
        why: &'static str,
    },
    /// Only heap memory can be moved to shared memory, and only through a storage that is not a view.
    NotShareable {
        /// The actual kind of the storage.
        kind: MemoryKind,
    },
    /// Another Lua state, a token or a publication holds the storage, so its memory cannot be moved.
    HeldElsewhere,
    /// C or Rust code of this program holds the storage, so a Lua state cannot move its memory.
    HeldByProgram,
    /// Another thread, a Lua state, C code, a token or a publication holds the storage, so this thread of the program cannot move its
    /// memory.
    HeldByOthers,
    /// The memory belongs to a value of one Lua state, so no other state can have the storage.
    Anchored,
    /// The text is not a token of a storage.
    NotAToken,
    /// The token was made by another process.
    ForeignToken {
        /// Id of the process that made the token.
        process: u32,
        /// Id of this process.
        here: u32,
    },
    /// The token was already taken or dropped.
    SpentToken,
    /// Another storage is already published under this name.
    Published {
        /// The name.
        name: Text,
    },
    /// A `.t7` file with an error in it.
    Malformed(Box<Malformed>),
    /// A safetensors, npy or npz file with an error in it.
    Format(Box<FormatError>),
    /// A file has no tensor with this name.
    NoTensor {
        /// The file, as the caller named it.
        path: Text,
        /// The name.
        name: Text,
        /// The names of the first few tensors that the file has.
        first: Vec<Text>,
        /// The number of tensors that the file has.
        count: usize,
    },
    /// A tensor that a file of this format cannot have.
    NotInFormat {
        /// The format: `"a safetensors file"`.
        format: &'static str,
        /// The name of the tensor.
        name: Text,
        /// Why the file cannot have it.
        why: &'static str,
    },
    /// Sizes, strides, dimensions or indices of a tensor that do not fit.
    Shape(Box<ShapeError>),
    /// A string that is longer than a `.t7` file can hold.
    StringTooLong {
        /// Length of the string in bytes.
        bytes: usize,
    },
    /// An integer that a `.t7` file cannot hold, because all its numbers are doubles.
    InexactInteger {
        /// The integer.
        integer: i64,
    },
    /// One more reference would overflow the 32-bit count.
    TooManyReferences,
    /// No storage at this address has an outstanding `retain()`.
    NotRetained {
        /// The address.
        address: usize,
    },
    /// The retained storage at this address has another dtype.
    OtherClass {
        /// Its dtype.
        got: DType,
        /// The dtype that was requested.
        expected: DType,
    },
    /// The elements of the storage have another type than those of a vector or slice.
    OtherElements {
        /// The dtype of the storage.
        got: DType,
        /// The dtype of the vector or slice.
        expected: DType,
    },
}

/// The kinds of storages that error messages distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Memory that the storage allocated and owns.
    Heap,
    /// A part of another storage.
    View,
    /// A private map of a file.
    PrivateMap,
    /// A shared map of a file.
    SharedMap,
    /// Shared memory.
    SharedMemory,
    /// A read-only map of a file, private or shared.
    ReadOnlyMap,
    /// Memory that the caller provided and owns.
    Foreign,
    /// Memory that the caller provided and owns, and that is only read.
    ReadOnlyForeign,
    /// Memory of a value of the host program, which is dropped together with the memory.
    Owned,
    /// The same, but only read.
    ReadOnlyOwned,
}

impl fmt::Display for MemoryKind {
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
            Self::Owned => "memory of the host program",
            Self::ReadOnlyOwned => "read-only memory of the host program",
        })
    }
}

impl Error {
    /// Whether freeing something may help, so that a garbage collection and another attempt are worthwhile.
    #[must_use]
    pub fn is_exhaustion(&self) -> bool {
        match self {
            // Unreachable storages that are not collected yet may hold shared memory too.
            Self::OutOfMemory { .. } | Self::SharedMemoryFull { .. } => true,
            Self::File { reason, .. } | Self::SharedMemory { reason, .. } => {
                matches!(reason.raw_os_error(), Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE))
            }
            // Unreachable storages may use up the limit of locked memory.
            Self::Lock { reason, .. } | Self::Pin { reason, .. } => {
                matches!(reason.raw_os_error(), Some(libc::ENOMEM | libc::EAGAIN))
            }
            _ => false,
        }
    }
}

impl From<NoMemory> for Error {
    fn from(NoMemory { bytes }: NoMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

/// An error whose description is in a block of its own; [`Error::OutOfMemory`] if there is no memory for the block.
fn described<T>(description: T, make: impl FnOnce(Box<T>) -> Error) -> Error {
    boxed(description).map_or_else(Error::from, make)
}

impl From<ShapeError> for Error {
    #[cold]
    fn from(error: ShapeError) -> Self {
        described(error, Self::Shape)
    }
}

impl From<Malformed> for Error {
    #[cold]
    fn from(error: Malformed) -> Self {
        described(error, Self::Malformed)
    }
}

impl From<FormatError> for Error {
    #[cold]
    fn from(error: FormatError) -> Self {
        described(error, Self::Format)
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
