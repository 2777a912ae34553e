//! What LuaJIT's FFI calls directly, without Lua's C API: from compiled code these are plain C calls.
//!
//! The Lua side has checked the types. Nothing here raises, and nothing calls back into Lua: between the checks here and the
//! access nothing else can happen.

use std::sync::LazyLock;

use half::{bf16, f16};

use super::steps::STEP;
use super::userdata::{self, Payload};
use crate::convert::{Float8E4m3fn, Float8E4m3fnuz, Float8E5m2, Float8E5m2fnuz, Number, Scalar, count_to_f64};

/// Name, C type and address of a function.
type Function = (&'static str, &'static str, f64);

/// Every function, for `core.direct`. Of the small floats: the bits that a number becomes, and all numbers by their bits.
pub fn functions() -> Vec<Function> {
    let bits16 = "uint16_t (*)(double)";
    let bits8 = "uint8_t (*)(double)";
    let numbers = "const double *(*)(void)";
    vec![
        ("fill", "int (*)(const void *, double)", address(fill as *const ())),
        ("copy", "int (*)(const void *, const void *)", address(copy as *const ())),
        ("fence", "void (*)(void)", address(fence as *const ())),
        ("bits of Half", bits16, address(half_function())),
        ("numbers of Half", numbers, address(halves as *const ())),
        ("bits of BFloat16", bits16, address(bfloat16 as *const ())),
        ("numbers of BFloat16", numbers, address(bfloat16_steps as *const ())),
        ("bits of Float8_e4m3fn", bits8, address(e4m3fn as *const ())),
        ("numbers of Float8_e4m3fn", numbers, address(e4m3fn_numbers as *const ())),
        ("bits of Float8_e5m2", bits8, address(e5m2 as *const ())),
        ("numbers of Float8_e5m2", numbers, address(e5m2_numbers as *const ())),
        ("bits of Float8_e4m3fnuz", bits8, address(e4m3fnuz as *const ())),
        ("numbers of Float8_e4m3fnuz", numbers, address(e4m3fnuz_numbers as *const ())),
        ("bits of Float8_e5m2fnuz", bits8, address(e5m2fnuz as *const ())),
        ("numbers of Float8_e5m2fnuz", numbers, address(e5m2fnuz_numbers as *const ())),
    ]
}

fn address(function: *const ()) -> f64 {
    count_to_f64(function.expose_provenance())
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
        (Some(target), Some(source)) if target.nbytes().max(source.nbytes()) <= STEP => {
            i32::from(target.copy_from(&source).is_ok())
        }
        _ => 0,
    }
}

/// Does nothing: what compiled code has read before a call of C it reads anew afterwards.
extern "C" fn fence() {}

/// The bits of the half that a number becomes.
extern "C" fn half(value: f64) -> u16 {
    <f16 as Number>::from_f64(value).to_bits()
}

/// The bits of the bfloat16 that a number becomes.
extern "C" fn bfloat16(value: f64) -> u16 {
    <bf16 as Number>::from_f64(value).to_bits()
}

/// Every element as a number, by its bits. Not-a-numbers have the bits that arithmetic can do nothing bad with.
fn numbers<B, T: Number>(all: impl Iterator<Item = B>, element: impl Fn(B) -> T) -> Box<[f64]> {
    all.map(|bits| element(bits).to_f64()).map(|number| if number.is_nan() { f64::NAN } else { number }).collect()
}

/// Of every sign and exponent of bfloat16 the step to the next number, and the first number. Infinities stand alone.
extern "C" fn bfloat16_steps() -> *const f64 {
    static STEPS: LazyLock<Box<[[f64; 2]]>> = LazyLock::new(|| {
        let number = |bits| bf16::from_bits(bits).to_f64();
        let steps = |first: u16| {
            let step = number(first + 1) - number(first);
            [if step.is_finite() { step } else { 0.0 }, number(first)]
        };
        (0..512).map(|place| steps(place << 7)).collect()
    });
    STEPS.as_ptr().cast()
}

/// Every half as a number.
extern "C" fn halves() -> *const f64 {
    static HALVES: LazyLock<Box<[f64]>> = LazyLock::new(|| numbers(0..=u16::MAX, f16::from_bits));
    HALVES.as_ptr()
}

macro_rules! float8 {
    ($($type:ident: $bits:ident, $numbers:ident;)*) => {$(
        /// The bits that a number becomes.
        extern "C" fn $bits(value: f64) -> u8 {
            $type::from_f64(value).to_bits()
        }

        /// Every element as a number.
        extern "C" fn $numbers() -> *const f64 {
            static NUMBERS: LazyLock<Box<[f64]>> = LazyLock::new(|| numbers(0..=u8::MAX, $type::from_bits));
            NUMBERS.as_ptr()
        }
    )*};
}

float8! {
    Float8E4m3fn: e4m3fn, e4m3fn_numbers;
    Float8E5m2: e5m2, e5m2_numbers;
    Float8E4m3fnuz: e4m3fnuz, e4m3fnuz_numbers;
    Float8E5m2fnuz: e5m2fnuz, e5m2fnuz_numbers;
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
