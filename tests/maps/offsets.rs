//! Maps that start at a byte offset: their contents, how far they extend the file, and elements that are not aligned.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::prelude::{ProptestConfig, any, prop_oneof, proptest};

use torch_storage::convert::Scalar;
use torch_storage::storage::Sharing::{self, Private, Shared};
use torch_storage::storage::{MapOptions, Storage};
use torch_storage::{DType, Error};

use crate::{Outcome, directory, names};

fn map(dtype: DType, path: &Path, sharing: Sharing, offset: u64, size: Option<usize>) -> Result<Storage, Error> {
    Storage::map(dtype, path, &MapOptions { sharing, offset, size, ..MapOptions::default() })
}

/// The bytes of a storage.
fn bytes_of(storage: &Storage) -> Vec<u8> {
    // SAFETY: [live] [in-bounds] the storage is borrowed, and the offset is below its number of bytes.
    (0..storage.nbytes()).map(|offset| unsafe { storage.data().wrapping_add(offset).read() }).collect()
}

#[test]
fn a_map_may_start_at_any_byte_and_ends_with_the_last_whole_element() -> Outcome {
    let bytes: Vec<u8> = (0..=250).cycle().take(10_000).collect();
    let directory = directory(&bytes)?;
    let file = directory.path().join("f");
    for offset in [0, 1, 3, 7, 4095, 4096, 4097, 8191, 9990, 9999, 10_000] {
        for &dtype in DType::ALL {
            for sharing in [Private, Shared] {
                let whole = map(dtype, &file, sharing, offset, None)?;
                let start = usize::try_from(offset)?;
                assert_eq!(whole.size(), (10_000 - start) / dtype.width());
                assert_eq!(bytes_of(&whole), bytes[start..start + whole.nbytes()]);
                let part = map(dtype, &file, sharing, offset, Some(whole.size() / 2))?;
                assert_eq!(bytes_of(&part), bytes[start..start + part.nbytes()]);
            }
        }
    }
    assert_eq!(fs::read(&file)?, bytes);
    Ok(())
}

#[test]
fn a_map_beyond_the_end_is_an_error_with_the_sizes() -> Outcome {
    let directory = directory(b"abcdefg")?;
    let file = directory.path().join("f");
    for (offset, size) in [(8, None), (8, Some(0)), (9, Some(1)), (u64::MAX, None)] {
        let result = map(DType::Short, &file, Private, offset, size);
        assert!(
            matches!(result, Err(Error::OffsetBeyondEnd { ref path, offset: asked, bytes: 7 }) if asked == offset && path.as_path() == file),
            "{result:?}",
            result = result.err()
        );
    }
    let short = map(DType::Short, &file, Private, 4, Some(2)).err().ok_or("the file is too short, but it was mapped")?;
    assert!(matches!(short, Error::FileTooSmall { bytes: 7, offset: 4, needed: 8, .. }));
    assert!(short.to_string().ends_with("it has 7 bytes, 8 are needed (4 from byte offset 4 on)"), "{short}");
    assert!(matches!(map(DType::Byte, &file, Shared, 8, None), Err(Error::OffsetBeyondEnd { offset: 8, bytes: 7, .. })));
    assert!(matches!(map(DType::Byte, &directory.path().join("g"), Shared, 8, None), Err(Error::MissingFile { .. })));
    assert_eq!((fs::read(&file)?, names(&directory)?), (b"abcdefg".to_vec(), vec!["f".to_owned()]));
    Ok(())
}

/// Every sum of an offset and a length is checked for overflow, and a failure does not create or extend a file.
#[test]
fn sums_past_the_largest_file_are_errors() -> Outcome {
    const MOST: u64 = i64::MAX.unsigned_abs();
    let directory = directory(b"abcdefg")?;
    for name in ["f", "new"] {
        for (offset, size) in [(MOST, 1), (MOST - 6, 1), (u64::MAX, 1), (u64::MAX - 7, 1), (u64::MAX, 0), (9, (1 << 60) - 1)] {
            let path = directory.path().join(name);
            let result = map(DType::Long, &path, Shared, offset, Some(size));
            assert!(
                matches!(result, Err(Error::PastLargestFile { offset: o, bytes, .. }) if (o, bytes) == (offset, size * 8)),
                "{name} {offset} {size}"
            );
        }
        let too_large = map(DType::Long, &directory.path().join(name), Shared, 1, Some(1 << 60));
        assert!(matches!(too_large, Err(Error::TooLarge { size, dtype: DType::Long }) if size == 1 << 60));
        // A file of this length is possible, but no disk has room for it.
        let huge = map(DType::Byte, &directory.path().join(name), Shared, MOST - 1, Some(1));
        assert!(matches!(huge, Err(Error::File { action: "extend", .. })));
    }
    let private = map(DType::Long, &directory.path().join("f"), Private, u64::MAX, Some(1));
    assert!(matches!(private, Err(Error::PastLargestFile { .. })));
    assert_eq!((fs::read(directory.path().join("f"))?, names(&directory)?), (b"abcdefg".to_vec(), vec!["f".to_owned()]));
    Ok(())
}

#[test]
fn a_shared_map_extends_the_file_to_the_end_of_the_map() -> Outcome {
    for (length, offset, size) in [(7, 3, 4), (7, 7, 1), (7, 100, 1), (0, 4099, 2000), (0, 5, 0), (7, 9, 0), (5000, 4097, 1000)] {
        let bytes: Vec<u8> = (1..=255).cycle().take(length).collect();
        let directory = directory(&bytes)?;
        let file = directory.path().join("f");
        let storage = map(DType::Int, &file, Shared, offset, Some(size))?;
        let end = usize::try_from(offset)? + size * 4;
        assert_eq!(storage.size(), size);
        let now = fs::read(&file)?;
        assert_eq!(now.len(), end.max(length), "{length} {offset} {size}");
        assert_eq!(now[..length], bytes);
        assert!(now[length..].iter().all(|&byte| byte == 0));
        storage.fill(Scalar::Float(-1.0))?;
        let now = fs::read(&file)?;
        let start = usize::try_from(offset)?;
        assert!(now[start..end].iter().all(|&byte| byte == 255));
        assert_eq!(now[..length.min(start)], bytes[..length.min(start)]);
    }
    Ok(())
}

/// Disk space is reserved for the mapped bytes only, not for the bytes before them.
#[test]
fn the_bytes_before_the_offset_become_a_hole() -> Outcome {
    let directory = directory(b"")?;
    let file = directory.path().join("f");
    let storage = map(DType::Double, &file, Shared, (1 << 30) + 1, Some(1000))?;
    storage.fill(Scalar::Float(1.5))?;
    let metadata = fs::metadata(&file)?;
    assert_eq!(metadata.len(), (1 << 30) + 8001);
    assert!(metadata.blocks() * 512 < 1 << 20, "{} blocks", metadata.blocks());
    Ok(())
}

/// All operations on unaligned elements, and on elements that lie across the ends of pages, give the same results as on the heap.
#[test]
fn unaligned_elements_are_read_and_written_correctly() -> Outcome {
    const SIZE: usize = 700;
    let directory = directory(&vec![0x5a; 3 * 4096 + 16 + SIZE * 16])?;
    let file = directory.path().join("f");
    for offset in (0..=8).chain(4080..=4097).chain([8191]) {
        for &dtype in DType::ALL {
            for sharing in [Private, Shared] {
                let mapped = map(dtype, &file, sharing, offset, Some(SIZE))?;
                assert_eq!(mapped.data().addr() % 4096, usize::try_from(offset)? % 4096);
                agrees_with_the_heap(&mapped, &Storage::zeroed(dtype, SIZE)?)?;
                agrees_with_the_heap(&mapped.view(1, SIZE - 2)?, &Storage::zeroed(dtype, SIZE - 2)?)?;
            }
        }
    }
    let bytes = fs::read(&file)?;
    assert!(bytes[8191 + SIZE * 16..].iter().all(|&byte| byte == 0x5a), "bytes after the maps changed");
    Ok(())
}

fn agrees_with_the_heap(mapped: &Storage, heap: &Storage) -> Outcome {
    let same = |operation: &str| {
        assert_eq!(bytes_of(mapped), bytes_of(heap), "{operation} {:?} at {:?}", mapped.dtype(), mapped.data());
        // NaN differs from itself. The byte 253 is a NaN in some 8-bit floats.
        let equal = heap.equals(heap);
        assert!(mapped.equals(heap) == equal && heap.equals(mapped) == equal, "{operation} {:?}", mapped.dtype());
    };
    let number = |index: usize| Scalar::Signed(i64::try_from(index * 7919 % 251).unwrap_or(0) - 125);
    for storage in [mapped, heap] {
        storage.fill(Scalar::Float(-3.5))?;
    }
    same("fill");
    for index in 0..heap.size() {
        assert!(mapped.set(index, number(index))? && heap.set(index, number(index))?);
        assert_eq!(mapped.get(index), heap.get(index));
    }
    same("set");
    for &dtype in DType::ALL {
        // Converts the elements to every dtype and back.
        let (from_map, from_heap) = (mapped.cast(dtype)?, heap.cast(dtype)?);
        assert_eq!(bytes_of(&from_map), bytes_of(&from_heap), "{:?} to {dtype:?}", mapped.dtype());
        for storage in [mapped, heap] {
            storage.fill(Scalar::Signed(0))?;
            storage.copy_range(0, &from_map, 0, from_map.size().min(storage.size()))?;
        }
        same("copy");
    }
    // Overlapping copies in both directions, by one element and by several.
    for (to, from) in [(0, 1), (1, 0), (0, 37), (37, 0)] {
        for storage in [mapped, heap] {
            let size = storage.size() - 37;
            storage.view(to, size)?.copy_from(&storage.view(from, size)?)?;
        }
        same("overlap");
    }
    let text: Vec<u8> = (0..100).collect();
    for storage in [mapped, heap] {
        storage.write_bytes(&text)?;
    }
    same("bytes");
    for storage in [mapped, heap] {
        storage.fill(Scalar::Signed(0))?;
    }
    same("zero");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A copy between overlapping maps of one file gives the same result as a copy from a separate map of the source.
    #[test]
    fn two_maps_of_one_file_may_overlap(
        bytes in proptest::collection::vec(any::<u8>(), 13_000),
        to in 0..DType::ALL.len(),
        from in 0..DType::ALL.len(),
        target in prop_oneof![0u64..64, 4000u64..4200],
        source in prop_oneof![0u64..64, 4000u64..4200],
        size in 0usize..500,
    ) {
        let outcome = (|| -> Outcome {
            let (to, from) = (DType::ALL[to], DType::ALL[from]);
            let directory = directory(&bytes)?;
            let file = directory.path().join("f");
            let expected = Storage::zeroed(to, size)?;
            expected.copy_range(0, &map(from, &file, Private, source, Some(size))?, 0, size)?;
            // Both are parts of one map, because the engine detects an overlap by the addresses.
            let whole = map(DType::Byte, &file, Private, 0, None)?;
            let at = |dtype: DType, offset: u64| -> Result<Storage, Error> {
                let data = whole.data().wrapping_add(usize::try_from(offset).unwrap_or(0));
                // SAFETY: [live] [in-bounds] both parts end below byte 4200 + 500 * 16 = 12,200 of 13,000, and `whole` outlives
                // them.
                unsafe { Storage::foreign(dtype, data, size, None) }
            };
            let got = at(to, target)?;
            got.copy_range(0, &at(from, source)?, 0, size)?;
            assert_eq!(bytes_of(&got), bytes_of(&expected));
            Ok(())
        })();
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
