//! Sums: of elements, of what is calculated from each of them, of integers.

use super::fold::{Fold, LEVELS};
use crate::bulk::Readable;
use crate::bulk::reduce::{Pairs, Term, sum, whole_sum};
use crate::element::DType;

/// Adds up floats or complex numbers, in double. Integers are converted to doubles before.
#[derive(Clone, Copy, Debug)]
pub struct Sum(pub Term);

/// The dtype in which elements of a dtype are added in double.
#[must_use]
pub fn read_as_floats(dtype: DType) -> DType {
    match dtype {
        DType::Float | DType::Double => dtype,
        _ if dtype.is_complex() => dtype,
        _ if dtype.small_float().is_some() => DType::Float,
        _ => DType::Double,
    }
}

impl Fold for Sum {
    type State = Pairs<[f64; 2], LEVELS>;

    fn reads(&self, dtype: DType) -> DType {
        read_as_floats(dtype)
    }

    fn start(&self) -> Self::State {
        Pairs::new()
    }

    fn add(&self, total: &mut Self::State, part: Readable<'_>, _: usize) {
        total.add(sum(part, self.0));
    }

    fn join(&self, total: &mut Self::State, behind: Self::State) {
        total.append(&behind);
    }

    fn is_decided(&self, _: &Self::State) -> bool {
        false
    }
}

/// Adds up integers, exactly. A Bool counts as 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct WholeSum;

impl Fold for WholeSum {
    type State = i128;

    fn reads(&self, dtype: DType) -> DType {
        dtype
    }

    fn start(&self) -> i128 {
        0
    }

    fn add(&self, total: &mut i128, part: Readable<'_>, _: usize) {
        *total += whole_sum(part);
    }

    fn join(&self, total: &mut i128, behind: i128) {
        *total += behind;
    }

    fn is_decided(&self, _: &i128) -> bool {
        false
    }
}
