//! A file that is read at any position, with its name and its length.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, Flaw, FormatError, Part, ShapeError, Text, shown};
use crate::fallible;
use crate::system::Access;
use crate::system::{self, failure, files};

/// Bytes that can be read at any position: an open file, or memory.
pub trait ReadAt {
    /// Reads bytes from byte `offset` on, and returns how many. It is 0 only at the end, or if `into` is empty.
    ///
    /// # Errors
    /// An error of the system.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        files::read_at(self, into, offset)
    }
}

impl ReadAt for &[u8] {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or(&[]);
        let bytes = rest.len().min(into.len());
        into[..bytes].copy_from_slice(&rest[..bytes]);
        Ok(bytes)
    }
}

/// A part of a file, by its name in the file.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// A tensor of a safetensors file.
    Tensor(&'a [u8]),
    /// An entry of an npz file: two parts of its name.
    Entry(&'a [u8], &'static str),
}

impl Place<'_> {
    /// The part as an error has it.
    fn part(self) -> Part {
        match self {
            Self::Tensor(name) => Part::Tensor(name.into()),
            Self::Entry(name, end) => Part::Entry(Text::displayed(&format_args!("{}{end}", shown(name)))),
        }
    }
}

/// A file or memory, the name that errors have for it, and its length.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    path: &'a Path,
    bytes: &'a dyn ReadAt,
    length: u64,
}

impl<'a> Source<'a> {
    /// An open file. Its length is the one that it has now.
    pub fn of_file(path: &'a Path, file: &'a File) -> Result<Self, Error> {
        let status = files::status_of(file).map_err(failure("read the size of", path))?;
        if !status.is_file() {
            let what = if status.is_folder() { "a directory" } else { "a pipe or a device" };
            return Err(Error::NotAFile { action: "load", path: path.into(), what });
        }
        Ok(Self { path, bytes: file, length: status.length })
    }

    /// Memory with the contents of a file.
    pub fn of_bytes(path: &'a Path, bytes: &'a &'a [u8]) -> Self {
        Self { path, bytes, length: bytes.len() as u64 }
    }

    /// The name that errors have for it.
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The `size` bytes from byte `offset` on. No memory is allocated if the file does not have them.
    ///
    /// `place` is the part of the file that they belong to, and `what` says what they are.
    pub(super) fn read(&self, place: Option<Place<'_>>, what: &'static str, offset: u64, size: u64) -> Result<Vec<u8>, Error> {
        let left = self.length.saturating_sub(offset);
        if size > left {
            return Err(self.error(offset, place, Flaw::Short { what, needed: size, left }));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut bytes = fallible::list(size)?;
        bytes.resize(size, 0);
        let mut done = 0;
        while done < size {
            match self.bytes.read_at(&mut bytes[done..], offset + done as u64) {
                Ok(0) => {
                    // The file has become shorter.
                    let flaw = Flaw::Short { what, needed: size as u64, left: done as u64 };
                    return Err(self.error(offset, place, flaw));
                }
                Ok(count) => done += count,
                Err(reason) if reason.kind() == io::ErrorKind::Interrupted => {}
                Err(reason) => return Err(failure("read", self.path)(reason)),
            }
        }
        Ok(bytes)
    }

    /// The error for a flaw in this file.
    pub(super) fn error(&self, byte: u64, place: Option<Place<'_>>, flaw: Flaw) -> Error {
        FormatError { path: self.path.into(), byte, part: place.map(Place::part), flaw }.into()
    }
}

/// Opens a file for reading. It does not wait for a pipe to have a writer.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    system::check_name(path)?;
    files::open_at_once(path, Access::Read).map_err(failure("open", path))
}

/// The number of bytes of elements of `bits` bits each, or the flaw of sizes that no tensor can have.
///
/// The sizes that are not 0 must have a product that fits in 63 bits, even if another one is 0, and so must the number of bytes of
/// as many elements. A part of a byte counts as a byte.
pub(super) fn bytes_of(sizes: &[usize], bits: usize) -> Result<u64, Flaw> {
    let product = sizes.iter().filter(|&&size| size > 0).try_fold(1_usize, |product, &size| product.checked_mul(size));
    let bytes = product.map(|elements| (elements as u128 * bits as u128).div_ceil(8));
    match bytes.and_then(|bytes| u64::try_from(bytes).ok()).filter(|&bytes| i64::try_from(bytes).is_ok()) {
        Some(_) if sizes.contains(&0) => Ok(0),
        Some(bytes) => Ok(bytes),
        None => Err(Flaw::Shape(ShapeError::TooManyElements { sizes: sizes.into() })),
    }
}
