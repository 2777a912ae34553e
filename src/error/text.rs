//! The parts of the texts of errors that need more than a format.

use std::fmt;
use std::io;

use super::name::shown;
use super::{MemoryKind, Text};
use crate::system::texts;

/// The system's reason, without the `(os error N)` that Rust appends, and without an allocation.
pub struct Reason<'a>(pub &'a io::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.0.raw_os_error() else { return write!(f, "{}", self.0) };
        match texts::message(code, &mut [0; 256]) {
            Some(text) => write!(f, "{}", shown(text)),
            None => write!(f, "error {code} of the system"),
        }
    }
}

/// How a file is mapped, for a heap storage that was taken for a map: `torch.UntypedStorage(filename)` has the bytes of the name.
pub struct HowToMap(pub MemoryKind, pub &'static str);

impl fmt::Display for HowToMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == MemoryKind::Heap { write!(f, "; fromfile(filename{}) maps one", self.1) } else { Ok(()) }
    }
}

/// Where a map begins that is not at the beginning of its file, and the length that the file needs for it.
pub struct FromOffset(pub u64, pub u64);

impl fmt::Display for FromOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(offset, needed) = self;
        if *offset > 0 { write!(f, " ({} from byte offset {offset} on)", needed - offset) } else { Ok(()) }
    }
}

/// The number of bytes that this process may lock, and what else the program can do than raise it.
pub struct Limit(pub Option<u64>, pub &'static str);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Some(limit), instead) = self else { return Ok(()) };
        write!(f, "; this process may lock {limit} bytes in total: raise the limit (ulimit -l){instead}")
    }
}

/// A number of things, for example `1 element` or `2 elements`.
pub struct Count<'a>(u64, &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

pub fn count(number: impl TryInto<u64>, what: &str) -> Count<'_> {
    Count(number.try_into().unwrap_or(u64::MAX), what)
}

/// The verb for a number of things.
pub fn are(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

pub fn no_words(width: &usize, bytes: &usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match width {
        1 | 2 | 4 | 8 => write!(f, "{bytes} bytes is not a multiple of the {width}-byte word size"),
        _ => write!(f, "a word has 1, 2, 4 or 8 bytes, got {width}"),
    }
}

pub fn shared_memory(action: &str, name: &Text, reason: &io::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "cannot {action} shared memory")?;
    if !name.is_empty() {
        write!(f, " '{name}'")?;
    }
    write!(f, ": {}", Reason(reason))
}

pub fn no_tensor(path: &Text, name: &Text, first: &[Text], count: &usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
