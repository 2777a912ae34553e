//! Conversions from numbers to elements and between elements of different types. Numeric `as` casts are confined to these files.
//!
//! The same rules hold on every CPU, in every Lua and on every path.
//!
//! 1. Integer to integer: the low bits are kept.
//! 2. A finite number to an integer: truncated toward zero, then the low bits are kept. So the result is the whole number modulo 2
//!    to the power of the integer's width in bits.
//! 3. NaN and the infinities to an integer: 0.
//! 4. Anything to a float: rounded to nearest, ties to even. `f32`, `f64` and `bf16` are rounded once; numbers become `f16` and
//!    8-bit floats through `f32`. A number that is too large becomes infinity, or NaN in a format without infinity.
//! 5. `f16`, `bf16` and 8-bit floats to anything: through `f32`, in which every NaN is `0x7fffffff`.
//! 6. Anything to [`Bool`]: true unless the number is 0, so NaN is true. A `Bool` to anything: 0 or 1, whatever its byte is.
//! 7. A real number to a [`Complex`] number: the imaginary part becomes 0. Complex to complex: part by part. A complex number to
//!    anything else: the real part is converted, except that a `Bool` is true if either part is not 0.
//!
//! Every NaN becomes the same one: `0x7fff` in `f16`, `0x7fc0` in `bf16`, `0x7f` in e4m3fn and e5m2, `0x80` in the fnuz formats.
//!
//! Where C defines the result, these are Torch7's results, which `tests/data/conversions.tsv` records. C does not define what
//! becomes of a float that does not fit in the integer, and there Torch7 gives what the processor happens to give.
//!
//! Torch7 has no unsigned integers of 16, 32 and 64 bits, `bf16`, 8-bit floats, `Bool` or complex numbers. For these the results
//! are those of PyTorch 2.7, with one exception: PyTorch rounds `f64` and 64-bit integers twice on the way to `bf16`, because it
//! goes through `f32`. Rust's own `as` follows another rule than rules 2 and 3: it saturates.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "these casts are the conversions that this module defines"
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

/// The bits that every NaN of a small float has as an `f32`.
const NAN: u32 = 0x7fff_ffff;

/// A number that the engine takes from its caller or gives back: a Lua number, a 64-bit integer that a Lua number may not hold
/// exactly, or a complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A Lua number.
    Float(f64),
    /// LuaJIT's `int64_t`.
    Signed(i64),
    /// LuaJIT's `uint64_t`.
    Unsigned(u64),
    /// A complex number: the real and the imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// The real and the imaginary part, as doubles. The imaginary part of a number that is not complex is 0.
    #[cfg(feature = "answers")]
    pub(crate) fn parts(self) -> (f64, f64) {
        match self {
            Self::Complex(re, im) => (re, im),
            number => (f64::from_scalar(number), 0.0),
        }
    }
}

/// A type of elements, which converts from and to all others by the rules of this file.
///
/// ```
/// use torch_storage::convert::Number;
///
/// assert_eq!(300.7f64.convert::<u8>(), 44);
/// assert_eq!(3_735_928_559.0f64.convert::<i32>(), -559_038_737); // 0xDEADBEEF
/// assert_eq!(f64::NAN.convert::<i32>(), 0);
/// assert_eq!((-1i64).convert::<u8>(), 255);
/// ```
pub trait Number: Copy + 'static {
    /// The format of a float of 8 or 16 bits; `None` for every other type.
    const SMALL_FLOAT: Option<SmallFloat> = None;
    /// Converts an `f32` by rules 2 to 4.
    fn from_f32(value: f32) -> Self;
    /// Converts an `f64` by rules 2 to 4.
    fn from_f64(value: f64) -> Self;
    /// Converts an integer by rules 1 and 4.
    fn from_i64(value: i64) -> Self;
    /// Converts a 32-bit integer like `from_i64`. Types for which there is a faster way override it.
    #[inline]
    #[must_use]
    fn from_i32(value: i32) -> Self {
        Self::from_i64(value.into())
    }
    /// Converts an unsigned integer by rules 1 and 4.
    fn from_u64(value: u64) -> Self;
    /// The element as a Lua number; of a complex number, the real part. This is exact except for integers beyond
    /// 2^53, which are rounded to nearest even.
    fn to_f64(self) -> f64;
    /// Converts the element to `D` by the rules of this file.
    fn convert<D: Number>(self) -> D;

    /// Converts a complex number, given as its parts, by rule 7.
    #[inline]
    #[must_use]
    fn from_parts<P: Number>(re: P, im: P) -> Self {
        let _ = im;
        re.convert()
    }

    /// The element as a number of a kind that holds it exactly.
    #[inline]
    #[must_use]
    fn to_scalar(self) -> Scalar {
        Scalar::Float(self.to_f64())
    }

    /// Converts a number of any kind.
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

/// The numbers whose integer part fits in an `i64`. Both bounds are exact in `f64`.
const I64_RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;

/// The low 64 bits of a number that is truncated toward zero, by rules 2 and 3.
#[inline]
fn truncate_to_low_bits(value: f64) -> i64 {
    if I64_RANGE.contains(&value) { value as i64 } else { low_bits_of_large(value) }
}

/// Does the work of [`truncate_to_low_bits`] for a number outside [`I64_RANGE`]. Such a number is a multiple of 2^11.
#[cold]
fn low_bits_of_large(value: f64) -> i64 {
    let bits = value.to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = (bits >> 52) & 0x7ff;
    // The magnitude is the mantissa times 2^(exponent - 1075). If it is shifted by 64 bits or more, no low bit is left. This
    // includes NaN and the infinities, which have the largest exponent.
    let magnitude = mantissa.checked_shl((exponent as u32).wrapping_sub(1075)).unwrap_or(0) as i64;
    if value.is_sign_negative() { magnitude.wrapping_neg() } else { magnitude }
}

macro_rules! integer {
    ($($type:ty => $from:ident);*) => {$(
        impl Number for $type {
            #[inline]
            fn from_f32(value: f32) -> Self {
                truncate_to_low_bits(f64::from(value)) as Self
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                truncate_to_low_bits(value) as Self
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
            #[allow(clippy::cast_lossless, reason = "the cast is not lossless for integers of 64 bits")]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline]
            fn convert<D: Number>(self) -> D {
                D::$from(self.into())
            }
            #[inline]
            #[allow(clippy::cast_lossless, reason = "the casts are not lossless for integers of 64 bits")]
            fn to_scalar(self) -> Scalar {
                if <$type>::MIN == 0 { Scalar::Unsigned(self as u64) } else { Scalar::Signed(self as i64) }
            }
        }
    )*};
}

integer! {
    u8 => from_i32;
    i8 => from_i32;
    i16 => from_i32;
    i32 => from_i32;
    i64 => from_i64;
    u16 => from_i32;
    u32 => from_i64;
    u64 => from_u64
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

/// A count of elements or bytes as a Lua number. This is exact up to 2^53, and no memory is that large.
#[must_use]
pub const fn count_to_f64(count: usize) -> f64 {
    // A processor has one instruction for signed numbers, and several are necessary for unsigned ones.
    count.cast_signed() as f64
}

/// The number truncated toward zero. `None` for NaN, infinities, numbers that do not fit in an `i64`, and complex numbers.
#[must_use]
pub fn truncate(value: Scalar) -> Option<i64> {
    match value {
        Scalar::Float(number) => I64_RANGE.contains(&number).then_some(number as i64),
        Scalar::Signed(number) => Some(number),
        Scalar::Unsigned(number) => i64::try_from(number).ok(),
        Scalar::Complex(..) => None,
    }
}

/// The 0-based index for the 1-based index `index`, which is truncated toward zero; `None` if it is out of range.
/// `bound` is the number of elements as [`count_to_f64`] gives it, or a negative number in the header of a freed storage.
#[inline]
#[must_use]
pub fn zero_based_index(index: f64, bound: f64) -> Option<usize> {
    // The upper bound allows 3.999 as the last index of 3 elements, because it truncates to 3. NaN fails both comparisons.
    (index >= 1.0 && index < bound + 1.0).then(|| index as usize - 1)
}

/// The 0-based index for the 1-based index `index`; `None` if it is out of range. `bound` is that of [`zero_based_index`].
#[inline]
#[must_use]
pub fn zero_based_integer(index: i64, bound: f64) -> Option<usize> {
    // Rounding an index beyond 2^53 does not make it an index, because no memory has that many elements.
    (index >= 1 && index as f64 <= bound).then(|| (index - 1) as usize)
}

/// The number as an integer, if it is whole, between -2^53 and 2^53, and not -0.
#[must_use]
pub fn whole(number: f64) -> Option<i64> {
    let integer = number as i64;
    let is_same = (integer as f64).to_bits() == number.to_bits();
    (is_same && is_exact(integer)).then_some(integer)
}

/// Whether a number is so large that it may be an integer that was rounded.
#[inline]
#[must_use]
pub fn is_beyond_exact(number: f64) -> bool {
    number.abs() >= EXACT as f64
}

/// Whether a double holds this integer and all that are smaller.
#[inline]
#[must_use]
pub fn is_exact(integer: i64) -> bool {
    integer.unsigned_abs() <= EXACT
}

/// The double with exactly the value of an integer, if there is one.
#[must_use]
pub fn exact_double(integer: i64) -> Option<f64> {
    let number = integer as f64;
    // From 2^63 on, converting back saturates.
    (I64_RANGE.contains(&number) && number as i64 == integer).then_some(number)
}

/// A double holds all integers up to this one.
const EXACT: u64 = 1 << 53;

/// Joins a 64-bit integer that is given as two Lua numbers: its high 32 bits, signed, and its low 32 bits, unsigned.
#[must_use]
pub const fn join_words(high: f64, low: f64) -> i64 {
    ((high as i64) << 32) | (low as i64)
}

/// Splits a 64-bit integer into two Lua numbers, which [`join_words`] joins.
#[must_use]
pub const fn split_words(bits: i64) -> (f64, f64) {
    ((bits >> 32) as f64, (bits & 0xffff_ffff) as f64)
}

#[cfg(test)]
mod small_floats_tests;

#[cfg(test)]
mod tests {
    use half::f16;

    use super::{Number, Scalar, join_words, split_words, truncate, zero_based_index};

    #[test]
    fn numbers_that_do_not_fit_keep_their_low_bits() {
        assert_eq!(u8::from_f64(300.7), 44);
        assert_eq!(u8::from_f64(-1.9), 255);
        assert_eq!(u8::from_f64(4_294_967_295.0), 255);
        assert_eq!(i32::from_f64(3_735_928_559.0), -559_038_737);
        assert_eq!(i32::from_f64(-2_147_483_648.9), i32::MIN);
        assert_eq!(i32::from_f64(-2_147_483_649.0), i32::MAX);
        assert_eq!(i32::from_f64(9_007_207_844_675_588.0), 4); // 2^53 + 2^33 + 4
        assert_eq!(i64::from_f64(-9_223_372_036_854_775_808.0), i64::MIN);
        assert_eq!(i64::from_f64(9_223_372_036_854_775_808.0), i64::MIN);
        assert_eq!(i64::from_f64(9_223_372_036_854_777_856.0), i64::MIN + 2048);
        assert_eq!(i64::from_f64(-9_223_372_036_854_777_856.0), i64::MAX - 2047);
        assert_eq!(u64::from_f64(18_446_744_073_709_549_568.0), u64::MAX - 2047);
        assert_eq!(u64::from_f64(-1.0), u64::MAX);
        assert_eq!(u64::from_f64(2f64.powi(64)), 0);
        assert_eq!(u64::from_f64(-1.5 * 2f64.powi(63)), 1 << 62);
        // The largest power of two that has a mantissa bit below 2^64, and the one above.
        assert_eq!(u64::from_f64(2f64.powi(115) + 2f64.powi(63)), 1 << 63);
        assert_eq!(u64::from_f64(2f64.powi(116) + 2f64.powi(64)), 0);
        assert_eq!(i64::from_f32(3.0 * 2f32.powi(62)), -(1 << 62));
        for none in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, -0.0, 5e-324] {
            assert_eq!((u8::from_f64(none), i32::from_f64(none), i64::from_f64(none)), (0, 0, 0), "{none}");
        }
    }

    #[test]
    fn halves_round_through_float() {
        // Rounded once, this would be 1.0009765625. Torch7 rounds twice, first to float.
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
        // Through f64 this would be rounded twice and become the next larger float.
        assert_eq!(f32::from_scalar(Scalar::Signed((1 << 54) + (1 << 30) + 1)), 18_014_400_656_965_632.0);
        assert_eq!(join_words(-1.0, 4_294_967_295.0), -1);
        assert_eq!(join_words(-2_147_483_648.0, 0.0), i64::MIN);
        assert_eq!(split_words(-1), (-1.0, 4_294_967_295.0));
        assert_eq!(split_words(i64::MIN), (-2_147_483_648.0, 0.0));
    }

    #[test]
    fn an_index_is_truncated_and_starts_at_one() {
        assert_eq!(zero_based_index(1.0, 3.0), Some(0));
        assert_eq!(zero_based_index(3.999, 3.0), Some(2));
        for wrong in [0.999, 4.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(zero_based_index(wrong, 3.0), None, "{wrong}");
        }
        assert_eq!(zero_based_index(1.0, 0.0), None);
        // The bound in the header of a freed storage is -1.
        assert_eq!(zero_based_index(0.5, -1.0), None);
    }

    #[test]
    fn numbers_that_do_not_fit_in_an_i64_are_not_truncated() {
        assert_eq!(truncate(Scalar::Float(-0.9)), Some(0));
        assert_eq!(truncate(Scalar::Float(f64::NAN)), None);
        assert_eq!(truncate(Scalar::Float(9_223_372_036_854_775_808.0)), None);
        assert_eq!(truncate(Scalar::Unsigned(u64::MAX)), None);
    }
}
