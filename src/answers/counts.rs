//! How many elements equal a number.

use std::cmp::Ordering;

use super::extremes::compared;
use super::fold::Fold;
use crate::bulk::Readable;
use crate::bulk::order::compare;
use crate::bulk::reduce::count;
use crate::convert::{Number, Scalar};
use crate::element::{DType, with_element};

/// Counts the elements that equal an element of their dtype. It stops if `enough` of them were found.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The element.
    pub wanted: Scalar,
    /// How many are enough.
    pub enough: usize,
}

impl Fold for Count {
    type State = usize;

    fn reads(&self, dtype: DType) -> DType {
        compared(dtype)
    }

    fn start(&self) -> usize {
        0
    }

    fn add(&self, found: &mut usize, part: Readable<'_>, _: usize) {
        *found += count(part, self.wanted);
    }

    fn join(&self, found: &mut usize, behind: usize) {
        *found += behind;
    }

    fn is_decided(&self, found: &usize) -> bool {
        *found >= self.enough
    }
}

/// The element of a dtype that equals a number exactly. `None` if there is none, as 2.5 among integers, or NaN.
#[must_use]
pub fn as_element(dtype: DType, number: Scalar) -> Option<Scalar> {
    let element = with_element!(dtype, T => T::from_scalar(number).to_scalar());
    (compare(element, number) == Some(Ordering::Equal)).then_some(element)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::as_element;
    use crate::bulk::order::compare;
    use crate::convert::Scalar::{Float, Signed, Unsigned};
    use crate::element::DType;

    #[test]
    fn only_a_number_of_the_class_is_an_element() {
        let same = |dtype, number| {
            let element = as_element(dtype, number);
            assert!(element.is_some_and(|element| compare(element, number) == Some(Ordering::Equal)), "{number:?}: {element:?}");
        };
        same(DType::Byte, Float(200.0));
        for number in
            [Float(256.0), Float(-1.0), Float(2.5), Float(f64::NAN), Float(f64::INFINITY), Signed(256), Signed(i64::MIN)]
        {
            assert_eq!(as_element(DType::Byte, number), None);
        }
        same(DType::Long, Float(9_007_199_254_740_992.0));
        assert_eq!(as_element(DType::Long, Float(9_223_372_036_854_775_808.0)), None);
        same(DType::UInt64, Float(9_223_372_036_854_775_808.0));
        same(DType::UInt64, Unsigned(u64::MAX));
        assert_eq!(as_element(DType::UInt64, Signed(-1)), None);
        assert_eq!(as_element(DType::Double, Signed((1 << 53) + 1)), None);
        assert_eq!(as_element(DType::Double, Unsigned(u64::MAX)), None);
        same(DType::Float, Float(0.5));
        assert_eq!(as_element(DType::Float, Float(0.1)), None);
        same(DType::Double, Float(f64::INFINITY));
    }
}
