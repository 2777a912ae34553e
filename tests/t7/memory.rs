//! The memory that reading takes is limited by the length of the file. This test program counts its allocations, for each thread.

use torch_storage::t7::Encoding;

use crate::Outcome;
use crate::counting::peak;
use crate::golden::all;
use crate::mutation::Chance;
use crate::property::{ENCODINGS, read};

/// The largest number of bytes of memory for a byte of a file, and for a tree in addition. This includes a copy of the file.
const BYTES_A_BYTE: usize = 31;
const BASE: usize = 4096;

fn check(name: &str, bytes: &[u8], encoding: Encoding) -> Result<bool, String> {
    let mut is_tree = false;
    let mut peaks = 0;
    for referenced in [true, false] {
        peaks = peaks.max(peak(|| is_tree |= read(bytes, encoding, referenced).is_ok()));
    }
    let most = BYTES_A_BYTE * bytes.len() + BASE;
    if peaks <= most { Ok(is_tree) } else { Err(format!("{name}: {peaks} bytes for {}, {most} expected", bytes.len())) }
}

#[test]
fn allocations_are_counted() {
    let taken = peak(|| drop(std::hint::black_box(vec![0_u8; 12345])));
    assert!((12345..14000).contains(&taken), "{taken}");
}

#[test]
fn a_file_takes_a_multiple_of_its_length() -> Outcome {
    let mut chance = Chance::new(3);
    for golden in all()? {
        for _ in 0..40 {
            let end = chance.below(golden.bytes.len() + 1);
            let mut bytes = golden.bytes[..end].to_vec();
            let length = 1 << chance.below(15);
            // The bytes are arbitrary, or those with the most meanings.
            let telling: &[u8] = [b"\0\x01\x02\x03\x04\x05", b"0 1 \n5"][chance.below(2)];
            let is_any = chance.below(3) == 0;
            bytes.extend((0..length).map(|_| if is_any { chance.byte() } else { telling[chance.below(telling.len())] }));
            for encoding in ENCODINGS.iter().flatten() {
                check(&golden.name, &bytes, *encoding)?;
            }
        }
    }
    Ok(())
}

#[test]
fn the_most_expensive_files_take_a_multiple_of_their_length() {
    let mut ratios = Vec::new();
    for (name, front, part, end) in [
        ("numbers", "3 1 N ", "1 5 1 7 ", ""),
        ("empty strings", "3 1 N ", "2 0 2 0 ", ""),
        ("strings", "3 1 N ", "2 1\na 5 1 ", ""),
        ("booleans", "3 1 N ", "5 1 0 ", ""),
        ("empty tables", "3 1 N ", "5 1 3 I 0 ", ""),
        ("tables in tables", "", "3 I 1 5 1 ", "0"),
        ("tables as keys", "", "3 I 1 ", ""),
        ("greedy tables", "", "3 I M 5 1 ", ""),
        ("objects", "", "4 I 1\na", "0"),
        ("objects with versions", "", "4 I 3\nV 1 1\na", "0"),
        ("objects of no class", "", "4 I 0 ", "0"),
        ("functions", "", "6 0 ", "0"),
        ("functions with code", "", "6 1\na", "0"),
        ("storages", "3 1 N ", "5 1 4 I 17\ntorch.ByteStorage 0 ", ""),
        ("doubles", "4 1 19\ntorch.DoubleStorage N ", "1 ", ""),
        ("dimensions", "4 1 18\ntorch.DoubleTensor N ", "0 ", ""),
    ] {
        // A list takes the most memory just after it has grown. Different numbers of repeats make sure that some list is in that
        // state.
        for (step, repeats) in [1_i32, 2, -1].into_iter().flat_map(|step| [5000, 6000, 7000, 8000, 9000].map(|n| (step, n))) {
            let mut bytes = front.replace('N', &repeats.to_string()).into_bytes();
            let mut index = 1;
            for n in 0..repeats {
                index += step;
                let most = (repeats - n) / 2;
                bytes.extend(part.replace('I', &index.to_string()).replace('M', &most.to_string()).as_bytes());
            }
            bytes.extend(end.as_bytes());
            let taken = peak(|| drop(read(&bytes, Encoding::Ascii, true)));
            ratios.push((taken / bytes.len(), name, step, repeats));
        }
    }
    ratios.sort_unstable();
    let most = ratios.last().map_or(0, |most| most.0);
    assert!(most > 2 && most < BYTES_A_BYTE, "{ratios:?}");
    println!("{ratios:?}");
}
