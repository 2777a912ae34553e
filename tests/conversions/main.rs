//! Tests of the conversions between numbers and elements. Each table of expected results has its own file.

mod pytorch;
mod recorded;
mod rule;

use std::error::Error;

use torch_storage::DType;
use torch_storage::bulk::{Level, Readable, Writable};
use torch_storage::storage::Storage;

type Outcome = Result<(), Box<dyn Error>>;

/// Number of elements of the arrays: enough for whole vectors and a remainder, whatever the width of the elements.
const POSITIONS: usize = 67;

/// Offsets of the arrays from an aligned address, in bytes. Some give aligned elements, others do not.
const OFFSETS: [usize; 7] = [0, 1, 2, 3, 4, 7, 8];

/// The bytes around the elements, which must not change.
const UNTOUCHED: u8 = 0xa5;

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

/// The bytes of a storage's elements.
fn bytes_of(storage: &Storage) -> Vec<u8> {
    let byte = |offset| {
        // SAFETY: [live] [in-bounds] the storage is borrowed, and the offset is below its number of bytes.
        unsafe { storage.data().wrapping_add(offset).read() }
    };
    (0..storage.nbytes()).map(byte).collect()
}

/// Copies elements between arrays at the given offsets from aligned addresses, and returns the bytes of the result. The bytes
/// around the target must not change.
fn copied(level: Level, before: &[u8], from: DType, source_offset: usize, to: DType, target_offset: usize) -> Vec<u8> {
    let length = before.len() / from.width() * to.width();
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
