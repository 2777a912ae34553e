//! The `.t7` format: what Torch7 saved, between bytes and values. It knows no Lua, and trusts no length.
//!
//! An object is a tag and what belongs to it. Tables, objects of classes and functions have an index: the second time only tag and
//! index stand there. Nothing here recurses: [`Reader`] gives the values of a file as a series of events, and [`Writer`] takes one
//! value after the other. Lua values are built from the events in `src/lua/t7`, and the trees of the tests in `tests/t7/tree`.
//!
//! Source of the format: files that Torch7 wrote, and its behaviour as recorded.

mod ascii;
mod class;
mod input;
mod output;
mod reader;
mod writer;

use crate::element::DType;
pub use crate::error::{Malformed, Problem};
pub use class::{Kind, check_tensor, version_in};
pub use input::Input;
pub use output::Output;
pub use reader::{Delivery, Event, Key, Level, Reader, TableLevel};
pub use writer::Writer;

/// What stands at the beginning of every object.
pub mod tag {
    /// Nothing follows.
    pub const NIL: i32 = 0;
    /// A double.
    pub const NUMBER: i32 = 1;
    /// A length and that many bytes.
    pub const STRING: i32 = 2;
    /// An index; then the number of pairs, and keys and values.
    pub const TABLE: i32 = 3;
    /// An index; then version, class name, and what the class writes.
    pub const OBJECT: i32 = 4;
    /// An int, 1 is true.
    pub const BOOLEAN: i32 = 5;
    /// A Lua function of old files: bytecode as a string, and the table of its upvalues. It has no index.
    pub const FUNCTION: i32 = 6;
    /// An index; then as before.
    pub const INDEXED_FUNCTION: i32 = 7;
    /// An index; then as before, each upvalue with its name.
    pub const NAMED_FUNCTION: i32 = 8;
}

/// How values stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As text, but for strings and for the elements of Byte and Char storages.
    Ascii,
    /// As they are in memory: C's `int` has 4 bytes, `double` 8.
    Binary {
        /// Bytes of C's `long`: 8, or 4 in files of 32-bit machines.
        long: usize,
        /// Whether the bytes stand in the other order than this machine's.
        swapped: bool,
    },
}

impl Encoding {
    /// What this machine writes in binary mode.
    pub const NATIVE: Self = Self::Binary { long: 8, swapped: false };

    /// The encoding that a file begins as, by its first four bytes; that longs have 4 bytes cannot be seen there. `None` if it
    /// begins as no `.t7` file does.
    #[must_use]
    pub fn detect(start: &[u8]) -> Option<Self> {
        const LAST: u8 = 8;
        let first = start.iter().copied().find(|byte| !byte.is_ascii_whitespace());
        if first.is_some_and(|byte| (b'0'..=b'0' + LAST).contains(&byte)) {
            return Some(Self::Ascii);
        }
        let &[a, b, c, d, ..] = start else { return None };
        let little = match [a, b, c, d] {
            [tag, 0, 0, 0] if tag <= LAST => true,
            [0, 0, 0, tag] if tag <= LAST => false,
            _ => return None,
        };
        Some(Self::Binary { long: 8, swapped: little != cfg!(target_endian = "little") })
    }

    /// Bytes of an element in a file; in ascii the least that it takes, with what is between it and the next.
    fn width(self, dtype: DType) -> usize {
        match self {
            Self::Ascii => {
                if dtype.width() == 1 {
                    1
                } else {
                    2
                }
            }
            Self::Binary { long, .. } if dtype == DType::Long => long,
            Self::Binary { .. } => dtype.width(),
        }
    }
}
