//! The records of an npz file, byte for byte as Python's `zipfile` writes them for `numpy.savez`.
//!
//! Before each entry there is a header, after the last entry a directory, and at the end a record that says where the directory is.
//! All sizes are known before anything is written, but the checksum of an entry only after its elements. So it is put into the
//! header afterwards. In a file that cannot be changed, for example a pipe, it follows the elements instead.

use super::{ELSEWHERE, END, EXTRA, LARGE, LARGE_END, LOCATOR, RECORD, STORED, SUFFIX, UTF8};
use crate::error::Error;
use crate::fallible;

/// What an error calls the format.
const FORMAT: &str = "an npz file";

/// The version of the zip format that has numbers of 8 bytes, which `numpy.savez` writes into every header.
const VERSION: u16 = 45;

/// The system that the permissions are of: Unix.
const UNIX: u16 = 3 << 8;

/// Only the owner may read and write the file: what `zipfile` writes.
const PERMISSIONS: u32 = 0o600 << 16;

/// The flag of an entry whose checksum follows its elements.
const FOLLOWED: u16 = 1 << 3;

/// Midnight of the first of January 1980, which `numpy.savez` writes for all entries.
const TIME: u16 = 0;
const DATE: u16 = 1 << 5 | 1;

/// The greatest number that `zipfile` writes into a field of 4 bytes. A greater one is in an extra field, and this field has
/// [`ELSEWHERE`].
const GREATEST: u64 = i32::MAX.unsigned_abs() as u64;

/// The greatest number of entries in an end record. An archive with more has one more record, with numbers of 8 bytes.
const MOST_ENTRIES: usize = 65_535;

/// Where the checksum is in a header.
const CHECKSUM: u64 = 14;

/// The length of a header without the name, with its extra field, and of the record that may follow an entry.
const HEADER: usize = 50;
const FOLLOWING: usize = 24;

/// The entries of an npz file that is written.
#[derive(Debug)]
pub struct Archive {
    entries: Vec<Entry>,
    /// Whether headers can be changed after they were written.
    is_changeable: bool,
    /// Where the last entry ends.
    end: u64,
}

#[derive(Debug)]
struct Entry {
    name: String,
    flags: u16,
    /// Where the header is.
    begin: u64,
    /// The size of the npy file.
    size: u64,
    checksum: u32,
}

/// What has to be done when the checksum of an entry is known.
#[derive(Debug)]
pub enum Completion {
    /// The bytes in the header at this position have to be replaced.
    Replace(u64, [u8; 4]),
    /// These bytes have to be written after the entry.
    Append([u8; FOLLOWING]),
}

impl Archive {
    /// An archive without entries. `is_changeable` says whether bytes of the file can be replaced after they were written.
    pub fn new(is_changeable: bool) -> Self {
        Self { entries: Vec::new(), is_changeable, end: 0 }
    }

    /// Adds an entry for the array `name`, whose npy file has `size` bytes. Returns the header.
    ///
    /// # Errors
    /// [`Error::NotInFormat`] for a name or a size that an archive cannot have; [`Error::OutOfMemory`].
    pub fn add(&mut self, name: &str, size: u64) -> Result<Vec<u8>, Error> {
        let refuse = |why| Error::NotInFormat { format: FORMAT, name: name.into(), why };
        if name.contains('\0') {
            return Err(refuse("the name of an entry ends at a zero byte"));
        }
        let length = u16::try_from(name.len() + SUFFIX.len());
        let length = length.map_err(|_| refuse("the name of an entry has at most 65,531 bytes"))?;
        let flags = if name.is_ascii() { 0 } else { UTF8 } | if self.is_changeable { 0 } else { FOLLOWED };
        let early = if self.is_changeable { size } else { 0 };
        // There is room for all that is added.
        let mut header = fallible::list(HEADER + usize::from(length))?;
        header.extend(b"PK\x03\x04");
        header.extend(words([VERSION, flags, STORED, TIME, DATE]));
        header.extend(numbers([0, ELSEWHERE, ELSEWHERE]));
        header.extend(words([length, 20]));
        header.extend(name.as_bytes());
        header.extend(SUFFIX.as_bytes());
        header.extend(words([LARGE, 16]));
        header.extend(longs([early, early]));
        let begin = self.end;
        let following = if self.is_changeable { 0 } else { FOLLOWING };
        let bytes = ((header.len() + following) as u64).checked_add(size).and_then(|bytes| begin.checked_add(bytes));
        // The directory needs room too.
        let bytes = bytes.filter(|&bytes| bytes <= i64::MAX.unsigned_abs() / 2);
        self.end = bytes.ok_or_else(|| refuse("the file would have more than 2^62 bytes"))?;
        fallible::push(&mut self.entries, Entry { name: fallible::text(name)?, flags, begin, size, checksum: 0 })?;
        Ok(header)
    }

    /// Takes the checksum of entry `index`, in the order in which the entries were added.
    pub fn complete(&mut self, index: usize, checksum: u32) -> Completion {
        let entry = &mut self.entries[index];
        entry.checksum = checksum;
        if self.is_changeable {
            Completion::Replace(entry.begin + CHECKSUM, checksum.to_le_bytes())
        } else {
            Completion::Append(Self::following(checksum, entry.size))
        }
    }

    /// The record that follows an entry in a file that cannot be changed.
    fn following(checksum: u32, size: u64) -> [u8; FOLLOWING] {
        let mut record = [0; FOLLOWING];
        let bytes = b"PK\x07\x08".iter().copied().chain(numbers([checksum])).chain(longs([size, size]));
        record.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
        record
    }

    /// The length of the whole file.
    pub fn length(&self) -> u64 {
        self.end + self.records() + if self.is_large() { LARGE_END + LOCATOR } else { 0 } + END
    }

    /// The length of the records of the directory.
    fn records(&self) -> u64 {
        self.entries.iter().map(|entry| (RECORD + entry.name.len() + SUFFIX.len() + entry.wide().1) as u64).sum()
    }

    /// Whether the archive has an end record with numbers of 8 bytes.
    fn is_large(&self) -> bool {
        self.entries.len() > MOST_ENTRIES || self.end > GREATEST || self.records() > GREATEST
    }

    /// The directory and the records after it. They have the same length before and after the entries are complete.
    pub fn directory(&self) -> Result<Vec<u8>, Error> {
        // There is room for all that is added.
        let mut bytes = fallible::list(usize::try_from(self.length() - self.end).unwrap_or(usize::MAX))?;
        for entry in &self.entries {
            let (wide, extra) = entry.wide();
            bytes.extend(b"PK\x01\x02");
            bytes.extend(words([UNIX | VERSION, VERSION, entry.flags, STORED, TIME, DATE]));
            bytes.extend(numbers([entry.checksum, narrow(entry.size), narrow(entry.size)]));
            bytes.extend(words([short(entry.name.len() + SUFFIX.len()), short(extra), 0, 0, 0]));
            bytes.extend(numbers([PERMISSIONS, narrow(entry.begin)]));
            bytes.extend(entry.name.as_bytes());
            bytes.extend(SUFFIX.as_bytes());
            if extra > 0 {
                bytes.extend(words([LARGE, short(extra - EXTRA)]));
                bytes.extend(longs(wide).take(extra - EXTRA));
            }
        }
        let (begin, size, count) = (self.end, bytes.len() as u64, self.entries.len());
        if self.is_large() {
            bytes.extend(b"PK\x06\x06");
            bytes.extend(longs([LARGE_END - 12]));
            bytes.extend(words([VERSION, VERSION]));
            bytes.extend(numbers([0, 0]));
            bytes.extend(longs([count as u64, count as u64, size, begin]));
            bytes.extend(b"PK\x06\x07");
            bytes.extend(numbers([0]));
            bytes.extend(longs([begin + size]));
            bytes.extend(numbers([1]));
        }
        bytes.extend(b"PK\x05\x06");
        bytes.extend(words([0, 0, short(count), short(count)]));
        // Other than in the directory, these fields have all numbers that fit.
        bytes.extend(numbers([size, begin].map(|number| u32::try_from(number).unwrap_or(ELSEWHERE))));
        bytes.extend(words([0]));
        Ok(bytes)
    }
}

impl Entry {
    /// The numbers that need 8 bytes, and the length of the extra field that has them. Others may follow.
    fn wide(&self) -> ([u64; 3], usize) {
        let (numbers, count) = match (self.size > GREATEST, self.begin > GREATEST) {
            (true, true) => ([self.size, self.size, self.begin], 3),
            (true, false) => ([self.size, self.size, 0], 2),
            (false, true) => ([self.begin, 0, 0], 1),
            (false, false) => ([0; 3], 0),
        };
        (numbers, if count > 0 { EXTRA + 8 * count } else { 0 })
    }
}

/// A number for a field of 4 bytes in the directory.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).ok().filter(|_| number <= GREATEST).unwrap_or(ELSEWHERE)
}

/// A number for a field of 2 bytes; the greatest one if it does not fit.
fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn words<const N: usize>(words: [u16; N]) -> impl Iterator<Item = u8> {
    words.into_iter().flat_map(u16::to_le_bytes)
}

fn numbers<const N: usize>(numbers: [u32; N]) -> impl Iterator<Item = u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes)
}

fn longs<const N: usize>(longs: [u64; N]) -> impl Iterator<Item = u8> {
    longs.into_iter().flat_map(u64::to_le_bytes)
}
