//! Reversing the bytes of words: from one byte order to the other.

use super::access::{Values, ValuesMut, Writable};
use super::level::{Kernel, Level};

/// Reverses the bytes of every word of `width` bytes. Other widths than 2, 4 and 8, and the rest of a length that is not a
/// multiple of the width, change nothing.
pub(super) fn byteswap(level: Level, target: Writable<'_>, width: usize) {
    match width {
        2 => level.run(Swap::<i16> { from: target.readable().values(), to: target.values() }),
        4 => level.run(Swap::<i32> { from: target.readable().values(), to: target.values() }),
        8 => level.run(Swap::<i64> { from: target.readable().values(), to: target.values() }),
        _ => {}
    }
}

/// The words of one block, twice.
struct Swap<T> {
    from: Values<T>,
    to: ValuesMut<T>,
}

macro_rules! swap {
    ($($word:ty)*) => {$(
        impl Kernel for Swap<$word> {
            type Output = ();

            #[inline(always)]
            fn run(self, _: Level) {
                let from = self.from.first(self.to.size());
                for index in 0..self.to.size() {
                    self.to.set(index, from.get(index).swap_bytes());
                }
            }
        }
    )*};
}

swap! { i16 i32 i64 }
