//! The best of many scores.

use std::cmp::Ordering;

use crate::bulk::reduce::Extreme;
use crate::error::Error;
use crate::fallible;

/// A row and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The number of the row, from 0.
    pub row: usize,
    /// Its score.
    pub score: f64,
}

/// The best rows so far. Of equal scores the one of the lower row is better, and NaN is worse than every number.
#[derive(Debug)]
pub struct Nearest {
    /// Up to twice as many as are wanted, so that the worse half is thrown away now and then only.
    found: Vec<Scored>,
    wanted: usize,
    which: Extreme,
    /// The last of the best, since worse ones were thrown away for the first time. No row behind it is among the best.
    last: Option<Scored>,
}

impl Nearest {
    /// Room for the `wanted` best of at most `rows` rows: those with the least or the greatest scores.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(wanted: usize, rows: usize, which: Extreme) -> Result<Self, Error> {
        let wanted = wanted.min(rows);
        Ok(Self { found: fallible::list(wanted.saturating_mul(2).min(rows))?, wanted, which, last: None })
    }

    /// Adds a row.
    pub fn add(&mut self, scored: Scored) {
        if self.wanted == 0 || self.last.is_some_and(|last| order(self.which, last, scored) == Ordering::Less) {
            return;
        }
        if self.found.len() == self.found.capacity() {
            self.keep_best();
        }
        self.found.push(scored);
    }

    fn keep_best(&mut self) {
        if self.found.len() > self.wanted {
            let which = self.which;
            self.found.select_nth_unstable_by(self.wanted - 1, |one, other| order(which, *one, *other));
            self.found.truncate(self.wanted);
            self.last = self.found.last().copied();
        }
    }

    /// The best rows, the best first.
    #[must_use]
    pub fn best(mut self) -> Vec<Scored> {
        if self.wanted > 0 {
            self.keep_best();
        }
        let which = self.which;
        self.found.sort_unstable_by(|one, other| order(which, *one, *other));
        self.found
    }
}

/// Which of two rows comes first.
fn order(which: Extreme, one: Scored, other: Scored) -> Ordering {
    let by_score = match (one.score.is_nan(), other.score.is_nan()) {
        (false, false) => {
            let rising = one.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
            if which == Extreme::Least { rising } else { rising.reverse() }
        }
        (one, other) => one.cmp(&other),
    };
    by_score.then(one.row.cmp(&other.row))
}

#[cfg(test)]
mod tests {
    use super::{Nearest, Scored};
    use crate::bulk::reduce::Extreme;
    use crate::error::Error;

    fn best(wanted: usize, which: Extreme, scores: &[f64]) -> Result<Vec<usize>, Error> {
        let mut nearest = Nearest::new(wanted, scores.len(), which)?;
        scores.iter().enumerate().for_each(|(row, &score)| nearest.add(Scored { row, score }));
        Ok(nearest.best().iter().map(|scored| scored.row).collect())
    }

    #[test]
    fn the_best_come_first_and_equal_ones_in_their_order() -> Result<(), Error> {
        let scores = [1.0, f64::NAN, 3.0, 1.0, 3.0, -2.0, f64::NEG_INFINITY];
        assert_eq!(best(3, Extreme::Greatest, &scores)?, [2, 4, 0]);
        assert_eq!(best(3, Extreme::Least, &scores)?, [6, 5, 0]);
        assert_eq!(best(100, Extreme::Greatest, &scores)?, [2, 4, 0, 3, 5, 6, 1]);
        assert_eq!(best(0, Extreme::Greatest, &scores)?, [0; 0]);
        let many: Vec<f64> = (0..1000).map(|n| f64::from(n * 7919 % 1009)).collect();
        let mut all: Vec<usize> = (0..1000).collect();
        all.sort_by(|&one, &other| many[one].total_cmp(&many[other]));
        for wanted in [1, 2, 10, 499, 500, 999, 1000] {
            assert_eq!(best(wanted, Extreme::Least, &many)?, all[..wanted]);
        }
        Ok(())
    }
}
