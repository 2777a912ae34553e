//! Reading: one value after the other, from the front to the back.

mod elements;
mod event;
mod events;
mod scalars;

use std::collections::HashSet;

use super::{Encoding, Input, Problem, ascii};
use crate::error::Error;
use crate::storage::Storage;
pub use event::{Delivery, Event, Key, Level, TableLevel};
use scalars::{bytes, fixed, int, line, malformed, next_value, skip_white_space, string};

/// The indices that were met. Most files number their objects from 1 on.
#[derive(Debug, Default)]
struct Indices {
    /// All from 1 to this.
    dense: i32,
    sparse: HashSet<i32>,
}

impl Indices {
    /// Whether the index is known; from now on it is.
    fn meet(&mut self, index: i32) -> Result<bool, Error> {
        if (1..=self.dense).contains(&index) {
            return Ok(true);
        }
        if index == self.dense.saturating_add(1) && !self.sparse.contains(&index) {
            self.dense = index;
            return Ok(false);
        }
        self.sparse.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: self.sparse.len() * 8 })?;
        Ok(!self.sparse.insert(index))
    }
}

/// Reads the values of a file. Every length is compared with what is left before anything is allocated for it.
///
/// After an error the reader stands somewhere in the middle of a value: there is nothing more to be had from it.
pub struct Reader {
    input: Input,
    encoding: Encoding,
    /// Whether an index that appears again is the same object.
    referenced: bool,
    known: Indices,
    /// The version of the object that was met last; its class name, if it has none.
    kept: Vec<u8>,
    /// The whole file, to give parts of as storages.
    map: Option<Storage>,
    has_read_long: bool,
    /// Where the object that was met last begins.
    object: u64,
    /// The tables and objects that are not whole, from the outermost on.
    levels: Vec<Level>,
    /// Whether tables outside of objects keep the order of their keys too.
    keeps_order: bool,
    /// Pairs that tables may still be given room for in advance.
    room: usize,
    /// Pairs of a table that were read at once.
    pairs: [(i32, f64); 64],
}

impl Reader {
    /// A reader of all that the input has. With `referenced` false every table, object and function is a new one, whatever its
    /// index, as `File:referenced(false)` wrote them.
    #[must_use]
    pub fn new(input: Input, encoding: Encoding, referenced: bool) -> Self {
        let mut reader = Self {
            input,
            encoding,
            referenced,
            known: Indices::default(),
            kept: Vec::new(),
            map: None,
            has_read_long: false,
            object: 0,
            levels: Vec::new(),
            keeps_order: false,
            room: 0,
            pairs: [(0, 0.0); 64],
        };
        reader.room = reader.most_pairs();
        reader
    }

    /// All tables keep the order of their keys from now on, not only those that an object writes as its fields.
    pub fn keep_order(&mut self) {
        self.keeps_order = true;
    }

    /// The storages of a binary file are parts of `map` from now on, which shows all the bytes of the input.
    pub fn use_map(&mut self, map: Storage) {
        self.map = Some(map);
    }

    /// Starts again, with another encoding.
    ///
    /// # Errors
    /// The system's.
    pub fn restart(&mut self, encoding: Encoding) -> Result<(), Error> {
        self.input.rewind()?;
        self.encoding = encoding;
        self.known = Indices::default();
        self.has_read_long = false;
        self.levels.clear();
        self.room = self.most_pairs();
        Ok(())
    }

    /// How the values stand in the input.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether an index that appears again is the same object.
    #[must_use]
    pub fn is_referenced(&self) -> bool {
        self.referenced
    }

    /// Whether a C `long` has been read: only then it matters how many bytes it has.
    #[must_use]
    pub fn has_read_long(&self) -> bool {
        self.has_read_long
    }

    /// Bytes read so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.input.position()
    }

    /// Bytes of the whole input.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.total()
    }

    /// Something that is wrong where the reader stands.
    #[must_use]
    pub fn malformed(&self, problem: Problem) -> Error {
        malformed(self.position(), problem)
    }

    /// Something that is wrong with the object that [`next`](Self::next) gave last: where that begins.
    #[must_use]
    pub fn malformed_object(&self, problem: Problem) -> Error {
        malformed(self.object, problem)
    }

    /// How many values of `least` bytes at least can be left. The last number of an ascii file needs nothing behind it; bytes do not
    /// have anything there before it.
    fn most(&self, least: u64) -> u64 {
        let needless = u64::from(self.encoding == Encoding::Ascii && least > 1);
        self.input.left().saturating_add(needless) / least
    }

    fn meets_again(&mut self, index: i32) -> Result<bool, Error> {
        if self.referenced { self.known.meet(index) } else { Ok(false) }
    }

    /// The byte where the next value begins, whatever it is: in an ascii file, after white space.
    fn next_value(&mut self) -> Result<u64, Error> {
        next_value(&mut self.input, self.encoding)
    }

    /// The byte where the next object begins, which [`malformed_object`](Self::malformed_object) names.
    fn start_of_value(&mut self) -> Result<u64, Error> {
        self.object = self.next_value()?;
        Ok(self.object)
    }

    /// A C `int`.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    #[inline]
    pub fn int(&mut self) -> Result<i32, Error> {
        int(&mut self.input, self.encoding)
    }

    /// A C `long`.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn long(&mut self) -> Result<i64, Error> {
        const WHAT: &str = "a long";
        self.has_read_long = true;
        match self.encoding {
            Encoding::Ascii => line(&mut self.input, WHAT, ascii::i64_at),
            Encoding::Binary { long: 4, swapped } => {
                let bytes = i32::from_ne_bytes(fixed(&mut self.input, WHAT)?);
                Ok(i64::from(if swapped { bytes.swap_bytes() } else { bytes }))
            }
            Encoding::Binary { swapped, .. } => {
                let bytes = i64::from_ne_bytes(fixed(&mut self.input, WHAT)?);
                Ok(if swapped { bytes.swap_bytes() } else { bytes })
            }
        }
    }

    /// A C `double`.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    #[inline]
    pub fn number(&mut self) -> Result<f64, Error> {
        const WHAT: &str = "a number";
        match self.encoding {
            Encoding::Ascii => line(&mut self.input, WHAT, ascii::f64_at),
            Encoding::Binary { swapped, .. } => {
                let bits = u64::from_ne_bytes(fixed(&mut self.input, WHAT)?);
                Ok(f64::from_bits(if swapped { bits.swap_bytes() } else { bits }))
            }
        }
    }

    /// A length and that many bytes. They stay until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn string(&mut self) -> Result<&[u8], Error> {
        string(&mut self.input, self.encoding)
    }

    /// `count` bytes as they are. They stay until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn bytes(&mut self, count: i64) -> Result<&[u8], Error> {
        let start = self.position();
        bytes(&mut self.input, self.encoding, start, count)
    }

    /// Whether nothing is left but white space.
    ///
    /// # Errors
    /// The system's.
    pub fn is_at_end(&mut self) -> Result<bool, Error> {
        skip_white_space(&mut self.input)?;
        Ok(self.input.left() == 0)
    }
}
