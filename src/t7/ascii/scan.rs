//! Reads numbers from text like the `scanf` formats `%lg`, `%g` and `%ld`.
//!
//! The rules are those of the C standard. The GNU library differs in two cases. It reads `1e` and `1e+` as 1, although the
//! standard has no such number. It reads only `nan` of `nan(7)`.

/// The number at the beginning of `bytes`, and its length. A number that is cut at the end of `bytes` is read up to there.
#[inline]
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

/// Like [`f64_at`], but rounded to a float, and only once.
#[inline]
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

/// The decimal whole number at the beginning of `bytes`, and its length. A number that is out of range becomes the nearest one in
/// range.
#[inline]
pub fn i64_at(bytes: &[u8]) -> Option<(i64, usize)> {
    let (negative, start) = sign_at(bytes);
    let end = start + digits_in(&bytes[start..]);
    if end == start {
        return None;
    }
    let digits = bytes[start..end].iter().map(|byte| u64::from(byte - b'0'));
    let magnitude = if end - start <= 19 {
        // The largest number of 19 digits is below 2^64.
        digits.fold(0, |number, digit| number * 10 + digit)
    } else {
        digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(digit))
    };
    let value = if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    Some((value.unwrap_or(if negative { i64::MIN } else { i64::MAX }), end))
}

/// A number without its sign.
enum Form<'a> {
    /// Digits, optionally with a point and an exponent.
    Decimal(&'a str),
    /// `mantissa` times 2^`exponent`. The lowest bit of a mantissa of 64 bits is set if any lower bit of the number is set.
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

/// The number of digits at the beginning of `bytes`.
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

/// The exponent at the beginning of `bytes`, and its length. `Some(None)` if the letter is not there, and `None` if no digits
/// follow it.
#[inline]
#[allow(clippy::option_option, reason = "a missing exponent is not an error")]
fn exponent_at(bytes: &[u8], letter: u8) -> Option<Option<(i64, usize)>> {
    // Larger than the exponent of any number, and small enough that the number of digits can be added to it.
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

/// `inf`, `infinity`, `nan` and `nan(...)`. Text that begins with `infi` has to be `infinity`.
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

/// A binary format: the bits of its mantissa, the exponent of its smallest number, and the smallest exponent that is too large.
struct Format {
    precision: i64,
    least: i64,
    limit: i64,
}

const DOUBLE: Format = Format { precision: 53, least: -1074, limit: 1024 };
const FLOAT: Format = Format { precision: 24, least: -149, limit: 128 };

/// The bits of the number in a format that is nearest to `mantissa` times 2^`exponent`. Ties go to the even one.
fn nearest(mantissa: u64, exponent: i64, format: &Format) -> u64 {
    let Format { precision, least, limit } = *format;
    if mantissa == 0 {
        return 0;
    }
    let length = i64::from(u64::BITS - mantissa.leading_zeros());
    // The exponent of the lowest bit that is kept.
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
    // The highest bit of a normal number's mantissa adds one to the exponent. A carry does the same.
    ((unit - least).unsigned_abs() << (precision - 1)) + kept
}
