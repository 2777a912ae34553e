//! Sums of what is calculated from two elements: products, and squares of differences.

use half::{bf16, f16};

use super::PART;
use super::pairs::Pairs;
use super::rows::{self, LANES, Step};
use super::sums::{PIECE, add_product, joined, product, with_rest};
use crate::bulk::access::{Readable, Values};
use crate::bulk::level::{Kernel, Level};
use crate::convert::{Bool, Scalar};
use crate::element::{DType, Element};

/// What is added for two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Both {
    /// Their product. Complex numbers are multiplied as they are, not conjugated.
    Product,
    /// The square of their distance.
    SquareOfDistance,
}

/// The sum of what is calculated from the elements of two parts of Float, Double or complex elements, in double. For complex elements it
/// has a real and an imaginary part; otherwise the second number is 0. The right elements have the dtype of the left ones. Beside Floats
/// they may be Doubles, each of which a Float could hold. Beside Halves and BFloat16s they are such Doubles.
///
/// # Panics
/// If the parts differ in size, or are more than a part, or have another dtype.
#[must_use]
pub fn sum_of_both(left: Readable<'_>, right: Readable<'_>, both: Both) -> [f64; 2] {
    if left.dtype().is_complex() {
        assert!(
            left.dtype() == right.dtype() && left.size() == right.size() && left.size() <= PART,
            "two parts of the same elements"
        );
        return complex(left, right, both);
    }
    let mut sum = [0.0];
    sums_of_both(left, right, both, &mut sum);
    [sum[0], 0.0]
}

/// Does the same for several parts of real elements, which lie one behind the other, beside the same right elements. There is a sum for
/// each of them. All are made at once, because choosing the instructions of the processor takes as long as some elements.
///
/// # Panics
/// Those of [`sum_of_both`]; for complex elements.
pub fn sums_of_both(left: Readable<'_>, right: Readable<'_>, both: Both, sums: &mut [f64]) {
    assert!(left.size() == sums.len() * right.size() && right.size() <= PART, "parts of the same size");
    match (left.dtype(), right.dtype()) {
        (DType::Float, DType::Float) => sums_of::<f32, f32>(left.values(), right.values(), both, sums),
        (DType::Float, DType::Double) => sums_of::<f32, f64>(left.values(), right.values(), both, sums),
        (DType::Half, DType::Double) => sums_of::<f16, f64>(left.values(), right.values(), both, sums),
        (DType::BFloat16, DType::Double) => sums_of::<bf16, f64>(left.values(), right.values(), both, sums),
        dtypes => {
            assert!(dtypes == (DType::Double, DType::Double), "other elements are converted before they are multiplied");
            sums_of::<f64, f64>(left.values(), right.values(), both, sums);
        }
    }
}

/// Whether [`sums_of_both`] takes elements of this dtype of small floats beside Doubles, and is faster than with converted ones.
#[must_use]
pub fn takes_small_floats(dtype: DType) -> bool {
    rows::takes(Level::current(), dtype)
}

fn sums_of<T: Element, U: Element>(left: Values<T>, right: Values<U>, both: Both, sums: &mut [f64]) {
    let level = Level::current();
    match both {
        Both::Product => level.run(Sums { left, right, sums, step: product::<T>(), add: add_product::<T> }),
        Both::SquareOfDistance => {
            let add = |_, sum: f64, x: f64, y| sum + (x - y) * (x - y);
            level.run(Sums { left, right, sums, step: Step::SquareOfDistance, add });
        }
    }
}

/// Sums of parts of `left`, each beside `right`.
struct Sums<'a, T, U, F> {
    left: Values<T>,
    right: Values<U>,
    sums: &'a mut [f64],
    /// What is added for two elements, for vectors.
    step: Step,
    /// Adds what is calculated from two elements to a sum.
    add: F,
}

impl<T: Element, U: Element, F: Fn(Level, f64, f64, f64) -> f64> Kernel for Sums<'_, T, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        let size = self.right.size();
        for (number, sum) in self.sums.iter_mut().enumerate() {
            let left = self.left.part(number * size..(number + 1) * size);
            let mut pieces = Pairs::<[f64; 2], 6>::new();
            for start in (0..size).step_by(PIECE) {
                let range = start..size.min(start + PIECE);
                let (left, right) = (left.part(range.clone()), self.right.part(range));
                let (mut lanes, added) = rows::add(level, self.step, left, right);
                let done = left.size() / LANES * LANES;
                for row in (added..done).step_by(LANES) {
                    let (left, right) = (left.part(row..row + LANES), right.part(row..row + LANES));
                    for (lane, sum) in lanes.iter_mut().enumerate() {
                        *sum = (self.add)(level, *sum, left.get(lane).to_f64(), right.get(lane).to_f64());
                    }
                }
                if done < left.size() {
                    let (left, right) = (left.part(done..left.size()), right.part(done..right.size()));
                    lanes = with_rest(lanes, left.size(), |index, sum| {
                        (self.add)(Level::BASELINE, sum, left.get(index).to_f64(), right.get(index).to_f64())
                    });
                }
                pieces.add(joined(lanes));
            }
            let [even, odd] = pieces.total();
            *sum = even + odd;
        }
    }
}

/// The sum for complex elements, one after the other.
fn complex(left: Readable<'_>, right: Readable<'_>, both: Both) -> [f64; 2] {
    let parts = |number: Option<Scalar>| number.map_or((f64::NAN, 0.0), Scalar::parts);
    let mut sums = Pairs::<[f64; 2], 14>::new();
    for index in 0..left.size() {
        let ((a, b), (c, d)) = (parts(left.get_scalar(index)), parts(right.get_scalar(index)));
        sums.add(match both {
            Both::Product => [a * c - b * d, a * d + b * c],
            Both::SquareOfDistance => [(a - c) * (a - c) + (b - d) * (b - d), 0.0],
        });
    }
    sums.total()
}

/// The sum of the products of two parts of integers, modulo 2^64. A Bool counts as 0 or 1.
///
/// # Panics
/// If the parts differ in dtype or size, or have no integers.
#[must_use]
pub fn whole_product(left: Readable<'_>, right: Readable<'_>) -> u64 {
    assert!(left.dtype() == right.dtype() && left.size() == right.size(), "two parts of the same elements");
    let level = Level::current();
    match left.dtype() {
        DType::Byte | DType::Untyped => level.run(Products::<u8>::of(left, right)),
        DType::Bool => level.run(Products::<Bool>::of(left, right)),
        DType::Char => level.run(Products::<i8>::of(left, right)),
        DType::Short => level.run(Products::<i16>::of(left, right)),
        DType::UInt16 => level.run(Products::<u16>::of(left, right)),
        DType::Int => level.run(Products::<i32>::of(left, right)),
        DType::UInt32 => level.run(Products::<u32>::of(left, right)),
        DType::Long => level.run(Products::<i64>::of(left, right)),
        dtype => {
            assert!(dtype == DType::UInt64, "only integers are multiplied like this");
            level.run(Products::<u64>::of(left, right))
        }
    }
}

struct Products<T> {
    left: Values<T>,
    right: Values<T>,
}

impl<T: Element> Products<T> {
    fn of(left: Readable<'_>, right: Readable<'_>) -> Self {
        Self { left: left.values(), right: right.values() }
    }
}

impl<T: Element> Kernel for Products<T> {
    type Output = u64;

    #[inline(always)]
    fn run(self, _: Level) -> u64 {
        let (size, left) = (self.left.size(), self.left);
        let right = self.right.first(size);
        (0..size).fold(0, |sum: u64, index| {
            sum.wrapping_add(left.get(index).convert::<u64>().wrapping_mul(right.get(index).convert::<u64>()))
        })
    }
}
