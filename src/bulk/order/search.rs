//! Where a number belongs among sorted elements.

use std::cmp::Ordering;

use super::keys::{Ordered, with_ordered};
use crate::bulk::access::Readable;
use crate::convert::Scalar;
use crate::element::DType;

/// On which side of equal elements a number belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the first of them.
    Left,
    /// Behind the last of them.
    Right,
}

/// Which elements come before a number: those whose keys are not above `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    last: u64,
    /// Whether there may be any.
    are_some: bool,
}

impl Bound {
    /// The bound that no element comes before.
    pub const NONE: Self = Self { last: 0, are_some: false };

    /// The bound of a real number among elements of a dtype, which need not have an element for it. `None` for NaN.
    ///
    /// # Panics
    /// If the elements are complex.
    #[must_use]
    pub fn of(number: Scalar, side: Side, dtype: DType) -> Option<Self> {
        with_ordered!(dtype, T => Self::among::<T>(number, side))
    }

    fn among<T: Ordered>(number: Scalar, side: Side) -> Option<Self> {
        let to = |element: T| compare(element.to_scalar(), number);
        if to(T::LEAST)? == Ordering::Greater {
            return Some(Self::NONE);
        }
        if to(T::GREATEST)? == Ordering::Less {
            return Some(Self::up_to(T::GREATEST.key(0)));
        }
        // It is the number, or the next element above or below it.
        let near = T::from_scalar(number);
        let is_before = match to(near)? {
            Ordering::Less => true,
            Ordering::Equal => side == Side::Right,
            Ordering::Greater => false,
        };
        let key = near.key(0);
        Some(match key.checked_sub(1) {
            _ if is_before => Self::up_to(key),
            Some(last) => Self::up_to(last),
            None => Self::NONE,
        })
    }

    fn up_to(last: u64) -> Self {
        Self { last, are_some: true }
    }

    #[inline(always)]
    fn has_before(self, key: u64) -> bool {
        self.are_some & (key <= self.last)
    }
}

/// Compares two real numbers as numbers, without rounding. `None` if one of them is NaN.
pub fn compare(one: Scalar, other: Scalar) -> Option<Ordering> {
    match (one, other) {
        (Scalar::Float(one), Scalar::Float(other)) => one.partial_cmp(&other),
        (Scalar::Float(float), whole) => compare_float(float, integer(whole)?),
        (whole, Scalar::Float(float)) => compare_float(float, integer(whole)?).map(Ordering::reverse),
        (one, other) => Some(integer(one)?.cmp(&integer(other)?)),
    }
}

fn integer(number: Scalar) -> Option<i128> {
    match number {
        Scalar::Signed(number) => Some(number.into()),
        Scalar::Unsigned(number) => Some(number.into()),
        Scalar::Float(_) | Scalar::Complex(..) => None,
    }
}

/// Compares a float with an integer of at most 64 bits.
fn compare_float(float: f64, integer: i128) -> Option<Ordering> {
    /// 2^65.
    const BEYOND: f64 = 36_893_488_147_419_103_232.0;
    if float.is_nan() || float.abs() >= BEYOND {
        return float.partial_cmp(&0.0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the whole part is in the range")]
    let whole = float.trunc() as i128;
    Some(whole.cmp(&integer).then(float.fract().partial_cmp(&0.0)?))
}

/// Sorted elements at equal distances. NaN is behind the numbers, if it is there.
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a> {
    memory: Readable<'a>,
    first: usize,
    stride: isize,
    size: usize,
}

/// The number of bounds for which elements are read at once. The processor waits for the memory of all of them at the same time.
const TOGETHER: usize = 16;

impl<'a> Sorted<'a> {
    /// `size` elements of a block, from element `first` on, each `stride` behind the one before it.
    ///
    /// # Panics
    /// If one of them is not in the block.
    #[must_use]
    pub fn new(memory: Readable<'a>, first: usize, stride: isize, size: usize) -> Self {
        let sorted = Self { memory, first, stride, size };
        let is_inside = |index| sorted.element(index) < memory.size();
        assert!(size == 0 || is_inside(0) && is_inside(size - 1), "the elements are in the block");
        sorted
    }

    /// The dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.memory.dtype()
    }

    /// The index in the block of an element.
    #[inline(always)]
    fn element(&self, index: usize) -> usize {
        self.first.wrapping_add_signed(self.stride.wrapping_mul(index.cast_signed()))
    }

    /// Calls `put` with the index of each bound, and with the number of elements that come before it. If the elements are not sorted, that
    /// is any number up to that of all elements.
    ///
    /// # Panics
    /// If the elements are complex.
    pub fn find(&self, bounds: &[Bound], mut put: impl FnMut(usize, usize)) {
        with_ordered!(self.memory.dtype(), T => {
            for (group, bounds) in bounds.chunks(TOGETHER).enumerate() {
                let places = self.places::<T>(bounds);
                for (index, &place) in places[..bounds.len()].iter().enumerate() {
                    put(group * TOGETHER + index, place);
                }
            }
        });
    }

    fn places<T: Ordered>(&self, bounds: &[Bound]) -> [usize; TOGETHER] {
        let values = self.memory.values::<T>();
        let has_before = |bound: &Bound, index: usize| bound.has_before(values.get(self.element(index)).key(0));
        // What is looked for is at `place`, or at most `left` behind it.
        let (mut places, mut left) = ([0; TOGETHER], self.size);
        while left > 1 {
            let half = left / 2;
            for (place, bound) in places.iter_mut().zip(bounds) {
                *place += if has_before(bound, *place + half - 1) { half } else { 0 };
            }
            left -= half;
        }
        if left == 1 {
            for (place, bound) in places.iter_mut().zip(bounds) {
                *place += usize::from(has_before(bound, *place));
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, Side, Sorted, compare};
    use crate::bulk::{Readable, Writable};
    use crate::convert::Scalar::{self, Float, Signed, Unsigned};
    use crate::element::DType;

    /// How many elements of a dtype come before a number.
    fn before(elements: &[Scalar], number: Scalar, side: Side, dtype: DType) -> Option<usize> {
        let mut bytes = vec![0; elements.len() * dtype.width()];
        let target = Writable::of(&mut bytes, dtype);
        for (index, &element) in elements.iter().enumerate() {
            assert!(target.set(index, element));
        }
        let sorted = Sorted::new(Readable::of(&bytes, dtype), 0, 1, elements.len());
        let mut place = None;
        sorted.find(&[Bound::of(number, side, dtype)?], |_, found| place = Some(found));
        place
    }

    #[test]
    fn numbers_are_compared_exactly() {
        let long = [i64::MIN, -(1 << 53) - 1, -3, 0, 1 << 53, (1 << 53) + 1, i64::MAX].map(Signed);
        for (number, left, right) in [
            (Float(f64::NEG_INFINITY), 0, 0),
            (Float(-1e300), 0, 0),
            (Signed(i64::MIN), 0, 1),
            (Float(-(2f64.powi(53))), 2, 2),
            (Float(-3.5), 2, 2),
            (Float(-2.5), 3, 3),
            (Float(-0.0), 3, 4),
            (Float(0.5), 4, 4),
            (Float(2f64.powi(53)), 4, 5),
            (Signed((1 << 53) + 1), 5, 6),
            (Float(2f64.powi(63)), 7, 7),
            (Signed(i64::MAX), 6, 7),
            (Unsigned(1 << 63), 7, 7),
            (Float(f64::INFINITY), 7, 7),
        ] {
            assert_eq!(before(&long, number, Side::Left, DType::Long), Some(left), "{number:?}");
            assert_eq!(before(&long, number, Side::Right, DType::Long), Some(right), "{number:?}");
        }
        assert_eq!(before(&long, Float(f64::NAN), Side::Left, DType::Long), None);
        let unsigned = [0, 1, 1 << 63, u64::MAX].map(Unsigned);
        assert_eq!(before(&unsigned, Signed(-1), Side::Right, DType::UInt64), Some(0));
        assert_eq!(before(&unsigned, Unsigned(u64::MAX), Side::Right, DType::UInt64), Some(4));
        assert_eq!(before(&unsigned, Float(2f64.powi(64)), Side::Left, DType::UInt64), Some(4));
        assert_eq!(before(&unsigned, Signed(0), Side::Left, DType::UInt64), Some(0));
    }

    #[test]
    fn nan_is_behind_all_numbers() {
        let numbers = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY, f64::NAN].map(Float);
        for dtype in [DType::Half, DType::Float, DType::Double, DType::BFloat16, DType::Float8_e5m2] {
            assert_eq!(before(&numbers, Float(f64::INFINITY), Side::Right, dtype), Some(5));
            assert_eq!(before(&numbers, Float(1e300), Side::Right, dtype), Some(4));
            assert_eq!(before(&numbers, Float(-1e300), Side::Left, dtype), Some(1));
            assert_eq!(before(&numbers, Float(-0.0), Side::Left, dtype), Some(2));
            assert_eq!(before(&numbers, Float(1.0000001), Side::Left, dtype), Some(4));
        }
        let small = [-448.0, 0.0, 448.0, f64::NAN].map(Float);
        assert_eq!(before(&small, Float(500.0), Side::Left, DType::Float8_e4m3fn), Some(3));
        assert_eq!(before(&small, Float(-500.0), Side::Right, DType::Float8_e4m3fn), Some(0));
    }

    #[test]
    fn integers_and_floats_are_compared_without_rounding() {
        use std::cmp::Ordering::{Equal, Greater, Less};
        for (one, other, expected) in [
            (Float(0.5), Signed(0), Some(Greater)),
            (Float(-0.5), Signed(0), Some(Less)),
            (Signed((1 << 53) + 1), Float(2f64.powi(53)), Some(Greater)),
            (Unsigned(u64::MAX), Float(2f64.powi(64)), Some(Less)),
            (Unsigned(7), Signed(7), Some(Equal)),
            (Float(f64::NAN), Signed(7), None),
        ] {
            assert_eq!(compare(one, other), expected, "{one:?} and {other:?}");
            assert_eq!(compare(other, one), expected.map(std::cmp::Ordering::reverse));
        }
    }
}
