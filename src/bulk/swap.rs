//! Turning the bytes of words round: from one byte order to the other.

use std::marker::PhantomData;

use super::level::{Kernel, Level, Set};
use super::{get_as, set_as};

/// # Safety
/// `data` is valid for reads and writes of `bytes` bytes.
pub(super) unsafe fn byteswap(level: Level, data: *mut u8, width: usize, bytes: usize) {
    match width {
        // SAFETY: as the caller says.
        2 => unsafe { level.run(Swap::<i16> { data, bytes, word: PhantomData }) },
        // SAFETY: as the caller says.
        4 => unsafe { level.run(Swap::<i32> { data, bytes, word: PhantomData }) },
        // SAFETY: as the caller says.
        8 => unsafe { level.run(Swap::<i64> { data, bytes, word: PhantomData }) },
        _ => {}
    }
}

/// Who makes one promises that `data` is valid for reads and writes of `bytes` bytes.
struct Swap<T> {
    data: *mut u8,
    bytes: usize,
    word: PhantomData<T>,
}

macro_rules! swap {
    ($($word:ty)*) => {$(
        impl Kernel for Swap<$word> {
            type Output = ();

            #[inline(always)]
            unsafe fn run(self, _: Set) {
                for place in 0..self.bytes / size_of::<$word>() {
                    // SAFETY: the word is inside.
                    let word = unsafe { get_as::<$word>(self.data, place) };
                    // SAFETY: as above.
                    unsafe { set_as(self.data, place, word.swap_bytes()) };
                }
            }
        }
    )*};
}

swap! { i16 i32 i64 }
