//! Files that are truncated or replaced while they are mapped, and what `check` reports about them.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use torch_storage::convert::Scalar;
use torch_storage::error::MemoryKind;
use torch_storage::storage::Sharing::Shared;
use torch_storage::storage::{Advice, MapOptions, StateId, Storage};
use torch_storage::{DType, Error};

use crate::{Outcome, directory, given_directory, run_again};

fn truncate(path: &Path, length: u64) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

/// The options for a private, a shared and a read-only map.
fn all_kinds() -> [MapOptions; 3] {
    let [private, shared, read_only] = [MapOptions::default(); 3];
    [private, MapOptions { sharing: Shared, ..shared }, MapOptions { read_only: true, sharing: Shared, ..read_only }]
}

#[test]
fn check_tells_whether_a_truncated_file_still_covers_the_storage() -> Outcome {
    for options in all_kinds() {
        let directory = directory(&[7; 20_000])?;
        let file = directory.path().join("f");
        let options = MapOptions { offset: 3, size: Some(2000), ..options };
        let storage = Storage::map(DType::Long, &file, &options)?;
        let (front, back) = (storage.view(0, 1000)?, storage.view(1000, 1000)?);
        let checks = || -> Result<_, Error> { Ok((storage.check()?, front.check()?, back.check()?)) };
        // The map ends at byte 16003 of the file, and its front half ends at byte 8003.
        for (length, expected) in [
            (16_003, (true, true, true)),
            (16_002, (false, true, false)),
            (8003, (false, true, false)),
            (8002, (false, false, false)),
            (0, (false, false, false)),
            (20_000, (true, true, true)),
        ] {
            truncate(&file, length)?;
            assert_eq!(checks()?, expected, "{length} {options:?}");
            assert!(storage.view(2000, 0)?.check()?, "an empty view is always covered");
        }
    }
    Ok(())
}

#[test]
fn the_remaining_bytes_of_a_truncated_file_can_be_read() -> Outcome {
    let directory = directory(&[7; 20_000])?;
    let file = directory.path().join("f");
    let storage = Storage::map(DType::Byte, &file, &MapOptions { sharing: Shared, ..MapOptions::default() })?;
    truncate(&file, 10)?;
    assert!(!storage.check()?);
    assert_eq!((storage.get(9), storage.get(10)), (Some(7.0), Some(0.0)));
    Ok(())
}

/// As `docs/safety.md` says, this is the behaviour of `mmap`.
#[test]
fn reading_past_the_end_of_a_truncated_file_is_a_sigbus() -> Outcome {
    if let Some(directory) = given_directory() {
        let file = directory.join("f");
        let storage = Storage::map(DType::Byte, &file, &MapOptions::default())?;
        truncate(&file, 10)?;
        // The expected crash should not write a core file.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: [system] the structure is a local variable, which the call reads.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
        return Err(format!("read {:?}", storage.get(199_999)).into());
    }
    let directory = directory(&vec![7; 200_000])?;
    let status = run_again("truncation::reading_past_the_end_of_a_truncated_file_is_a_sigbus", &directory)?;
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
    Ok(())
}

#[test]
fn check_is_an_error_if_the_file_was_replaced() -> Outcome {
    for options in all_kinds() {
        let directory = directory(b"abcdefgh")?;
        let at = |name: &str| directory.path().join(name);
        let storage = Storage::map(DType::Short, &at("f"), &options)?;
        fs::hard_link(at("f"), at("same"))?;
        fs::rename(at("same"), at("f"))?;
        assert!(storage.check()?, "another link to the same file counts as a replacement");
        for length in [1, 8, 100] {
            fs::write(at("new"), vec![b'x'; length])?;
            fs::rename(at("new"), at("f"))?;
            assert!(matches!(storage.check(), Err(Error::OtherFile { path }) if path.as_path() == at("f")), "{length}");
        }
        fs::remove_file(at("f"))?;
        assert!(
            matches!(storage.check(), Err(Error::File { action: "check", reason, .. }) if reason.kind() == ErrorKind::NotFound)
        );
        assert_eq!(storage.get(3), Some(f64::from(i16::from_le_bytes(*b"gh"))), "the map no longer shows the old file");
    }
    Ok(())
}

#[test]
fn check_follows_symbolic_links() -> Outcome {
    let directory = directory(b"abcdefgh")?;
    let at = |name: &str| directory.path().join(name);
    std::os::unix::fs::symlink(at("f"), at("link"))?;
    let storage = Storage::map(DType::Byte, &at("link"), &MapOptions::default())?;
    assert!(storage.check()?);
    truncate(&at("f"), 7)?;
    assert!(!storage.check()?);
    Ok(())
}

/// A process may often have only 1024 open descriptors, but some 65,000 maps.
#[test]
fn a_map_keeps_no_open_descriptor() -> Outcome {
    if let Some(directory) = given_directory() {
        let open = || -> std::io::Result<usize> { Ok(fs::read_dir("/dev/fd")?.count()) };
        let before = open()?;
        let all: Result<Vec<_>, _> = (0..300)
            .map(|offset| Storage::map(DType::Byte, &directory.join("f"), &MapOptions { offset, ..MapOptions::default() }))
            .collect();
        for storage in all? {
            assert!(storage.check()?);
        }
        assert_eq!(open()?, before);
        return Ok(());
    }
    let status = run_again("truncation::a_map_keeps_no_open_descriptor", &directory(&[1; 300])?)?;
    assert!(status.success(), "{status}");
    Ok(())
}

#[test]
fn only_maps_can_be_checked_or_advised() -> Outcome {
    let heap = Storage::zeroed(DType::Int, 3)?;
    let view = heap.view(1, 1)?;
    // SAFETY: [live] `heap` outlives this storage and is not resized before its last use.
    let foreign = unsafe { Storage::foreign(DType::Int, heap.data(), 3, None) }?;
    for (storage, kind) in [(&heap, MemoryKind::Heap), (&view, MemoryKind::Heap), (&foreign, MemoryKind::Foreign)] {
        assert!(matches!(storage.check(), Err(Error::NotMapped { kind: got }) if got == kind));
        assert!(matches!(storage.advise(Advice::Random), Err(Error::NotMapped { kind: got }) if got == kind));
    }
    // The refusals have not changed the storages.
    heap.fill(Scalar::Float(1.0))?;
    heap.resize(100, StateId::of_this_thread())?;
    assert_eq!((view.get(0), heap.get(2), heap.get(99)), (Some(1.0), Some(1.0), Some(0.0)));
    Ok(())
}
