//! Reads JSON text, value by value, and keeps nothing that it is not asked for. So a text takes no memory but its own, however
//! its values are nested.
//!
//! The messages are those of the crate `serde_json`, which the reference uses.

use std::borrow::Cow;
use std::fmt::Display;

use super::super::source::Source;
use crate::error::{Error, Flaw, Text, shown};
use crate::fallible;

/// The number of levels of nested values. The reference refuses more.
const LEVELS: u32 = 127;

/// A position in a text.
pub(super) struct Json<'a> {
    source: &'a Source<'a>,
    /// The byte of the file at which the text begins.
    begin: u64,
    text: &'a str,
    at: usize,
    /// The number of arrays and objects around the position.
    level: u32,
}

/// A number in a text.
struct Number<'a> {
    text: &'a str,
    is_integer: bool,
}

impl<'a> Json<'a> {
    /// The beginning of a text, which begins at byte `begin` of a file.
    pub fn new(source: &'a Source<'a>, begin: u64, text: &'a str) -> Self {
        Self { source, begin, text, at: 0, level: 0 }
    }

    /// The error for a flaw that was noticed here.
    pub fn flaw(&self, flaw: Flaw) -> Error {
        self.source.error(self.begin + self.at as u64, None, flaw)
    }

    /// The error for a text that is wrong here.
    pub fn wrong(&self, reason: impl Display) -> Error {
        self.flaw(Flaw::Json { reason: Text::displayed(&reason) })
    }

    /// The error for the value that begins here, which is not the expected one.
    fn unexpected(&mut self, expected: &str) -> Error {
        let begin = self.at;
        match self.described() {
            Ok(got) => {
                self.at = begin;
                self.wrong(format_args!("invalid type: {got}, expected {expected}"))
            }
            Err(error) => error,
        }
    }

    /// Reads the beginning of a value, and says what kind of value it is.
    fn described(&mut self) -> Result<Text, Error> {
        Ok(match self.next() {
            Some(b'{') => "map".into(),
            Some(b'[') => "sequence".into(),
            Some(b'"') => Text::displayed(&format_args!("string \"{}\"", shown(self.string(true)?.as_bytes()))),
            Some(b'-' | b'0'..=b'9') => {
                let Number { text, is_integer } = self.number()?;
                let kind = if is_integer { "integer" } else { "floating point" };
                Text::displayed(&format_args!("{kind} `{}`", shown(text.as_bytes())))
            }
            first => {
                self.skip()?;
                match first {
                    Some(b't') => "boolean `true`",
                    Some(b'f') => "boolean `false`",
                    _ => "null",
                }
                .into()
            }
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past this byte if it is next, and says whether it was.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Goes past white space, and returns the byte after it.
    fn next(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// Checks that nothing follows.
    pub fn end(mut self) -> Result<(), Error> {
        if self.next().is_none() { Ok(()) } else { Err(self.wrong("trailing characters")) }
    }

    /// Reads an object. `each` gets the key of each entry and has to read the value. The text says what is expected.
    pub fn object(
        &mut self,
        expected: &str,
        mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        const END: &str = "EOF while parsing an object";
        self.enter(b'{', expected)?;
        let mut is_first = true;
        while self.next() != Some(b'}') {
            if !is_first && !self.take(b',') {
                return Err(self.wrong(if self.peek().is_none() { END } else { "expected `,` or `}`" }));
            }
            is_first = false;
            match self.next() {
                Some(b'"') => {}
                Some(b'}') => return Err(self.wrong("trailing comma")),
                Some(_) => return Err(self.wrong("key must be a string")),
                None => return Err(self.wrong(END)),
            }
            let key = self.string(true)?;
            self.next();
            if !self.take(b':') {
                return Err(self.wrong(if self.peek().is_none() { END } else { "expected `:`" }));
            }
            each(self, key)?;
        }
        self.leave();
        Ok(())
    }

    /// Reads an array. `each` has to read each value.
    fn array(&mut self, expected: &str, mut each: impl FnMut(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.enter(b'[', expected)?;
        let mut is_first = true;
        while self.next() != Some(b']') {
            if !is_first && !self.take(b',') {
                let is_end = self.peek().is_none();
                return Err(self.wrong(if is_end { "EOF while parsing a list" } else { "expected `,` or `]`" }));
            }
            if !is_first && self.next() == Some(b']') {
                return Err(self.wrong("trailing comma"));
            }
            is_first = false;
            each(self)?;
        }
        self.leave();
        Ok(())
    }

    fn enter(&mut self, bracket: u8, expected: &str) -> Result<(), Error> {
        if self.next() != Some(bracket) {
            return Err(self.unexpected(expected));
        }
        if self.level == LEVELS {
            return Err(self.wrong("recursion limit exceeded"));
        }
        self.level += 1;
        self.at += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.level -= 1;
        self.at += 1;
    }

    /// Reads a string. One without escapes is a part of the text.
    pub fn text(&mut self) -> Result<Cow<'a, str>, Error> {
        if self.next() == Some(b'"') { self.string(true) } else { Err(self.unexpected("a string")) }
    }

    /// Reads an array of numbers from 0 to 2^63-1. Returns the first `MOST` of them, and how many there are.
    pub fn numbers<const MOST: usize>(&mut self, expected: &str) -> Result<([usize; MOST], usize), Error> {
        const RANGE: &str = "a number from 0 to 2^63-1";
        let (mut first, mut count) = ([0; MOST], 0);
        self.array(expected, |json| {
            if !matches!(json.next(), Some(b'-' | b'0'..=b'9')) {
                return Err(json.unexpected(RANGE));
            }
            let begin = json.at;
            let number = json.number()?;
            if !number.is_integer {
                json.at = begin;
                return Err(json.unexpected(RANGE));
            }
            let value = number.text.parse::<usize>().ok().filter(|&value| isize::try_from(value).is_ok());
            let Some(value) = value else {
                return Err(
                    json.wrong(format_args!("invalid value: integer `{}`, expected {RANGE}", shown(number.text.as_bytes())))
                );
            };
            if let Some(slot) = first.get_mut(count) {
                *slot = value;
            }
            count += 1;
            Ok(())
        })?;
        Ok((first, count))
    }

    /// Reads `null`, if it is next, and says whether it was.
    pub fn null(&mut self) -> Result<bool, Error> {
        let is_next = self.next() == Some(b'n');
        if is_next {
            self.word("null")?;
        }
        Ok(is_next)
    }

    /// Reads a value of any kind.
    pub fn skip(&mut self) -> Result<(), Error> {
        match self.next() {
            Some(b'{') => self.object("", |json, _| json.skip()),
            Some(b'[') => self.array("", Self::skip),
            Some(b'"') => self.string(false).map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number().map(|_| ()),
            Some(b'n') => self.word("null"),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(_) => Err(self.wrong("expected value")),
            None => Err(self.wrong("EOF while parsing a value")),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.wrong("expected ident"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads a number, at whose first character the position is.
    fn number(&mut self) -> Result<Number<'a>, Error> {
        let begin = self.at;
        self.take(b'-');
        let is_zero = self.peek() == Some(b'0');
        let digits = self.digits();
        let mut is_right = digits == 1 || (digits > 1 && !is_zero);
        let end = self.at;
        if self.take(b'.') {
            is_right &= self.digits() > 0;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            is_right &= self.digits() > 0;
        }
        if !is_right {
            return Err(self.wrong("invalid number"));
        }
        let text = &self.text[begin..self.at];
        if text.parse().is_ok_and(f64::is_infinite) {
            return Err(self.wrong("number out of range"));
        }
        Ok(Number { text, is_integer: self.at == end })
    }

    /// Goes past digits, and returns their number.
    fn digits(&mut self) -> usize {
        let begin = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - begin
    }

    /// Reads a string, at whose first quote the position is. One without escapes is a part of the text. One with escapes is not
    /// returned if it is not kept.
    fn string(&mut self, is_kept: bool) -> Result<Cow<'a, str>, Error> {
        let bytes = self.text.as_bytes();
        let mut decoded = None;
        self.at += 1;
        loop {
            let begin = self.at;
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
            self.at = begin + bytes[begin..].iter().position(is_special).unwrap_or(bytes.len() - begin);
            let part = &self.text[begin..self.at];
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    let Some(mut decoded) = decoded else { return Ok(Cow::Borrowed(part)) };
                    if is_kept {
                        fallible::append_text(&mut decoded, part)?;
                    }
                    return Ok(Cow::Owned(decoded));
                }
                Some(b'\\') => {
                    self.at += 1;
                    let character = self.escape()?;
                    let decoded = decoded.get_or_insert_with(String::new);
                    if is_kept {
                        fallible::append_text(decoded, part)?;
                        fallible::append_text(decoded, character.encode_utf8(&mut [0; 4]))?;
                    }
                }
                Some(_) => return Err(self.wrong("control character (\\u0000-\\u001F) found while parsing a string")),
                None => return Err(self.wrong("EOF while parsing a string")),
            }
        }
    }

    /// Reads an escape after its backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let Some(letter) = self.peek() else { return Err(self.wrong("EOF while parsing a string")) };
        self.at += 1;
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.four_digits()?;
                let code = match first {
                    // A character above U+FFFF is a pair of such escapes.
                    0xd800..0xdc00 if self.take(b'\\') && self.take(b'u') => match self.four_digits()? {
                        second @ 0xdc00..0xe000 => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                        _ => first,
                    },
                    _ => first,
                };
                char::from_u32(code).ok_or_else(|| self.wrong("lone surrogate in hex escape"))?
            }
            _ => return Err(self.wrong("invalid escape")),
        })
    }

    /// Reads the four hexadecimal digits of an escape.
    fn four_digits(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek() else { return Err(self.wrong("EOF while parsing a string")) };
            code = code * 16 + char::from(digit).to_digit(16).ok_or_else(|| self.wrong("invalid escape"))?;
            self.at += 1;
        }
        Ok(code)
    }
}
