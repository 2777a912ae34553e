//! Results of parts, joined two by two, so that rounding errors do not grow with the number of elements.

/// A result of some elements, which can be joined with that of the elements behind them.
pub trait Joined: Copy {
    /// The result of no elements.
    const NONE: Self;

    /// The result of both.
    #[must_use]
    fn join(self, behind: Self) -> Self;
}

/// Two sums that are made apart.
impl Joined for [f64; 2] {
    const NONE: Self = [0.0; 2];

    fn join(self, behind: Self) -> Self {
        [self[0] + behind[0], self[1] + behind[1]]
    }
}

/// Results that come one after the other: the first and the second are joined, the third and the fourth, then these two, and so on. There
/// is room for 2^N - 1 of them.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<T, const N: usize> {
    /// The result of 2^level parts, for each bit of `count` that is set.
    results: [T; N],
    count: u64,
}

impl<T: Joined, const N: usize> Default for Pairs<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Joined, const N: usize> Pairs<T, N> {
    /// No results yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { results: [T::NONE; N], count: 0 }
    }

    /// Forgets all results.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds the next result.
    #[inline]
    pub fn add(&mut self, result: T) {
        self.add_at(0, result);
    }

    /// Adds the result of the next 2^level parts. The parts before them are a multiple of that.
    #[inline]
    fn add_at(&mut self, mut level: usize, mut result: T) {
        // As when one is added to a binary number: where there is a result already, both make one of the next level.
        let before = self.count;
        self.count += 1 << level;
        while before >> level & 1 == 1 {
            result = self.results[level].join(result);
            level += 1;
        }
        self.results[level] = result;
    }

    /// Adds the results of others. Those before them are a multiple of a power of two that is not smaller than their number.
    pub fn append(&mut self, others: &Self) {
        for level in (0..N).rev().filter(|level| others.count >> level & 1 == 1) {
            self.add_at(level, others.results[level]);
        }
    }

    /// The result of all.
    #[must_use]
    #[inline]
    pub fn total(&self) -> T {
        let mut left = self.count;
        if left == 0 {
            return T::NONE;
        }
        let mut result = self.results[left.trailing_zeros() as usize];
        left &= left - 1;
        while left != 0 {
            result = self.results[left.trailing_zeros() as usize].join(result);
            left &= left - 1;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::Pairs;

    /// The sum of 2^k numbers is that of the two halves.
    fn by_halves(numbers: &[f64]) -> f64 {
        match numbers {
            [] => 0.0,
            [number] => *number,
            _ => {
                let half = numbers.len().next_power_of_two() / 2;
                by_halves(&numbers[..half]) + by_halves(&numbers[half..])
            }
        }
    }

    #[test]
    fn the_sum_is_that_of_two_halves_however_it_is_divided() {
        let numbers: Vec<f64> = (0..1000).map(|n| (f64::from(n) * 0.7).sin() * 1e3).collect();
        for size in [0, 1, 2, 3, 5, 64, 100, 511, 512, 999, 1000] {
            let whole = by_halves(&numbers[..size]);
            for block in [1, 4, 64, 256] {
                let mut all = Pairs::<[f64; 2], 12>::new();
                for part in numbers[..size].chunks(block) {
                    let mut sum = Pairs::<[f64; 2], 12>::new();
                    part.iter().for_each(|&number| sum.add([number, -number]));
                    all.append(&sum);
                }
                assert_eq!(all.total().map(f64::to_bits), [whole.to_bits(), if size == 0 { 0 } else { (-whole).to_bits() }]);
            }
        }
    }
}
