//! A sum of integers divided by their number, rounded once.

/// `sum / count` as the nearest double. The sum is that of `count` integers of 64 bits.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "this is where the result is rounded")]
pub fn quotient(sum: i128, count: usize) -> f64 {
    let (magnitude, count) = (sum.unsigned_abs(), count as u128);
    if magnitude == 0 || count == 0 {
        return if count == 0 { f64::NAN } else { 0.0 };
    }
    // The quotient gets at least 63 bits, and its last one is set if anything is left over. So rounding it to 53 bits rounds the exact
    // quotient.
    let shift = magnitude.leading_zeros();
    let scaled = magnitude << shift;
    let quotient = (scaled / count) | u128::from(!scaled.is_multiple_of(count));
    // Both factors are powers of two that a double has, and so is the result.
    let result = quotient as f64 * 0.5f64.powi(shift.cast_signed());
    if sum < 0 { -result } else { result }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "the test rounds on purpose")]
mod tests {
    use super::quotient;

    #[test]
    fn it_is_rounded_once() {
        assert_eq!(quotient(7, 2).to_bits(), 3.5f64.to_bits());
        assert_eq!(quotient(-7, 2).to_bits(), (-3.5f64).to_bits());
        assert_eq!(quotient(0, 3).to_bits(), 0);
        assert!(quotient(0, 0).is_nan());
        assert_eq!(quotient(1, 3).to_bits(), (1.0f64 / 3.0).to_bits());
        // The sum rounded before the division would give an even number of units more.
        assert_eq!(quotient((1 << 54) + 1, 1).to_bits(), ((1u64 << 54) as f64).to_bits());
        assert_eq!(quotient((1 << 54) + 3, 1).to_bits(), (((1u64 << 54) + 4) as f64).to_bits());
        assert_eq!(quotient((3 << 54) + 3, 3).to_bits(), ((1u64 << 54) as f64).to_bits());
        assert_eq!(quotient(i128::from(u64::MAX) * 1000, 1000).to_bits(), (u64::MAX as f64).to_bits());
        for number in 1..1000i32 {
            for count in 1..50usize {
                let exact = f64::from(number) / count as f64;
                assert_eq!(quotient(number.into(), count).to_bits(), exact.to_bits());
            }
        }
    }
}
