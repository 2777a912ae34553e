//! Reads numbers and strings from the input.

use crate::element::{DType, Element};
use crate::error::Error;
use crate::t7::{Encoding, Input, Malformed, Problem, ascii};

/// A number in an ascii file has to be shorter than this many bytes.
const LONGEST_NUMBER: usize = 2048;

/// An error at an offset of the file.
pub(super) fn malformed(offset: u64, problem: Problem) -> Error {
    Malformed { offset, problem }.into()
}

impl Input {
    /// Fails if fewer than `bytes` bytes are left.
    #[inline]
    pub(super) fn expect(&self, what: &'static str, bytes: usize) -> Result<(), Error> {
        let (needed, left) = (bytes as u64, self.left());
        if needed <= left { Ok(()) } else { Err(malformed(self.position(), Problem::Short { what, needed, left })) }
    }
}

/// Reads `N` bytes of a binary file.
#[inline]
pub(super) fn fixed<const N: usize>(input: &mut Input, what: &'static str) -> Result<[u8; N], Error> {
    input.expect(what, N)?;
    let window = input.window(N)?;
    let bytes = window.first_chunk::<N>().copied();
    input.advance(N);
    bytes.ok_or_else(|| malformed(input.position(), Problem::Short { what, needed: N as u64, left: 0 }))
}

#[inline]
pub(super) fn int(input: &mut Input, encoding: Encoding) -> Result<i32, Error> {
    const WHAT: &str = "an int";
    match encoding {
        Encoding::Ascii => {
            let start = next_value(input, encoding)?;
            let number = line(input, WHAT, ascii::i64_at)?;
            i32::try_from(number).map_err(|_| malformed(start, Problem::IntRange { got: number }))
        }
        Encoding::Binary { swapped, .. } => {
            let bytes = i32::from_ne_bytes(fixed(input, WHAT)?);
            Ok(if swapped { bytes.swap_bytes() } else { bytes })
        }
    }
}

pub(super) fn string(input: &mut Input, encoding: Encoding) -> Result<&[u8], Error> {
    let start = next_value(input, encoding)?;
    let length = int(input, encoding)?;
    bytes(input, encoding, start, i64::from(length))
}

/// Reads `count` bytes. `start` is the offset of the count, for the error.
pub(super) fn bytes(input: &mut Input, encoding: Encoding, start: u64, count: i64) -> Result<&[u8], Error> {
    let left = input.left();
    let fits = usize::try_from(count).ok().filter(|&count| count as u64 <= left);
    let count = fits.ok_or_else(|| malformed(start, Problem::Count { what: "bytes", count, left }))?;
    // In an ascii file the end of the line follows, unless the count is 0.
    let ends = encoding == Encoding::Ascii && count > 0 && input.window(count.saturating_add(1))?.get(count) == Some(&b'\n');
    input.take(count, usize::from(ends))
}

/// Reads a number and the end of its line in an ascii file.
pub(super) fn line<T>(input: &mut Input, what: &'static str, parse: fn(&[u8]) -> Option<(T, usize)>) -> Result<T, Error> {
    let number = number(input, what, parse)?;
    end_of_line(input)?;
    Ok(number)
}

pub(super) fn end_of_line(input: &mut Input) -> Result<(), Error> {
    if input.window(1)?.first() == Some(&b'\n') {
        input.advance(1);
    }
    Ok(())
}

/// Whether C's `isspace` holds for a byte.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// The offset at which the next value begins: in an ascii file, after white space.
#[inline]
pub(super) fn next_value(input: &mut Input, encoding: Encoding) -> Result<u64, Error> {
    if encoding == Encoding::Ascii {
        skip_white_space(input)?;
    }
    Ok(input.position())
}

pub(super) fn skip_white_space(input: &mut Input) -> Result<(), Error> {
    loop {
        let window = input.window(1)?;
        let spaces = window.iter().take_while(|&&byte| is_space(byte)).count();
        let more = spaces > 0 && spaces == window.len();
        input.advance(spaces);
        if !more {
            return Ok(());
        }
    }
}

/// Reads white space and a number in an ascii file.
#[inline]
fn number<T>(input: &mut Input, what: &'static str, parse: fn(&[u8]) -> Option<(T, usize)>) -> Result<T, Error> {
    skip_white_space(input)?;
    let window = input.window(LONGEST_NUMBER)?;
    let window = &window[..window.len().min(LONGEST_NUMBER)];
    match parse(window) {
        // A number that fills the window may be cut. No program writes one of that length.
        Some((number, used)) if used < LONGEST_NUMBER => {
            input.advance(used);
            Ok(number)
        }
        _ if window.is_empty() => Err(malformed(input.position(), Problem::Short { what, needed: 1, left: 0 })),
        _ => {
            let length = window.iter().take(20).take_while(|&&byte| !is_space(byte)).count();
            let got = window[..length].into();
            Err(malformed(input.position(), Problem::NoNumber { what, got }))
        }
    }
}

/// Reads the next element in an ascii file, as `scanf` does.
pub(super) fn element<T: Element>(input: &mut Input) -> Result<T, Error> {
    let dtype = T::DTYPE;
    if dtype.is_complex() {
        let mut part = || if dtype.part() == DType::Double { double(input) } else { single(input).map(f64::from) };
        let re = part()?;
        return Ok(T::from_parts(re, part()?));
    }
    if dtype.is_integer() {
        // As in C, a number that is too large keeps its low bits.
        return number(input, "an integer", ascii::i64_at).map(T::from_i64);
    }
    if dtype == DType::Double { double(input).map(T::from_f64) } else { single(input).map(T::from_f32) }
}

fn single(input: &mut Input) -> Result<f32, Error> {
    number(input, "a number", ascii::f32_at)
}

fn double(input: &mut Input) -> Result<f64, Error> {
    number(input, "a number", ascii::f64_at)
}
