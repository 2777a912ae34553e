//! Private and shared maps of whole files. Errors carry the facts, and a failure leaves no file behind.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use torch_storage::convert::Scalar;
use torch_storage::error::MemoryKind;
use torch_storage::storage::Sharing::{self, Private, Shared};
use torch_storage::storage::StateId;
use torch_storage::storage::{MapOptions, Storage};
use torch_storage::{DType, Error};

use crate::{Outcome, directory, names};

fn map(dtype: DType, path: &Path, sharing: Sharing, size: Option<usize>) -> Result<Storage, Error> {
    Storage::map(dtype, path, &MapOptions { sharing, size, ..MapOptions::default() })
}

#[test]
fn a_private_map_is_a_copy_and_a_shared_one_is_the_file() -> Outcome {
    let directory = directory(b"abcdefg")?;
    let file = directory.path().join("f");
    let private = map(DType::Short, &file, Private, None)?;
    assert_eq!((private.size(), private.kind(), private.is_mapped()), (3, MemoryKind::PrivateMap, true));
    private.fill(Scalar::Float(0.0))?;
    assert_eq!(fs::read(&file)?, b"abcdefg");
    let shared = map(DType::Byte, &file, Shared, Some(5))?;
    assert_eq!((shared.size(), shared.kind(), shared.is_resizable()), (5, MemoryKind::SharedMap, false));
    shared.view(3, 2)?.fill(Scalar::Float(33.0))?;
    assert_eq!(fs::read(&file)?, b"abc!!fg");
    shared.flush(true)?;
    assert!(matches!(private.flush(true), Err(Error::NothingToFlush { kind: MemoryKind::PrivateMap })));
    assert!(matches!(shared.resize(1, StateId::of_this_thread()), Err(Error::NotResizable { kind: MemoryKind::SharedMap })));
    Ok(())
}

/// A view need not begin or end at the boundary of a page.
#[test]
fn any_view_of_a_shared_map_can_be_flushed() -> Outcome {
    let directory = directory(&[])?;
    let file = directory.path().join("f");
    let map = map(DType::Byte, &file, Shared, Some(100_000))?;
    for (offset, size) in [(0, 1), (1, 4095), (4095, 2), (4096, 4096), (50_001, 49_999), (99_999, 1), (100_000, 0)] {
        let view = map.view(offset, size)?;
        view.fill(Scalar::Float(7.0))?;
        view.flush(true)?;
        view.flush(false)?;
        assert!(fs::read(&file)?[offset..offset + size].iter().all(|&byte| byte == 7));
    }
    Ok(())
}

#[test]
fn extending_a_file_keeps_its_bytes_and_its_mode() -> Outcome {
    for length in [0usize, 1, 4095, 4096, 4097] {
        let bytes: Vec<u8> = (1..=255).cycle().take(length).collect();
        let directory = directory(&bytes)?;
        let file = directory.path().join("f");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640))?;
        let whole = map(DType::Long, &file, Shared, Some(2000))?;
        let now = fs::read(&file)?;
        assert_eq!(now.len(), 16_000);
        assert_eq!(now[..length], bytes);
        assert!(now[length..].iter().all(|&byte| byte == 0));
        assert_eq!(whole.get(1999), Some(0.0));
        assert_eq!(fs::metadata(&file)?.mode() & 0o777, 0o640);
        map(DType::Long, &file, Shared, Some(3))?;
        assert_eq!(fs::metadata(&file)?.len(), 16_000, "the file was shrunk");
    }
    Ok(())
}

#[test]
fn a_new_file_is_zero_and_only_its_owner_can_access_it() -> Outcome {
    let directory = directory(b"")?;
    let file = directory.path().join("new");
    let map = map(DType::Double, &file, Shared, Some(3))?;
    assert_eq!((0..3).filter_map(|index| map.get(index)).collect::<Vec<_>>(), [0.0; 3]);
    // The umask can only remove permissions of the owner.
    assert_eq!(fs::metadata(&file)?.mode() & 0o177, 0);
    assert_eq!(fs::metadata(&file)?.len(), 24);
    Ok(())
}

#[test]
fn errors_carry_the_facts() -> Outcome {
    let directory = directory(b"abcdefg")?;
    let at = |name: &str| directory.path().join(name);
    let int = |name: &str, sharing, size| map(DType::Int, &at(name), sharing, size);

    let missing = int("none", Private, None);
    assert!(matches!(missing, Err(Error::File { ref path, ref reason, action: "open" })
        if path.as_path() == at("none") && reason.kind() == ErrorKind::NotFound));
    assert!(matches!(int("none", Shared, None), Err(Error::MissingFile { path }) if path.as_path() == at("none")));
    assert!(matches!(int("none/x", Shared, Some(1)), Err(Error::File { reason, .. }) if reason.kind() == ErrorKind::NotFound));
    assert!(
        matches!(int("f/x", Shared, Some(1)), Err(Error::File { reason, .. }) if reason.raw_os_error() == Some(libc::ENOTDIR))
    );
    let short = int("f", Private, Some(2));
    assert!(matches!(short, Err(Error::FileTooSmall { ref path, bytes: 7, offset: 0, needed: 8 }) if path.as_path() == at("f")));
    assert!(matches!(int("", Private, None), Err(Error::NotAFile { what: "a directory", .. })));
    assert!(int("", Shared, Some(1)).is_err());
    for sharing in [Private, Shared] {
        let device = map(DType::Int, Path::new("/dev/zero"), sharing, Some(1));
        assert!(matches!(device, Err(Error::NotAFile { what: "a device", .. })));
        let nul = Path::new(OsStr::from_bytes(b"/dev/zero\0x"));
        let nul = map(DType::Int, nul, sharing, Some(1));
        assert!(matches!(nul, Err(Error::NulInName { path }) if path.as_bytes().len() == 11));
        for size in [1 << 61, 1 << 62, usize::MAX] {
            let huge = int("f", sharing, Some(size));
            assert!(matches!(huge, Err(Error::TooLarge { size: asked, dtype: DType::Int }) if asked == size));
        }
    }
    assert_eq!(names(&directory)?, ["f"]);
    Ok(())
}

#[test]
fn a_failed_extension_leaves_everything_as_it_was() -> Outcome {
    let directory = directory(b"abcdefg")?;
    for name in ["f", "new"] {
        let result = map(DType::Byte, &directory.path().join(name), Shared, Some(1 << 62));
        assert!(matches!(result, Err(Error::File { action: "extend", .. })), "{name}");
    }
    assert_eq!(fs::read(directory.path().join("f"))?, b"abcdefg");
    assert_eq!(names(&directory)?, ["f"]);
    Ok(())
}

#[test]
fn an_empty_file_is_an_empty_storage() -> Outcome {
    let directory = directory(b"")?;
    for sharing in [Private, Shared] {
        let map = map(DType::Float, &directory.path().join("f"), sharing, None)?;
        assert_eq!((map.size(), map.is_mapped(), map.view(0, 0)?.is_mapped()), (0, true, true));
        map.fill(Scalar::Float(1.0))?;
        map.copy_from(&Storage::zeroed(DType::Byte, 0)?)?;
        assert!(map.equals(&Storage::zeroed(DType::Float, 0)?));
    }
    Ok(())
}
