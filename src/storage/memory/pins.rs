//! Memory that is kept from being swapped out: which pages are locked, and for whom.
//!
//! Locks of the system do not nest: unlocking a page unlocks it for everybody. Small blocks share pages, so the ranges that are
//! locked are kept here, and a page is unlocked when no range has it any more.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::mapped::file::soft_limit;
use crate::error::Error;
use crate::storage::fork;

/// Which memory pages are locked for: it begins at an address. Pieces of foreign memory can begin where other memory does, so each
/// has a number; that of all other kinds, which have no byte in common, is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    address: usize,
    foreign: u64,
}

impl Identity {
    pub fn new(data: *const u8, foreign: u64) -> Self {
        Self { address: data.addr(), foreign }
    }
}

/// Locked pages.
struct Pin {
    /// The memory for which they are locked.
    memory: Identity,
    /// Whole pages.
    pages: Range<usize>,
}

/// The ranges that are locked.
#[derive(Default)]
pub struct Pins(Vec<Pin>);

static PINS: Mutex<Pins> = Mutex::new(Pins(Vec::new()));

/// How many there are: memory that ends has nothing to do if there are none.
///
/// Relaxed: who ends a memory has got to know of its last holder's doings by the count of references.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The lock, held.
pub type PinsGuard = MutexGuard<'static, Pins>;

/// The lock as it is: for the fork handlers.
pub fn pins_guard() -> PinsGuard {
    PINS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pins {
    /// A child has the memory, but not the locks.
    pub fn in_child(&mut self) {
        self.0.clear();
        COUNT.store(0, Ordering::Relaxed);
    }

    /// Unlocks those of these pages that nobody else has locked.
    fn unlock(&self, pages: &Range<usize>) {
        let mut start = pages.start;
        while start < pages.end {
            let kept = self.0.iter().find(|pin| pin.pages.contains(&start));
            let next = self.0.iter().map(|pin| pin.pages.start).filter(|&other| other > start).min();
            let end = kept.map_or_else(|| next.unwrap_or(pages.end), |pin| pin.pages.end).min(pages.end);
            if kept.is_none() {
                // A failure would mean that they are not locked.
                // SAFETY: unlocking changes no byte, of whatever pages.
                let _ = unsafe { libc::munlock(std::ptr::without_provenance(start), end - start) };
            }
            start = end;
        }
    }
}

/// The pages that `bytes` bytes from `data` are in.
fn pages(data: usize, bytes: usize) -> Range<usize> {
    // SAFETY: asks for a number of the system.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let end = data + bytes;
    data - data % size..end.next_multiple_of(size)
}

/// Locks `bytes` bytes from `data`, of a memory, until [`unpin`] of that memory.
pub fn pin(memory: Identity, data: *const u8, bytes: usize) -> Result<(), Error> {
    if bytes == 0 || is_pinned(memory, data, bytes) {
        return Ok(());
    }
    fork::protect_across_fork();
    let mut pins = pins_guard();
    pins.0.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes: size_of::<Pin>() })?;
    let pages = pages(data.addr(), bytes);
    // SAFETY: locking changes no byte; the pages are those of live memory.
    if unsafe { libc::mlock(std::ptr::without_provenance(pages.start), pages.len()) } != 0 {
        let reason = io::Error::last_os_error();
        // Some of them may be locked.
        pins.unlock(&pages);
        return Err(Error::Pin { bytes, limit: soft_limit(libc::getrlimit, libc::RLIMIT_MEMLOCK), reason });
    }
    pins.0.push(Pin { memory, pages });
    COUNT.store(pins.0.len(), Ordering::Relaxed);
    Ok(())
}

/// Whether all of `bytes` bytes from `data` have been locked for that memory.
pub fn is_pinned(memory: Identity, data: *const u8, bytes: usize) -> bool {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return bytes == 0;
    }
    let pages = pages(data.addr(), bytes);
    let covers = |pin: &Pin| pin.memory == memory && pin.pages.start <= pages.start && pin.pages.end >= pages.end;
    bytes == 0 || pins_guard().0.iter().any(covers)
}

/// Ends all locks of a memory.
pub fn unpin(memory: Identity) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut pins = pins_guard();
    while let Some(place) = pins.0.iter().position(|pin| pin.memory == memory) {
        let ended = pins.0.swap_remove(place);
        pins.unlock(&ended.pages);
    }
    COUNT.store(pins.0.len(), Ordering::Relaxed);
}
