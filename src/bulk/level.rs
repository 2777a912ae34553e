//! What the processor can do, and the one place where kernels are chosen by it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::access::{Bytes, BytesMut};

/// A set of instructions that kernels are compiled for, and that this processor has.
///
/// Kernels are written once, as plain loops, and compiled for every level. The few loops that the compiler
/// does badly are in `lanes.rs`.
///
/// ```
/// use torch_storage::bulk::Level;
///
/// assert_eq!(Level::available().next().map(Level::name), Some("baseline"));
/// assert!(Level::available().any(|level| level == Level::current()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Set);

/// The instructions of a level. Only this file makes a [`Level`] of one, and only after the processor was asked for them: whoever
/// has a `Level` may use its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Baseline,
    /// AVX2 and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ and VL, and what `Avx2` has.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The levels of this architecture, the lowest first.
#[cfg(target_arch = "x86_64")]
const SETS: &[Set] = &[Set::Baseline, Set::Avx2, Set::Avx512];
#[cfg(not(target_arch = "x86_64"))]
const SETS: &[Set] = &[Set::Baseline];

/// Work that is compiled for every level.
pub(super) trait Kernel {
    /// What comes of it.
    type Output;

    /// Does the work. Every implementation is `#[inline(always)]`, so that it is compiled with the instructions of its caller.
    fn run(self, level: Level) -> Self::Output;
}

/// A loop that converts elements, and is compiled for every level.
pub(super) trait Conversion {
    /// Fills the target with converted elements of the source. The two do not overlap. Every implementation is `#[inline(always)]`,
    /// as those of [`Kernel`].
    fn run(level: Level, target: BytesMut, source: Bytes);
}

/// A loop that was chosen once, for the instructions of this processor, and is called again and again.
#[derive(Clone, Copy)]
pub(super) struct Loop(unsafe fn(BytesMut, Bytes));

impl Loop {
    /// [`Conversion::run`].
    pub(super) fn run(self, target: BytesMut, source: Bytes) {
        // SAFETY: [cpu] `Level::pick`, which makes all loops, has chosen one for a level that this processor has.
        unsafe { (self.0)(target, source) }
    }
}

fn loop_baseline<C: Conversion>(target: BytesMut, source: Bytes) {
    C::run(Level(Set::Baseline), target, source);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn loop_avx2<C: Conversion>(target: BytesMut, source: Bytes) {
    C::run(Level(Set::Avx2), target, source);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")]
fn loop_avx512<C: Conversion>(target: BytesMut, source: Bytes) {
    C::run(Level(Set::Avx512), target, source);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Level(Set::Avx2))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Level(Set::Avx512))
}

impl Level {
    /// The levels of this processor, the lowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        SETS.iter().copied().filter(|set| set.is_here()).map(Self)
    }

    /// The level that operations use: the highest, or the one that the environment variable `TORCH_STORAGE_CPU` names
    /// (`baseline`, `avx2`, `avx512`) when it is first needed; where the processor has less, the highest that it has. Other
    /// names change nothing.
    #[must_use]
    pub fn current() -> Self {
        // The number of a set, from 1; 0 says that nobody has asked yet. Relaxed: two threads that ask at once find the same.
        static CURRENT: AtomicUsize = AtomicUsize::new(0);
        let known = CURRENT.load(Ordering::Relaxed).checked_sub(1).and_then(|number| SETS.get(number));
        match known {
            Some(&set) => Self(set),
            None => {
                let wanted = std::env::var_os("TORCH_STORAGE_CPU");
                let limit = SETS.iter().position(|set| wanted.as_deref().is_some_and(|name| name == set.name()));
                let limit = limit.unwrap_or(SETS.len() - 1);
                let number = (0..=limit).rev().find(|&number| SETS[number].is_here()).unwrap_or(0);
                CURRENT.store(number + 1, Ordering::Relaxed);
                Self(SETS[number])
            }
        }
    }

    /// Its name, as `TORCH_STORAGE_CPU` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name()
    }

    /// Its instructions, which this processor has.
    #[inline(always)]
    pub(super) fn set(self) -> Set {
        self.0
    }

    /// A loop, compiled for this level.
    pub(super) fn pick<C: Conversion>(self) -> Loop {
        match self.0 {
            Set::Baseline => Loop(loop_baseline::<C>),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => Loop(loop_avx2::<C>),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => Loop(loop_avx512::<C>),
        }
    }

    /// Runs a kernel, compiled for this level.
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Set::Baseline => kernel.run(self),
            // SAFETY: [cpu] there is no `Level` of these instructions unless this processor has them.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { with_avx2(kernel) },
            // SAFETY: [cpu] there is no `Level` of these instructions unless this processor has them.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { with_avx512(kernel) },
        }
    }
}

impl Set {
    const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor (and its system, which has to save the registers) has it.
    fn is_here(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }
}
