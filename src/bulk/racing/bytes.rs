//! Moving bytes between memory that other threads may access at the same time, and memory that only the caller has.
//!
//! In Rust it is undefined if two threads access a byte at the same time, one of them writes it, and one of the two accesses is not
//! atomic. Atomic accesses of different widths to the same bytes are undefined too. Each function here does what relaxed atomic
//! accesses of single bytes would do, one after the other in any order: no thread can make them undefined, whatever widths it uses.
//! On x86-64 and aarch64 these are the instructions for elements, and C's `memmove` for many bytes, where the compiler does not see what
//! is called. Miri and other processors take the bytes one by one.

use std::mem::MaybeUninit;

use crate::element::Element;

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
use instructions as machine;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use portable as machine;

/// Reads an element. The address needs no alignment.
///
/// # Safety
/// `from` is valid for reads of a `T`. Whoever else accesses these bytes at the same time does so atomically, or only reads.
#[inline(always)]
pub(super) unsafe fn load<T: Element>(from: *const u8) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let to = value.as_mut_ptr().cast::<u8>();
    match size_of::<T>() {
        // SAFETY: [in-bounds] the caller vouches for the source, and the value has this width. [race] the caller vouches for it.
        1 => unsafe { machine::load_1(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the source, and the value has this width. [race] the caller vouches for it.
        2 => unsafe { machine::load_2(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the source, and the value has this width. [race] the caller vouches for it.
        4 => unsafe { machine::load_4(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the source, and the value has this width. [race] the caller vouches for it.
        8 => unsafe { machine::load_8(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the source, and the value has this width. [race] the caller vouches for it.
        16 => unsafe { machine::load_16(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the source, and the value has this width. [race] the caller vouches for it.
        bytes => unsafe { read(to, from, bytes) },
    }
    // SAFETY: [in-bounds] all bytes of the value were set. [alias] any bits are a valid element.
    unsafe { value.assume_init() }
}

/// Writes an element. The address needs no alignment.
///
/// # Safety
/// `to` is valid for writes of a `T`. Whoever else accesses these bytes at the same time does so atomically.
#[inline(always)]
pub(super) unsafe fn store<T: Element>(to: *mut u8, value: T) {
    let from = (&raw const value).cast::<u8>();
    match size_of::<T>() {
        // SAFETY: [in-bounds] the caller vouches for the target, and the value has this width. [race] the caller vouches for it.
        1 => unsafe { machine::store_1(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the target, and the value has this width. [race] the caller vouches for it.
        2 => unsafe { machine::store_2(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the target, and the value has this width. [race] the caller vouches for it.
        4 => unsafe { machine::store_4(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the target, and the value has this width. [race] the caller vouches for it.
        8 => unsafe { machine::store_8(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the target, and the value has this width. [race] the caller vouches for it.
        16 => unsafe { machine::store_16(to, from) },
        // SAFETY: [in-bounds] the caller vouches for the target, and the value has this width. [race] the caller vouches for it.
        bytes => unsafe { write(to, from, bytes) },
    }
}

/// Copies `size` bytes, which other threads may be writing, to memory that only the caller has.
///
/// # Safety
/// `from` is valid for reads of `size` bytes, and `to` for writes. Nobody else accesses the bytes at `to`. Whoever else accesses those at
/// `from` at the same time does so atomically, or only reads.
#[inline]
pub unsafe fn read(to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: [in-bounds] and [race] the caller vouches for both.
    unsafe { machine::read(to, from, size) }
}

/// Copies `size` bytes from memory that only the caller has to memory that other threads may be accessing.
///
/// # Safety
/// `from` is valid for reads of `size` bytes, and `to` for writes. Nobody else writes the bytes at `from`. Whoever else accesses those at
/// `to` at the same time does so atomically.
#[inline]
pub unsafe fn write(to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: [in-bounds] and [race] the caller vouches for both.
    unsafe { machine::write(to, from, size) }
}

/// Copies `size` bytes within memory that other threads may be accessing. The two blocks may overlap: the result is the same as if
/// all bytes had been read first, with nobody else writing.
///
/// # Safety
/// `from` is valid for reads of `size` bytes, and `to` for writes. Whoever else accesses these bytes at the same
/// time does so atomically.
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: [in-bounds] and [race] the caller vouches for both.
    unsafe { machine::copy(to, from, size) }
}

/// The instructions of x86-64 and aarch64.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod instructions {
    use std::arch::asm;
    use std::ffi::c_void;

    /// Defines the load and the store of elements of one width: the instructions of x86-64, and those of aarch64.
    macro_rules! element {
        ($load:ident, $store:ident, $type:ty, $class:ident, [$x86_load:literal, $x86_store:literal], [$arm_load:literal, $arm_store:literal]) => {
            #[inline(always)]
            pub unsafe fn $load(to: *mut u8, from: *const u8) {
                let value: $type;
                #[cfg(target_arch = "x86_64")]
                // SAFETY: [in-bounds] the caller vouches for the source. [race] the compiler sees no access in the instruction.
                unsafe {
                    asm!($x86_load, value = lateout($class) value, at = in(reg) from, options(nostack, preserves_flags, readonly));
                }
                #[cfg(target_arch = "aarch64")]
                // SAFETY: [in-bounds] the caller vouches for the source. [race] the compiler sees no access in the instruction.
                unsafe {
                    asm!($arm_load, value = lateout(reg) value, at = in(reg) from, options(nostack, preserves_flags, readonly));
                }
                // SAFETY: [in-bounds] the caller vouches for the target, which only it has.
                unsafe { to.cast::<$type>().write_unaligned(value) }
            }

            #[inline(always)]
            pub unsafe fn $store(to: *mut u8, from: *const u8) {
                // SAFETY: [in-bounds] the caller vouches for the source, which only it has.
                let value = unsafe { from.cast::<$type>().read_unaligned() };
                #[cfg(target_arch = "x86_64")]
                // SAFETY: [in-bounds] the caller vouches for the target. [race] the compiler sees no access in the instruction.
                unsafe {
                    asm!($x86_store, value = in($class) value, at = in(reg) to, options(nostack, preserves_flags));
                }
                #[cfg(target_arch = "aarch64")]
                // SAFETY: [in-bounds] the caller vouches for the target. [race] the compiler sees no access in the instruction.
                unsafe {
                    asm!($arm_store, value = in(reg) value, at = in(reg) to, options(nostack, preserves_flags));
                }
            }
        };
    }

    element! {
        load_1, store_1, u8, reg_byte,
        ["mov {value}, byte ptr [{at}]", "mov byte ptr [{at}], {value}"], ["ldrb {value:w}, [{at}]", "strb {value:w}, [{at}]"]
    }
    element! {
        load_2, store_2, u16, reg,
        ["mov {value:x}, word ptr [{at}]", "mov word ptr [{at}], {value:x}"], ["ldrh {value:w}, [{at}]", "strh {value:w}, [{at}]"]
    }
    element! {
        load_4, store_4, u32, reg,
        ["mov {value:e}, dword ptr [{at}]", "mov dword ptr [{at}], {value:e}"], ["ldr {value:w}, [{at}]", "str {value:w}, [{at}]"]
    }
    element! {
        load_8, store_8, u64, reg,
        ["mov {value:r}, qword ptr [{at}]", "mov qword ptr [{at}], {value:r}"], ["ldr {value:x}, [{at}]", "str {value:x}, [{at}]"]
    }

    #[inline(always)]
    pub unsafe fn load_16(to: *mut u8, from: *const u8) {
        // SAFETY: [in-bounds] and [race] the caller vouches for both, for 16 bytes.
        unsafe { load_8(to, from) };
        // SAFETY: [in-bounds] and [race] the caller vouches for both, for 16 bytes.
        unsafe { load_8(to.wrapping_add(8), from.wrapping_add(8)) };
    }

    #[inline(always)]
    pub unsafe fn store_16(to: *mut u8, from: *const u8) {
        // SAFETY: [in-bounds] and [race] the caller vouches for both, for 16 bytes.
        unsafe { store_8(to, from) };
        // SAFETY: [in-bounds] and [race] the caller vouches for both, for 16 bytes.
        unsafe { store_8(to.wrapping_add(8), from.wrapping_add(8)) };
    }

    /// C's `memmove`.
    type Move = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

    /// Copies bytes between any two kinds of memory, which may overlap.
    #[inline]
    #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written: the address only gets hidden")]
    pub unsafe fn copy(to: *mut u8, from: *const u8, size: usize) {
        let mut hidden: Move = libc::memmove;
        // SAFETY: [race] nothing is executed. From here on the compiler does not know which function it is.
        unsafe { asm!("/* {} */", inout(reg) hidden, options(nomem, nostack, preserves_flags)) };
        if size > 0 {
            // SAFETY: [in-bounds] the caller vouches for both blocks. [race] the compiler sees no accesses.
            unsafe { hidden(to.cast(), from.cast(), size) };
        }
    }

    pub use copy as read;
    pub use copy as write;
}

/// Byte by byte, for Miri and other processors.
#[cfg(any(test, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[cfg_attr(test, allow(dead_code, reason = "the tests compare the copies of many bytes only"))]
mod portable {
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Defines the load and the store of elements of one width.
    macro_rules! element {
        ($load:ident, $store:ident, $width:literal) => {
            #[inline(always)]
            pub unsafe fn $load(to: *mut u8, from: *const u8) {
                // SAFETY: [in-bounds] and [race] the caller vouches for both.
                unsafe { read(to, from, $width) }
            }

            #[inline(always)]
            pub unsafe fn $store(to: *mut u8, from: *const u8) {
                // SAFETY: [in-bounds] and [race] the caller vouches for both.
                unsafe { write(to, from, $width) }
            }
        };
    }

    element!(load_1, store_1, 1);
    element!(load_2, store_2, 2);
    element!(load_4, store_4, 4);
    element!(load_8, store_8, 8);
    element!(load_16, store_16, 16);

    /// The byte at `at`, for atomic accesses.
    unsafe fn byte<'a>(at: *const u8) -> &'a AtomicU8 {
        // SAFETY: [layout] the type has the layout of a byte. [in-bounds] and [race] the caller vouches for both. [alias] all accesses
        // through the reference are atomic, so others may change the byte.
        unsafe { &*at.cast() }
    }

    pub unsafe fn read(to: *mut u8, from: *const u8, size: usize) {
        for index in 0..size {
            // SAFETY: [in-bounds] the index is below the size.
            let value = unsafe { byte(from.wrapping_add(index)) }.load(Ordering::Relaxed);
            // SAFETY: [in-bounds] the index is below the size.
            unsafe { to.wrapping_add(index).write(value) };
        }
    }

    pub unsafe fn write(to: *mut u8, from: *const u8, size: usize) {
        for index in 0..size {
            // SAFETY: [in-bounds] the index is below the size.
            let value = unsafe { from.wrapping_add(index).read() };
            // SAFETY: [in-bounds] the index is below the size.
            unsafe { byte(to.wrapping_add(index)) }.store(value, Ordering::Relaxed);
        }
    }

    pub unsafe fn copy(to: *mut u8, from: *const u8, size: usize) {
        for step in 0..size {
            let index = if to.addr() <= from.addr() { step } else { size - 1 - step };
            // SAFETY: [in-bounds] the index is below the size.
            let value = unsafe { byte(from.wrapping_add(index)) }.load(Ordering::Relaxed);
            // SAFETY: [in-bounds] the index is below the size.
            unsafe { byte(to.wrapping_add(index)) }.store(value, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::Complex;

    /// Moves `size` bytes at every offset from 0 to 15, and looks at the bytes around them.
    fn moves(size: usize, act: unsafe fn(*mut u8, *const u8, usize)) {
        for (there, here) in (0..16).flat_map(|there| [0, 1, 8, 15].map(|here| (there, here))) {
            let source: Vec<u8> = (0..size + 32).map(|byte| u8::try_from(byte % 251).unwrap_or(0)).collect();
            let mut target = vec![0xee; size + 32];
            // SAFETY: [in-bounds] both vectors have that many bytes behind the offsets. [race] no other thread has them.
            unsafe { act(target.as_mut_ptr().wrapping_add(here), source.as_ptr().wrapping_add(there), size) };
            assert_eq!(target[here..here + size], source[there..there + size], "{size} bytes from {there} to {here}");
            assert!(target[..here].iter().chain(&target[here + size..]).all(|&byte| byte == 0xee), "{size} bytes to {here}");
        }
    }

    #[test]
    fn exactly_the_bytes_are_moved() {
        let most = if cfg!(miri) { 40 } else { 200 };
        for size in (0..most).chain([if cfg!(miri) { 100 } else { 10_000 }]) {
            for act in [read, write, portable::read, portable::write] {
                moves(size, act);
            }
        }
    }

    #[test]
    fn blocks_may_overlap() {
        for (to, from) in (0..20).flat_map(|to| (0..20).map(move |from| (to, from))) {
            for act in [copy, portable::copy] {
                let mut bytes: Vec<u8> = (0..60).collect();
                let mut expected = bytes.clone();
                expected.copy_within(from..from + 40, to);
                let data = bytes.as_mut_ptr();
                // SAFETY: [in-bounds] the vector has 60 bytes. [race] no other thread has it.
                unsafe { act(data.wrapping_add(to), data.wrapping_add(from), 40) };
                assert_eq!(bytes, expected, "from {from} to {to}");
            }
        }
    }

    /// Stores a value at every offset and loads it again.
    fn comes_back<T: Element + std::fmt::Debug>(value: T) {
        let width = size_of::<T>();
        for offset in 0..17 {
            let mut bytes = [0x55u8; 40];
            let at = bytes.as_mut_ptr().wrapping_add(offset);
            // SAFETY: [in-bounds] the array has the bytes. [race] no other thread has it.
            unsafe { store(at, value) };
            // SAFETY: [in-bounds] the array has the bytes. [race] no other thread has it.
            assert_eq!(unsafe { load::<T>(at) }, value);
            assert!(bytes[..offset].iter().chain(&bytes[offset + width..]).all(|&byte| byte == 0x55), "{value:?} at {offset}");
        }
    }

    #[test]
    fn an_element_comes_back() {
        comes_back(0xa7u8);
        comes_back(-12_345i16);
        comes_back(0x1234_5678u32);
        comes_back(1.5e300f64);
        comes_back(Complex { re: 1.25f32, im: -7.5 });
        comes_back(Complex { re: 1e300f64, im: -1e-300 });
    }
}
