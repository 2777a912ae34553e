//! The instruction sets that kernels are compiled for, and the one place where a kernel is chosen for the processor.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::access::{Bytes, BytesMut};
use crate::system;

/// A set of instructions that kernels are compiled for and that this processor has.
///
/// Kernels are written once, as plain loops, and compiled for every level. The few loops that the compiler does not vectorise
/// well are written by hand in `lanes.rs`.
///
/// ```
/// use torch_storage::bulk::Level;
///
/// assert_eq!(Level::available().next().map(Level::name), Some("baseline"));
/// assert!(Level::available().any(|level| level == Level::current()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(InstructionSet);

/// The instructions of a level. Only this file makes a [`Level`] from an instruction set, and only after the processor was asked
/// for it. So whoever has a `Level` may use its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionSet {
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Baseline,
    /// AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ and VL, and the instructions of `Avx2`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The instruction sets of this architecture, the smallest first.
#[cfg(target_arch = "x86_64")]
const SETS: &[InstructionSet] = &[InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512];
#[cfg(not(target_arch = "x86_64"))]
const SETS: &[InstructionSet] = &[InstructionSet::Baseline];

/// Work that is compiled for every level.
pub(super) trait Kernel {
    /// The result of the work.
    type Output;

    /// Does the work. Every implementation is `#[inline(always)]`, so that it is compiled for the instructions of its caller.
    fn run(self, level: Level) -> Self::Output;
}

/// A loop that converts elements and is compiled for every level.
pub(super) trait Conversion {
    /// Fills the target with converted elements of the source. The two blocks do not overlap. Every implementation is
    /// `#[inline(always)]`, for the same reason as those of [`Kernel`].
    fn run(level: Level, target: BytesMut, source: Bytes);
}

/// A conversion loop that was chosen for the instructions of this processor, to be called many times.
#[derive(Clone, Copy)]
pub(super) struct Loop(unsafe fn(BytesMut, Bytes));

impl Loop {
    /// Calls [`Conversion::run`] of the chosen loop.
    pub(super) fn run(self, target: BytesMut, source: Bytes) {
        // SAFETY: [cpu] only `Level::pick` makes a `Loop`, and it picks the one of a level that this processor has.
        unsafe { (self.0)(target, source) }
    }
}

fn loop_baseline<C: Conversion>(target: BytesMut, source: Bytes) {
    C::run(Level(InstructionSet::Baseline), target, source);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c,fma")]
fn loop_avx2<C: Conversion>(target: BytesMut, source: Bytes) {
    C::run(Level(InstructionSet::Avx2), target, source);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c,fma")]
fn loop_avx512<C: Conversion>(target: BytesMut, source: Bytes) {
    C::run(Level(InstructionSet::Avx512), target, source);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c,fma")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Level(InstructionSet::Avx2))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c,fma")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Level(InstructionSet::Avx512))
}

impl Level {
    /// The level that every processor has.
    pub(super) const BASELINE: Self = Self(InstructionSet::Baseline);

    /// The levels that this processor has, the lowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        SETS.iter().copied().filter(|set| set.is_available()).map(Self)
    }

    /// The level that operations use: the highest that this processor has.
    ///
    /// The environment variable `TORCH_STORAGE_CPU` (`baseline`, `avx2`, `avx512`) can name a lower one. It is read once, when
    /// the level is first needed. A level that the processor does not have, and any other name, is ignored.
    #[must_use]
    pub fn current() -> Self {
        // The position in `SETS` plus 1, or 0 if nobody has asked yet. Relaxed: two threads that ask at once find the same level.
        static CURRENT: AtomicUsize = AtomicUsize::new(0);
        let known = CURRENT.load(Ordering::Relaxed).checked_sub(1).and_then(|number| SETS.get(number));
        match known {
            Some(&set) => Self(set),
            None => {
                let limit = SETS.iter().position(|set| system::is_set(c"TORCH_STORAGE_CPU", set.name()));
                let limit = limit.unwrap_or(SETS.len() - 1);
                let number = (0..=limit).rev().find(|&number| SETS[number].is_available()).unwrap_or(0);
                CURRENT.store(number + 1, Ordering::Relaxed);
                Self(SETS[number])
            }
        }
    }

    /// The name of the level, as in the environment variable `TORCH_STORAGE_CPU`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name()
    }

    /// The instructions of the level, which this processor has.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn instructions(self) -> InstructionSet {
        self.0
    }

    /// `x * y + sum`, where `x * y` is a number of type `f64` as it is, without rounding. So it makes no difference whether the level has
    /// one instruction for both, which does not round in between.
    #[inline(always)]
    pub(super) fn add_exact_product(self, x: f64, y: f64, sum: f64) -> f64 {
        // Without the instruction `mul_add` would call a function that takes long.
        if self.has_fused() { x.mul_add(y, sum) } else { x * y + sum }
    }

    #[inline(always)]
    const fn has_fused(self) -> bool {
        cfg!(target_arch = "aarch64") || !matches!(self.0, InstructionSet::Baseline)
    }

    /// The level for loops over elements that do not lie together. With AVX-512 the compiler would gather them by an instruction
    /// that takes several times as long as loads and shuffles.
    pub(super) fn without_gathers(self) -> Self {
        self.at_most_avx2()
    }

    /// The level for loops that pack vectors into vectors of half the size. In the last cache, the instructions of AVX-512 for that
    /// take 1.05 to 1.1 times as long as those of AVX2 (AMD Zen 4). In the other caches both take as long.
    pub(super) fn without_wide_packs(self) -> Self {
        self.at_most_avx2()
    }

    fn at_most_avx2(self) -> Self {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => Self(InstructionSet::Avx2),
            set => Self(set),
        }
    }

    /// Returns the conversion loop that was compiled for this level.
    pub(super) fn pick<C: Conversion>(self) -> Loop {
        match self.0 {
            InstructionSet::Baseline => Loop(loop_baseline::<C>),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => Loop(loop_avx2::<C>),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => Loop(loop_avx512::<C>),
        }
    }

    /// Runs the kernel that was compiled for this level.
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            InstructionSet::Baseline => kernel.run(self),
            // SAFETY: [cpu] a `Level` of these instructions exists only on a processor that has them.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { with_avx2(kernel) },
            // SAFETY: [cpu] a `Level` of these instructions exists only on a processor that has them.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { with_avx512(kernel) },
        }
    }
}

impl InstructionSet {
    const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor has the instructions, and the operating system saves their registers.
    fn is_available(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }
}
