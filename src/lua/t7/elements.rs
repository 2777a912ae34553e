//! The methods of a file for numbers, elements of storages and bytes. The `read` and `write` methods of classes use them.

use super::levels::make_slots;
use super::open::{Work, file_method};
use super::storages::{push_storage, read_elements, write_elements};
use super::writing::Writing;
use crate::bulk::{Readable, Writable};
use crate::element::DType;
use crate::lua::methods::Method;
use crate::lua::state::{ZERO, real_at};
use crate::lua::userdata;

/// The methods of a file for one class. There are none for a class that Torch7 does not have.
pub fn methods(dtype: DType) -> Option<[Method; 2]> {
    Some(match dtype {
        DType::Byte => [(c"readByte", file_method::<1, _>(read)), (c"writeByte", file_method::<1, _>(write))],
        DType::Char => [(c"readChar", file_method::<1, _>(read)), (c"writeChar", file_method::<1, _>(write))],
        DType::Short => [(c"readShort", file_method::<1, _>(read)), (c"writeShort", file_method::<1, _>(write))],
        DType::Int => [(c"readInt", file_method::<1, _>(read)), (c"writeInt", file_method::<1, _>(write))],
        DType::Long => [(c"readLong", file_method::<1, _>(read)), (c"writeLong", file_method::<1, _>(write))],
        DType::Half => [(c"readHalf", file_method::<1, _>(read)), (c"writeHalf", file_method::<1, _>(write))],
        DType::Float => [(c"readFloat", file_method::<1, _>(read)), (c"writeFloat", file_method::<1, _>(write))],
        DType::Double => [(c"readDouble", file_method::<1, _>(read)), (c"writeDouble", file_method::<1, _>(write))],
        _ => return None,
    })
}

/// `file:readTYPE()`: the next element, as a number. `file:readTYPE(n)`: the next `n` elements, as a storage.
/// `file:readTYPE(storage)`: reads all elements of a storage, and returns their number. Torch7.
fn read(work: &Work) {
    let (lua, call, dtype) = (work.lua, work.call, work.call.dtype());
    let is_target = userdata::class(lua.state(), 2).is_some() && call.count() >= 2;
    let is_single = call.is_absent(2);
    let wanted = work.attempt(|call| match () {
        () if is_target => Ok(i64::try_from(call.storage_of(2, dtype)?.size()).unwrap_or(i64::MAX)),
        () if is_single => Ok(1),
        () => call.whole(2),
    });
    make_slots(work);
    let wanted = work.read(|reader| reader.expect_elements(dtype, wanted));
    if is_target {
        read_elements(work, 2, dtype, wanted);
        lua.push_count(wanted);
    } else if is_single {
        let element = work.read(|reader| {
            let mut bytes = [0; 8];
            // SAFETY: [live] [in-bounds] no class of Torch7 has elements of more than 8 bytes.
            unsafe { reader.elements(dtype, bytes.as_mut_ptr(), 1) }?;
            reader.end_of_elements(1)?;
            Ok(real_at(Readable::of(&bytes, dtype), 0).unwrap_or(ZERO))
        });
        lua.push_real(element);
    } else {
        push_storage(work, dtype, wanted, |_| ());
    }
}

/// `file:writeTYPE(number)`: writes one element, converted. `file:writeTYPE(storage)`: writes all elements of a storage of
/// that class. Both return the number of elements. Torch7.
fn write(work: &Work) {
    let (lua, call, dtype) = (work.lua, work.call, work.call.dtype());
    let written = if userdata::class(lua.state(), 2).is_some() && call.count() >= 2 {
        let size = work.step(|open| {
            open.writing()?;
            Ok(call.storage_of(2, dtype)?.size())
        });
        make_slots(work);
        write_elements(work, 2, dtype, size);
        size
    } else {
        let scalar = work.attempt(|call| call.element(2));
        work.write(|Writing { writer, .. }| {
            let mut bytes = [0; 8];
            let _ = Writable::of(&mut bytes, dtype).set(0, scalar);
            // SAFETY: [live] [in-bounds] no class of Torch7 has elements of more than 8 bytes.
            unsafe { writer.elements(dtype, bytes.as_ptr(), 1) }?;
            Ok(writer.end_of_elements()?)
        });
        1
    };
    lua.push_count(written);
}

/// `file:readString(n)`: the next `n` bytes, as a string.
pub fn read_string(work: &Work) {
    let wanted = work.attempt(|call| call.whole(2));
    let bytes = work.read(|reader| reader.bytes(wanted).map(std::ptr::from_ref));
    // SAFETY: [live] the bytes are in the reader, which stays as it is while the file is busy.
    unsafe { work.lua.push_bytes(bytes) }
}

/// `file:writeString(s)`: writes the bytes of a string, without its length. Returns their number.
pub fn write_string(work: &Work) {
    let written = work.step(|open| {
        let bytes = work.call.string(2)?;
        open.writing()?.writer.bytes(bytes)?;
        Ok(bytes.len())
    });
    work.lua.push_count(written);
}

/// `core.t7elements(file, class)`: reads the size of a storage and its elements. Returns a storage of that class.
pub fn storage(work: &Work) {
    let dtype = work.step(|_| work.call.class(2));
    make_slots(work);
    push_storage(work, dtype, work.read(|reader| reader.size(dtype)), |_| ());
}
