//! How a Rust program makes storages: in heap memory, over memory of its own values, in shared memory, and as views of others.

use std::ffi::OsStr;

use super::Storage;
use crate::element::{DType, Element};
use crate::error::Error;
use crate::storage::{self, StateId};

impl Storage {
    /// Makes a storage of `size` elements in heap memory. All elements are zero.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn zeroed(dtype: DType, size: usize) -> Result<Self, Error> {
        storage::Storage::zeroed(dtype, size).map(Self::of)
    }

    /// Makes a storage in heap memory whose elements have these bytes. Bytes after the last whole element are left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Result<Self, Error> {
        storage::Storage::from_bytes(dtype, bytes).map(Self::of)
    }

    /// Makes a storage over the elements of a vector, without a copy. The vector is dropped when the last storage over its memory ends:
    /// this one, or a view of it.
    ///
    /// Like other storages over memory that the engine did not allocate, it cannot be resized.
    ///
    /// ```
    /// use torch_storage::Storage;
    /// use torch_storage::convert::Scalar;
    ///
    /// let samples = vec![1.0f32, 2.0, 3.0];
    /// let address = samples.as_ptr();
    /// let storage = Storage::from_vec(samples);
    /// assert_eq!(storage.data().cast_const().cast(), address);
    /// storage.set(0, Scalar::Float(7.5))?;
    /// assert_eq!(storage.to_vec::<f32>()?, [7.5, 2.0, 3.0]);
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// The elements are those of the list of dtypes: integers, `f32`, `f64`, the types of the crate `half`, and the types in
    /// [`convert`](crate::convert). A `bool` is not one of them, because a byte of a storage may have any value; the type
    /// [`Bool`](crate::convert::Bool) allows that.
    #[must_use]
    pub fn from_vec<T: Element>(elements: Vec<T>) -> Self {
        Self::of(storage::Storage::from_vec(elements))
    }

    /// Gives back the vector of a storage that was made by [`from_vec`](Self::from_vec), without a copy.
    ///
    /// Otherwise returns the storage: if any other handle, view, token, publication or Lua state has it, or a view of it, if it is a view
    /// of a part, if its memory is not that of a vector, or if the elements are not of the type `T`. [`to_vec`](Self::to_vec) copies the
    /// elements in all these cases. A Lua state has the storage until the script's value was collected or freed by `s:free()`.
    ///
    /// ```
    /// use torch_storage::Storage;
    ///
    /// let storage = Storage::from_vec(vec![1.0f32, 2.0]);
    /// let view = storage.view(0, 1)?;
    /// let storage = storage.try_into_vec::<f32>().unwrap_err(); // the view uses the memory
    /// drop(view);
    /// let address = storage.data();
    /// let elements = storage.try_into_vec::<f32>().map_err(|storage| format!("{storage:?} is in use"))?;
    /// assert_eq!(elements, [1.0, 2.0]);
    /// assert_eq!(elements.as_ptr().cast(), address.cast_const());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The storage, as above. Nothing else happens then.
    pub fn try_into_vec<T: Element>(self) -> Result<Vec<T>, Self> {
        if self.dtype() != T::DTYPE {
            return Err(self);
        }
        let Self { inner, constant } = self;
        inner.into_owner(StateId::of_this_thread()).map_err(|inner| Self { inner, constant })
    }

    /// Makes a read-only storage over the elements that `owner` gives by [`AsRef::as_ref`]. Every write to it or to one of its views
    /// returns [`Error::ReadOnly`].
    ///
    /// The owner is moved into a box first. Then `as_ref` is called once. The owner is dropped when the last storage over the memory
    /// ends, in the thread in which that happens. Another thread can hold it through a token, a publication or a Lua state of its own.
    ///
    /// ```
    /// use torch_storage::Storage;
    /// use torch_storage::convert::Scalar;
    ///
    /// let table = Storage::from_owner([10i32, 20, 30]);
    /// assert_eq!(table.get(2), Some(30.0));
    /// assert!(table.set(2, Scalar::Float(31.0)).is_err());
    /// ```
    #[must_use]
    pub fn from_owner<T: Element, O: AsRef<[T]> + Send + 'static>(owner: O) -> Self {
        Self::of(storage::Storage::from_owner(owner))
    }

    /// Makes a storage over the elements that `owner` gives by [`AsMut::as_mut`]. Does otherwise the same as
    /// [`from_owner`](Self::from_owner).
    ///
    /// ```
    /// use torch_storage::Storage;
    /// use torch_storage::convert::Scalar;
    ///
    /// let grid: Box<[u8]> = vec![0; 4].into();
    /// let storage = Storage::from_owner_mut(grid);
    /// storage.fill(Scalar::Float(9.0))?;
    /// assert_eq!(storage.to_vec::<u8>()?, [9; 4]);
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    #[must_use]
    pub fn from_owner_mut<T: Element, O: AsMut<[T]> + Send + 'static>(owner: O) -> Self {
        Self::of(storage::Storage::from_owner_mut(owner))
    }

    /// Makes a storage over `size` elements at `data`, which belong to `owner`. The owner is dropped when the last storage over the
    /// memory ends, in the thread in which that happens, or by this function if it fails. An owner of `()` is one that outlives them all.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    ///
    /// # Safety
    /// `data` is valid for reads of `size` elements until the owner is dropped, and for writes too unless `read_only` is true. With a
    /// size of 0 any pointer is allowed. Other code that accesses the memory until then does so while no thread and no Lua state uses the
    /// storage, or by relaxed atomic accesses of single bytes; if `read_only` is true, it may also read it in any way.
    pub unsafe fn from_raw_parts<O: Send + 'static>(
        owner: O,
        dtype: DType,
        data: *mut u8,
        size: usize,
        read_only: bool,
    ) -> Result<Self, Error> {
        // SAFETY: [vouched] the caller vouches for it.
        unsafe { storage::Storage::from_raw_parts(owner, dtype, data, size, read_only) }.map(Self::of)
    }

    /// Attaches to shared memory by its name. The storage begins at the first byte and has `size` elements, or without a size as many
    /// whole elements as the shared memory holds. A leading slash in the name makes no difference. Linux only.
    ///
    /// With a size, shared memory that does not exist is created (mode 0600, filled with zeros), and shared memory that is too
    /// short is extended. It is never shortened, and its bytes are kept.
    ///
    /// The name exists as long as a process has a storage there. When the last of these storages ends, in whatever process, the
    /// name is removed. The exit of a process ends its storages. The storages of a forked child count separately. If the last
    /// process is killed, the name and the bytes stay until another process attaches, or until
    /// [`unlink_shared_memory`](crate::unlink_shared_memory) is called.
    ///
    /// A storage takes one file descriptor, and one more during a `fork`. A process that replaces itself (`exec`) or calls
    /// `_exit` leaves the name as a killed process does.
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
    /// there.set(3, Scalar::Float(7.0))?;
    /// assert_eq!(here.get(3), Some(7.0));
    /// # Ok::<(), torch_storage::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MissingSharedMemory`] if nothing has the name and no size is given; [`Error::SharedMemoryFull`],
    /// [`Error::SharedMemoryName`], [`Error::SharedMemory`], [`Error::TooLarge`], [`Error::OutOfMemory`]. A call that fails
    /// leaves nothing behind.
    pub fn shared(dtype: DType, name: &OsStr, size: Option<usize>) -> Result<Self, Error> {
        storage::Storage::shared(dtype, name, size).map(Self::of)
    }

    /// Makes a view of `size` elements of this storage, from element `offset` (from 0) on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the elements are not all inside this storage, [`Error::OutOfMemory`].
    pub fn view(&self, offset: usize, size: usize) -> Result<Self, Error> {
        self.inner.view(offset, size).map(Self::of)
    }

    /// Makes a view of the bytes of this storage, from byte `offset` (from 0) on, as `size` elements of `dtype`. The offset need
    /// not be aligned.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], in bytes, if the elements are not all inside this storage; [`Error::TooLarge`],
    /// [`Error::OutOfMemory`].
    pub fn reinterpret(&self, dtype: DType, offset: usize, size: usize) -> Result<Self, Error> {
        self.inner.reinterpret(dtype, offset, size).map(Self::of)
    }
}
