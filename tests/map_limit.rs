//! A process that can have no more maps: large storages fail as they should, and give their memory back nevertheless. Alone in
//! its file, for threads and other tests need maps.
#![cfg(target_os = "linux")]

use std::ptr;

use torch_storage::convert::Scalar;
use torch_storage::storage::{StateId, usage};
use torch_storage::{DType, Error, Storage};

/// More maps than this take too long to make.
const MOST: usize = 300_000;

const SIZE: usize = 8 << 20;

/// Makes maps until the system gives no more: every other page of a large one becomes another.
fn use_up_the_maps(limit: usize) -> (*mut libc::c_void, usize) {
    // SAFETY: asks for a constant of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let (pages, kind) = (limit + 2, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: an anonymous map at no given address touches no memory there is.
    let start = unsafe { libc::mmap(ptr::null_mut(), pages * page, libc::PROT_NONE, kind, -1, 0) };
    assert!(start != libc::MAP_FAILED);
    let refused = (0..pages).step_by(2).any(|number| {
        let place = start.cast::<u8>().wrapping_add(number * page).cast();
        // SAFETY: the page is ours, and nobody uses it.
        unsafe { libc::mprotect(place, page, libc::PROT_READ) != 0 }
    });
    assert!(refused, "more than {limit} maps");
    // One more than the limit can be had, but for the splitting of maps. These remain.
    let one = |access| {
        // SAFETY: as above.
        unsafe { libc::mmap(ptr::null_mut(), page, access, kind, -1, 0) != libc::MAP_FAILED }
    };
    while one(libc::PROT_NONE) && one(libc::PROT_READ) {}
    (start, pages * page)
}

/// Bytes of memory that the process holds.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    // SAFETY: asks for a constant of the system.
    pages.unwrap_or(0) * usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

fn filled(size: usize) -> Result<Storage, Error> {
    let storage = Storage::zeroed(DType::Byte, size)?;
    storage.fill(Scalar::Float(7.0))?;
    Ok(storage)
}

#[test]
fn without_maps_storages_stay_what_they_are() -> Result<(), Error> {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    let Some(limit) = limit.filter(|&limit| limit <= MOST) else { return Ok(()) };
    // Neighbours are one map to the system: to take out the middle one is one too many.
    let mut early = vec![filled(SIZE)?, filled(SIZE)?, filled(SIZE)?];
    let before = usage();
    let maps = use_up_the_maps(limit);

    let late: Vec<_> = (0..8).map_while(|_| filled(SIZE).ok()).collect();
    assert!(late.len() < 8, "there are maps left");
    assert!(matches!(Storage::zeroed(DType::Byte, SIZE), Err(Error::OutOfMemory { bytes: SIZE })));
    assert_eq!(usage().heap, before.heap + late.len() * SIZE);
    for storage in early.iter().chain(&late) {
        let size = if storage.resize(2 * SIZE, StateId::PROGRAM).is_ok() { 2 * SIZE } else { SIZE };
        assert_eq!(storage.size(), size);
        assert_eq!([0, SIZE - 1].map(|place| storage.get(place)), [7.0, 7.0].map(Some));
        assert_eq!(storage.get(2 * SIZE - 1), (size > SIZE).then_some(0.0));
    }
    let full = resident();
    drop(early.remove(1));
    let back = full.saturating_sub(resident());
    assert!(back >= SIZE - (64 << 10), "{back} bytes came back");

    // SAFETY: nothing uses the pages.
    assert_eq!(unsafe { libc::munmap(maps.0, maps.1) }, 0);
    for storage in early.iter().chain(&late) {
        storage.resize(3 * SIZE, StateId::PROGRAM)?;
        assert_eq!([0, SIZE, 3 * SIZE - 1].map(|place| storage.get(place)), [7.0, 0.0, 0.0].map(Some));
    }
    Ok(())
}
