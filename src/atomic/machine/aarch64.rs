//! The instructions of ARM64. A word is changed at once by an instruction of ARMv8.1, or by a loop on older processors.

use std::arch::{asm, is_aarch64_feature_detected};

/// Defines the instructions for words of one width. `$compare` compares the low bits of `old` with `expected`. In the loops the processor
/// notes the address when it loads the word, and does not store the new one if anybody else has written there in between.
macro_rules! word {
    (
        $type:ty, $load:ident = $ldar:literal, $store:ident = $stlr:literal,
        $exchange:ident = [$swpal:literal, $large_exchange:ident], $add:ident = [$ldaddal:literal, $sum:literal, $large_add:ident],
        $compare_exchange:ident = [$casal:literal, $compare:literal, $large_compare_exchange:ident],
        $ldaxr:literal, $stlxr:literal
    ) => {
        #[inline(always)]
        pub unsafe fn $load(at: *const $type) -> $type {
            let value: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { asm!($ldar, old = lateout(reg) value, at = in(reg) at, options(nostack, preserves_flags)) };
            value
        }

        #[inline(always)]
        pub unsafe fn $store(at: *mut $type, value: $type) {
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { asm!($stlr, new = in(reg) value, at = in(reg) at, options(nostack, preserves_flags)) };
        }

        #[inline]
        pub unsafe fn $exchange(at: *mut $type, value: $type) -> $type {
            if is_aarch64_feature_detected!("lse") {
                // SAFETY: [cpu] the processor has the instruction. [atomic] the caller vouches for the address.
                return unsafe { $large_exchange(at, value) };
            }
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe {
                asm!(
                    "2:", $ldaxr, $stlxr, "cbnz {failed:w}, 2b",
                    old = out(reg) old, new = in(reg) value, failed = out(reg) _, at = in(reg) at,
                    options(nostack, preserves_flags)
                );
            }
            old
        }

        #[inline]
        pub unsafe fn $add(at: *mut $type, value: $type) -> $type {
            if is_aarch64_feature_detected!("lse") {
                // SAFETY: [cpu] the processor has the instruction. [atomic] the caller vouches for the address.
                return unsafe { $large_add(at, value) };
            }
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe {
                asm!(
                    "2:", $ldaxr, $sum, $stlxr, "cbnz {failed:w}, 2b",
                    old = out(reg) old, value = in(reg) value, new = out(reg) _, failed = out(reg) _, at = in(reg) at,
                    options(nostack, preserves_flags)
                );
            }
            old
        }

        #[inline]
        pub unsafe fn $compare_exchange(at: *mut $type, expected: $type, new: $type) -> $type {
            if is_aarch64_feature_detected!("lse") {
                // SAFETY: [cpu] the processor has the instruction. [atomic] the caller vouches for the address.
                return unsafe { $large_compare_exchange(at, expected, new) };
            }
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe {
                asm!(
                    "2:", $ldaxr, $compare, "b.ne 3f", $stlxr, "cbnz {failed:w}, 2b", "3:",
                    old = out(reg) old, expected = in(reg) expected, new = in(reg) new, failed = out(reg) _, at = in(reg) at,
                    options(nostack)
                );
            }
            old
        }

        #[target_feature(enable = "lse")]
        unsafe fn $large_exchange(at: *mut $type, value: $type) -> $type {
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe {
                asm!($swpal, new = in(reg) value, old = lateout(reg) old, at = in(reg) at, options(nostack, preserves_flags));
            }
            old
        }

        #[target_feature(enable = "lse")]
        unsafe fn $large_add(at: *mut $type, value: $type) -> $type {
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe {
                asm!($ldaddal, value = in(reg) value, old = lateout(reg) old, at = in(reg) at, options(nostack, preserves_flags));
            }
            old
        }

        #[target_feature(enable = "lse")]
        unsafe fn $large_compare_exchange(at: *mut $type, expected: $type, new: $type) -> $type {
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe {
                asm!(
                    $casal, old = inout(reg) expected => old, new = in(reg) new, at = in(reg) at,
                    options(nostack, preserves_flags)
                );
            }
            old
        }
    };
}

word! {
    u8, load_1 = "ldarb {old:w}, [{at}]", store_1 = "stlrb {new:w}, [{at}]",
    exchange_1 = ["swpalb {new:w}, {old:w}, [{at}]", large_exchange_1],
    add_1 = ["ldaddalb {value:w}, {old:w}, [{at}]", "add {new:w}, {old:w}, {value:w}", large_add_1],
    compare_exchange_1 = ["casalb {old:w}, {new:w}, [{at}]", "cmp {old:w}, {expected:w}, uxtb", large_compare_exchange_1],
    "ldaxrb {old:w}, [{at}]", "stlxrb {failed:w}, {new:w}, [{at}]"
}
word! {
    u16, load_2 = "ldarh {old:w}, [{at}]", store_2 = "stlrh {new:w}, [{at}]",
    exchange_2 = ["swpalh {new:w}, {old:w}, [{at}]", large_exchange_2],
    add_2 = ["ldaddalh {value:w}, {old:w}, [{at}]", "add {new:w}, {old:w}, {value:w}", large_add_2],
    compare_exchange_2 = ["casalh {old:w}, {new:w}, [{at}]", "cmp {old:w}, {expected:w}, uxth", large_compare_exchange_2],
    "ldaxrh {old:w}, [{at}]", "stlxrh {failed:w}, {new:w}, [{at}]"
}
word! {
    u32, load_4 = "ldar {old:w}, [{at}]", store_4 = "stlr {new:w}, [{at}]",
    exchange_4 = ["swpal {new:w}, {old:w}, [{at}]", large_exchange_4],
    add_4 = ["ldaddal {value:w}, {old:w}, [{at}]", "add {new:w}, {old:w}, {value:w}", large_add_4],
    compare_exchange_4 = ["casal {old:w}, {new:w}, [{at}]", "cmp {old:w}, {expected:w}", large_compare_exchange_4],
    "ldaxr {old:w}, [{at}]", "stlxr {failed:w}, {new:w}, [{at}]"
}
word! {
    u64, load_8 = "ldar {old:x}, [{at}]", store_8 = "stlr {new:x}, [{at}]",
    exchange_8 = ["swpal {new:x}, {old:x}, [{at}]", large_exchange_8],
    add_8 = ["ldaddal {value:x}, {old:x}, [{at}]", "add {new:x}, {old:x}, {value:x}", large_add_8],
    compare_exchange_8 = ["casal {old:x}, {new:x}, [{at}]", "cmp {old:x}, {expected:x}", large_compare_exchange_8],
    "ldaxr {old:x}, [{at}]", "stlxr {failed:w}, {new:x}, [{at}]"
}
