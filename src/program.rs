//! Storages as Rust programs see them: handles that stay in one thread. Safe code can do nothing undefined with them.
//!
//! The engine's storage ([`crate::storage`]) leaves two questions to its callers: who a reference belongs to, and who else accesses the
//! elements at the same time. Here a reference belongs to the thread that has the handle, and elements are accessed by rule `[race]` of
//! `docs/architecture.md`.

// Other processors have no instructions here that are defined next to accesses of another width.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod atomic;
mod elements;
mod exchange;
mod making;
mod maps;
#[cfg(all(doctest, not(feature = "internals")))]
mod refused;

use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::element::DType;
use crate::error::{Error, MemoryKind};
use crate::storage::{self, StateId};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use atomic::AtomicElement;
pub use exchange::Token;

/// A handle to a storage, which is a typed, sized array of elements. The storage lives as long as there are handles to it, tokens,
/// publications, or values of Lua states.
///
/// Sizes, indices and offsets are in elements, from 0, unless the documentation says bytes. There may be any number of handles to the same
/// elements, also in other threads and in Lua scripts, and a `&Storage` promises nothing about their values. A view is a storage of its
/// own, on a part of the memory of another one. It never dangles, whatever happens to the storage that it was made from.
///
/// ```
/// use torch_storage::convert::Scalar;
/// use torch_storage::{DType, Storage};
///
/// let whole = Storage::zeroed(DType::Int, 3)?;
/// whole.fill(Scalar::Float(2.9))?;
/// assert_eq!(whole.get(0), Some(2.0));
///
/// let part = whole.view(1, 2)?;
/// whole.resize(100)?; // `whole` moves to new memory, and `part` keeps the old memory
/// part.fill(Scalar::Float(7.0))?;
/// assert_eq!((whole.get(1), part.get(0), whole.get(99)), (Some(2.0), Some(7.0), Some(0.0)));
/// # Ok::<(), torch_storage::Error>(())
/// ```
///
/// # Threads
///
/// A handle stays in its thread. Another thread gets a handle of its own by a [`token`](Self::token) or by its
/// [name](Self::publish). As long as others hold the storage, nothing moves its memory: [`resize`](Self::resize),
/// [`reserve`](Self::reserve) and [`share_memory`](Self::share_memory) return [`Error::HeldByOthers`].
///
/// ```
/// use std::thread;
/// use torch_storage::convert::Scalar;
/// use torch_storage::{DType, Error, Storage};
///
/// let sums = Storage::zeroed(DType::Double, 2)?;
/// let token = sums.token()?;
/// assert!(matches!(sums.resize(3), Err(Error::HeldByOthers)));
/// let thread = thread::spawn(move || Storage::from_token(token)?.set(1, Scalar::Float(0.5)));
/// assert!(matches!(thread.join(), Ok(Ok(true))));
/// assert_eq!(sums.get(1), Some(0.5));
/// sums.resize(3)?;
/// # Ok::<(), torch_storage::Error>(())
/// ```
///
/// Elements are not locked. While one thread writes elements, another one may read numbers that are half old and half new, but nothing
/// else comes of it. Threads that write the same elements use [atomic access](AtomicElement), or take turns by their own means.
///
/// `clone()` makes one more handle to the same storage; [`cast`](Self::cast) with the own dtype copies the elements.
#[derive(Clone)]
pub struct Storage {
    /// Cloning and dropping it counts for this thread.
    inner: storage::Storage,
    /// Whether nobody can ever write the elements.
    constant: bool,
}

/// Shows the dtype and the size. The elements are left out, because there may be many, and others may be changing them.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Storage {
    /// Makes a handle of one that belongs to this thread, or that nobody else has yet.
    pub(crate) fn of(inner: storage::Storage) -> Self {
        let constant = inner.is_constant();
        Self { inner, constant }
    }

    /// The storage of the engine.
    #[cfg(feature = "host")]
    pub(crate) fn engine(&self) -> &storage::Storage {
        &self.inner
    }

    /// The handle of the engine, which belongs to this thread.
    #[cfg(feature = "host")]
    pub(crate) fn into_engine(self) -> storage::Storage {
        self.inner
    }

    /// The dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.inner.dtype()
    }

    /// The number of elements.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.size()
    }

    /// The length in bytes.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.inner.nbytes()
    }

    /// The address of the first element, or null for an empty storage. It is valid until the last storage over the memory ends, or
    /// until this storage moves to other memory.
    ///
    /// Other handles, threads and scripts may access the elements at any time. Whoever reads or writes through the pointer vouches that
    /// they do not do so at that time, and that nothing is written if the storage [is read-only](Self::is_read_only).
    /// [`as_mut_slice`](Self::as_mut_slice) needs no such promise.
    #[must_use]
    pub fn data(&self) -> *mut u8 {
        self.inner.data()
    }

    /// The kind of the storage's memory. All views are of the kind [`MemoryKind::View`].
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.inner.kind()
    }

    /// Whether the size can change, as long as nobody else holds the storage.
    #[must_use]
    pub fn is_resizable(&self) -> bool {
        self.inner.is_resizable()
    }

    /// Whether the storage is a view.
    #[must_use]
    pub fn is_view(&self) -> bool {
        self.inner.is_view()
    }

    /// Whether the memory is read-only, as a read-only map and memory of a read-only owner are. So are the views of such a storage. A
    /// write returns [`Error::ReadOnly`], except for one to an empty storage, which has no elements.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    /// Whether other processes can see writes to the elements. This is so for a shared map of a file and for shared memory.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    /// Whether this is a handle to the same storage. Two views of the same elements are two storages.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.inner.address() == other.inner.address()
    }

    /// Changes the number of elements. Elements that are in both the old and the new size keep their values, and new elements are zero.
    ///
    /// If views use the same memory, the storage moves to new memory, and the views keep the old bytes. Otherwise it is resized without
    /// copying where the system allows that.
    ///
    /// # Errors
    /// [`Error::NotResizable`] for views and for memory other than heap memory, [`Error::HeldByOthers`], [`Error::TooLarge`],
    /// [`Error::OutOfMemory`]. The storage is unchanged after an error.
    pub fn resize(&self, size: usize) -> Result<(), Error> {
        self.inner.resize(size, StateId::of_this_thread())
    }

    /// Keeps capacity for at least `size` elements from now on. Resizing within this capacity neither moves nor copies the elements. A
    /// size of 0 gives the reserved capacity back.
    ///
    /// # Errors
    /// The errors of [`resize`](Self::resize). The storage is unchanged after an error.
    pub fn reserve(&self, size: usize) -> Result<(), Error> {
        self.inner.reserve(size, StateId::of_this_thread())
    }

    /// Moves the elements to new shared memory. With a name, other processes can attach to it ([`shared`](Self::shared)). Without a name,
    /// it is shared with the children that this process forks afterwards.
    ///
    /// All handles still lead to this storage, but it is not resizable any more. Views that were made before keep the old bytes. If the
    /// storage is in shared memory already and no name is given, nothing changes.
    ///
    /// # Errors
    /// [`Error::NotShareable`] for views and for memory other than heap memory, [`Error::SharedMemoryExists`],
    /// [`Error::SharedMemoryFull`], [`Error::SharedMemoryName`], [`Error::SharedMemory`], [`Error::HeldByOthers`],
    /// [`Error::OutOfMemory`]. The storage is unchanged after an error.
    pub fn share_memory(&self, name: Option<&OsStr>) -> Result<(), Error> {
        self.inner.share_memory(name, StateId::of_this_thread())
    }

    /// The name of the shared memory without a leading slash, or `None` if it has no name or the memory is of another kind.
    #[must_use]
    pub fn shared_memory_name(&self) -> Option<OsString> {
        let name = self.inner.shared_memory_name()?;
        // SAFETY: [live] the name is a part of the memory, which this handle holds, and nobody changes it.
        let name = unsafe { &*name }.to_vec();
        // SAFETY: [layout] the bytes are all of those that encode the name.
        Some(unsafe { OsString::from_encoded_bytes_unchecked(name) })
    }
}
