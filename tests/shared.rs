//! Shared memory within one process: sizes, names, errors, and what remains after failures. `shared_processes` tests several
//! processes.
#![cfg(target_os = "linux")]

use std::error::Error as AnyError;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use torch_storage::convert::Scalar;
use torch_storage::error::MemoryKind;
use torch_storage::storage::{MapOptions, SharedObject, Sharing, StateId, Storage, shared_memory, unlink_shared_memory};
use torch_storage::{DType, Error};

type Outcome = Result<(), Box<dyn AnyError>>;

/// A name for shared memory that no other test uses. It is removed when the test ends, even if the test fails.
struct Name(OsString);

impl Name {
    fn new(test: &str) -> Self {
        Self(format!("torch-storage-{test}-{}", process::id()).into())
    }

    fn path(&self) -> PathBuf {
        Path::new("/dev/shm").join(&self.0)
    }

    fn exists(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    fn open(&self, dtype: DType, size: Option<usize>) -> Result<Storage, Error> {
        Storage::shared(dtype, &self.0, size)
    }

    fn listed(&self) -> Result<Option<SharedObject>, Error> {
        Ok(shared_memory()?.into_iter().find(|object| object.name == self.0))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = unlink_shared_memory(&self.0);
    }
}

fn set(storage: &Storage, index: usize, value: f64) {
    let _ = storage.set(index, Scalar::Float(value));
}

fn values(storage: &Storage) -> Vec<f64> {
    (0..storage.size()).filter_map(|index| storage.get(index)).collect()
}

#[test]
fn an_open_may_give_the_same_a_smaller_a_larger_or_no_size() -> Outcome {
    let name = Name::new("sizes");
    let first = name.open(DType::Int, Some(4))?;
    assert_eq!((values(&first), fs::metadata(name.path())?.mode() & 0o177), (vec![0.0; 4], 0));
    [1.0, 2.0, 3.0, 4.0].into_iter().enumerate().for_each(|(index, value)| set(&first, index, value));

    assert_eq!(values(&name.open(DType::Int, Some(4))?), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(values(&name.open(DType::Int, Some(2))?), [1.0, 2.0]);
    assert_eq!(values(&name.open(DType::Int, None)?), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(fs::metadata(name.path())?.len(), 16, "it was shrunk");

    let larger = name.open(DType::Int, Some(3000))?;
    assert_eq!((&values(&larger)[..5], larger.size()), (&[1.0, 2.0, 3.0, 4.0, 0.0][..], 3000));
    set(&larger, 3, 9.0);
    set(&larger, 2999, 5.0);
    assert_eq!((values(&first), name.open(DType::Int, None)?.get(2999)), (vec![1.0, 2.0, 3.0, 9.0], Some(5.0)));
    assert!(fs::metadata(name.path())?.blocks() * 512 >= 12_000, "some pages were not allocated");

    // The size in bytes need not be a multiple of the element size, and it may be zero.
    assert_eq!(name.open(DType::Byte, Some(12_003))?.size(), 12_003);
    assert_eq!(name.open(DType::Double, None)?.size(), 1500);
    let none = name.open(DType::Double, Some(0))?;
    assert_eq!((none.size(), none.is_shared(), fs::metadata(name.path())?.len()), (0, true, 12_003));
    drop((first, larger));
    assert!(name.exists(), "an empty storage does not hold the name");
    drop(none);
    assert!(!name.exists());

    let empty = name.open(DType::Double, Some(0))?;
    assert_eq!((empty.size(), name.open(DType::Int, None)?.size(), name.exists()), (0, 0, true));
    assert_eq!(name.open(DType::Byte, Some(1))?.get(0), Some(0.0));
    drop(empty);
    assert!(!name.exists());
    Ok(())
}

#[test]
fn a_leading_slash_makes_no_difference() -> Outcome {
    let name = Name::new("slash");
    let slash = |slashes: &str| OsString::from(format!("{slashes}{}", name.0.display()));
    let one = Storage::shared(DType::Byte, &slash("/"), Some(3))?;
    set(&one, 0, 8.0);
    for slashes in ["", "/", "//"] {
        let other = Storage::shared(DType::Byte, &slash(slashes), None)?;
        assert_eq!(values(&other), [8.0, 0.0, 0.0]);
        // SAFETY: [live] the storage owns its name, and it outlives this reference.
        let stored = other.shared_memory_name().map(|name| unsafe { &*name }.to_vec());
        assert_eq!(stored.as_deref(), Some(name.0.as_bytes()));
        assert_eq!(other.file_name(), None);
    }
    assert!(unlink_shared_memory(&slash("/"))?);
    assert!(!unlink_shared_memory(&slash(""))?);
    Ok(())
}

#[test]
fn invalid_names_are_refused() -> Outcome {
    let refused = |name: &[u8], why: &str| {
        let name = OsStr::from_bytes(name);
        let is = |error: &Error| matches!(error, Error::SharedMemoryName { name: n, why: w } if n.as_bytes() == name.as_encoded_bytes() && w.contains(why));
        [Some(1), None].into_iter().all(|size| Storage::shared(DType::Int, name, size).is_err_and(|error| is(&error)))
            && unlink_shared_memory(name).is_err_and(|error| is(&error))
            && Storage::zeroed(DType::Int, 1)
                .is_ok_and(|heap| heap.share_memory(Some(name), StateId::of_this_thread()).is_err_and(|error| is(&error)))
    };
    for (name, why) in [(&b""[..], "empty"), (b"/", "empty"), (b".", "directory"), (b"/..", "directory"), (b"a/b", "slash")] {
        assert!(refused(name, why), "{name:?}");
    }
    assert!(refused(b"a\0b", "zero byte"));
    let long = OsString::from("n".repeat(300));
    let error = Storage::shared(DType::Int, &long, Some(1)).err().ok_or("a name of 300 bytes was accepted")?;
    assert!(matches!(&error, Error::SharedMemory { reason, .. } if reason.raw_os_error() == Some(libc::ENAMETOOLONG)));
    assert_eq!(error.to_string(), format!("cannot open shared memory '{}': File name too long", "n".repeat(300)));
    Ok(())
}

#[test]
fn directories_and_symbolic_links_are_not_opened() -> Outcome {
    let name = Name::new("others");
    let open = || name.open(DType::Byte, Some(1)).err().map(|error| error.to_string()).unwrap_or_default();
    fs::create_dir(name.path())?;
    let text = open();
    fs::remove_dir(name.path())?;
    assert!(text.ends_with("Is a directory"), "{text}");
    symlink("/dev/null", name.path())?;
    let text = open();
    assert!(text.contains("symbolic links"), "{text}");
    Ok(())
}

#[test]
fn a_failed_open_leaves_no_name_and_changes_no_bytes() -> Outcome {
    let name = Name::new("fails");
    let missing = name.open(DType::Int, None);
    assert!(matches!(&missing, Err(Error::MissingSharedMemory { name: n }) if n.as_path() == Path::new(&name.0)));
    assert!(missing.is_err_and(|error| error.to_string().ends_with("(give a size to create it)")));
    assert!(!name.exists());
    for size in [1 << 40, 1 << 58] {
        let full = name.open(DType::Int, Some(size));
        assert!(matches!(&full, Err(Error::SharedMemoryFull { bytes, free, .. }) if *bytes == 4 * size as u64 && free < bytes));
        assert!(full.is_err_and(|error| error.is_exhaustion()), "a garbage collection could help");
        assert!(!name.exists());
    }
    assert!(matches!(name.open(DType::Int, Some(1 << 62)), Err(Error::TooLarge { .. })));

    // An object that exists keeps its bytes and its name, whether a process holds it or not.
    fs::write(name.path(), b"abcd")?;
    assert!(matches!(name.open(DType::Byte, Some(1 << 45)), Err(Error::SharedMemoryFull { .. })));
    assert_eq!(fs::read(name.path())?, b"abcd");
    let holder = name.open(DType::Byte, None)?;
    assert!(matches!(name.open(DType::Byte, Some(1 << 45)), Err(Error::SharedMemoryFull { .. })));
    assert_eq!((fs::read(name.path())?, holder.get(3)), (b"abcd".to_vec(), Some(100.0)));
    drop(holder);
    assert!(!name.exists());
    Ok(())
}

/// Such an object was made by another program, or left behind by a process that was killed.
#[test]
fn a_name_that_nobody_holds_is_attached_with_its_bytes() -> Outcome {
    let name = Name::new("abandoned");
    fs::write(name.path(), b"abc")?;
    assert_eq!(name.listed()?, Some(SharedObject { name: name.0.clone(), bytes: 3, held: false }));
    let one = name.open(DType::Byte, Some(5))?;
    assert_eq!(name.listed()?, Some(SharedObject { name: name.0.clone(), bytes: 5, held: true }));
    assert_eq!(values(&one), [97.0, 98.0, 99.0, 0.0, 0.0]);
    drop(one);
    assert_eq!(name.listed()?, None);

    // A hole in the file is allocated. Otherwise accessing it could raise SIGBUS when there is no memory.
    fs::File::create(name.path())?.set_len(1 << 20)?;
    let one = name.open(DType::Byte, None)?;
    assert_eq!((fs::metadata(name.path())?.blocks() * 512, one.size()), (1 << 20, 1 << 20));
    fs::remove_file(name.path())?;
    fs::File::create(name.path())?.set_len(1 << 50)?;
    assert!(matches!(name.open(DType::Byte, None), Err(Error::SharedMemoryFull { .. })));
    Ok(())
}

#[test]
fn storages_of_one_process_may_be_dropped_in_any_order() -> Outcome {
    let name = Name::new("order");
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut storages: Vec<_> = (0..3).map(|_| name.open(DType::Int, Some(3)).map(Some)).collect::<Result<_, _>>()?;
        let view = storages[0].as_ref().ok_or("it was dropped")?.view(1, 1)?;
        set(&view, 0, 6.0);
        for left in order {
            let storage = storages[left].take().ok_or("it was dropped")?;
            assert_eq!(values(&storage), [0.0, 6.0, 0.0]);
        }
        assert!(name.exists(), "a view does not hold the name");
        assert_eq!((view.get(0), view.kind(), view.is_shared(), view.is_resizable()), (Some(6.0), MemoryKind::View, true, false));
        drop(view);
        assert!(!name.exists());
    }
    Ok(())
}

#[test]
fn dropping_a_storage_keeps_a_name_that_now_belongs_to_another_object() -> Outcome {
    let name = Name::new("taken");
    let old = name.open(DType::Byte, Some(1))?;
    assert!(unlink_shared_memory(&name.0)?);
    let new = name.open(DType::Byte, Some(2))?;
    set(&old, 0, 1.0);
    assert_eq!((values(&old), values(&new)), (vec![1.0], vec![0.0, 0.0]));
    drop(old);
    assert!(name.exists());
    drop(new);
    assert!(!name.exists());
    Ok(())
}

#[test]
fn a_storage_moves_to_shared_memory() -> Outcome {
    let name = Name::new("moves");
    let heap = Storage::from_bytes(DType::Short, &[1, 0, 2, 0, 3, 0])?;
    heap.reserve(1000, StateId::of_this_thread())?;
    let (address, view) = (heap.address(), heap.view(1, 2)?);
    assert!(
        !heap.is_shared()
            && matches!(view.share_memory(None, StateId::of_this_thread()), Err(Error::NotShareable { kind: MemoryKind::View }))
    );
    fs::write(name.path(), b"mine")?;
    assert!(matches!(heap.share_memory(Some(&name.0), StateId::of_this_thread()), Err(Error::SharedMemoryExists { .. })));
    assert_eq!((fs::read(name.path())?, heap.kind(), heap.is_resizable()), (b"mine".to_vec(), MemoryKind::Heap, true));
    fs::remove_file(name.path())?;

    heap.share_memory(Some(&name.0), StateId::of_this_thread())?;
    assert_eq!((heap.kind(), heap.address(), heap.is_shared()), (MemoryKind::SharedMemory, address, true));
    assert!(matches!(heap.resize(4, StateId::of_this_thread()), Err(Error::NotResizable { kind: MemoryKind::SharedMemory })));
    assert!(matches!(heap.flush(true), Err(Error::NothingToFlush { kind: MemoryKind::SharedMemory })));
    let other = name.open(DType::Short, None)?;
    assert_eq!((values(&heap), values(&other)), (vec![1.0, 2.0, 3.0], vec![1.0, 2.0, 3.0]));
    set(&other, 1, 7.0);
    assert_eq!((heap.get(1), view.get(0)), (Some(7.0), Some(2.0)), "the view does not keep the old bytes");
    heap.share_memory(None, StateId::of_this_thread())?;
    assert!(matches!(
        heap.share_memory(Some(&name.0), StateId::of_this_thread()),
        Err(Error::NotShareable { kind: MemoryKind::SharedMemory })
    ));
    drop((heap, other));
    assert!(!name.exists());
    Ok(())
}

#[test]
fn only_heap_storages_move_to_shared_memory() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    for (sharing, kind) in [(Sharing::Private, MemoryKind::PrivateMap), (Sharing::Shared, MemoryKind::SharedMap)] {
        let map = Storage::map(DType::Int, file.path(), &MapOptions { sharing, ..MapOptions::default() })?;
        assert!(matches!(map.share_memory(None, StateId::of_this_thread()), Err(Error::NotShareable { kind: k }) if k == kind));
        assert_eq!(map.is_shared(), sharing == Sharing::Shared);
    }
    let mut bytes = [0u8; 4];
    // SAFETY: [live] the bytes outlive the storage.
    let foreign = unsafe { Storage::foreign(DType::Byte, bytes.as_mut_ptr(), 4, None) }?;
    let error = foreign.share_memory(None, StateId::of_this_thread()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("the storage is memory of the caller"), "{error}");
    for size in [0, 5] {
        let heap = Storage::zeroed(DType::Long, size)?;
        heap.share_memory(None, StateId::of_this_thread())?;
        assert_eq!((values(&heap), heap.is_shared(), heap.shared_memory_name()), (vec![0.0; size], true, None));
    }
    Ok(())
}

/// One thread moves a storage to shared memory while another resizes it, both for one holder. Each resize happens before the move, or it
/// fails.
#[test]
fn a_storage_may_be_moved_and_resized_at_the_same_time() -> Outcome {
    let one = StateId::new(NonZeroUsize::MIN);
    for _ in 0..300 {
        let storage = Storage::from_bytes(DType::Byte, &[5; 64])?;
        storage.retain(one)?;
        let address = storage.address();
        let started = AtomicBool::new(false);
        thread::scope(|scope| {
            let resizer = scope.spawn(|| {
                let same = Storage::adopt(address, DType::Byte, one)?;
                let resized = (65..100_000).try_for_each(|size| {
                    same.resize(size, one)?;
                    started.store(true, Ordering::Release);
                    Ok(())
                });
                assert!(matches!(resized, Ok(()) | Err(Error::NotResizable { kind: MemoryKind::SharedMemory })));
                assert_eq!(same.release(one), None);
                Ok::<_, Error>(())
            });
            while !started.load(Ordering::Acquire) {
                thread::yield_now();
            }
            storage.share_memory(None, one)?;
            let size = storage.size();
            resizer.join().map_err(|_| "the other thread failed")??;
            assert_eq!((storage.size(), storage.kind(), storage.is_resizable()), (size, MemoryKind::SharedMemory, false));
            assert!((0..size).all(|index| storage.get(index) == Some(if index < 64 { 5.0 } else { 0.0 })));
            Ok::<_, Box<dyn AnyError>>(())
        })?;
    }
    Ok(())
}

#[test]
fn the_list_shows_all_shared_memory_and_whether_it_is_held() -> Outcome {
    let (one, two) = (Name::new("list-1"), Name::new("list-2"));
    let first = one.open(DType::Byte, Some(10))?;
    fs::write(two.path(), b"xyz")?;
    let ours: Vec<_> = shared_memory()?.into_iter().filter(|object| [&one.0, &two.0].contains(&&object.name)).collect();
    assert_eq!(ours.iter().map(|object| (object.bytes, object.held)).collect::<Vec<_>>(), [(10, true), (3, false)]);
    // Listing them has not changed who holds them.
    drop(first);
    assert!(!one.exists() && two.exists());
    fs::set_permissions(two.path(), fs::Permissions::from_mode(0o400))?;
    assert!(unlink_shared_memory(&two.0)? && !unlink_shared_memory(&two.0)?);
    Ok(())
}
