//! The memory of storages: its kinds, how each kind is given back, and checked sizes in bytes.

mod foreign;
mod heap;
mod mapped;
mod owner;
mod page_locks;
mod pin;
mod shared;
mod usage;

pub use foreign::{Anchor, Foreign, Keeper};
pub use heap::Heap;
pub use mapped::{Advice, MapOptions, Mapped, Sharing};
pub use owner::Owner;
use page_locks::no_pages_are_locked;
pub use page_locks::{Identity, PageLocks};
pub use pin::{is_pinned, pin, unpin};
pub use shared::{Holders, SharedAccess, SharedMemory, SharedObject, Wanted, shared_memory, unlink_shared_memory};
pub use usage::{Usage, usage, weight};

use crate::element::DType;
use crate::error::{Error, MemoryKind};

/// Memory that one or more storages hold. Dropping the value gives the memory back.
#[derive(Debug)]
pub enum Memory {
    /// Memory of the allocator, or pages from the system.
    Heap(Heap),
    /// A mapped file.
    Mapped(Mapped),
    /// Shared memory.
    Shared(SharedMemory),
    /// Memory that the engine did not allocate.
    Foreign(Foreign),
}

// SAFETY: [owned] the value consists of addresses and lengths that it owns, and every thread may give this memory back.
unsafe impl Send for Memory {}
// SAFETY: [alias] nothing in the value changes behind a shared reference, and the bytes are accessed through raw pointers only.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    #[inline]
    fn drop(&mut self) {
        if !no_pages_are_locked() {
            unpin(self.identity());
        }
    }
}

impl Memory {
    /// The address of the first byte, or null if there is none.
    pub fn data(&self) -> *mut u8 {
        match self {
            Self::Heap(heap) => heap.data(),
            Self::Mapped(mapped) => mapped.data(),
            Self::Shared(shared) => shared.data(),
            Self::Foreign(foreign) => foreign.data(),
        }
    }

    /// The identity under which the pages that are locked for this memory are recorded.
    pub fn identity(&self) -> Identity {
        let number = if let Self::Foreign(foreign) = self { foreign.number() } else { 0 };
        Identity::new(self.data(), number)
    }

    /// Whether the memory may only be read. Writing to it would kill the process, or change data that the caller declared
    /// constant.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Mapped(mapped) => mapped.is_read_only(),
            Self::Foreign(foreign) => foreign.is_read_only(),
            Self::Shared(shared) => shared.is_read_only(),
            Self::Heap(_) => false,
        }
    }

    /// The kind of the memory, for error messages.
    pub fn kind(&self) -> MemoryKind {
        match self {
            Self::Heap(_) => MemoryKind::Heap,
            Self::Mapped(mapped) => mapped.kind(),
            Self::Shared(shared) if shared.is_read_only() => MemoryKind::ReadOnlySharedMemory,
            Self::Shared(_) => MemoryKind::SharedMemory,
            Self::Foreign(foreign) if foreign.has_owner() && foreign.is_read_only() => MemoryKind::ReadOnlyOwned,
            Self::Foreign(foreign) if foreign.has_owner() => MemoryKind::Owned,
            Self::Foreign(foreign) if foreign.is_read_only() => MemoryKind::ReadOnlyForeign,
            Self::Foreign(_) => MemoryKind::Foreign,
        }
    }
}

/// The length of `size` elements in bytes. It is at most `isize::MAX`, so that pointer arithmetic inside the memory cannot
/// overflow. Otherwise the result is [`Error::TooLarge`].
#[inline]
pub fn byte_size(dtype: DType, size: usize) -> Result<usize, Error> {
    match size.checked_mul(dtype.width()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(Error::TooLarge { size, dtype }),
    }
}
