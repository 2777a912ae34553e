//! Rows of elements added to the lanes of a sum, with vectors of x86-64. In the plain loop the compiler makes vectors of two lanes, because
//! two sums are left in the end.

use crate::bulk::access::Values;
#[cfg(target_arch = "x86_64")]
use crate::bulk::level::InstructionSet;
use crate::bulk::level::Level;
use crate::element::{DType, Element};

/// How many sums are made side by side. Four registers of AVX2 hold them. It is even, so the real parts of complex elements are in
/// other lanes than the imaginary parts.
pub const LANES: usize = 16;

/// What is added to a lane for an element, or for two elements that lie beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The first element.
    Element,
    /// The product of both, which is a double as it is.
    ExactProduct,
    /// The product of both.
    Product,
    /// The square of their distance.
    SquareOfDistance,
    /// Something for which there are no vectors.
    Other,
}

/// Adds full rows of elements, beginning with the first, to lanes that are zero. Returns the lanes, and the number of elements of each
/// side that were added. It is 0 if there are no vectors for the step or the processor, and then the plain loop adds them.
///
/// Both sides have the same number of elements, which are of the classes Float and Double, or of one that is [taken as it is](takes).
#[inline(always)]
pub fn add<T: Element, U: Element>(level: Level, step: Step, left: Values<T>, right: Values<U>) -> ([f64; LANES], usize) {
    #[cfg(target_arch = "x86_64")]
    return x86_64::add(level, step, left, right);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (level, step, left, right);
        ([0.0; LANES], 0)
    }
}

/// Whether elements of this dtype, which are small floats, are added as they are. Otherwise they are converted before.
pub fn takes(level: Level, dtype: DType) -> bool {
    #[cfg(target_arch = "x86_64")]
    return matches!(dtype, DType::Half | DType::BFloat16) && level.instructions() != InstructionSet::Baseline;
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (level, dtype);
        false
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m256d, __m512d, _mm_castsi128_ps, _mm_cvtepu16_epi32, _mm_cvtph_ps, _mm_loadl_epi64, _mm_loadu_ps, _mm_loadu_si128,
        _mm_slli_epi32, _mm256_add_pd, _mm256_castsi256_ps, _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_pd,
        _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_mul_pd, _mm256_setzero_pd, _mm256_slli_epi32, _mm256_storeu_pd,
        _mm256_sub_pd, _mm512_add_pd, _mm512_cvtps_pd, _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_mul_pd, _mm512_setzero_pd,
        _mm512_storeu_pd, _mm512_sub_pd,
    };

    use super::{LANES, Step};
    use crate::bulk::access::Values;
    use crate::bulk::level::{InstructionSet, Level};
    use crate::element::{DType, Element};

    #[inline(always)]
    pub fn add<T: Element, U: Element>(level: Level, step: Step, left: Values<T>, right: Values<U>) -> ([f64; LANES], usize) {
        if step == Step::Other {
            return ([0.0; LANES], 0);
        }
        match level.instructions() {
            InstructionSet::Baseline => ([0.0; LANES], 0),
            // SAFETY: [cpu] a `Level` of these instructions exists only on a processor that has them.
            InstructionSet::Avx2 => unsafe { with_avx2(step, left, right) },
            // SAFETY: [cpu] a `Level` of these instructions exists only on a processor that has them.
            InstructionSet::Avx512 => unsafe { with_avx512(step, left, right) },
        }
    }

    /// Defines the loop over rows for a set of instructions: vectors of `$lanes` doubles, and the instructions for them.
    macro_rules! rows {
        ($name:ident, $load:ident, $next:ident, $features:literal, $vector:ty, $lanes:literal:
            $zero:ident, $add:ident, $sub:ident, $mul:ident, $fused:ident, $store:ident, $doubles:ident, $floats:ident, $widened:ident,
            $bits:ident, $halves:ident, $words:ident, $shift:ident, $as_floats:ident) => {
            /// Loads elements, from `from` on, as doubles.
            ///
            /// # Safety
            /// `[in-bounds]`: a vector of elements is there.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn $load<T: Element>(from: *const T) -> $vector {
                match T::DTYPE {
                    // SAFETY: [in-bounds] the caller vouches for it. Any address is allowed.
                    DType::Float => $widened(unsafe { $floats(from.cast()) }),
                    // SAFETY: [in-bounds] the caller vouches for it. Any address is allowed.
                    DType::Half => $widened($halves(unsafe { $bits(from.cast()) })),
                    // It becomes the upper half of a float.
                    // SAFETY: [in-bounds] the caller vouches for it. Any address is allowed.
                    DType::BFloat16 => $widened($as_floats($shift::<16>($words(unsafe { $bits(from.cast()) })))),
                    // SAFETY: [in-bounds] the caller vouches for it. Any address is allowed.
                    _ => unsafe { $doubles(from.cast()) },
                }
            }

            /// The sum after a step.
            #[inline]
            #[target_feature(enable = $features)]
            fn $next(step: Step, sum: $vector, left: $vector, right: $vector) -> $vector {
                match step {
                    Step::ExactProduct => $fused(left, right, sum),
                    Step::Product => $add(sum, $mul(left, right)),
                    Step::SquareOfDistance => {
                        let distance = $sub(left, right);
                        $add(sum, $mul(distance, distance))
                    }
                    Step::Element | Step::Other => $add(sum, left),
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn $name<T: Element, U: Element>(step: Step, left: Values<T>, right: Values<U>) -> ([f64; LANES], usize) {
                let done = left.size().min(right.size()) / LANES * LANES;
                let mut sums = [$zero(); LANES / $lanes];
                for row in (0..done).step_by(LANES) {
                    for (number, sum) in sums.iter_mut().enumerate() {
                        let first = row + number * $lanes;
                        // SAFETY: [in-bounds] the row lies before `done`, which is at most the size.
                        let one = unsafe { $load(left.data().wrapping_add(first)) };
                        // SAFETY: [in-bounds] the row lies before `done`, which is at most the size.
                        let other = unsafe { $load(right.data().wrapping_add(first)) };
                        *sum = $next(step, *sum, one, other);
                    }
                }
                let mut lanes = [0.0; LANES];
                for (lanes, sum) in lanes.chunks_exact_mut($lanes).zip(sums) {
                    // SAFETY: [in-bounds] the chunk has as many lanes as the vector.
                    unsafe { $store(lanes.as_mut_ptr(), sum) };
                }
                (lanes, done)
            }
        };
    }

    rows!(with_avx2, load_avx2, next_avx2, "avx2,f16c,fma", __m256d, 4:
        _mm256_setzero_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_fmadd_pd, _mm256_storeu_pd, _mm256_loadu_pd,
        _mm_loadu_ps, _mm256_cvtps_pd, _mm_loadl_epi64, _mm_cvtph_ps, _mm_cvtepu16_epi32, _mm_slli_epi32, _mm_castsi128_ps);
    rows!(with_avx512, load_avx512, next_avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c,fma", __m512d, 8:
        _mm512_setzero_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_fmadd_pd, _mm512_storeu_pd, _mm512_loadu_pd,
        _mm256_loadu_ps, _mm512_cvtps_pd, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_cvtepu16_epi32, _mm256_slli_epi32,
        _mm256_castsi256_ps);
}
