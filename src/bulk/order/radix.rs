//! Sorting by keys, byte after byte.

use crate::fallible::{NoMemory, list};
use crate::system::{self, HUGE_PAGE};

/// The number of items that are moved between two calls of the function that may end the sorting.
pub(super) const STEP: usize = 1 << 22;

/// Up to this number of items, inserting them one by one takes less time.
const FEW: usize = 24;

/// The number of values of a byte.
const DIGITS: usize = 256;

/// The greatest number of bytes of a key.
const BYTES: usize = 8;

/// Sorts items by their keys, of which `bytes` bytes are compared. Items with equal keys stay in their order. It calls `pause` now and
/// then, and ends if that fails.
///
/// This is a radix sort that begins with the lowest byte. It reads and writes the list once for each byte that is not the same in all keys.
pub(super) fn sort<T: Copy, E: From<NoMemory>>(
    mut items: Vec<T>,
    bytes: usize,
    key: impl Fn(T) -> u64,
    pause: &mut impl FnMut() -> Result<(), E>,
) -> Result<Vec<T>, E> {
    if items.len() <= FEW {
        insert(&mut items, key);
        return Ok(items);
    }
    let mut counts = [[0; DIGITS]; BYTES];
    for part in items.chunks(STEP) {
        count(part, &mut counts[..bytes], &key);
        pause()?;
    }
    let mut others = room(items.len())?;
    others.extend_from_slice(&items);
    for (byte, counts) in counts[..bytes].iter_mut().enumerate() {
        if counts.contains(&items.len()) {
            continue;
        }
        let mut places = places(counts);
        for part in items.chunks(STEP) {
            for &item in part {
                let place = &mut places[digit(key(item), byte)];
                others[*place] = item;
                *place += 1;
            }
            pause()?;
        }
        std::mem::swap(&mut items, &mut others);
    }
    Ok(items)
}

/// Makes a list with room for `count` items. A large one has huge pages, where there are some: a pass over the items of 80 MB goes to so
/// many places that with small pages it takes a third longer.
pub(super) fn room<T>(count: usize) -> Result<Vec<T>, NoMemory> {
    let mut room: Vec<T> = list(count)?;
    let bytes = room.capacity().saturating_mul(size_of::<T>());
    if bytes >= 2 * HUGE_PAGE {
        let start: *mut u8 = room.as_mut_ptr().cast();
        let first = start.align_offset(system::page_size());
        system::advise_huge_pages(start.wrapping_add(first), bytes.saturating_sub(first));
    }
    Ok(room)
}

/// Byte `byte` of a key, the lowest one being byte 0.
#[inline(always)]
fn digit(key: u64, byte: usize) -> usize {
    usize::from(key.to_le_bytes()[byte])
}

/// Counts how often each byte of the keys has each value.
fn count<T: Copy>(items: &[T], counts: &mut [[usize; DIGITS]], key: &impl Fn(T) -> u64) {
    for &item in items {
        let key = key(item);
        for (byte, counts) in counts.iter_mut().enumerate() {
            counts[digit(key, byte)] += 1;
        }
    }
}

/// Where the first item with each value of a byte belongs.
fn places(counts: &[usize; DIGITS]) -> [usize; DIGITS] {
    let mut next = 0;
    counts.map(|count| {
        let place = next;
        next += count;
        place
    })
}

/// Sorts few items.
fn insert<T: Copy>(items: &mut [T], key: impl Fn(T) -> u64) {
    for end in 1..items.len() {
        let item = items[end];
        let own = key(item);
        let mut place = end;
        while place > 0 && key(items[place - 1]) > own {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, STEP, sort};
    use crate::fallible::NoMemory;

    #[test]
    fn items_with_equal_keys_stay_in_their_order() -> Result<(), NoMemory> {
        for size in [0, 1, 2, FEW, FEW + 1, 100, 1000, 70_000] {
            for modulus in [1, 3, 256, 70_001, 1 << 40] {
                let items: Vec<(u64, usize)> =
                    (0..size).map(|n| ((n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % modulus, n)).collect();
                let mut expected = items.clone();
                expected.sort_by_key(|item| item.0);
                assert_eq!(sort(items, 5, |item| item.0, &mut || Ok::<_, NoMemory>(()))?, expected);
            }
        }
        Ok(())
    }

    #[test]
    fn it_ends_when_the_pause_fails() {
        let size = if cfg!(miri) { 1000 } else { STEP + 1 };
        for allowed in 0..3 {
            let mut pauses = 0;
            let mut pause = || {
                pauses += 1;
                if pauses > allowed { Err(NoMemory { bytes: 7 }) } else { Ok(()) }
            };
            assert_eq!(sort((0..size as u64).collect(), 8, |item| item, &mut pause), Err(NoMemory { bytes: 7 }));
        }
    }
}
