//! The steps with instructions of x86-64.
#![allow(clippy::cast_ptr_alignment, reason = "the instructions used here load and store at any address")]

use std::arch::x86_64::{
    __m128, __m128i, __m256, __m256i, __m512, __m512d, __m512i, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm_and_si128,
    _mm_cmpeq_epi32, _mm_cvttpd_epi32, _mm_cvttps_epi32, _mm_cvttsd_si64, _mm_cvttss_si64, _mm_loadu_pd, _mm_loadu_ps,
    _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi32, _mm_packus_epi16, _mm_set_sd, _mm_set_ss, _mm_set1_epi32,
    _mm_shuffle_ps, _mm_slli_epi32, _mm_srai_epi32, _mm_storel_epi64, _mm_storeu_ps, _mm_storeu_si128, _mm256_and_si256,
    _mm256_blendv_ps, _mm256_castpd_ps, _mm256_castps_pd, _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmp_ps,
    _mm256_cmpeq_epi32, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_cvttpd_epi32, _mm256_cvttps_epi32, _mm256_extracti128_si256,
    _mm256_loadu_pd, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_packs_epi32, _mm256_permute4x64_epi64,
    _mm256_permute4x64_pd, _mm256_set1_epi32, _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_storeu_ps,
    _mm256_storeu_si256, _mm512_castsi256_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cmpeq_epi32_mask,
    _mm512_cmpeq_epi64_mask, _mm512_cvtepi32_epi8, _mm512_cvtepi32_epi16, _mm512_cvtpd_ps, _mm512_cvtph_ps, _mm512_cvtps_ph,
    _mm512_cvttpd_epi32, _mm512_cvttpd_epi64, _mm512_cvttps_epi32, _mm512_cvttps_epi64, _mm512_inserti64x4, _mm512_loadu_pd,
    _mm512_loadu_ps, _mm512_mask_mov_ps, _mm512_permutex2var_pd, _mm512_permutex2var_ps, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi32, _mm512_setr_epi64, _mm512_storeu_pd, _mm512_storeu_ps, _mm512_storeu_si512,
};

use std::ptr::{read_unaligned as load, write_unaligned as store};

use half::f16;

use super::super::access::{Bytes, BytesMut};
use super::super::level::{InstructionSet, Level};
use super::convert_one_by_one;
use crate::convert::Complex;
use crate::element::{DType, Element};

/// The bits of the only NaN that conversions from and to halves produce, as a float. F16C converts it to the half `0x7fff`.
const NAN: i32 = 0x7fff_ffff;

/// Converts elements, beginning with the first, and returns how many. The number is 0 if this file has no instructions for
/// the step, and the elements that do not fill a vector are left to the caller.
#[inline(always)]
pub(in crate::bulk) fn convert<S: Element, D: Element>(level: Level, target: BytesMut, source: Bytes) -> usize {
    use DType::{Byte, ComplexDouble, ComplexFloat, Double, Float, Half, Int, Long, Short};
    macro_rules! call {
        ($baseline:ident, $avx2:ident, $avx512:ident) => {
            match level.instructions() {
                // SAFETY: [cpu] every x86-64 processor has SSE2.
                InstructionSet::Baseline => unsafe { $baseline(target, source) },
                // SAFETY: [cpu] a `Level` of these instructions exists only on a processor that has them.
                InstructionSet::Avx2 => unsafe { $avx2(target, source) },
                // SAFETY: [cpu] a `Level` of these instructions exists only on a processor that has them.
                InstructionSet::Avx512 => unsafe { $avx512(target, source) },
            }
        };
    }
    match (S::DTYPE, D::DTYPE) {
        (Float, Byte) => call!(float_to_byte_sse2, float_to_byte_avx2, float_to_byte_avx512),
        (Float, Short) => call!(float_to_short_sse2, float_to_short_avx2, float_to_short_avx512),
        (ComplexFloat, Float) => call!(real_parts_sse2, real_parts_avx2, real_parts_avx512),
        (ComplexDouble, Double) => call!(no_instructions, no_instructions, real_doubles_avx512),
        (ComplexDouble, Float) => call!(no_instructions, no_instructions, real_doubles_to_float_avx512),
        (Float, Int) => call!(float_to_int_sse2, float_to_int_avx2, float_to_int_avx512),
        (Double, Int) => call!(double_to_int_sse2, double_to_int_avx2, double_to_int_avx512),
        (Float, Long) => call!(float_to_long_sse2, float_to_long_sse2, float_to_long_avx512),
        (Double, Long) => call!(double_to_long_sse2, double_to_long_sse2, double_to_long_avx512),
        (Half, Float) => call!(no_instructions, half_to_float_f16c, half_to_float_avx512),
        (Float, Half) => call!(no_instructions, float_to_half_f16c, float_to_half_avx512),
        _ => 0,
    }
}

/// Converts no elements, because this level has no instructions for the step. The plain loop converts them all.
#[target_feature(enable = "sse2")]
fn no_instructions(_: BytesMut, _: Bytes) -> usize {
    0
}

/// Whether an integer is the lowest of 32 bits.
#[inline]
#[target_feature(enable = "sse2")]
fn has_lowest_sse2(v: __m128i) -> bool {
    _mm_movemask_epi8(_mm_cmpeq_epi32(v, _mm_set1_epi32(i32::MIN))) != 0
}

/// Whether an integer is the lowest of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn has_lowest_avx2(v: __m256i) -> bool {
    _mm256_movemask_epi8(_mm256_cmpeq_epi32(v, _mm256_set1_epi32(i32::MIN))) != 0
}

/// Whether an integer is the lowest of 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn has_lowest_avx512(v: __m512i) -> bool {
    _mm512_cmpeq_epi32_mask(v, _mm512_set1_epi32(i32::MIN)) != 0
}

/// Whether an integer is the lowest of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn has_lowest_long_avx512(v: __m512i) -> bool {
    _mm512_cmpeq_epi64_mask(v, _mm512_set1_epi64(i64::MIN)) != 0
}

lanes! {
    /// Rules 2 and 3.
    float_to_int_sse2("sse2", 4, f32 => i32): _mm_loadu_ps::<f32>, _mm_storeu_si128::<__m128i>,
        |v| _mm_cvttps_epi32(v), unless |v| has_lowest_sse2(v), |v| v;
    /// Rules 2 and 3.
    float_to_int_avx2("avx2", 8, f32 => i32): _mm256_loadu_ps::<f32>, _mm256_storeu_si256::<__m256i>,
        |v| _mm256_cvttps_epi32(v), unless |v| has_lowest_avx2(v), |v| v;
    /// Rules 2 and 3.
    float_to_int_avx512("avx512f", 16, f32 => i32): _mm512_loadu_ps::<f32>, _mm512_storeu_si512::<__m512i>,
        |v| _mm512_cvttps_epi32(v), unless |v| has_lowest_avx512(v), |v| v;
    /// Rules 2 and 3.
    float_to_byte_sse2("sse2", 16, f32 => u8): load::<[__m128; 4]>, _mm_storeu_si128::<__m128i>,
        |v: [__m128; 4]| v.map(|v| _mm_cvttps_epi32(v)), unless |v: [__m128i; 4]| v.iter().any(|&v| has_lowest_sse2(v)),
        |v: [__m128i; 4]| {
            // Keeps the low 8 bits of each integer, so that the saturating packs below change no value.
            let [a, b, c, d] = v.map(|v| _mm_and_si128(v, _mm_set1_epi32(0xff)));
            _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d))
        };
    /// Rules 2 and 3.
    float_to_byte_avx2("avx2", 16, f32 => u8): load::<[__m256; 2]>, _mm_storeu_si128::<__m128i>,
        |v: [__m256; 2]| v.map(|v| _mm256_cvttps_epi32(v)), unless |v: [__m256i; 2]| v.iter().any(|&v| has_lowest_avx2(v)),
        |v: [__m256i; 2]| {
            let [a, b] = v.map(|v| _mm256_and_si256(v, _mm256_set1_epi32(0xff)));
            // In quarters of 64 bits, the order of this vector is: the first half of a, that of b, the rest of a, that of b.
            let in_halves = _mm256_packs_epi32(a, b);
            let v = _mm256_permute4x64_epi64::<0b11_01_10_00>(in_halves);
            _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v))
        };
    /// Rules 2 and 3.
    float_to_byte_avx512("avx512f", 16, f32 => u8): _mm512_loadu_ps::<f32>, _mm_storeu_si128::<__m128i>,
        |v| _mm512_cvttps_epi32(v), unless |v| has_lowest_avx512(v), |v| _mm512_cvtepi32_epi8(v);
    /// Rules 2 and 3.
    float_to_short_sse2("sse2", 4, f32 => i16): _mm_loadu_ps::<f32>, _mm_storel_epi64::<__m128i>,
        |v| _mm_cvttps_epi32(v), unless |v| has_lowest_sse2(v), |v| {
            // Sign-extends the low 16 bits of each integer, so that the saturating pack below changes no value.
            let v = _mm_srai_epi32::<16>(_mm_slli_epi32::<16>(v));
            _mm_packs_epi32(v, v)
        };
    /// Rules 2 and 3.
    float_to_short_avx2("avx2", 8, f32 => i16): _mm256_loadu_ps::<f32>, _mm_storeu_si128::<__m128i>,
        |v| _mm256_cvttps_epi32(v), unless |v| has_lowest_avx2(v), |v| {
            let v = _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(v));
            _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v))
        };
    /// Rules 2 and 3.
    float_to_short_avx512("avx512f", 16, f32 => i16): _mm512_loadu_ps::<f32>, _mm256_storeu_si256::<__m256i>,
        |v| _mm512_cvttps_epi32(v), unless |v| has_lowest_avx512(v), |v| _mm512_cvtepi32_epi16(v);
    /// Rule 7.
    real_parts_sse2("sse2", 4, Complex<f32> => f32): load::<[__m128; 2]>, _mm_storeu_ps::<f32>,
        |[a, b]: [__m128; 2]| _mm_shuffle_ps::<0b10_00_10_00>(a, b);
    /// Rule 7.
    real_parts_avx2("avx2", 8, Complex<f32> => f32): load::<[__m256; 2]>, _mm256_storeu_ps::<f32>, |[a, b]: [__m256; 2]| {
        let in_halves = _mm256_shuffle_ps::<0b10_00_10_00>(a, b);
        _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(in_halves)))
    };
    /// Rule 7.
    real_parts_avx512("avx512f", 16, Complex<f32> => f32): load::<[__m512; 2]>, _mm512_storeu_ps::<f32>,
        |[a, b]: [__m512; 2]| {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            _mm512_permutex2var_ps(a, even, b)
        };
    /// Rule 7.
    real_doubles_avx512("avx512f", 8, Complex<f64> => f64): load::<[__m512d; 2]>, _mm512_storeu_pd::<f64>,
        |v| real_doubles(v);
    /// Rules 4 and 7.
    real_doubles_to_float_avx512("avx512f", 8, Complex<f64> => f32): load::<[__m512d; 2]>, _mm256_storeu_ps::<f32>,
        |v| _mm512_cvtpd_ps(real_doubles(v));
    /// Rules 2 and 3.
    double_to_int_sse2("sse2", 2, f64 => i32): _mm_loadu_pd::<f64>, _mm_storel_epi64::<__m128i>,
        |v| _mm_cvttpd_epi32(v), unless |v| has_lowest_sse2(v), |v| v;
    /// Rules 2 and 3.
    double_to_int_avx2("avx2", 4, f64 => i32): _mm256_loadu_pd::<f64>, _mm_storeu_si128::<__m128i>,
        |v| _mm256_cvttpd_epi32(v), unless |v| has_lowest_sse2(v), |v| v;
    /// Rules 2 and 3.
    double_to_int_avx512("avx512f", 16, f64 => i32): load::<[__m512d; 2]>, _mm512_storeu_si512::<__m512i>,
        |[a, b]: [__m512d; 2]| {
            let (low, high) = (_mm512_cvttpd_epi32(a), _mm512_cvttpd_epi32(b));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }, unless |v| has_lowest_avx512(v), |v| v;
    /// Rules 2 and 3.
    float_to_long_avx512("avx512f,avx512dq", 8, f32 => i64): _mm256_loadu_ps::<f32>, _mm512_storeu_si512::<__m512i>,
        |v| _mm512_cvttps_epi64(v), unless |v| has_lowest_long_avx512(v), |v| v;
    /// Rules 2 and 3.
    double_to_long_avx512("avx512f,avx512dq", 8, f64 => i64): _mm512_loadu_pd::<f64>, _mm512_storeu_si512::<__m512i>,
        |v| _mm512_cvttpd_epi64(v), unless |v| has_lowest_long_avx512(v), |v| v;
    /// Rules 2 and 3. SSE2 has an instruction for a single element only.
    float_to_long_sse2("sse2", 1, f32 => i64): load::<f32>, store::<i64>,
        |v| _mm_cvttss_si64(_mm_set_ss(v)), unless |v| v == i64::MIN, |v| v;
    /// Rules 2 and 3. SSE2 has an instruction for a single element only.
    double_to_long_sse2("sse2", 1, f64 => i64): load::<f64>, store::<i64>,
        |v| _mm_cvttsd_si64(_mm_set_sd(v)), unless |v| v == i64::MIN, |v| v;
    /// Rule 5.
    half_to_float_f16c("avx,f16c", 8, f16 => f32): _mm_loadu_si128::<__m128i>, _mm256_storeu_ps::<f32>,
        |v| one_nan(_mm256_cvtph_ps(v));
    /// Rule 5.
    half_to_float_avx512("avx512f", 16, f16 => f32): _mm256_loadu_si256::<__m256i>, _mm512_storeu_ps::<f32>, |v| {
        let v = _mm512_cvtph_ps(v);
        _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v), _mm512_castsi512_ps(_mm512_set1_epi32(NAN)))
    };
    /// Rule 4.
    float_to_half_f16c("avx,f16c", 8, f32 => f16): _mm256_loadu_ps::<f32>, _mm_storeu_si128::<__m128i>,
        |v| _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(one_nan(v));
    /// Rule 4.
    float_to_half_avx512("avx512f", 16, f32 => f16): _mm512_loadu_ps::<f32>, _mm256_storeu_si256::<__m256i>, |v| {
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
        let v = _mm512_mask_mov_ps(v, nan, _mm512_castsi512_ps(_mm512_set1_epi32(NAN)));
        _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)
    };
}

/// The real parts of eight complex numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn real_doubles([a, b]: [__m512d; 2]) -> __m512d {
    _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b)
}

/// Replaces every NaN in `v` by [`NAN`].
#[inline]
#[target_feature(enable = "avx")]
fn one_nan(v: __m256) -> __m256 {
    _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(NAN)), _mm256_cmp_ps::<_CMP_UNORD_Q>(v, v))
}
