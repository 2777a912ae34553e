//! Storages over memory that belongs to a Rust value: a vector, a memory map, an array of another library.

use std::alloc::{Layout, handle_alloc_error};

use super::block::Block;
use super::header::flag;
use super::memory::{Foreign, Keeper, Memory, Owner, byte_size};
use super::{StateId, Storage};
use crate::element::{DType, Element};
use crate::error::Error;

impl Storage {
    /// See [`crate::Storage::from_vec`].
    pub fn from_vec<T: Element>(elements: Vec<T>) -> Self {
        Self::from_owner_mut(elements)
    }

    /// See [`crate::Storage::from_owner`].
    pub fn from_owner<T: Element, O: AsRef<[T]> + Send + 'static>(owner: O) -> Self {
        let Ok((owner, value)) = Owner::new(owner) else { handle_alloc_error(Layout::new::<O>()) };
        // SAFETY: [owned] the value lives as long as `owner`, and nobody else has it. It stays borrowed until it is dropped, so what
        // `as_ref` gives is valid until then. An element is `Sync`, so other threads may read it.
        let elements = unsafe { value.as_ref() }.as_ref();
        Self::with_owner(owner, elements.as_ptr().cast_mut(), elements.len(), true)
    }

    /// See [`crate::Storage::from_owner_mut`].
    pub fn from_owner_mut<T: Element, O: AsMut<[T]> + Send + 'static>(owner: O) -> Self {
        let Ok((owner, mut value)) = Owner::new(owner) else { handle_alloc_error(Layout::new::<O>()) };
        // SAFETY: [owned] the value lives as long as `owner`, and nobody else has it. It stays borrowed until it is dropped, so what
        // `as_mut` gives is valid until then.
        let elements = unsafe { value.as_mut() }.as_mut();
        Self::with_owner(owner, elements.as_mut_ptr(), elements.len(), false)
    }

    /// Makes a storage of `size` elements at `data`, which are valid until `owner` is dropped.
    fn with_owner<T: Element>(owner: Owner, data: *mut T, size: usize, read_only: bool) -> Self {
        let data = if size == 0 { std::ptr::null_mut() } else { data.cast() };
        let memory = Memory::Foreign(Foreign::new(data, size * size_of::<T>(), Keeper::Owner(owner), read_only));
        match Self::on_whole_memory(memory, T::DTYPE, flag::REFCOUNTED | flag::FREEMEM, size) {
            Ok(storage) => storage,
            // The error has dropped the owner. A Rust program that needs memory ends here too when a box gets none.
            Err(_) => handle_alloc_error(Layout::new::<Block>()),
        }
    }

    /// Gives the value of type `O` back that the memory belongs to. Returns the storage instead if it does not have all of that memory, if
    /// anything but this handle of the holder `state` uses it, or if it belongs to another value.
    pub(crate) fn into_owner<O: Send + 'static>(self, state: StateId) -> Result<O, Self> {
        if !self.has_one_reference() || !self.is_alone(state) {
            return Err(self);
        }
        let (data, bytes) = (self.data(), self.nbytes());
        let value = self.with_access(|access| match access.memory_if_alone() {
            Some(Memory::Foreign(foreign)) if foreign.data() == data && foreign.bytes() == bytes => foreign.take_owner(),
            _ => None,
        });
        // With the value, the storage ends here. It does not use its memory any more.
        value.ok_or(self)
    }

    /// See [`crate::Storage::from_raw_parts`].
    ///
    /// # Safety
    /// `data` is valid for reads of `size` elements until the owner is dropped, and for writes too unless `read_only` is true. With a
    /// size of 0 any pointer is allowed.
    pub unsafe fn from_raw_parts<O: Send + 'static>(
        owner: O,
        dtype: DType,
        data: *mut u8,
        size: usize,
        read_only: bool,
    ) -> Result<Self, Error> {
        let bytes = byte_size(dtype, size)?;
        let data = if size == 0 { std::ptr::null_mut() } else { data };
        let foreign = Foreign::new(data, bytes, Keeper::Lender(Owner::new(owner)?.0), read_only);
        Self::on_whole_memory(Memory::Foreign(foreign), dtype, flag::REFCOUNTED | flag::FREEMEM, size)
    }
}
