//! What a storage is made of: its header, and how it has its memory.

use std::cell::UnsafeCell;
use std::sync::Arc;

use super::header::StorageHeader;
use super::memory::{Heap, Memory};
use super::refcount::Party;
use crate::element::DType;
use crate::error::Error;

/// What a storage is made of. It lives while it has a holder (`refcount.rs`).
#[repr(C)]
pub(super) struct Block {
    pub(super) header: StorageHeader,
    /// Changes when the storage moves, or gets its first view: by the only holder, or under the process-wide lock.
    pub(super) memory: UnsafeCell<Hold>,
}

impl Block {
    /// Whether `party` may have a reference as one to a storage of class `dtype`. Called under the lock, or by the only holder.
    pub(super) fn admits(&self, dtype: DType, party: Party) -> Result<(), Error> {
        if self.header.dtype != dtype {
            return Err(Error::OtherClass { got: self.header.dtype, expected: dtype });
        }
        // SAFETY: as the caller says, nobody replaces it now.
        match unsafe { &*self.memory.get() }.memory() {
            Memory::Foreign(foreign) if foreign.anchor().is_some_and(|anchor| Party::new(anchor.home) != party) => {
                Err(Error::Anchored)
            }
            _ => Ok(()),
        }
    }
}

/// How a storage has its memory. Most never have a view: theirs is in the block itself, which saves an allocation.
pub(super) enum Hold {
    /// Nobody else looks at it.
    Alone(Memory),
    /// Views look at it, or did; or a map that was flushed, advised or checked.
    Shared(Arc<Memory>),
}

impl Hold {
    pub(super) fn memory(&self) -> &Memory {
        match self {
            Self::Alone(memory) => memory,
            Self::Shared(memory) => memory,
        }
    }

    /// The memory, if nobody else looks at it.
    pub(super) fn alone(&mut self) -> Option<&mut Memory> {
        match self {
            Self::Alone(memory) => Some(memory),
            Self::Shared(memory) => Arc::get_mut(memory),
        }
    }

    /// The memory for one more storage. Its bytes stay where they are.
    pub(super) fn share(&mut self) -> Result<Arc<Memory>, Error> {
        if let Self::Alone(memory) = self {
            // An `Arc` cannot fail: see first that there is room for it.
            let bytes = size_of::<Memory>() + 2 * size_of::<usize>();
            Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
            let memory = std::mem::replace(memory, Memory::Heap(Heap::none()));
            *self = Self::Shared(Arc::new(memory));
        }
        match self {
            Self::Shared(memory) => Ok(Arc::clone(memory)),
            Self::Alone(_) => unreachable!("it has just been shared"),
        }
    }
}
