//! The records of a zip archive that say where its entries are: the end record, the directory before it, and the header of each
//! entry.
//!
//! Programs that unpack archives also accept some that are not consistent. This module accepts an archive only if its end record fits
//! its directory, and its entries do not overlap.

use std::ops::Range;

use super::super::source::{Place, Source};
use super::{ELSEWHERE, END, EXTRA, LARGE, LARGE_END, LOCATOR, RECORD, STORED, UTF8};
use crate::error::{Error, Flaw, Text, shown};
use crate::fallible;

/// The length of the header of an entry without the name and the extra field.
const HEADER: u64 = 30;

/// The largest length of a name, of an extra field, and of a comment.
const LONGEST: usize = 65_535;

/// The number of bytes at the end of a file that are searched first. Few archives have a comment.
const USUAL: u64 = 1024;

/// The number of bytes of the directory that are read at once. Every record fits.
const PIECE: u64 = (RECORD + 3 * LONGEST) as u64;

/// The flags of entries that are encrypted, in three ways.
const ENCRYPTED: u64 = 1 | 1 << 6 | 1 << 13;

/// The method of an entry that is compressed as most are.
const DEFLATED: u16 = 8;

/// A stored entry of an archive.
pub(super) struct Stored {
    pub(super) name: Vec<u8>,
    pub(super) data: Range<u64>,
    pub(super) checksum: u32,
    /// Where its record is in the directory.
    record: u64,
    /// Where its header begins.
    begin: u64,
    /// The number of bytes of its data.
    size: u64,
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

/// All entries of an archive, in the order of their names.
pub(super) fn stored(source: &Source<'_>) -> Result<Vec<Stored>, Error> {
    let end_at = end_record_at(source)?;
    let end = end_record(source, end_at)?;
    let fail = |byte, place: Option<Place<'_>>, flaw| Err(source.error(byte, place, flaw));

    let mut found = Vec::new();
    let mut records = Records { source, rest: end.directory.clone(), piece: Vec::new(), used: 0 };
    while let Some(record) = records.next_record()? {
        fallible::push(&mut found, stored_entry(source, &record)?)?;
    }
    drop(records);
    let entries = found.len() as u64;
    if entries != end.entries {
        return fail(end_at, None, Flaw::Directory { what: "entries", said: end.entries, found: entries });
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
        let header = source.read(place, "the header of the entry", entry.begin, HEADER)?;
        if !header.starts_with(b"PK\x03\x04") {
            return fail(entry.begin, place, Flaw::Archive { why: "the entry has no header there" });
        }
        let start = entry.begin + HEADER + number(&header, 26..28) + number(&header, 28..30);
        let left = source.length().saturating_sub(start);
        if entry.size > left {
            return fail(entry.record, place, Flaw::Short { what: "the entry", needed: entry.size, left });
        }
        if start + entry.size > limit {
            return Err(overlap());
        }
        found[index].data = start..start + entry.size;
    }

    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = found.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let name = pair[0].name.as_slice().into();
        return fail(pair[1].record, Some(pair[0].place()), Flaw::Twice { name });
    }
    Ok(found)
}

/// A record of the directory, which is at byte `at` of the file.
struct Record<'a> {
    at: u64,
    numbers: &'a [u8],
    name: &'a [u8],
    extra: &'a [u8],
}

/// Reads the records of a directory one after the other.
struct Records<'a> {
    source: &'a Source<'a>,
    /// The bytes of the directory after the piece.
    rest: Range<u64>,
    /// The piece of the directory that was read last.
    piece: Vec<u8>,
    /// The number of bytes of the piece that belong to former records.
    used: usize,
}

impl Records<'_> {
    /// The next record. `None` at the end of the directory.
    fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        let at = self.position();
        if at == self.rest.end {
            return Ok(None);
        }
        let numbers = self.upcoming(RECORD)?;
        if !numbers.starts_with(b"PK\x01\x02") {
            return Err(self.source.error(at, None, Flaw::Archive { why: "the directory has no record there" }));
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16::from_le_bytes([numbers[at], numbers[at + 1]])));
        let size = RECORD + name + extra + comment;
        self.upcoming(size)?;
        let (numbers, rest) = self.piece[self.used..].split_at(RECORD);
        let (name, rest) = rest.split_at(name);
        self.used += size;
        Ok(Some(Record { at, numbers, name, extra: &rest[..extra] }))
    }

    /// The byte of the file at which the next record begins.
    fn position(&self) -> u64 {
        self.rest.start - (self.piece.len() - self.used) as u64
    }

    /// The first bytes of the next record.
    fn upcoming(&mut self, size: usize) -> Result<&[u8], Error> {
        if self.piece.len() - self.used < size {
            let from = self.position();
            let left = self.rest.end - from;
            if left < size as u64 {
                return Err(self.source.error(from, None, Flaw::Archive { why: "a record of the archive is cut" }));
            }
            (self.rest.start, self.piece, self.used) = (from, Vec::new(), 0);
            self.piece = self.source.read(None, "the directory", from, PIECE.min(left))?;
            self.rest.start += self.piece.len() as u64;
        }
        Ok(&self.piece[self.used..self.used + size])
    }
}

/// The entry that a record of the directory describes. The range of its data is not known yet.
fn stored_entry(source: &Source<'_>, record: &Record<'_>) -> Result<Stored, Error> {
    let &Record { at, numbers, name, extra } = record;
    let fail = |flaw| Err(source.error(at, Some(Place::Entry(name, "")), flaw));
    let flags = number(numbers, 8..10);
    if flags & ENCRYPTED != 0 {
        return fail(Flaw::Encrypted);
    }
    match u16::from_le_bytes([numbers[10], numbers[11]]) {
        STORED => {}
        DEFLATED => return fail(Flaw::Compressed),
        method => return fail(Flaw::Method { method }),
    }
    let [size, stored, begin] = wide_numbers(numbers, extra);
    if stored != size {
        return fail(Flaw::StoredSizes { stored, size });
    }
    if flags & u64::from(UTF8) != 0 && str::from_utf8(name).is_err() {
        return fail(Flaw::NotUtf8);
    }
    let checksum = u32::from_le_bytes([numbers[16], numbers[17], numbers[18], numbers[19]]);
    Ok(Stored { name: fallible::copied(name)?, data: 0..0, checksum, record: at, begin, size })
}

/// The size of an entry as a file, its size in the archive, and the beginning of its header. Those that need more than 4 bytes are in
/// an extra field, in this order.
fn wide_numbers(numbers: &[u8], extra: &[u8]) -> [u64; 3] {
    let mut found = [24..28, 20..24, 42..46].map(|range| number(numbers, range));
    let mut wide = large_field(extra).chunks_exact(8);
    for slot in found.iter_mut().filter(|slot| **slot == u64::from(ELSEWHERE)) {
        let Some(bytes) = wide.next() else { break };
        *slot = number(bytes, 0..8);
    }
    found
}

/// The extra field that has numbers of 8 bytes. It is empty if there is none.
fn large_field(mut extra: &[u8]) -> &[u8] {
    while let Some((head, rest)) = extra.split_at_checked(EXTRA) {
        let size = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let Some((field, rest)) = rest.split_at_checked(size) else { break };
        if head[..2] == LARGE.to_le_bytes() {
            return field;
        }
        extra = rest;
    }
    &[]
}

/// Finds the end record, which is the last of that kind.
fn end_record_at(source: &Source<'_>) -> Result<u64, Error> {
    const MAGIC: u64 = 2;
    for size in [USUAL, END + LONGEST as u64] {
        let begin = source.length().saturating_sub(size);
        let bytes = source.read(None, "the end record", begin, source.length() - begin)?;
        if let Some(at) = bytes.windows(4).rposition(|part| part == b"PK\x05\x06") {
            let at = begin + at as u64;
            if source.length() - at >= END {
                return Ok(at);
            }
            break;
        }
    }
    let got = source.read(None, "an npz file", 0, MAGIC.min(source.length()))?;
    if got != b"PK" {
        return Err(source.error(0, None, Flaw::Beginning { expected: "an npz file", got: (*got).into() }));
    }
    Err(source.error(source.length(), None, Flaw::Archive { why: "the end record is missing or cut" }))
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
    let small = [4..6, 6..8, 8..10, 10..12, 12..16, 16..20].map(|range| number(&end, range));
    let locator = match at.checked_sub(LOCATOR) {
        Some(at) => source.read(None, "the end record", at, LOCATOR)?,
        None => Vec::new(),
    };
    let ([disk, first_disk, here, entries, size, start], limit) = if locator.starts_with(b"PK\x06\x07") {
        let large_at = number(&locator, 8..16);
        if number(&locator, 4..8) != 0 || large_at.checked_add(LARGE_END) != at.checked_sub(LOCATOR) {
            return fail(at - LOCATOR, "the end record for large archives is not where it should be");
        }
        let large = source.read(None, "the end record", large_at, LARGE_END)?;
        if !large.starts_with(b"PK\x06\x06") || number(&large, 4..12) != LARGE_END - 12 {
            return fail(large_at, "the end record for large archives is missing");
        }
        let large = [16..20, 20..24, 24..32, 32..40, 40..48, 48..56].map(|range| number(&large, range));
        let widest = [0xffff, 0xffff, 0xffff, 0xffff, 0xffff_ffff, 0xffff_ffff];
        if !small.iter().zip(&large).zip(widest).all(|((small, large), widest)| small == large || *small == widest) {
            return fail(at, "the two end records of the archive differ");
        }
        (large, large_at)
    } else {
        (small, at)
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
