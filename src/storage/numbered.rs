//! A table of values by numbers: addresses of storages, and numbers of tokens.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::fallible::NoMemory;

/// A table whose memory can be asked for before a value is added.
pub(super) struct Numbered<K, V>(HashMap<K, V, BuildHasherDefault<Mixed>>);

/// Spreads a number over all bits. Addresses are multiples of 16, and the numbers of tokens follow each other.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        // An odd number near 2^64 divided by the golden ratio.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The table uses the lowest bits and the highest ones, and a product has the best bits in its upper half.
        self.0 ^ (self.0 >> 32)
    }
}

impl<K: Copy + Eq + Hash, V> Numbered<K, V> {
    /// A table that has become empty gives the memory of more values than this back.
    const KEPT: usize = 64;

    pub(super) const fn new() -> Self {
        Self(HashMap::with_hasher(BuildHasherDefault::new()))
    }

    /// Makes sure that the next [`insert`](Self::insert) needs no memory.
    pub(super) fn make_room(&mut self) -> Result<(), NoMemory> {
        self.0.try_reserve(1).map_err(|_| NoMemory { bytes: size_of::<(K, V)>() })
    }

    /// Adds a value. There is room for it.
    pub(super) fn insert(&mut self, number: K, value: V) {
        self.0.insert(number, value);
    }

    pub(super) fn get(&self, number: K) -> Option<&V> {
        self.0.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: K) -> Option<&mut V> {
        self.0.get_mut(&number)
    }

    /// The value with this number. If there is none, it is the one that `make` makes.
    pub(super) fn get_or_insert(&mut self, number: K, make: impl FnOnce() -> Result<V, NoMemory>) -> Result<&mut V, NoMemory> {
        self.make_room()?;
        match self.0.entry(number) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(make()?)),
        }
    }

    pub(super) fn remove(&mut self, number: K) {
        self.0.remove(&number);
        if self.0.is_empty() && self.0.capacity() > Self::KEPT {
            self.0 = HashMap::default();
        }
    }
}
