//! How many pages large storages touch and how much memory they hold. Linux reports both exactly.
#![cfg(target_os = "linux")]

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use torch_storage::convert::Scalar;
use torch_storage::storage::{StateId, Storage};
use torch_storage::{DType, Error};

/// The tests measure the memory of the whole process, so only one of them may run at a time.
static MEMORY: Mutex<()> = Mutex::new(());

const MB: usize = 1 << 20;

/// The number of pages, small or huge, that this thread was the first to touch.
fn faults() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: [system] the structure is a local variable, which the call fills.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) }, 0);
    // SAFETY: [layout] the structure was zeroed and then filled by the call, and it consists of integers.
    unsafe { usage.assume_init() }.ru_minflt
}

/// The number of bytes of memory that the process holds.
fn resident() -> Result<usize, Error> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.parse::<usize>().ok());
    assert!(kilobytes.is_some(), "no size in {text:?}");
    Ok(kilobytes.unwrap_or(0) * 1024)
}

/// A filled storage of doubles, which are faster to fill than bytes.
fn filled(bytes: usize) -> Result<Storage, Error> {
    let storage = Storage::zeroed(DType::Double, bytes / 8)?;
    storage.fill(Scalar::Float(7.0))?;
    Ok(storage)
}

#[test]
fn growth_moves_pages_instead_of_copying_bytes() -> Result<(), Error> {
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let storage = filled(64 * MB)?;
    for size in [16 * MB, 25 * MB, 128 * MB, 256 * MB] {
        let (before, old) = (faults(), storage.size());
        storage.resize(size, StateId::of_this_thread())?;
        // A copy of 64 MB would touch at least 32 huge pages or 16,384 small ones.
        assert!(faults() - before < 8, "{} pages touched on the way to {size} doubles", faults() - before);
        let ends = [0, 8 * MB - 1, 8 * MB, old, size - 1];
        assert_eq!(ends.map(|index| storage.get(index)), [7.0, 7.0, 0.0, 0.0, 0.0].map(Some));
    }
    Ok(())
}

#[test]
fn growth_by_doubling_touches_few_pages() -> Result<(), Error> {
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let storage = Storage::zeroed(DType::Byte, 1)?;
    let before = faults();
    for power in 1..=32 {
        storage.resize(1 << power, StateId::of_this_thread())?;
    }
    // Most of the memory is never written: only blocks of the allocator, which are smaller than 64 KiB, are copied.
    assert!(faults() - before < 200, "{} pages touched", faults() - before);
    Ok(())
}

#[test]
fn storages_hold_little_more_memory_than_they_need() -> Result<(), Error> {
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    for (count, bytes) in [(100, 600_000), (60, MB), (30, 5 * MB / 2), (4, 33 * MB)] {
        let before = resident()?;
        let all = (0..count).map(|_| filled(bytes)).collect::<Result<Vec<_>, _>>()?;
        let held = resident()?.saturating_sub(before);
        assert!(held < count * bytes * 5 / 4, "{count} storages of {bytes} bytes hold {held}");
        drop(all);
        // Freed memory that is kept for later storages is limited.
        let kept = resident()?.saturating_sub(before);
        assert!(kept < 66 * MB, "{kept} bytes are kept after {count} storages of {bytes} bytes were freed");
        assert!(bytes <= 32 * MB || kept < 2 * MB, "{kept} bytes are kept after {count} storages of {bytes} bytes were freed");
    }
    Ok(())
}

#[test]
fn shrinking_frees_memory_and_growing_again_gives_zeros() -> Result<(), Error> {
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let (large, small) = (10 * MB, MB + 100);
    let storage = filled(8 * large)?;
    let before = resident()?;
    storage.resize(small, StateId::of_this_thread())?;
    let freed = before.saturating_sub(resident()?);
    assert!(freed > 70 * MB, "{freed} bytes of 72 MB were freed");
    storage.resize(large, StateId::of_this_thread())?;
    for index in (0..large).step_by(512).chain(small - 10..small + 10) {
        let expected = if index < small { 7.0 } else { 0.0 };
        assert_eq!(storage.get(index), Some(expected), "at index {index}");
    }
    Ok(())
}
