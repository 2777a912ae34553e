//! What LuaJIT's FFI calls directly, without Lua's C API: from compiled code these are plain C calls.
//!
//! The Lua side has checked the types. Nothing here raises, and nothing calls back into Lua: between the checks here and the
//! access nothing else can happen.

use std::sync::LazyLock;

use half::f16;

use super::steps::STEP;
use super::userdata::{self, Payload};
use crate::convert::{Number, Scalar, count_to_f64};

/// Name, C type and address of each function, for `core.direct`.
pub fn functions() -> [(&'static str, &'static str, f64); 4] {
    let address = |function: *const ()| count_to_f64(function.expose_provenance());
    [
        ("fill", "int (*)(const void *, double)", address(fill as *const ())),
        ("copy", "int (*)(const void *, const void *)", address(copy as *const ())),
        ("half", "uint16_t (*)(double)", address(half_function())),
        ("halves", "const double *(*)(void)", address(halves as *const ())),
    ]
}

/// Fills a storage; 0 if it was freed or can only be read: that is for the C function to say.
///
/// # Safety
/// `payload` is that of a storage's userdata, which stays meanwhile; no other thread changes the storage.
unsafe extern "C" fn fill(payload: *const Payload, value: f64) -> i32 {
    // SAFETY: as the caller says.
    let payload = unsafe { &*payload };
    match userdata::storage(payload) {
        // What takes long is done in steps, in C.
        Some(target) if target.nbytes() <= STEP => i32::from(target.fill(Scalar::Float(value)).is_ok()),
        _ => 0,
    }
}

/// Copies a storage into another; 0 if the C function has something to say about it.
///
/// # Safety
/// As [`fill`], for both.
unsafe extern "C" fn copy(target: *const Payload, source: *const Payload) -> i32 {
    // SAFETY: as the caller says.
    let target = unsafe { &*target };
    // SAFETY: as the caller says.
    let source = unsafe { &*source };
    match (userdata::storage(target), userdata::storage(source)) {
        // Between bytes without a type and another class, the bytes: in C.
        (Some(target), Some(source)) if target.dtype().is_untyped() != source.dtype().is_untyped() => 0,
        (Some(target), Some(source)) if target.nbytes().max(source.nbytes()) <= STEP => {
            i32::from(target.copy_from(&source).is_ok())
        }
        _ => 0,
    }
}

/// The bits of the half that a number becomes.
extern "C" fn half(value: f64) -> u16 {
    <f16 as Number>::from_f64(value).to_bits()
}

/// Every half as a number, by its bits. Not-a-numbers have the bits that arithmetic can do nothing bad with.
extern "C" fn halves() -> *const f64 {
    static HALVES: LazyLock<Box<[f64]>> = LazyLock::new(|| {
        let number = |bits| f16::from_bits(bits).to_f64();
        (0..=u16::MAX).map(number).map(|number| if number.is_nan() { f64::NAN } else { number }).collect()
    });
    HALVES.as_ptr()
}

#[cfg(not(target_arch = "x86_64"))]
fn half_function() -> *const () {
    half as *const ()
}

/// The conversion that this CPU does best, chosen once.
#[cfg(target_arch = "x86_64")]
fn half_function() -> *const () {
    if std::arch::is_x86_feature_detected!("f16c") { half_f16c as *const () } else { half as *const () }
}

/// [`half()`] by the CPU's own instruction, which rounds as `convert.rs` says but for NaN.
///
/// # Safety
/// The CPU has F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "f16c")]
unsafe extern "C" fn half_f16c(value: f64) -> u16 {
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
    use super::{half, half_f16c};

    #[test]
    fn both_conversions_give_the_same_bits() {
        if !std::arch::is_x86_feature_detected!("f16c") {
            return;
        }
        // Every float's upper bits, with lower bits that tie, nearly tie and do not.
        for upper in 0..=u16::MAX {
            for lower in [0u32, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0xffff] {
                let value = f64::from(f32::from_bits(u32::from(upper) << 16 | lower));
                for value in [value, value * (1.0 + f64::EPSILON), value * 0.999_999_99] {
                    // SAFETY: the CPU has F16C.
                    assert_eq!(unsafe { half_f16c(value) }, half(value), "{value:e}");
                }
            }
        }
    }
}
