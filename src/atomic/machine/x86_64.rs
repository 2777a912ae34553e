//! The instructions of x86-64. One that locks the bus, as `xchg` does by itself, is sequentially consistent, and so is a plain load next
//! to such stores.

use std::arch::asm;

/// Defines the instructions for words of one width. `$accumulator` is the register in which the processor compares.
macro_rules! word {
    (
        $type:ty, $class:ident, $accumulator:tt,
        $load:ident = $mov:literal, $store:ident, $exchange:ident = $xchg:literal, $add:ident = $xadd:literal,
        $compare_exchange:ident = $cmpxchg:literal
    ) => {
        #[inline(always)]
        pub unsafe fn $load(at: *const $type) -> $type {
            let value: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { asm!($mov, value = lateout($class) value, at = in(reg) at, options(nostack, preserves_flags)) };
            value
        }

        #[inline(always)]
        pub unsafe fn $store(at: *mut $type, value: $type) {
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { $exchange(at, value) };
        }

        #[inline(always)]
        pub unsafe fn $exchange(at: *mut $type, value: $type) -> $type {
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { asm!($xchg, value = inout($class) value => old, at = in(reg) at, options(nostack, preserves_flags)) };
            old
        }

        #[inline(always)]
        pub unsafe fn $add(at: *mut $type, value: $type) -> $type {
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { asm!($xadd, value = inout($class) value => old, at = in(reg) at, options(nostack)) };
            old
        }

        #[inline(always)]
        pub unsafe fn $compare_exchange(at: *mut $type, expected: $type, new: $type) -> $type {
            let old: $type;
            // SAFETY: [atomic] the caller vouches for the address.
            unsafe { asm!($cmpxchg, inout($accumulator) expected => old, new = in($class) new, at = in(reg) at, options(nostack)) };
            old
        }
    };
}

word! {
    u8, reg_byte, "al",
    load_1 = "mov {value}, byte ptr [{at}]", store_1, exchange_1 = "xchg byte ptr [{at}], {value}",
    add_1 = "lock xadd byte ptr [{at}], {value}", compare_exchange_1 = "lock cmpxchg byte ptr [{at}], {new}"
}
word! {
    u16, reg, "ax",
    load_2 = "mov {value:x}, word ptr [{at}]", store_2, exchange_2 = "xchg word ptr [{at}], {value:x}",
    add_2 = "lock xadd word ptr [{at}], {value:x}", compare_exchange_2 = "lock cmpxchg word ptr [{at}], {new:x}"
}
word! {
    u32, reg, "eax",
    load_4 = "mov {value:e}, dword ptr [{at}]", store_4, exchange_4 = "xchg dword ptr [{at}], {value:e}",
    add_4 = "lock xadd dword ptr [{at}], {value:e}", compare_exchange_4 = "lock cmpxchg dword ptr [{at}], {new:e}"
}
word! {
    u64, reg, "rax",
    load_8 = "mov {value:r}, qword ptr [{at}]", store_8, exchange_8 = "xchg qword ptr [{at}], {value:r}",
    add_8 = "lock xadd qword ptr [{at}], {value:r}", compare_exchange_8 = "lock cmpxchg qword ptr [{at}], {new:r}"
}
