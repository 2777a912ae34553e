//! The four floats of 8 bits: their formats, and the way from and to `f32`.

use super::Number;
use super::small_float::{Format, SmallFloat, small_float};

/// Rule 4. Without branches, so that a loop over it is vectorised, and for single precision, in which every step is exact but the
/// one that rounds.
#[inline(always)]
fn encode(format: &Format, value: f32) -> u8 {
    let Format { mantissa, bias, overflow, nan, one_zero } = *format;
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 24) & 0x80, bits & 0x7fff_ffff);
    // The exponent's bias is less by some; some bits go, to nearest, ties to even.
    let (bias, lost) = (127 - bias, 23 - mantissa);
    let odd = (magnitude >> lost) & 1;
    let normal = (magnitude.wrapping_sub(bias << 23).wrapping_add((1 << (lost - 1)) - 1 + odd) >> lost).min(overflow);
    // The last bit of this number is worth as much as that of a subnormal element: the addition rounds.
    let unit = f32::from_bits((bias + 1 + lost) << 23);
    let subnormal = (f32::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
    let rounded = if magnitude < (bias + 1) << 23 { subnormal } else { normal };
    let rounded = if magnitude > 0x7f80_0000 { nan } else { rounded };
    let unsigned = rounded == nan || (one_zero && rounded == 0);
    (if unsigned { rounded } else { rounded | sign }) as u8
}

/// Rule 5. Without branches, as [`encode`].
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
    // Above infinity, or where infinity would be.
    let above = if overflow == nan { magnitude >= nan } else { magnitude > overflow };
    f32::from_bits(if if one_zero { bits == nan } else { above } { super::NAN } else { number })
}

/// `==` of the numbers, for bits.
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
    /// 4 bits of exponent, 3 of mantissa; no infinity, one magnitude of not-a-number. Up to 448.
    Float8E4m3fn: Format { mantissa: 3, bias: 7, overflow: 0x7f, nan: 0x7f, one_zero: false };
    /// 5 bits of exponent, 2 of mantissa; infinities and not-a-numbers as in larger floats. Up to 57344.
    Float8E5m2: Format { mantissa: 2, bias: 15, overflow: 0x7c, nan: 0x7f, one_zero: false };
    /// 4 bits of exponent, 3 of mantissa; no infinity, one zero, one not-a-number. Up to 240.
    Float8E4m3fnuz: Format { mantissa: 3, bias: 8, overflow: 0x80, nan: 0x80, one_zero: true };
    /// 5 bits of exponent, 2 of mantissa; no infinity, one zero, one not-a-number. Up to 57344.
    Float8E5m2fnuz: Format { mantissa: 2, bias: 16, overflow: 0x80, nan: 0x80, one_zero: true };
}
