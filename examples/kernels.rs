//! The kernels as a C library, so that `bench/versus_numpy.py` can run them and NumPy on the same memory in one process.
#![allow(missing_docs, reason = "only the benchmark uses it")]
#![allow(clippy::missing_safety_doc, reason = "each function has the conditions of the engine's function of the same name")]

use std::ffi::{CString, c_char};
use std::sync::LazyLock;

use torch_storage::DType;
use torch_storage::bulk::{self, Axis, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::Storage;

#[unsafe(no_mangle)]
pub extern "C" fn set_threads(threads: usize) {
    bulk::set_threads(threads);
}

#[unsafe(no_mangle)]
pub extern "C" fn threads() -> usize {
    bulk::threads()
}

/// The dtypes, a line each in the order of `DType::ALL`: the class, its kind, and PyTorch's name of the dtype, with tabs between.
#[unsafe(no_mangle)]
pub extern "C" fn dtypes() -> *const c_char {
    static LINES: LazyLock<CString> = LazyLock::new(|| {
        let line = |dtype: &DType| {
            let class = dtype.element_name();
            let small = class.to_ascii_lowercase();
            let name = dtype.other_names().split(' ').next().filter(|name| !name.is_empty()).unwrap_or(&small);
            format!("{class}\t{}\t{name}\n", dtype.kind().name())
        };
        CString::new(DType::ALL.iter().map(line).collect::<String>()).unwrap_or_default()
    });
    LINES.as_ptr()
}

/// `size` elements of the dtype with this index in `DType::ALL`.
///
/// # Safety
/// As [`Readable::new`].
unsafe fn readable<'a>(data: *const u8, dtype: usize, size: usize) -> Readable<'a> {
    // SAFETY: [in-bounds] the caller vouches for them.
    unsafe { Readable::new(data, DType::ALL[dtype], size) }
}

/// `size` elements of the dtype with this index in `DType::ALL`.
///
/// # Safety
/// As [`Writable::new`].
unsafe fn writable<'a>(data: *mut u8, dtype: usize, size: usize) -> Writable<'a> {
    // SAFETY: [in-bounds] the caller vouches for them.
    unsafe { Writable::new(data, DType::ALL[dtype], size) }
}

/// Copies and converts. A dtype is given by its number, which is its index in `DType::ALL`.
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

/// Makes a storage, fills it and frees it. Returns false if there is not enough memory.
#[unsafe(no_mangle)]
pub extern "C" fn construct_and_fill(dtype: usize, size: usize, value: f64) -> bool {
    Storage::zeroed(DType::ALL[dtype], size).and_then(|storage| storage.fill(Scalar::Float(value))).is_ok()
}

/// A dimension of a strided copy, as C sees it: the number of elements, and their distances in the target and in the source, in
/// elements.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Dimension {
    size: usize,
    target: isize,
    source: isize,
}

/// Copies and converts elements at equal distances. The strides are positive or 0, and there are at most 8 dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy_strided(
    target: *mut u8,
    to: usize,
    source: *const u8,
    from: usize,
    dimensions: *const Dimension,
    count: usize,
) {
    let mut axes = [Axis { size: 1, target: 0, source: 0 }; 8];
    let (mut targets, mut sources) = (1, 1);
    for (number, axis) in axes[..count].iter_mut().enumerate() {
        // SAFETY: [in-bounds] the caller vouches for so many dimensions.
        let Dimension { size, target, source } = unsafe { *dimensions.wrapping_add(number) };
        *axis = Axis { size, target, source };
        targets += (size - 1) * target.unsigned_abs();
        sources += (size - 1) * source.unsigned_abs();
    }
    // SAFETY: [in-bounds] the caller vouches for both blocks.
    let target = unsafe { writable(target, to, targets) };
    // SAFETY: [in-bounds] the caller vouches for both blocks.
    let source = unsafe { readable(source, from, sources) };
    bulk::copy_strided(target, source, (0, 0), &axes[..count]);
}
