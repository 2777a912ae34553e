//! A process that has reached its limit of memory maps: large storages cannot be made, and existing ones still free their memory.
//! The test has a file to itself, because threads and other tests need maps.
#![cfg(target_os = "linux")]

use std::ptr;

use torch_storage::bulk::set_threads;
use torch_storage::convert::Scalar;
use torch_storage::storage::{StateId, Storage, usage};
use torch_storage::{DType, Error};

/// If the limit is higher than this, reaching it takes too long, and the test does nothing.
const MOST: usize = 300_000;

/// So much that a dropped storage gives its memory back to the system, and does not keep it for the next one.
const SIZE: usize = 40 << 20;

/// Makes maps until the system refuses: every second page of a large map gets another protection, which splits the map.
fn use_up_the_maps(limit: usize) -> (*mut libc::c_void, usize) {
    // SAFETY: [system] the call reads a constant of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let (pages, kind) = (limit + 2, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: [system] a new anonymous map at an address of the system's choice overlaps no existing memory.
    let start = unsafe { libc::mmap(ptr::null_mut(), pages * page, libc::PROT_NONE, kind, -1, 0) };
    assert!(start != libc::MAP_FAILED);
    let refused = (0..pages).step_by(2).any(|number| {
        let address = start.cast::<u8>().wrapping_add(number * page).cast();
        // SAFETY: [system] the page belongs to the map that starts at `start`, and nothing uses it.
        unsafe { libc::mprotect(address, page, libc::PROT_READ) != 0 }
    });
    assert!(refused, "the system allows more than {limit} maps");
    // A new map may still exceed the limit by one, which splitting a map may not. Such maps are used up here.
    let one = |access| {
        // SAFETY: [system] a new anonymous map at an address of the system's choice overlaps no existing memory.
        unsafe { libc::mmap(ptr::null_mut(), page, access, kind, -1, 0) != libc::MAP_FAILED }
    };
    while one(libc::PROT_NONE) && one(libc::PROT_READ) {}
    (start, pages * page)
}

/// The number of bytes of memory that the process holds.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    // SAFETY: [system] the call reads a constant of the system.
    pages.unwrap_or(0) * usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

fn filled(size: usize) -> Result<Storage, Error> {
    let storage = Storage::zeroed(DType::Byte, size)?;
    storage.fill(Scalar::Float(7.0))?;
    Ok(storage)
}

#[test]
fn storages_stay_intact_when_the_process_has_no_maps_left() -> Result<(), Error> {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    let Some(limit) = limit.filter(|&limit| limit <= MOST) else { return Ok(()) };
    // A new thread needs maps for its stacks. Without them the standard library ends the program.
    set_threads(1);
    // The system merges adjacent maps. Unmapping the middle one would split the merged map, which the limit does not allow.
    let mut early = vec![filled(SIZE)?, filled(SIZE)?, filled(SIZE)?];
    let before = usage();
    let maps = use_up_the_maps(limit);

    let late: Vec<_> = (0..8).map_while(|_| filled(SIZE).ok()).collect();
    assert!(late.len() < 8, "the limit of maps was not reached");
    assert!(matches!(Storage::zeroed(DType::Byte, SIZE), Err(Error::OutOfMemory { bytes: SIZE })));
    assert_eq!(usage().heap, before.heap + late.len() * SIZE);
    for storage in early.iter().chain(&late) {
        let size = if storage.resize(2 * SIZE, StateId::of_this_thread()).is_ok() { 2 * SIZE } else { SIZE };
        assert_eq!(storage.size(), size);
        assert_eq!([0, SIZE - 1].map(|index| storage.get(index)), [7.0, 7.0].map(Some));
        assert_eq!(storage.get(2 * SIZE - 1), (size > SIZE).then_some(0.0));
    }
    let full = resident();
    drop(early.remove(1));
    let freed = full.saturating_sub(resident());
    assert!(freed >= SIZE - (64 << 10), "{freed} bytes were freed");

    // SAFETY: [system] the range is the map that `use_up_the_maps` made, and nothing uses it.
    assert_eq!(unsafe { libc::munmap(maps.0, maps.1) }, 0);
    for storage in early.iter().chain(&late) {
        storage.resize(3 * SIZE, StateId::of_this_thread())?;
        assert_eq!([0, SIZE, 3 * SIZE - 1].map(|index| storage.get(index)), [7.0, 0.0, 0.0].map(Some));
    }
    Ok(())
}
