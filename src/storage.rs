//! A storage is a typed, sized array of elements over memory, which it may share with other storages.
//!
//! This is the storage of the engine. It names the holder of each reference, and leaves it to its callers to say who else accesses the
//! elements. What a Rust program has is [`crate::Storage`].

mod block;
mod elements;
mod exchange;
pub mod header;
mod locks;
mod maps;
mod memory;
mod numbered;
mod owned;
mod refcount;
mod references;
mod register;
mod resize;
mod shared;
mod state_id;
mod sync;

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::element::DType;
use crate::error::{Error, MemoryKind};
use block::{Access, Body, SMALL};
pub use exchange::{Token, TokenText};
use header::{StorageHeader, flag};
pub use locks::protect_across_fork;
pub use memory::{
    Advice, Anchor, MapOptions, SharedAccess, SharedObject, Sharing, Usage, shared_memory, unlink_shared_memory, usage, weight,
};
use memory::{Foreign, Heap, Keeper, Memory, byte_size};
use register::Register;
pub use state_id::StateId;

/// A handle that holds one reference to a storage. Dropping the handle gives the reference back.
///
/// ```text
/// Storage -> Block { header: data pointer, size, dtype, flags; on; users; Memory; elements of a small storage }
///                                                               |   ^        +---> heap | mapped file | shared memory | foreign
///                                                               +---+
/// a view  -> Body { header: ...; on } ------------------------------^
/// ```
///
/// A view is a storage of its own that holds the same memory. So it never dangles, whatever happens to the storage that it was
/// made from. Sizes, indices and offsets are in elements, from 0, unless the documentation says bytes. Operations read and write
/// through raw pointers: there may be any number of handles to the same elements, and a `&Storage` promises nothing about their
/// values.
pub struct Storage(NonNull<Body>);

impl Deref for Storage {
    type Target = StorageHeader;

    fn deref(&self) -> &StorageHeader {
        &self.body().header
    }
}

/// Shows the dtype and the size. The elements are left out, because there may be many, and others may be changing them.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("dtype", &self.dtype()).field("size", &self.size()).finish()
    }
}

/// Makes one more handle to the same storage. Both handles belong to this thread. The elements are not copied.
impl Clone for Storage {
    fn clone(&self) -> Self {
        // There are 2^31 - 1 references already, so the program leaks them. `Arc` ends the program then, too.
        self.share(StateId::of_this_thread()).unwrap_or_else(|_| std::process::abort())
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // An anchor would be lost here. Whoever makes storages with an anchor calls `release` instead.
        let _ = self.end_reference(StateId::of_this_thread);
    }
}

impl Storage {
    /// A storage of `size` elements that begins at the first byte of the memory.
    #[inline]
    fn on_whole_memory(memory: Memory, dtype: DType, flag: u8, size: usize) -> Result<Self, Error> {
        block::on_memory(memory, dtype, flag, size).map(Self)
    }

    /// See [`crate::Storage::zeroed`].
    pub fn zeroed(dtype: DType, size: usize) -> Result<Self, Error> {
        let flag = flag::REFCOUNTED | flag::RESIZABLE | flag::FREEMEM;
        let bytes = byte_size(dtype, size)?;
        match u16::try_from(bytes) {
            Ok(few @ 1..=SMALL) => block::small(dtype, flag, size, few).map(Self),
            _ => Self::on_whole_memory(Memory::Heap(Heap::zeroed(bytes)?), dtype, flag, size),
        }
    }

    /// Makes a storage of `size` elements in heap memory, for a caller that sets all of them. Until then they are zero, or what a
    /// storage of the past has left in the memory. Clearing it first would take a third of the time of a copy.
    pub(crate) fn unset(dtype: DType, size: usize) -> Result<Self, Error> {
        let bytes = byte_size(dtype, size)?;
        if bytes <= SMALL.into() {
            return Self::zeroed(dtype, size);
        }
        let flag = flag::REFCOUNTED | flag::RESIZABLE | flag::FREEMEM;
        Self::on_whole_memory(Memory::Heap(Heap::unset(bytes)?), dtype, flag, size)
    }

    /// Makes a storage over `size` elements of the caller's memory. [`release`](Self::release) hands the anchor back when the
    /// last storage over this memory ends.
    ///
    /// # Safety
    /// `data` is valid for reads and writes of `size` elements as long as there is a storage over this memory. With a size of 0
    /// any pointer is allowed.
    pub unsafe fn foreign(dtype: DType, data: *mut u8, size: usize, anchor: Option<Anchor>) -> Result<Self, Error> {
        let foreign = Foreign::new(data, byte_size(dtype, size)?, Keeper::of(anchor), false);
        Self::on_whole_memory(Memory::Foreign(foreign), dtype, flag::REFCOUNTED, size)
    }

    /// Does the same as [`foreign`](Self::foreign) for memory that must not be written. Every write to the storage or to one of
    /// its views returns [`Error::ReadOnly`].
    ///
    /// # Safety
    /// `data` is valid for reads of `size` elements as long as there is a storage over this memory. With a size of 0 any pointer
    /// is allowed.
    pub unsafe fn foreign_read_only(dtype: DType, data: *const u8, size: usize, anchor: Option<Anchor>) -> Result<Self, Error> {
        let foreign = Foreign::new(data.cast_mut(), byte_size(dtype, size)?, Keeper::of(anchor), true);
        Self::on_whole_memory(Memory::Foreign(foreign), dtype, flag::REFCOUNTED, size)
    }

    /// See [`crate::Storage::view`].
    pub fn view(&self, offset: usize, size: usize) -> Result<Self, Error> {
        let view = self.with_access(|access| {
            let data = self.data().wrapping_add(self.range(offset, size)?.start * self.dtype().width());
            view_at(access, self.dtype(), data, size)
        })?;
        if self.is_retyped() {
            view.mark_retyped();
        }
        Ok(view)
    }

    /// See [`crate::Storage::reinterpret`].
    pub fn reinterpret(&self, dtype: DType, offset: usize, size: usize) -> Result<Self, Error> {
        let view = self.part(dtype, offset, size)?;
        if dtype != self.dtype() || self.is_retyped() {
            view.mark_retyped();
        }
        Ok(view)
    }

    /// Does the same as [`reinterpret`](Self::reinterpret) for bytes that no program can reach, as those of a map of a file with
    /// several tensors. The caller gives the same bytes to no two parts of different dtypes. So these bytes have one dtype, and
    /// compiled code accesses the part as it accesses any storage of its class, without a barrier.
    pub(crate) fn part(&self, dtype: DType, offset: usize, size: usize) -> Result<Self, Error> {
        let data = self.data().wrapping_add(self.byte_range(offset, byte_size(dtype, size)?)?.start);
        self.with_access(|access| view_at(access, dtype, data, size))
    }

    /// See [`crate::Storage::cast`].
    pub fn cast(&self, dtype: DType) -> Result<Self, Error> {
        if dtype.is_untyped() {
            let target = Self::unset(dtype, self.nbytes())?;
            target.copy_bytes(self)?;
            return Ok(target);
        }
        let target = Self::unset(dtype, self.size())?;
        target.copy_range(0, self, 0, self.size())?;
        Ok(target)
    }

    /// See [`crate::Storage::from_bytes`].
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Result<Self, Error> {
        let storage = Self::unset(dtype, bytes.len() / dtype.width())?;
        storage.write_bytes(bytes)?;
        Ok(storage)
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.header().dtype
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.header().size.get().unsigned_abs()
    }

    /// The length in bytes.
    pub fn nbytes(&self) -> usize {
        self.size() * self.dtype().width()
    }

    /// Whether the size can change.
    pub fn is_resizable(&self) -> bool {
        self.header().has(flag::RESIZABLE)
    }

    /// Whether the storage is a view.
    pub fn is_view(&self) -> bool {
        self.header().has(flag::VIEW)
    }

    /// The anchor of the storage's memory, if it is foreign memory that has one.
    pub fn anchor(&self) -> Option<Anchor> {
        self.with_memory(|memory| match memory {
            Memory::Foreign(foreign) => foreign.anchor(),
            _ => None,
        })
    }

    /// Whether this handle has the only reference to the storage.
    pub(crate) fn has_one_reference(&self) -> bool {
        self.header().refcount.is_one()
    }

    /// The kind of the storage, for error messages.
    pub fn kind(&self) -> MemoryKind {
        if self.is_view() { MemoryKind::View } else { self.with_memory(Memory::kind) }
    }

    /// The address of the storage's header, which is the same for every handle.
    pub fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// Gives back the reference of this handle, which belongs to `state`. Dropping a handle gives back a reference of
    /// this thread instead. Returns the anchor of foreign memory if this was the last storage over that memory.
    #[must_use]
    pub fn release(self, state: StateId) -> Option<Anchor> {
        ManuallyDrop::new(self).end_reference(|| state)
    }

    /// Turns the handle into a pointer, which keeps the reference. [`from_raw`](Self::from_raw) turns it back.
    #[must_use]
    pub fn into_raw(self) -> *const StorageHeader {
        ManuallyDrop::new(self).0.as_ptr().cast_const().cast()
    }

    /// Turns the pointer from [`into_raw`](Self::into_raw) back into the handle.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and it is not turned into a second handle, other than one in a `ManuallyDrop` that is used only while
    /// the first one has the reference.
    #[must_use]
    pub unsafe fn from_raw(raw: *const StorageHeader) -> Self {
        // SAFETY: [owned] the pointer came from `into_raw`, so it is not null. [layout] the header is the first field of the
        // body.
        Self(unsafe { NonNull::new_unchecked(raw.cast_mut().cast()) })
    }

    fn body(&self) -> &Body {
        // SAFETY: [live] the handle's reference keeps the body. [alias] its fields that change are cells and atomics.
        unsafe { self.0.as_ref() }
    }

    fn header(&self) -> &StorageHeader {
        self
    }

    /// Calls `look` with the memory, while no other holder can replace it.
    fn with_memory<R>(&self, look: impl FnOnce(&Memory) -> R) -> R {
        self.with_access(|access| look(access.memory()))
    }

    /// Calls `act` with access to the memory, while no other holder can replace the memory.
    fn with_access<R>(&self, act: impl FnOnce(&mut Access<'_>) -> R) -> R {
        self.act_with_access(&self.lock_register_if_shared(), act)
    }

    /// For models: a user of the memory, as a call that takes long is one. It returns the address of the memory.
    #[cfg(loom)]
    pub fn user(&self) -> impl Fn() -> *mut u8 + use<> {
        let user = self.with_access(|access| access.share());
        move || user.data()
    }

    /// Does the same as [`with_access`](Self::with_access) for an `act` that moves the memory. Returns [`Error::HeldElsewhere`],
    /// [`Error::HeldByProgram`] or [`Error::HeldByOthers`] if others than `state` hold the storage, because the memory must stay where
    /// it is for them.
    fn with_sole_access(&self, state: StateId, act: impl FnOnce(&mut Access<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let register = self.lock_register_if_shared();
        if let Some(register) = &register
            && !register.is_only_holder(self.registered(), state)
        {
            return Err(match (state.is_of_program(), register.is_held_by_program(self.registered())) {
                (true, _) => Error::HeldByOthers,
                (false, true) => Error::HeldByProgram,
                (false, false) => Error::HeldElsewhere,
            });
        }
        self.act_with_access(&register, act)
    }

    /// Calls `act` with access to the memory. `_lock` is the lock that [`Self::lock_register_if_shared`] returned, and
    /// `act` does not call a function that comes here again.
    fn act_with_access<R>(&self, _lock: &Option<locks::Guard<Register>>, act: impl FnOnce(&mut Access<'_>) -> R) -> R {
        // SAFETY: [alias] this is the only holder, or has the register.
        act(&mut unsafe { self.body().access() })
    }

    /// Locks the register if the storage has more than one reference. While it is locked, no other holder can replace the memory,
    /// and nobody else becomes a holder. A holder that has the only reference needs no lock.
    fn lock_register_if_shared(&self) -> Option<locks::Guard<Register>> {
        (!self.header().refcount.is_one()).then(locks::register)
    }

    /// Ends the reference of this handle, which belongs to `state()`: it matters only if there are others. The caller does not use the
    /// handle again.
    #[inline]
    fn end_reference(&self, state: impl FnOnce() -> StateId) -> Option<Anchor> {
        if !self.header().refcount.is_one() && !locks::register().end_reference(self.registered(), state()) {
            return None;
        }
        // SAFETY: [owned] this was the last reference.
        unsafe { block::end(self.0) }
    }
}

/// Makes a view of `size` elements of `dtype` at `data`, which are inside the storage whose memory `hold` has.
#[inline]
fn view_at(access: &Access<'_>, dtype: DType, data: *mut u8, size: usize) -> Result<Storage, Error> {
    let header = StorageHeader::new(dtype, flag::REFCOUNTED | flag::VIEW, data, size);
    block::view(access.share(), header).map(Storage)
}
