//! What a reader reports: events, where a value belongs, and the tables and objects around it.

use crate::convert::Number;
use crate::t7::Kind;

/// The beginning of a value, or several pairs of a table. The bytes and pairs in it stay until the reader is used again.
#[derive(Clone, Copy, Debug)]
pub enum Event<'r> {
    /// Nil.
    Nil,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(&'r [u8]),
    /// A reference to the table, object or function with this index, which was read before.
    Known(i32),
    /// A table. Its keys and values follow as values.
    Table {
        /// Its index.
        index: i32,
        /// The number of its pairs.
        count: usize,
        /// The number of pairs for which room may be made in advance. All tables together get no more than the file can have.
        room: usize,
        /// Whether its first key is a number.
        is_array: bool,
    },
    /// Pairs of the current table, never its last one. The keys are whole numbers from 1 up, and the values are numbers. They are
    /// not delivered.
    Pairs(&'r [(i32, f64)]),
    /// An object of a class. The data that the class wrote follows.
    Object {
        /// Its index.
        index: i32,
        /// The name of its class.
        class: &'r [u8],
        /// The kind of its data, by the name of its class.
        kind: Kind,
        /// The text after `V `. Old files have no versions.
        version: Option<&'r [u8]>,
    },
    /// A Lua function. The table of its upvalues follows.
    Function {
        /// Its tag: 6, 7 or 8.
        tag: i32,
        /// Its index. Functions with tag 6 have none.
        index: Option<i32>,
        /// Its bytecode.
        code: &'r [u8],
    },
}

/// Where a value that was read belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is the value that the caller wanted.
    Root,
    /// It is the next key of the current table.
    Key {
        /// Its number, counted from 1. `None` if the order of the keys is not kept.
        number: Option<i32>,
    },
    /// It is the next value of the current table.
    Value {
        /// Its key, if that is a whole number. Such keys are not delivered.
        key: Option<i32>,
        /// Whether it is the last one. The table is complete then, and the caller calls [`leave_to`](crate::t7::Reader::leave_to).
        last: bool,
    },
    /// It is the value that follows an object. The object is complete now, and the caller calls
    /// [`leave_to`](crate::t7::Reader::leave_to).
    Rest,
}

/// A table or object that is being read.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// A table.
    Table(TableLevel),
    /// An object that waits for the value after it.
    Object,
    /// A callback, for example the `read` method of a class, that reads values itself. Each of them is a [`Delivery::Root`].
    Callback,
}

/// A table that is being read, for [`Level::Table`].
#[derive(Clone, Copy, Debug)]
pub struct TableLevel {
    /// Number of pairs whose value has not been delivered.
    pub(super) left: usize,
    /// Number of keys that have been read.
    pub(super) seen: i32,
    pub(super) key: Key,
    /// Whether the order of the keys is kept.
    pub(super) is_ordered: bool,
    /// Whether no key has been delivered. If the order is kept, the keys are 1, 2, 3 and so on so far.
    pub(super) is_sequence: bool,
}

/// The key of the value that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The key itself comes next.
    Missing,
    /// A whole number. It is not delivered.
    Whole(i32),
    /// The last value that was delivered.
    Delivered,
}

impl TableLevel {
    /// The key of the value that comes next.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Takes a key that is a small whole number. Returns false if the key has to be delivered.
    pub(super) fn take_whole(&mut self, number: f64) -> bool {
        let (whole, next) = (number.convert::<i32>(), self.seen.saturating_add(1));
        let fits = if self.is_ordered { self.is_sequence && whole == next } else { whole >= 1 };
        if !fits || f64::from(whole) != number {
            return false;
        }
        (self.key, self.seen) = (Key::Whole(whole), next);
        true
    }
}
