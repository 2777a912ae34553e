//! Reads a `.t7` file, one value after the other.

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

/// The indices of the objects that were read. Most files number their objects from 1.
#[derive(Debug, Default)]
struct Indices {
    /// All indices from 1 to this one were read.
    dense: i32,
    sparse: HashSet<i32>,
}

impl Indices {
    /// Adds an index. Returns whether it was there before.
    fn add(&mut self, index: i32) -> Result<bool, Error> {
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

/// A map of the whole file, and what was made of it.
struct FileMap {
    bytes: Storage,
    /// Whether a storage is a part of the map.
    has_parts: bool,
    /// Whether storages may still have parts of the map that were made before the file was read with another encoding. They may
    /// have another dtype than what is read now from the same bytes.
    is_used_again: bool,
}

/// Reads the values of a file. Every length is compared with the rest of the file before memory is allocated for it.
///
/// After an error the position is somewhere inside a value, so the reader cannot be used any more.
pub struct Reader {
    input: Input,
    encoding: Encoding,
    /// Whether an index that occurs again means the same object.
    referenced: bool,
    known: Indices,
    /// The version of the last object. If it has none, its class name.
    kept: Vec<u8>,
    /// A map of the whole file. Storages are parts of it.
    map: Option<FileMap>,
    has_read_long: bool,
    /// The offset at which the last object begins.
    object: u64,
    /// The tables and objects that are not complete, the outermost first.
    levels: Vec<Level>,
    /// Whether all tables keep the order of their keys, not only the fields of objects.
    keeps_order: bool,
    /// Number of pairs for which room may still be made in advance.
    room: usize,
    /// The pairs of the last [`Event::Pairs`].
    pairs: [(i32, f64); 64],
}

impl Reader {
    /// Makes a reader for the whole input. If `referenced` is false, every table, object and function is a new one, whatever its
    /// index: Torch7 writes such files after `File:referenced(false)`.
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

    /// From now on all tables keep the order of their keys. Otherwise only the fields of objects do.
    pub fn keep_order(&mut self) {
        self.keeps_order = true;
    }

    /// From now on the storages of a binary file are parts of `bytes`, a map of all bytes of the input that nobody else uses.
    pub fn use_map(&mut self, bytes: Storage) {
        self.map = Some(FileMap { bytes, has_parts: false, is_used_again: false });
    }

    /// Recognises the encoding from the first bytes. From now on the reader uses it instead of the one that it was made with.
    pub fn detect(&mut self) -> Result<(), Error> {
        const SHOWN: usize = 8;
        let start = self.input.window(SHOWN)?;
        let problem = || Problem::Beginning { got: start[..start.len().min(SHOWN)].into() };
        self.encoding = Encoding::detect(start).ok_or_else(|| malformed(0, problem()))?;
        self.room = self.most_pairs();
        Ok(())
    }

    /// Starts again at the first byte, with another encoding.
    pub fn restart(&mut self, encoding: Encoding) {
        self.input.rewind();
        self.encoding = encoding;
        self.known = Indices::default();
        self.has_read_long = false;
        self.levels.clear();
        self.room = self.most_pairs();
        if let Some(map) = &mut self.map {
            map.is_used_again = map.has_parts;
        }
    }

    /// How the values are encoded in the input.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether an index that occurs again means the same object.
    pub fn is_referenced(&self) -> bool {
        self.referenced
    }

    /// Whether a C `long` has been read. Before that, its size makes no difference.
    pub fn has_read_long(&self) -> bool {
        self.has_read_long
    }

    /// Number of bytes that have been read.
    pub fn position(&self) -> u64 {
        self.input.position()
    }

    /// Length of the whole input in bytes.
    pub fn total(&self) -> u64 {
        self.input.total()
    }

    /// An error at the current position.
    pub fn malformed(&self, problem: Problem) -> Error {
        malformed(self.position(), problem)
    }

    /// An error at the beginning of the object that [`next`](Self::next) gave last.
    pub fn malformed_object(&self, problem: Problem) -> Error {
        malformed(self.object, problem)
    }

    /// The largest number of values of at least `least` bytes each that fit into the rest of the file. The last number of an
    /// ascii file needs no separator after it. Elements of one byte have no separators.
    fn most(&self, least: u64) -> u64 {
        let missing_separator = u64::from(self.encoding == Encoding::Ascii && least > 1);
        self.input.left().saturating_add(missing_separator) / least
    }

    /// Adds the index of an object. Returns whether the file refers to an object that was read before.
    fn is_reference(&mut self, index: i32) -> Result<bool, Error> {
        if self.referenced { self.known.add(index) } else { Ok(false) }
    }

    /// The offset at which the next value begins: in an ascii file, after white space.
    fn next_value(&mut self) -> Result<u64, Error> {
        next_value(&mut self.input, self.encoding)
    }

    /// The offset at which the next object begins. [`malformed_object`](Self::malformed_object) reports it.
    fn start_of_value(&mut self) -> Result<u64, Error> {
        self.object = self.next_value()?;
        Ok(self.object)
    }

    /// Reads a C `int`.
    #[inline]
    pub fn int(&mut self) -> Result<i32, Error> {
        int(&mut self.input, self.encoding)
    }

    /// Reads a C `long`.
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

    /// Reads a C `double`.
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

    /// Reads a length and that many bytes. They stay until the next call.
    pub fn string(&mut self) -> Result<&[u8], Error> {
        string(&mut self.input, self.encoding)
    }

    /// Reads `count` bytes. They stay until the next call.
    pub fn bytes(&mut self, count: i64) -> Result<&[u8], Error> {
        let start = self.position();
        bytes(&mut self.input, self.encoding, start, count)
    }

    /// Whether only white space is left.
    pub fn is_at_end(&mut self) -> Result<bool, Error> {
        skip_white_space(&mut self.input)?;
        Ok(self.input.left() == 0)
    }
}
