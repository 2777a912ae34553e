//! Hostile files. Each is written to a folder, opened by its name, and must be refused within a second, with an error that names
//! the file, the byte and the tensor or entry.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use torch_storage::formats::{Opened, Source, safetensors};
use torch_storage::{DType, Error};

use crate::{Outcome, hostile_npy, hostile_npz, hostile_safetensors};

/// A hostile file: its name, its contents, and a part of the error.
pub type Case = (&'static str, Vec<u8>, &'static str);

/// Opens a file by the reader that its name asks for.
fn open(path: &Path) -> Result<(), Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => Opened::npy(path, None, false),
        Some("npz") => Opened::npz(path, None, false),
        _ => Opened::safetensors(path, false),
    }
    .map(drop)
}

#[test]
fn every_hostile_file_is_refused_within_a_second() -> Outcome {
    let folder = tempfile::tempdir()?;
    let cases = [hostile_npy::cases(), hostile_npz::cases(), hostile_safetensors::cases()].concat();
    assert!(cases.len() >= 100, "{} files", cases.len());
    let mut wrong = Vec::new();
    let mut names = HashSet::new();
    for (name, bytes, says) in &cases {
        assert!(names.insert(*name), "{name} is there twice");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes)?;
        let begin = Instant::now();
        let result = open(&path);
        let taken = begin.elapsed();
        match result {
            Ok(()) => wrong.push(format!("{name}: accepted")),
            Err(error) => {
                let message = error.to_string();
                let is_right = matches!(&error, Error::Format(error) if error.byte <= bytes.len() as u64)
                    && message.contains(&*path.to_string_lossy())
                    && message.contains("at byte ")
                    && message.contains(says);
                if !is_right {
                    wrong.push(format!("{name}: {message}"));
                }
            }
        }
        if taken > Duration::from_secs(1) {
            wrong.push(format!("{name}: {taken:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} files:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn what_is_not_a_regular_file_is_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    for result in [open(folder.path()), open(Path::new("/dev/null"))] {
        assert!(matches!(result, Err(Error::NotAFile { .. })), "{result:?}");
    }
    let missing = open(&folder.path().join("missing.npy"));
    assert!(matches!(missing, Err(Error::File { action: "open", .. })), "{missing:?}");
    let cut = open(Path::new("a\0.npz"));
    assert!(matches!(cut, Err(Error::NulInName { .. })), "{cut:?}");
    Ok(())
}

#[test]
fn a_dtype_that_is_not_that_of_the_elements_is_refused() {
    let path = crate::data("v1.npy");
    assert!(Opened::npy(&path, Some(DType::Float), false).is_ok());
    let refused = Opened::npy(&path, Some(DType::BFloat16), false).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|message| message.contains("the elements ('<f4') are not bfloat16")));
    let refused = Opened::npy(&crate::data("bfloat16.npy"), Some(DType::Float), false).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|message| message.contains("('<V2') are not float32")));
}

#[test]
fn a_long_name_is_shortened_in_an_error() {
    let header = format!("{{\"{}\":{{}}}}", "й".repeat(1_000_000));
    let file = crate::safetensors_file(header.as_bytes(), &[]);
    let slice = file.as_slice();
    let source = Source::of_bytes(Path::new("x"), &slice);
    let message = safetensors::read(&source).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(message.contains("й...й") && message.len() < 2000, "{}", message.len());
}

/// `tests/data/formats/hostile` has every case of at most 100,000 bytes, for the specs, and a table with the parts of their errors.
/// With `WRITE_HOSTILE=1` in the environment this test writes the folder.
#[test]
fn the_folder_of_hostile_files_has_these_cases() -> Outcome {
    let folder = crate::data("hostile");
    let cases = [hostile_npy::cases(), hostile_npz::cases(), hostile_safetensors::cases()].concat();
    let mut table = String::from("# The files here, and a part of the error for each. tests/formats/hostile.rs writes them.\n");
    let mut files = 1;
    let is_written = std::env::var_os("WRITE_HOSTILE").is_some();
    for (name, bytes, says) in cases.iter().filter(|(_, bytes, _)| bytes.len() <= 100_000) {
        assert!(!says.contains(['\t', '\n']), "{says:?}");
        table.push_str(&format!("{name}\t{says}\n"));
        files += 1;
        if is_written {
            std::fs::write(folder.join(name), bytes)?;
        }
        assert!(std::fs::read(folder.join(name))? == *bytes, "{name} is another file: see the comment above");
    }
    if is_written {
        std::fs::write(folder.join("says.tsv"), &table)?;
    }
    assert_eq!(std::fs::read_to_string(folder.join("says.tsv"))?, table);
    assert_eq!(std::fs::read_dir(&folder)?.count(), files);
    Ok(())
}
