//! One field of records that follow each other: its elements lie at equal distances in bytes, at any address. On the other side they lie
//! side by side.

use std::ops::Range;

use super::access::{Bytes, BytesMut, Readable, ValuesMut, Writable, get_as};
use super::cast::Buffer;
use super::level::Level;
use super::{Axis, copy_strided, stream, swap, threads};
use crate::convert::Complex;
use crate::element::Element;

/// Where a field is in records that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The number of bytes before the field in a record.
    pub offset: usize,
    /// The number of bytes of a record. The field ends inside it.
    pub record: usize,
    /// The bytes of each word of this many bytes are reversed. With 1 all stay as they are.
    pub word: usize,
}

/// The number of bytes of the field that are read into a buffer before they go to the target.
const BUFFER: usize = 256;

/// The number of bytes of the field whose order is reversed in a buffer before they are written into records.
const REVERSED: usize = 8 << 10;

impl Field {
    /// About how many bytes are moved for one record, if the field has `width` bytes: a processor reads whole cache lines.
    #[must_use]
    pub fn weight(self, width: usize) -> usize {
        self.record.min(stream::LINE) + width
    }

    /// The bytes of the records in a range, from the field in the first of them to the end of the last.
    fn bytes(self, records: Range<usize>) -> Range<usize> {
        records.start * self.record + self.offset..records.end * self.record
    }
}

/// Copies the field of all records to `target`, which has an element for each of them. The two blocks do not overlap.
///
/// # Panics
/// If `records` has fewer bytes than these records, or if an element does not end inside its record.
pub fn read_field(target: Writable<'_>, records: Readable<'_>, field: Field) {
    let width = target.dtype().width();
    assert!(field.offset + width <= field.record, "the field ends inside its record");
    let (target, records) = (target.bytes(), records.bytes());
    let streamed = target.data().addr().is_multiple_of(width) && stream::speeds_up_copy(target.nbytes(), target.nbytes());
    let level = Level::current();
    threads::for_each_block(target.size() / width, field.weight(width), |range| {
        let part = target.part(range.start * width..range.end * width).values();
        let source = records.part(field.bytes(range));
        if !streamed {
            return read(level, part, source.values(), width, field, false);
        }
        for (bytes, streamed) in stream::parts(part) {
            let source = source.part(bytes.start / width * field.record..source.size());
            read(level, part.part(bytes), source.values(), width, field, streamed);
        }
        stream::finish();
    });
}

/// Does the work of [`read_field`] from the field of the first record on.
fn read(level: Level, target: BytesMut, source: Bytes, width: usize, field: Field, streamed: bool) {
    if field.word == 1 && !streamed {
        return gather(target, source, width, field.record);
    }
    let mut buffer = Buffer::<{ BUFFER / size_of::<u64>() }>::new();
    let head = if streamed { stream::bytes_before_line(target) } else { 0 };
    let mut done = 0;
    while done < target.size() {
        let size = if done < head { head } else { BUFFER.min(target.size() - done) };
        let size = if streamed && size > stream::LINE { size - size % stream::LINE } else { size };
        let source = source.part(done / width * field.record..source.size());
        if field.record <= stream::LINE {
            stream::prefetch(source, size / width * field.record / stream::LINE);
        }
        let read = buffer.fill_with(size, |buffer| {
            gather(buffer, source, width, field.record);
            swap::reverse_words(level, buffer, field.word);
        });
        let part = target.part(done..done + size);
        if streamed && done >= head && size.is_multiple_of(stream::LINE) {
            stream::copy(part, read);
        } else {
            part.copy_from(read);
        }
        done += size;
    }
}

/// Fills the target with elements of `width` bytes, which are `record` bytes apart in the source.
fn gather(target: BytesMut, source: Bytes, width: usize, record: usize) {
    match width {
        1 => gather_as::<u8>(target.retyped(), source, record),
        2 => gather_as::<i16>(target.retyped(), source, record),
        4 => gather_as::<i32>(target.retyped(), source, record),
        8 => gather_as::<i64>(target.retyped(), source, record),
        _ => gather_as::<Complex<f64>>(target.retyped(), source, record),
    }
}

// There is no version for more instructions: with them the compiler makes vectors of the elements, which takes longer.
fn gather_as<T: Element>(target: ValuesMut<T>, source: Bytes, record: usize) {
    let count = target.size();
    let last = count.saturating_sub(1).checked_mul(record).and_then(|last| last.checked_add(size_of::<T>()));
    assert!(count == 0 || last.is_some_and(|end| end <= source.size()), "all elements are inside the source");
    for index in 0..count {
        // SAFETY: [in-bounds] the last element ends inside the source, and none is behind it.
        target.set(index, unsafe { get_as(source.data().wrapping_add(index * record), 0) });
    }
}

/// Writes the elements of `source` into the field of all records. The two blocks do not overlap.
///
/// # Panics
/// As [`read_field`].
pub fn write_field(records: Writable<'_>, source: Readable<'_>, field: Field) {
    let (dtype, width) = (source.dtype(), source.dtype().width());
    assert!(field.offset + width <= field.record, "the field ends inside its record");
    let records = records.bytes();
    let scatter = |source: Readable<'_>, range: Range<usize>| {
        let axis = |size, target: usize, source: usize| Axis { size, target: target.cast_signed(), source: source.cast_signed() };
        let axes = [axis(range.len(), field.record, width), axis(width, 1, 1)];
        copy_strided(records, source.bytes(), (field.bytes(range).start, 0), &axes);
    };
    if field.word == 1 {
        return scatter(source, 0..source.size());
    }
    let chunk = REVERSED / width;
    threads::for_each_block(source.size(), field.weight(width), |block| {
        let mut buffer = [0; REVERSED];
        for start in block.clone().step_by(chunk) {
            let range = start..block.end.min(start + chunk);
            let reversed = Writable::of(&mut buffer, dtype).part(0..range.len());
            super::copy(reversed, source.part(range.clone()));
            super::byteswap(reversed.bytes(), field.word);
            scatter(reversed.readable(), range);
        }
    });
}
