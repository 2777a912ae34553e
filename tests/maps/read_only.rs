//! Read-only maps: every write is refused, and no file is created or extended.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use torch_storage::convert::Scalar;
use torch_storage::error::MemoryKind;
use torch_storage::storage::Sharing::{self, Private, Shared};
use torch_storage::storage::{Advice, MapOptions, StateId, Storage, weight};
use torch_storage::{DType, Error};

use crate::{Outcome, directory, given_directory, names, run_again};

fn map(dtype: DType, path: &Path, sharing: Sharing, size: Option<usize>) -> Result<Storage, Error> {
    Storage::map(dtype, path, &MapOptions { sharing, size, read_only: true, ..MapOptions::default() })
}

fn refused<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::ReadOnly { kind: MemoryKind::ReadOnlyMap }))
}

#[test]
fn every_write_is_refused_and_every_read_works() -> Outcome {
    let bytes: Vec<u8> = (1..=96).collect();
    let directory = directory(&bytes)?;
    let file = directory.path().join("f");
    for &dtype in DType::ALL {
        for sharing in [Private, Shared] {
            let whole = map(dtype, &file, sharing, None)?;
            let view = whole.view(1, 4)?;
            let part_of_view = view.view(1, 2)?;
            for storage in [&whole, &view, &part_of_view] {
                assert!(storage.is_read_only());
                assert_eq!((storage.write_limit(), storage.read_limit()), (0.0, f64::from(u32::try_from(storage.size())?)));
                let source = Storage::zeroed(DType::Int, storage.size())?;
                assert!(refused(storage.set(0, Scalar::Signed(1))));
                assert!(refused(storage.fill(Scalar::Float(1.0))));
                assert!(refused(storage.copy_from(&source)));
                assert!(refused(storage.copy_from(storage)));
                assert!(refused(storage.write_bytes(b"x")));
                assert!(
                    storage.resize(1, StateId::of_this_thread()).is_err()
                        && storage.reserve(1, StateId::of_this_thread()).is_err()
                );
                assert!(matches!(storage.flush(true), Err(Error::NothingToFlush { kind: MemoryKind::ReadOnlyMap })));
                assert_eq!(storage.set(storage.size(), Scalar::Signed(1)).ok(), Some(false));
                storage.advise(Advice::Sequential)?;
                assert!(storage.check()?);
                source.copy_range(0, storage, 0, storage.size())?;
                assert_eq!(source.get(0), storage.cast(DType::Int)?.get(0));
                // A copy is not read-only.
                let copy = storage.cast(dtype)?;
                assert!(copy.equals(storage) && !copy.is_read_only() && copy.is_resizable());
                copy.fill(Scalar::Float(0.0))?;
                assert!(!copy.equals(storage));
            }
            assert_eq!((whole.kind(), view.kind(), whole.is_mapped()), (MemoryKind::ReadOnlyMap, MemoryKind::View, true));
            drop(whole);
            assert!(refused(part_of_view.fill(Scalar::Signed(0))), "a view can be written after its parent was dropped");
        }
    }
    assert_eq!(fs::read(&file)?, bytes);
    assert!(!Storage::zeroed(DType::Byte, 1)?.is_read_only());
    let message = map(DType::Byte, &file, Shared, None)?.fill(Scalar::Signed(0)).err().ok_or("a write was accepted")?.to_string();
    assert_eq!(message, "read-only: the storage is a read-only map of a file; clone() returns a writable copy");
    Ok(())
}

#[test]
fn an_adopted_storage_is_still_read_only() -> Outcome {
    let directory = directory(b"abcd")?;
    let storage = map(DType::Byte, &directory.path().join("f"), Shared, None)?;
    storage.retain(StateId::of_this_thread())?;
    let adopted = Storage::adopt(storage.address(), DType::Byte, StateId::of_this_thread())?;
    drop(storage);
    assert!(adopted.is_read_only() && refused(adopted.fill(Scalar::Signed(0))));
    Ok(())
}

#[test]
fn no_file_is_created_or_extended() -> Outcome {
    let directory = directory(b"abcdefg")?;
    let at = |name: &str| directory.path().join(name);
    for sharing in [Private, Shared] {
        for size in [None, Some(1)] {
            let missing = map(DType::Byte, &at("none"), sharing, size);
            assert!(matches!(missing, Err(Error::File { action: "open", reason, .. }) if reason.kind() == ErrorKind::NotFound));
        }
        let short = map(DType::Int, &at("f"), sharing, Some(2));
        assert!(matches!(short, Err(Error::FileTooSmall { bytes: 7, offset: 0, needed: 8, .. })));
        let beyond = MapOptions { sharing, read_only: true, offset: 8, size: Some(0), ..MapOptions::default() };
        let beyond = Storage::map(DType::Int, &at("f"), &beyond);
        assert!(matches!(beyond, Err(Error::OffsetBeyondEnd { offset: 8, bytes: 7, .. })));
    }
    assert_eq!((fs::read(at("f"))?, names(&directory)?), (b"abcdefg".to_vec(), vec!["f".to_owned()]));
    Ok(())
}

/// Nobody, not even root, can open a running program for writing, so mapping it shows that the file is opened for reading only.
#[cfg(target_os = "linux")]
#[test]
fn the_file_is_opened_for_reading_only() -> Outcome {
    let program = std::env::current_exe()?;
    let busy = Storage::map(DType::Byte, &program, &MapOptions { sharing: Shared, ..MapOptions::default() });
    assert!(
        matches!(busy, Err(Error::File { reason, .. }) if matches!(reason.raw_os_error(), Some(libc::ETXTBSY | libc::EACCES)))
    );
    for sharing in [Private, Shared] {
        let storage = map(DType::Byte, &program, sharing, Some(4))?;
        assert_eq!((0..4).filter_map(|index| storage.get(index)).collect::<Vec<_>>(), [127.0, 69.0, 76.0, 70.0]);
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn the_pages_themselves_are_protected() -> Outcome {
    let directory = directory(&[1; 5000])?;
    let file = directory.path().join("f");
    for (sharing, expected) in [(Private, "r--p"), (Shared, "r--s")] {
        let storage = map(DType::Byte, &file, sharing, None)?;
        let start = format!("{:x}-", storage.data().addr());
        let maps = fs::read_to_string("/proc/self/maps")?;
        let line = maps.lines().find(|line| line.starts_with(&start)).ok_or("the map is not listed")?;
        assert_eq!(line.split_whitespace().nth(1), Some(expected));
    }
    Ok(())
}

/// The weight tells the garbage collector how much memory a collection could free. The pages of a writable private map count,
/// because they become memory of this process when they are written. The pages of other maps stay with the file.
#[test]
fn read_only_maps_have_the_small_weight_of_shared_maps() -> Outcome {
    let Some(directory) = given_directory() else {
        let directory = directory(&vec![1; 1 << 20])?;
        let status = run_again("read_only::read_only_maps_have_the_small_weight_of_shared_maps", &directory)?;
        assert!(status.success(), "{status}");
        return Ok(());
    };
    let before = weight();
    let weigh = |sharing, read_only| -> Result<usize, Error> {
        let options = MapOptions { sharing, read_only, ..MapOptions::default() };
        let _storage = Storage::map(DType::Byte, &directory.join("f"), &options)?;
        Ok(weight() - before)
    };
    let least = weigh(Shared, false)?;
    assert_eq!((weigh(Shared, true)?, weigh(Private, true)?, weigh(Private, false)?), (least, least, least + (1 << 20)));
    assert_eq!(weight(), before);
    Ok(())
}

#[test]
fn a_shared_map_shows_what_others_write() -> Outcome {
    let directory = directory(b"abcdefg")?;
    let file = directory.path().join("f");
    let reader = map(DType::Byte, &file, Shared, None)?;
    let writer = Storage::map(DType::Byte, &file, &MapOptions { sharing: Shared, ..MapOptions::default() })?;
    assert!(writer.set(6, Scalar::Signed(33))?);
    assert_eq!(reader.get(6), Some(33.0));
    Ok(())
}

#[test]
fn an_empty_map_refuses_no_writes() -> Outcome {
    let directory = directory(b"abc")?;
    let file = directory.path().join("f");
    let whole = map(DType::Byte, &file, Shared, None)?;
    for empty in [map(DType::Int, &file, Shared, None)?, whole.view(3, 0)?] {
        assert_eq!((empty.size(), empty.is_read_only()), (0, true));
        empty.fill(Scalar::Float(1.0))?;
        empty.write_bytes(b"xyz")?;
    }
    assert_eq!(fs::read(&file)?, b"abc");
    Ok(())
}
