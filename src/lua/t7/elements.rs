//! What `read` and `write` of a class do with a file apart from objects: numbers, elements of storages, bytes.

use std::ffi::c_int;

use super::block::{Open, ask_lua, guard, guarded, step};
use super::frames::lay_out;
use super::load::{fill, located, push_storage};
use super::save::write_elements;
use crate::bulk;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::{Call, count};
use crate::lua::entry::Answer;
use crate::lua::entry::{self, functions};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::state::lua_State;
use crate::lua::userdata;
use crate::t7;

/// The methods of a file for one class: none for a class that Torch7 does not have.
pub fn methods(dtype: DType) -> Option<[Method; 2]> {
    Some(match dtype {
        DType::Byte => [(c"readByte", read), (c"writeByte", write)],
        DType::Char => [(c"readChar", read), (c"writeChar", write)],
        DType::Short => [(c"readShort", read), (c"writeShort", write)],
        DType::Int => [(c"readInt", read), (c"writeInt", write)],
        DType::Long => [(c"readLong", read), (c"writeLong", write)],
        DType::Half => [(c"readHalf", read), (c"writeHalf", write)],
        DType::Float => [(c"readFloat", read), (c"writeFloat", write)],
        DType::Double => [(c"readDouble", read), (c"writeDouble", write)],
        _ => return None,
    })
}

/// `file:readTYPE()`: the next element, as a number. `file:readTYPE(n)`: the next `n`, as a storage. `file:readTYPE(storage)`: as many as the
/// storage has, into it; returns that number. Torch7.
unsafe extern "C-unwind" fn read(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, read_inner, 1, false) }
}

unsafe extern "C-unwind" fn read_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let (lua, dtype) = (call.state(), call.dtype());
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let is_target = userdata::payload(lua, 2).is_some() && call.count() >= 2;
    let wanted = |call: Call| match () {
        () if is_target => Ok(count_of(call.storage_of(2, dtype)?.size())),
        () if call.is_absent(2) => Ok(1),
        () => call.whole(2),
    };
    // SAFETY: see above.
    let wanted = unsafe { ask_lua(call, block, wanted) };
    let expect = |open: &mut Open| {
        lay_out(call)?;
        let expected = open.reader()?.expect_elements(dtype, wanted);
        expected.map_err(|error| located(call, open, error))
    };
    let is_single = call.is_absent(2);
    // SAFETY: see above.
    let wanted = unsafe { step(call, block, expect) };
    if is_target {
        // SAFETY: see above; the elements are expected.
        unsafe { fill(call, block, 2, dtype, wanted) };
        lua.push_number(count(wanted));
    } else if is_single {
        let one = |open: &mut Open| {
            let mut bytes = [0; 8];
            let reader = open.reader()?;
            // SAFETY: no element has more than 8 bytes.
            let done = unsafe { reader.elements(dtype, bytes.as_mut_ptr(), 1) }.and_then(|()| reader.end_of_elements(1));
            done.map_err(|error| located(call, open, error))?;
            // SAFETY: the element has just been written there.
            Ok(unsafe { bulk::get(bytes.as_ptr(), dtype, 0) })
        };
        // SAFETY: see above.
        lua.push_number(unsafe { step(call, block, one) });
    } else {
        // SAFETY: see above; the elements are expected.
        unsafe { push_storage(call, block, dtype, wanted, |_| ()) };
    }
    1
}

fn count_of(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// `file:writeTYPE(number)`: one element, converted. `file:writeTYPE(storage)`: all elements of a storage of that class. Returns how many.
/// Torch7.
unsafe extern "C-unwind" fn write(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, write_inner, 1, false) }
}

unsafe extern "C-unwind" fn write_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let (lua, dtype) = (call.state(), call.dtype());
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let is_storage = userdata::payload(lua, 2).is_some() && call.count() >= 2;
    let written = if is_storage {
        let size = |open: &mut Open| {
            open.writing()?;
            let size = call.storage_of(2, dtype)?.size();
            lay_out(call)?;
            Ok(size)
        };
        // SAFETY: see above.
        let size = unsafe { step(call, block, size) };
        // SAFETY: see above.
        unsafe { write_elements(call, block, 2, size) };
        size
    } else {
        // SAFETY: see above.
        let scalar = unsafe { ask_lua(call, block, |call| call.scalar(2)) };
        let one = |open: &mut Open| {
            let writer = &mut open.writing()?.writer;
            let mut bytes = [0; 8];
            // SAFETY: no element has more than 8 bytes.
            unsafe { bulk::set(bytes.as_mut_ptr(), dtype, 0, scalar) };
            // SAFETY: the element has just been written there.
            unsafe { writer.elements(dtype, bytes.as_ptr(), 1) }?;
            Ok(writer.end_of_elements()?)
        };
        // SAFETY: see above.
        unsafe { step(call, block, one) };
        1
    };
    lua.push_number(count(written));
    1
}

/// `file:readString(n)`: the next `n` bytes, as a string.
pub unsafe extern "C-unwind" fn read_string(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, read_string_inner, 1, false) }
}

unsafe extern "C-unwind" fn read_string_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    // SAFETY: see above.
    let wanted = unsafe { ask_lua(call, block, |call| call.whole(2)) };
    let read = |open: &mut Open| {
        let bytes = open.reader()?.bytes(wanted).map(std::ptr::from_ref);
        bytes.map_err(|error| located(call, open, error))
    };
    // SAFETY: see above.
    let bytes = unsafe { step(call, block, read) };
    // SAFETY: see above; the bytes stay, for the file is busy.
    unsafe { call.state().push_bytes(bytes) };
    1
}

/// `file:writeString(s)`: the bytes of a string, without its length.
pub unsafe extern "C-unwind" fn write_string(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, write_string_inner, 1, false) }
}

unsafe extern "C-unwind" fn write_string_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let write = |open: &mut Open| {
        let bytes = call.string(2)?;
        open.writing()?.writer.bytes(bytes)?;
        Ok(bytes.len())
    };
    // SAFETY: see above.
    let written = unsafe { step(call, block, write) };
    call.state().push_number(count(written));
    1
}

functions! {
    /// `core.checktensor(sizes, strides, offset, available)`: nothing if a storage of `available` elements (nil: no storage) holds such a tensor,
    /// otherwise why not. Sizes and strides are LongStorages.
    pub fn check_tensor(call) {
        let available = if call.is_absent(4) { None } else { Some(call.size(4)?) };
        let offset = call.whole(3)?;
        match t7::check_tensor(&longs(call, 1)?, &longs(call, 2)?, offset, available) {
            Ok(()) => Ok(Answer::Nothing),
            Err(why) => Err(Fault::new(why)),
        }
    }
}

/// `core.gather(storage, sizes, strides, offset)`: the elements of a tensor over the storage, in row-major order, as a new storage of its
/// class. Sizes and strides are LongStorages; the offset is from 1.
pub unsafe extern "C-unwind" fn gather(state: *mut lua_State) -> c_int {
    let class = |call: Call| Ok(call.storage(1)?.dtype());
    let body = |call: Call| {
        let (sizes, strides, offset) = (longs(call, 2)?, longs(call, 3)?, call.whole(4)?);
        let storage = call.storage(1)?;
        t7::check_tensor(&sizes, &strides, offset, Some(storage.size())).map_err(Fault::new)?;
        let place = usize::try_from(offset.saturating_sub(1)).unwrap_or(0);
        let sizes = list(sizes.len(), sizes.iter().filter_map(|&size| usize::try_from(size).ok()))?;
        let strides = list(strides.len(), strides.iter().filter_map(|&stride| isize::try_from(stride).ok()))?;
        Ok(storage.gather(place, &sizes, &strides)?)
    };
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::construct(state, class, body) }
}

/// The elements of the LongStorage at argument `n`.
fn longs(call: Call, n: c_int) -> Result<Vec<i64>, Fault> {
    let storage = call.storage_of(n, DType::Long)?;
    // SAFETY: all are inside the storage, whose memory is alive.
    let longs = (0..storage.size()).map(|place| unsafe { bulk::get_as::<i64>(storage.data(), place) });
    Ok(list(storage.size(), longs)?)
}

/// At most `most` values as a list.
fn list<T>(most: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(most).map_err(|_| Error::OutOfMemory { bytes: most.saturating_mul(size_of::<T>()) })?;
    list.extend(values.take(most));
    Ok(list)
}
