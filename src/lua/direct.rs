//! Functions that LuaJIT's FFI calls without Lua's C API. From compiled code these are plain C calls.
//!
//! The accessors in Lua check the types before they call these functions. Nothing here raises or calls back into Lua, so no Lua code
//! runs between a check and the access that relies on it.

use std::ptr;
use std::sync::OnceLock;

use super::steps::STEP;
use super::userdata::{self, Payload};
use crate::convert::{Scalar, SmallFloat, count_to_f64};
use crate::element::DType;
use crate::fallible::{self, NoMemory};

/// Name, C type and address of a function.
pub type Function = (&'static str, &'static str, f64);

/// The functions in `core.direct` that are for all elements of a storage, or for the accessors.
pub fn functions() -> [Function; 4] {
    [
        ("fill", "int (*)(const void *, double)", address(fill as *const ())),
        ("copy", "int (*)(const void *, const void *)", address(copy as *const ())),
        ("fence", "void (*)(void)", address(fence as *const ())),
        ("numbers", "const double *(*)(int)", address(numbers as *const ())),
    ]
}

/// The address of a function `uint16_t (*)(double)`, which gives the bits of the element that a number becomes. Only small floats
/// have one.
pub fn bits(dtype: DType) -> Option<f64> {
    dtype.small_float().map(|float| address(half_by_instruction(dtype).unwrap_or(float.bits as *const ())))
}

pub fn address(function: *const ()) -> f64 {
    count_to_f64(function.expose_provenance())
}

/// Fills a storage and returns 1. Returns 0 if it filled nothing, because the storage is too large for one step or there is an error.
/// The caller then calls the C function, which works in steps or raises the error.
///
/// # Safety
/// `[layout]`: the accessors have checked the magic word, so `payload` is that of a storage. `[live]`: its userdata stays alive during
/// the call.
unsafe extern "C" fn fill(payload: *const Payload, value: f64) -> i32 {
    // SAFETY: [layout] [live] the accessors have checked the userdata, and hold it.
    let payload = unsafe { &*payload };
    match userdata::storage(payload) {
        // Large storages are filled in steps, which the host can interrupt.
        Some(target) if target.nbytes() <= STEP => i32::from(target.fill(Scalar::Float(value)).is_ok()),
        _ => 0,
    }
}

/// Copies one storage into another. Returns 1 or 0 for the same reasons as [`fill`].
///
/// # Safety
/// `[layout]` and `[live]`: both payloads, as for [`fill`].
unsafe extern "C" fn copy(target: *const Payload, source: *const Payload) -> i32 {
    // SAFETY: [layout] [live] the accessors have checked the userdata, and hold it.
    let target = unsafe { &*target };
    // SAFETY: [layout] [live] the accessors have checked the userdata, and hold it.
    let source = unsafe { &*source };
    match (userdata::storage(target), userdata::storage(source)) {
        (Some(target), Some(source)) if target.nbytes().max(source.nbytes()) <= STEP => {
            i32::from(target.copy_from(&source).is_ok())
        }
        _ => 0,
    }
}

/// Does nothing. LuaJIT reads memory again after any C call, so this is a compiler barrier for compiled code.
extern "C" fn fence() {}

/// A table from which compiled code makes numbers out of the bits of a small float. It is made by [`steps`] for bfloat16, and by
/// [`every_number`] for the other small floats. It is null for every other class, and if there is no memory. The table is never freed.
/// `class` is the number of the class, from 0.
extern "C" fn numbers(class: i32) -> *const f64 {
    static TABLES: [OnceLock<Vec<f64>>; DType::ALL.len()] = [const { OnceLock::new() }; DType::ALL.len()];
    let class = usize::try_from(class).unwrap_or(usize::MAX);
    let dtype = DType::ALL.get(class).copied();
    let (Some(table), Some(float)) = (TABLES.get(class), dtype.and_then(DType::small_float)) else { return ptr::null() };
    if table.get().is_none() {
        let made = if dtype == Some(DType::BFloat16) { steps(float) } else { every_number(float, dtype.map_or(0, DType::width)) };
        let Ok(made) = made else { return ptr::null() };
        // Another thread may have made the same table by now.
        let _ = table.set(made);
    }
    table.get().map_or(ptr::null(), |made| made.as_ptr())
}

/// The number for each pattern of bits.
fn every_number(float: SmallFloat, width: usize) -> Result<Vec<f64>, NoMemory> {
    let mut all = Vec::new();
    fallible::reserve(&mut all, 1 << (8 * width))?;
    all.resize(1 << (8 * width), 0.0);
    (float.numbers)(0, &mut all);
    Ok(all)
}

/// Two values for each sign and exponent of a 16-bit float: the distance between neighbouring numbers, and the first number. For the
/// exponent of infinity and NaN the distance is 0.
fn steps(float: SmallFloat) -> Result<Vec<f64>, NoMemory> {
    let mantissa = float.format.mantissa;
    let of_exponent = |exponent: u16| {
        let mut two = [0.0; 2];
        (float.numbers)(exponent << mantissa, &mut two);
        let step = two[1] - two[0];
        [if step.is_finite() { step } else { 0.0 }, two[0]]
    };
    fallible::collected((0..=u16::MAX >> mantissa).flat_map(of_exponent).map(Ok))
}

/// The function that converts a number to a half with an instruction of the processor. `None` if the processor has no such instruction,
/// or if `dtype` is not `Half`.
#[cfg(not(target_arch = "x86_64"))]
fn half_by_instruction(_: DType) -> Option<*const ()> {
    None
}

/// The function that converts a number to a half with an instruction of the processor. `None` if the processor has no such instruction,
/// or if `dtype` is not `Half`.
#[cfg(target_arch = "x86_64")]
fn half_by_instruction(dtype: DType) -> Option<*const ()> {
    (dtype == DType::Half && std::arch::is_x86_feature_detected!("f16c")).then_some(half_f16c as *const ())
}

/// The bits of the half that a number becomes, converted with an instruction of the processor. The instruction rounds as `convert.rs`
/// says, but gives other bits for NaN. So NaN does not reach it.
///
/// # Safety
/// `[cpu]`: the processor has F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "f16c")]
unsafe extern "C" fn half_f16c(value: f64) -> u16 {
    use crate::convert::Number;
    use std::arch::x86_64::{_MM_FROUND_TO_NEAREST_INT, _mm_cvtps_ph, _mm_extract_epi16, _mm_set_ss};

    if value.is_nan() {
        return 0x7fff;
    }
    let single = _mm_set_ss(<f32 as Number>::from_f64(value));
    let bits = _mm_extract_epi16::<0>(_mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(single));
    <u16 as TryFrom<i32>>::try_from(bits).unwrap_or(0)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use half::f16;

    use super::half_f16c;
    use crate::convert::Number;

    #[test]
    fn both_conversions_give_the_same_bits() {
        if !std::arch::is_x86_feature_detected!("f16c") {
            return;
        }
        // Each pattern of the upper 16 bits of an `f32`, with lower bits that make a tie, nearly a tie, or neither.
        for upper in 0..=u16::MAX {
            for lower in [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0xffff] {
                let value = f64::from(f32::from_bits(u32::from(upper) << 16 | lower));
                for value in [value, value * (1.0 + f64::EPSILON), value * 0.999_999_99] {
                    // SAFETY: [cpu] the processor has F16C, or the test ends before.
                    assert_eq!(unsafe { half_f16c(value) }, <f16 as Number>::from_f64(value).to_bits(), "{value:e}");
                }
            }
        }
    }
}
