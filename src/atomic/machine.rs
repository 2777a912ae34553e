//! The instructions that access a word at once: rule `[atomic]` of `docs/architecture.md`.
//!
//! All are sequentially consistent. They are instructions that the compiler does not look into, because views of other dtypes may access
//! the same bytes at the same time, and Rust calls it undefined when its own atomic types do so with different widths. Miri and other
//! processors take Rust's types.

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
#[cfg(any(test, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[cfg_attr(
    not(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64")))),
    allow(dead_code, reason = "a test compares it")
)]
mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(miri)))]
use aarch64 as instructions;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use portable as instructions;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use x86_64 as instructions;

/// An unsigned integer that the processor accesses at once.
///
/// # Safety of its functions
/// `at` is aligned to the width of the word, and valid for reads; for writes too, except for `load`. Whoever else accesses the same bytes
/// at the same time does so atomically.
pub trait Word: Copy + PartialEq + 'static {
    /// Reads the word.
    unsafe fn load(at: *const Self) -> Self;
    /// Writes the word.
    unsafe fn store(at: *mut Self, value: Self);
    /// Writes the word, and returns what it was.
    unsafe fn exchange(at: *mut Self, value: Self) -> Self;
    /// Adds to the word, modulo 2 to the power of its bits, and returns what it was.
    unsafe fn add(at: *mut Self, value: Self) -> Self;
    /// Writes `new` if the word is `expected`, and returns what it was.
    unsafe fn compare_exchange(at: *mut Self, expected: Self, new: Self) -> Self;
    /// The word that [`add`](Self::add) takes in order to subtract this one.
    fn negated(self) -> Self;
}

macro_rules! word {
    ($type:ty, $load:ident, $store:ident, $exchange:ident, $add:ident, $compare_exchange:ident) => {
        impl Word for $type {
            #[inline(always)]
            unsafe fn load(at: *const Self) -> Self {
                // SAFETY: [atomic] the caller vouches for the address.
                unsafe { instructions::$load(at) }
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: [atomic] the caller vouches for the address.
                unsafe { instructions::$store(at, value) }
            }
            #[inline(always)]
            unsafe fn exchange(at: *mut Self, value: Self) -> Self {
                // SAFETY: [atomic] the caller vouches for the address.
                unsafe { instructions::$exchange(at, value) }
            }
            #[inline(always)]
            unsafe fn add(at: *mut Self, value: Self) -> Self {
                // SAFETY: [atomic] the caller vouches for the address.
                unsafe { instructions::$add(at, value) }
            }
            #[inline(always)]
            unsafe fn compare_exchange(at: *mut Self, expected: Self, new: Self) -> Self {
                // SAFETY: [atomic] the caller vouches for the address.
                unsafe { instructions::$compare_exchange(at, expected, new) }
            }
            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        }
    };
}

word!(u8, load_1, store_1, exchange_1, add_1, compare_exchange_1);
word!(u16, load_2, store_2, exchange_2, add_2, compare_exchange_2);
word!(u32, load_4, store_4, exchange_4, add_4, compare_exchange_4);
word!(u64, load_8, store_8, exchange_8, add_8, compare_exchange_8);

#[cfg(test)]
mod tests {
    use super::{Word, instructions, portable};

    /// Calls every instruction with the same numbers as Rust's types, and looks at the bytes around the word.
    macro_rules! same {
        ($type:ty, $load:ident, $store:ident, $exchange:ident, $add:ident, $compare_exchange:ident) => {
            let numbers = [0, 1, 2, 0x7f, 0x80, <$type>::MAX / 2, <$type>::MAX / 2 + 1, <$type>::MAX - 1, <$type>::MAX];
            for (old, value) in numbers.iter().flat_map(|&old| numbers.iter().map(move |&value| (old, value))) {
                let (mut here, mut there) = ([<$type>::MAX / 3; 3], [<$type>::MAX / 3; 3]);
                let (at, other) = (&raw mut here[1], &raw mut there[1]);
                // SAFETY: [atomic] no other thread has the words.
                unsafe { instructions::$store(at, old) };
                // SAFETY: [atomic] no other thread has the words.
                unsafe { portable::$store(other, old) };
                // SAFETY: [atomic] no other thread has the words.
                assert_eq!(unsafe { instructions::$load(at) }, old);
                // SAFETY: [atomic] no other thread has the words.
                assert_eq!(unsafe { instructions::$add(at, value) }, unsafe { portable::$add(other, value) });
                // SAFETY: [atomic] no other thread has the words.
                assert_eq!(unsafe { instructions::$load(at) }, unsafe { portable::$load(other) });
                for expected in [old, old.wrapping_add(value), value] {
                    // SAFETY: [atomic] no other thread has the words.
                    let found = unsafe { instructions::$compare_exchange(at, expected, old) };
                    // SAFETY: [atomic] no other thread has the words.
                    assert_eq!(found, unsafe { portable::$compare_exchange(other, expected, old) });
                    assert_eq!(here, there);
                }
                // SAFETY: [atomic] no other thread has the words.
                let found = unsafe { instructions::$exchange(at, value) };
                // SAFETY: [atomic] no other thread has the words.
                assert_eq!(found, unsafe { portable::$exchange(other, value) });
                assert_eq!((here, here[1]), (there, value));
                assert_eq!(value.negated(), (0 as $type).wrapping_sub(value));
            }
        };
    }

    #[test]
    fn bytes_are_as_those_of_rust() {
        same!(u8, load_1, store_1, exchange_1, add_1, compare_exchange_1);
    }

    #[test]
    fn words_of_16_bits_are_as_those_of_rust() {
        same!(u16, load_2, store_2, exchange_2, add_2, compare_exchange_2);
    }

    #[test]
    fn words_of_32_bits_are_as_those_of_rust() {
        same!(u32, load_4, store_4, exchange_4, add_4, compare_exchange_4);
    }

    #[test]
    fn words_of_64_bits_are_as_those_of_rust() {
        same!(u64, load_8, store_8, exchange_8, add_8, compare_exchange_8);
    }
}
