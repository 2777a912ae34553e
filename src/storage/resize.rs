//! Changing the number of elements of a storage, and reserving capacity for more.

use super::memory::{Heap, Identity, Memory, byte_size, is_pinned, pin, unpin};
use super::{StateId, Storage};
use crate::bulk::racing::bytes as racing;
use crate::error::Error;

impl Storage {
    /// See [`crate::Storage::resize`].
    pub fn resize(&self, size: usize, state: StateId) -> Result<(), Error> {
        self.change_heap(Some(size), None, state)
    }

    /// See [`crate::Storage::reserve`].
    pub fn reserve(&self, size: usize, state: StateId) -> Result<(), Error> {
        self.change_heap(None, Some(size), state)
    }

    /// Changes the size or the reserved capacity, both in elements. The storage moves to new memory if a view uses the old
    /// memory.
    fn change_heap(&self, size: Option<usize>, reserved: Option<usize>, state: StateId) -> Result<(), Error> {
        if !self.is_resizable() {
            return Err(Error::NotResizable { kind: self.kind() });
        }
        let in_bytes = |size| byte_size(self.dtype(), size);
        self.with_sole_access(state, |access| {
            let size = size.unwrap_or_else(|| self.size());
            let (old, new) = (self.nbytes(), in_bytes(size)?);
            let reserved = reserved.map(in_bytes).transpose()?;
            if old == new && reserved.is_none() {
                return Ok(());
            }
            if let Some(Memory::Heap(heap)) = access.memory_if_alone() {
                // Pages that move keep their locks (`mlock`), and nobody would unlock them at the new address.
                let identity = Identity::new(heap.data(), 0);
                let was_pinned = is_pinned(identity, heap.data(), old);
                unpin(identity);
                let changed = match reserved {
                    Some(reserved) => heap.reserve(old, reserved),
                    None => heap.resize(old, new),
                };
                if changed.is_err() && was_pinned {
                    // The pages were locked before. If locking them fails now, `is_pinned` returns false.
                    let _ = pin(identity, heap.data(), old);
                }
                changed?;
            } else {
                // Another holder may have moved the storage to shared memory since the check above.
                let Memory::Heap(heap) = access.memory() else {
                    return Err(Error::NotResizable { kind: access.memory().kind() });
                };
                let reserved = reserved.unwrap_or_else(|| heap.reserved());
                let moved = Heap::with_capacity(new, new.max(reserved), reserved)?;
                // SAFETY: [in-bounds] at most the old and the new size. [owned] nobody else has the new block yet. [race] views of other
                // threads may be writing the old block.
                unsafe { racing::read(moved.data(), self.data(), old.min(new)) };
                access.replace(Memory::Heap(moved))?;
            }
            self.header().point_at(access.memory().data(), size);
            Ok(())
        })
    }
}
