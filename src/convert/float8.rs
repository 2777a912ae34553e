//! The four 8-bit floats: their formats, and conversions from and to `f32`.

use super::Number;
use super::small_float::{Format, SmallFloat, small_float};

/// Rounds to the bits of an 8-bit float by rule 4. It has no branches, so that loops over it are vectorised. The arithmetic is in
/// single precision, and every step is exact except the one that rounds.
#[inline(always)]
fn encode(format: &Format, value: f32) -> u8 {
    let Format { mantissa, bias, overflow, nan, one_zero } = *format;
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 24) & 0x80, bits & 0x7fff_ffff);
    // From here on `bias` is the difference between the biases of the exponents, and `lost` is the number of mantissa bits that
    // are rounded off, to nearest with ties to even.
    let (bias, lost) = (127 - bias, 23 - mantissa);
    let odd = (magnitude >> lost) & 1;
    let normal = (magnitude.wrapping_sub(bias << 23).wrapping_add((1 << (lost - 1)) - 1 + odd) >> lost).min(overflow);
    // The last bit of `unit` is worth the same as the last bit of a subnormal element, so the addition rounds to it.
    let unit = f32::from_bits((bias + 1 + lost) << 23);
    let subnormal = (f32::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
    let rounded = if magnitude < (bias + 1) << 23 { subnormal } else { normal };
    let rounded = if magnitude > 0x7f80_0000 { nan } else { rounded };
    let unsigned = rounded == nan || (one_zero && rounded == 0);
    (if unsigned { rounded } else { rounded | sign }) as u8
}

/// The 8-bit float as an `f32`, by rule 5. It has no branches, like [`encode`].
#[inline(always)]
fn decode(format: &Format, bits: u8) -> f32 {
    let Format { mantissa, bias, overflow, nan, one_zero } = *format;
    let bits = u32::from(bits);
    let (sign, magnitude) = ((bits & 0x80) << 24, bits & 0x7f);
    let (bias, lost) = (127 - bias, 23 - mantissa);
    let unit = f32::from_bits((bias + 1 - mantissa) << 23);
    let subnormal = (magnitude as f32 * unit).to_bits();
    let normal = (magnitude << lost) + (bias << 23);
    let finite = if magnitude < 1 << mantissa { subnormal } else { normal };
    let number = sign | if magnitude == overflow { 0x7f80_0000 } else { finite };
    // NaN is above infinity or, in a format without infinity, where infinity would be.
    let above = if overflow == nan { magnitude >= nan } else { magnitude > overflow };
    f32::from_bits(if if one_zero { bits == nan } else { above } { super::NAN } else { number })
}

/// Whether the numbers with these bits are equal: NaN differs from itself, and 0 equals -0.
#[inline(always)]
fn equal(format: &Format, left: u8, right: u8) -> bool {
    let Format { overflow, nan, one_zero, .. } = *format;
    let (left, right) = (u32::from(left), u32::from(right));
    if one_zero {
        return left == right && left != nan;
    }
    let last = if overflow == nan { nan - 1 } else { overflow };
    let same = left == right || (left | right) & 0x7f == 0;
    same & (left & 0x7f <= last) & (right & 0x7f <= last)
}

macro_rules! float8 {
    ($($(#[$doc:meta])* $name:ident: $format:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            const FORMAT: Format = $format;

            /// The element with these bits.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits of the element.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }
        }

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                equal(&Self::FORMAT, self.0, other.0)
            }
        }

        impl Number for $name {
            const SMALL_FLOAT: Option<SmallFloat> = small_float!($name, Self::FORMAT);

            #[inline]
            fn from_f32(value: f32) -> Self {
                Self(encode(&Self::FORMAT, value))
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                Self::from_f32(value as f32)
            }
            #[inline]
            fn from_i64(value: i64) -> Self {
                Self::from_f32(value as f32)
            }
            #[inline]
            fn from_u64(value: u64) -> Self {
                Self::from_f32(value as f32)
            }
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(decode(&Self::FORMAT, self.0))
            }
            #[inline]
            fn convert<D: Number>(self) -> D {
                D::from_f32(decode(&Self::FORMAT, self.0))
            }
        }
    )*};
}

float8! {
    /// 4 exponent bits and 3 mantissa bits. It has no infinity, and NaN is `0x7f` and `0xff`. The largest number is 448.
    Float8E4m3fn: Format { mantissa: 3, bias: 7, overflow: 0x7f, nan: 0x7f, one_zero: false };
    /// 5 exponent bits and 2 mantissa bits. Infinities and NaNs are encoded as in IEEE 754. The largest number is 57344.
    Float8E5m2: Format { mantissa: 2, bias: 15, overflow: 0x7c, nan: 0x7f, one_zero: false };
    /// 4 exponent bits and 3 mantissa bits. It has no infinity and no -0, and one NaN, `0x80`. The largest number is 240.
    Float8E4m3fnuz: Format { mantissa: 3, bias: 8, overflow: 0x80, nan: 0x80, one_zero: true };
    /// 5 exponent bits and 2 mantissa bits. It has no infinity and no -0, and one NaN, `0x80`. The largest number is 57344.
    Float8E5m2fnuz: Format { mantissa: 2, bias: 16, overflow: 0x80, nan: 0x80, one_zero: true };
}
