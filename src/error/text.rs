//! What failures say.

use std::fmt;
use std::io;
use std::path::Path;

use super::Error;

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
            Self::NoWords { width, .. } => write!(f, "a word has 1, 2, 4 or 8 bytes, got {width}"),
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
