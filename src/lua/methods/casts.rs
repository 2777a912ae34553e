//! Methods that give a storage of another class: with converted elements, or a view of the same bytes.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use super::construct::converted;
use crate::element::{DType, Element, with_element};
use crate::lua::args::Call;
use crate::lua::entry::{self, raising};
use crate::lua::fault::{Fault, written};
use crate::lua::pressure;
use crate::lua::state::{CDATA, Raising};
use crate::lua::tensor;
use crate::storage::Storage;

/// The methods of this file, without those of [`casts`].
pub const METHODS: &[Method] = &[(c"type", raising(type_or_cast)), (c"view", raising(view))];

/// `s:float()` and so on: a method for each class.
pub fn casts() -> impl Iterator<Item = Method> {
    DType::ALL.iter().map(|&dtype| (dtype.cast_name(), with_element!(dtype, T => raising(convert::<T>))))
}

/// `s:TYPE()`: a heap storage of that class with the elements converted, or s itself if it is of that class. `s:untyped()`: a view
/// of the bytes, on the same memory.
fn convert<T: Element>(lua: Raising) -> c_int {
    if T::DTYPE.is_untyped() && !Call::new(lua).dtype().is_untyped() {
        let body = |call: Call| {
            let this = call.this()?;
            Ok(this.reinterpret(T::DTYPE, 0, this.nbytes())?)
        };
        return entry::construct(lua, Call::new(lua), T::DTYPE, body);
    }
    cast_to(lua, |_| Ok(Some(T::DTYPE)))
}

/// `s:type()`: the name of the class. `s:type(name)`: a heap storage of that class with the elements converted, or s itself if
/// it is of that class.
fn type_or_cast(lua: Raising) -> c_int {
    cast_to(lua, |call| if call.is_absent(2) { Ok(None) } else { call.class(2).map(Some) })
}

/// `s:view(class [, byteoffset [, size]])`: a view of the same bytes as elements of another class. The offset is in bytes,
/// from 0. The size is in elements of that class. Without a size the view has all bytes from the offset on, which must be a
/// whole number of elements. PyTorch's `view(dtype)`.
///
/// `s:view(sizes)`: a tensor of these sizes over all elements of the storage. One size may be -1. PyTorch's `view`.
fn view(lua: Raising) -> c_int {
    let call = Call::new(lua);
    if call.is_list(2) && call.class_of_table(2).is_none() || matches!(call.kind(2), ffi::LUA_TNUMBER | CDATA | ffi::LUA_TNONE) {
        return tensor::view_of_storage(lua, call);
    }
    let dtype = entry::run(lua, call, class_of_view);
    entry::construct(lua, call, dtype, view_of_bytes)
}

/// `s:view(class ...)`.
fn view_of_bytes(call: Call) -> Result<Storage, Fault> {
    let dtype = call.class(2)?;
    // The numbers are read first, because reading an FFI value runs Lua code, which could free the storage.
    let offset = if call.is_absent(3) { 0 } else { call.bytes(3)? };
    let size = if call.is_absent(4) { None } else { Some(call.size(4)?) };
    let this = call.this()?;
    let (available, width) = (this.nbytes(), dtype.width());
    let rest = available.checked_sub(offset).ok_or_else(|| {
        Fault::argument(3, format_args!("byte offset {offset} is beyond the end of a storage of {available} bytes"))
    })?;
    let size = match size {
        Some(size) if size.checked_mul(width).is_none_or(|bytes| bytes > rest) => {
            let name = dtype.class_name();
            return Err(Fault::argument(
                4,
                format_args!(
                    "{size} elements of {width} bytes ({name}) are not in the {rest} bytes from byte offset {offset} on: the \
                         storage has {available} bytes"
                ),
            ));
        }
        Some(size) => size,
        None => whole(&this, dtype, offset, rest)?,
    };
    Ok(this.reinterpret(dtype, offset, size)?)
}

/// Converts the storage at argument 1 to the class that the function `class` returns: see [`cast`].
fn cast_to(lua: Raising, class: impl Fn(Call) -> Result<Option<DType>, Fault>) -> c_int {
    let convert = |call: Call, dtype| entry::construct(lua, call, dtype, |call| converted(call, dtype));
    cast(lua, DType::class_name, |call| call.this().and_then(|_| class(call)), convert)
}

/// Pushes what `convert` makes of argument 1 for the class that the function `class` returns: argument 1 itself if that is its own class,
/// and the name of its class for `None`. It is a storage or a tensor.
pub fn cast(
    lua: Raising,
    name: fn(DType) -> &'static str,
    class: impl Fn(Call) -> Result<Option<DType>, Fault>,
    convert: impl Fn(Call, DType) -> c_int,
) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    match entry::run(lua, call, class) {
        Some(dtype) if dtype != call.dtype() => return convert(call, dtype),
        Some(_) => lua.push_value(1),
        None => lua.push_text(name(call.dtype())),
    }
    1
}

fn class_of_view(call: Call) -> Result<DType, Fault> {
    call.this()?;
    call.class(2)
}

/// The number of elements of `dtype` in the last `rest` bytes of a storage, which begin at byte `offset`. It is a fault if they
/// are not a whole number of elements.
fn whole(this: &Storage, dtype: DType, offset: usize, rest: usize) -> Result<usize, Fault> {
    let (from, to) = (this.dtype(), dtype);
    if rest.is_multiple_of(to.width()) {
        return Ok(rest / to.width());
    }
    let part = written(|f| match offset {
        0 => write!(f, "its {} elements of {} bytes are {rest} bytes", this.size(), from.width()),
        _ => write!(f, "{rest} bytes from byte offset {offset} on"),
    });
    Err(Fault::argument(
        2,
        format_args!(
            "cannot view a {} as a {}: {part}, which is not a multiple of the {}-byte element size; give an offset and a size to view a part",
            from.class_name(),
            to.class_name(),
            to.width()
        ),
    ))
}
