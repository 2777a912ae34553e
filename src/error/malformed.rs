//! What can be wrong with a `.t7` file: where, what, and in which words.

use std::fmt;

/// What is wrong with a `.t7` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The byte where it begins, from 0.
    pub offset: u64,
    /// What it is.
    pub problem: Problem,
}

/// What is wrong at one byte of a file: see [`Malformed`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file ends before what it announces.
    Short {
        /// What is missing: `"an int"`, `"the elements"` ...
        what: &'static str,
        /// The least number of bytes that it takes.
        needed: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// A count that is negative, or larger than the bytes that are left can hold.
    Count {
        /// What is counted: `"pairs"`, `"elements"` ...
        what: &'static str,
        /// The count in the file.
        count: i64,
        /// Bytes that are left.
        left: u64,
    },
    /// No `.t7` file begins like this one.
    Beginning {
        /// Its first bytes.
        got: Vec<u8>,
    },
    /// A tag that no object has.
    Tag {
        /// The tag in the file.
        tag: i32,
    },
    /// In an ascii file: text that is not a number.
    NoNumber {
        /// What was expected: `"an int"` ...
        what: &'static str,
        /// The text in the file, cut if it is long.
        got: Vec<u8>,
    },
    /// An int outside the range of C's `int`.
    IntRange {
        /// The number in the file.
        got: i64,
    },
    /// The index of an object that has not been read, or not to its end.
    Unfinished {
        /// The index.
        index: i32,
    },
    /// An object that its class does not accept.
    Refused {
        /// Why, with the numbers.
        why: String,
    },
    /// A value that cannot be the key of a table.
    Key {
        /// `"nil"` or `"NaN"`.
        what: &'static str,
    },
    /// Another value than the one expected.
    Unexpected {
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::Short { what, needed, left } => write!(f, "{what} expected, {needed} bytes, and {left} are left"),
            Problem::Count { what, count, left } if *count < 0 => {
                write!(f, "a number of {what} expected, got {count} ({left} bytes are left)")
            }
            Problem::Count { what, count, left } => write!(f, "{count} {what} are announced, and {left} bytes are left"),
            Problem::Beginning { got } => write!(f, "this is no .t7 file: it begins with '{}'", got.escape_ascii()),
            Problem::Tag { tag } => write!(f, "the tag of an object expected (0 to 8), got {tag}"),
            Problem::NoNumber { what, got } => write!(f, "{what} expected, got '{}'", got.escape_ascii()),
            Problem::IntRange { got } => write!(f, "an int expected (-2^31 to 2^31-1), got {got}"),
            Problem::Unfinished { index } => write!(f, "object {index} expected, which is not there yet"),
            Problem::Refused { why } => write!(f, "{why}"),
            Problem::Key { what } => write!(f, "the key of a table expected, got {what}"),
            Problem::Unexpected { expected } => write!(f, "{expected} expected"),
        }
    }
}
