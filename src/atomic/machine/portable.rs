//! The same by Rust's atomic types, for Miri and for processors without a file of their own.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Defines the accesses to words of one width.
macro_rules! word {
    ($type:ty, $atomic:ty, $load:ident, $store:ident, $exchange:ident, $add:ident, $compare_exchange:ident) => {
        pub unsafe fn $load(at: *const $type) -> $type {
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { <$atomic>::from_ptr(at.cast_mut()) }.load(Ordering::SeqCst)
        }

        pub unsafe fn $store(at: *mut $type, value: $type) {
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { <$atomic>::from_ptr(at) }.store(value, Ordering::SeqCst);
        }

        pub unsafe fn $exchange(at: *mut $type, value: $type) -> $type {
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { <$atomic>::from_ptr(at) }.swap(value, Ordering::SeqCst)
        }

        pub unsafe fn $add(at: *mut $type, value: $type) -> $type {
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { <$atomic>::from_ptr(at) }.fetch_add(value, Ordering::SeqCst)
        }

        pub unsafe fn $compare_exchange(at: *mut $type, expected: $type, new: $type) -> $type {
            // SAFETY: [atomic] the caller vouches for the address.
            let found = unsafe { <$atomic>::from_ptr(at) }.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
            found.unwrap_or_else(|found| found)
        }
    };
}

word!(u8, AtomicU8, load_1, store_1, exchange_1, add_1, compare_exchange_1);
word!(u16, AtomicU16, load_2, store_2, exchange_2, add_2, compare_exchange_2);
word!(u32, AtomicU32, load_4, store_4, exchange_4, add_4, compare_exchange_4);
word!(u64, AtomicU64, load_8, store_8, exchange_8, add_8, compare_exchange_8);
