//! Advice, huge pages and locks: the tests read from `/proc` whether the kernel applies them to the pages of a map.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use torch_storage::convert::Scalar;
use torch_storage::storage::Sharing::{Private, Shared};
use torch_storage::storage::{Advice, MapOptions, Storage};
use torch_storage::{DType, Error};

use crate::{Outcome, directory, given_directory, names, run_again};

/// The size of a page. It is 4096 bytes on x86-64, and may be 16 or 64 KiB on ARM64.
fn page() -> usize {
    // SAFETY: [system] the call takes no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The text that the kernel gives under this heading for the mapping that contains this address.
fn of_mapping(address: usize, heading: &str) -> Result<String, Box<dyn std::error::Error>> {
    let text = fs::read_to_string("/proc/self/smaps")?;
    let mut inside = false;
    for line in text.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let range =
            range.and_then(|(from, to)| Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?)));
        if let Some((from, to)) = range {
            inside = (from..to).contains(&address);
        } else if let (true, Some(text)) = (inside, line.strip_prefix(heading)) {
            return Ok(text.trim().to_owned());
        }
    }
    Err("no mapping has this address".into())
}

/// Whether the kernel lists this flag: `sr` for sequential reads, `rr` for random reads, `hg` for huge pages, `lo` for locked.
fn has(address: usize, flag: &str) -> Result<bool, Box<dyn std::error::Error>> {
    Ok(of_mapping(address, "VmFlags:")?.split_whitespace().any(|listed| listed == flag))
}

/// The size of this number of pages, as the kernel writes it.
fn kilobytes(pages: usize) -> String {
    format!("{} kB", pages * page() / 1024)
}

/// The options for each kind of map. The offset is not a multiple of the page size.
fn all_kinds() -> impl Iterator<Item = MapOptions> {
    let options = |(sharing, read_only)| MapOptions { sharing, read_only, offset: page() as u64 + 3, ..MapOptions::default() };
    [(Private, false), (Private, true), (Shared, false), (Shared, true)].into_iter().map(options)
}

#[test]
fn advice_reaches_the_pages() -> Outcome {
    let directory = directory(&vec![7; 20 * page()])?;
    let file = directory.path().join("f");
    for options in all_kinds() {
        for (advice, expected) in [
            (None, (false, false)),
            (Some(Advice::Normal), (false, false)),
            (Some(Advice::Sequential), (true, false)),
            (Some(Advice::Random), (false, true)),
            (Some(Advice::WillNeed), (false, false)),
        ] {
            let storage = Storage::map(DType::Byte, &file, &MapOptions { advice, ..options })?;
            let flags = |offset: usize| -> Result<_, Box<dyn std::error::Error>> {
                let address = storage.data().addr() + offset;
                Ok((has(address, "sr")?, has(address, "rr")?))
            };
            assert_eq!((flags(0)?, flags(storage.size() - 1)?), (expected, expected), "{advice:?}");
            storage.advise(Advice::Sequential)?;
            assert_eq!(flags(0)?, (true, false));
            // Advice for a view applies to the pages of the view only. The view does not start at the boundary of a page.
            storage.view(8 * page() + 5, 100)?.advise(Advice::Random)?;
            assert_eq!((flags(0)?, flags(8 * page() + 5)?, flags(12 * page())?), ((true, false), (false, true), (true, false)));
            storage.view(3, 0)?.advise(Advice::Random)?;
            storage.advise(Advice::Normal)?;
            assert_eq!((flags(0)?, flags(8 * page() + 5)?), ((false, false), (false, false)));
            assert_eq!((storage.get(0), storage.get(8 * page() + 5)), (Some(7.0), Some(7.0)));
        }
    }
    Ok(())
}

fn resident(storage: &Storage) -> Result<usize, std::io::Error> {
    let mut pages = vec![0_u8; storage.nbytes().div_ceil(page())];
    // SAFETY: [live] [system] the range is a live map that starts at a page, and the vector has a byte for each of its pages.
    if unsafe { libc::mincore(storage.data().cast(), storage.nbytes(), pages.as_mut_ptr().cast()) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(pages.iter().filter(|&&page| page & 1 != 0).count())
}

/// The file is dropped from the page cache first. A file system that lives in the page cache (tmpfs) cannot drop it; there the
/// test does nothing.
#[test]
fn the_advice_will_need_reads_the_pages() -> Outcome {
    use std::os::fd::AsRawFd;
    let directory = directory(&vec![7; 64 * page()])?;
    let path = directory.path().join("f");
    let file = fs::File::open(&path)?;
    file.sync_all()?;
    // SAFETY: [system] the descriptor is open, and the call takes no pointers.
    assert_eq!(unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) }, 0);
    let storage = Storage::map(DType::Byte, &path, &MapOptions { read_only: true, ..MapOptions::default() })?;
    if resident(&storage)? > 0 {
        eprintln!("not checked: this file system keeps its pages in memory");
        return Ok(());
    }
    // The kernel reads the pages in the background, and under pressure it may drop some of them again: then it is advised anew.
    let until = Instant::now() + Duration::from_secs(20);
    let mut found = 0;
    while found < 64 && Instant::now() < until {
        storage.advise(Advice::WillNeed)?;
        std::thread::sleep(Duration::from_millis(5));
        found = resident(&storage)?;
    }
    assert_eq!(found, 64);
    Ok(())
}

#[test]
fn huge_pages_are_used_if_the_kernel_has_them() -> Outcome {
    let directory = directory(&vec![7; (4 << 20) + 10_000])?;
    let file = directory.path().join("f");
    if !fs::exists("/sys/kernel")? {
        return Ok(()); // without /sys the test cannot find out whether the kernel has huge pages
    }
    let kernel_has_them = fs::exists("/sys/kernel/mm/transparent_hugepage")?;
    for options in all_kinds() {
        for huge_pages in [false, true] {
            let storage = Storage::map(DType::Int, &file, &MapOptions { huge_pages, ..options })?;
            assert_eq!(has(storage.data().addr(), "hg")?, huge_pages && kernel_has_them);
            assert_eq!(
                (storage.get(0), storage.get(storage.size() - 1)),
                (Some(f64::from(0x0707_0707)), Some(f64::from(0x0707_0707)))
            );
        }
        // An empty map has no pages that the options could apply to.
        let empty = MapOptions { size: Some(0), huge_pages: true, lock: true, advice: Some(Advice::Random), ..options };
        assert_eq!(Storage::map(DType::Int, &file, &empty)?.size(), 0);
    }
    Ok(())
}

#[test]
fn a_map_stays_locked_until_its_last_view_is_dropped() -> Outcome {
    let directory = directory(&vec![7; 4 * page()])?;
    let file = directory.path().join("f");
    for options in all_kinds() {
        let storage = Storage::map(DType::Byte, &file, &MapOptions { lock: true, advice: Some(Advice::Random), ..options })?;
        let address = storage.data().addr();
        assert!(has(address, "lo")? && has(address, "rr")?);
        // Locking a writable private map copies its three pages at once, instead of at the first write.
        let copied = if options.sharing == Private && !options.read_only { 3 } else { 0 };
        assert_eq!(of_mapping(address, "Anonymous:")?, kilobytes(copied));
        let last = storage.view(storage.size() - 1, 1)?;
        assert!(has(last.data().addr(), "lo")?);
        drop(storage);
        assert!(has(address, "lo")?, "the view does not keep the map locked");
        drop(last);
        // Another map may have this address now, but nothing is locked there.
        assert!(!has(address, "lo").unwrap_or(false));
        assert!(!has(Storage::map(DType::Byte, &file, &options)?.data().addr(), "lo")?);
    }
    Ok(())
}

fn limit_locks(bytes: u64) -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: [system] the structure is a local variable, which the call reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) } == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error())
}

fn locked() -> Result<String, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(status.lines().find_map(|line| line.strip_prefix("VmLck:")).ok_or("VmLck is not listed")?.trim().to_owned())
}

/// The test runs in a child process that may lock sixteen pages. If it runs as root, it gives up the right to exceed the limit.
#[test]
fn a_lock_beyond_the_limit_is_an_error_and_leaves_no_map() -> Outcome {
    let Some(folder) = given_directory() else {
        let directory = directory(&vec![7; 40 * page()])?;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777))?;
        fs::set_permissions(directory.path().join("f"), fs::Permissions::from_mode(0o666))?;
        let status = run_again("residence::a_lock_beyond_the_limit_is_an_error_and_leaves_no_map", &directory)?;
        assert!(status.success(), "{status}");
        assert_eq!(names(&directory)?, ["f"], "the file that was created for a failed map was not removed");
        return Ok(());
    };
    let file = folder.join("f");
    let sixteen = 16 * page() as u64;
    limit_locks(sixteen)?;
    // SAFETY: [system] the call takes no arguments.
    let user = unsafe { libc::geteuid() };
    // SAFETY: [system] the call takes a number and no pointers.
    assert!(user != 0 || unsafe { libc::setuid(65_534) } == 0);
    let before = torch_storage::storage::usage();
    let refused = |options: &MapOptions, path: &std::path::Path, expected: i32, most: u64| -> Outcome {
        let error =
            Storage::map(DType::Byte, path, &MapOptions { lock: true, ..*options }).err().ok_or("the lock was accepted")?;
        assert!(
            matches!(&error, Error::Lock { path: p, limit, reason, .. }
                if p.as_path() == path && *limit == Some(most) && reason.raw_os_error() == Some(expected)),
            "{error:?}"
        );
        assert_eq!(
            error.is_exhaustion(),
            expected == libc::ENOMEM,
            "a garbage collection can only help if other locks use up the limit"
        );
        let text = error.to_string();
        assert!(
            text.contains(&format!("this process may lock {most} bytes in total: raise the limit (ulimit -l), or do not lock")),
            "{text}"
        );
        assert!(!fs::read_to_string("/proc/self/maps")?.contains(&*folder.to_string_lossy()), "a map was left");
        assert_eq!((torch_storage::storage::usage(), locked()?), (before, "0 kB".to_owned()));
        Ok(())
    };
    for options in all_kinds() {
        refused(&options, &file, libc::ENOMEM, sixteen)?;
        let part = MapOptions { size: Some(8 * page()), lock: true, ..options };
        let storage = Storage::map(DType::Byte, &file, &part)?;
        assert_eq!(locked()?, kilobytes(9), "eight pages of bytes from the middle of a page on lie in nine pages");
        drop(storage);
        assert_eq!(locked()?, "0 kB");
    }
    let new = MapOptions { sharing: Shared, size: Some(40 * page()), ..MapOptions::default() };
    refused(&new, &folder.join("new"), libc::ENOMEM, sixteen)?;
    limit_locks(0)?;
    for options in all_kinds() {
        refused(&options, &file, libc::EPERM, 0)?;
        // The limit does not matter for a map that is not locked.
        let storage = Storage::map(DType::Byte, &file, &options)?;
        if !options.read_only {
            storage.fill(Scalar::Float(1.0))?;
        }
    }
    Ok(())
}
