//! Reads objects as a series of events. Nothing recurses, however deep the objects of a file are.
//!
//! [`Reader::next`] gives the beginning of the next value. A value without other values in it is complete then. A table with
//! pairs is not complete, and neither is an object for which [`Reader::expect_value`] was called. The caller builds the values and calls
//! [`Reader::deliver`] for each complete one. This returns where the value belongs in the current table or object, and
//! whether that is complete too.

use super::Reader;
use super::event::{Delivery, Event, Key, Level, TableLevel};
use super::scalars::{malformed, string};
use crate::convert::Number;
use crate::error::Error;
use crate::t7::{Encoding, Kind, Problem, tag, version_in};

/// The smallest size in bytes of a key and its value, which are a boolean and nil: in an ascii file and in a binary file.
const PAIR: [u64; 2] = [6, 12];

impl Reader {
    /// Reads the beginning of the next value, or several pairs of numbers at once.
    #[allow(clippy::should_implement_trait, reason = "the event borrows from the reader")]
    pub fn next(&mut self) -> Result<Event<'_>, Error> {
        let pairs = self.number_pairs()?;
        if pairs > 0 {
            return Ok(Event::Pairs(&self.pairs[..pairs]));
        }
        if let Some(Level::Table(TableLevel { key: Key::Missing, .. })) = self.levels.last() {
            let start = self.start_of_value()?;
            match self.int()? {
                tag::NIL => return Err(malformed(start, Problem::Key { what: "nil" })),
                tag::NUMBER => {
                    let number = self.number()?;
                    if number.is_nan() {
                        return Err(malformed(start, Problem::Key { what: "NaN" }));
                    }
                    let Some(Level::Table(table)) = self.levels.last_mut() else { return Ok(Event::Number(number)) };
                    if !table.take_whole(number) {
                        return Ok(Event::Number(number));
                    }
                }
                tag => return self.value(start, tag),
            }
        }
        let start = self.start_of_value()?;
        let tag = self.int()?;
        self.value(start, tag)
    }

    /// Enters the object that `next` gave last: the value after it is delivered to it.
    pub fn expect_value(&mut self) -> Result<(), Error> {
        self.enter(Level::Object)
    }

    /// Enters a callback that reads values itself, until [`leave_to`](Self::leave_to).
    pub fn enter_callback(&mut self) -> Result<(), Error> {
        self.enter(Level::Callback)
    }

    /// Tells where the value belongs that is complete now.
    pub fn deliver(&mut self) -> Delivery {
        match self.levels.last_mut() {
            None | Some(Level::Callback) => Delivery::Root,
            Some(Level::Object) => Delivery::Rest,
            Some(Level::Table(table)) => {
                let key = match table.key {
                    Key::Missing => {
                        (table.key, table.seen, table.is_sequence) = (Key::Delivered, table.seen.saturating_add(1), false);
                        return Delivery::Key { number: table.is_ordered.then_some(table.seen) };
                    }
                    Key::Delivered => None,
                    Key::Whole(key) => Some(key),
                };
                (table.key, table.left) = (Key::Missing, table.left.saturating_sub(1));
                Delivery::Value { key, last: table.left == 0 }
            }
        }
    }

    /// Leaves all tables and objects except the outermost `depth`. The caller delivers one that is complete next.
    pub fn leave_to(&mut self, depth: usize) {
        self.levels.truncate(depth);
    }

    /// The tables and objects that are not complete, the outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    fn enter(&mut self, level: Level) -> Result<(), Error> {
        self.levels.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<Level>() })?;
        self.levels.push(level);
        Ok(())
    }

    /// Reads the beginning of a value, after its tag.
    fn value(&mut self, start: u64, tag: i32) -> Result<Event<'_>, Error> {
        match tag {
            tag::NIL => Ok(Event::Nil),
            tag::NUMBER => self.number().map(Event::Number),
            tag::STRING => self.string().map(Event::String),
            tag::BOOLEAN => Ok(Event::Boolean(self.int()? == 1)),
            tag::TABLE => {
                let index = self.int()?;
                if self.is_reference(index)? { Ok(Event::Known(index)) } else { self.table(index) }
            }
            tag::OBJECT => {
                let index = self.int()?;
                if self.is_reference(index)? { Ok(Event::Known(index)) } else { self.object(index) }
            }
            tag::INDEXED_FUNCTION | tag::NAMED_FUNCTION => {
                let index = self.int()?;
                if self.is_reference(index)? {
                    return Ok(Event::Known(index));
                }
                Ok(Event::Function { tag, index: Some(index), code: self.string()? })
            }
            tag::FUNCTION => Ok(Event::Function { tag, index: None, code: self.string()? }),
            tag => Err(malformed(start, Problem::Tag { tag })),
        }
    }

    /// Reads the beginning of an object of a class. Old files have no version before the class name.
    fn object(&mut self, index: i32) -> Result<Event<'_>, Error> {
        let first = string(&mut self.input, self.encoding)?;
        let Some(version) = version_in(first) else {
            keep(&mut self.kept, first)?;
            let class = self.kept.as_slice();
            return Ok(Event::Object { index, class, kind: Kind::of(class), version: None });
        };
        keep(&mut self.kept, version)?;
        let class = string(&mut self.input, self.encoding)?;
        Ok(Event::Object { index, class, kind: Kind::of(class), version: Some(&self.kept) })
    }

    fn table(&mut self, index: i32) -> Result<Event<'_>, Error> {
        let start = self.next_value()?;
        let announced = self.int()?;
        let (left, most) = (self.input.left(), self.most(self.pair()));
        let fits = usize::try_from(announced).ok().filter(|&count| count as u64 <= most);
        let fault = || malformed(start, Problem::Count { what: "pairs", count: i64::from(announced), left });
        let count = fits.ok_or_else(fault)?;
        let room = count.min(self.room);
        self.room -= room;
        if count > 0 {
            let is_ordered = match self.levels.last() {
                Some(Level::Object) => true,
                Some(Level::Table(table)) => table.is_ordered,
                Some(Level::Callback) | None => self.keeps_order,
            };
            let table = TableLevel { left: count, seen: 0, key: Key::Missing, is_ordered, is_sequence: true };
            self.enter(Level::Table(table))?;
        }
        Ok(Event::Table { index, count, room, is_array: count > 0 && self.is_number_next()? })
    }

    /// Whether the next value is a number, like the first key of an array. In an ascii file this is only a guess.
    fn is_number_next(&mut self) -> Result<bool, Error> {
        let window = self.input.window(4)?;
        Ok(match self.encoding {
            Encoding::Ascii => window.first() == Some(&b'1'),
            Encoding::Binary { swapped, .. } => window.first_chunk().is_some_and(|&bytes| {
                let number = i32::from_ne_bytes(bytes);
                (if swapped { number.swap_bytes() } else { number }) == tag::NUMBER
            }),
        })
    }

    /// Reads pairs of the current table as long as key and value are numbers and the key is a whole number from 1 up. If the
    /// order of the keys is kept, the key must also be the next one. Reads no pairs if this would not be fast. Returns the
    /// number of pairs; the caller reads the others one by one.
    fn number_pairs(&mut self) -> Result<usize, Error> {
        const BYTES: usize = 24;
        let Some(Level::Table(table)) = self.levels.last_mut() else { return Ok(0) };
        // The last pair is always delivered, because it completes the table.
        let is_over = table.is_ordered && !table.is_sequence;
        if table.key != Key::Missing || table.left < 2 || is_over || self.encoding != Encoding::NATIVE {
            return Ok(0);
        }
        let room = self.pairs.len().min(table.left - 1);
        let window = self.input.window(BYTES)?;
        let (mut read, mut seen) = (0, table.seen);
        for (bytes, pair) in window.as_chunks::<BYTES>().0.iter().zip(&mut self.pairs[..room]) {
            let object = |at: usize| {
                let tag = bytes.get(at..)?.first_chunk().map(|&tag| i32::from_ne_bytes(tag))?;
                let number = bytes.get(at + 4..)?.first_chunk().map(|&number| f64::from_ne_bytes(number))?;
                (tag == tag::NUMBER).then_some(number)
            };
            let (Some(key), Some(value)) = (object(0), object(12)) else { break };
            let whole = key.convert::<i32>();
            let next = seen.saturating_add(1);
            if whole < 1 || f64::from(whole) != key || table.is_ordered && whole != next {
                break;
            }
            *pair = (whole, value);
            (read, seen) = (read + 1, next);
        }
        self.input.advance(read * BYTES);
        (table.left, table.seen) = (table.left - read, seen);
        Ok(read)
    }

    /// The smallest size of a pair in bytes.
    fn pair(&self) -> u64 {
        PAIR[usize::from(self.encoding != Encoding::Ascii)]
    }

    /// The most pairs that tables of this input can have together.
    pub(super) fn most_pairs(&self) -> usize {
        usize::try_from(self.total() / self.pair()).unwrap_or(usize::MAX)
    }
}

fn keep(kept: &mut Vec<u8>, text: &[u8]) -> Result<(), Error> {
    kept.clear();
    kept.try_reserve(text.len()).map_err(|_| Error::OutOfMemory { bytes: text.len() })?;
    kept.extend_from_slice(text);
    Ok(())
}
