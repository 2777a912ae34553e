//! Torch7's file format `.t7`: reading values from bytes and writing them. This module knows no Lua, and trusts no length in a
//! file.
//!
//! An object is a tag and the data that the tag announces. Tables, objects of classes and functions also have an index. When such
//! an object occurs again, the file has only its tag and its index. Nothing here recurses: [`Reader`] gives the values of a file
//! as a series of events, and [`Writer`] takes one value after the other. `src/lua/t7` builds Lua values from the events, and
//! `tests/t7/tree` builds trees for the tests.
//!
//! The format has no specification. This module follows files that Torch7 wrote and records of its behaviour.

pub mod ascii;
mod class;
mod input;
mod reader;
mod shape;
mod writer;

use crate::element::DType;
pub use crate::error::{Malformed, Problem};
pub use class::{Kind, version_in};
pub use input::Input;
pub use reader::{Delivery, Event, Key, Level, Reader, TableLevel};
pub use shape::layout;
pub use writer::Writer;

/// The tags. Every object begins with one.
pub mod tag {
    /// Nil. Nothing follows.
    pub const NIL: i32 = 0;
    /// A double follows.
    pub const NUMBER: i32 = 1;
    /// A length and that many bytes follow.
    pub const STRING: i32 = 2;
    /// An index follows, then the number of pairs, then the keys and values.
    pub const TABLE: i32 = 3;
    /// An index follows, then the version, the class name, and the data that the class writes.
    pub const OBJECT: i32 = 4;
    /// An int follows: 1 is true.
    pub const BOOLEAN: i32 = 5;
    /// A Lua function in an old file. Its bytecode follows as a string, then the table of its upvalues. It has no index.
    pub const FUNCTION: i32 = 6;
    /// A Lua function. An index follows, then the same as for [`FUNCTION`].
    pub const INDEXED_FUNCTION: i32 = 7;
    /// A Lua function. The same follows as for [`INDEXED_FUNCTION`], and the table has the name of each upvalue too.
    pub const NAMED_FUNCTION: i32 = 8;
}

/// How values are encoded in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As text. Strings and the elements of Byte and Char storages are bytes even here.
    Ascii,
    /// As in memory: C's `int` has 4 bytes, and `double` has 8.
    Binary {
        /// Size of C's `long` in bytes: 8, or 4 in files of 32-bit machines.
        long: usize,
        /// Whether the byte order is not this machine's.
        swapped: bool,
    },
}

impl Encoding {
    /// The encoding that this machine writes in binary mode.
    pub const NATIVE: Self = Self::Binary { long: 8, swapped: false };

    /// Recognises the encoding of a file from its first bytes. Returns `None` if no `.t7` file begins with them. The size of
    /// a `long` cannot be seen there, so the encoding always has longs of 8 bytes.
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

    /// The size of an element in a file. In an ascii file it is the smallest size, with the separator after the element.
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
