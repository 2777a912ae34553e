//! What a reader says about the values of a file: events, what becomes of a value, and the tables and objects around it.

use crate::convert::Number;
use crate::t7::Kind;

/// The beginning of a value, or several pairs of a table. What it borrows stays until the reader is used again.
#[derive(Debug)]
pub enum Event<'r> {
    /// Nil.
    Nil,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(&'r [u8]),
    /// The table, object or function that had this index before.
    Known(i32),
    /// A table. Its keys and values follow, each as a value.
    Table {
        /// Its index.
        index: i32,
        /// How many pairs it has.
        count: usize,
        /// For how many pairs room may be made in advance. Tables that promise more than the file can hold get less.
        room: usize,
        /// Whether its first key is a number.
        is_array: bool,
    },
    /// Pairs of the table in hand, never the last one: keys from 1 up and numbers. They need not be delivered.
    Pairs(&'r [(i32, f64)]),
    /// An object of a class. What the class writes follows.
    Object {
        /// Its index.
        index: i32,
        /// The name of its class.
        class: &'r [u8],
        /// What the name says about the object.
        kind: Kind,
        /// The text after `V `. Files that are older than versions have none.
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

/// What a value is that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The value that was asked for.
    Root,
    /// The next key of the table in hand.
    Key {
        /// Which one, from 1. `None` if the order of the keys is not kept, or as long as they are 1, 2, 3 and so on.
        number: Option<i32>,
    },
    /// The next value of the table in hand.
    Value {
        /// Its key, if that is a whole number that was not delivered.
        key: Option<i32>,
        /// Whether it is the last one: the table is whole. [`leave`](crate::t7::Reader::leave) comes next.
        last: bool,
    },
    /// The value that follows an object, which is whole now. [`leave`](crate::t7::Reader::leave) comes next.
    Rest,
}

/// A table or object that is being read.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// A table.
    Table(TableLevel),
    /// An object that waits for the value after it.
    Object,
    /// An object whose class reads what it needs by itself. A value that it asks for is a [`Delivery::Root`].
    Apart,
}

/// See [`Level::Table`].
#[derive(Clone, Copy, Debug)]
pub struct TableLevel {
    /// Pairs whose value was not delivered yet.
    pub(super) left: usize,
    /// Keys so far.
    pub(super) seen: i32,
    pub(super) key: Key,
    /// Whether the order of the keys is kept.
    pub(super) is_ordered: bool,
    /// Whether no key was delivered so far. If the order is kept, the keys are 1, 2, 3 and so on then.
    pub(super) is_sequence: bool,
}

/// The key of the value that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The key itself comes next.
    Missing,
    /// A whole number, which is not delivered.
    Whole(i32),
    /// The last value that was delivered.
    Delivered,
}

impl TableLevel {
    /// The key of the value that comes next.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }

    /// Takes a key that is a small whole number; false if it has to be delivered.
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
