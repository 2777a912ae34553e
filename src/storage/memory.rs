//! The memory behind storages: what kinds there are, who frees them, and checked sizes in bytes.

mod foreign;
mod heap;
mod mapped;
mod pins;
mod shared;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use foreign::{Anchor, Foreign};
pub use heap::Heap;
pub use mapped::{Advice, MapOptions, Mapped, Sharing};
pub use pins::{Identity, PinsGuard, is_pinned, pin, pins_guard, unpin};
pub use shared::{HoldersGuard, Shared, SharedObject, holders_guard, shared_memory, unlink_shared_memory};

use crate::element::DType;
use crate::error::{Error, Kind};

/// Memory that one or more storages look at. Dropping it gives it back.
#[derive(Debug)]
pub enum Memory {
    /// The allocator's.
    Heap(Heap),
    /// A mapped file.
    Mapped(Mapped),
    /// Shared memory.
    Shared(Shared),
    /// The caller's, who keeps it.
    Foreign(Foreign),
}

// SAFETY: a memory is addresses and lengths: giving it back works from every thread (the allocator, munmap), and nothing in it
// changes behind a shared reference. What others do with the bytes goes through raw pointers, not through this value.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        unpin(self.identity());
    }
}

impl Memory {
    /// Its first byte; null if it has none.
    pub fn data(&self) -> *mut u8 {
        match self {
            Self::Heap(heap) => heap.data(),
            Self::Mapped(mapped) => mapped.data(),
            Self::Shared(shared) => shared.data(),
            Self::Foreign(foreign) => foreign.data(),
        }
    }

    /// What pages that are locked for it are known by.
    pub fn identity(&self) -> Identity {
        let number = if let Self::Foreign(foreign) = self { foreign.number() } else { 0 };
        Identity::new(self.data(), number)
    }

    /// Whether it may only be read: writing would end the process, or change what does not change.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Mapped(mapped) => mapped.is_read_only(),
            Self::Foreign(foreign) => foreign.is_read_only(),
            Self::Heap(_) | Self::Shared(_) => false,
        }
    }

    /// Its kind, for messages.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Heap(_) => Kind::Heap,
            Self::Mapped(mapped) => mapped.kind(),
            Self::Shared(_) => Kind::SharedMemory,
            Self::Foreign(foreign) if foreign.is_read_only() => Kind::ReadOnlyForeign,
            Self::Foreign(_) => Kind::Foreign,
        }
    }
}

/// The bytes of `size` elements: at most `isize::MAX`, so that pointer arithmetic inside them cannot overflow.
pub fn byte_size(dtype: DType, size: usize) -> Result<usize, Error> {
    size.checked_mul(dtype.width()).filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or(Error::TooLarge { size, dtype })
}

/// Bytes that this process's storages hold, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Memory of their own, reserved capacity included.
    pub heap: usize,
    /// Mapped files.
    pub mapped: usize,
    /// Shared memory that they map, whoever else does.
    pub shared: usize,
    /// Other people's memory that storages point at.
    pub foreign: usize,
}

/// A number of bytes for [`held`]. Relaxed: a statistic, nothing is decided by it.
struct Tally(AtomicUsize);

impl Tally {
    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

static HEAP: Tally = Tally(AtomicUsize::new(0));
static MAPPED: Tally = Tally(AtomicUsize::new(0));
static SHARED: Tally = Tally(AtomicUsize::new(0));
static FOREIGN: Tally = Tally(AtomicUsize::new(0));
/// Maps, not bytes.
static MAPS: Tally = Tally(AtomicUsize::new(0));

/// Bytes of private maps that can be written, whose pages become memory of this process when they are, and of shared memory that
/// this process has made. What it attaches to takes none.
static PRIVATE: Tally = Tally(AtomicUsize::new(0));

/// What a map weighs by itself: a process can have some 65,000 of them.
const MAP_WEIGHT: usize = 32 * 1024;

/// How much this process would win, at most, if all its storages were garbage: in bytes.
#[must_use]
pub fn weight() -> usize {
    HEAP.get().saturating_add(PRIVATE.get()).saturating_add(MAPS.get().saturating_mul(MAP_WEIGHT))
}

/// What all storages of this process hold now.
#[must_use]
pub fn held() -> Held {
    Held { heap: HEAP.get(), mapped: MAPPED.get(), shared: SHARED.get(), foreign: FOREIGN.get() }
}
