//! What a storage consists of: its header, and its memory, which it has alone or together with views.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::sync::Arc;

use super::header::StorageHeader;
use super::memory::{Heap, Memory};
use crate::error::Error;

/// What a storage is made of. It lives while it has a holder (`refcount.rs`). The header comes first: so its address is that of the
/// whole.
#[repr(C)]
pub(super) struct Body {
    pub(super) header: StorageHeader,
    /// Changes when the storage moves, or gets its first view: by the only holder, or under the register's lock.
    pub(super) memory: UnsafeCell<Hold>,
}

// A pointer to the one is a pointer to the other.
const _: () = assert!(offset_of!(Body, header) == 0);

/// How a storage has its memory. Most storages never have a view: their memory is in the body itself, which saves an allocation.
pub(super) enum Hold {
    /// No other storage looks at it.
    Alone(Memory),
    /// Views look at it, or did; or it was flushed, advised, checked or pinned.
    Joint(Arc<Memory>),
}

impl Hold {
    pub(super) fn memory(&self) -> &Memory {
        match self {
            Self::Alone(memory) => memory,
            Self::Joint(memory) => memory,
        }
    }

    /// The memory, if no other storage looks at it.
    pub(super) fn alone(&mut self) -> Option<&mut Memory> {
        match self {
            Self::Alone(memory) => Some(memory),
            Self::Joint(memory) => Arc::get_mut(memory),
        }
    }

    /// The memory for one more storage. Its bytes stay where they are.
    pub(super) fn share(&mut self) -> Result<Arc<Memory>, Error> {
        if let Self::Alone(memory) = self {
            // An `Arc` cannot fail: see first that there is room for it.
            let bytes = size_of::<Memory>() + 2 * size_of::<usize>();
            Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
            let memory = std::mem::replace(memory, Memory::Heap(Heap::none()));
            *self = Self::Joint(Arc::new(memory));
        }
        match self {
            Self::Joint(memory) => Ok(Arc::clone(memory)),
            Self::Alone(_) => unreachable!("it has just been shared"),
        }
    }
}
