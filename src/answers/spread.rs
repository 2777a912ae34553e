//! How far elements are from their mean.

use super::fold::{Fold, LEVELS};
use super::sums::read_as_floats;
use crate::bulk::Readable;
use crate::bulk::reduce::{Joined, Pairs, Term, sum};
use crate::convert::count_to_f64;
use crate::element::DType;

/// Finds the mean and the sum of the squared distances from it, in one round: of each part it finds both, and then joins them.
#[derive(Clone, Copy, Debug)]
pub struct Spread;

/// What is known of some elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// How many there are.
    count: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Joined for Moments {
    const NONE: Self = Self { count: 0.0, mean: 0.0, squares: 0.0 };

    fn join(self, behind: Self) -> Self {
        let count = self.count + behind.count;
        let apart = behind.mean - self.mean;
        let share = behind.count / count;
        Self {
            count,
            mean: self.mean + apart * share,
            squares: self.squares + behind.squares + apart * apart * self.count * share,
        }
    }
}

impl Moments {
    /// The moments of a part. What the mean lost when it was rounded is taken into account.
    fn of(part: Readable<'_>) -> Self {
        let both = |term| sum(part, term).iter().sum::<f64>();
        let count = count_to_f64(part.size());
        let near = both(Term::Element) / count;
        let rest = both(Term::Distance(near));
        // A sum of squares is not negative, but NaN stays NaN.
        let squares = both(Term::SquareOfDistance(near)) - rest * rest / count;
        Self { count, mean: near + rest / count, squares: if squares < 0.0 { 0.0 } else { squares } }
    }

    /// The variance: the sum of the squared distances divided by the number of elements less 1, or by their number for a whole population.
    #[must_use]
    pub fn variance(self, is_population: bool) -> f64 {
        match is_population {
            true => self.squares / self.count,
            false if self.count == 1.0 => f64::NAN,
            false => self.squares / (self.count - 1.0),
        }
    }
}

impl Fold for Spread {
    type State = Pairs<Moments, LEVELS>;

    fn reads(&self, dtype: DType) -> DType {
        read_as_floats(dtype)
    }

    fn start(&self) -> Self::State {
        Pairs::new()
    }

    fn add(&self, state: &mut Self::State, part: Readable<'_>, _: usize) {
        state.add(Moments::of(part));
    }

    fn join(&self, state: &mut Self::State, behind: Self::State) {
        state.append(&behind);
    }

    fn is_decided(&self, _: &Self::State) -> bool {
        false
    }
}
