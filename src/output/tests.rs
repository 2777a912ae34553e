//! Tests of outputs to memory and to real files: what they replace, what they keep, and what remains after a failure.

mod left;
mod refused;

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BUFFER, Output, SMALL};
use crate::element::DType;
use crate::error::Error;
use crate::storage::Storage;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn write_from(output: &mut Output, bytes: &[u8]) -> Result<(), Error> {
    output.write(super::of_slice(bytes))
}

/// Puts bytes in all ways, and returns all of them.
fn fill(output: &mut Output) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    let piece: Vec<u8> = (0..3 * BUFFER).map(|offset| u8::try_from((offset ^ (offset >> 8)) & 0xff).unwrap_or(0)).collect();
    let sizes = [1, 0, 100, SMALL - 1, SMALL, SMALL + 1, 7, BUFFER, 3, BUFFER + 1, 3 * BUFFER, 9, BUFFER - 1, BUFFER - 1];
    for (round, &size) in sizes.iter().cycle().enumerate().take(3 * sizes.len()) {
        let bytes = &piece[round..][..size.min(piece.len() - round)];
        match round % 3 {
            0 => output.put(bytes)?,
            1 => output.put_with(bytes.len() + 50, |buffer| {
                assert!(buffer.capacity() - buffer.len() >= bytes.len() + 50);
                buffer.extend_from_slice(bytes);
            })?,
            _ => write_from(output, bytes)?,
        }
        all.extend_from_slice(bytes);
        assert_eq!(output.position(), super::count(all.len()), "round {round}");
    }
    Ok(all)
}

fn save(path: &Path, atomic: bool, bytes: &[u8]) -> Result<(), Error> {
    let mut output = Output::to_file(path, atomic, 0)?;
    output.put(bytes)?;
    output.finish()
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn mode(path: &Path) -> std::io::Result<u32> {
    Ok(path.metadata()?.mode() & 0o7777)
}

fn is_failure<T>(result: Result<T, Error>, action: &str, path: &Path, number: i32) -> bool {
    matches!(result, Err(Error::File { action: got, path: named, reason })
        if got == action && named.as_path() == path && reason.raw_os_error() == Some(number))
}

/// The environment variable that has the folder of a test in a process of its own.
const FOLDER: &str = "T7_OUTPUT_TESTS";

/// A new process that runs a test.
fn in_child(test: &str, folder: &Path) -> std::io::Result<Command> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["--exact", &format!("output::tests::{test}"), "--nocapture"]).env(FOLDER, folder);
    Ok(child)
}

/// The folder of this test, if it runs in such a process.
fn child_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

fn make_pipe(path: &Path) -> Outcome {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: [system] the name ends in a zero byte.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    Ok(())
}

/// The bytes in the memory of a finished output.
fn kept(output: &Output) -> &[u8] {
    output.memory()
}

#[test]
fn memory_keeps_all_bytes_and_counting_none() -> Outcome {
    let mut memory = Output::to_memory();
    assert_eq!((memory.position(), kept(&memory)), (0, b"".as_slice()));
    let bytes = fill(&mut memory)?;
    memory.finish()?;
    assert!(kept(&memory) == bytes);
    assert_eq!(memory.position(), super::count(bytes.len()));
    let storage = memory.take_storage()?;
    assert_eq!((storage.dtype(), storage.size()), (DType::Char, bytes.len()));
    assert!(storage.equals(&Storage::from_bytes(DType::Char, &bytes)?));
    assert!(kept(&memory).is_empty());

    let mut counting = Output::counting();
    fill(&mut counting)?;
    counting.finish()?;
    assert_eq!((counting.position(), kept(&counting)), (super::count(bytes.len()), b"".as_slice()));
    assert!(counting.buffer.capacity() < 4 * BUFFER);
    Ok(())
}

#[test]
fn a_few_bytes_become_a_storage_too() -> Outcome {
    let mut memory = Output::to_memory();
    memory.put(b"few")?;
    let storage = memory.take_storage()?;
    assert_eq!((0..3).filter_map(|index| storage.get(index)).collect::<Vec<_>>(), [102.0, 101.0, 119.0]);
    assert_eq!(memory.take_storage()?.size(), 0);
    Ok(())
}

#[test]
fn a_file_gets_all_bytes() -> Outcome {
    let folder = tempfile::tempdir()?;
    for (name, atomic) in [("a", true), ("b", false)] {
        let path = folder.path().join(name);
        for _ in 0..2 {
            let mut output = Output::to_file(&path, atomic, 0)?;
            let bytes = fill(&mut output)?;
            output.finish()?;
            assert!(fs::read(&path)? == bytes);
            assert!(is_failure(output.put(b"x"), "write", &path, libc::EBADF));
            assert!(is_failure(write_from(&mut output, &bytes), "write", &path, libc::EBADF));
            assert!(is_failure(output.finish(), "write", &path, libc::EBADF));
            drop(output);
            assert!(fs::read(&path)? == bytes);
        }
    }
    assert_eq!(names(folder.path())?, ["a", "b"]);
    Ok(())
}

#[test]
fn the_old_file_stays_until_the_new_one_is_complete() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    fs::write(&path, b"old")?;
    let mut reader = File::open(&path)?;
    let mut output = Output::to_file(&path, true, 0)?;
    fill(&mut output)?;
    assert_eq!(fs::read(&path)?, b"old");
    let beside: Vec<String> = names(folder.path())?.into_iter().filter(|name| name != "f").collect();
    assert!(matches!(beside.as_slice(), [name] if name.starts_with(".f.")), "{beside:?}");
    drop(output);
    assert_eq!((fs::read(&path)?, names(folder.path())?), (b"old".to_vec(), vec!["f".to_owned()]));

    // Two outputs to one name: the one that finishes last wins, and both files are complete.
    let (mut one, mut two) = (Output::to_file(&path, true, 0)?, Output::to_file(&path, true, 0)?);
    one.put(b"one")?;
    two.put(b"two, longer")?;
    two.finish()?;
    one.finish()?;
    assert_eq!(fs::read(&path)?, b"one");
    let mut seen = Vec::new();
    reader.read_to_end(&mut seen)?;
    assert_eq!((seen, names(folder.path())?), (b"old".to_vec(), vec!["f".to_owned()]));
    Ok(())
}

#[test]
fn a_new_file_obeys_the_umask_and_a_replaced_one_keeps_its_permissions() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (plain, path) = (folder.path().join("plain"), folder.path().join("f"));
    File::create(&plain)?;
    save(&path, true, b"1")?;
    assert_eq!(mode(&path)?, mode(&plain)?);
    for bits in [0o600, 0o644, 0o666, 0o777, 0o1755, 0o640] {
        fs::set_permissions(&path, Permissions::from_mode(bits))?;
        let output = Output::to_file(&path, true, 0)?;
        for name in names(folder.path())?.iter().filter(|name| name.starts_with('.')) {
            assert_eq!(mode(&folder.path().join(name))?, bits);
        }
        drop(output);
        save(&path, true, b"22")?;
        assert_eq!((mode(&path)?, fs::read(&path)?), (bits, b"22".to_vec()), "{bits:o}");
    }
    Ok(())
}

#[test]
fn symbolic_links_stay_and_their_targets_are_replaced() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (inner, path) = (folder.path().join("inner"), folder.path().join("inner/f"));
    fs::create_dir(&inner)?;
    fs::write(&path, b"old")?;
    let (first, second, dangling) = (folder.path().join("first"), folder.path().join("second"), folder.path().join("dangling"));
    symlink("second", &first)?;
    symlink("inner/../inner/f", &second)?;
    symlink("inner/new", &dangling)?;
    save(&first, true, b"new")?;
    save(&dangling, true, b"made")?;
    assert_eq!((fs::read(&path)?, fs::read(inner.join("new"))?), (b"new".to_vec(), b"made".to_vec()));
    assert!(first.is_symlink() && second.is_symlink() && dangling.is_symlink());
    assert_eq!(names(folder.path())?, ["dangling", "first", "inner", "second"]);
    assert_eq!(names(&inner)?, ["f", "new"]);

    let round = folder.path().join("round");
    symlink("round", &round)?;
    for atomic in [true, false] {
        assert!(is_failure(Output::to_file(&round, atomic, 0), "open", &round, libc::ELOOP));
    }
    // A file that is written directly has the new contents under all its names.
    let other = folder.path().join("other");
    fs::hard_link(&path, &other)?;
    save(&path, false, b"both")?;
    assert_eq!(fs::read(&other)?, b"both");
    save(&path, true, b"one")?;
    assert_eq!(fs::read(&other)?, b"both");
    Ok(())
}

#[test]
fn the_longest_possible_name_can_be_replaced() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("n".repeat(255));
    save(&path, true, b"1")?;
    assert_eq!(names(folder.path())?.len(), 1);
    let path = folder.path().join("n".repeat(256));
    assert!(is_failure(Output::to_file(&path, true, 0), "open", &path, libc::ENAMETOOLONG));
    Ok(())
}

#[test]
fn a_path_that_cannot_be_written_is_refused_at_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("f");
    fs::write(&file, b"old")?;
    for atomic in [true, false] {
        let opened = Output::to_file(folder.path(), atomic, 0);
        assert!(matches!(opened, Err(Error::NotAFile { what: "a directory", path, .. }) if path.as_path() == folder.path()));
        for (name, number) in [("no/f", libc::ENOENT), ("f/g", libc::ENOTDIR), ("f/", libc::ENOTDIR), ("", libc::ENOENT)] {
            let path = if name.is_empty() { name.into() } else { folder.path().join(name) };
            assert!(is_failure(Output::to_file(&path, atomic, 0), "open", &path, number), "{name}");
        }
        for name in ["new/", "new/."] {
            assert!(matches!(Output::to_file(&folder.path().join(name), atomic, 0), Err(Error::File { action: "open", .. })));
        }
        assert!(matches!(Output::to_file(Path::new("a\0b"), atomic, 0), Err(Error::NulInName { .. })));
    }
    assert_eq!((names(folder.path())?, fs::read(&file)?), (vec!["f".to_owned()], b"old".to_vec()));
    // A folder of the target's name is made while the file is written.
    let path = folder.path().join("later");
    let mut output = Output::to_file(&path, true, 0)?;
    fs::create_dir(&path)?;
    assert!(is_failure(output.finish(), "replace", &path, libc::EISDIR));
    assert_eq!(names(folder.path())?, ["f", "later"]);
    Ok(())
}

#[test]
fn pipes_and_devices_are_written_directly() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pipe");
    make_pipe(&path)?;
    for atomic in [true, false] {
        let (got, bytes) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read(&path));
            let mut output = Output::to_file(&path, atomic, 0)?;
            let bytes = fill(&mut output)?;
            output.finish()?;
            drop(output);
            Ok::<_, Box<dyn std::error::Error>>((reader.join().map_err(|_| "the reader panicked")??, bytes))
        })?;
        assert!(got == bytes);
        save(Path::new("/dev/null"), atomic, b"nothing")?;
    }
    assert_eq!(names(folder.path())?, ["pipe"]);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_is_written_to_and_not_replaced() -> Outcome {
    use std::os::fd::AsRawFd;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let mut file = File::options().create(true).read(true).write(true).truncate(true).open(&path)?;
    let link = folder.path().join("link");
    symlink(format!("/proc/self/fd/{}", file.as_raw_fd()), &link)?;
    save(&link, true, b"through")?;
    let mut seen = String::new();
    file.read_to_string(&mut seen)?;
    assert_eq!((seen.as_str(), names(folder.path())?), ("through", vec!["f".to_owned(), "link".to_owned()]));
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_closes_the_file() -> Outcome {
    let full = Path::new("/dev/full");
    for atomic in [true, false] {
        let mut output = Output::to_file(full, atomic, 0)?;
        output.put(b"x")?;
        assert!(is_failure(output.finish(), "write", full, libc::ENOSPC));
        let mut output = Output::to_file(full, atomic, 0)?;
        assert!(is_failure(write_from(&mut output, &[0; 2 * BUFFER]), "write", full, libc::ENOSPC));
        assert!(is_failure(output.put(b"x"), "write", full, libc::EBADF));
        assert!(is_failure(output.put_with(1, |buffer| buffer.push(0)), "write", full, libc::EBADF));
        assert!(is_failure(output.finish(), "write", full, libc::EBADF));
    }
    Ok(())
}

#[test]
fn a_child_process_does_not_remove_the_new_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let mut output = Output::to_file(&path, true, 0)?;
    // SAFETY: [system] the child drops the output, which removes a file at most, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(output);
        // SAFETY: [system] it does not return.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: [system] the child is ours, and `status` is writable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    output.put(b"whole")?;
    output.finish()?;
    assert_eq!((status, fs::read(&path)?), (0, b"whole".to_vec()));
    Ok(())
}

#[test]
fn bytes_can_be_replaced_wherever_they_are() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    for is_file in [true, false] {
        let mut output = if is_file { Output::to_file(&path, true, 0)? } else { Output::to_memory() };
        assert!(output.is_changeable());
        let mut all = fill(&mut output)?;
        output.put(&[7; 9])?;
        all.extend([7; 9]);
        // In the file, in the buffer, at the end, and from the file into the buffer.
        let gone = usize::try_from(output.gone)?;
        assert!(gone > 100 && gone < all.len());
        for (position, bytes) in [(0, [1_u8; 4]), (gone - 4, [2; 4]), (gone, [3; 4]), (all.len() - 4, [4; 4]), (gone - 2, [5; 4])]
        {
            output.replace(super::count(position), &bytes)?;
            all[position..position + 4].copy_from_slice(&bytes);
        }
        output.replace(super::count(all.len()), &[])?;
        assert_eq!(output.position(), super::count(all.len()));
        output.finish()?;
        let got = if is_file { fs::read(&path)? } else { output.memory().to_vec() };
        assert!(got == all, "{is_file}");
    }
    Ok(())
}

#[test]
fn bytes_of_a_device_cannot_be_replaced() -> Outcome {
    let mut output = Output::to_file(Path::new("/dev/null"), true, 0)?;
    assert!(!output.is_changeable());
    fill(&mut output)?;
    assert!(matches!(output.replace(0, &[1]), Err(Error::File { .. })));
    assert!(matches!(output.finish(), Err(Error::File { .. })));
    Ok(())
}
