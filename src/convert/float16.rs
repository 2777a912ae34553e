//! Conversions of the two 16-bit floats: `f16` (half precision) and `bf16` (bfloat16).

use half::{bf16, f16};

use super::small_float::{Format, SmallFloat, small_float};
use super::{NAN, Number};

/// Rounds to a half by rule 4. It has no branches, so that loops over it are vectorised. (`f16::from_f32` checks the features of
/// the processor at every call.)
#[inline]
fn half_from_f32(value: f32) -> f16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
    // The bias of the exponent is smaller by 112, and 13 bits are rounded off, to nearest with ties to even. An overflow becomes
    // infinity.
    let odd = (magnitude >> 13) & 1;
    let normal = (magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13).min(0x7c00);
    // The last bit of 0.5 is worth 2^-24, the same as the last bit of a subnormal half, so the addition rounds to it.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let rounded = sign | if magnitude < 0x3880_0000 { subnormal } else { normal };
    f16::from_bits(if magnitude > 0x7f80_0000 { 0x7fff } else { rounded as u16 })
}

/// The half as an `f32`, by rule 5. It has no branches, like [`half_from_f32`].
#[inline]
fn half_to_f32(value: f16) -> f32 {
    const UNIT: f32 = 1.0 / 16_777_216.0; // 2^-24: the smallest subnormal half; all others are multiples of it
    let bits = u32::from(value.to_bits());
    let (sign, magnitude) = ((bits & 0x8000) << 16, bits & 0x7fff);
    let subnormal = (magnitude as f32 * UNIT).to_bits();
    let normal = (magnitude << 13) + (112 << 23);
    let finite = if magnitude < 0x400 { subnormal } else { normal };
    let number = sign | if magnitude < 0x7c00 { finite } else { 0x7f80_0000 };
    f32::from_bits(if magnitude > 0x7c00 { NAN } else { number })
}

impl Number for f16 {
    const SMALL_FLOAT: Option<SmallFloat> =
        small_float!(f16, Format { mantissa: 10, bias: 15, overflow: 0x7c00, nan: 0x7fff, one_zero: false });

    #[inline]
    fn from_f32(value: f32) -> Self {
        half_from_f32(value)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        half_from_f32(value as f32)
    }
    #[inline]
    fn from_i64(value: i64) -> Self {
        half_from_f32(value as f32)
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        half_from_f32(value as f32)
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(half_to_f32(self))
    }
    #[inline]
    fn convert<D: Number>(self) -> D {
        D::from_f32(half_to_f32(self))
    }
}

/// The bits of the NaN that conversions to `bf16` produce.
const BF16_NAN: u32 = 0x7fc0;

/// Rounds to a `bf16` by rule 4. It has no branches, like [`half_from_f32`]. Subnormal numbers need no special case, because
/// `f32` and `bf16` have the same exponents.
#[inline]
fn bf16_from_f32(value: f32) -> bf16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    bf16::from_bits((if magnitude > 0x7f80_0000 { BF16_NAN } else { rounded }) as u16)
}

/// Rounds to a `bf16` by rule 4, directly and not through `f32`, which would round twice.
#[inline]
fn bf16_from_f64(value: f64) -> bf16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 48) & 0x8000, bits & (u64::MAX >> 1));
    // The bias of the exponent is smaller by 896, and 45 bits are rounded off, to nearest with ties to even. An overflow becomes
    // infinity.
    let odd = (magnitude >> 45) & 1;
    let normal = (magnitude.wrapping_sub(896 << 52).wrapping_add((1 << 44) - 1 + odd) >> 45).min(0x7f80);
    // The last bit of 2^-81 is worth 2^-133, the same as the last bit of a subnormal bfloat16, so the addition rounds to it.
    let unit = f64::from_bits((1023 - 81) << 52);
    let subnormal = (f64::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
    let rounded = sign | if magnitude < 897 << 52 { subnormal } else { normal };
    bf16::from_bits((if magnitude > 0x7ff << 52 { u64::from(BF16_NAN) } else { rounded }) as u16)
}

/// The integer as an `f64` that rounds to the same `bf16` as the integer. Beyond 2^53 an `f64` cannot hold the lowest bits, so
/// they are replaced by one sticky bit, which is set if any of them was.
#[inline]
fn for_rounding(value: i64) -> f64 {
    const LOST: i64 = 0xfff;
    let sticky = (value & !LOST) | if value & LOST == 0 { 0 } else { LOST + 1 };
    let exact = -(1 << 53) < value && value < 1 << 53;
    (if exact { value } else { sticky }) as f64
}

impl Number for bf16 {
    const SMALL_FLOAT: Option<SmallFloat> =
        small_float!(bf16, Format { mantissa: 7, bias: 127, overflow: 0x7f80, nan: BF16_NAN, one_zero: false });

    #[inline]
    fn from_f32(value: f32) -> Self {
        bf16_from_f32(value)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        bf16_from_f64(value)
    }
    #[inline]
    fn from_i64(value: i64) -> Self {
        bf16_from_f64(for_rounding(value))
    }
    #[inline]
    fn from_i32(value: i32) -> Self {
        // Like `for_rounding`, but for an `f32`, which is exact up to 2^24.
        const LOST: i32 = 0xff;
        let sticky = (value & !LOST) | if value & LOST == 0 { 0 } else { LOST + 1 };
        let exact = -(1 << 24) < value && value < 1 << 24;
        bf16_from_f32((if exact { value } else { sticky }) as f32)
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        // Beyond `i64::MAX`, half of the value is converted and then doubled. The bit that halving drops is kept as a sticky bit.
        let half = (value >> 1) | (value & 1);
        i64::try_from(value).map_or_else(|_| bf16_from_f64(2.0 * for_rounding(half as i64)), Self::from_i64)
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(bf16_to_f32(self))
    }
    #[inline]
    fn convert<D: Number>(self) -> D {
        D::from_f32(bf16_to_f32(self))
    }
}

/// The `bf16` as an `f32`, by rule 5.
#[inline]
fn bf16_to_f32(value: bf16) -> f32 {
    let bits = u32::from(value.to_bits()) << 16;
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN } else { bits })
}
