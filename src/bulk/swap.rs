//! Reversing the bytes of words, which converts between the two byte orders.

use super::access::{BytesMut, ValuesMut, Writable};
use super::level::{Kernel, Level};

/// Reverses the byte order of each word of `width` bytes. With a width other than 2, 4 or 8 nothing changes. If the length is not
/// a multiple of the width, the bytes after the last whole word stay as they are.
pub(super) fn byteswap(level: Level, target: Writable<'_>, width: usize) {
    reverse_words(level, target.values(), width);
}

/// Does the same as [`byteswap`].
pub(super) fn reverse_words(level: Level, target: BytesMut, width: usize) {
    match width {
        2 => level.run(Swap::<i16>(target.retyped())),
        4 => level.run(Swap::<i32>(target.retyped())),
        8 => level.run(Swap::<i64>(target.retyped())),
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
