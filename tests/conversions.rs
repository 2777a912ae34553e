//! The conversions give bit for bit what Torch7 gave: all rows of `tests/data/conversions.tsv` that convert numbers.
//!
//! The rows that convert strings are tested from Lua, because the Lua side parses strings.

use std::collections::BTreeMap;
use std::error::Error;

use torch_storage::bulk::{self, Level, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::{DType, Storage};

type Outcome = Result<(), Box<dyn Error>>;

/// Number of elements of the arrays: enough for whole vectors and a remainder, whatever the width of the elements.
const POSITIONS: usize = 67;

/// Offsets of the arrays from an aligned address, in bytes. Some give aligned elements, others do not.
const OFFSETS: [usize; 7] = [0, 1, 2, 3, 4, 7, 8];

/// The bytes around the elements, which must not change.
const UNTOUCHED: u8 = 0xa5;

/// A recorded copy: the bytes of an element of the source and of the element that it becomes.
struct Copy {
    before: Vec<u8>,
    after: Vec<u8>,
    row: &'static str,
}

/// A recorded store of a number: the bytes of the element that it becomes, and the number that Torch7 read back.
struct Set {
    op: &'static str,
    target: DType,
    number: f64,
    after: Vec<u8>,
    output: f64,
    row: &'static str,
}

#[derive(Default)]
struct Table {
    copies: BTreeMap<(usize, usize), Vec<Copy>>,
    sets: Vec<Set>,
    strings: usize,
}

fn dtype(name: &str) -> Result<DType, String> {
    DType::from_class_name(&format!("{name}Storage")).ok_or_else(|| format!("there is no dtype {name}"))
}

/// Converts hexadecimal bits, the highest first, to bytes in the order of this machine's memory.
fn memory_order(bits: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    assert!(bits.len() & 1 == 0 && bits.is_ascii(), "{bits}");
    let mut bytes = Vec::new();
    for start in (0..bits.len()).step_by(2) {
        bytes.push(u8::from_str_radix(&bits[start..start + 2], 16)?);
    }
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    Ok(bytes)
}

fn read() -> Result<Table, Box<dyn Error>> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/conversions.tsv"));
    let mut table = Table::default();
    for row in text.lines().skip(1) {
        let columns: Vec<_> = row.split('\t').collect();
        let [op, source, target, input, output, in_bits, out_bits, _note] = columns[..] else {
            return Err(format!("8 columns expected: {row}").into());
        };
        let target = dtype(target)?;
        let output = output.parse().unwrap_or(f64::NAN);
        if source == "string" {
            table.strings += 1;
        } else if op == "copy" {
            let copy = Copy { before: memory_order(in_bits)?, after: memory_order(out_bits)?, row };
            assert_eq!(copy.after.len(), target.width(), "{row}");
            table.copies.entry((dtype(source)?.number(), target.number())).or_default().push(copy);
        } else {
            assert_eq!(source, "number", "{row}");
            // On x86, 0/0 has the sign bit set.
            let number = if input == "nan" { f64::from_bits(0xfff8_0000_0000_0000) } else { input.parse()? };
            table.sets.push(Set { op, target, number, after: memory_order(out_bits)?, output, row });
        }
    }
    Ok(table)
}

/// The bytes of a storage's elements.
fn bytes_of(storage: &Storage) -> Vec<u8> {
    let byte = |offset| {
        // SAFETY: [live] [in-bounds] the storage is borrowed, and the offset is below its number of bytes.
        unsafe { storage.data().wrapping_add(offset).read() }
    };
    (0..storage.nbytes()).map(byte).collect()
}

#[test]
fn the_table_is_complete() -> Outcome {
    let table = read()?;
    assert_eq!(table.copies.values().map(Vec::len).sum::<usize>(), 2122);
    for (op, rows) in [("fill", 659), ("set", 662), ("table", 709)] {
        assert_eq!(table.sets.iter().filter(|set| set.op == op).count(), rows, "{op}");
    }
    assert_eq!(table.strings, 380);
    let dtypes = DType::ALL.iter().filter(|dtype| dtype.is_in_torch7()).count();
    assert_eq!(table.copies.len(), dtypes * dtypes, "some pair of Torch7's types has no row");
    Ok(())
}

#[test]
fn each_value_is_copied_as_recorded() -> Outcome {
    let mut checked = 0;
    for (&(from, to), copies) in &read()?.copies {
        for copy in copies {
            let source = Storage::from_bytes(DType::ALL[from], &copy.before)?;
            let target = source.cast(DType::ALL[to])?;
            assert_eq!(bytes_of(&target), copy.after, "{}", copy.row);
            target.fill(Scalar::Float(85.0))?;
            target.copy_from(&source)?;
            assert_eq!(bytes_of(&target), copy.after, "{}", copy.row);
            checked += 1;
        }
    }
    assert_eq!(checked, 2122);
    Ok(())
}

/// The recorded values of each pair of dtypes are repeated to fill an array. The array is rotated until each value has been at
/// each position, and every level of vector instructions that this machine has copies it.
#[test]
fn each_value_at_every_position_and_alignment_is_copied_as_recorded() -> Outcome {
    let mut checked = 0;
    for (&(from, to), copies) in &read()?.copies {
        let (from, to) = (DType::ALL[from], DType::ALL[to]);
        for rotation in 0..copies.len() {
            let row = |position: usize| &copies[(position + rotation) % copies.len()];
            let before: Vec<u8> = (0..POSITIONS).flat_map(|position| row(position).before.clone()).collect();
            let after: Vec<u8> = (0..POSITIONS).flat_map(|position| row(position).after.clone()).collect();
            for source_offset in OFFSETS {
                for target_offset in OFFSETS {
                    for level in Level::available() {
                        let got = copied(level, &before, from, source_offset, to, target_offset);
                        if got != after {
                            let wrong = (0..POSITIONS).find(|&position| {
                                let element = position * to.width()..(position + 1) * to.width();
                                got[element.clone()] != after[element]
                            });
                            let row = wrong.map(|position| row(position).row);
                            assert_eq!(
                                got,
                                after,
                                "{row:?} at {wrong:?}, from offset {source_offset} to {target_offset}, {}",
                                level.name()
                            );
                        }
                    }
                    checked += POSITIONS;
                }
            }
        }
    }
    assert_eq!(checked, 2122 * POSITIONS * OFFSETS.len() * OFFSETS.len());
    Ok(())
}

/// Copies elements between arrays at the given offsets from aligned addresses, and returns the bytes of the result. The bytes
/// around the target must not change.
fn copied(level: Level, before: &[u8], from: DType, source_offset: usize, to: DType, target_offset: usize) -> Vec<u8> {
    let length = POSITIONS * to.width();
    let mut source = vec![0; before.len() + 32];
    let mut target = vec![UNTOUCHED; length + 32];
    let source_start = source.as_ptr().align_offset(16) + source_offset;
    let target_start = target.as_ptr().align_offset(16) + target_offset;
    source[source_start..source_start + before.len()].copy_from_slice(before);
    let from = Readable::of(&source[source_start..source_start + before.len()], from);
    level.copy(Writable::of(&mut target[target_start..target_start + length], to), from);
    let end = target_start + length;
    assert!(
        target[..target_start].iter().chain(&target[end..]).all(|&byte| byte == UNTOUCHED),
        "bytes outside the target changed"
    );
    target[target_start..end].to_vec()
}

#[test]
fn each_number_is_stored_as_recorded() -> Outcome {
    let mut checked = 0;
    for Set { op, target, number, after, output, row } in read()?.sets {
        let size = if op == "fill" { POSITIONS } else { 3 };
        let storage = Storage::zeroed(target, size)?;
        storage.fill(Scalar::Float(85.0))?;
        let untouched = bytes_of(&storage)[..target.width()].to_vec();
        match op {
            "fill" => storage.fill(Scalar::Float(number))?,
            _ => assert!(storage.set(1, Scalar::Float(number))?, "{row}"),
        }
        for (position, element) in bytes_of(&storage).chunks(target.width()).enumerate() {
            let expected = if op == "fill" || position == 1 { &after } else { &untouched };
            assert_eq!(element, expected, "{row} at {position}");
        }
        // The output column of the table is the number that Torch7 read back.
        let read = storage.get(1).ok_or("there is no element 1")?;
        assert!(read.to_bits() == output.to_bits() || (read.is_nan() && output.is_nan()), "{row}: {read} is read");
        checked += 1;
    }
    assert_eq!(checked, 659 + 662 + 709);
    Ok(())
}

/// Views of bytes can begin anywhere, so elements need not be aligned.
#[test]
fn numbers_are_stored_at_any_address() -> Outcome {
    for Set { target, number, after, row, .. } in read()?.sets {
        for offset in OFFSETS {
            let mut memory = [UNTOUCHED; 64];
            let start = memory.as_ptr().align_offset(16) + offset;
            let (once, twice) = (target.width(), 2 * target.width());
            assert!(Writable::of(&mut memory[start..start + once], target).set(0, Scalar::Float(number)));
            assert_eq!(memory[start..start + once], after, "{row} at offset {offset}");
            assert!(memory[start + once..].iter().all(|&byte| byte == UNTOUCHED), "{row}: bytes after the element changed");
            bulk::fill(Writable::of(&mut memory[start..start + twice], target), Scalar::Float(number));
            assert_eq!(memory[start..start + twice], after.repeat(2), "{row} at offset {offset}");
            assert!(memory[start + twice..].iter().all(|&byte| byte == UNTOUCHED), "{row}: bytes after the elements changed");
        }
    }
    Ok(())
}
