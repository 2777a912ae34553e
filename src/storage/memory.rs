//! The memory behind storages: what kinds there are, who frees them, and checked sizes in bytes.

mod foreign;
mod heap;
mod mapped;
mod page_locks;
mod pin;
mod shared;
mod usage;

pub use foreign::{Anchor, Foreign};
pub use heap::Heap;
pub use mapped::{Advice, MapOptions, Mapped, Sharing};
pub use page_locks::{Identity, PageLocks};
pub use pin::{is_pinned, pin, unpin};
pub use shared::{Holders, SharedMemory, SharedObject, shared_memory, unlink_shared_memory};
pub use usage::{Usage, usage, weight};

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
    Shared(SharedMemory),
    /// The caller's, who keeps it.
    Foreign(Foreign),
}

// SAFETY: [owned] it is addresses and lengths that this value owns, and every thread may give them back (to the allocator, `munmap`).
unsafe impl Send for Memory {}
// SAFETY: [alias] nothing in it changes behind a shared reference, and the bytes are accessed through raw pointers only.
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
