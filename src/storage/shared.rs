//! Storages in shared memory: attaching to shared memory by its name, and moving a storage there.

use std::ffi::OsStr;

use super::header::flag;
use super::memory::{Memory, SharedAccess, SharedMemory, Wanted, byte_size};
use super::{StateId, Storage};
use crate::bulk::racing::bytes as racing;
use crate::element::DType;
use crate::error::{Error, MemoryKind};

impl Storage {
    /// See [`crate::Storage::shared`].
    pub fn shared(dtype: DType, name: &OsStr, size: Option<usize>) -> Result<Self, Error> {
        Self::shared_for(dtype, name, size, if size.is_some() { SharedAccess::Create } else { SharedAccess::Attach })
    }

    /// Attaches to shared memory by its name, or creates it. Without a size it has as many whole elements as the memory has, which must
    /// exist then.
    ///
    /// # Errors
    /// Those of [`crate::Storage::shared`]; [`Error::SharedMemoryTooSmall`] if the memory is too short and `access` does not extend it.
    pub fn shared_for(dtype: DType, name: &OsStr, size: Option<usize>, access: SharedAccess) -> Result<Self, Error> {
        let bytes = size.map(|size| byte_size(dtype, size)).transpose()?;
        let shared = SharedMemory::open(name, Wanted { bytes, width: dtype.width(), access })?;
        let size = shared.bytes() / dtype.width();
        Self::on_whole_memory(Memory::Shared(shared), dtype, flag::REFCOUNTED | flag::FREEMEM, size)
    }

    /// See [`crate::Storage::share_memory`].
    pub fn share_memory(&self, name: Option<&OsStr>, state: StateId) -> Result<(), Error> {
        if self.is_view() {
            return Err(Error::NotShareable { kind: MemoryKind::View });
        }
        self.with_sole_access(state, |access| {
            match access.memory() {
                Memory::Heap(_) => {}
                Memory::Shared(_) if name.is_none() => return Ok(()),
                other => return Err(Error::NotShareable { kind: other.kind() }),
            }
            let bytes = self.nbytes();
            let fill = |target| {
                // SAFETY: [in-bounds] both blocks have `bytes` bytes. [owned] the target is new memory, which nobody else has yet. [race]
                // views of other threads may be writing the source.
                unsafe { racing::read(target, self.data(), bytes) };
            };
            let shared = match name {
                Some(name) => SharedMemory::create(name, bytes, fill)?,
                None => {
                    let shared = SharedMemory::unnamed(bytes)?;
                    fill(shared.data());
                    shared
                }
            };
            let data = shared.data();
            access.replace(Memory::Shared(shared))?;
            self.header().forbid_resizing();
            self.header().point_at(data, self.size());
            Ok(())
        })
    }

    /// Whether other processes can see writes to the elements. This is so for a shared map of a file and for shared memory.
    pub fn is_shared(&self) -> bool {
        self.with_memory(|memory| match memory {
            Memory::Mapped(mapped) => mapped.is_shared(),
            Memory::Shared(_) => true,
            Memory::Heap(_) | Memory::Foreign(_) => false,
        })
    }

    /// The name of the shared memory without a leading slash, or `None` if it has no name or the memory is of another kind. The
    /// bytes of the name are valid as long as there is a storage over this memory.
    pub fn shared_memory_name(&self) -> Option<*const [u8]> {
        self.with_memory(|memory| match memory {
            Memory::Shared(shared) => shared.name().map(|name| std::ptr::from_ref(name.as_encoded_bytes())),
            _ => None,
        })
    }
}
