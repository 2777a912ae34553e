//! The errors in `.t7` files, and their texts.

use std::fmt;

use super::text::{are, count};
use super::{Error, Text};

/// An error in a `.t7` file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Malformed {
    /// The offset of the byte at which the error was found.
    pub offset: u64,
    /// The error.
    pub problem: Problem,
}

/// The kinds of errors in a `.t7` file. [`Malformed`] adds the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation and the text of a variant say what its fields are")]
pub enum Problem {
    /// The file ends too early.
    #[error("{what} expected ({}), but {} {} left", count(*.needed, "byte"), count(*.left, "byte"), are(*.left))]
    Short { what: &'static str, needed: u64, left: u64 },
    /// A count that is negative, or too large for the rest of the file.
    #[error(fmt = announced)]
    Count { what: &'static str, count: i64, left: u64 },
    /// The beginning of the file is not that of a `.t7` file.
    #[error("this is not a .t7 file: it begins with '{}'", .got.as_bytes().escape_ascii())]
    Beginning { got: Text },
    /// A tag that does not exist.
    #[error("the tag of an object expected (0 to 8), got {tag}")]
    Tag { tag: i32 },
    /// Text in an ascii file that is not a number.
    #[error("{what} expected, got '{}'", .got.as_bytes().escape_ascii())]
    NoNumber { what: &'static str, got: Text },
    /// An int outside the range of C's `int`.
    #[error("an int expected (-2^31 to 2^31-1), got {got}")]
    IntRange { got: i64 },
    /// A reference to an object that has not been read yet, or not completely.
    #[error("object {index} has not been read yet")]
    Unfinished { index: i32 },
    /// The class of an object refused it.
    #[error("{why}")]
    Refused { why: Text },
    /// A value that cannot be the key of a table.
    #[error("{what} cannot be the key of a table")]
    Key { what: &'static str },
    /// A value other than the expected one.
    #[error("{expected} expected")]
    Unexpected { expected: &'static str },
}

impl Malformed {
    /// The error for an object at this offset that was refused for a reason. If there was no memory, that is the error.
    pub(crate) fn refused(offset: u64, reason: Error) -> Error {
        match reason {
            Error::OutOfMemory { .. } => reason,
            reason => Self { offset, problem: Problem::Refused { why: Text::displayed(&reason) } }.into(),
        }
    }
}

fn announced(what: &str, number: &i64, left: &u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Ok(number) = u64::try_from(*number) else {
        return write!(f, "the number of {what} must not be negative, got {number}");
    };
    let (things, bytes) = (count(number, what.trim_end_matches('s')), count(*left, "byte"));
    write!(f, "{things} {} announced, but {bytes} {} left", are(number), are(*left))
}
