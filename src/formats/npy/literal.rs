//! The Python literal in the header of an npy file. This reads only as much of Python's grammar as NumPy has ever written.
//!
//! ```text
//! header  = space "{" space [ pair { "," space pair } [ "," space ] ] "}" space
//! pair    = string space ":" space value space              each of the three keys once
//! value   = string | "True" | "False" | shape               by the key
//! shape   = "(" space ")" | "(" size "," space ")" | "(" size "," size { "," size } [ "," space ] ")"
//! size    = space digits [ "L" ] space                      Python 2 wrote "L" after a long integer
//! string  = "'" characters "'" | '"' characters '"'         printable ASCII without backslash
//! ```

use crate::error::{Flaw, MAX_DIMENSIONS, ShapeError};

/// The number of bytes of the header that an error shows.
const SHOWN: usize = 20;

/// A flaw and its position in the header.
type Failure = (usize, Flaw);

/// What a header says.
#[derive(Debug)]
pub(super) struct Literal<'a> {
    /// How NumPy names the type of the elements.
    pub descr: &'a str,
    /// The position of this name in the header.
    pub descr_at: usize,
    pub fortran_order: bool,
    /// The sizes, of which the first `dimensions` count.
    shape: [usize; MAX_DIMENSIONS],
    dimensions: usize,
    /// The position of the shape in the header.
    pub shape_at: usize,
}

impl Literal<'_> {
    /// The size of each dimension.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.shape[..self.dimensions]
    }
}

/// A position in a header.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Reads the whole header.
    pub(super) fn header(mut self) -> Result<Literal<'a>, Failure> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.space();
        self.token(b'{', "'{'")?;
        self.space();
        while !self.take(b'}') {
            let key_at = self.at;
            let key = self.string("a key or '}'")?;
            self.space();
            self.token(b':', "':'")?;
            self.space();
            let at = self.at;
            let repeated = match key {
                "descr" => descr.replace((self.descr()?, at)).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace((self.shape()?, at)).is_some(),
                _ => return Err((key_at, Flaw::Key { key: key.into() })),
            };
            if repeated {
                return Err((key_at, Flaw::Twice { name: key.into() }));
            }
            self.space();
            if !self.take(b',') && self.peek() != Some(b'}') {
                return Err(self.unexpected("',' or '}'"));
            }
            self.space();
        }
        self.space();
        if self.peek().is_some() {
            return Err(self.unexpected("the end of the header"));
        }
        let missing = |key| (self.at, Flaw::Missing { key });
        let (descr, descr_at) = descr.ok_or_else(|| missing("descr"))?;
        let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
        let ((shape, dimensions), shape_at) = shape.ok_or_else(|| missing("shape"))?;
        Ok(Literal { descr, descr_at, fortran_order, shape, dimensions, shape_at })
    }

    /// Reads the type of the elements. The type of a structure is a list, which is refused here.
    fn descr(&mut self) -> Result<&'a str, Failure> {
        match self.peek() {
            Some(b'[' | b'(') => {
                let descr = self.shown().into();
                Err((self.at, Flaw::Elements { what: "an array of structures", descr }))
            }
            _ => self.string("a string"),
        }
    }

    fn boolean(&mut self) -> Result<bool, Failure> {
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    /// Reads the sizes. Returns how many there are, too.
    fn shape(&mut self) -> Result<([usize; MAX_DIMENSIONS], usize), Failure> {
        let begin = self.at;
        let (mut sizes, mut count) = ([0; MAX_DIMENSIONS], 0);
        self.token(b'(', "'('")?;
        self.space();
        while !self.take(b')') {
            if count == MAX_DIMENSIONS {
                let rest = self.text[self.at..].split(|&byte| byte == b')').next().unwrap_or_default();
                let more = rest.split(|&byte| byte == b',').filter(|size| !size.trim_ascii().is_empty()).count();
                let dimensions = MAX_DIMENSIONS + more;
                return Err((begin, Flaw::Shape(ShapeError::TooManyDimensions { dimensions })));
            }
            sizes[count] = self.size()?;
            count += 1;
            self.space();
            if self.take(b',') {
                self.space();
            } else if count == 1 {
                // `(3)` is not a tuple in Python, but a number.
                return Err(self.unexpected("','"));
            } else if self.peek() != Some(b')') {
                return Err(self.unexpected("',' or ')'"));
            }
        }
        Ok((sizes, count))
    }

    fn size(&mut self) -> Result<usize, Failure> {
        const EXPECTED: &str = "a size from 0 to 2^63-1";
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = &self.text[self.at..self.at + digits];
        let value = number.iter().try_fold(0_usize, |value, digit| {
            value.checked_mul(10)?.checked_add(usize::from(digit - b'0')).filter(|&value| isize::try_from(value).is_ok())
        });
        match value {
            // Python has no numbers such as 007.
            Some(value) if digits > 0 && (digits == 1 || number[0] != b'0') => {
                self.at += digits;
                self.take(b'L');
                Ok(value)
            }
            _ => Err(self.unexpected(EXPECTED)),
        }
    }

    /// Reads a string in single or double quotes.
    fn string(&mut self, expected: &'static str) -> Result<&'a str, Failure> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Err(self.unexpected(expected)) };
        let begin = self.at + 1;
        let plain = |byte: &&u8| **byte != quote && **byte != b'\\' && (b' '..=b'~').contains(*byte);
        let length = self.text[begin..].iter().take_while(plain).count();
        let string = str::from_utf8(&self.text[begin..begin + length]).unwrap_or_default();
        self.at = begin + length;
        self.token(quote, "a plain character or the end of the string")?;
        Ok(string)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Goes past this byte if it is next, and says whether it was.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn token(&mut self, byte: u8, expected: &'static str) -> Result<(), Failure> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') = self.peek() {
            self.at += 1;
        }
    }

    fn shown(&self) -> &'a [u8] {
        &self.text[self.at..self.text.len().min(self.at + SHOWN)]
    }

    fn unexpected(&self, expected: &'static str) -> Failure {
        (self.at, Flaw::Unexpected { expected, got: self.shown().into() })
    }
}
