//! The texts of the errors.

use std::ffi::CStr;
use std::fmt;
use std::io;

use super::name::shown;
use super::{Error, MemoryKind};

/// The system's reason, without the `(os error N)` that Rust appends, and without an allocation.
struct Reason<'a>(&'a io::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.0.raw_os_error() else { return write!(f, "{}", self.0) };
        let mut text = [0; 256];
        // SAFETY: [system] [in-bounds] the system writes at most as many bytes as the variable has, and a zero byte at the end.
        let known = unsafe { libc::strerror_r(code, text.as_mut_ptr().cast(), text.len()) } == 0;
        match CStr::from_bytes_until_nul(&text) {
            Ok(text) if known => write!(f, "{}", shown(text.to_bytes())),
            _ => write!(f, "error {code} of the system"),
        }
    }
}

/// How a file is mapped, for a heap storage that was taken for a map: `torch.UntypedStorage(filename)` has the bytes of the name.
struct HowToMap(MemoryKind, &'static str);

impl fmt::Display for HowToMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == MemoryKind::Heap { write!(f, "; fromfile(filename{}) maps one", self.1) } else { Ok(()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, dtype } => {
                write!(f, "{size} elements of {} bytes are more than a machine can address", dtype.width())
            }
            Self::OutOfMemory { bytes } => write!(f, "not enough memory: {bytes} bytes were requested"),
            Self::SizeMismatch { expected, got } => {
                write!(f, "size mismatch: {expected} elements expected, got {got}")
            }
            Self::LengthMismatch { expected, got } => {
                write!(f, "length mismatch: {expected} bytes expected, got {got}")
            }
            Self::NoWords { width, bytes } if matches!(width, 1 | 2 | 4 | 8) => {
                write!(f, "{bytes} bytes is not a multiple of the {width}-byte word size")
            }
            Self::NoWords { width, .. } => write!(f, "a word has 1, 2, 4 or 8 bytes, got {width}"),
            Self::OutOfRange { offset, size, available } => {
                write!(f, "a range of size {size} at offset {offset} is not inside a storage of size {available}")
            }
            Self::NotResizable { kind } => {
                write!(f, "not resizable: the storage is {kind}; clone() returns a resizable copy")
            }
            Self::NothingToFlush { kind } => {
                write!(
                    f,
                    "nothing to flush: the storage is {kind}; only a shared map writes to its file{}",
                    HowToMap(*kind, ", true")
                )
            }
            Self::NotMapped { kind } => {
                write!(
                    f,
                    "not a mapped file: the storage is {kind}; only a mapped file can be advised or checked{}",
                    HowToMap(*kind, "")
                )
            }
            Self::ReadOnly { kind } => {
                write!(f, "read-only: the storage is {kind}; clone() returns a writable copy")
            }
            Self::File { action, path, reason } => {
                write!(f, "cannot {action} file '{path}': {}", Reason(reason))
            }
            Self::NotAFile { action, path, what } => {
                write!(f, "cannot {action} '{path}': it is {what}, not a regular file")
            }
            Self::NoRoom { path, bytes, free } => {
                write!(f, "cannot save '{path}': it would have {bytes} bytes, and {free} are free on its disk")
            }
            Self::FileTooSmall { path, bytes, offset, needed } => {
                write!(f, "cannot map file '{path}': it has {bytes} bytes, {needed} are needed")?;
                if *offset > 0 { write!(f, " ({} from byte offset {offset} on)", needed - offset) } else { Ok(()) }
            }
            Self::OffsetBeyondEnd { path, offset, bytes } => {
                write!(f, "cannot map file '{path}': byte offset {offset} is beyond its end (it has {bytes} bytes)")
            }
            Self::PastLargestFile { path, offset, bytes } => {
                write!(
                    f,
                    "cannot map file '{path}': {bytes} bytes at byte offset {offset} end past 2^63-1, the largest size of a file"
                )
            }
            Self::Lock { path, bytes, limit, reason } => {
                write!(f, "cannot lock {bytes} bytes of file '{path}' in memory: {}", Reason(reason))?;
                match limit {
                    Some(limit) => {
                        write!(f, "; this process may lock {limit} bytes in total: raise the limit (ulimit -l), or do not lock")
                    }
                    None => Ok(()),
                }
            }
            Self::Pin { bytes, limit, reason } => {
                write!(f, "cannot lock {bytes} bytes in memory: {}", Reason(reason))?;
                match limit {
                    Some(limit) => write!(f, "; this process may lock {limit} bytes in total: raise the limit (ulimit -l)"),
                    None => Ok(()),
                }
            }
            Self::OtherFile { path } => {
                write!(f, "cannot check file '{path}': another file has its name now; the storage still shows the file it mapped")
            }
            Self::MissingFile { path } => {
                write!(f, "cannot open file '{path}': No such file or directory (give a size to create it)")
            }
            Self::NulInName { path } => {
                write!(f, "a file name cannot contain a zero byte, got '{path}'")
            }
            Self::SharedMemory { action, name, reason } => {
                write!(f, "cannot {action} shared memory")?;
                if !name.is_empty() {
                    write!(f, " '{name}'")?;
                }
                write!(f, ": {}", Reason(reason))
            }
            Self::SharedMemoryUnusable { action, name, why } => write!(f, "cannot {action} shared memory '{name}': {why}"),
            Self::SharedMemoryFull { name, bytes, free } => {
                write!(f, "no room for shared memory '{name}' of {bytes} bytes: {free} are free (see df /dev/shm)")
            }
            Self::MissingSharedMemory { name } => {
                write!(f, "there is no shared memory '{name}' (give a size to create it)")
            }
            Self::SharedMemoryExists { name } => {
                write!(f, "shared memory '{name}' already exists: attach to it, choose another name, or remove it")
            }
            Self::SharedMemoryName { name, why } => {
                write!(f, "'{name}' is not a valid name for shared memory: {why}")
            }
            Self::NotShareable { kind } => {
                write!(
                    f,
                    "only heap memory can move to shared memory: the storage is {kind}; clone() returns a copy that can move"
                )
            }
            Self::HeldElsewhere => write!(
                f,
                "another Lua state, a token or a publication holds the storage: its memory cannot move until they release it; \
                 clone() returns an independent copy"
            ),
            Self::HeldByProgram => write!(
                f,
                "C or Rust code of this program holds the storage: its memory cannot move until that code releases it; clone() \
                 returns an independent copy"
            ),
            Self::HeldByOthers => write!(
                f,
                "another thread, a Lua state, C code, a token or a publication holds the storage: its memory cannot move until \
                 they release it; a copy by cast() is independent"
            ),
            Self::Anchored => {
                write!(
                    f,
                    "the memory of this storage belongs to a value of one Lua state; clone() returns a copy for other states"
                )
            }
            Self::NotAToken => write!(f, "this is not a token: s:token() returns one"),
            Self::ForeignToken { process, here } => {
                write!(f, "the token is from process {process}, and this is process {here}: use shared memory between processes")
            }
            Self::SpentToken => write!(f, "the token was already taken or dropped: a token can be taken once"),
            Self::Published { name } => {
                write!(f, "another storage is published as '{name}': unpublish it first")
            }
            Self::Malformed(malformed) => write!(f, "at byte {}: {malformed}", malformed.offset),
            Self::Shape(error) => write!(f, "{error}"),
            Self::Format(error) => write!(f, "{error}"),
            Self::NoTensor { path, name, first, count } => {
                write!(f, "no tensor '{name}' in '{path}', which has ")?;
                for (number, name) in first.iter().enumerate() {
                    write!(f, "{}'{}'", if number == 0 { "" } else { ", " }, name)?;
                }
                match count - first.len() {
                    0 if first.is_empty() => f.write_str("none"),
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::NotInFormat { format, name, why } => write!(f, "{format} cannot have the tensor '{name}': {why}"),
            Self::StringTooLong { bytes } => {
                write!(f, "a string of {bytes} bytes is too long for a .t7 file: the limit is 2^31-1 bytes")
            }
            Self::InexactInteger { integer } => {
                write!(
                    f,
                    "numbers in a .t7 file are doubles, and a double rounds {integer}; save it as a string or in a LongStorage"
                )
            }
            Self::TooManyReferences => write!(f, "too many references: a storage can have at most {}", i32::MAX),
            Self::NotRetained { address } => {
                write!(f, "no storage with an outstanding retain() is at address {address}")
            }
            Self::OtherElements { got, expected } => {
                let (got, class) = (got.element_name(), got.class_name());
                write!(f, "the storage is a {class}, whose elements are {got}, not {}", expected.element_name())
            }
            Self::OtherClass { got, expected } => {
                write!(f, "the storage at this address is a {}, not a {}", got.class_name(), expected.class_name())
            }
        }
    }
}
