//! Tests of mapped files, with real files. Each subject has its own file.

mod offsets;
mod opening;
mod read_only;
mod residence;
mod truncation;

use std::error::Error as AnyError;
use std::fs;
use std::process::{Command, ExitStatus, Stdio};

use tempfile::{TempDir, tempdir};

type Outcome = Result<(), Box<dyn AnyError>>;

/// A temporary directory with a file `f` that has this content.
fn directory(bytes: &[u8]) -> Result<TempDir, std::io::Error> {
    let directory = tempdir()?;
    fs::write(directory.path().join("f"), bytes)?;
    Ok(directory)
}

fn names(directory: &TempDir) -> Result<Vec<String>, std::io::Error> {
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    fs::read_dir(directory.path())?.map(name).collect()
}

const DIRECTORY_OF_CHILD: &str = "TORCH_STORAGE_TEST_DIRECTORY";

/// In a child process that [`run_again`] started, the directory of the test; `None` in the test program itself.
fn given_directory() -> Option<std::path::PathBuf> {
    std::env::var_os(DIRECTORY_OF_CHILD).map(Into::into)
}

/// Runs one test of this program in a child process, where it may change limits or be killed.
fn run_again(test: &str, directory: &TempDir) -> Result<ExitStatus, std::io::Error> {
    Command::new(std::env::current_exe()?)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(DIRECTORY_OF_CHILD, directory.path())
        // Otherwise the results of the child would be counted with those of this program.
        .stdout(Stdio::null())
        .status()
}
