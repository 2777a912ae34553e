//! Reversing the bytes of words: from one byte order to the other.

use super::access::{ValuesMut, Writable};
use super::level::{Kernel, Level};

/// Reverses the bytes of every word of `width` bytes. Other widths than 2, 4 and 8, and the rest of a length that is not a
/// multiple of the width, change nothing.
pub(super) fn byteswap(level: Level, target: Writable<'_>, width: usize) {
    match width {
        2 => level.run(Swap::<i16>(target.values())),
        4 => level.run(Swap::<i32>(target.values())),
        8 => level.run(Swap::<i64>(target.values())),
        _ => {}
    }
}

struct Swap<T>(ValuesMut<T>);

macro_rules! swap {
    ($($word:ty)*) => {$(
        impl Kernel for Swap<$word> {
            type Output = ();

            #[inline(always)]
            fn run(self, _: Level) {
                for index in 0..self.0.size() {
                    self.0.set(index, self.0.get(index).swap_bytes());
                }
            }
        }
    )*};
}

swap! { i16 i32 i64 }
