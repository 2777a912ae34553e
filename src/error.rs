//! What can go wrong in the engine: facts, in elements and bytes, without any Lua wording.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::element::DType;
use crate::t7::Malformed;

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
            Self::LengthMismatch { expected, got } => {
                write!(f, "length mismatch: {expected} bytes expected, got {got}")
            }
            Self::NoWords { width, bytes } if matches!(width, 1 | 2 | 4 | 8) => {
                write!(f, "{bytes} bytes are no whole number of words of {width} bytes")
            }
            Self::NoWords { width, .. } => write!(f, "a word has 1, 2, 4 or 8 bytes, not {width}"),
            Self::OutOfRange { offset, size, available } => {
                write!(f, "{size} elements from place {offset} are not inside a storage of {available}")
            }
            Self::NotResizable { kind } => {
                write!(f, "not resizable: the storage is {kind}; clone() gives one that can change its size")
            }
            Self::NothingToFlush { kind } => {
                write!(f, "nothing to flush: only a shared map of a file writes to it, this storage is {kind}")
            }
            Self::NotMapped { kind } => {
                write!(f, "not a mapped file: only such a storage can be advised or checked, this one is {kind}")
            }
            Self::ReadOnly { kind } => {
                write!(f, "read-only: the storage is {kind}; clone() gives one that can be written")
            }
            Self::File { action, path, reason } => {
                write!(f, "cannot {action} file '{}': {}", name_text(path), reason_text(reason))
            }
            Self::NotAFile { action, path, what } => {
                write!(f, "cannot {action} '{}': it is {what}, not a regular file", name_text(path))
            }
            Self::FileTooSmall { path, bytes, offset, needed } => {
                write!(f, "cannot map file '{}': it has {bytes} bytes, {needed} are needed", name_text(path))?;
                if *offset > 0 { write!(f, " ({} from byte offset {offset} on)", needed - offset) } else { Ok(()) }
            }
            Self::OffsetBeyondEnd { path, offset, bytes } => {
                write!(f, "cannot map file '{}': byte offset {offset} is beyond its end, it has {bytes} bytes", name_text(path))
            }
            Self::PastLargestFile { path, offset, bytes } => {
                let name = name_text(path);
                write!(
                    f,
                    "cannot map file '{name}': {bytes} bytes from byte offset {offset} on end past 2^63-1, the most of a file"
                )
            }
            Self::Lock { path, bytes, limit, reason } => {
                write!(f, "cannot lock {bytes} bytes of file '{}' in memory: {}", name_text(path), reason_text(reason))?;
                match limit {
                    Some(limit) => {
                        write!(f, "; this process may lock {limit} bytes in all: raise that (ulimit -l), or do not lock")
                    }
                    None => Ok(()),
                }
            }
            Self::Pin { bytes, limit, reason } => {
                write!(f, "cannot lock {bytes} bytes in memory: {}", reason_text(reason))?;
                match limit {
                    Some(limit) => write!(f, "; this process may lock {limit} bytes in all: raise that (ulimit -l)"),
                    None => Ok(()),
                }
            }
            Self::OtherFile { path } => {
                let name = name_text(path);
                write!(f, "cannot check file '{name}': another file has its name now, the storage shows the one that was mapped")
            }
            Self::MissingFile { path } => {
                write!(f, "cannot open file '{}': No such file or directory (give a size to create it)", name_text(path))
            }
            Self::NulInName { path } => {
                write!(f, "a file name cannot contain a zero byte, got '{}'", name_text(path).replace('\0', "\\0"))
            }
            Self::SharedMemory { action, name, reason } => {
                let name = if name.is_empty() { String::new() } else { format!(" '{}'", name_text(Path::new(name))) };
                write!(f, "cannot {action} shared memory{name}: {}", reason_text(reason))
            }
            Self::SharedMemoryFull { name, bytes, free } => {
                let name = name_text(Path::new(name));
                write!(f, "no room for shared memory '{name}' of {bytes} bytes: {free} are free (see df /dev/shm)")
            }
            Self::MissingSharedMemory { name } => {
                write!(f, "there is no shared memory '{}' (give a size to create it)", name_text(Path::new(name)))
            }
            Self::SharedMemoryExists { name } => {
                let name = name_text(Path::new(name));
                write!(f, "there is shared memory '{name}' already: attach to it, take another name, or remove it")
            }
            Self::SharedMemoryName { name, why } => {
                let name = name_text(Path::new(name)).replace('\0', "\\0");
                write!(f, "'{name}' cannot name shared memory: {why}")
            }
            Self::NotShareable { kind } => {
                write!(f, "only heap memory moves to shared memory, this storage is {kind}; clone() gives one that can")
            }
            Self::HeldElsewhere => write!(
                f,
                "another Lua state, a token or a publication holds the storage: it stays where it is until they let go; clone() gives \
                 one of its own"
            ),
            Self::Anchored => {
                write!(
                    f,
                    "the memory of this storage belongs to a value of one Lua state; clone() gives one that can be passed on"
                )
            }
            Self::NotAToken => write!(f, "this is no token: s:token() gives one"),
            Self::ForeignToken { process, here } => {
                write!(f, "the token is of process {process}, this is process {here}: use shared memory between processes")
            }
            Self::SpentToken => write!(f, "the token was taken or dropped already: each is good for one taking"),
            Self::Published { name } => {
                write!(f, "another storage is published as '{}': unpublish it first", String::from_utf8_lossy(name))
            }
            Self::Malformed(malformed) => write!(f, "at byte {}: {malformed}", malformed.offset),
            Self::StringTooLong { bytes } => write!(f, "a string of {bytes} bytes: 2^31-1 is the most in a .t7 file"),
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
            Self::File { reason, .. }
            | Self::SharedMemory { reason, .. }
            | Self::Lock { reason, .. }
            | Self::Pin { reason, .. } => Some(reason),
            _ => None,
        }
    }
}
