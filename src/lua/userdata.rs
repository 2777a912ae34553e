//! The Lua value of a storage: a full userdata with the address of the storage's header, and a magic word that no other block has.

use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use super::context::{Context, Place};
use super::living;
use super::state::{Age, Raising, State};
use crate::element::DType;
use crate::storage::Storage;
use crate::storage::header::{StorageHeader, dead};

/// The block of a storage's userdata. `header` comes first, so that `ffi.cast('THIntStorage**', s)[0]` is the header.
#[repr(C)]
pub struct Payload {
    header: Cell<*const StorageHeader>,
    /// The address of the byte of [`MAGIC`] that belongs to the class. One comparison with it shows that the block is a storage
    /// of that class.
    magic: *const u8,
}

// A context is a userdata too. Its size differs from that of a payload, so it is never taken for a storage.
const _: () = assert!(size_of::<Context>() != size_of::<Payload>());

const CLASSES: usize = DType::ALL.len();

/// Only its addresses matter: no other block has a word that points into it. It is not zero, so that the linker does not merge it with
/// other constants.
static MAGIC: [u8; CLASSES] = [b't'; CLASSES];

/// The magic word of a class.
#[inline]
pub fn magic(dtype: DType) -> *const u8 {
    &raw const MAGIC[dtype.number()]
}

/// A storage that is borrowed from its userdata. No Lua code may run while it is used: `[live]`. Builds with debug assertions check
/// that.
pub struct Borrowed<'call> {
    storage: ManuallyDrop<Storage>,
    age: Age,
    userdata: PhantomData<&'call Payload>,
}

impl Borrowed<'_> {
    /// The storage of the header in a payload; `None` for the dead header.
    ///
    /// # Safety
    /// `[live]`: the payload holds a reference while the storage is used.
    #[inline]
    pub unsafe fn of_header(header: *const StorageHeader) -> Option<Self> {
        // SAFETY: [owned] a header in a payload that is not the dead one came from `Storage::into_raw`, and a `ManuallyDrop` does not give
        // its reference back. [live] the payload holds it.
        let storage = (header != dead()).then(|| unsafe { Storage::from_raw(header) })?;
        Some(Self { storage: ManuallyDrop::new(storage), age: Age::now(), userdata: PhantomData })
    }
}

impl Deref for Borrowed<'_> {
    type Target = Storage;

    #[inline]
    fn deref(&self) -> &Storage {
        self.age.assert_now();
        &self.storage
    }
}

/// The class of a storage, whether it was freed or not. `None` for any other value.
#[inline]
pub fn class(state: State, index: c_int) -> Option<DType> {
    // SAFETY: [live] no Lua code runs before the reference is dropped.
    unsafe { payload(state, index) }.map(|(_, dtype)| dtype)
}

/// The block of a userdata that has the size of a payload. A block of another library may have that size too. Valgrind says that the
/// magic word of an open file of LuaJIT's `io` is not initialised: half of that word is padding, which LuaJIT never writes.
///
/// # Safety
/// `[live]`: as for [`payload`].
#[inline]
unsafe fn block<'call>(state: State<'call>, index: c_int) -> Option<&'call Payload> {
    let block = state.block(index, size_of::<Payload>())?;
    // SAFETY: [layout] the block has the size of a payload, Lua aligns it for one, and any bits are valid pointers. [live] the caller
    // uses it only while its userdata is on the stack.
    Some(unsafe { block.cast().as_ref() })
}

/// The payload of a storage of any class, whether it was freed or not.
///
/// # Safety
/// `[live]`: the payload is used only while its userdata is on the stack, and the storage that is [borrowed](storage) from it only
/// while no Lua code runs.
#[inline]
pub unsafe fn payload<'call>(state: State<'call>, index: c_int) -> Option<(&'call Payload, DType)> {
    // SAFETY: [live] the caller vouches for it.
    let payload = unsafe { block(state, index) }?;
    let number = payload.magic.addr().wrapping_sub((&raw const MAGIC).addr());
    DType::ALL.get(number).map(|&dtype| (payload, dtype))
}

/// The header of a storage of class `dtype`, or the dead header if it was freed.
///
/// # Safety
/// `[live]`: the header is used only while the userdata is on the stack and no Lua code runs.
#[inline]
pub unsafe fn header<'call>(state: State<'call>, index: c_int, dtype: DType) -> Option<&'call StorageHeader> {
    // SAFETY: [live] the caller vouches for it.
    let payload = unsafe { block(state, index) }.filter(|payload| payload.magic == magic(dtype))?;
    // SAFETY: [live] a payload has the header of a storage that it holds, or the dead header, and no Lua code runs while it is used.
    Some(unsafe { &*payload.header.get() })
}

/// The header and the class of a storage of any class. It is the dead header if the storage was freed.
///
/// # Safety
/// `[live]`: as for [`header`].
#[inline]
pub unsafe fn header_of_any<'call>(state: State<'call>, index: c_int) -> Option<(&'call StorageHeader, DType)> {
    // SAFETY: [live] the caller vouches for it.
    let (payload, dtype) = unsafe { payload(state, index) }?;
    // SAFETY: [live] a payload has the header of a storage that it holds, or the dead header, and no Lua code runs while it is used.
    Some((unsafe { &*payload.header.get() }, dtype))
}

/// The header and the class behind a payload, as [`header_of_any`] gives them.
///
/// # Safety
/// `[live]`: the header is used only while the payload's userdata is alive and no Lua code runs.
#[inline]
pub unsafe fn header_behind(payload: &Payload) -> Option<(&StorageHeader, DType)> {
    let number = payload.magic.addr().wrapping_sub((&raw const MAGIC).addr());
    let dtype = DType::ALL.get(number).copied()?;
    // SAFETY: [live] the caller vouches for it.
    Some((unsafe { &*payload.header.get() }, dtype))
}

/// The storage behind a payload, borrowed from it; `None` if it was freed.
#[inline]
pub fn storage(payload: &Payload) -> Option<Borrowed<'_>> {
    // SAFETY: [live] the payload holds the storage of its header until `take`, whose caller vouches that nothing is borrowed from it.
    unsafe { Borrowed::of_header(payload.header.get()) }
}

/// The storage of class `dtype` at a stack index; `None` for any other value, and if the storage was freed.
///
/// # Safety
/// `[live]`: as for [`payload`].
#[inline]
pub unsafe fn storage_of<'call>(state: State<'call>, index: c_int, dtype: DType) -> Option<Borrowed<'call>> {
    // SAFETY: [live] the caller vouches for it.
    unsafe { block(state, index) }.filter(|payload| payload.magic == magic(dtype)).and_then(storage)
}

/// Pushes a userdata of class `dtype` that has no storage yet. It has its metatable already, so it is collected as a storage
/// whatever happens next. The payload stays while the userdata is on the stack.
pub fn push_dead<'call>(lua: Raising<'call>, dtype: DType) -> &'call Payload {
    let block = lua.push_userdata(size_of::<Payload>()).cast::<Payload>();
    // SAFETY: [layout] the block has the size and alignment of a payload.
    unsafe { block.write(Payload { header: Cell::new(dead()), magic: magic(dtype) }) };
    living::adopt(lua, Place::of_storages(dtype));
    // SAFETY: [layout] just written. [live] the block stays while its userdata is on the stack.
    unsafe { &*block }
}

/// Gives a storage to a payload that has none. The opposite of [`take`].
pub fn give(payload: &Payload, storage: Storage) {
    payload.header.set(storage.into_raw());
}

/// Takes the storage out of a payload, which is dead afterwards.
///
/// # Safety
/// `[live]`: nothing that was borrowed from the payload before is used afterwards.
pub unsafe fn take(payload: &Payload) -> Option<Storage> {
    let header = payload.header.replace(dead());
    // SAFETY: [owned] a header that is not the dead one came from `Storage::into_raw`, and the payload has just given it up.
    (header != dead()).then(|| unsafe { Storage::from_raw(header) })
}
