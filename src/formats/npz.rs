//! Several npy files in one zip archive, as `numpy.savez` writes it. They are stored, not compressed.
//!
//! The crate `rawzip` reads the records of the archive. It also accepts archives that are not consistent, because unpacking
//! programs do. This module accepts an archive only if its end record fits its directory, and its entries do not overlap.

mod write;

use std::io;
use std::ops::Range;

use crc32fast::Hasher;
use rawzip::{CompressionMethod, ErrorKind, ReaderAt, ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator};

use super::npy::{self, Array, Wanted};
use super::source::{Place, ReadAt, Source};
use crate::element::DType;
use crate::error::{Error, Flaw, Text, shown};
use crate::fallible;
use crate::system::failure;
pub(super) use write::{Archive, Completion};

/// The end of the name of an entry that is an array, as NumPy writes it. It is not a part of the array's name.
const SUFFIX: &str = ".npy";

/// The length of the end record without its comment, and of the two records before it in a large archive.
const END: u64 = 22;
const LOCATOR: u64 = 20;
const LARGE_END: u64 = 56;

/// The length of a record of the directory without the name, the extra fields and the comment.
const RECORD: u64 = 46;

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
///
/// # Errors
/// [`Error::Format`], [`Error::File`], [`Error::OutOfMemory`].
pub fn read(source: &Source<'_>, dtype: Option<DType>) -> Result<Contents, Error> {
    let stored = stored(source)?;
    let mut arrays: Vec<Entry> = fallible::list(stored.len())?;
    let mut others = Vec::new();
    // The names of the entries are sorted, so that `a` comes before `a.npy`. An array that kept its whole name is here, too.
    let mut whole: Vec<&[u8]> = Vec::new();
    for Stored { name, data, checksum, .. } in &stored {
        let stem = name.strip_suffix(SUFFIX.as_bytes());
        if stem.is_none() && !npy::begins(source, data.clone())? {
            fallible::push(&mut others, fallible::list_of(name.iter().copied())?)?;
            continue;
        }
        let stem = stem.filter(|stem| whole.binary_search(stem).is_err());
        if stem.is_none() {
            fallible::push(&mut whole, name)?;
        }
        let array = npy::read_part(source, Some(Place::Entry(name, "")), data.clone(), Wanted::IfUntyped(dtype))?;
        let file = NpyFile { bytes: data.clone(), checksum: *checksum, suffix: if stem.is_some() { SUFFIX } else { "" } };
        let name = fallible::list_of(stem.unwrap_or(name).iter().copied())?;
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

/// The checksum of an entry, as far as its bytes are known. `place` is the entry in all of its functions.
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

    /// Reads one piece of the bytes that are left. Answers whether there are more.
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

/// A stored entry of an archive.
struct Stored {
    name: Vec<u8>,
    /// Where its record is in the directory.
    record: u64,
    /// What `rawzip` needs to find it.
    finder: ZipArchiveEntryWayfinder,
    /// Where its local header begins.
    begin: u64,
    data: Range<u64>,
    checksum: u32,
}

impl Stored {
    fn place(&self) -> Place<'_> {
        Place::Entry(&self.name, "")
    }
}

/// Where the directory is, according to the end record.
struct End {
    entries: u64,
    directory: Range<u64>,
}

impl ReaderAt for Source<'_> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        // The system refuses to read at some of the offsets that an archive can name.
        if offset >= self.length() { Ok(0) } else { ReadAt::read_at(self, into, offset) }
    }
}

/// All entries of an archive.
fn stored(source: &Source<'_>) -> Result<Vec<Stored>, Error> {
    let mut buffer = fallible::list(rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE)?;
    buffer.resize(rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE, 0);
    let archive = ZipLocator::new()
        .locate_in_reader(*source, &mut buffer, source.length())
        .map_err(|(_, error)| no_archive(source, error))?;
    let end = end_record(source, archive.eocd_offset())?;
    let fail = |byte, place: Option<Place<'_>>, flaw| Err(source.error(byte, place, flaw));
    if (archive.directory_offset(), archive.entries_hint()) != (end.directory.start, end.entries) {
        let why = "the directory is not where the end record says";
        return fail(archive.eocd_offset(), None, Flaw::Archive { why });
    }

    let mut found = Vec::new();
    let mut records = archive.entries(&mut buffer);
    let mut at = end.directory.start;
    while let Some(record) = records.next_entry().map_err(|error| wrong_record(source, at, None, error))? {
        fallible::push(&mut found, stored_entry(source, at, &record)?)?;
        let parts = [record.file_path().len(), record.extra_fields().remaining_bytes().len(), record.comment().as_bytes().len()];
        at += RECORD + parts.iter().sum::<usize>() as u64;
    }
    let entries = found.len() as u64;
    if entries != end.entries {
        return fail(archive.eocd_offset(), None, Flaw::Directory { what: "entries", said: end.entries, found: entries });
    }
    if at != end.directory.end {
        let (said, found) = (end.directory.end - end.directory.start, at - end.directory.start);
        return fail(archive.eocd_offset(), None, Flaw::Directory { what: "bytes", said, found });
    }

    found.sort_unstable_by_key(|entry| entry.begin);
    for index in 0..found.len() {
        let (limit, other) = match found.get(index + 1) {
            Some(next) if next.begin < end.directory.start => (next.begin, Some(index + 1)),
            _ => (end.directory.start, None),
        };
        let entry = &found[index];
        let place = Some(entry.place());
        // An entry that begins where the next one begins is refused before anything is read there.
        let overlap = || {
            let quoted = |other: usize| Text::displayed(&format_args!("'{}'", shown(&found[other].name)));
            let other = other.map_or_else(|| "the directory".into(), quoted);
            source.error(entry.record, place, Flaw::Overlap { other })
        };
        if entry.begin >= limit {
            return Err(overlap());
        }
        let local = archive.get_entry(entry.finder).map_err(|error| wrong_record(source, entry.begin, place, error))?;
        let (start, end) = local.compressed_data_range();
        if end > source.length() {
            let left = source.length().saturating_sub(start);
            return fail(entry.record, place, Flaw::Short { what: "the entry", needed: end - start, left });
        }
        if end > limit {
            return Err(overlap());
        }
        found[index].data = start..end;
    }

    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = found.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let name = pair[0].name.as_slice().into();
        return fail(pair[1].record, Some(pair[0].place()), Flaw::Twice { name });
    }
    Ok(found)
}

/// An entry of the directory, whose record is at byte `at`.
fn stored_entry(source: &Source<'_>, at: u64, record: &ZipFileHeaderRecord<'_>) -> Result<Stored, Error> {
    let name = record.file_path();
    let fail = |flaw| Err(source.error(at, Some(Place::Entry(name.as_bytes(), "")), flaw));
    let flags = record.flags();
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
        return fail(Flaw::Encrypted);
    }
    match record.compression_method() {
        CompressionMethod::STORE => {}
        CompressionMethod::DEFLATE => return fail(Flaw::Compressed),
        method => return fail(Flaw::Method { method: method.as_u16() }),
    }
    let (stored, size) = (record.compressed_size_hint(), record.uncompressed_size_hint());
    if stored != size {
        return fail(Flaw::StoredSizes { stored, size });
    }
    if flags.is_utf8() && str::from_utf8(name.as_bytes()).is_err() {
        return fail(Flaw::NotUtf8);
    }
    let (begin, checksum) = (record.local_header_offset(), record.crc32());
    let name = fallible::list_of(name.as_bytes().iter().copied())?;
    Ok(Stored { name, record: at, finder: record.wayfinder(), begin, data: 0..0, checksum })
}

/// Reads the end record at byte `at`, and in a large archive the record before it, which has wider numbers.
fn end_record(source: &Source<'_>, at: u64) -> Result<End, Error> {
    let fail = |byte, why| Err(source.error(byte, None, Flaw::Archive { why }));
    let end = source.read(None, "the end record", at, END)?;
    let behind = source.length() - at - END;
    let comment = number(&end, 20..22);
    if behind != comment {
        let missing = || Flaw::Short { what: "the comment of the archive", needed: comment, left: behind };
        let flaw = behind.checked_sub(comment).map_or_else(missing, |bytes| Flaw::Behind { what: "the archive", bytes });
        return Err(source.error(at + END, None, flaw));
    }
    let small = [number(&end, 4..6), number(&end, 6..8), number(&end, 8..10), number(&end, 10..12)];
    let small = [small.as_slice(), &[number(&end, 12..16), number(&end, 16..20)]].concat();
    let locator = match at.checked_sub(LOCATOR) {
        Some(at) => source.read(None, "the end record", at, LOCATOR)?,
        None => Vec::new(),
    };
    let (numbers, limit) = if locator.starts_with(b"PK\x06\x07") {
        let large_at = number(&locator, 8..16);
        if number(&locator, 4..8) != 0 || large_at.checked_add(LARGE_END) != at.checked_sub(LOCATOR) {
            return fail(at - LOCATOR, "the end record for large archives is not where it should be");
        }
        let large = source.read(None, "the end record", large_at, LARGE_END)?;
        if !large.starts_with(b"PK\x06\x06") || number(&large, 4..12) != LARGE_END - 12 {
            return fail(large_at, "the end record for large archives is missing");
        }
        let large = [16..20, 20..24, 24..32, 32..40, 40..48, 48..56].map(|range| number(&large, range)).to_vec();
        let widest = [0xffff, 0xffff, 0xffff, 0xffff, 0xffff_ffff, 0xffff_ffff];
        if !small.iter().zip(&large).zip(widest).all(|((small, large), widest)| small == large || *small == widest) {
            return fail(at, "the two end records of the archive differ");
        }
        (large, large_at)
    } else {
        (small, at)
    };
    let &[disk, first_disk, here, entries, size, start] = numbers.as_slice() else {
        return fail(at, "the end record is missing");
    };
    if disk != 0 || first_disk != 0 || here != entries {
        return fail(at, "the archive is a part of one in several files");
    }
    if start.checked_add(size) != Some(limit) {
        let flaw = Flaw::Directory { what: "bytes", said: size, found: limit.saturating_sub(start) };
        return Err(source.error(at, None, flaw));
    }
    Ok(End { entries, directory: start..limit })
}

/// The little-endian number in these bytes of a record.
fn number(record: &[u8], range: Range<usize>) -> u64 {
    record.get(range).unwrap_or_default().iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The error for a file that has no end record.
fn no_archive(source: &Source<'_>, error: rawzip::Error) -> Error {
    const MAGIC: u64 = 2;
    match error.into_kind() {
        ErrorKind::IO(reason) if reason.kind() != io::ErrorKind::UnexpectedEof => failure("read", source.path())(reason),
        ErrorKind::InvalidEndOfCentralDirectory => {
            source.error(source.length(), None, Flaw::Archive { why: "the end record does not fit the archive" })
        }
        _ => match source.read(None, "an npz file", 0, MAGIC.min(source.length())) {
            Ok(got) if got != b"PK" => source.error(0, None, Flaw::Beginning { expected: "an npz file", got: (*got).into() }),
            Ok(_) => source.error(source.length(), None, Flaw::Archive { why: "the end record is missing or cut" }),
            Err(error) => error,
        },
    }
}

/// The error for a record at byte `at` that is not one.
fn wrong_record(source: &Source<'_>, at: u64, place: Option<Place<'_>>, error: rawzip::Error) -> Error {
    match error.into_kind() {
        ErrorKind::IO(reason) if reason.kind() != io::ErrorKind::UnexpectedEof => failure("read", source.path())(reason),
        ErrorKind::InvalidSignature { .. } => {
            let why = if place.is_some() { "the entry has no header there" } else { "the directory has no record there" };
            source.error(at, place, Flaw::Archive { why })
        }
        _ => source.error(at, place, Flaw::Archive { why: "a record of the archive is cut" }),
    }
}
