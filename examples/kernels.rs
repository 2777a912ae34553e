//! The kernels as a C library, for `bench/versus_numpy.py`: so they and NumPy work on the same memory in one process.
#![allow(missing_docs, reason = "a tool of the benchmark")]
#![allow(clippy::missing_safety_doc, reason = "each is the engine's function of the same name, whose conditions it has")]

use torch_storage::bulk::{self, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::{DType, Storage};

#[unsafe(no_mangle)]
pub extern "C" fn set_threads(threads: usize) {
    bulk::set_threads(threads);
}

#[unsafe(no_mangle)]
pub extern "C" fn threads() -> usize {
    bulk::threads()
}

/// `size` elements of the class with this index in `DType::ALL`.
///
/// # Safety
/// As [`Readable::new`].
unsafe fn readable<'a>(data: *const u8, dtype: usize, size: usize) -> Readable<'a> {
    // SAFETY: [in-bounds] the caller vouches for them.
    unsafe { Readable::new(data, DType::ALL[dtype], size) }
}

/// `size` elements of the class with this index in `DType::ALL`.
///
/// # Safety
/// As [`Writable::new`].
unsafe fn writable<'a>(data: *mut u8, dtype: usize, size: usize) -> Writable<'a> {
    // SAFETY: [in-bounds] the caller vouches for them.
    unsafe { Writable::new(data, DType::ALL[dtype], size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy(target: *mut u8, to: usize, source: *const u8, from: usize, size: usize) {
    // SAFETY: [in-bounds] the caller vouches for both blocks.
    let target = unsafe { writable(target, to, size) };
    // SAFETY: [in-bounds] the caller vouches for both blocks.
    bulk::copy(target, unsafe { readable(source, from, size) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fill(data: *mut u8, dtype: usize, size: usize, value: f64) {
    // SAFETY: [in-bounds] the caller vouches for the block.
    bulk::fill(unsafe { writable(data, dtype, size) }, Scalar::Float(value));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn equal(left: *const u8, right: *const u8, dtype: usize, size: usize) -> bool {
    // SAFETY: [in-bounds] the caller vouches for both blocks.
    let left = unsafe { readable(left, dtype, size) };
    // SAFETY: [in-bounds] the caller vouches for both blocks.
    bulk::equal(left, unsafe { readable(right, dtype, size) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn byteswap(data: *mut u8, width: usize, bytes: usize) {
    // SAFETY: [in-bounds] the caller vouches for the block.
    bulk::byteswap(unsafe { Writable::new(data, DType::Byte, bytes) }, width);
}

/// A new storage, filled and given back; false if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn construct_and_fill(dtype: usize, size: usize, value: f64) -> bool {
    Storage::zeroed(DType::ALL[dtype], size).and_then(|storage| storage.fill(Scalar::Float(value))).is_ok()
}
