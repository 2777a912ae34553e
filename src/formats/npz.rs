//! Several npy files in one zip archive, as `numpy.savez` writes it. They are stored, not compressed.

mod directory;
mod write;

use std::ops::Range;

use crc32fast::Hasher;

use super::npy::{self, Array, Wanted};
use super::source::{Place, Source};
use crate::element::DType;
use crate::error::{Error, Flaw};
use crate::fallible;
use directory::{Stored, stored};
pub use write::{Archive, Completion};

/// The end of the name of an entry that is an array, as NumPy writes it. It is not a part of the array's name.
const SUFFIX: &str = ".npy";

/// The length of the end record without its comment, and of the two records before it in a large archive.
const END: u64 = 22;
const LOCATOR: u64 = 20;
const LARGE_END: u64 = 56;

/// The length of a record of the directory without the name, the extra field and the comment.
const RECORD: usize = 46;

/// The flag of an entry whose name is UTF-8. `zipfile` sets it only for names that are not ASCII.
const UTF8: u16 = 1 << 11;

/// The method of an entry that is not compressed.
const STORED: u16 = 0;

/// The kind of extra field that has numbers of 8 bytes, and the length of its beginning.
const LARGE: u16 = 1;
const EXTRA: usize = 4;

/// What a field of 4 bytes has whose number is in an extra field.
const ELSEWHERE: u32 = u32::MAX;

/// The number of bytes that are read at once to calculate a checksum.
const PIECE: u64 = 1 << 20;

/// What is in an npz file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The arrays, in the order of their names.
    pub arrays: Vec<Entry>,
    /// The names of the entries that are not arrays, in the order of their bytes.
    pub others: Vec<Vec<u8>>,
}

/// An array in an npz file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the entry, without `.npy` if it ends so: UTF-8 if the archive says so, otherwise in an encoding that it does not
    /// say.
    pub name: Vec<u8>,
    /// The array. Its range is that in the npz file.
    pub array: Array,
    pub(super) file: NpyFile,
}

/// An npy file in an npz file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NpyFile {
    /// Its bytes, from the beginning of the npz file.
    bytes: Range<u64>,
    /// The checksum of these bytes.
    checksum: u32,
    /// What follows the name of the array in that of the entry.
    suffix: &'static str,
}

impl NpyFile {
    /// The entry of the array `name`, for an error.
    pub(super) fn place<'a>(&self, name: &'a [u8]) -> Place<'a> {
        Place::Entry(name, self.suffix)
    }
}

/// Reads the directory of an npz file and the headers of its arrays.
///
/// An entry whose name ends in `.npy` has to be an array, and any other entry is one if it begins as an npy file does. As in NumPy,
/// an array has the name of its entry without `.npy`. Where two arrays would have the same name because of that, the entry with
/// `.npy` keeps its whole name. Elements whose type NumPy does not write, as in [`npy::read`], have the type `dtype`; it does not
/// matter for others.
pub fn read(source: &Source<'_>, dtype: Option<DType>) -> Result<Contents, Error> {
    let stored = stored(source)?;
    let mut arrays: Vec<Entry> = fallible::list(stored.len())?;
    let mut others = Vec::new();
    // The names of the entries are sorted, so that `a` comes before `a.npy`. An array that kept its whole name is here, too.
    let mut whole: Vec<&[u8]> = Vec::new();
    for Stored { name, data, checksum, .. } in &stored {
        let stem = name.strip_suffix(SUFFIX.as_bytes());
        if stem.is_none() && !npy::begins(source, data.clone())? {
            fallible::push(&mut others, fallible::copied(name)?)?;
            continue;
        }
        let stem = stem.filter(|stem| whole.binary_search(stem).is_err());
        if stem.is_none() {
            fallible::push(&mut whole, name)?;
        }
        let array = npy::read_part(source, Some(Place::Entry(name, "")), data.clone(), Wanted::IfUntyped(dtype))?;
        let file = NpyFile { bytes: data.clone(), checksum: *checksum, suffix: if stem.is_some() { SUFFIX } else { "" } };
        let name = fallible::copied(stem.unwrap_or(name))?;
        fallible::push(&mut arrays, Entry { name, array, file })?;
    }
    // `a.npy` comes after `a-b.npy`, but `a` before `a-b`.
    arrays.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Contents { arrays, others })
}

/// Checks the checksum of an entry, which takes reading all of it.
///
/// # Errors
/// [`Error::Format`] if it is not that of the data; [`Error::File`].
pub fn check(source: &Source<'_>, entry: &Entry) -> Result<(), Error> {
    let mut checksum = Checksum::new(&entry.file);
    let place = entry.file.place(&entry.name);
    checksum.skip_to(source, place, entry.file.bytes.end)?;
    checksum.compare(source, place)
}

/// The checksum of those bytes of an entry that have been read. `place` is the entry in all of its functions.
#[derive(Debug)]
pub(super) struct Checksum {
    /// The bytes of the npy file, from the beginning of the npz file.
    file: Range<u64>,
    /// The byte of the npz file up to which the checksum goes.
    at: u64,
    sum: Hasher,
    expected: u32,
}

impl Checksum {
    /// The checksum of no bytes yet.
    pub(super) fn new(file: &NpyFile) -> Self {
        Self { at: file.bytes.start, file: file.bytes.clone(), sum: Hasher::new(), expected: file.checksum }
    }

    /// Adds the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.sum.update(bytes);
        self.at += bytes.len() as u64;
    }

    /// Reads the bytes up to byte `end` of the npz file, and adds them.
    pub(super) fn skip_to(&mut self, source: &Source<'_>, place: Place<'_>, end: u64) -> Result<(), Error> {
        while self.at < end {
            let piece = source.read(Some(place), "the entry", self.at, PIECE.min(end - self.at))?;
            self.add(&piece);
        }
        Ok(())
    }

    /// Reads one piece of the bytes that are left. Returns whether there are more.
    pub(super) fn skip_piece(&mut self, source: &Source<'_>, place: Place<'_>) -> Result<bool, Error> {
        self.skip_to(source, place, self.file.end.min(self.at.saturating_add(16 * PIECE)))?;
        Ok(self.at < self.file.end)
    }

    /// Compares the checksum of all bytes with that of the directory.
    pub(super) fn compare(&self, source: &Source<'_>, place: Place<'_>) -> Result<(), Error> {
        let (expected, got) = (self.expected, self.sum.clone().finalize());
        if expected == got {
            return Ok(());
        }
        Err(source.error(self.file.start, Some(place), Flaw::Checksum { expected, got }))
    }
}
