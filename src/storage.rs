//! A storage: a typed, sized array over memory that other storages may use too.

mod body;
mod elements;
mod exchange;
pub mod header;
mod locks;
mod maps;
mod memory;
mod pinned;
mod refcount;
mod references;
mod register;
mod shared;
mod state_id;

use std::alloc::{Layout, alloc};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::element::DType;
use crate::error::{Error, Kind};
use body::{Body, Hold};
pub use exchange::{Token, TokenText};
use header::{StorageHeader, flag};
pub use locks::protect_across_fork;
pub use memory::{Advice, Anchor, MapOptions, SharedObject, Sharing, Usage, shared_memory, unlink_shared_memory, usage, weight};
use memory::{Foreign, Heap, Identity, Memory, byte_size, is_pinned, pin, unpin};
use register::Register;
pub use state_id::StateId;

/// A strong handle on a storage: one of its references, given back when the handle is dropped.
///
/// ```text
/// Storage -> Body { header: data pointer, size, dtype, flags; Memory } -> heap | mapped file | shared memory | foreign
///
/// With its first view the memory moves from the body to where both look; its bytes stay:
/// Storage -> Body { header: ...; Arc<Memory> } -> heap | mapped file | shared memory | foreign
/// a view  -> Body { header: ...; same Arc } -----^
/// ```
///
/// A view is a storage of its own on the same memory, so nothing dangles whatever happens to the other one. Sizes, indices and
/// offsets are in elements from 0; what is in bytes says so. Operations read and write through raw pointers: handles are freely
/// aliased, and a `&Storage` promises nothing about the elements.
///
/// ```
/// use torch_storage::convert::Scalar;
/// use torch_storage::storage::StateId;
/// use torch_storage::{DType, Storage};
///
/// let whole = Storage::zeroed(DType::Int, 3)?;
/// whole.fill(Scalar::Float(2.9))?;
/// assert_eq!(whole.get(0), Some(2.0));
///
/// let part = whole.view(1, 2)?;
/// whole.resize(100, StateId::PROGRAM)?; // `whole` moves, `part` keeps the old memory
/// part.fill(Scalar::Float(7.0))?;
/// assert_eq!((whole.get(1), part.get(0), whole.get(99)), (Some(2.0), Some(7.0), Some(0.0)));
/// # Ok::<(), torch_storage::Error>(())
/// ```
pub struct Storage(NonNull<Body>);

/// A storage that is borrowed from whoever holds it: no reference of its own.
pub type Borrowed = ManuallyDrop<Storage>;

impl Deref for Storage {
    type Target = StorageHeader;

    fn deref(&self) -> &StorageHeader {
        &self.body().header
    }
}

/// The class and the size: the elements may be many, and others may be changing them.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("dtype", &self.dtype()).field("size", &self.size()).finish()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // An anchor is lost here: who can have one calls `release`.
        let _ = self.leave(StateId::PROGRAM);
    }
}

impl Storage {
    /// Makes the body. Rust's boxes end the process when a small allocation fails; here the caller gets an error.
    #[inline]
    fn new(memory: Hold, dtype: DType, flag: u8, data: *mut u8, size: usize) -> Result<Self, Error> {
        // SAFETY: [layout] a body is no empty type.
        let Some(room) = NonNull::new(unsafe { alloc(Layout::new::<Body>()) }) else {
            return Err(Error::OutOfMemory { bytes: size_of::<Body>() });
        };
        let body = room.cast::<Body>();
        let header = StorageHeader::new(dtype, flag, data, size);
        if memory.memory().is_read_only() {
            header.forbid_writing();
        }
        // SAFETY: [layout] the room has the layout of a body. [owned] nobody else knows it; `leave` gives it back as a box, which has
        // this layout.
        unsafe { body.write(Body { header, memory: UnsafeCell::new(memory) }) };
        Ok(Self(body))
    }

    #[inline]
    fn whole(memory: Memory, dtype: DType, flag: u8, size: usize) -> Result<Self, Error> {
        let data = memory.data();
        Self::new(Hold::Alone(memory), dtype, flag, data, size)
    }

    /// `size` zeros on the heap.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn zeroed(dtype: DType, size: usize) -> Result<Self, Error> {
        let heap = Heap::zeroed(byte_size(dtype, size)?)?;
        Self::whole(Memory::Heap(heap), dtype, flag::REFCOUNTED | flag::RESIZABLE | flag::FREEMEM, size)
    }

    /// `size` elements of the caller's memory. `anchor` is handed back by [`release`](Self::release) when no storage looks at
    /// that memory any more.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    ///
    /// # Safety
    /// `data` is valid for reads and writes of `size` elements for as long as storages look at it; a size of 0 takes any.
    pub unsafe fn foreign(dtype: DType, data: *mut u8, size: usize, anchor: Option<Anchor>) -> Result<Self, Error> {
        let foreign = Foreign::new(data, byte_size(dtype, size)?, anchor, false);
        Self::whole(Memory::Foreign(foreign), dtype, flag::REFCOUNTED, size)
    }

    /// [`foreign`](Self::foreign) for memory that is never written: every write is [`Error::ReadOnly`], of views too.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    ///
    /// # Safety
    /// `data` is valid for reads of `size` elements for as long as storages look at it; a size of 0 takes any.
    pub unsafe fn foreign_read_only(dtype: DType, data: *const u8, size: usize, anchor: Option<Anchor>) -> Result<Self, Error> {
        let foreign = Foreign::new(data.cast_mut(), byte_size(dtype, size)?, anchor, true);
        Self::whole(Memory::Foreign(foreign), dtype, flag::REFCOUNTED, size)
    }

    /// `size` elements of this storage from `offset` on, as a storage on the same memory.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if they are not all inside.
    pub fn view(&self, offset: usize, size: usize) -> Result<Self, Error> {
        self.with_hold(|hold| {
            let data = self.data().wrapping_add(self.range(offset, size)?.start * self.dtype().width());
            let view = Self::new(Hold::Joint(hold.share()?), self.dtype(), flag::REFCOUNTED | flag::VIEW, data, size)?;
            if self.is_retyped() {
                view.mark_retyped();
            }
            Ok(view)
        })
    }

    /// `size` elements of class `dtype` from byte `offset` on, from 0, as a storage on the same memory.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::OutOfRange`], in bytes, if they are not all inside.
    pub fn reinterpret(&self, dtype: DType, offset: usize, size: usize) -> Result<Self, Error> {
        let data = self.data().wrapping_add(self.byte_range(offset, byte_size(dtype, size)?)?.start);
        self.with_hold(|hold| {
            let view = Self::new(Hold::Joint(hold.share()?), dtype, flag::REFCOUNTED | flag::VIEW, data, size)?;
            if dtype != self.dtype() || self.is_retyped() {
                view.mark_retyped();
            }
            Ok(view)
        })
    }

    /// A heap storage of class `dtype` with these elements, converted: a byte without a type is a number from 0 to 255, and what
    /// bytes without a type are made of is the bytes of the elements.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub fn cast(&self, dtype: DType) -> Result<Self, Error> {
        if dtype.is_untyped() {
            let target = Self::zeroed(dtype, self.nbytes())?;
            target.copy_bytes(self)?;
            return Ok(target);
        }
        let target = Self::zeroed(dtype, self.size())?;
        target.copy_range(0, self, 0, self.size())?;
        Ok(target)
    }

    /// A heap storage of class `dtype` with these bytes as elements; the remainder of a length that does not fit is left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Result<Self, Error> {
        let storage = Self::zeroed(dtype, bytes.len() / dtype.width())?;
        storage.write_bytes(bytes)?;
        Ok(storage)
    }

    /// The class.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.header().dtype
    }

    /// The number of elements.
    #[must_use]
    pub fn size(&self) -> usize {
        self.header().size.get().unsigned_abs()
    }

    /// The length in bytes.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.size() * self.dtype().width()
    }

    /// Whether the size can change.
    #[must_use]
    pub fn is_resizable(&self) -> bool {
        self.header().flag.get() & flag::RESIZABLE != 0
    }

    /// Whether the storage is a part of another.
    #[must_use]
    pub fn is_view(&self) -> bool {
        self.header().flag.get() & flag::VIEW != 0
    }

    /// What keeps the storage's foreign memory alive.
    #[must_use]
    pub fn anchor(&self) -> Option<Anchor> {
        self.with_memory(|memory| match memory {
            Memory::Foreign(foreign) => foreign.anchor(),
            _ => None,
        })
    }

    /// The kind, for messages.
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.is_view() { Kind::View } else { self.with_memory(Memory::kind) }
    }

    /// Changes the number of elements. The common prefix stays, new elements are zero. Where others look at the same memory the
    /// storage moves and they keep the old bytes; otherwise it grows without copying where that can be.
    ///
    /// # Errors
    /// [`Error::NotResizable`], [`Error::HeldElsewhere`], [`Error::TooLarge`], [`Error::OutOfMemory`]; the storage is then as it
    /// was.
    pub fn resize(&self, size: usize, state: StateId) -> Result<(), Error> {
        self.change_heap(Some(size), None, state)
    }

    /// Holds room for at least `size` elements from now on: resizing within it neither moves nor copies. 0 gives the room back.
    ///
    /// # Errors
    /// As [`resize`](Self::resize).
    pub fn reserve(&self, size: usize, state: StateId) -> Result<(), Error> {
        self.change_heap(None, Some(size), state)
    }

    /// The address of the storage's header: the same for every handle.
    #[must_use]
    pub fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// Gives back this reference, which `state` got; dropping a handle gives back one of [`StateId::PROGRAM`]. The answer is what kept
    /// foreign memory alive, if nobody looks at that memory any more.
    #[must_use]
    pub fn release(self, state: StateId) -> Option<Anchor> {
        ManuallyDrop::new(self).leave(state)
    }

    /// The handle as a pointer, to be turned back by [`from_raw`](Self::from_raw).
    #[must_use]
    pub fn into_raw(self) -> *const StorageHeader {
        ManuallyDrop::new(self).0.as_ptr().cast_const().cast()
    }

    /// The handle that [`into_raw`](Self::into_raw) made.
    ///
    /// # Safety
    /// `raw` came from `into_raw` and is not used for a second handle.
    #[must_use]
    pub unsafe fn from_raw(raw: *const StorageHeader) -> Self {
        // SAFETY: [owned] the caller gives the pointer of `into_raw`, which is not null. [layout] the header is the body's first field.
        Self(unsafe { NonNull::new_unchecked(raw.cast_mut().cast()) })
    }

    /// The storage of a handle that stays with its owner.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and its owner keeps it as long as the borrow is used.
    #[must_use]
    pub unsafe fn borrow_raw(raw: *const StorageHeader) -> Borrowed {
        // SAFETY: [live] the owner keeps it meanwhile. [owned] a `ManuallyDrop` gives nothing back.
        ManuallyDrop::new(unsafe { Self::from_raw(raw) })
    }

    fn body(&self) -> &Body {
        // SAFETY: [live] the handle's reference keeps the body. [alias] its fields are cells and atomics, so a shared reference is right.
        unsafe { self.0.as_ref() }
    }

    fn header(&self) -> &StorageHeader {
        self
    }

    fn with_memory<R>(&self, look: impl FnOnce(&Memory) -> R) -> R {
        self.with_hold(|hold| look(hold.memory()))
    }

    fn with_hold<R>(&self, act: impl FnOnce(&mut Hold) -> R) -> R {
        self.act_on_hold(&self.exclude_others(), act)
    }

    /// [`with_hold`](Self::with_hold), for what moves the memory: while others hold the storage it stays where it is.
    fn replace_hold(&self, state: StateId, act: impl FnOnce(&mut Hold) -> Result<(), Error>) -> Result<(), Error> {
        let register = self.exclude_others();
        if register.as_ref().is_some_and(|register| !register.is_alone(self.registered(), state)) {
            return Err(Error::HeldElsewhere);
        }
        self.act_on_hold(&register, act)
    }

    /// Acts on the memory while others are excluded. `act` does not come here again.
    fn act_on_hold<R>(&self, _excluded: &Option<locks::Guard<Register>>, act: impl FnOnce(&mut Hold) -> R) -> R {
        // SAFETY: [live] the handle keeps it. No other holder looks at it: this is the only one, or the register is locked.
        act(unsafe { &mut *self.body().memory.get() })
    }

    /// Keeps other holders (other states' userdata) from replacing the memory, and from being let in meanwhile.
    fn exclude_others(&self) -> Option<locks::Guard<Register>> {
        (!self.header().refcount.is_one()).then(locks::register)
    }

    /// Changes size or reserved room, in elements: in place if nobody else looks at the memory, otherwise by moving.
    fn change_heap(&self, size: Option<usize>, reserved: Option<usize>, state: StateId) -> Result<(), Error> {
        if !self.is_resizable() {
            return Err(Error::NotResizable { kind: self.kind() });
        }
        let in_bytes = |size| byte_size(self.dtype(), size);
        self.replace_hold(state, |hold| {
            let size = size.unwrap_or_else(|| self.size());
            let (old, new) = (self.nbytes(), in_bytes(size)?);
            let reserved = reserved.map(in_bytes).transpose()?;
            if old == new && reserved.is_none() {
                return Ok(());
            }
            if let Some(Memory::Heap(heap)) = hold.alone() {
                // Pages that move keep their locks, which nobody would end.
                let identity = Identity::new(heap.data(), 0);
                let was_pinned = is_pinned(identity, heap.data(), old);
                unpin(identity);
                let changed = match reserved {
                    Some(reserved) => heap.reserve(old, reserved),
                    None => heap.resize(old, new),
                };
                if changed.is_err() && was_pinned {
                    // They were locked before: if that fails now, `is_pinned` says so.
                    let _ = pin(identity, heap.data(), old);
                }
                changed?;
            } else {
                // Another holder may have moved it to shared memory since.
                let Memory::Heap(heap) = hold.memory() else {
                    return Err(Error::NotResizable { kind: hold.memory().kind() });
                };
                let reserved = reserved.unwrap_or_else(|| heap.reserved());
                let moved = Heap::with_capacity(new, new.max(reserved), reserved)?;
                let kept = old.min(new);
                if kept > 0 {
                    // SAFETY: [in-bounds] `kept` bytes are inside both. [alias] the new memory is nobody else's, so they are apart.
                    unsafe { std::ptr::copy_nonoverlapping(self.data(), moved.data(), kept) };
                }
                *hold = Hold::Alone(Memory::Heap(moved));
            }
            self.header().point_at(hold.memory().data(), size);
            Ok(())
        })
    }

    /// The reference ends; the caller does not use the handle again.
    fn leave(&self, state: StateId) -> Option<Anchor> {
        if !self.header().refcount.is_one() && !locks::register().leave(self.registered(), state) {
            return None;
        }
        // SAFETY: [owned] this was the last reference, and `new` made the body with the layout of a box.
        let body = unsafe { Box::from_raw(self.0.as_ptr()) };
        let memory = match body.memory.into_inner() {
            Hold::Alone(memory) => Some(memory),
            Hold::Joint(memory) => Arc::into_inner(memory),
        };
        match &memory {
            Some(Memory::Foreign(foreign)) => foreign.anchor(),
            Some(Memory::Heap(_) | Memory::Mapped(_) | Memory::Shared(_)) | None => None,
        }
    }
}
