//! The indices of elements in their order, of all or of the first of them.

use super::keys::{Direction, Ordered, with_ordered};
use super::radix::{self, STEP};
use crate::bulk::access::{Readable, Writable};
use crate::element::{DType, Element};
use crate::fallible::{NoMemory, reserve};

/// The elements of a list that come first in their order: an item for each of them, and room for more.
#[derive(Debug)]
pub struct Ranks {
    dtype: DType,
    direction: Direction,
    items: Items,
}

/// The items are integers of 64 bits, where keys and indices have at most 32, and otherwise of 128.
#[derive(Debug)]
enum Items {
    Narrow(First<u64>),
    Wide(First<u128>),
}

/// Evaluates `$body` for the items, whatever their type.
macro_rules! with_items {
    ($items:expr, $first:ident => $body:expr) => {
        match $items {
            Items::Narrow($first) => $body,
            Items::Wide($first) => $body,
        }
    };
}

impl Ranks {
    /// Room for the first `wanted` of `size` elements of a dtype. At least one is wanted, unless there are none.
    ///
    /// # Errors
    /// [`NoMemory`].
    ///
    /// # Panics
    /// If the elements are complex, or if none is wanted.
    pub fn new(dtype: DType, size: usize, wanted: usize, direction: Direction) -> Result<Self, NoMemory> {
        assert!(wanted > 0 || size == 0, "some elements are wanted");
        let is_narrow = with_ordered!(dtype, T => T::BYTES <= 4) && u32::try_from(size).is_ok();
        let items = if is_narrow { Items::Narrow(First::new(size, wanted)?) } else { Items::Wide(First::new(size, wanted)?) };
        Ok(Self { dtype, direction, items })
    }

    /// Finds the first of at most `size` elements, in their order. It calls `pause` now and then.
    ///
    /// # Errors
    /// [`NoMemory`], and the errors of `pause`.
    ///
    /// # Panics
    /// If the elements are of another dtype, or if there are more than the items have room for.
    pub fn find<E: From<NoMemory>>(
        &mut self,
        elements: Readable<'_>,
        pause: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        assert_eq!(elements.dtype(), self.dtype, "the elements are of the dtype");
        with_items!(&mut self.items, first => {
            assert!(elements.size() <= first.size, "there are no more elements than announced");
            first.begin()?;
            for start in (0..elements.size()).step_by(STEP) {
                let part = elements.part(start..elements.size().min(start + STEP));
                with_ordered!(self.dtype, T => first.add::<T>(part, start, T::turn(self.direction)));
                pause()?;
            }
            first.finish(with_ordered!(self.dtype, T => T::BYTES), pause)
        })
    }

    /// Writes the indices of the elements that were found, from 1, to a block of Long.
    ///
    /// # Panics
    /// If the block is not of Long, or has another number of elements.
    pub fn put_indices(&self, target: Writable<'_>) {
        assert_eq!(target.dtype(), DType::Long, "indices are integers of 64 bits");
        let target = target.values::<i64>();
        with_items!(&self.items, first => {
            assert_eq!(first.items.len(), target.size(), "there is an index for each item");
            for (place, item) in first.items.iter().enumerate() {
                target.set(place, item.index().cast_signed() as i64 + 1);
            }
        });
    }

    /// Writes the elements that were found to a block of their dtype. `source` is the one in which they were found.
    ///
    /// # Panics
    /// If the target has another dtype or number of elements.
    pub fn put_elements(&self, target: Writable<'_>, source: Readable<'_>) {
        assert_eq!((target.dtype(), source.dtype()), (self.dtype, self.dtype), "both blocks are of the dtype");
        match self.dtype.width() {
            1 => self.gather::<u8>(target, source),
            2 => self.gather::<u16>(target, source),
            4 => self.gather::<u32>(target, source),
            _ => self.gather::<u64>(target, source),
        }
    }

    /// Does the work of [`put_elements`](Self::put_elements) for elements as wide as `T`.
    fn gather<T: Element>(&self, target: Writable<'_>, source: Readable<'_>) {
        let (target, source) = (target.values::<T>(), source.values::<T>());
        with_items!(&self.items, first => {
            assert_eq!(first.items.len(), target.size(), "there is an element for each item");
            for (place, item) in first.items.iter().enumerate() {
                target.set(place, source.get(item.index()));
            }
        });
    }
}

/// An integer that has a key in its upper half, and in its lower half the index of the element, so that no two items are equal.
trait Item: Copy + Ord {
    fn new(key: u64, index: usize) -> Self;
    fn key(self) -> u64;
    fn index(self) -> usize;
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is an index of 32 bits")]
impl Item for u64 {
    #[inline(always)]
    fn new(key: u64, index: usize) -> Self {
        key << 32 | index as Self
    }
    #[inline(always)]
    fn key(self) -> u64 {
        self >> 32
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as u32 as usize
    }
}

#[expect(clippy::cast_possible_truncation, reason = "each half has 64 bits")]
impl Item for u128 {
    #[inline(always)]
    fn new(key: u64, index: usize) -> Self {
        Self::from(key) << 64 | index as Self
    }
    #[inline(always)]
    fn key(self) -> u64 {
        (self >> 64) as u64
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as u64 as usize
    }
}

/// Up to this number of items, a sort that compares them takes less time.
const MODERATE: usize = 1024;

/// The least items of those that were added.
#[derive(Debug)]
struct First<I> {
    /// If not all are wanted, there are up to twice as many, so that the rest is only thrown away now and then.
    items: Vec<I>,
    size: usize,
    wanted: usize,
    room: usize,
    /// When items were thrown away, no item above this one is wanted any more.
    limit: Option<I>,
}

impl<I: Item> First<I> {
    fn new(size: usize, wanted: usize) -> Result<Self, NoMemory> {
        let wanted = wanted.min(size);
        let room = wanted.saturating_mul(2).max(MODERATE).min(size);
        Ok(Self { items: radix::room(room)?, size, wanted, room, limit: None })
    }

    /// Forgets all items. Sorting may have left a list with less room.
    fn begin(&mut self) -> Result<(), NoMemory> {
        self.items.clear();
        self.limit = None;
        reserve(&mut self.items, self.room)
    }

    /// Adds elements, of which the first one has the index `start`.
    fn add<T: Ordered>(&mut self, elements: Readable<'_>, start: usize, turn: u64) {
        let values = elements.values::<T>();
        for index in 0..values.size() {
            let item = I::new(values.get(index).key(turn), start + index);
            if self.limit.is_some_and(|limit| item > limit) {
                continue;
            }
            if self.items.len() == self.room {
                self.throw_rest_away();
                if self.limit.is_some_and(|limit| item > limit) {
                    continue;
                }
            }
            self.items.push(item);
        }
    }

    fn throw_rest_away(&mut self) {
        if self.items.len() > self.wanted {
            let (_, last, _) = self.items.select_nth_unstable(self.wanted - 1);
            self.limit = Some(*last);
            self.items.truncate(self.wanted);
        }
    }

    fn finish<E: From<NoMemory>>(&mut self, bytes: usize, pause: &mut impl FnMut() -> Result<(), E>) -> Result<(), E> {
        self.throw_rest_away();
        if self.items.len() <= MODERATE {
            self.items.sort_unstable();
            return Ok(());
        }
        let mut items = std::mem::take(&mut self.items);
        if self.limit.is_some() {
            // Throwing items away has mixed them up, so those with equal keys are not in the order of their indices.
            items = radix::sort(items, size_of::<u64>(), |item| item.index() as u64, pause)?;
        }
        self.items = radix::sort(items, bytes, I::key, pause)?;
        Ok(())
    }
}
