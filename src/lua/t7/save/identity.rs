//! Finds the objects that were written before, by their indices.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::convert::Number;
use crate::lua::state::State;
use crate::lua::t7::levels::make_slots;
use crate::lua::t7::open::Work;
use crate::lua::userdata;

/// The low bits of a storage's identity, which are 0 in the addresses of storages. They are 0 if the storage is written as
/// itself, and another number if a record writes it as a CUDA storage. A file can have both.
const GUISE: usize = 7;

/// `core.t7index(file, object, guise)`, for `records.lua`: the index of an object, and whether it was written before. From
/// now on it counts as written. `guise` is 0 or nil if a storage is written as itself: see [`GUISE`].
pub fn index(work: &Work) {
    let lua = work.lua;
    let guise = lua.scalar(3).and_then(|guise| work.call.count_of(guise)).unwrap_or(0);
    work.write(|_| Ok(()));
    make_slots(work);
    push_identity(work, 2, guise);
    let (index, is_known) = index_of(work);
    if userdata::class(lua.state(), 2).is_some() {
        remember_storage(work, index, 2);
    }
    lua.push_whole(index.into());
    lua.push_boolean(is_known);
}

/// Pushes the identity of the value at a stack index. For a storage this is its address as a light userdata, with the guise in
/// the low bits. For any other value it is the value itself.
pub(super) fn push_identity(work: &Work<'_>, index: c_int, guise: usize) {
    let lua = work.lua;
    // SAFETY: [live] the storage is in its slot, and no Lua code runs while it is used.
    match unsafe { userdata::payload(lua.state(), index) }.map(|(payload, _)| userdata::storage(payload)) {
        Some(Some(storage)) => lua.push_light(std::ptr::without_provenance_mut(storage.address() | guise & GUISE)),
        Some(None) => work.refuse("a storage", "it was freed"),
        None => lua.push_value(index),
    }
}

/// Pops an identity. Returns its index, which is a new one if it has none yet, and whether it had one before.
pub(super) fn index_of(work: &Work<'_>) -> (c_int, bool) {
    let lua = work.lua;
    lua.push_value(-1);
    lua.raw_get_top(work.objects());
    let found = (lua.kind(-1) == ffi::LUA_TNUMBER).then(|| lua.raw_number(-1).convert::<i32>());
    lua.set_top(lua.top() - 1);
    let found = found.filter(|&index| lua.light(-1).is_none_or(|identity| is_storage_at(work, index, identity.addr())));
    let (index, is_known) = work.write(|writing| match found.filter(|_| writing.is_referenced) {
        Some(index) => Ok((index, true)),
        None => Ok((writing.next_index()?, false)),
    });
    if is_known {
        lua.set_top(lua.top() - 1);
    } else {
        lua.push_whole(index.into());
        lua.raw_set_top(work.objects());
    }
    (index, is_known)
}

/// Remembers the storage at a stack index as the one that was written with the index `index`.
pub(super) fn remember_storage(work: &Work<'_>, index: c_int, slot: c_int) {
    work.lua.push_value(slot);
    work.lua.raw_set(work.objects(), index);
}

/// Whether the storage that was written with the index `index` has this identity. It may have been freed, and another one may
/// have the same address now.
fn is_storage_at(work: &Work<'_>, index: c_int, identity: usize) -> bool {
    let lua: State = work.lua.state();
    lua.raw_get(work.objects(), index);
    // SAFETY: [live] the storage is on the top, and no Lua code runs while it is used.
    let storage = unsafe { userdata::payload(lua, -1) }.and_then(|(payload, _)| userdata::storage(payload));
    let is_same = storage.is_some_and(|storage| storage.address() == identity & !GUISE);
    lua.set_top(lua.top() - 1);
    is_same
}
