//! The header of a safetensors file, byte for byte as the reference writes it, apart from the order of the metadata.

use std::fmt;

use super::super::source::bytes_of;
use super::tensors::METADATA;
use super::{FileDType, LONGEST};
use crate::element::DType;
use crate::error::Error;
use crate::fallible;

/// What an error calls the format.
const FORMAT: &str = "a safetensors file";

/// The number of bytes of the length before the header.
const PREFIX: usize = size_of::<u64>();

/// The beginning of a file, and the order in which the elements of the tensors follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The length of the header and the header.
    pub header: Vec<u8>,
    /// The positions of the tensors in the list that was given. Their elements follow the header in this order, without gaps.
    pub order: Vec<usize>,
}

/// Plans a file of tensors, each with its name, its dtype and its sizes, and of metadata.
///
/// As in the reference, the tensors are sorted by dtype, the widest first, and then by name, and spaces fill the header to a
/// multiple of 8 bytes. The metadata is sorted by name. The reference does not sort it, and writes broken JSON if it is empty;
/// here a file with empty metadata has none.
///
/// # Errors
/// [`Error::NotInFormat`] for a name that is there twice or that the format uses itself, for a dtype that the format does not
/// have, and for a header that no reader accepts; [`Error::OutOfMemory`].
pub fn plan(tensors: &[(&str, DType, &[usize])], metadata: &[(&str, &str)]) -> Result<Plan, Error> {
    let refuse = |name: &str, why| Error::NotInFormat { format: FORMAT, name: name.into(), why };
    let mut sorted = fallible::list(tensors.len())?;
    for (index, &(name, dtype, sizes)) in tensors.iter().enumerate() {
        if name == METADATA {
            return Err(refuse(name, "the name is that of the metadata"));
        }
        let dtype = FileDType::of(dtype);
        let dtype = dtype.ok_or_else(|| refuse(name, "the format has no dtype for complex numbers of 16 bytes"))?;
        fallible::push(&mut sorted, (dtype, name, sizes, index))?;
    }
    sorted.sort_unstable_by(|(a_dtype, a_name, ..), (b_dtype, b_name, ..)| b_dtype.cmp(a_dtype).then(a_name.cmp(b_name)));
    let mut header = Text(Vec::new());
    // The length of the header, which is not known yet.
    header.put(&[0; PREFIX])?;
    header.put(b"{")?;
    if !metadata.is_empty() {
        let mut metadata = fallible::list_of(metadata.iter().copied())?;
        metadata.sort_unstable();
        header.string(METADATA)?;
        for (index, (name, text)) in metadata.into_iter().enumerate() {
            header.put(if index == 0 { b":{".as_slice() } else { b"," })?;
            header.string(name)?;
            header.put(b":")?;
            header.string(text)?;
        }
        header.put(b"}")?;
    }
    let mut begin = 0_u64;
    for &(dtype, name, sizes, _) in &sorted {
        let end = bytes_of(sizes, dtype.bits()).ok().and_then(|bytes| begin.checked_add(bytes));
        let end = end.filter(|&end| i64::try_from(end).is_ok());
        let end = end.ok_or_else(|| refuse(name, "the file would have more than 2^63-1 bytes"))?;
        if header.0.len() > PREFIX + 1 {
            header.put(b",")?;
        }
        header.string(name)?;
        header.format(format_args!(r#":{{"dtype":"{}","shape":["#, dtype.name()))?;
        for (index, size) in sizes.iter().enumerate() {
            header.format(format_args!("{}{size}", if index == 0 { "" } else { "," }))?;
        }
        header.format(format_args!(r#"],"data_offsets":[{begin},{end}]}}"#))?;
        begin = end;
    }
    header.put(b"}")?;
    let Text(mut header) = header;
    let length = (header.len() - PREFIX).next_multiple_of(8);
    let padding = PREFIX + length - header.len();
    fallible::append(&mut header, &b"       "[..padding])?;
    if length as u64 > LONGEST {
        let last = sorted.last().map_or("", |&(_, name, ..)| name);
        return Err(refuse(last, "the header would have more than 100,000,000 bytes"));
    }
    let mut names = fallible::list_of(sorted.iter().map(|&(_, name, ..)| name))?;
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(refuse(pair[0], "another tensor has this name"));
    }
    header[..PREFIX].copy_from_slice(&(length as u64).to_le_bytes());
    Ok(Plan { header, order: fallible::list_of(sorted.into_iter().map(|(.., index)| index))? })
}

/// The bytes of a JSON text.
struct Text(Vec<u8>);

impl Text {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Ok(fallible::append(&mut self.0, bytes)?)
    }

    /// Appends formatted numbers and short texts.
    fn format(&mut self, text: fmt::Arguments<'_>) -> Result<(), Error> {
        // Only a lack of memory makes it fail.
        let mut result = Ok(());
        let _ = fmt::write(&mut Sink(self, &mut result), text);
        result
    }

    /// Appends a text as a JSON string, with the escapes of the reference.
    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.put(b"\"")?;
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' ')) {
            self.put(&rest[..at])?;
            match rest[at] {
                b'\n' => self.put(b"\\n")?,
                b'\r' => self.put(b"\\r")?,
                b'\t' => self.put(b"\\t")?,
                8 => self.put(b"\\b")?,
                12 => self.put(b"\\f")?,
                byte @ 0..b' ' => self.format(format_args!("\\u{byte:04x}"))?,
                byte => self.put(&[b'\\', byte])?,
            }
            rest = &rest[at + 1..];
        }
        self.put(rest)?;
        self.put(b"\"")
    }
}

/// Takes what is formatted, and notes an error, for which [`fmt::Error`] has no room.
struct Sink<'a>(&'a mut Text, &'a mut Result<(), Error>);

impl fmt::Write for Sink<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self.1 = self.0.put(text.as_bytes());
        if self.1.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}
