//! Writes numbers as text like C's formats `%.17g`, `%.9g` and `%ld`: correctly rounded, ties to even.
//!
//! A number is m times 2^e. Multiplied by the right power of ten, it has the wanted number of digits before the point. The product
//! of 64 and 128 bits is precise enough to round the number. If it were not, the standard library would find the digits. A search
//! through all exponents has found no such number.

use std::io::Write;

use super::powers;

/// The largest number of bytes that a number needs while it is written. The longest text has 24: `-1.2345678901234567e-308`.
pub const LONGEST: usize = 32;

/// This number of digits tells any two doubles apart.
const DOUBLE: usize = 17;
/// This number of digits tells any two floats apart.
const FLOAT: usize = 9;

/// A number that is being written. At first all bytes are `'0'`, because most of the bytes around the digits are zeros.
type Text = [u8; LONGEST];

/// The number `digits` times 10^(`exponent` - [`DOUBLE`] + 1). It is neither zero nor infinite, and its first digit is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

/// Appends `value` as `printf("%.17g")` writes it. Needs room for [`LONGEST`] bytes.
pub fn put_f64(value: f64, out: &mut Vec<u8>) {
    put::<DOUBLE>(value, out);
}

/// Appends `value` as `printf("%.9g")` writes it. Needs room for [`LONGEST`] bytes.
pub fn put_f32(value: f32, out: &mut Vec<u8>) {
    put::<FLOAT>(f64::from(value), out);
}

/// Appends `value` as `printf("%ld")` writes it. Needs room for [`LONGEST`] bytes.
pub fn put_i64(value: i64, out: &mut Vec<u8>) {
    let mut text = [b'0'; LONGEST];
    let start = sign(value < 0, &mut text);
    let end = whole(value.unsigned_abs(), &mut text, start);
    append(&text, end, out);
}

/// Appends the complete text and then cuts it, because a copy of a fixed length is faster than one of a variable length.
#[inline]
fn append(text: &Text, end: usize, out: &mut Vec<u8>) {
    let end = out.len() + end;
    out.extend_from_slice(text);
    out.truncate(end);
}

#[inline]
fn sign(negative: bool, text: &mut Text) -> usize {
    if negative {
        text[0] = b'-';
    }
    usize::from(negative)
}

/// The exponent field of a double, and the mantissa as a whole number.
const fn parts(magnitude: u64) -> (u64, u64) {
    const HIDDEN: u64 = 1 << 52;
    let (field, mantissa) = (magnitude >> 52, magnitude & (HIDDEN - 1));
    if field == 0 { (1, mantissa) } else { (field, mantissa | HIDDEN) }
}

fn put<const DIGITS: usize>(value: f64, out: &mut Vec<u8>) {
    let mut text = [b'0'; LONGEST];
    let start = sign(value.is_sign_negative(), &mut text);
    let magnitude = value.to_bits() & !(1 << 63);
    let (field, mantissa) = parts(magnitude);
    let end = if field == 0x7ff {
        text[start..start + 3].copy_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
        start + 3
    } else if let Some(number) = small_whole::<DIGITS>(field, mantissa) {
        whole(number, &mut text, start)
    } else {
        let number = decimal::<DIGITS>(field, mantissa).unwrap_or_else(|| exactly::<DIGITS>(f64::from_bits(magnitude)));
        general::<DIGITS>(number, &mut text, start)
    };
    append(&text, end, out);
}

/// The value of a whole number whose digits are all written. Such numbers are written in a simpler way.
#[inline]
fn small_whole<const DIGITS: usize>(field: u64, mantissa: u64) -> Option<u64> {
    const ONE: u64 = 1023; // the field of 1.0
    if mantissa == 0 {
        return Some(0);
    }
    let fraction = 52 - field.checked_sub(ONE).filter(|&bits| bits <= 52)?;
    let number = mantissa >> fraction;
    let limit = if DIGITS == FLOAT { 1_000_000_000 } else { u64::MAX };
    (number << fraction == mantissa && number < limit).then_some(number)
}

/// The rounded digits. `None` if the product is so close to the middle of two neighbours that it does not decide.
fn decimal<const DIGITS: usize>(field: u64, mantissa: u64) -> Option<Decimal> {
    let unset = mantissa.leading_zeros();
    let mantissa = u128::from(mantissa << unset);
    // 2^top is the highest bit of the number.
    let top = i32::try_from(field).ok()? - 1075 + 63 - i32::try_from(unset).ok()?;
    let digits = i32::try_from(DIGITS).ok()?;
    let (least, limit) = (10u64.pow(u32::try_from(DIGITS).ok()? - 1), 10u64.pow(u32::try_from(DIGITS).ok()?));

    // For some numbers the exponent is too small by one. Then the product has one digit too many.
    let mut exponent = powers::log10(top);
    loop {
        let power = digits - 1 - exponent;
        let bits = powers::bits(power)?;
        let low = mantissa * (bits & u128::from(u64::MAX));
        let product = mantissa * (bits >> 64) + (low >> 64);
        let point = 126 - top - powers::log2(power);
        let number = u64::try_from(product >> point).ok()?;
        if number >= limit {
            exponent += 1;
            continue;
        }

        let fraction = product & ((1 << point) - 1);
        let half = 1 << (point - 1);
        let up = if powers::is_exact(power) {
            let below = low & u128::from(u64::MAX) != 0;
            fraction > half || (fraction == half && (below || number % 2 == 1))
        } else {
            // The exact product is larger, by less than one unit of the last bit. It is not a tie: a tie of at most 17 digits is
            // an odd multiple of 5^power / 2, so its power is from 0 to 24, and such powers are exact.
            if fraction == half - 1 {
                return None;
            }
            fraction >= half
        };
        let number = number + u64::from(up);
        let (number, exponent) = if number == limit { (least, exponent + 1) } else { (number, exponent) };
        let wide = if DIGITS == FLOAT { 100_000_000 } else { 1 };
        return Some(Decimal { digits: number * wide, exponent });
    }
}

/// The rounded digits from the standard library, which is slow and always decides.
#[cold]
fn exactly<const DIGITS: usize>(magnitude: f64) -> Decimal {
    let mut text = [0; LONGEST];
    let room = text.len();
    let mut rest = text.as_mut_slice();
    // The text fits: a digit, a point, at most 16 more digits, and at most five bytes of exponent.
    let _ = write!(rest, "{magnitude:.*e}", DIGITS - 1);
    let length = room - rest.len();

    let (mut digits, mut places) = (0, 0);
    let (mut exponent, mut below, mut in_exponent) = (0, false, false);
    for &byte in &text[..length] {
        match byte {
            b'0'..=b'9' if in_exponent => exponent = exponent * 10 + i32::from(byte - b'0'),
            b'0'..=b'9' => (digits, places) = (digits * 10 + u64::from(byte - b'0'), places + 1),
            b'e' => in_exponent = true,
            b'-' => below = true,
            _ => {}
        }
    }
    while places < DOUBLE {
        (digits, places) = (digits * 10, places + 1);
    }
    Decimal { digits, exponent: if below { -exponent } else { exponent } }
}

/// Writes a number by the rules of `%g`: no zeros at the end, and an exponent only below 10^-4 and from 10^DIGITS on.
#[inline]
fn general<const DIGITS: usize>(number: Decimal, text: &mut Text, start: usize) -> usize {
    const EIGHT: u64 = 100_000_000;
    let (first, rest) = (number.digits / (EIGHT * EIGHT), number.digits % (EIGHT * EIGHT));
    let (high, low) = (eight_digits(rest / EIGHT), eight_digits(rest % EIGHT));
    let mut digits = [0; DOUBLE];
    digits[0] = digit(first);
    digits[1..9].copy_from_slice(&(high | ZEROS).to_le_bytes());
    digits[9..17].copy_from_slice(&(low | ZEROS).to_le_bytes());
    let unused = if low == 0 { 64 + high.leading_zeros() } else { low.leading_zeros() } / 8;
    // At most 16 digits are unused: the low eight and the high eight may be zeros.
    let count = DOUBLE - usize::try_from(unused).unwrap_or(0);

    let places = usize::try_from(number.exponent.unsigned_abs()).unwrap_or(0);
    let place = &mut text[start..];
    let end = if number.exponent >= 0 && places < DIGITS {
        let before = places + 1;
        if count <= before {
            place[..DOUBLE].copy_from_slice(&digits);
            before
        } else {
            place[1..=DOUBLE].copy_from_slice(&digits);
            place[..before].copy_from_slice(&digits[..before]);
            place[before] = b'.';
            count + 1
        }
    } else if number.exponent < 0 && places <= 4 {
        place[1] = b'.';
        place[places + 1..places + 1 + DOUBLE].copy_from_slice(&digits);
        places + 1 + count
    } else {
        place[1..=DOUBLE].copy_from_slice(&digits);
        place[0] = digits[0];
        place[1] = b'.';
        let end = if count == 1 { 1 } else { count + 1 };
        power(number.exponent, place, end)
    };
    start + end
}

/// Writes an exponent like `e+05` or `e-310`: a sign and at least two digits.
#[inline]
fn power(exponent: i32, text: &mut [u8], at: usize) -> usize {
    let magnitude = u64::from(exponent.unsigned_abs());
    text[at] = b'e';
    text[at + 1] = if exponent < 0 { b'-' } else { b'+' };
    let hundreds = magnitude / 100;
    text[at + 2] = digit(hundreds);
    let at = at + 2 + usize::from(hundreds > 0);
    text[at] = digit(magnitude / 10 % 10);
    text[at + 1] = digit(magnitude % 10);
    at + 2
}

/// Writes a whole number without leading zeros.
#[inline]
fn whole(number: u64, text: &mut Text, start: usize) -> usize {
    const EIGHT: u64 = 100_000_000;
    if number < EIGHT {
        return leading_digits(number, text, start);
    }
    let (high, low) = (number / EIGHT, number % EIGHT);
    let mut at = if high < EIGHT {
        leading_digits(high, text, start)
    } else {
        let at = leading_digits(high / EIGHT, text, start);
        text[at..at + 8].copy_from_slice(&(eight_digits(high % EIGHT) | ZEROS).to_le_bytes());
        at + 8
    };
    text[at..at + 8].copy_from_slice(&(eight_digits(low) | ZEROS).to_le_bytes());
    at += 8;
    at
}

/// Writes a number of at most eight digits without leading zeros. Zero has one digit.
#[inline]
fn leading_digits(number: u64, text: &mut Text, start: usize) -> usize {
    let digits = eight_digits(number);
    let unused = (digits.trailing_zeros() / 8).min(7);
    text[start..start + 8].copy_from_slice(&((digits | ZEROS) >> (unused * 8)).to_le_bytes());
    start + 8 - usize::try_from(unused).unwrap_or(0)
}

#[inline]
fn digit(value: u64) -> u8 {
    // The value is at most 9.
    b'0' + u8::try_from(value).unwrap_or(0)
}

/// The character `'0'` eight times.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The eight digits of a number below 10^8, one in each byte, the first in the lowest byte. The number is divided into parts of
/// four digits, then of two, then of one. All parts of a step are divided at once.
#[inline]
const fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::{decimal, exactly, parts};

    /// The texts are compared with those of C in `tests/t7/ascii.rs`, which does not see which way they were made.
    #[test]
    fn the_fast_way_finds_the_same_digits_as_the_standard_library() {
        // Random bits, the same in each run.
        for bits in (1..20_000_u64).map(|step| step.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            let value = f64::from_bits(bits).abs();
            if value.is_normal() {
                let (field, mantissa) = parts(value.to_bits());
                assert_eq!(decimal::<17>(field, mantissa), Some(exactly::<17>(value)), "{value:e}");
            }
            let value = f64::from(f32::from_bits(u32::try_from(bits >> 32).unwrap_or(0)).abs());
            if value.is_normal() {
                let (field, mantissa) = parts(value.to_bits());
                assert_eq!(decimal::<9>(field, mantissa), Some(exactly::<9>(value)), "{value:e}");
            }
        }
    }
}
