//! The errors in `.t7` files, and their texts.

use std::fmt;

use super::{Error, Text};

/// An error in a `.t7` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The offset of the byte at which the error was found.
    pub offset: u64,
    /// The error.
    pub problem: Problem,
}

/// The kinds of errors in a `.t7` file. [`Malformed`] adds the position.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file ends too early.
    Short {
        /// What was expected: `"an int"`, `"the elements"` ...
        what: &'static str,
        /// The smallest number of bytes that this takes.
        needed: u64,
        /// Number of bytes that are left in the file.
        left: u64,
    },
    /// A count that is negative, or too large for the rest of the file.
    Count {
        /// What is counted: `"pairs"`, `"elements"` ...
        what: &'static str,
        /// The count in the file.
        count: i64,
        /// Number of bytes that are left in the file.
        left: u64,
    },
    /// The beginning of the file is not that of a `.t7` file.
    Beginning {
        /// The first bytes of the file.
        got: Text,
    },
    /// A tag that does not exist.
    Tag {
        /// The tag in the file.
        tag: i32,
    },
    /// Text in an ascii file that is not a number.
    NoNumber {
        /// What was expected: `"an int"` ...
        what: &'static str,
        /// The text in the file, shortened if it is long.
        got: Text,
    },
    /// An int outside the range of C's `int`.
    IntRange {
        /// The number in the file.
        got: i64,
    },
    /// A reference to an object that has not been read yet, or not completely.
    Unfinished {
        /// The index of the object.
        index: i32,
    },
    /// The class of an object refused it.
    Refused {
        /// The reason, with the numbers.
        why: Text,
    },
    /// A value that cannot be the key of a table.
    Key {
        /// The value: `"nil"` or `"NaN"`.
        what: &'static str,
    },
    /// A value other than the expected one.
    Unexpected {
        /// What was expected.
        expected: &'static str,
    },
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

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::Short { what, needed, left } => {
                write!(f, "{what} expected ({}), but {} left", amount(*needed, "bytes"), amount_is(*left, "bytes"))
            }
            Problem::Count { what, count, left } => match u64::try_from(*count) {
                Ok(count) => write!(f, "{} announced, but {} left", amount_is(count, what), amount_is(*left, "bytes")),
                Err(_) => write!(f, "the number of {what} must not be negative, got {count}"),
            },
            Problem::Beginning { got } => write!(f, "this is not a .t7 file: it begins with '{}'", got.as_bytes().escape_ascii()),
            Problem::Tag { tag } => write!(f, "the tag of an object expected (0 to 8), got {tag}"),
            Problem::NoNumber { what, got } => write!(f, "{what} expected, got '{}'", got.as_bytes().escape_ascii()),
            Problem::IntRange { got } => write!(f, "an int expected (-2^31 to 2^31-1), got {got}"),
            Problem::Unfinished { index } => write!(f, "object {index} has not been read yet"),
            Problem::Refused { why } => write!(f, "{why}"),
            Problem::Key { what } => write!(f, "{what} cannot be the key of a table"),
            Problem::Unexpected { expected } => write!(f, "{expected} expected"),
        }
    }
}

/// A number of things, for example `3 bytes` or `1 byte`.
struct Amount<'a> {
    count: u64,
    /// The plural.
    what: &'a str,
    /// Whether the verb follows, as in `3 bytes are`.
    verb: bool,
}

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.count == 1 { self.what.trim_end_matches('s') } else { self.what };
        write!(f, "{} {what}", self.count)?;
        f.write_str(match self.count {
            _ if !self.verb => "",
            1 => " is",
            _ => " are",
        })
    }
}

fn amount(count: u64, what: &str) -> Amount<'_> {
    Amount { count, what, verb: false }
}

fn amount_is(count: u64, what: &str) -> Amount<'_> {
    Amount { count, what, verb: true }
}
