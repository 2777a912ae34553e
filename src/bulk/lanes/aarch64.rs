//! The steps with instructions of aarch64: NEON, which every processor has. NaN becomes 0 where an instruction converts it to an integer.
#![allow(clippy::cast_ptr_alignment, reason = "the loads and stores take any address")]

use std::arch::aarch64::{
    float32x4_t, float64x2_t, int8x16_t, int16x8_t, int32x4_t, int64x2_t, uint16x4_t, uint16x8_t, vbslq_f32, vcageq_f32,
    vcageq_f64, vceqq_f32, vcombine_s8, vcombine_s16, vcombine_s32, vcombine_u16, vcvt_f64_f32, vcvt_high_f64_f32, vcvtq_s32_f32,
    vcvtq_s64_f64, vdupq_n_f32, vdupq_n_f64, vget_high_u16, vget_low_f32, vget_low_u16, vmaxvq_u32, vmovn_s16, vmovn_s32,
    vmovn_s64, vorrq_u32, vorrq_u64, vreinterpretq_u32_u64,
};
use std::arch::asm;
use std::ptr::{read_unaligned as load, write_unaligned as store};

use half::f16;

use super::super::access::{Bytes, BytesMut};
use super::super::level::Level;
use super::convert_one_by_one;
use crate::element::{DType, Element};

/// The only NaN that conversions from and to halves produce, as a float. The instruction converts it to the half `0x7fff`.
const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// Converts elements, beginning with the first, and returns how many. The number is 0 if this file has no instructions for
/// the step, and the elements that do not fill a vector are left to the caller.
#[inline(always)]
pub(in crate::bulk) fn convert<S: Element, D: Element>(_: Level, target: BytesMut, source: Bytes) -> usize {
    use DType::{Byte, Double, Float, Half, Int, Long, Short};
    let step = match (S::DTYPE, D::DTYPE) {
        (Float, Byte) => float_to_byte,
        (Float, Short) => float_to_short,
        (Float, Int) => float_to_int,
        (Double, Int) => double_to_int,
        (Float, Long) => float_to_long,
        (Double, Long) => double_to_long,
        (Half, Float) => half_to_float,
        (Float, Half) => float_to_half,
        _ => return 0,
    };
    // SAFETY: [cpu] every aarch64 processor has NEON.
    unsafe { step(target, source) }
}

lanes! {
    /// Rules 2 and 3.
    float_to_int("neon", 16, f32 => i32): load::<[float32x4_t; 4]>, store::<[int32x4_t; 4]>,
        |v| v, unless |v| is_beyond_int(v), |[a, b, c, d]: [float32x4_t; 4]| {
            [vcvtq_s32_f32(a), vcvtq_s32_f32(b), vcvtq_s32_f32(c), vcvtq_s32_f32(d)]
        };
    /// Rules 2 and 3.
    float_to_short("neon", 16, f32 => i16): load::<[float32x4_t; 4]>, store::<[int16x8_t; 2]>,
        |v| v, unless |v| is_beyond_int(v), |[a, b, c, d]: [float32x4_t; 4]| [low_halves(a, b), low_halves(c, d)];
    /// Rules 2 and 3.
    float_to_byte("neon", 16, f32 => u8): load::<[float32x4_t; 4]>, store::<int8x16_t>,
        |v| v, unless |v| is_beyond_int(v), |[a, b, c, d]: [float32x4_t; 4]| {
            vcombine_s8(vmovn_s16(low_halves(a, b)), vmovn_s16(low_halves(c, d)))
        };
    /// Rules 2 and 3. The low 32 bits of a number that fits in 64 bits are kept.
    double_to_int("neon", 8, f64 => i32): load::<[float64x2_t; 4]>, store::<[int32x4_t; 2]>,
        |v| v, unless |v| is_beyond_long(v), |[a, b, c, d]: [float64x2_t; 4]| [low_words(a, b), low_words(c, d)];
    /// Rules 2 and 3.
    float_to_long("neon", 8, f32 => i64): load::<[float32x4_t; 2]>, store::<[int64x2_t; 4]>,
        |v| doubles(v), unless |v| is_beyond_long(v), |v| longs(v);
    /// Rules 2 and 3.
    double_to_long("neon", 8, f64 => i64): load::<[float64x2_t; 4]>, store::<[int64x2_t; 4]>,
        |v| v, unless |v| is_beyond_long(v), |v| longs(v);
    /// Rule 5.
    half_to_float("neon", 8, f16 => f32): load::<uint16x8_t>, store::<[float32x4_t; 2]>,
        |v| [one_nan(floats(vget_low_u16(v))), one_nan(floats(vget_high_u16(v)))];
    /// Rule 4.
    float_to_half("neon", 8, f32 => f16): load::<[float32x4_t; 2]>, store::<uint16x8_t>,
        |[a, b]: [float32x4_t; 2]| vcombine_u16(halves(one_nan(a)), halves(one_nan(b)));
}

/// Whether the magnitude of a number is 2^31 or more.
#[inline]
#[target_feature(enable = "neon")]
fn is_beyond_int([a, b, c, d]: [float32x4_t; 4]) -> bool {
    let limit = vdupq_n_f32(2_147_483_648.0);
    let (first, second) =
        (vorrq_u32(vcageq_f32(a, limit), vcageq_f32(b, limit)), vorrq_u32(vcageq_f32(c, limit), vcageq_f32(d, limit)));
    vmaxvq_u32(vorrq_u32(first, second)) != 0
}

/// Whether the magnitude of a number is 2^63 or more.
#[inline]
#[target_feature(enable = "neon")]
fn is_beyond_long([a, b, c, d]: [float64x2_t; 4]) -> bool {
    let limit = vdupq_n_f64(9_223_372_036_854_775_808.0);
    let (first, second) =
        (vorrq_u64(vcageq_f64(a, limit), vcageq_f64(b, limit)), vorrq_u64(vcageq_f64(c, limit), vcageq_f64(d, limit)));
    vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(first, second))) != 0
}

/// The low 16 bits of eight numbers, truncated toward zero.
#[inline]
#[target_feature(enable = "neon")]
fn low_halves(a: float32x4_t, b: float32x4_t) -> int16x8_t {
    vcombine_s16(vmovn_s32(vcvtq_s32_f32(a)), vmovn_s32(vcvtq_s32_f32(b)))
}

/// The low 32 bits of four numbers, truncated toward zero.
#[inline]
#[target_feature(enable = "neon")]
fn low_words(a: float64x2_t, b: float64x2_t) -> int32x4_t {
    vcombine_s32(vmovn_s64(vcvtq_s64_f64(a)), vmovn_s64(vcvtq_s64_f64(b)))
}

/// Eight numbers, truncated toward zero.
#[inline]
#[target_feature(enable = "neon")]
fn longs([a, b, c, d]: [float64x2_t; 4]) -> [int64x2_t; 4] {
    [vcvtq_s64_f64(a), vcvtq_s64_f64(b), vcvtq_s64_f64(c), vcvtq_s64_f64(d)]
}

/// Eight floats as doubles.
#[inline]
#[target_feature(enable = "neon")]
fn doubles([a, b]: [float32x4_t; 2]) -> [float64x2_t; 4] {
    [vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a), vcvt_f64_f32(vget_low_f32(b)), vcvt_high_f64_f32(b)]
}

/// Replaces every NaN in `v` by [`NAN`].
#[inline]
#[target_feature(enable = "neon")]
fn one_nan(v: float32x4_t) -> float32x4_t {
    vbslq_f32(vceqq_f32(v, v), v, vdupq_n_f32(NAN))
}

/// Four halves as floats. (The function of the standard library for this is newer than the oldest compiler that builds this crate.)
#[inline]
#[target_feature(enable = "neon")]
fn floats(v: uint16x4_t) -> float32x4_t {
    let floats: float32x4_t;
    // SAFETY: [cpu] every aarch64 processor has the instruction, which changes nothing but the register.
    unsafe {
        asm!("fcvtl {floats:v}.4s, {v:v}.4h", floats = lateout(vreg) floats, v = in(vreg) v, options(pure, nomem, nostack, preserves_flags))
    };
    floats
}

/// Four floats, rounded to halves.
#[inline]
#[target_feature(enable = "neon")]
fn halves(v: float32x4_t) -> uint16x4_t {
    let halves: uint16x4_t;
    // SAFETY: [cpu] every aarch64 processor has the instruction, which changes nothing but the register.
    unsafe {
        asm!("fcvtn {halves:v}.4h, {v:v}.4s", halves = lateout(vreg) halves, v = in(vreg) v, options(pure, nomem, nostack, preserves_flags))
    };
    halves
}
