//! Tests of inputs from real files, pipes and memory.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use torch_storage::Error;
use torch_storage::t7::Input;

use crate::Outcome;
use crate::counting::{live, peak};

/// The number of bytes that are read ahead.
const PIECE: usize = Input::AHEAD;

/// Bytes that depend on their offset.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|offset| u8::try_from((offset ^ (offset >> 8)) & 0xff).unwrap_or(0)).collect()
}

fn of_memory(bytes: &[u8]) -> Input {
    // SAFETY: [live] the tests keep the bytes while they use the input.
    unsafe { Input::of_memory(bytes) }
}

fn read(input: &mut Input, bytes: usize) -> Result<Vec<u8>, Error> {
    let mut target = vec![0; bytes];
    // SAFETY: [live] [in-bounds] the vector has `bytes` bytes.
    unsafe { input.read_into(target.as_mut_ptr(), bytes) }?;
    Ok(target)
}

fn is_end(result: Result<impl Sized, Error>, path: &Path) -> bool {
    matches!(result, Err(Error::File { action: "read", path: got, reason })
        if got.as_path() == path && reason.kind() == ErrorKind::UnexpectedEof)
}

/// Reads in all ways, and compares each byte.
fn consume(input: &mut Input, bytes: &[u8]) -> Outcome {
    let total = u64::try_from(bytes.len())?;
    assert_eq!((input.position(), input.total(), input.left()), (0, total, total));
    let steps = [1, 7, 0, 4096, PIECE - 1, PIECE, PIECE + 1, 3, 3 * PIECE, 100];
    for (round, &step) in steps.iter().cycle().enumerate().take(60) {
        let at = usize::try_from(input.position())?;
        let step = step.min(bytes.len() - at);
        match round % 3 {
            0 => {
                let window = input.window(step)?;
                assert!(window.len() >= step, "{} of {step}", window.len());
                assert!(bytes[at..].starts_with(window), "a window of {} at {at}", window.len());
                input.advance(step);
            }
            1 => assert!(read(input, step)? == bytes[at..at + step], "{step} bytes at {at}"),
            _ => input.skip(u64::try_from(step)?)?,
        }
        assert_eq!(input.position(), u64::try_from(at + step)?);
        assert_eq!(input.left(), total - input.position());
        if round % 23 == 22 {
            input.rewind();
        }
    }
    input.rewind();
    assert_eq!(input.window(bytes.len())?, bytes);
    assert_eq!(input.window(usize::MAX)?, bytes);
    input.advance(bytes.len());
    assert_eq!((input.left(), input.window(1)?.len()), (0, 0));
    let path = input.path().unwrap_or(Path::new("")).to_owned();
    assert!(is_end(read(input, 1), &path));
    assert!(is_end(input.skip(1), &path));
    assert_eq!(read(input, 0)?, b"");
    input.rewind();
    assert_eq!(input.left(), total);
    assert!(is_end(input.skip(total + 1), &path));
    assert!(is_end(read(input, bytes.len() + 1), &path));
    Ok(())
}

#[test]
fn a_file_and_memory_give_the_same_bytes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    for length in [0, 1, 5000, PIECE - 1, PIECE, PIECE + 1, 10 * PIECE + 77] {
        let bytes = pattern(length);
        fs::write(&path, &bytes)?;
        consume(&mut of_memory(&bytes), &bytes)?;
        let mut input = Input::open(&path)?;
        assert_eq!(input.path(), Some(path.as_path()));
        consume(&mut input, &bytes)?;
    }
    assert_eq!(of_memory(b"").path(), None);
    Ok(())
}

#[test]
fn a_window_grows_to_any_size_and_shrinks_again() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let bytes = pattern(20 * PIECE);
    fs::write(&path, &bytes)?;
    let mut input = Input::open(&path)?;
    input.skip(3)?;
    let before = live();
    let taken = || live().abs_diff(before);
    let mut allocations = 0;
    let mut buffer = std::ptr::null();
    for wanted in (0..bytes.len() - 3).step_by(1000) {
        let window = input.window(wanted)?;
        assert!(bytes[3..].starts_with(window));
        allocations += usize::from(window.as_ptr() != buffer);
        buffer = window.as_ptr();
    }
    assert!(allocations < 8, "{allocations} allocations");
    assert!((bytes.len() - 1000..=bytes.len()).contains(&taken()), "{}", taken());
    input.advance(15 * PIECE);
    assert!(bytes[15 * PIECE + 3..].starts_with(input.window(5 * PIECE - 3)?));
    input.rewind();
    assert!(bytes.starts_with(input.window(10)?));
    assert!(taken() <= 2 * PIECE, "{}", taken());
    Ok(())
}

#[test]
fn large_reads_do_not_use_the_buffer() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let bytes = pattern(8 * PIECE);
    fs::write(&path, &bytes)?;
    let mut input = Input::open(&path)?;
    input.window(10)?;
    let mut target = vec![0; 6 * PIECE];
    let mut done = Ok(());
    // SAFETY: [live] [in-bounds] the vector has as many bytes.
    let taken = peak(|| done = unsafe { input.read_into(target.as_mut_ptr(), target.len()) });
    done?;
    assert!(target == bytes[..6 * PIECE]);
    assert!(taken < 1000, "{taken} bytes");
    assert!(bytes[6 * PIECE..].starts_with(input.window(100)?));
    Ok(())
}

#[test]
fn a_file_that_becomes_shorter_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let bytes = pattern(4 * PIECE);
    fs::write(&path, &bytes)?;
    let mut input = Input::open(&path)?;
    input.window(1)?;
    File::options().write(true).open(&path)?.set_len(u64::try_from(2 * PIECE)?)?;
    assert!(is_end(input.window(3 * PIECE).map(<[u8]>::len), &path));
    // The bytes that the file still has can be read.
    assert_eq!((input.position(), input.window(2 * PIECE)?), (0, &bytes[..2 * PIECE]));
    assert!(is_end(read(&mut input, 4 * PIECE), &path));
    input.rewind();
    input.skip(u64::try_from(3 * PIECE)?)?;
    assert!(is_end(input.window(1).map(<[u8]>::len), &path));
    Ok(())
}

#[test]
fn a_file_that_grows_is_read_to_its_old_end() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    fs::write(&path, b"abc")?;
    let mut input = Input::open(&path)?;
    File::options().append(true).open(&path)?.write_all(b"def")?;
    assert_eq!((input.total(), input.window(10)?), (3, b"abc".as_slice()));
    Ok(())
}

#[test]
fn a_pipe_is_read_to_its_end() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pipe");
    make_pipe(&path)?;
    let bytes = pattern(5 * PIECE + 3);
    std::thread::scope(|scope| {
        scope.spawn(|| File::options().write(true).open(&path)?.write_all(&bytes));
        let mut input = Input::open(&path)?;
        assert_eq!(input.path(), Some(path.as_path()));
        consume(&mut input, &bytes)
    })
}

fn make_pipe(path: &Path) -> Outcome {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: [system] the name ends in a zero byte.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    Ok(())
}

#[test]
fn devices_and_proc_files_are_read_and_directories_refused() -> Outcome {
    let mut nothing = Input::open(Path::new("/dev/null"))?;
    assert_eq!((nothing.total(), nothing.window(1)?.len()), (0, 0));
    // The system reports the size 0 for this file.
    #[cfg(target_os = "linux")]
    {
        let mut limits = Input::open(Path::new("/proc/self/limits"))?;
        assert!(limits.window(5)?.starts_with(b"Limit"));
        assert!(limits.total() > 100);
    }
    let folder = tempfile::tempdir()?;
    assert!(
        matches!(Input::open(folder.path()), Err(Error::NotAFile { what: "a directory", path, .. }) if path.as_path() == folder.path())
    );
    let missing = folder.path().join("missing");
    assert!(matches!(Input::open(&missing), Err(Error::File { action: "open", path, reason })
        if path.as_path() == missing && reason.kind() == ErrorKind::NotFound));
    assert!(matches!(Input::open(Path::new("a\0b")), Err(Error::NulInName { .. })));
    Ok(())
}

/// The file is larger than one call reads. It uses no blocks on the disk.
#[test]
fn a_file_may_be_larger_than_two_gigabytes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let mut file = File::create(&path)?;
    let end = (5u64 << 30) + 3;
    file.set_len(end)?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(end - 3))?;
    file.write_all(b"end")?;
    let mut input = Input::open(&path)?;
    assert_eq!(input.total(), end);
    input.skip(end - 4)?;
    assert_eq!(input.window(10)?, b"\0end");
    assert_eq!((input.position(), input.left()), (end - 4, 4));
    input.rewind();
    assert_eq!(input.window(4)?[..4], [0; 4]);
    Ok(())
}
