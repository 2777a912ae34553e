//! The conversions follow the rule of numbers, at every position of a vector and at every level.
//!
//! `tests/data/number_rule.py` computed the expected bits in `tests/data/numbers.tsv` with exact integers and fractions.

use torch_storage::DType;
use torch_storage::bulk::{self, Level, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::Storage;

use super::{Outcome, POSITIONS, bytes_of, copied, dtype, memory_order};

/// A value, and for each target the bytes of the element that it becomes. They are `None` for a NaN whose bits are not fixed.
struct Row {
    source: &'static str,
    text: &'static str,
    bytes: Vec<u8>,
    results: Vec<Option<Vec<u8>>>,
}

fn read() -> Result<(Vec<DType>, Vec<Row>), Box<dyn std::error::Error>> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/numbers.tsv"));
    let mut lines = text.lines();
    let targets = lines.next().ok_or("the table is empty")?.split('\t').skip(3).map(dtype).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for line in lines {
        let columns: Vec<_> = line.split('\t').collect();
        assert_eq!(columns.len(), 3 + targets.len(), "{line}");
        let result = |bits: &&str| if *bits == "-" { Ok(None) } else { memory_order(bits).map(Some) };
        rows.push(Row {
            source: columns[0],
            text: columns[1],
            bytes: memory_order(columns[2])?,
            results: columns[3..].iter().map(result).collect::<Result<_, _>>()?,
        });
    }
    Ok((targets, rows))
}

/// The number of a row whose source is not a class.
fn scalar(row: &Row) -> Result<Option<Scalar>, Box<dyn std::error::Error>> {
    let bytes = || row.bytes.clone().try_into().map_err(|_| "a number has 8 bytes");
    Ok(match row.source {
        "number" => Some(Scalar::Float(f64::from_ne_bytes(bytes()?))),
        "int64" => Some(Scalar::Signed(i64::from_ne_bytes(bytes()?))),
        "uint64" => Some(Scalar::Unsigned(u64::from_ne_bytes(bytes()?))),
        _ => None,
    })
}

#[test]
fn the_table_has_every_source_and_class() -> Outcome {
    let (targets, rows) = read()?;
    assert_eq!(targets.len(), DType::ALL.len());
    for &dtype in DType::ALL.iter().filter(|dtype| !dtype.is_complex() && !dtype.is_untyped()) {
        assert!(rows.iter().filter(|row| row.source == dtype.element_name()).count() >= 15, "{dtype:?}");
    }
    let numbers = rows.iter().filter(|row| matches!(row.source, "number" | "int64" | "uint64")).count();
    assert!(numbers * targets.len() > 10_000, "{numbers} numbers");
    Ok(())
}

#[test]
fn each_number_becomes_the_element_that_the_rule_gives() -> Outcome {
    let (targets, rows) = read()?;
    let mut checked = 0;
    for row in &rows {
        let Some(number) = scalar(row)? else { continue };
        for (&target, expected) in targets.iter().zip(&row.results) {
            let Some(expected) = expected else { continue };
            let single = Storage::zeroed(target, 1)?;
            single.set(0, number)?;
            assert_eq!(bytes_of(&single), *expected, "{} {} to {target:?}", row.source, row.text);
            let mut filled = vec![0; 3 * target.width()];
            bulk::fill(Writable::of(&mut filled, target), number);
            assert_eq!(filled, expected.repeat(3), "{} {} fills {target:?}", row.source, row.text);
            checked += 1;
        }
    }
    assert!(checked > 10_000, "{checked}");
    Ok(())
}

/// The values of each source fill an array, which is rotated until each value has been at each position.
#[test]
fn each_element_at_every_position_is_copied_by_the_rule() -> Outcome {
    let (targets, rows) = read()?;
    let mut checked = 0;
    for &from in DType::ALL {
        // Numbers are doubles, and the 64-bit integers are elements as well.
        let names = match from {
            DType::Double => ["Double", "number"],
            DType::Long => ["Long", "int64"],
            DType::UInt64 => ["UInt64", "uint64"],
            _ => [from.element_name(); 2],
        };
        let rows: Vec<_> = rows.iter().filter(|row| names.contains(&row.source)).collect();
        for (column, &to) in targets.iter().enumerate() {
            let rows: Vec<_> = rows.iter().filter(|row| row.results[column].is_some()).collect();
            for rotation in 0..rows.len() {
                let row = |position: usize| rows[(position + rotation) % rows.len()];
                let before: Vec<u8> = (0..POSITIONS).flat_map(|position| row(position).bytes.clone()).collect();
                let after: Vec<u8> =
                    (0..POSITIONS).flat_map(|position| row(position).results[column].clone()).flatten().collect();
                for level in Level::available() {
                    let got = copied(level, &before, from, rotation % 3, to, rotation % 2);
                    let wrong = || {
                        (0..POSITIONS).map(|position| (position, row(position))).find_map(|(position, row)| {
                            let element = got[position * to.width()..(position + 1) * to.width()].to_vec();
                            (Some(&element) != row.results[column].as_ref()).then_some((position, row.text, element))
                        })
                    };
                    assert!(got == after, "{from:?} to {to:?}, {}: {:?}", level.name(), wrong());
                }
                checked += POSITIONS;
            }
        }
    }
    assert!(checked > 1_000_000, "{checked}");
    Ok(())
}
