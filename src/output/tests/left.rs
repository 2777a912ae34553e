//! Tests of drafts that killed processes leave, and of files for which there is no room.

use std::fs::{self, File};
use std::path::Path;

use super::{Outcome, Output, in_child, names, save};
use crate::error::Error;
use crate::system::{file_system, flock};

/// Whether drafts are removed in this folder.
fn is_local(folder: &Path) -> Result<bool, std::io::Error> {
    Ok(file_system::is_local(&File::open(folder)?))
}

#[test]
fn a_draft_that_a_killed_process_left_is_removed_by_the_next_one() -> Outcome {
    const TEST: &str = "left::a_draft_that_a_killed_process_left_is_removed_by_the_next_one";
    if let Some(folder) = super::child_folder() {
        let _one = Output::to_file(&folder.join("f"), true, 0)?;
        let mut two = Output::to_file(&folder.join("f"), true, 0)?;
        two.put(b"two")?;
        fs::write(folder.join("ready"), b"")?;
        loop {
            std::thread::park();
        }
    }
    let folder = tempfile::tempdir()?;
    if !is_local(folder.path())? {
        return Ok(());
    }
    let path = folder.path().join("f");
    let mut child = in_child(TEST, folder.path())?.spawn()?;
    while !folder.path().join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::remove_file(folder.path().join("ready"))?;
    // While it runs, its drafts stay.
    save(&path, true, b"ours")?;
    assert_eq!(names(folder.path())?, [".f.0.new", ".f.1.new", "f"]);
    child.kill()?;
    child.wait()?;
    assert_eq!(names(folder.path())?, [".f.0.new", ".f.1.new", "f"]);
    save(&folder.path().join("g"), true, b"")?;
    assert_eq!(names(folder.path())?, [".f.0.new", ".f.1.new", "f", "g"]);
    save(&path, true, b"new")?;
    assert_eq!((names(folder.path())?, fs::read(&path)?), (vec!["f".to_owned(), "g".to_owned()], b"new".to_vec()));
    Ok(())
}

#[test]
fn a_draft_that_somebody_writes_stays() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (path, draft) = (folder.path().join("f"), folder.path().join(".f.0.new"));
    // The lock of a descriptor, in this process or another one, is what counts.
    fs::write(&draft, b"of somebody")?;
    let lock = File::open(&draft)?;
    flock(&lock, libc::LOCK_SH)?;
    save(&path, true, b"1")?;
    assert_eq!((fs::read(&draft)?, fs::read(&path)?), (b"of somebody".to_vec(), b"1".to_vec()));
    drop(lock);
    // What is not a regular file is not ours.
    fs::remove_file(&draft)?;
    let other = folder.path().join("other");
    fs::write(&other, b"other")?;
    std::os::unix::fs::symlink("other", &draft)?;
    fs::create_dir(folder.path().join(".f.1.new"))?;
    save(&path, true, b"2")?;
    assert_eq!(names(folder.path())?, [".f.0.new", ".f.1.new", "f", "other"]);
    assert_eq!((fs::read(&other)?, fs::read(&path)?), (b"other".to_vec(), b"2".to_vec()));
    Ok(())
}

#[test]
fn outputs_at_the_same_time_are_all_complete() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4_u8)
            .map(|byte| {
                scope.spawn({
                    let path = path.clone();
                    move || (0..200).try_for_each(|_| save(&path, true, &[byte; 5000]))
                })
            })
            .collect();
        all.into_iter()
            .try_for_each(|one| one.join().map_err(|_| "a thread panicked".to_owned())?.map_err(|error| error.to_string()))
    })?;
    let bytes = fs::read(&path)?;
    assert!(bytes.len() == 5000 && bytes.iter().all(|&byte| byte == bytes[0]));
    assert_eq!(names(folder.path())?, ["f"]);
    Ok(())
}

#[test]
fn a_file_that_does_not_fit_is_refused_before_anything_is_written() -> Outcome {
    const BYTES: u64 = 1 << 61;
    let folder = tempfile::tempdir()?;
    if file_system::room(&File::open(folder.path())?).is_none() {
        return Ok(());
    }
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    fs::write(&old, b"old")?;
    for atomic in [true, false] {
        for path in [&old, &new] {
            let refused = Output::to_file(path, atomic, BYTES).err();
            assert!(
                matches!(&refused, Some(Error::NoRoom { path: named, bytes: BYTES, free: 1..BYTES }) if named.as_path() == path),
                "{refused:?}"
            );
            assert_eq!((names(folder.path())?, fs::read(&old)?), (vec!["old".to_owned()], b"old".to_vec()));
        }
        // A device takes what it likes, and a file that fits is written.
        Output::to_file(Path::new("/dev/null"), atomic, BYTES)?.finish()?;
        let mut output = Output::to_file(&old, atomic, 20 << 20)?;
        output.put(b"old")?;
        output.finish()?;
    }
    Ok(())
}
