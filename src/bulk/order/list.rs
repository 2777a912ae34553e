//! Elements that are sorted themselves.

use super::keys::{Direction, Ordered};
use super::radix;
use crate::bulk::access::{Readable, Writable};
use crate::fallible::NoMemory;

/// A list of elements in memory of its own, so that nobody else changes them while they are sorted.
#[derive(Debug)]
pub struct List<T>(Vec<T>);

impl<T: Ordered> List<T> {
    /// A list with room for `size` elements.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn with_room(size: usize) -> Result<Self, NoMemory> {
        radix::room(size).map(Self)
    }

    /// Adds elements.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn add(&mut self, elements: Readable<'_>) {
        assert!(elements.size() <= self.0.capacity() - self.0.len(), "there is room for the elements");
        let values = elements.values::<T>();
        self.0.extend((0..values.size()).map(|index| values.get(index)));
    }

    /// Sorts the elements. It calls `pause` now and then.
    ///
    /// # Errors
    /// [`NoMemory`], and the errors of `pause`.
    pub fn sort<E: From<NoMemory>>(self, direction: Direction, pause: &mut impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        let turn = T::turn(direction);
        radix::sort(self.0, T::BYTES, |element: T| element.key(turn), pause).map(Self)
    }

    /// Writes the elements to memory with as many elements.
    ///
    /// # Panics
    /// If the memory has another number of elements.
    pub fn put(&self, target: Writable<'_>) {
        assert_eq!(target.size(), self.0.len(), "the memory has room for the elements");
        let target = target.values::<T>();
        for (index, &element) in self.0.iter().enumerate() {
            target.set(index, element);
        }
    }
}
