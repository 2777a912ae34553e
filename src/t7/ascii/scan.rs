//! Reading numbers: `%lg`, `%g` and `%ld`.
//!
//! This is what the C standard says of `scanf`. The GNU library differs in two corners: of `1e` and `1e+` it makes 1, where the
//! standard has no number, and of `nan(7)` it takes only the `nan`.

/// The number at the front of `bytes`, and how many of them it has. One that goes on behind their end is read as far as it goes.
#[inline]
#[must_use]
pub fn f64_at(bytes: &[u8]) -> Option<(f64, usize)> {
    let (negative, form, used) = form_at(bytes)?;
    let magnitude = match form {
        Form::Decimal(text) => text.parse().ok()?,
        Form::Hexadecimal { mantissa, exponent } => f64::from_bits(nearest(mantissa, exponent, &DOUBLE)),
        Form::Infinity => f64::INFINITY,
        Form::NotANumber => f64::NAN.abs(),
    };
    Some((if negative { -magnitude } else { magnitude }, used))
}

/// As [`f64_at`], rounded once, to a float.
#[inline]
#[must_use]
pub fn f32_at(bytes: &[u8]) -> Option<(f32, usize)> {
    let (negative, form, used) = form_at(bytes)?;
    let magnitude = match form {
        Form::Decimal(text) => text.parse().ok()?,
        Form::Hexadecimal { mantissa, exponent } => f32::from_bits(u32::try_from(nearest(mantissa, exponent, &FLOAT)).ok()?),
        Form::Infinity => f32::INFINITY,
        Form::NotANumber => f32::NAN.abs(),
    };
    Some((if negative { -magnitude } else { magnitude }, used))
}

/// The decimal whole number at the front of `bytes`, and how many of them it has. One that does not fit is the nearest that does.
#[inline]
#[must_use]
pub fn i64_at(bytes: &[u8]) -> Option<(i64, usize)> {
    let (negative, start) = sign_at(bytes);
    let end = start + digits_in(&bytes[start..]);
    if end == start {
        return None;
    }
    let digits = bytes[start..end].iter().map(|byte| u64::from(byte - b'0'));
    let magnitude = if end - start <= 19 {
        // 19 nines are below 2^64.
        digits.fold(0, |number, digit| number * 10 + digit)
    } else {
        digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(digit))
    };
    let value = if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    Some((value.unwrap_or(if negative { i64::MIN } else { i64::MAX }), end))
}

/// A number without its sign.
enum Form<'a> {
    /// Digits, with a point and an exponent perhaps.
    Decimal(&'a str),
    /// `mantissa` 2^`exponent`; the lowest bit of a mantissa of 64 bits also stands for bits below it.
    Hexadecimal {
        mantissa: u64,
        exponent: i64,
    },
    Infinity,
    NotANumber,
}

#[inline]
fn form_at(bytes: &[u8]) -> Option<(bool, Form<'_>, usize)> {
    let (negative, start) = sign_at(bytes);
    let rest = &bytes[start..];
    let (form, used) = match rest.first()? {
        b'0' if matches!(rest.get(1), Some(b'x' | b'X')) => hexadecimal_at(rest)?,
        b'0'..=b'9' | b'.' => decimal_at(rest)?,
        _ => name_at(rest)?,
    };
    Some((negative, form, start + used))
}

#[inline]
fn sign_at(bytes: &[u8]) -> (bool, usize) {
    match bytes.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    }
}

/// How many bytes at the front are digits.
#[inline]
fn digits_in(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len())
}

#[inline]
fn decimal_at(bytes: &[u8]) -> Option<(Form<'_>, usize)> {
    let whole = digits_in(bytes);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits_in(&bytes[end + 1..]);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    }
    if let Some((_, used)) = exponent_at(&bytes[end..], b'e')? {
        end += used;
    }
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((Form::Decimal(text), end))
}

/// The exponent at the front, if its letter is there, and how many bytes it has; `None` if the letter has no digits after it.
#[inline]
#[allow(clippy::option_option, reason = "no exponent is no error")]
fn exponent_at(bytes: &[u8], letter: u8) -> Option<Option<(i64, usize)>> {
    // Beyond all numbers, and far enough from what the number of digits before it may add.
    const HUGE: i64 = 1 << 60;
    if bytes.first().is_none_or(|byte| byte.to_ascii_lowercase() != letter) {
        return Some(None);
    }
    let (negative, signed) = sign_at(&bytes[1..]);
    let start = 1 + signed;
    let end = start + digits_in(&bytes[start..]);
    if end == start {
        return None;
    }
    let exponent = bytes[start..end].iter().fold(0, |number, byte| (number * 10 + i64::from(byte - b'0')).min(HUGE / 10));
    Some(Some((if negative { -exponent } else { exponent }, end)))
}

#[cold]
fn hexadecimal_at(bytes: &[u8]) -> Option<(Form<'_>, usize)> {
    let (mut mantissa, mut exponent): (u64, i64) = (0, 0);
    let (mut end, mut any, mut point) = (2, false, false);
    while let Some(&byte) = bytes.get(end) {
        if byte == b'.' && !point {
            point = true;
        } else if let Some(digit) = char::from(byte).to_digit(16) {
            any = true;
            if mantissa >> 60 == 0 {
                mantissa = (mantissa << 4) | u64::from(digit);
                exponent -= if point { 4 } else { 0 };
            } else {
                mantissa |= u64::from(digit != 0);
                exponent += if point { 0 } else { 4 };
            }
        } else {
            break;
        }
        end += 1;
    }
    if !any {
        return None;
    }
    if let Some((power, used)) = exponent_at(&bytes[end..], b'p')? {
        exponent += power;
        end += used;
    }
    Some((Form::Hexadecimal { mantissa, exponent }, end))
}

/// `inf`, `infinity`, `nan` and `nan(...)`. What begins like `infinity` has to go on so.
#[cold]
fn name_at(bytes: &[u8]) -> Option<(Form<'_>, usize)> {
    let begins = |name: &[u8]| bytes.get(..name.len()).is_some_and(|front| front.eq_ignore_ascii_case(name));
    if begins(b"infinity") {
        return Some((Form::Infinity, 8));
    }
    if begins(b"inf") {
        return (!begins(b"infi")).then_some((Form::Infinity, 3));
    }
    if !begins(b"nan") {
        return None;
    }
    let within = bytes[3..].strip_prefix(b"(").and_then(|rest| {
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        (rest[end] == b')').then_some(end + 2)
    });
    Some((Form::NotANumber, 3 + within.unwrap_or(0)))
}

/// A binary format: the bits of its mantissa, and the exponents of its smallest number and of the first that is too large.
struct Format {
    precision: i64,
    least: i64,
    limit: i64,
}

const DOUBLE: Format = Format { precision: 53, least: -1074, limit: 1024 };
const FLOAT: Format = Format { precision: 24, least: -149, limit: 128 };

/// The bits of the number of a format that is nearest to `mantissa` 2^`exponent`; ties to even.
fn nearest(mantissa: u64, exponent: i64, format: &Format) -> u64 {
    let Format { precision, least, limit } = *format;
    if mantissa == 0 {
        return 0;
    }
    let length = i64::from(u64::BITS - mantissa.leading_zeros());
    // The exponent of the last bit that is kept.
    let unit = (exponent + length - precision).max(least);
    let infinity = (limit - precision - least + 2).unsigned_abs() << (precision - 1);
    if unit > limit - precision {
        return infinity;
    }
    let dropped = unit - exponent;
    let kept = if dropped <= 0 {
        mantissa << dropped.unsigned_abs()
    } else if dropped > 64 {
        0
    } else {
        let (wide, one) = (u128::from(mantissa), 1u128 << dropped);
        let (kept, rest) = (wide >> dropped, wide & (one - 1));
        let up = rest > one / 2 || (rest == one / 2 && kept % 2 == 1);
        u64::try_from(kept).unwrap_or(0) + u64::from(up)
    };
    // The highest bit of a normal number's mantissa counts the exponent up by one; so does a carry.
    ((unit - least).unsigned_abs() << (precision - 1)) + kept
}
