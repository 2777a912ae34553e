//! What the processor can do, and the one place where kernels are chosen by it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{cast, compare, fill, stream, swap};
use crate::convert::Scalar;
use crate::element::DType;

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

/// The instructions of a level. Private: who has a [`Level`] has asked the processor.
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

    /// Does the work. Every implementation is `#[inline(always)]`: so it is compiled with the instructions of its caller.
    ///
    /// # Safety
    /// What the kernel's fields say; the processor has the instructions of `set`.
    unsafe fn run(self, set: Set) -> Self::Output;
}

/// A loop that is chosen once and called again and again: from the source to the target, so many elements.
///
/// Who calls one promises what [`Looping::run`] asks for, and that the processor has the level's instructions.
pub(super) type Loop = unsafe fn(*mut u8, *const u8, usize);

/// A loop that is compiled for every level.
pub(super) trait Looping {
    /// Does the work. Every implementation is `#[inline(always)]`, as those of [`Kernel`].
    ///
    /// # Safety
    /// The target is valid for writes of so many elements of its class, the source for reads of its own; they are apart; the
    /// processor has the instructions of `set`.
    unsafe fn run(set: Set, target: *mut u8, source: *const u8, size: usize);
}

/// [`Looping::run`] with what every processor has.
unsafe fn loop_baseline<L: Looping>(target: *mut u8, source: *const u8, size: usize) {
    // SAFETY: `run` has its caller's word.
    unsafe { L::run(Set::Baseline, target, source, size) }
}

/// [`Looping::run`] with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn loop_avx2<L: Looping>(target: *mut u8, source: *const u8, size: usize) {
    // SAFETY: this function runs only where these features are; `run` has its caller's word for the rest.
    unsafe { L::run(Set::Avx2, target, source, size) }
}

/// [`Looping::run`] with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")]
unsafe fn loop_avx512<L: Looping>(target: *mut u8, source: *const u8, size: usize) {
    // SAFETY: as above.
    unsafe { L::run(Set::Avx512, target, source, size) }
}

/// [`Kernel::run`] with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function runs only where these features are; `run` has its caller's word for the rest.
    unsafe { kernel.run(Set::Avx2) }
}

/// [`Kernel::run`] with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")]
fn with_avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function runs only where these features are; `run` has its caller's word for the rest.
    unsafe { kernel.run(Set::Avx512) }
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
        // The number of a set, from 1; 0 says that nobody has asked yet. Relaxed: who comes twice finds the same.
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

    /// [`bulk::fill`](super::fill()) at this level, in this thread.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn fill(self, data: *mut u8, dtype: DType, size: usize, value: Scalar) {
        let bytes = size * dtype.width();
        // SAFETY: as the caller says.
        unsafe { fill::fill(self, data, fill::pattern(dtype, value), bytes, stream::pays_for_fill(bytes)) }
    }

    /// [`bulk::copy`](super::copy) at this level, in this thread.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn copy(self, target: *mut u8, to: DType, source: *const u8, from: DType, size: usize) {
        // SAFETY: as the caller says.
        unsafe {
            cast::copy(self, cast::Target(target, to), cast::Source(source, from), size, stream::pays_for_copy(size * to.width()))
        }
    }

    /// [`bulk::equal`](super::equal) at this level.
    ///
    /// # Safety
    /// As there.
    #[must_use]
    pub unsafe fn equal(self, left: *const u8, right: *const u8, dtype: DType, size: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe { compare::equal(self, left, right, dtype, size) }
    }

    /// [`bulk::byteswap`](super::byteswap) at this level, in this thread.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn byteswap(self, data: *mut u8, width: usize, bytes: usize) {
        // SAFETY: as the caller says.
        unsafe { swap::byteswap(self, data, width, bytes) }
    }

    /// A loop, compiled for this level.
    pub(super) fn pick<L: Looping>(self) -> Loop {
        match self.0 {
            Set::Baseline => loop_baseline::<L>,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => loop_avx2::<L>,
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => loop_avx512::<L>,
        }
    }

    /// Runs a kernel, compiled for this level.
    ///
    /// # Safety
    /// What the kernel's fields say.
    pub(super) unsafe fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            // SAFETY: every processor has the baseline; the caller says the rest.
            Set::Baseline => unsafe { kernel.run(Set::Baseline) },
            // SAFETY: a `Level` is only made of what `is_here` found; the caller says the rest.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { with_avx2(kernel) },
            // SAFETY: as above.
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
