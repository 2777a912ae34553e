//! What the system is told about a map's pages, and what it then says of them: advice, huge pages, locks.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use torch_storage::convert::Scalar;
use torch_storage::storage::Sharing::{Private, Shared};
use torch_storage::storage::{Advice, MapOptions};
use torch_storage::{DType, Error, Storage};

use crate::{Outcome, directory, given_directory, names, run_again};

const PAGE: usize = 4096;

/// What the kernel says under this heading of the mapping that has this address.
fn of_mapping(address: usize, heading: &str) -> Result<String, Box<dyn std::error::Error>> {
    let text = fs::read_to_string("/proc/self/smaps")?;
    let mut inside = false;
    for line in text.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let range =
            range.and_then(|(from, to)| Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?)));
        if let Some((from, to)) = range {
            inside = (from..to).contains(&address);
        } else if let (true, Some(said)) = (inside, line.strip_prefix(heading)) {
            return Ok(said.trim().to_owned());
        }
    }
    Err("no mapping has this address".into())
}

/// Whether the kernel lists this flag: `sr` read in sequence, `rr` at random, `hg` huge pages, `lo` locked.
fn has(address: usize, flag: &str) -> Result<bool, Box<dyn std::error::Error>> {
    Ok(of_mapping(address, "VmFlags:")?.split_whitespace().any(|there| there == flag))
}

fn every_way() -> impl Iterator<Item = MapOptions> {
    let way = |(sharing, read_only)| MapOptions { sharing, read_only, offset: 4099, ..MapOptions::default() };
    [(Private, false), (Private, true), (Shared, false), (Shared, true)].into_iter().map(way)
}

#[test]
fn advice_reaches_the_pages() -> Outcome {
    let directory = directory(&[7; 20 * PAGE])?;
    let file = directory.path().join("f");
    for options in every_way() {
        for (advice, expected) in [
            (None, (false, false)),
            (Some(Advice::Normal), (false, false)),
            (Some(Advice::Sequential), (true, false)),
            (Some(Advice::Random), (false, true)),
            (Some(Advice::WillNeed), (false, false)),
        ] {
            let storage = Storage::map(DType::Byte, &file, &MapOptions { advice, ..options })?;
            let told = |place: usize| -> Result<_, Box<dyn std::error::Error>> {
                let address = storage.data().addr() + place;
                Ok((has(address, "sr")?, has(address, "rr")?))
            };
            assert_eq!((told(0)?, told(storage.size() - 1)?), (expected, expected), "{advice:?}");
            storage.advise(Advice::Sequential)?;
            assert_eq!(told(0)?, (true, false));
            // A view's pages, and no others; from a place that no page begins at.
            storage.view(8 * PAGE + 5, 100)?.advise(Advice::Random)?;
            assert_eq!((told(0)?, told(8 * PAGE + 5)?, told(12 * PAGE)?), ((true, false), (false, true), (true, false)));
            storage.view(3, 0)?.advise(Advice::Random)?;
            storage.advise(Advice::Normal)?;
            assert_eq!((told(0)?, told(8 * PAGE + 5)?), ((false, false), (false, false)));
            assert_eq!((storage.get(0), storage.get(8 * PAGE + 5)), (Some(7.0), Some(7.0)));
        }
    }
    Ok(())
}

fn resident(storage: &Storage) -> Result<usize, std::io::Error> {
    let mut pages = vec![0_u8; storage.nbytes().div_ceil(PAGE)];
    // SAFETY: the range is that of a live map that begins with a page, and there is a byte for each of its pages.
    if unsafe { libc::mincore(storage.data().cast(), storage.nbytes(), pages.as_mut_ptr().cast()) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(pages.iter().filter(|&&page| page & 1 != 0).count())
}

/// The file is dropped from the page cache first. A file system that is nothing but page cache keeps it, and is not asked.
#[test]
fn what_will_be_needed_is_read() -> Outcome {
    use std::os::fd::AsRawFd;
    let directory = directory(&vec![7; 64 * PAGE])?;
    let path = directory.path().join("f");
    let file = fs::File::open(&path)?;
    file.sync_all()?;
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    assert_eq!(unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) }, 0);
    let storage = Storage::map(DType::Byte, &path, &MapOptions { read_only: true, ..MapOptions::default() })?;
    if resident(&storage)? > 0 {
        eprintln!("not checked: this file system keeps its pages");
        return Ok(());
    }
    storage.advise(Advice::WillNeed)?;
    let until = Instant::now() + Duration::from_secs(20);
    while resident(&storage)? < 64 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(resident(&storage)?, 64);
    Ok(())
}

#[test]
fn huge_pages_are_a_wish() -> Outcome {
    let directory = directory(&vec![7; (4 << 20) + 10_000])?;
    let file = directory.path().join("f");
    if !fs::exists("/sys/kernel")? {
        return Ok(()); // nobody can tell what the kernel has
    }
    let kernel_has_them = fs::exists("/sys/kernel/mm/transparent_hugepage")?;
    for options in every_way() {
        for huge_pages in [false, true] {
            let storage = Storage::map(DType::Int, &file, &MapOptions { huge_pages, ..options })?;
            assert_eq!(has(storage.data().addr(), "hg")?, huge_pages && kernel_has_them);
            assert_eq!(
                (storage.get(0), storage.get(storage.size() - 1)),
                (Some(f64::from(0x0707_0707)), Some(f64::from(0x0707_0707)))
            );
        }
        // No bytes, no pages.
        let empty = MapOptions { size: Some(0), huge_pages: true, lock: true, advice: Some(Advice::Random), ..options };
        assert_eq!(Storage::map(DType::Int, &file, &empty)?.size(), 0);
    }
    Ok(())
}

#[test]
fn a_lock_holds_until_the_map_is_gone() -> Outcome {
    let directory = directory(&[7; 4 * PAGE])?;
    let file = directory.path().join("f");
    for options in every_way() {
        let storage = Storage::map(DType::Byte, &file, &MapOptions { lock: true, advice: Some(Advice::Random), ..options })?;
        let address = storage.data().addr();
        assert!(has(address, "lo")? && has(address, "rr")?);
        // Three pages: what would be copied when it is written is copied now.
        let copied = if options.sharing == Private && !options.read_only { "12 kB" } else { "0 kB" };
        assert_eq!(of_mapping(address, "Anonymous:")?, copied);
        let last = storage.view(storage.size() - 1, 1)?;
        assert!(has(last.data().addr(), "lo")?);
        drop(storage);
        assert!(has(address, "lo")?, "a view keeps the map");
        drop(last);
        // Others may map something there now; nothing of this program is locked there.
        assert!(!has(address, "lo").unwrap_or(false));
        assert!(!has(Storage::map(DType::Byte, &file, &options)?.data().addr(), "lo")?);
    }
    Ok(())
}

fn limit_locks(bytes: u64) -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the structure is ours.
    if unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) } == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error())
}

fn locked() -> Result<String, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(status.lines().find_map(|line| line.strip_prefix("VmLck:")).ok_or("it is listed")?.trim().to_owned())
}

/// In a child, that may lock 64 KiB and, a privileged one, gives up what is above limits.
#[test]
fn a_lock_beyond_the_limit_is_an_error_and_leaves_nothing() -> Outcome {
    let Some(folder) = given_directory() else {
        let directory = directory(&[7; 40 * PAGE])?;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777))?;
        fs::set_permissions(directory.path().join("f"), fs::Permissions::from_mode(0o666))?;
        let status = run_again("residence::a_lock_beyond_the_limit_is_an_error_and_leaves_nothing", &directory)?;
        assert!(status.success(), "{status}");
        assert_eq!(names(&directory)?, ["f"], "a file that was made for the map is gone with it");
        return Ok(());
    };
    let file = folder.join("f");
    limit_locks(1 << 16)?;
    // SAFETY: the call takes a number and touches no memory.
    let user = unsafe { libc::geteuid() };
    // SAFETY: as above.
    assert!(user != 0 || unsafe { libc::setuid(65_534) } == 0);
    let before = torch_storage::storage::usage();
    let refused = |options: &MapOptions, path: &std::path::Path, expected: i32, most: u64| -> Outcome {
        let error = Storage::map(DType::Byte, path, &MapOptions { lock: true, ..*options }).err().ok_or("refused")?;
        assert!(
            matches!(&error, Error::Lock { path: p, limit, reason, .. }
                if p == path && *limit == Some(most) && reason.raw_os_error() == Some(expected)),
            "{error:?}"
        );
        assert_eq!(error.is_exhaustion(), expected == libc::ENOMEM, "a collection may free other locks");
        let text = error.to_string();
        assert!(
            text.contains(&format!("this process may lock {most} bytes in total: raise the limit (ulimit -l), or do not lock")),
            "{text}"
        );
        assert!(!fs::read_to_string("/proc/self/maps")?.contains(&*folder.to_string_lossy()), "nothing is left mapped");
        assert_eq!((torch_storage::storage::usage(), locked()?), (before, "0 kB".to_owned()));
        Ok(())
    };
    for options in every_way() {
        refused(&options, &file, libc::ENOMEM, 1 << 16)?;
        let part = MapOptions { size: Some(8 * PAGE), lock: true, ..options };
        let storage = Storage::map(DType::Byte, &file, &part)?;
        assert_eq!(locked()?, "36 kB", "nine pages, for no page begins at 4099");
        drop(storage);
        assert_eq!(locked()?, "0 kB");
    }
    let new = MapOptions { sharing: Shared, size: Some(40 * PAGE), ..MapOptions::default() };
    refused(&new, &folder.join("new"), libc::ENOMEM, 1 << 16)?;
    limit_locks(0)?;
    for options in every_way() {
        refused(&options, &file, libc::EPERM, 0)?;
        // Without a lock the limit is nobody's business.
        let storage = Storage::map(DType::Byte, &file, &options)?;
        if !options.read_only {
            storage.fill(Scalar::Float(1.0))?;
        }
    }
    Ok(())
}
