//! The two floats of 16 bits: halves and bfloat16, and the ways to them and from them.

use half::{bf16, f16};

use super::small_float::{Format, SmallFloat, small_float};
use super::{NAN, Number};

/// Rule 4 for halves. Without branches, so that a loop over it is vectorised; `f16::from_f32` asks the processor each time what
/// it can.
#[inline]
fn half_from_f32(value: f32) -> f16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
    // The exponent's bias is 112 less; 13 bits go, to nearest, ties to even; what overflows is infinity.
    let odd = (magnitude >> 13) & 1;
    let normal = (magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13).min(0x7c00);
    // In 0.5 the last bit is worth 2^-24, as in a subnormal half: the addition rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let rounded = sign | if magnitude < 0x3880_0000 { subnormal } else { normal };
    f16::from_bits(if magnitude > 0x7f80_0000 { 0x7fff } else { rounded as u16 })
}

/// Rule 5. Without branches, as [`half_from_f32`].
#[inline]
fn half_to_f32(value: f16) -> f32 {
    const UNIT: f32 = 1.0 / 16_777_216.0; // of the subnormal halves: 2^-24
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

/// Every NaN of `bf16`, as it is written.
const BF16_NAN: u32 = 0x7fc0;

/// Rule 4. Without branches, as [`half_from_f32`]; subnormal or not, the exponent is the same.
#[inline]
fn bf16_from_f32(value: f32) -> bf16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    bf16::from_bits((if magnitude > 0x7f80_0000 { BF16_NAN } else { rounded }) as u16)
}

/// Rule 4: once, not to `f32` first.
#[inline]
fn bf16_from_f64(value: f64) -> bf16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 48) & 0x8000, bits & (u64::MAX >> 1));
    // The exponent's bias is 896 less; 45 bits go, to nearest, ties to even; what overflows is infinity.
    let odd = (magnitude >> 45) & 1;
    let normal = (magnitude.wrapping_sub(896 << 52).wrapping_add((1 << 44) - 1 + odd) >> 45).min(0x7f80);
    // The last bit of 2^-81 is worth 2^-133, as in a subnormal bfloat16: the addition rounds.
    let unit = f64::from_bits((1023 - 81) << 52);
    let subnormal = (f64::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
    let rounded = sign | if magnitude < 897 << 52 { subnormal } else { normal };
    bf16::from_bits((if magnitude > 0x7ff << 52 { u64::from(BF16_NAN) } else { rounded }) as u16)
}

/// The integer as a double that rounds to what it would itself: beyond 2^53 bits that a double has no room for are one bit, which
/// says that something was there.
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
        // As `for_rounding`, with the bits of a float.
        const LOST: i32 = 0xff;
        let sticky = (value & !LOST) | if value & LOST == 0 { 0 } else { LOST + 1 };
        let exact = -(1 << 24) < value && value < 1 << 24;
        bf16_from_f32((if exact { value } else { sticky }) as f32)
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        // Half of it, with the bit that goes in the next one.
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

/// Rule 5.
#[inline]
fn bf16_to_f32(value: bf16) -> f32 {
    let bits = u32::from(value.to_bits()) << 16;
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN } else { bits })
}
