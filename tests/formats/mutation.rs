//! Files with random changes, the same in each run. This does the work of the fuzzers on machines without one.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::property::{check_npy, check_npz, check_safetensors};
use crate::{Outcome, data, hostile_npy, hostile_npz, hostile_safetensors};

/// The number of changed files of each format.
const RUNS: u32 = 30_000;

/// Bytes with a meaning in one of the formats.
const TELLING: &[u8] = b"\0\x01\x02\x7f\x80\xff\"'{}[](),:.\\ 0129PK\x03\x04\x05\x06LFTruea<>|Vfib";

/// A change of a file: its kind, where, how many bytes, and a byte.
type Change = (u8, prop::sample::Index, usize, prop::sample::Index);

fn apply(bytes: &mut Vec<u8>, &(kind, at, count, byte): &Change) {
    let at = at.index(bytes.len() + 1);
    let end = (at + count).min(bytes.len());
    let byte = TELLING[byte.index(TELLING.len())];
    match kind {
        0 | 1 if at < bytes.len() => bytes[at] = byte,
        2 => bytes.insert(at, byte),
        3 => drop(bytes.drain(at..end)),
        4 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
        5 => bytes.truncate(at),
        _ => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

/// Checks changed files, and returns how many were accepted.
fn run(files: &[Vec<u8>], check: fn(&[u8]) -> Result<bool, String>) -> Result<u32, Box<dyn std::error::Error>> {
    let changes = prop::collection::vec((0..7_u8, any::<prop::sample::Index>(), 1..32_usize, any::<prop::sample::Index>()), 0..5);
    let config = Config { cases: RUNS, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let accepted = std::cell::Cell::new(0);
    runner.run(&(any::<prop::sample::Index>(), changes), |(file, changes)| {
        let mut bytes = files[file.index(files.len())].clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        let is_accepted = check(&bytes).map_err(TestCaseError::fail)?;
        accepted.set(accepted.get() + u32::from(is_accepted));
        Ok(())
    })?;
    Ok(accepted.get())
}

/// The reference files of a format and its hostile files that are not large.
fn files(extension: &str, hostile: Vec<crate::hostile::Case>) -> Result<Vec<Vec<u8>>, std::io::Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(data(""))? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(std::fs::read(path)?);
        }
    }
    files.sort_unstable();
    // The reference files are there several times, because most changes of a hostile file change nothing.
    let mut files: Vec<Vec<u8>> = (0..8).flat_map(|_| files.clone()).collect();
    files.extend(hostile.into_iter().map(|(_, bytes, _)| bytes).filter(|bytes| bytes.len() < 2000));
    Ok(files)
}

#[test]
fn changed_npy_files_are_refused_or_right() -> Outcome {
    let accepted = run(&files("npy", hostile_npy::cases())?, check_npy)?;
    assert!((500..RUNS).contains(&accepted), "{accepted}");
    Ok(())
}

#[test]
fn changed_npz_files_are_refused_or_right() -> Outcome {
    let accepted = run(&files("npz", hostile_npz::cases())?, check_npz)?;
    assert!((500..RUNS).contains(&accepted), "{accepted}");
    Ok(())
}

#[test]
fn changed_safetensors_files_are_refused_or_read_as_the_reference_does() -> Outcome {
    let accepted = run(&files("safetensors", hostile_safetensors::cases())?, check_safetensors)?;
    assert!((500..RUNS).contains(&accepted), "{accepted}");
    Ok(())
}
