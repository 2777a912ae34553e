//! Sums of floats, and of what is calculated from each of them. All is done in double.

use half::{bf16, f16};

use super::PART;
use super::pairs::Pairs;
use super::rows::{self, LANES, Step};
use crate::bulk::access::{Readable, Values};
use crate::bulk::level::{Kernel, Level};
use crate::element::{DType, Element};

/// How many elements are added before their lanes are joined.
pub(super) const PIECE: usize = 256;

/// What is added for an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// The element itself.
    Element,
    /// Its square.
    Square,
    /// Its magnitude.
    Magnitude,
    /// 1 if it is not 0, otherwise 0. NaN is not 0.
    IsNotZero,
    /// Its magnitude raised to this power.
    Power(f64),
    /// Its distance from this number.
    Distance(f64),
    /// The square of its distance from this number.
    SquareOfDistance(f64),
}

/// The sum of a part of Float, Double or complex elements, or of the squares of Halves and BFloat16s: of those with even indices, from 0,
/// and of those with odd ones. The parts of complex numbers count as elements.
///
/// # Panics
/// If the elements have another dtype, or are more than a part.
#[must_use]
pub fn sum(elements: Readable<'_>, term: Term) -> [f64; 2] {
    let elements = elements.retyped(elements.dtype().part());
    match elements.dtype() {
        DType::Float => sum_of::<f32>(elements.values(), term),
        DType::Half if term == Term::Square => squares::<f16>(Level::current(), elements.values()),
        DType::BFloat16 if term == Term::Square => squares::<bf16>(Level::current(), elements.values()),
        dtype => {
            assert!(dtype == DType::Double, "other elements are converted before they are added");
            sum_of::<f64>(elements.values(), term)
        }
    }
}

fn sum_of<T: Element>(values: Values<T>, term: Term) -> [f64; 2] {
    assert!(values.size() <= 2 * PART, "the elements are one part");
    let (level, step) = (Level::current(), Step::Other);
    match term {
        Term::Element => level.run(Sum { values, step: Step::Element, add: |_, sum, x| sum + x }),
        Term::Square => squares(level, values),
        Term::Magnitude => level.run(Sum { values, step, add: |_, sum, x: f64| sum + x.abs() }),
        Term::IsNotZero => level.run(Sum { values, step, add: |_, sum, x| sum + f64::from(u8::from(x != 0.0)) }),
        Term::Power(power) => level.run(Sum { values, step, add: |_, sum, x: f64| sum + x.abs().powf(power) }),
        Term::Distance(from) => level.run(Sum { values, step, add: |_, sum, x| sum + (x - from) }),
        Term::SquareOfDistance(from) => level.run(Sum { values, step, add: |_, sum, x| sum + (x - from) * (x - from) }),
    }
}

/// The sum of the squares.
fn squares<T: Element>(level: Level, values: Values<T>) -> [f64; 2] {
    level.run(Sum { values, step: product::<T>(), add: |level, sum, x| add_product::<T>(level, sum, x, x) })
}

/// The step that adds the product of two elements of type `T`, as [`add_product`] does.
pub(super) fn product<T: Element>() -> Step {
    if T::DTYPE == DType::Double { Step::Product } else { Step::ExactProduct }
}

/// Adds the product of two elements of type `T` to a sum. The product of two numbers of 24 bits is a double as it is.
#[inline(always)]
pub(super) fn add_product<T: Element>(level: Level, sum: f64, x: f64, y: f64) -> f64 {
    if T::DTYPE == DType::Double { sum + x * y } else { level.add_exact_product(x, y, sum) }
}

struct Sum<T, F> {
    values: Values<T>,
    /// What is added, if there are vectors for it.
    step: Step,
    /// Adds what is calculated from an element to a sum.
    add: F,
}

impl<T: Element, F: Fn(Level, f64, f64) -> f64> Kernel for Sum<T, F> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run(self, level: Level) -> [f64; 2] {
        let mut pieces = Pairs::<[f64; 2], 6>::new();
        let size = self.values.size();
        for start in (0..size).step_by(PIECE) {
            let piece = self.values.part(start..size.min(start + PIECE));
            let (mut lanes, added) = rows::add(level, self.step, piece, piece);
            let done = piece.size() / LANES * LANES;
            for row in (added..done).step_by(LANES) {
                let row = piece.part(row..row + LANES);
                for (lane, sum) in lanes.iter_mut().enumerate() {
                    *sum = (self.add)(level, *sum, row.get(lane).to_f64());
                }
            }
            if done < piece.size() {
                let rest = piece.part(done..piece.size());
                lanes = with_rest(lanes, rest.size(), |index, sum| (self.add)(Level::BASELINE, sum, rest.get(index).to_f64()));
            }
            pieces.add(joined(lanes));
        }
        pieces.total()
    }
}

/// Adds the elements behind the last full row. `add` gets the index of one and the sum of its lane.
///
/// It is not inlined, because the compiler would repeat it for each of the lanes. So it has only the instructions of every processor.
#[inline(never)]
pub(super) fn with_rest(mut lanes: [f64; LANES], count: usize, add: impl Fn(usize, f64) -> f64) -> [f64; LANES] {
    for (index, sum) in lanes.iter_mut().enumerate().take(count) {
        *sum = add(index, *sum);
    }
    lanes
}

/// The sums of the even and of the odd lanes.
#[inline(always)]
pub(super) fn joined(mut lanes: [f64; LANES]) -> [f64; 2] {
    let mut half = LANES / 2;
    while half >= 2 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    [lanes[0], lanes[1]]
}
