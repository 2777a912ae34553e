//! The block behind a storage: its header and its memory.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::sync::Arc;

use super::header::StorageHeader;
use super::memory::{Heap, Memory};
use crate::error::Error;

/// The block behind a storage. It lives as long as there are references to the storage (`refcount.rs`). The header comes first,
/// so the address of the header is the address of the block.
#[repr(C)]
pub(super) struct Body {
    pub(super) header: StorageHeader,
    /// Changes when the storage moves to other memory or gets its first view. Only the only holder of the storage changes it, or
    /// a holder that has locked the register.
    pub(super) memory: UnsafeCell<Hold>,
}

// A pointer to the header is cast to a pointer to the body, and back.
const _: () = assert!(offset_of!(Body, header) == 0);

/// How a storage holds its memory. Most storages never have a view, and hold their memory directly, which saves an allocation.
pub(super) enum Hold {
    /// No other storage holds the memory.
    Alone(Memory),
    /// Other storages may hold the memory too. It was made shareable for a view, or to flush, advise, check or pin it.
    Joint(Arc<Memory>),
}

impl Hold {
    pub(super) fn memory(&self) -> &Memory {
        match self {
            Self::Alone(memory) => memory,
            Self::Joint(memory) => memory,
        }
    }

    /// The memory, if no other storage holds it.
    pub(super) fn memory_if_alone(&mut self) -> Option<&mut Memory> {
        match self {
            Self::Alone(memory) => Some(memory),
            Self::Joint(memory) => Arc::get_mut(memory),
        }
    }

    /// Adds a reference to the memory, for another storage or for a long operation. The bytes stay where they are.
    pub(super) fn share(&mut self) -> Result<Arc<Memory>, Error> {
        if let Self::Alone(memory) = self {
            // `Arc::new` ends the process if there is no memory, so an allocation of the same size is tried first.
            let bytes = size_of::<Memory>() + 2 * size_of::<usize>();
            Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
            let memory = std::mem::replace(memory, Memory::Heap(Heap::none()));
            *self = Self::Joint(Arc::new(memory));
        }
        match self {
            Self::Joint(memory) => Ok(Arc::clone(memory)),
            Self::Alone(_) => unreachable!("the memory was made joint just before"),
        }
    }
}
