//! The block behind a storage, which is one allocation: the header, the memory, and the elements if they need few bytes.

use std::alloc::Layout;
use std::mem::{ManuallyDrop, offset_of};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::header::{StorageHeader, flag};
use super::memory::{Anchor, Heap, Memory};
use super::sync::{AtomicBool, AtomicU32, Cell, UnsafeCell, alloc, dealloc};
use crate::budget::Charge;
use crate::element::DType;
use crate::error::Error;

/// The largest number of bytes that elements behind a block have. Elements of more bytes get an allocation of their own.
pub(super) const SMALL: u16 = 256;

/// What every storage has. A view has nothing else in its allocation. For any other storage this is the beginning of its block. The
/// header comes first, so its address is the address of the allocation.
#[repr(C)]
pub(super) struct Body {
    pub(super) header: StorageHeader,
    /// The block with the memory of the storage. It is the storage's own block until the storage moves away from memory that others
    /// use. For a view it is the block of another storage. Only a [`Access`] changes it.
    on: Cell<NonNull<Block>>,
}

/// The header and the memory of a storage that is not a view.
///
/// ```text
/// +-----------------------+------------------------------------+------------------------------+
/// | Body: the header, on  | users, one_side_ended, room, memory | the elements, up to 256 bytes |
/// +-----------------------+------------------------------------+------------------------------+
/// ```
///
/// It has two sides, which end independently: the storage, whose header is here, and the memory. The memory ends with its last user.
/// Users are this storage until it moves to other memory, its views, and calls that take long ([`Use`]). The side that ends last
/// frees the block, so a view keeps the elements behind the block even when the storage has ended.
///
/// When a storage moves away from memory that others use, the new memory gets a block of its own. The storage side of that block has
/// ended from the beginning.
#[repr(C)]
pub(super) struct Block {
    body: Body,
    /// The number of users of the memory.
    users: AtomicU32,
    /// Whether the storage or the memory has ended.
    one_side_ended: AtomicBool,
    /// The number of bytes of elements behind the block.
    room: u16,
    /// It has a value as long as there are users.
    memory: UnsafeCell<ManuallyDrop<Memory>>,
}

// A pointer to the header is cast to a pointer to the body or to the block, and back.
const _: () = assert!(offset_of!(Body, header) == 0 && offset_of!(Block, body) == 0);

/// The alignment of an allocation, and of elements behind a block.
const ALIGNMENT: usize = 16;

/// The distance from a block to the elements behind it.
const ELEMENTS: usize = size_of::<Block>().next_multiple_of(ALIGNMENT);

// glibc keeps freed memory of up to 120 bytes in lists, and merges larger pieces with free memory beside them. Both are wanted:
//
// - A block without elements is in a list. If it were merged, its memory and that of its elements would reach the end of the heap when
//   both are freed, and glibc would give the pages back to the system each time: 256 KB, made and dropped, took 4 times as long.
// - Views and small storages are merged, because tens of thousands of them are made and dropped at once, and walking a list waits for
//   memory at each piece: making and dropping views took 1.5 times as long.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Block>() <= 120 && ELEMENTS > 120);

/// The layout of a view.
const VIEW: Layout = match Layout::from_size_align(ELEMENTS, ALIGNMENT) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// The layout of a block with `room` bytes of elements behind it.
#[inline]
fn layout(room: u16) -> Result<Layout, Error> {
    let bytes = if room == 0 { size_of::<Block>() } else { ELEMENTS + usize::from(room) };
    Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| Error::OutOfMemory { bytes })
}

#[inline]
fn allocate(layout: Layout) -> Result<NonNull<u8>, Error> {
    // SAFETY: [layout] no layout of this file has a size of 0.
    NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| Error::OutOfMemory { bytes: layout.size() })
}

/// Makes a block for a storage of `size` elements that begins at the first byte of `memory`.
#[inline]
pub(super) fn on_memory(memory: Memory, dtype: DType, flag: u8, size: usize) -> Result<NonNull<Body>, Error> {
    let header = StorageHeader::new(dtype, flag, memory.data(), size);
    if memory.is_read_only() {
        header.forbid_writing();
    }
    Ok(write(allocate(layout(0)?)?, 0, memory, header, false).cast())
}

/// Makes a block for a storage of `size` elements, which are `bytes` zero bytes behind the block. `bytes` is from 1 to [`SMALL`].
#[inline]
pub(super) fn small(dtype: DType, flag: u8, size: usize, bytes: u16) -> Result<NonNull<Body>, Error> {
    let charge = Charge::new(bytes.into())?;
    let block = allocate(layout(bytes)?)?;
    let data = block.as_ptr().wrapping_add(ELEMENTS);
    // SAFETY: [in-bounds] the allocation has this many bytes behind the block.
    unsafe { data.write_bytes(0, bytes.into()) };
    let header = StorageHeader::new(dtype, flag, data, size);
    Ok(write(block, bytes, Memory::Heap(Heap::behind(data, bytes, charge)), header, false).cast())
}

/// Makes the allocation of a view, which takes over `user`.
#[inline]
pub(super) fn view(user: Use, header: StorageHeader) -> Result<NonNull<Body>, Error> {
    let body = allocate(VIEW)?.cast::<Body>();
    if user.is_read_only() {
        header.forbid_writing();
    }
    let on = Cell::new(ManuallyDrop::new(user).0);
    // SAFETY: [layout] the allocation has room for a body. [owned] `end` gives it back.
    unsafe { body.write(Body { header, on }) };
    Ok(body)
}

/// Writes a block with one user to an allocation that has room for it.
#[inline]
fn write(block: NonNull<u8>, room: u16, memory: Memory, header: StorageHeader, one_side_ended: bool) -> NonNull<Block> {
    let block = block.cast::<Block>();
    let body = Body { header, on: Cell::new(block) };
    let (users, one_side_ended) = (AtomicU32::new(1), AtomicBool::new(one_side_ended));
    let memory = UnsafeCell::new(ManuallyDrop::new(memory));
    // SAFETY: [layout] the callers allocated it with the layout of a block. [owned] `free` gives it back.
    unsafe { block.write(Block { body, users, one_side_ended, room, memory }) };
    block
}

/// Ends a storage: its use of its memory, and its own side. Returns the anchor of foreign memory if it was the last user.
///
/// # Safety
/// `[owned]`: the body came from a function of this file. This was its last reference, so nobody uses it any more.
#[inline]
pub(super) unsafe fn end(body: NonNull<Body>) -> Option<Anchor> {
    // SAFETY: [live] the storage has not ended yet.
    let this = unsafe { body.as_ref() };
    let (on, is_view) = (this.on.get(), this.header.has(flag::VIEW));
    let own = body.cast::<Block>();
    // SAFETY: [owned] the storage is a user of this block.
    let ended = unsafe { end_use(on) };
    if is_view {
        // SAFETY: [owned] nobody uses the view any more.
        unsafe { body.drop_in_place() };
        // SAFETY: [owned] nobody uses the view any more. [layout] `view` allocated it with this layout.
        unsafe { dealloc(body.as_ptr().cast(), VIEW) };
    } else if on == own && !matches!(ended, Ended::NotLast) {
        // SAFETY: [owned] both sides have ended just now, so nobody else uses the block.
        unsafe { free(own) };
        return ended.anchor();
    } else {
        // SAFETY: [owned] the storage ends once.
        unsafe { end_side(own) };
    }
    if !matches!(ended, Ended::NotLast) {
        // SAFETY: [owned] there is one last user.
        unsafe { end_side(on) };
    }
    ended.anchor()
}

/// What ending a use did.
enum Ended {
    /// There are other users.
    NotLast,
    /// It was the last user, and the memory was dropped.
    Last,
    /// It was the last user of memory that may belong to a Rust value. Dropping the value runs its code, which may panic, so this
    /// happens when the block has been freed.
    LastOfForeign(Memory),
}

impl Ended {
    fn anchor(&self) -> Option<Anchor> {
        match self {
            Self::LastOfForeign(Memory::Foreign(foreign)) => foreign.anchor(),
            Self::LastOfForeign(_) | Self::Last | Self::NotLast => None,
        }
    }
}

/// Ends one use of the memory of a block. After the last use, the caller ends the side of the memory.
///
/// # Safety
/// `[owned]`: the caller is a user, and not any more afterwards.
#[inline]
unsafe fn end_use(block: NonNull<Block>) -> Ended {
    // SAFETY: [live] the caller is a user.
    let this = unsafe { block.as_ref() };
    // Acquire: everything that former users did to the memory has happened before. Release: so has what this user did, for the last one.
    // If the caller is the only user, nobody else can add one, so the number need not change.
    if this.users.load(Ordering::Acquire) != 1 && this.users.fetch_sub(1, Ordering::AcqRel) != 1 {
        return Ended::NotLast;
    }
    // SAFETY: [live] the memory has a value until the lines below. [alias] the caller was the only user.
    let memory = unsafe { &mut *this.memory.write() };
    if matches!(**memory, Memory::Foreign(_)) {
        // SAFETY: [owned] there is one last user, so the memory is taken once.
        return Ended::LastOfForeign(unsafe { ManuallyDrop::take(memory) });
    }
    // SAFETY: [owned] there is one last user, so the memory is dropped once.
    unsafe { ManuallyDrop::drop(memory) };
    Ended::Last
}

/// Ends the side of the storage or the side of the memory, and frees the block if the other side has ended before.
///
/// # Safety
/// `[owned]`: each side ends once.
unsafe fn end_side(block: NonNull<Block>) {
    // SAFETY: [live] this side has not ended yet.
    let this = unsafe { block.as_ref() };
    // Release and acquire: everything that the other side did to the block has happened before it is freed.
    if this.one_side_ended.swap(true, Ordering::AcqRel) {
        // SAFETY: [owned] both sides have ended.
        unsafe { free(block) };
    }
}

/// Frees a block.
///
/// # Safety
/// `[owned]`: both sides have ended, so nobody uses it any more.
#[inline]
unsafe fn free(block: NonNull<Block>) {
    // SAFETY: [live] the block is freed below.
    let room = unsafe { block.as_ref() }.room;
    if let Ok(layout) = layout(room) {
        // SAFETY: [owned] nobody uses the block. Its memory has ended before, and is not dropped here.
        unsafe { block.drop_in_place() };
        // SAFETY: [owned] nobody uses the block. [layout] it was allocated with this layout.
        unsafe { dealloc(block.as_ptr().cast(), layout) };
    }
}

impl Body {
    /// The right to look at the memory of the storage, and to move the storage.
    ///
    /// # Safety
    /// `[alias]`: the caller is the only holder of the storage, or has locked the register, as long as the result is used, and there
    /// is no other `Access` of this storage.
    pub(super) unsafe fn access(&self) -> Access<'_> {
        Access { on: &self.on }
    }
}

/// The right to look at the memory of a storage, to add a user, and to move the storage to other memory.
pub(super) struct Access<'a> {
    on: &'a Cell<NonNull<Block>>,
}

impl Access<'_> {
    fn block(&self) -> &Block {
        // SAFETY: [live] the storage is a user of its block.
        unsafe { self.on.get().as_ref() }
    }

    /// The memory.
    pub(super) fn memory(&self) -> &Memory {
        // SAFETY: [live] the storage is a user, so the memory has a value. [alias] it only changes by `memory_if_alone`, which
        // borrows this exclusively.
        unsafe { &*self.block().memory.read() }
    }

    /// The memory, if nobody else uses it.
    pub(super) fn memory_if_alone(&mut self) -> Option<&mut Memory> {
        // Acquire: everything that former users did to the memory has happened before.
        let alone = self.block().users.load(Ordering::Acquire) == 1;
        // SAFETY: [live] the storage is a user, so the memory has a value. [alias] it is the only user, and this is the only `Access`,
        // which adds users.
        alone.then(|| unsafe { &mut **self.block().memory.write() })
    }

    /// Adds a user of the memory. The bytes stay where they are as long as it lives.
    #[inline]
    pub(super) fn share(&self) -> Use {
        let users = &self.block().users;
        // If the caller is the only user, nobody else changes the number, because only a user can add another one. Acquire: the
        // store is not part of what a former user released when it ended, so whoever reads it later is only ordered after that user
        // if this load is. The addition is part of it, and can be relaxed.
        match users.load(Ordering::Acquire) {
            1 => users.store(2, Ordering::Relaxed),
            _ if users.fetch_add(1, Ordering::Relaxed) < u32::MAX / 2 => {}
            // The program leaks views, of more memory than a machine has. `Arc` ends the program then, too.
            _ => std::process::abort(),
        }
        Use(self.on.get())
    }

    /// Moves the storage to other memory. The old memory stays where it is for its other users, and is dropped if there are none.
    pub(super) fn replace(&mut self, memory: Memory) -> Result<(), Error> {
        if let Some(old) = self.memory_if_alone() {
            *old = memory;
            return Ok(());
        }
        let unused = StorageHeader::new(DType::Byte, flag::REFCOUNTED, std::ptr::null_mut(), 0);
        let block = write(allocate(layout(0)?)?, 0, memory, unused, true);
        drop(Use(self.on.replace(block)));
        Ok(())
    }
}

/// A user of memory, which keeps it where it is. All other users may drop or change their own storages.
pub(super) struct Use(NonNull<Block>);

impl Deref for Use {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        // SAFETY: [live] this is a user of the block.
        let block = unsafe { self.0.as_ref() };
        // SAFETY: [live] this is a user, so the memory has a value. [alias] a `Access` belongs to another user, so `memory_if_alone` gives
        // nothing.
        unsafe { &*block.memory.read() }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // SAFETY: [owned] this is a user, until now.
        let ended = unsafe { end_use(self.0) };
        if !matches!(ended, Ended::NotLast) {
            // SAFETY: [owned] there is one last user.
            unsafe { end_side(self.0) };
        }
        // No anchor is lost here. Memory with an anchor belongs to one Lua state, whose storage outlives the calls that take long.
    }
}
