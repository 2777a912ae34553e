//! Reading: one value after the other, from the front to the back.

mod elements;
mod scalars;

use std::collections::HashSet;

use super::{Encoding, Input, Malformed, Problem, ascii, tag};
use crate::convert::Number;
use crate::error::Error;
use crate::storage::Storage;
use scalars::{bytes, fixed, int, line, next_value, skip_white_space, string};

/// What an object begins with. What it borrows stays until the next call.
#[derive(Debug)]
pub enum Head<'r> {
    /// Nil.
    Nil,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(&'r [u8]),
    /// An object again: the table, object or function that had this index.
    Known(i32),
    /// A table of `count` pairs: that many keys and values follow, each an object.
    Table {
        /// Its index.
        index: i32,
        /// Pairs.
        count: usize,
    },
    /// An object of a class; what the class writes follows.
    Object {
        /// Its index.
        index: i32,
        /// The name of its class.
        class: &'r [u8],
        /// What stands after `V `; `None` in files that are older than versions.
        version: Option<&'r [u8]>,
    },
    /// A Lua function; the table of its upvalues follows.
    Function {
        /// Its tag, 6, 7 or 8.
        tag: i32,
        /// Its index; those of tag 6 have none.
        index: Option<i32>,
        /// Its bytecode.
        code: &'r [u8],
    },
}

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
}

/// The fewest bytes of a key and a value in a table: a boolean and nil.
const PAIR: [u64; 2] = [6, 12];

/// The longest number in an ascii file that is read as one.
const LONGEST_NUMBER: usize = 2048;

impl Reader {
    /// A reader of all that the input has. With `referenced` false every table, object and function is a new one, whatever its
    /// index, as `File:referenced(false)` wrote them.
    #[must_use]
    pub fn new(input: Input, encoding: Encoding, referenced: bool) -> Self {
        Self {
            input,
            encoding,
            referenced,
            known: Indices::default(),
            kept: Vec::new(),
            map: None,
            has_read_long: false,
            object: 0,
        }
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

    /// Something that is wrong with the object that [`head`](Self::head) gave last: where that begins.
    #[must_use]
    pub fn malformed_object(&self, problem: Problem) -> Error {
        malformed(self.object, problem)
    }

    /// The next object's beginning.
    ///
    /// # Errors
    /// [`Error::Malformed`], the system's, [`Error::OutOfMemory`].
    pub fn head(&mut self) -> Result<Head<'_>, Error> {
        let start = next_value(&mut self.input, self.encoding)?;
        self.object = start;
        match self.int()? {
            tag::NIL => Ok(Head::Nil),
            tag::NUMBER => self.number().map(Head::Number),
            tag::STRING => self.string().map(Head::String),
            tag::BOOLEAN => Ok(Head::Boolean(self.int()? == 1)),
            tag::TABLE => {
                let index = self.int()?;
                if self.meets_again(index)? {
                    return Ok(Head::Known(index));
                }
                let start = next_value(&mut self.input, self.encoding)?;
                let count = self.int()?;
                let left = self.input.left();
                let most = self.most(PAIR[usize::from(self.encoding != Encoding::Ascii)]);
                let fits = |&count: &usize| count as u64 <= most;
                let fault = || malformed(start, Problem::Count { what: "pairs", count: i64::from(count), left });
                Ok(Head::Table { index, count: usize::try_from(count).ok().filter(fits).ok_or_else(fault)? })
            }
            tag::OBJECT => {
                let index = self.int()?;
                if self.meets_again(index)? {
                    return Ok(Head::Known(index));
                }
                self.class_and_version(index)
            }
            tag @ (tag::INDEXED_FUNCTION | tag::NAMED_FUNCTION) => {
                let index = self.int()?;
                if self.meets_again(index)? {
                    return Ok(Head::Known(index));
                }
                Ok(Head::Function { tag, index: Some(index), code: self.string()? })
            }
            tag::FUNCTION => Ok(Head::Function { tag: tag::FUNCTION, index: None, code: self.string()? }),
            tag => Err(malformed(start, Problem::Tag { tag })),
        }
    }

    /// Whether the next object is a number, as the first key of an array is.
    ///
    /// # Errors
    /// The system's.
    pub fn is_number_next(&mut self) -> Result<bool, Error> {
        let window = self.input.window(4)?;
        Ok(match self.encoding {
            Encoding::Ascii => window.first() == Some(&b'1'),
            Encoding::Binary { swapped, .. } => window.first_chunk().is_some_and(|&bytes| {
                let number = i32::from_ne_bytes(bytes);
                (if swapped { number.swap_bytes() } else { number }) == tag::NUMBER
            }),
        })
    }

    /// The most pairs that tables of this input can have together.
    #[must_use]
    pub fn most_pairs(&self) -> usize {
        let least = PAIR[usize::from(self.encoding != Encoding::Ascii)];
        usize::try_from(self.total() / least).unwrap_or(usize::MAX)
    }

    /// Reads pairs of a table as long as key and value are numbers and the key is a small whole number from 1 up: as many as `pairs` has
    /// room for, or as are at hand. With `next`, the keys must be that one and those after it. Where this is not so, or not fast,
    /// reads none: nothing is missed by that.
    ///
    /// # Errors
    /// The system's.
    pub fn number_pairs(&mut self, pairs: &mut [(i32, f64)], next: Option<i32>) -> Result<usize, Error> {
        const PAIR: usize = 24;
        if self.encoding != Encoding::NATIVE {
            return Ok(0);
        }
        let window = self.input.window(PAIR)?;
        let mut read: usize = 0;
        for (bytes, pair) in window.chunks_exact(PAIR).zip(pairs) {
            let object = |at: usize| {
                let tag = bytes.get(at..)?.first_chunk().map(|&tag| i32::from_ne_bytes(tag))?;
                let number = bytes.get(at + 4..)?.first_chunk().map(|&number| f64::from_ne_bytes(number))?;
                (tag == tag::NUMBER).then_some(number)
            };
            let (Some(key), Some(value)) = (object(0), object(12)) else { break };
            let whole = key.convert::<i32>();
            // From any key to any other may be further than an int goes.
            let is_next = next.is_none_or(|next| whole.checked_sub(next).is_some_and(|far| usize::try_from(far) == Ok(read)));
            if whole < 1 || f64::from(whole) != key || !is_next {
                break;
            }
            *pair = (whole, value);
            read += 1;
        }
        self.input.advance(read * PAIR);
        Ok(read)
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

    /// Files from before there were versions have the class name in the place of the version.
    fn class_and_version(&mut self, index: i32) -> Result<Head<'_>, Error> {
        let first = string(&mut self.input, self.encoding)?;
        let Some(version) = version_in(first) else {
            keep(&mut self.kept, first)?;
            return Ok(Head::Object { index, class: &self.kept, version: None });
        };
        keep(&mut self.kept, version)?;
        let class = string(&mut self.input, self.encoding)?;
        Ok(Head::Object { index, class, version: Some(&self.kept) })
    }

    /// A C `int`.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    #[inline]
    pub fn int(&mut self) -> Result<i32, Error> {
        int(&mut self.input, self.encoding)
    }

    /// A C `long`.
    ///
    /// # Errors
    /// As [`head`](Self::head).
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
    /// As [`head`](Self::head).
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
    /// As [`head`](Self::head).
    pub fn string(&mut self) -> Result<&[u8], Error> {
        string(&mut self.input, self.encoding)
    }

    /// `count` bytes as they are. They stay until the next call.
    ///
    /// # Errors
    /// As [`head`](Self::head).
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

pub(super) fn malformed(offset: u64, problem: Problem) -> Error {
    Error::Malformed(Box::new(Malformed { offset, problem }))
}

/// The version that a text says: a number, as Lua would read it, after `V `.
pub(super) fn version_in(text: &[u8]) -> Option<&[u8]> {
    let is_number = |number: &&[u8]| ascii::f64_at(number).is_some_and(|(_, used)| used == number.len());
    text.strip_prefix(b"V ").filter(is_number)
}

fn keep(place: &mut Vec<u8>, text: &[u8]) -> Result<(), Error> {
    place.clear();
    place.try_reserve(text.len()).map_err(|_| Error::OutOfMemory { bytes: text.len() })?;
    place.extend_from_slice(text);
    Ok(())
}
