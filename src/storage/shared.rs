//! Storages in shared memory: attached by name, or moved there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::header::flag;
use super::memory::{Memory, SharedMemory, byte_size};
use super::{Hold, StateId, Storage};
use crate::element::DType;
use crate::error::{Error, Kind};

impl Storage {
    /// Shared memory by its name, from its first byte: `size` elements, or as many as are whole in it. A leading slash in the
    /// name makes no difference. Linux only.
    ///
    /// Given a size, it is created (mode 0600, zeros) if it is missing, and extended if it is short; it is never shrunk, and its
    /// bytes stay. The name lives as long as somebody maps it: the last storage on it, in whatever process, removes the name,
    /// also at exit. A forked child's storages count. After the last holder was killed the name and the bytes stay for the next,
    /// or for [`unlink_shared_memory`](super::unlink_shared_memory).
    ///
    /// A storage costs a file descriptor, and a `fork` another one while it lasts. A process that replaces itself (`exec`) or
    /// calls `_exit` leaves like one that is killed.
    ///
    /// ```
    /// use std::ffi::OsStr;
    /// use torch_storage::convert::Scalar;
    /// use torch_storage::{DType, Storage};
    /// # let name = format!("torch-storage-example-{}", std::process::id());
    /// # let name = OsStr::new(&name);
    /// # if !cfg!(target_os = "linux") { return Ok(()) }
    ///
    /// let here = Storage::shared(DType::Int, name, Some(4))?;
    /// let there = Storage::shared(DType::Int, name, None)?; // in any process
    /// there.set(3, Scalar::Float(7.0));
    /// assert_eq!(here.get(3), Some(7.0));
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MissingSharedMemory`] without a size, [`Error::SharedMemoryFull`], [`Error::SharedMemoryName`],
    /// [`Error::SharedMemory`], [`Error::TooLarge`], [`Error::OutOfMemory`]. Nothing is left of a call that fails.
    pub fn shared(dtype: DType, name: &OsStr, size: Option<usize>) -> Result<Self, Error> {
        let bytes = size.map(|size| byte_size(dtype, size)).transpose()?;
        let shared = SharedMemory::open(name, bytes, dtype.width())?;
        let size = shared.bytes() / dtype.width();
        Self::whole(Memory::Shared(shared), dtype, flag::REFCOUNTED | flag::FREEMEM, size)
    }

    /// Moves the elements to shared memory: of a new name, or of none, for the children that this process will fork. The
    /// storage stays the same one, and is not resizable any more; views made before keep the old bytes.
    ///
    /// In shared memory already: nothing is to be done, unless a name is given.
    ///
    /// # Errors
    /// [`Error::NotShareable`] for all but whole heap storages, [`Error::SharedMemoryExists`], [`Error::SharedMemoryFull`],
    /// [`Error::SharedMemoryName`], [`Error::SharedMemory`], [`Error::HeldElsewhere`], [`Error::OutOfMemory`]; the storage is then
    /// as it was.
    pub fn share_memory(&self, name: Option<&OsStr>, state: StateId) -> Result<(), Error> {
        if self.is_view() {
            return Err(Error::NotShareable { kind: Kind::View });
        }
        self.replace_hold(state, |hold| {
            match hold.memory() {
                Memory::Heap(_) => {}
                Memory::Shared(_) if name.is_none() => return Ok(()),
                other => return Err(Error::NotShareable { kind: other.kind() }),
            }
            let bytes = self.nbytes();
            let fill = |target| {
                if bytes > 0 {
                    // SAFETY: [in-bounds] both have `bytes` bytes. [alias] the target is new, so they are apart.
                    unsafe { std::ptr::copy_nonoverlapping(self.data(), target, bytes) };
                }
            };
            let shared = match name {
                Some(name) => SharedMemory::create(name, bytes, fill)?,
                None => {
                    let shared = SharedMemory::unnamed(bytes)?;
                    fill(shared.data());
                    shared
                }
            };
            self.header().flag.set(self.header().flag.get() & !flag::RESIZABLE);
            self.header().point_at(shared.data(), self.size());
            *hold = Hold::Alone(Memory::Shared(shared));
            Ok(())
        })
    }

    /// Whether other processes can see what is written: a shared map of a file, or shared memory.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.with_memory(|memory| match memory {
            Memory::Mapped(mapped) => mapped.is_shared(),
            Memory::Shared(_) => true,
            Memory::Heap(_) | Memory::Foreign(_) => false,
        })
    }

    /// The name of the shared memory, without a leading slash. The bytes stay where they are while the storage, or another on
    /// the same memory, lives.
    #[must_use]
    pub fn shared_memory_name(&self) -> Option<*const [u8]> {
        self.with_memory(|memory| match memory {
            Memory::Shared(shared) => shared.name().map(|name| std::ptr::from_ref(name.as_bytes())),
            _ => None,
        })
    }
}
