//! Elements from decimal text, which holds all bits of a 64-bit integer. A Lua number does not.

use std::io::Write;

use super::{DType, Kind};
use crate::convert::Scalar;

impl DType {
    /// The number that a decimal integer becomes as an element: spaces around, an optional sign, and digits, of any number. `None`
    /// for any other text.
    ///
    /// The result has what an element of this dtype needs. For an integer dtype these are the low 64 bits. For a float it is a
    /// number that converts to the same element as the exact value does.
    ///
    /// ```
    /// use torch_storage::DType;
    /// use torch_storage::convert::Scalar;
    ///
    /// assert_eq!(DType::Long.read_decimal(b" 9223372036854775807 "), Some(Scalar::Signed(i64::MAX)));
    /// assert_eq!(DType::Double.read_decimal(b"9007199254740993"), Some(Scalar::Float(9_007_199_254_740_992.0)));
    /// assert_eq!(DType::Long.read_decimal(b"1e3"), None);
    /// ```
    #[must_use]
    pub fn read_decimal(self, text: &[u8]) -> Option<Scalar> {
        let signed = trim(text);
        let (is_negative, digits) = match signed {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        // ASCII digits with a sign are UTF-8, and Rust reads them all, rounded to nearest even.
        let text = std::str::from_utf8(signed).ok()?;
        Some(match (self.part().kind(), self.part().width()) {
            (Kind::Unsigned | Kind::Signed | Kind::Untyped, _) => {
                let low = digits.iter().fold(0u64, |low, digit| low.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
                Scalar::Signed(if is_negative { low.wrapping_neg() } else { low }.cast_signed())
            }
            (Kind::Bool, _) => Scalar::Signed(digits.iter().any(|&digit| digit != b'0').into()),
            (Kind::SmallFloat, _) if self == Self::BFloat16 => Scalar::Float(sticky(text, digits)?),
            // Halves and floats of 8 bits are rounded through single precision.
            (Kind::SmallFloat, _) | (_, 4) => Scalar::Float(text.parse::<f32>().ok()?.into()),
            _ => Scalar::Float(text.parse().ok()?),
        })
    }
}

/// The text without the characters around it that C's `isspace` takes for spaces.
fn trim(text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let first = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let last = text.iter().rposition(|byte| !is_space(byte)).map_or(first, |last| last + 1);
    &text[first..last]
}

/// A decimal integer as a double that rounds to the same bfloat16 as the exact value. The nearest double does not, if it lies in the
/// middle between two bfloat16 and the exact value does not.
fn sticky(text: &str, digits: &[u8]) -> Option<f64> {
    /// The bits of a double's mantissa that are 0 in a bfloat16, and in the middle between two of them.
    const BELOW_MIDDLE: u64 = (1 << 44) - 1;
    let nearest: f64 = text.parse().ok()?;
    if !nearest.is_finite() || nearest.to_bits() & BELOW_MIDDLE != 0 {
        return Some(nearest);
    }
    // The largest double has 309 digits.
    let mut exact = [0; 320];
    let mut rest = &mut exact[..];
    write!(rest, "{:.0}", nearest.abs()).ok()?;
    let left = rest.len();
    let exact = exact[..exact.len() - left].trim_ascii();
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let before = exact.iter().take_while(|&&digit| digit == b'0').count();
    let (given, exact) = (&digits[zeros..], &exact[before..]);
    Some(match given.len().cmp(&exact.len()).then_with(|| given.cmp(exact)) {
        std::cmp::Ordering::Less => f64::from_bits(nearest.to_bits() - 1),
        std::cmp::Ordering::Equal => nearest,
        std::cmp::Ordering::Greater => f64::from_bits(nearest.to_bits() + 1),
    })
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::DType;
    use crate::convert::{Number, Scalar};

    #[test]
    fn integers_keep_their_low_bits_at_any_length() {
        let low = |text: &str| DType::Long.read_decimal(text.as_bytes());
        assert_eq!(low("-9223372036854775808"), Some(Scalar::Signed(i64::MIN)));
        assert_eq!(low("18446744073709551615"), Some(Scalar::Signed(-1)));
        assert_eq!(low("-18446744073709551617"), Some(Scalar::Signed(-1)));
        assert_eq!(low(&format!("1{}", "0".repeat(64))), Some(Scalar::Signed(0)));
        assert_eq!(low(&format!("1{}7", "0".repeat(400))), Some(Scalar::Signed(7)));
        assert_eq!(low("\t\n\x0b\x0c\r +5 "), Some(Scalar::Signed(5)));
    }

    #[test]
    fn only_decimal_integers_are_read() {
        for text in ["", " ", "+", "-", "- 5", "+-5", "5.0", "1e3", "0x10", "1_0", "5 5", "5\0", "\u{665}", "inf", "nan"] {
            for &dtype in DType::ALL {
                assert_eq!(dtype.read_decimal(text.as_bytes()), None, "{text:?}");
            }
        }
    }

    #[test]
    fn a_bool_is_false_only_if_all_digits_are_zero() {
        let bool_of = |text: &str| DType::Bool.read_decimal(text.as_bytes());
        assert_eq!(bool_of("-000"), Some(Scalar::Signed(0)));
        assert_eq!(bool_of("18446744073709551616"), Some(Scalar::Signed(1)));
        assert_eq!(bool_of(&format!("{}1", "0".repeat(400))), Some(Scalar::Signed(1)));
    }

    #[test]
    fn floats_are_rounded_once() {
        let float = |text: &str| DType::Float.read_decimal(text.as_bytes());
        // The nearest double is the middle between two floats, and the exact value is above and below it.
        assert_eq!(float("36028799166447617"), Some(Scalar::Float(2f64.powi(55) + 2f64.powi(32))));
        assert_eq!(float("36028799166447615"), Some(Scalar::Float(2f64.powi(55))));
        let brain = |text: &str| DType::BFloat16.read_decimal(text.as_bytes()).map(bf16::from_scalar).map(bf16::to_bits);
        // 2^64 + 2^56 is the middle between 2^64 and the next bfloat16.
        assert_eq!(brain("18518801667747479552"), Some(0x5f80));
        assert_eq!(brain("18518801667747479553"), Some(0x5f81));
        assert_eq!(brain("18518801667747479551"), Some(0x5f80));
        assert_eq!(brain("-0018518801667747479553"), Some(0xdf81));
        // 2^64 + 3 * 2^56 is the middle above it, and its even neighbour is the upper one.
        assert_eq!(brain("18662916855823335424"), Some(0x5f82));
        assert_eq!(brain("18662916855823335423"), Some(0x5f81));
        assert_eq!(brain(&"9".repeat(400)), Some(0x7f80));
        assert_eq!(brain("-0"), Some(0x8000));
    }
}
