//! The errors of the engine. They carry numbers, in elements and bytes, and know nothing of Lua.

mod format;
mod malformed;
mod name;
mod shape;
mod text;

use std::fmt;
use std::io;

use crate::budget::{self, OverBudget};
use crate::element::DType;
use crate::fallible::{NoMemory, boxed};
use crate::system::code::Code;
pub use format::{Flaw, FormatError, Part};
pub use malformed::{Malformed, Problem};
pub use name::Text;
#[cfg_attr(
    not(any(feature = "lua", feature = "formats")),
    expect(unused_imports, reason = "only these features have errors that show names without copying them")
)]
pub(crate) use name::shown;
pub use shape::{MAX_DIMENSIONS, Numbers, ShapeError, WidthObstacle};
use text::{FromOffset, HowToMap, Limit, Reason};

/// Why a storage operation failed. A failed operation leaves the storage unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation and the text of a variant say what its fields are")]
pub enum Error {
    /// `size` elements of `dtype` take more bytes than a `usize` can count.
    #[error("{size} elements of {} bytes are more than a machine can address", .dtype.width())]
    TooLarge { size: usize, dtype: DType },
    /// The system refused to allocate this much memory.
    #[error("not enough memory: {bytes} bytes were requested")]
    OutOfMemory { bytes: usize },
    /// The host program has set a limit for the storages of a Lua state, and the memory would exceed it. `used` bytes of it are in use.
    #[error("not enough memory: {bytes} bytes were requested, and the host program allows {limit}, of which {used} are in use")]
    OverBudget { bytes: usize, used: usize, limit: usize },
    /// A copy between storages of different sizes: `expected` is that of the destination.
    #[error("size mismatch: {expected} elements expected, got {got}")]
    SizeMismatch { expected: usize, got: usize },
    /// A copy of raw bytes between storages with different numbers of bytes: `expected` is that of the destination.
    #[error("length mismatch: {expected} bytes expected, got {got}")]
    LengthMismatch { expected: usize, got: usize },
    /// The byte order of words cannot be reversed: no word has this width, or the length is not a multiple of it.
    #[error(fmt = text::no_words)]
    NoWords { width: usize, bytes: usize },
    /// A range that does not lie within the storage. The numbers count elements; in operations on raw bytes they count bytes.
    #[error("a range of size {size} at offset {offset} is not inside a storage of size {available}")]
    OutOfRange { offset: usize, size: usize, available: usize },
    /// Only heap memory can be resized, and only through a storage that is not a view.
    #[error("not resizable: the storage is {kind}; clone() returns a resizable copy")]
    NotResizable { kind: MemoryKind },
    /// Only a shared map can be written back to its file.
    #[error("nothing to flush: the storage is {kind}; only a shared map writes to its file{}", HowToMap(*.kind, ", true"))]
    NothingToFlush { kind: MemoryKind },
    /// Only a mapped file can be advised or checked.
    #[error("not a mapped file: the storage is {kind}; only a mapped file can be advised or checked{}", HowToMap(*.kind, ""))]
    NotMapped { kind: MemoryKind },
    /// A write to a read-only storage.
    #[error("read-only: the storage is {kind}; clone() returns a writable copy")]
    ReadOnly { kind: MemoryKind },
    /// Elements of this dtype cannot be accessed like this at once. `classes` says which can.
    #[error("elements of a {} cannot be accessed like this at once: {classes} expected", .dtype.class_name())]
    NotAtomic { dtype: DType, classes: &'static str },
    /// The address of an element is not a multiple of its width, so no processor accesses it at once.
    #[error(
        "not aligned: elements of a {} are accessed at once where their address is a multiple of {}, and the first one is {} bytes behind \
         such an address",
        .dtype.class_name(), .dtype.width(), .address % .dtype.width()
    )]
    Unaligned { dtype: DType, address: usize },
    /// A thread would wait for ever: no other thread or process can reach the memory, so nobody could wake it.
    #[error(
        "nobody can wake this thread: no other thread or process has this memory; share it (shareMemory, publish, token), or give a \
         time-out"
    )]
    OutOfReach,
    /// A file could not be opened, extended or mapped.
    #[error("cannot {action} file '{path}': {}", Reason(.reason))]
    File {
        action: &'static str,
        path: Text,
        #[source]
        reason: io::Error,
    },
    /// The system does not replace or shorten a file while a storage of this process maps it. `class` is that of the storage. Windows
    /// only.
    #[error(
        "cannot {action} file '{path}': a {class} of this process maps it, and Windows keeps such a file as it is; free the storage first"
    )]
    Mapped { action: &'static str, path: Text, class: &'static str },
    /// This system has no counterpart of something that others have.
    #[error("{what}: {why}")]
    Lacking { what: &'static str, why: &'static str },
    /// The path leads to something other than a regular file: a directory, a device, a pipe.
    #[error("cannot {action} '{path}': it is {what}, not a regular file")]
    NotAFile { action: &'static str, path: Text, what: &'static str },
    /// The file system does not have room for a file that is saved.
    #[error("cannot save '{path}': it would have {bytes} bytes, and {free} are free on its disk")]
    NoRoom { path: Text, bytes: u64, free: u64 },
    /// The file is shorter than the requested map, and a private or read-only map cannot extend it. `needed` is the length that the file
    /// needs for this map: the offset and the bytes of the map.
    #[error("cannot map file '{path}': it has {bytes} bytes, {needed} are needed{}", FromOffset(*.offset, *.needed))]
    FileTooSmall { path: Text, bytes: u64, offset: u64, needed: u64 },
    /// The map was to start beyond the end of the file, and this map cannot extend it.
    #[error("cannot map file '{path}': byte offset {offset} is beyond its end (it has {bytes} bytes)")]
    OffsetBeyondEnd { path: Text, offset: u64, bytes: u64 },
    /// The map would end past the largest possible length of a file, 2^63 - 1 bytes.
    #[error("cannot map file '{path}': {bytes} bytes at byte offset {offset} end past 2^63-1, the largest size of a file")]
    PastLargestFile { path: Text, offset: u64, bytes: usize },
    /// The system refused to lock a map in memory. `limit` is the number of bytes that this process may lock in total
    /// (`RLIMIT_MEMLOCK`), if there is a limit.
    #[error("cannot lock {bytes} bytes of file '{path}' in memory: {}{}", Reason(.reason), Limit(*.limit, ", or do not lock"))]
    Lock {
        path: Text,
        bytes: usize,
        limit: Option<u64>,
        #[source]
        reason: io::Error,
    },
    /// The system refused to lock the memory of a storage, which would keep it from being swapped out. `limit` is as in
    /// [`Lock`](Self::Lock).
    #[error("cannot lock {bytes} bytes in memory: {}{}", Reason(.reason), Limit(*.limit, ""))]
    Pin {
        bytes: usize,
        limit: Option<u64>,
        #[source]
        reason: io::Error,
    },
    /// The path now leads to another file than the mapped one.
    #[error("cannot check file '{path}': another file has its name now; the storage still shows the file it mapped")]
    OtherFile { path: Text },
    /// A shared map of a file that does not exist was requested without a size, so the file cannot be created.
    #[error("cannot open file '{path}': No such file or directory (give a size to create it)")]
    MissingFile { path: Text },
    /// A file name with a zero byte in it.
    #[error("a file name cannot contain a zero byte, got '{path}'")]
    NulInName { path: Text },
    /// Shared memory could not be opened, created, locked, extended, mapped or removed. Its name is empty if it has none.
    #[error(fmt = text::shared_memory)]
    SharedMemory {
        action: &'static str,
        name: Text,
        #[source]
        reason: io::Error,
    },
    /// Shared memory cannot be used in this way, for a reason that is none of the system's.
    #[error("cannot {action} shared memory '{name}': {why}")]
    SharedMemoryUnusable { action: &'static str, name: Text, why: &'static str },
    /// The file system that holds shared memory does not have enough room.
    #[error("no room for shared memory '{name}' of {bytes} bytes: {free} are free (see df /dev/shm)")]
    SharedMemoryFull { name: Text, bytes: u64, free: u64 },
    /// Shared memory that does not exist was requested without a size, so it cannot be created.
    #[error("there is no shared memory '{name}' (give a size to create it)")]
    MissingSharedMemory { name: Text },
    /// Shared memory is shorter than the part of it that was to be attached to, and was not to be extended.
    #[error("shared memory '{name}' has {bytes} bytes, {needed} are needed")]
    SharedMemoryTooSmall { name: Text, bytes: u64, needed: u64 },
    /// Shared memory was to be created, and the name is already in use.
    #[error("shared memory '{name}' already exists: attach to it, choose another name, or remove it")]
    SharedMemoryExists { name: Text },
    /// This is not a valid name for shared memory.
    #[error("'{name}' is not a valid name for shared memory: {why}")]
    SharedMemoryName { name: Text, why: &'static str },
    /// Only heap memory can be moved to shared memory, and only through a storage that is not a view.
    #[error("only heap memory can move to shared memory: the storage is {kind}; clone() returns a copy that can move")]
    NotShareable { kind: MemoryKind },
    /// Another Lua state, a token or a publication holds the storage, so its memory cannot be moved.
    #[error(
        "another Lua state, a token or a publication holds the storage: its memory cannot move until they release it; clone() \
         returns an independent copy"
    )]
    HeldElsewhere,
    /// C or Rust code of this program holds the storage, so a Lua state cannot move its memory.
    #[error(
        "C or Rust code of this program holds the storage: its memory cannot move until that code releases it; clone() returns an \
         independent copy"
    )]
    HeldByProgram,
    /// Another thread, a Lua state, C code, a token or a publication holds the storage, so this thread of the program cannot move its
    /// memory.
    #[error(
        "another thread, a Lua state, C code, a token or a publication holds the storage: its memory cannot move until they \
         release it; a copy by cast() is independent"
    )]
    HeldByOthers,
    /// The memory belongs to a value of one Lua state, so no other state can have the storage.
    #[error("the memory of this storage belongs to a value of one Lua state; clone() returns a copy for other states")]
    Anchored,
    /// The text is not a token of a storage.
    #[error("this is not a token: s:token() returns one")]
    NotAToken,
    /// The token was made by another process.
    #[error("the token is from process {process}, and this is process {here}: use shared memory between processes")]
    ForeignToken { process: u32, here: u32 },
    /// The token was already taken or dropped.
    #[error("the token was already taken or dropped: a token can be taken once")]
    SpentToken,
    /// Another storage is already published under this name.
    #[error("another storage is published as '{name}': unpublish it first")]
    Published { name: Text },
    /// A `.t7` file with an error in it.
    #[error("at byte {}: {}", .0.offset, .0)]
    Malformed(Box<Malformed>),
    /// A safetensors, npy or npz file with an error in it.
    #[error("{0}")]
    Format(Box<FormatError>),
    /// A file has no tensor with this name. It has `count` tensors, with the names `first` and others.
    #[error(fmt = text::no_tensor)]
    NoTensor { path: Text, name: Text, first: Vec<Text>, count: usize },
    /// A tensor that a file of this format (`"a safetensors file"`) cannot have.
    #[error("{format} cannot have the tensor '{name}': {why}")]
    NotInFormat { format: &'static str, name: Text, why: &'static str },
    /// Sizes, strides, dimensions or indices of a tensor that do not fit.
    #[error("{0}")]
    Shape(Box<ShapeError>),
    /// A string that is longer than a `.t7` file can hold.
    #[error("a string of {bytes} bytes is too long for a .t7 file: the limit is 2^31-1 bytes")]
    StringTooLong { bytes: usize },
    /// An integer that a `.t7` file cannot hold, because all its numbers are doubles.
    #[error("numbers in a .t7 file are doubles, and a double rounds {integer}; save it as a string or in a LongStorage")]
    InexactInteger { integer: i64 },
    /// One more reference would overflow the 32-bit count.
    #[error("too many references: a storage can have at most {}", i32::MAX)]
    TooManyReferences,
    /// No storage at this address has an outstanding `retain()`.
    #[error("no storage with an outstanding retain() is at address {address}")]
    NotRetained { address: usize },
    /// The retained storage at this address has another dtype than the one that was requested.
    #[error("the storage at this address is a {}, not a {}", .got.class_name(), .expected.class_name())]
    OtherClass { got: DType, expected: DType },
    /// The elements of the storage have another type than those of a vector or slice.
    #[error("the storage is a {}, whose elements are {}, not {}", .got.class_name(), .got.element_name(), .expected.element_name())]
    OtherElements { got: DType, expected: DType },
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
    /// Shared memory that this process only reads.
    ReadOnlySharedMemory,
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
            Self::ReadOnlySharedMemory => "read-only shared memory",
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
            // Unreachable storages that are not collected yet may hold shared memory too, and map files.
            Self::OutOfMemory { .. } | Self::SharedMemoryFull { .. } | Self::Mapped { .. } => true,
            // More than all that is allowed never fits. In a Lua state that is being closed nothing is allowed.
            Self::OverBudget { bytes, limit, .. } => bytes <= limit,
            Self::File { reason, .. } | Self::SharedMemory { reason, .. } => {
                Code::NoMemory.is_of(reason) || Code::TooManyFiles.is_of(reason)
            }
            // Unreachable storages may use up the limit of locked memory.
            Self::Lock { reason, .. } | Self::Pin { reason, .. } => {
                Code::NoMemory.is_of(reason) || Code::TooManyLockedPages.is_of(reason)
            }
            _ => false,
        }
    }
}

impl From<OverBudget> for Error {
    fn from(OverBudget { bytes, used, limit }: OverBudget) -> Self {
        Self::OverBudget { bytes, used, limit }
    }
}

impl From<NoMemory> for Error {
    fn from(NoMemory { bytes }: NoMemory) -> Self {
        budget::refusal(bytes).map_or(Self::OutOfMemory { bytes }, Self::from)
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
