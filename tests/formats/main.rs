//! The readers and writers of safetensors, npy and npz files: files of the reference libraries, hostile files, and any bytes.

mod archive;
#[path = "../counting/mod.rs"]
mod counting;
mod hostile;
mod hostile_npy;
mod hostile_npz;
mod hostile_safetensors;
mod index;
mod json;
mod memory;
mod mutation;
mod opened;
mod property;
mod reference;
mod saving;
mod writing;
mod zip;

use std::error::Error as AnyError;
use std::fs::File;
use std::path::{Path, PathBuf};

use torch_storage::Error;
use torch_storage::formats::Source;

type Outcome = Result<(), Box<dyn AnyError>>;

/// A file of the test data.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats").join(name)
}

/// What a reader returns for a file.
fn read_file<T>(path: &Path, read: impl FnOnce(&Source<'_>) -> Result<T, Error>) -> Result<T, Box<dyn AnyError>> {
    let file = File::open(path)?;
    Ok(read(&Source::of_file(path, &file)?)?)
}

/// The fields of a table of the test data.
fn table(name: &str) -> Result<Vec<Vec<String>>, Box<dyn AnyError>> {
    let text = std::fs::read_to_string(data(name))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// The sizes in a field of a table.
fn sizes(field: &str) -> Result<Vec<usize>, std::num::ParseIntError> {
    field.split_ascii_whitespace().map(str::parse).collect()
}

/// The bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An npy file with this header, which is neither padded nor checked, and these elements.
fn npy_file(major: u8, header: &[u8], elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([major, 0]);
    let length = u32::try_from(header.len()).unwrap_or(u32::MAX).to_le_bytes();
    file.extend(&length[..if major == 1 { 2 } else { 4 }]);
    file.extend(header);
    file.extend(elements);
    file
}

/// A safetensors file with this header, which is not checked, and these elements.
fn safetensors_file(header: &[u8], elements: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(elements);
    file
}
