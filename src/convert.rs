//! Number to element and element to element: the conversion rules, and the only home of a numeric `as`.
//!
//! The rules are Torch7's on x86-64, on every CPU (`design.md` section 6; the recorded table is `tests/data/conversions.tsv`):
//!
//! 1. integer to integer: keep the low bits;
//! 2. float to an integer of at most 32 bits: truncate toward zero to `i32`; what does not fit, and NaN, is `i32::MIN`; keep the
//!    low bits;
//! 3. float to `i64`: truncate; what does not fit, and NaN, is `i64::MIN`;
//! 4. anything to a float: to nearest, ties to even. To `f32`, `f64` and `bf16` at once; to `f16` and the floats of 8 bits through
//!    `f32`. What is too large becomes infinity, or NaN where there is no infinity;
//! 5. `f16`, `bf16` and the floats of 8 bits to anything: through `f32`; every NaN is `0x7fffffff` there;
//! 6. anything to [`Bool`]: whether it is not 0, which NaN is not; a `Bool` to anything: 0 or 1, whatever the byte;
//! 7. a number to a [`Complex`] one: its real part, the imaginary part being 0; a complex number to another: part by part; to
//!    anything else its real part, but to `Bool` whether one of its parts is not 0.
//!
//! Every NaN becomes one: `0x7fff` in `f16`, `0x7fc0` in `bf16`, `0x7f` in e4m3fn and e5m2, `0x80` in the fnuz formats.
//!
//! Torch7 has neither `bf16` nor what comes after it in rules 4 to 7. There the numbers are those of PyTorch 2.7, which goes through
//! `f32` to the floats of 8 bits as well, but for one: it also goes through `f32` from `f64` and 64-bit integers to `bf16`, and so
//! rounds twice. Rust's own `as` saturates: that is another rule.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "this file is where such casts are made, and says what each means"
)]

mod boolean;
mod complex;
mod float16;
mod float8;
mod raw_byte;
mod small_float;

pub use boolean::Bool;
pub use complex::Complex;
pub use float8::{Float8E4m3fn, Float8E4m3fnuz, Float8E5m2, Float8E5m2fnuz};
pub use raw_byte::RawByte;
pub use small_float::{Format, SmallFloat};

/// What NaNs of the small floats are in `f32`.
const NAN: u32 = 0x7fff_ffff;

/// A number as it comes from outside, or goes there: a Lua number, a 64-bit integer that a Lua number could not hold, or a
/// complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A Lua number.
    Float(f64),
    /// LuaJIT's `int64_t`.
    Signed(i64),
    /// LuaJIT's `uint64_t`.
    Unsigned(u64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
}

/// A type that converts from and to all others by the rules of this file.
///
/// ```
/// use torch_storage::convert::Number;
///
/// assert_eq!(300.7f64.convert::<u8>(), 44);
/// assert_eq!(f64::NAN.convert::<i32>(), i32::MIN);
/// assert_eq!((-1i64).convert::<u8>(), 255);
/// ```
pub trait Number: Copy + 'static {
    /// The format of a float of 8 or 16 bits; `None` for every other type.
    const SMALL_FLOAT: Option<SmallFloat> = None;
    /// From `f32`: rules 2 to 4.
    fn from_f32(value: f32) -> Self;
    /// From `f64`: rules 2 to 4.
    fn from_f64(value: f64) -> Self;
    /// From an integer: rules 1 and 4.
    fn from_i64(value: i64) -> Self;
    /// The same for an integer of 32 bits, where that is quicker.
    #[inline]
    #[must_use]
    fn from_i32(value: i32) -> Self {
        Self::from_i64(value.into())
    }
    /// From an unsigned integer: rules 1 and 4.
    fn from_u64(value: u64) -> Self;
    /// As a Lua number: exact but for `i64` beyond 2^53, which rounds to nearest even. Of a complex number the real part.
    fn to_f64(self) -> f64;
    /// Converts to `D` by the rules of this file.
    fn convert<D: Number>(self) -> D;

    /// From the parts of a complex number: rule 7.
    #[inline]
    #[must_use]
    fn from_parts<P: Number>(re: P, im: P) -> Self {
        let _ = im;
        re.convert()
    }

    /// As a number of the kind that holds it: a Lua number, or a complex one.
    #[inline]
    #[must_use]
    fn to_scalar(self) -> Scalar {
        Scalar::Float(self.to_f64())
    }

    /// From a number of any kind.
    #[must_use]
    fn from_scalar(value: Scalar) -> Self {
        match value {
            Scalar::Float(number) => Self::from_f64(number),
            Scalar::Signed(number) => Self::from_i64(number),
            Scalar::Unsigned(number) => Self::from_u64(number),
            Scalar::Complex(re, im) => Self::from_parts(re, im),
        }
    }
}

/// Rule 2. Both bounds are exact in `f64`; a comparison with NaN is false.
#[inline]
fn truncate_to_i32(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// The numbers whose integer part fits `i64`. Both bounds are exact.
const I64_RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;

/// Rule 3. `-2^63` itself is `i64::MIN` either way.
#[inline]
fn truncate_to_i64(value: f64) -> i64 {
    if I64_RANGE.contains(&value) { value as i64 } else { i64::MIN }
}

macro_rules! integer {
    ($($type:ty => $truncate:ident, $from:ident);*) => {$(
        impl Number for $type {
            #[inline]
            fn from_f32(value: f32) -> Self {
                $truncate(f64::from(value)) as Self
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                $truncate(value) as Self
            }
            #[inline]
            fn from_i64(value: i64) -> Self {
                value as Self
            }
            #[inline]
            fn from_u64(value: u64) -> Self {
                value as Self
            }
            #[inline]
            #[allow(clippy::cast_lossless, reason = "the macro is also for i64, where it is not")]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline]
            fn convert<D: Number>(self) -> D {
                D::$from(self.into())
            }
        }
    )*};
}

integer! {
    u8 => truncate_to_i32, from_i32;
    i8 => truncate_to_i32, from_i32;
    i16 => truncate_to_i32, from_i32;
    i32 => truncate_to_i32, from_i32;
    i64 => truncate_to_i64, from_i64
}

macro_rules! float {
    ($($type:ty => $from:ident);*) => {$(
        impl Number for $type {
            #[inline]
            fn from_f32(value: f32) -> Self {
                value.into()
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            #[inline]
            fn from_i64(value: i64) -> Self {
                value as Self
            }
            #[inline]
            fn from_u64(value: u64) -> Self {
                value as Self
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline]
            fn convert<D: Number>(self) -> D {
                D::$from(self)
            }
        }
    )*};
}

float! { f32 => from_f32; f64 => from_f64 }

/// A count (of elements or bytes) as a Lua number: exact up to 2^53, which no memory reaches.
#[must_use]
pub const fn count_to_f64(count: usize) -> f64 {
    count as f64
}

/// The integer part of a number, toward zero, where it is a whole number of 64 bits: `None` for NaN, the infinities and what
/// does not fit, and for complex numbers.
#[must_use]
pub fn truncate(value: Scalar) -> Option<i64> {
    match value {
        Scalar::Float(number) => I64_RANGE.contains(&number).then_some(number as i64),
        Scalar::Signed(number) => Some(number),
        Scalar::Unsigned(number) => i64::try_from(number).ok(),
        Scalar::Complex(..) => None,
    }
}

/// The 0-based place of the 1-based index `index` among `size` elements, `index` truncated toward zero; `None` out of range.
/// `bound` is `size` as [`count_to_f64`] gives it, read from the header.
#[inline]
#[must_use]
pub fn place_of_index(index: f64, bound: f64) -> Option<usize> {
    // `index < bound + 1.0` also for 3.999 of 3; a NaN fails both comparisons.
    (index >= 1.0 && index < bound + 1.0).then(|| index as usize - 1)
}

/// The value of a 64-bit integer given as two Lua numbers: its high 32 bits (signed) and its low 32 bits (from 0).
#[must_use]
pub const fn join_words(high: f64, low: f64) -> i64 {
    ((high as i64) << 32) | (low as i64)
}

#[cfg(test)]
mod small_floats_tests;

#[cfg(test)]
mod tests {
    use half::f16;

    use super::{Number, Scalar, join_words, place_of_index, truncate};

    #[test]
    fn floats_that_do_not_fit_become_the_lowest_integer_and_keep_its_low_bits() {
        assert_eq!(u8::from_f64(300.0), 44);
        assert_eq!(u8::from_f64(-1.0), 255);
        assert_eq!(u8::from_f64(3e9), 0);
        assert_eq!(u8::from_f64(2_147_483_647.5), 255);
        assert_eq!(i32::from_f64(-2_147_483_648.9), i32::MIN);
        assert_eq!(i32::from_f64(f64::NAN), i32::MIN);
        assert_eq!(i64::from_f64(9.3e18), i64::MIN);
        assert_eq!(i64::from_f64(-9_223_372_036_854_775_808.0), i64::MIN);
        assert_eq!(i64::from_f32(f32::INFINITY), i64::MIN);
    }

    #[test]
    fn halves_round_through_float() {
        // Directly it would be 1.0009765625: Torch7 rounds twice.
        let half = <f16 as Number>::from_f64;
        assert_eq!(half(1.0 + 2.0f64.powi(-11) + 2.0f64.powi(-30)).to_bits(), 0x3c00);
        assert_eq!(half(65_520.0), f16::INFINITY);
        assert_eq!(half(-f64::NAN).to_bits(), 0x7fff);
        assert_eq!(f16::from_bits(0xfe01).convert::<f32>().to_bits(), 0x7fff_ffff);
    }

    #[test]
    fn sixty_four_bit_integers_are_exact_and_round_once() {
        assert_eq!(i64::from_scalar(Scalar::Signed((1 << 53) + 1)), (1 << 53) + 1);
        assert_eq!(u8::from_scalar(Scalar::Signed(300)), 44);
        assert_eq!(f32::from_scalar(Scalar::Unsigned(u64::MAX)), 18_446_744_073_709_551_616.0);
        // Through f64 this would round up twice.
        assert_eq!(f32::from_scalar(Scalar::Signed((1 << 54) + (1 << 30) + 1)), 18_014_400_656_965_632.0);
        assert_eq!(join_words(-1.0, 4_294_967_295.0), -1);
        assert_eq!(join_words(-2_147_483_648.0, 0.0), i64::MIN);
    }

    #[test]
    fn an_index_is_truncated_and_starts_at_one() {
        assert_eq!(place_of_index(1.0, 3.0), Some(0));
        assert_eq!(place_of_index(3.999, 3.0), Some(2));
        for wrong in [0.999, 4.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(place_of_index(wrong, 3.0), None, "{wrong}");
        }
        assert_eq!(place_of_index(1.0, 0.0), None);
        // A dead header's bound is -1.
        assert_eq!(place_of_index(0.5, -1.0), None);
    }

    #[test]
    fn what_is_no_integer_does_not_truncate() {
        assert_eq!(truncate(Scalar::Float(-0.9)), Some(0));
        assert_eq!(truncate(Scalar::Float(f64::NAN)), None);
        assert_eq!(truncate(Scalar::Float(9_223_372_036_854_775_808.0)), None);
        assert_eq!(truncate(Scalar::Unsigned(u64::MAX)), None);
    }
}
