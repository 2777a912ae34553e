//! The kernels as a C library, so that `bench/versus_numpy.py` can run them and NumPy on the same memory in one process.
#![allow(missing_docs, reason = "only the benchmark uses it")]
#![allow(clippy::missing_safety_doc, reason = "each function has the conditions of the engine's function of the same name")]

use torch_storage::convert::Scalar;
use torch_storage::{DType, Storage, bulk};

#[unsafe(no_mangle)]
pub extern "C" fn set_threads(threads: usize) {
    bulk::set_threads(threads);
}

#[unsafe(no_mangle)]
pub extern "C" fn threads() -> usize {
    bulk::threads()
}

/// Copies and converts. Classes are given by their index in `DType::ALL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy(target: *mut u8, to: usize, source: *const u8, from: usize, size: usize) {
    // SAFETY: the Python caller keeps the conditions of the function of the same name.
    unsafe { bulk::copy(target, DType::ALL[to], source, DType::ALL[from], size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fill(data: *mut u8, dtype: usize, size: usize, value: f64) {
    // SAFETY: the Python caller keeps the conditions of the function of the same name.
    unsafe { bulk::fill(data, DType::ALL[dtype], size, Scalar::Float(value)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn equal(left: *const u8, right: *const u8, dtype: usize, size: usize) -> bool {
    // SAFETY: the Python caller keeps the conditions of the function of the same name.
    unsafe { bulk::equal(left, right, DType::ALL[dtype], size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn byteswap(data: *mut u8, width: usize, bytes: usize) {
    // SAFETY: the Python caller keeps the conditions of the function of the same name.
    unsafe { bulk::byteswap(data, width, bytes) }
}

/// Makes a storage, fills it and frees it. Returns false if there is not enough memory.
#[unsafe(no_mangle)]
pub extern "C" fn construct_and_fill(dtype: usize, size: usize, value: f64) -> bool {
    Storage::zeroed(DType::ALL[dtype], size).and_then(|storage| storage.fill(Scalar::Float(value))).is_ok()
}
