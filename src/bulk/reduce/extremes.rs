//! The least and the greatest element of a part.

use std::ops::BitOrAssign;

use super::PART;
use crate::bulk::access::{Readable, Values};
use crate::bulk::level::{Kernel, Level};
use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_native};

/// Which element is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The least one.
    Least,
    /// The greatest one.
    Greatest,
}

impl Extreme {
    /// Whether a number is more extreme than another one, or is NaN where the other one is not. Of equal numbers neither is, and both are
    /// of the same dtype.
    #[must_use]
    pub fn prefers(self, new: Scalar, old: Scalar) -> bool {
        let is_less = match (new, old) {
            (Scalar::Float(new), Scalar::Float(old)) if new.is_nan() || old.is_nan() => return !old.is_nan(),
            (Scalar::Float(new), Scalar::Float(old)) if new == old => return false,
            (Scalar::Float(new), Scalar::Float(old)) => new < old,
            (Scalar::Unsigned(new), Scalar::Unsigned(old)) if new != old => new < old,
            (Scalar::Signed(new), Scalar::Signed(old)) if new != old => new < old,
            _ => return false,
        };
        is_less == (self == Self::Least)
    }
}

/// The elements as those of a dtype that [`with_native`] knows: bytes without a type are those of a Byte. Small floats and complex numbers
/// were converted before.
pub(super) fn comparable(elements: Readable<'_>) -> Readable<'_> {
    if elements.dtype().is_untyped() { elements.bytes() } else { elements }
}

/// The panic for elements that should have been converted.
pub(super) const NOT_CONVERTED: &str = "small floats and complex numbers are converted before they are compared";

/// The least or greatest element of a part, which is not empty. It is NaN if there is one.
///
/// # Panics
/// If the elements are no real numbers of at least a byte, none at all, or more than a part.
#[must_use]
pub fn extreme(elements: Readable<'_>, which: Extreme) -> Scalar {
    assert!((1..=PART).contains(&elements.size()), "the elements are one part");
    let level = Level::current();
    let elements = comparable(elements);
    match elements.dtype() {
        DType::Float => extreme_float::<f32, u32, 32>(level, elements.values(), which),
        DType::Double => extreme_float::<f64, u64, 16>(level, elements.values(), which),
        dtype => with_native!(dtype, T => {
            let values = elements.values::<T>();
            match which {
                Extreme::Least => level.run(Best { values, is_better: |new: T, old: T| new < old }),
                Extreme::Greatest => level.run(Best { values, is_better: |new: T, old: T| new > old }),
            }
            .to_scalar()
        }, else unreachable!("{NOT_CONVERTED}")),
    }
}

/// The extreme of floats of type `T`, of which `LANES` are looked at side by side. `M` is an integer as wide as `T`.
fn extreme_float<T, M, const LANES: usize>(level: Level, values: Values<T>, which: Extreme) -> Scalar
where
    T: Element + PartialOrd,
    M: Copy + Default + PartialEq + From<bool> + BitOrAssign,
{
    let lanes = [M::default(); LANES];
    let (found, has_nan) = match which {
        Extreme::Least => level.run(BestFloat { values, lanes, is_better: |new: T, old: T| new < old }),
        Extreme::Greatest => level.run(BestFloat { values, lanes, is_better: |new: T, old: T| new > old }),
    };
    if has_nan { Scalar::Float(f64::NAN) } else { found.to_scalar() }
}

/// The least or the greatest magnitude of a part of Float or Double, which is not empty. It is NaN if there is one.
///
/// # Panics
/// If the elements have another dtype, are none at all, or more than a part.
#[must_use]
pub fn magnitude(elements: Readable<'_>, which: Extreme) -> f64 {
    assert!((1..=PART).contains(&elements.size()), "the elements are one part");
    let of = |index| elements.get(index).map_or(f64::NAN, f64::abs);
    (1..elements.size()).fold(of(0), |best, index| {
        let new = of(index);
        if which.prefers(Scalar::Float(new), Scalar::Float(best)) { new } else { best }
    })
}

/// The index, from 0, of the first element of a part that equals a number, or is NaN if the number is NaN. `None` if there is none: other
/// threads may have changed it.
#[must_use]
pub fn position(elements: Readable<'_>, number: Scalar) -> Option<usize> {
    let level = Level::current();
    let elements = comparable(elements);
    with_native!(elements.dtype(), T => {
        level.run(Position { values: elements.values::<T>(), wanted: T::from_scalar(number) })
    }, else unreachable!("{NOT_CONVERTED}"))
}

/// The best of some elements that are no floats.
struct Best<T, F> {
    values: Values<T>,
    is_better: F,
}

impl<T: Element, F: Fn(T, T) -> bool> Kernel for Best<T, F> {
    type Output = T;

    #[inline(always)]
    fn run(self, _: Level) -> T {
        let first = self.values.get(0);
        // The compiler vectorises the search among integers by itself.
        (0..self.values.size()).fold(first, |best, index| {
            let new = self.values.get(index);
            if (self.is_better)(new, best) { new } else { best }
        })
    }
}

/// The best of some floats, and whether there is a NaN.
struct BestFloat<T, M, F, const LANES: usize> {
    values: Values<T>,
    /// For each lane, whether it had a NaN: 0, so far. An integer as wide as an element is what the compiler vectorises.
    lanes: [M; LANES],
    is_better: F,
}

impl<T, M, F, const LANES: usize> Kernel for BestFloat<T, M, F, LANES>
where
    T: Element + PartialEq,
    M: Copy + Default + PartialEq + From<bool> + BitOrAssign,
    F: Fn(T, T) -> bool,
{
    type Output = (T, bool);

    #[inline(always)]
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    fn run(self, _: Level) -> (T, bool) {
        let (values, size, mut odd) = (self.values, self.values.size(), self.lanes);
        let mut best = [values.get(0); LANES];
        let done = size / LANES * LANES;
        for row in (0..done).step_by(LANES) {
            let row = values.part(row..row + LANES);
            for (lane, (best, odd)) in best.iter_mut().zip(&mut odd).enumerate() {
                let new = row.get(lane);
                *best = if (self.is_better)(new, *best) { new } else { *best };
                *odd |= M::from(new != new);
            }
        }
        let of_both = |best: T, new: T| if (self.is_better)(new, best) { new } else { best };
        // A few elements are all in the rest.
        let (found, mut has_nan) = match done {
            0 => (best[0], false),
            _ => (best.into_iter().fold(best[0], of_both), odd.into_iter().any(|odd| odd != M::default())),
        };
        let found = (done..size).fold(found, |best, index| {
            let new = values.get(index);
            has_nan |= new != new;
            of_both(best, new)
        });
        (found, has_nan)
    }
}

struct Position<T> {
    values: Values<T>,
    wanted: T,
}

impl<T: Element + PartialEq> Kernel for Position<T> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, _: Level) -> Option<usize> {
        const BLOCK: usize = 128;
        let (values, size, wanted) = (self.values, self.values.size(), self.wanted);
        #[expect(clippy::eq_op, reason = "this is how NaN is found")]
        let is_wanted = |value: T| value == wanted || (wanted != wanted && value != value);
        let holds = |start: usize| {
            let block = values.part(start..start + BLOCK);
            // The loop does not end at the first one, because the compiler could not vectorise it then.
            (0..block.size()).fold(false, |found, index| found | is_wanted(block.get(index)))
        };
        let whole = size / BLOCK * BLOCK;
        let start = (0..whole).step_by(BLOCK).find(|&start| holds(start)).unwrap_or(whole);
        (start..size).find(|&index| is_wanted(values.get(index)))
    }
}
