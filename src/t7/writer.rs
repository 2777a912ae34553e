//! Writes a `.t7` file, one value after the other, byte for byte as Torch7 does.

use super::{Encoding, ascii, tag};
use crate::bulk::{self, Readable};
use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_element};
use crate::error::Error;
use crate::output::Output;
use crate::storage::Storage;

/// Writes the values of a file. The caller chooses the indices, and counts the pairs of a table before it writes them.
pub struct Writer {
    output: Output,
    encoding: Encoding,
    /// Whether the current line of an ascii file has an element already.
    in_line: bool,
}

/// The largest number of elements of an ascii file that are written at once.
const ROW: usize = 4096;

impl Writer {
    /// Makes a writer to the output. It always writes this machine's byte order.
    pub fn new(output: Output, encoding: Encoding) -> Self {
        Self { output, encoding, in_line: false }
    }

    /// How the values are encoded in the output.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Number of bytes that have been written.
    pub fn position(&self) -> u64 {
        self.output.position()
    }

    /// Ends the file, which gets its name now. Until then, an old file of that name stays as it was.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.output.finish()
    }

    /// The bytes that were written to memory, after [`finish`](Self::finish).
    pub fn memory(&self) -> &[u8] {
        self.output.memory()
    }

    /// Takes the bytes that were written to memory, as a CharStorage.
    pub fn take_storage(&mut self) -> Result<Storage, Error> {
        self.output.take_storage()
    }

    /// Writes a C `int`.
    #[inline]
    pub fn int(&mut self, value: i32) -> Result<(), Error> {
        match self.encoding {
            Encoding::Ascii => self.line(|text| ascii::put_i64(i64::from(value), text)),
            Encoding::Binary { .. } => self.output.put(&value.to_ne_bytes()),
        }
    }

    /// Writes a C `long`. A `long` of 4 bytes keeps the low bits, as in C.
    pub fn long(&mut self, value: i64) -> Result<(), Error> {
        match self.encoding {
            Encoding::Ascii => self.line(|text| ascii::put_i64(value, text)),
            Encoding::Binary { long: 4, .. } => self.output.put(&low(value).to_ne_bytes()),
            Encoding::Binary { .. } => self.output.put(&value.to_ne_bytes()),
        }
    }

    /// Writes a C `double`.
    #[inline]
    pub fn number(&mut self, value: f64) -> Result<(), Error> {
        match self.encoding {
            Encoding::Ascii => self.line(|text| ascii::put_f64(value, text)),
            Encoding::Binary { .. } => self.output.put(&value.to_ne_bytes()),
        }
    }

    /// Writes nil as an object.
    pub fn nil_object(&mut self) -> Result<(), Error> {
        self.int(tag::NIL)
    }

    /// Writes a boolean as an object.
    pub fn boolean_object(&mut self, value: bool) -> Result<(), Error> {
        self.int(tag::BOOLEAN)?;
        self.int(i32::from(value))
    }

    /// Writes a number as an object.
    #[inline]
    pub fn number_object(&mut self, value: f64) -> Result<(), Error> {
        if self.encoding == Encoding::Ascii {
            self.int(tag::NUMBER)?;
            return self.number(value);
        }
        let mut bytes = [0; 12];
        let (head, body) = bytes.split_at_mut(4);
        head.copy_from_slice(&tag::NUMBER.to_ne_bytes());
        body.copy_from_slice(&value.to_ne_bytes());
        self.output.put(&bytes)
    }

    /// Writes a string as an object.
    pub fn string_object(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.int(tag::STRING)?;
        self.string(bytes)
    }

    /// Writes a length and the bytes.
    ///
    /// # Errors
    /// [`Error::StringTooLong`] for more than 2^31 - 1 bytes; otherwise as [`int`](Self::int).
    pub fn string(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.int(i32::try_from(bytes.len()).map_err(|_| Error::StringTooLong { bytes: bytes.len() })?)?;
        self.bytes(bytes)
    }

    /// Writes bytes. In an ascii file a line ends after them, if there are any.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.output.write(Readable::of(bytes, DType::Byte))?;
        self.in_line = !bytes.is_empty();
        self.end_of_elements()
    }

    /// Writes `count` more elements of a block. After the last one the caller calls [`end_of_elements`](Self::end_of_elements).
    ///
    /// # Safety
    /// `source` is valid for reads of `count` elements.
    pub unsafe fn elements(&mut self, dtype: DType, source: *const u8, count: usize) -> Result<(), Error> {
        match self.encoding {
            Encoding::Ascii if dtype.width() > 1 => with_element!(dtype, T => {
                let mut done = 0;
                while done < count {
                    let now = ROW.min(count - done);
                    let mut in_line = self.in_line;
                    self.output.put_with(now * (ascii::LONGEST + 1), |text| {
                        for index in done..done + now {
                            if in_line {
                                text.push(b' ');
                            }
                            in_line = true;
                            // SAFETY: [live] [in-bounds] `count` elements are readable, and the index is below `count`.
                            put::<T>(unsafe { bulk::get_as::<T>(source, index) }, text);
                        }
                    })?;
                    self.in_line = in_line;
                    done += now;
                }
                Ok(())
            }),
            Encoding::Binary { long: 4, .. } if dtype == DType::Long => (0..count).try_for_each(|index| {
                // SAFETY: [live] [in-bounds] `count` elements are readable, and the index is below `count`.
                let value = unsafe { bulk::get_as::<i64>(source, index) };
                self.output.put(&low(value).to_ne_bytes())
            }),
            Encoding::Ascii | Encoding::Binary { .. } => {
                self.in_line |= count > 0;
                // SAFETY: [live] [in-bounds] `count` elements are readable.
                self.output.write(unsafe { Readable::new(source, dtype, count) })
            }
        }
    }

    /// Writes the end of a block: in an ascii file, the end of the line if the block has elements.
    pub fn end_of_elements(&mut self) -> Result<(), Error> {
        let ends = std::mem::take(&mut self.in_line) && self.encoding == Encoding::Ascii;
        if ends { self.output.put(b"\n") } else { Ok(()) }
    }

    fn line(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        self.output.put_with(ascii::LONGEST + 1, |text| {
            put(text);
            text.push(b'\n');
        })
    }
}

/// The low 32 bits.
fn low(value: i64) -> i32 {
    value.convert()
}

/// Writes an element as text in the way of `printf`.
fn put<T: Element>(value: T, text: &mut Vec<u8>) {
    let dtype = T::DTYPE;
    if dtype.is_integer() {
        return ascii::put_i64(value.convert(), text);
    }
    let put_float = |number: f64, text: &mut Vec<u8>| {
        if dtype.part() == DType::Double { ascii::put_f64(number, text) } else { ascii::put_f32(number.convert(), text) }
    };
    match value.to_scalar() {
        Scalar::Complex(re, im) => {
            put_float(re, text);
            text.push(b' ');
            put_float(im, text);
        }
        _ => put_float(value.to_f64(), text),
    }
}
