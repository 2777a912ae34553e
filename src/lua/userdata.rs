//! The Lua value of a storage: a full userdata with a pointer to the storage's header and a magic word that no other block has.

use std::ffi::c_int;
use std::ptr::NonNull;

use super::context::Context;
use super::state::State;
use crate::element::DType;
use crate::storage::header::{StorageHeader, dead};
use crate::storage::{Borrowed, Storage};

/// The block of a storage's userdata. `header` comes first: `ffi.cast('THIntStorage**', s)[0]` is the header.
#[repr(C)]
pub struct Payload {
    header: *const StorageHeader,
    /// The address of byte `dtype` of [`MAGIC`]: one compare checks kind and class.
    magic: *const u8,
}

const CLASSES: usize = DType::ALL.len();

/// Only its addresses matter: nobody else has a word that points into it. Not zeros, so that it is not merged with others.
static MAGIC: [u8; CLASSES] = [b't'; CLASSES];

/// The magic word of a class.
#[inline]
pub fn magic(dtype: DType) -> *const u8 {
    &raw const MAGIC[dtype.number()]
}

/// The payload of a storage of any class, freed or not.
#[inline]
pub fn payload(state: State, index: c_int) -> Option<(NonNull<Payload>, DType)> {
    let block = state.userdata(index)?;
    if state.length(index) != size_of::<Payload>() {
        return None;
    }
    let payload = block.cast::<Payload>();
    // SAFETY: the block has the size of a payload, and blocks are aligned for one; any bits are a pointer.
    let word = unsafe { (&raw const (*payload.as_ptr()).magic).read() };
    let number = word.addr().wrapping_sub((&raw const MAGIC).addr());
    DType::ALL.get(number).map(|&dtype| (payload, dtype))
}

/// The header of a storage of class `dtype`: the dead one if it was freed.
#[inline]
pub fn header<'a>(state: State, index: c_int, dtype: DType) -> Option<&'a StorageHeader> {
    let block = state.userdata(index)?;
    if state.length(index) != size_of::<Payload>() {
        return None;
    }
    let payload = block.cast::<Payload>().as_ptr();
    // SAFETY: the block has the size of a payload, and blocks are aligned for one; any bits are a pointer.
    let word = unsafe { (&raw const (*payload).magic).read() };
    if word != magic(dtype) {
        return None;
    }
    // SAFETY: the magic word says that it is a payload of ours.
    let header = unsafe { (&raw const (*payload).header).read() };
    // SAFETY: a payload's header is that of a storage it holds, or the dead one. No Lua code runs while it is used.
    Some(unsafe { &*header })
}

/// The storage behind a payload, borrowed from it; `None` if it was freed. No Lua code may run while it is used.
#[inline]
pub fn storage(payload: NonNull<Payload>) -> Option<Borrowed> {
    // SAFETY: payloads are made by `push_dead`, and stay while their userdata is on the stack.
    let header = unsafe { (&raw const (*payload.as_ptr()).header).read() };
    // SAFETY: what is not the dead header came from `Storage::into_raw`, and the payload holds it.
    (header != dead()).then(|| unsafe { Storage::borrow_raw(header) })
}

/// Pushes a userdata of class `dtype` that holds nothing yet. It has its metatable, so whatever happens next it is collected
/// as a storage.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub unsafe fn push_dead(state: State, dtype: DType) -> NonNull<Payload> {
    // SAFETY: the caller has nothing to lose to an error.
    let block = unsafe { state.push_userdata(size_of::<Payload>()) }.cast::<Payload>();
    // SAFETY: the block has the size and alignment of a payload.
    unsafe { block.write(Payload { header: dead(), magic: magic(dtype) }) };
    Context::push_metatable(state, dtype);
    // SAFETY: the class table holds metatables, and the value below is the userdata just made.
    unsafe { state.set_metatable(-2) };
    // SAFETY: Lua gives no null block: it raises instead.
    unsafe { NonNull::new_unchecked(block) }
}

/// Gives the storage to a payload that holds nothing.
pub fn adopt(payload: NonNull<Payload>, storage: Storage) {
    // SAFETY: payloads are made by `push_dead`, and stay while their userdata is on the stack.
    unsafe { (&raw mut (*payload.as_ptr()).header).write(storage.into_raw()) };
}

/// Takes the storage out of a payload, which is dead from now on.
pub fn take(payload: NonNull<Payload>) -> Option<Storage> {
    // SAFETY: payloads are made by `push_dead`, and stay while their userdata is on the stack.
    let header = unsafe { (&raw mut (*payload.as_ptr()).header).replace(dead()) };
    // SAFETY: what is not the dead header came from `Storage::into_raw`; the payload has just given it up.
    (header != dead()).then(|| unsafe { Storage::from_raw(header) })
}
