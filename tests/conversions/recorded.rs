//! The conversions give bit for bit what Torch7 gave: all rows of `tests/data/conversions.tsv` that convert numbers. Rows that are
//! marked `rule` have the result of our rule instead, because C does not define it, and Torch7 had what the processor gave.
//!
//! The rows that convert strings are tested from Lua, because the Lua side parses strings.

use std::collections::BTreeMap;
use std::error::Error;

use torch_storage::DType;
use torch_storage::bulk::{self, Level, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::Storage;

use super::{OFFSETS, Outcome, POSITIONS, UNTOUCHED, bytes_of, copied, dtype, memory_order};

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
