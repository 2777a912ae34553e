//! Writes numbers as text like C's formats `%.17g`, `%.9g` and `%ld`: correctly rounded, ties to even.
//!
//! The standard library finds the digits. This file arranges them by the rules of `%g`.

use std::io::Write;

/// The largest number of bytes that a number may need. The longest are `-1.2345678901234567e-308` and `-0.00012345678901234567`.
pub const LONGEST: usize = 32;

/// Appends `value` as `printf("%.17g")` writes it. Seventeen digits tell any two doubles apart.
pub fn put_f64(value: f64, out: &mut Vec<u8>) {
    put::<17>(value, out);
}

/// Appends `value` as `printf("%.9g")` writes it. Nine digits tell any two floats apart.
pub fn put_f32(value: f32, out: &mut Vec<u8>) {
    put::<9>(f64::from(value), out);
}

/// Appends `value` as `printf("%ld")` writes it.
pub fn put_i64(value: i64, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = write!(out, "{value}");
}

fn put<const DIGITS: usize>(value: f64, out: &mut Vec<u8>) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        out.extend_from_slice(b"inf");
    } else if value < 1e9 && value.fract() == 0.0 {
        // Small whole numbers are common, and all of their digits are written.
        put_i64(crate::convert::Number::convert(value), out);
    } else {
        put_digits::<DIGITS>(value, out);
    }
}

/// Appends a positive number by the rules of `%g`: no zeros at the end, and an exponent only below 10^-4 and from 10^DIGITS on.
fn put_digits<const DIGITS: usize>(value: f64, out: &mut Vec<u8>) {
    let mut text = [0; LONGEST];
    let mut rest = text.as_mut_slice();
    // The text fits: a digit, a point, at most 16 more digits, and at most five bytes of exponent.
    let _ = write!(rest, "{value:.*e}", DIGITS - 1);
    let end = LONGEST - rest.len();

    // The text is `d.ddde-x`. Moving the first digit behind the point leaves the digits without a gap.
    text[1] = text[0];
    let (digits, power) = (&text[1..=DIGITS], &text[DIGITS + 2..end]);
    let exponent = match power {
        [b'-', power @ ..] => -whole(power),
        power => whole(power),
    };
    let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[..DIGITS - zeros];

    match usize::try_from(exponent) {
        Ok(places) if places < DIGITS => {
            let (before, after) = digits.split_at(digits.len().min(places + 1));
            out.extend_from_slice(before);
            out.resize(out.len() + places + 1 - before.len(), b'0');
            put_fraction(after, out);
        }
        Err(_) if exponent >= -4 => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + usize::from(exponent.unsigned_abs()) - 1, b'0');
            out.extend_from_slice(digits);
        }
        _ => {
            out.push(digits[0]);
            put_fraction(&digits[1..], out);
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
        }
    }
}

/// Appends the digits after the point, with the point if there are any.
fn put_fraction(digits: &[u8], out: &mut Vec<u8>) {
    if !digits.is_empty() {
        out.push(b'.');
        out.extend_from_slice(digits);
    }
}

/// The value of the digits of an exponent, at most three.
fn whole(digits: &[u8]) -> i16 {
    digits.iter().fold(0, |value, digit| value * 10 + i16::from(digit - b'0'))
}
