//! Files with random changes, the same in each run. This does the work of the fuzzer on machines without one.

use crate::Outcome;
use crate::golden::all;
use crate::property::{UNREFERENCED, check};

const RUNS: usize = 200_000;

/// Random numbers, the same in each run: xorshift64*.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap_or(0) % limit
    }

    pub fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or(0)
    }
}

/// Bytes that have a meaning in a file: tags, counts, signs, ends of lines.
const TELLING: &[u8] = b"\0\x01\x02\x03\x04\x05\x06\x07\x08\x10\x7f\x80\xff\n 0123456789+-.einfaxV";

fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], chance: &mut Chance) {
    let offset = chance.below(bytes.len() + 1);
    let end = (offset + 1 + chance.below(16)).min(bytes.len());
    match chance.below(8) {
        0 if offset < bytes.len() => bytes[offset] = chance.byte(),
        1 | 2 if offset < bytes.len() => bytes[offset] = TELLING[chance.below(TELLING.len())],
        3 => bytes.insert(offset, TELLING[chance.below(TELLING.len())]),
        4 => drop(bytes.drain(offset..end.max(offset))),
        5 => bytes.truncate(offset.max(1)),
        // A copy of a part, somewhere else.
        6 if offset < end => {
            let part = bytes[offset..end].to_vec();
            let target = 1 + chance.below(bytes.len());
            bytes.splice(target..target, part);
        }
        // A part of another file.
        _ => {
            let other = &others[chance.below(others.len())];
            let start = 1 + chance.below(other.len() - 1);
            let end = (start + 1 + chance.below(64)).min(other.len());
            let offset = offset.max(1).min(bytes.len());
            bytes.splice(offset..offset, other[start..end].iter().copied());
        }
    }
}

#[test]
fn a_file_with_random_changes_is_an_error_or_a_tree() -> Outcome {
    let seeds: Vec<Vec<u8>> = all()?.iter().map(crate::golden::Golden::seed).collect();
    let mut chance = Chance::new(7);
    let mut found = seeds.clone();
    let mut trees = 0;
    for run in 0..RUNS {
        let mut bytes = found[chance.below(found.len())].clone();
        for _ in 0..=chance.below(4) {
            change(&mut bytes, &seeds, &mut chance);
            bytes.resize(bytes.len().max(1), 0);
        }
        if chance.below(8) == 0 {
            bytes[0] = chance.byte();
        }
        let is_tree = check(&bytes).map_err(|why| format!("run {run}: {why}: {}", bytes.escape_ascii()))?;
        trees += usize::from(is_tree);
        // Some files that are still trees are changed further.
        if is_tree && bytes.len() < 2048 && chance.below(4) == 0 {
            if found.len() < 4 * seeds.len() {
                found.push(bytes);
            } else {
                let replaced = seeds.len() + chance.below(found.len() - seeds.len());
                found[replaced] = bytes;
            }
        }
    }
    assert!(trees > RUNS / 20 && trees < RUNS * 19 / 20, "{trees} of {RUNS} are trees");
    assert!(found.iter().any(|bytes| bytes[0] & UNREFERENCED != 0));
    Ok(())
}
