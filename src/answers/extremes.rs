//! The least and the greatest element, and where it is.

use super::fold::Fold;
use crate::bulk::Readable;
use crate::bulk::reduce::{Extreme, extreme, magnitude, position};
use crate::convert::Scalar;
use crate::element::DType;

/// Finds the first of the least or of the greatest elements. If there is a NaN, it finds the first NaN. -0 and 0 are equal.
#[derive(Clone, Copy, Debug)]
pub struct Extremes(pub Extreme);

/// An element that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Its value. A float of 16 or 8 bits is given as a float of 32 bits.
    pub value: Scalar,
    /// Its number in the tensor, from 0 in row-major order.
    pub number: usize,
}

/// The dtype in which elements of a dtype are compared.
pub(super) fn compared(dtype: DType) -> DType {
    if dtype.small_float().is_some() { DType::Float } else { dtype }
}

impl Fold for Extremes {
    type State = Option<Best>;

    fn reads(&self, dtype: DType) -> DType {
        compared(dtype)
    }

    fn start(&self) -> Option<Best> {
        None
    }

    fn add(&self, best: &mut Option<Best>, part: Readable<'_>, first: usize) {
        let value = extreme(part, self.0);
        if best.is_some_and(|best| !self.0.prefers(value, best.value)) {
            return;
        }
        // If another thread has changed the element since, the beginning of the part stands for it.
        let index = position(part, value).unwrap_or(0);
        *best = Some(Best { value: part.get_scalar(index).unwrap_or(value), number: first + index });
    }

    fn join(&self, best: &mut Option<Best>, behind: Option<Best>) {
        if let Some(behind) = behind.filter(|behind| best.is_none_or(|best| self.0.prefers(behind.value, best.value))) {
            *best = Some(behind);
        }
    }

    fn is_decided(&self, best: &Option<Best>) -> bool {
        matches!(best, Some(Best { value: Scalar::Float(value), .. }) if value.is_nan())
    }
}

/// Finds the least or the greatest magnitude. If there is a NaN, it is NaN.
#[derive(Clone, Copy, Debug)]
pub struct Magnitudes(pub Extreme);

impl Fold for Magnitudes {
    type State = Option<f64>;

    fn reads(&self, dtype: DType) -> DType {
        if compared(dtype) == DType::Float { DType::Float } else { DType::Double }
    }

    fn start(&self) -> Option<f64> {
        None
    }

    fn add(&self, best: &mut Option<f64>, part: Readable<'_>, _: usize) {
        self.join(best, Some(magnitude(part, self.0)));
    }

    fn join(&self, best: &mut Option<f64>, behind: Option<f64>) {
        let prefers = |behind: f64| best.is_none_or(|best| self.0.prefers(Scalar::Float(behind), Scalar::Float(best)));
        if let Some(behind) = behind.filter(|&behind| prefers(behind)) {
            *best = Some(behind);
        }
    }

    fn is_decided(&self, best: &Option<f64>) -> bool {
        best.is_some_and(f64::is_nan)
    }
}
