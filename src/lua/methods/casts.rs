//! A storage as one of another class: converted, or the same bytes looked at differently.

use std::ffi::c_int;

use super::Method;
use super::construct::converted;
use crate::element::{DType, Element, for_each_element};
use crate::lua::args::Call;
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::lua_State;
use crate::storage::Storage;

/// The methods of this file but for those of [`CASTS`].
pub const METHODS: &[Method] = &[(c"type", type_or_cast), (c"view", view)];

macro_rules! define_casts {
    (; $($(#[$about:meta])+ $class:ident: $type:ty = $row:tt),*) => {
        /// `s:float()` and so on: a method for each class.
        pub const CASTS: &[Method] = &[$((DType::$class.cast_name(), cast::<$type>)),*];
    };
}

for_each_element! { [define_casts] {} }

/// `s:TYPE()`: a heap storage of that class with the elements converted, or s itself if it is of that class. `s:untyped()`: the bytes
/// without a type, on the same memory; s itself if it is that.
unsafe extern "C-unwind" fn cast<T: Element>(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    if T::DTYPE.is_untyped() && !call.dtype().is_untyped() {
        let body = |call: Call| {
            let this = call.this()?;
            Ok(this.reinterpret(T::DTYPE, 0, this.nbytes())?)
        };
        // SAFETY: as above, and the function is pushed with our upvalues only.
        return unsafe { entry::construct(state, |_| Ok(T::DTYPE), body) };
    }
    // SAFETY: nothing droppable is alive.
    unsafe { cast_to(call, |_| Ok(Some(T::DTYPE))) }
}

/// `s:type()`: the name of the class. `s:type(name)`: a heap storage of that class with the elements converted, or s itself if
/// it is of that class.
unsafe extern "C-unwind" fn type_or_cast(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { cast_to(call, |call| if call.is_absent(2) { Ok(None) } else { call.class(2).map(Some) }) }
}

/// The storage at argument 1 converted to a class, or the name of its own if there is none.
///
/// # Safety
/// As [`entry::construct_as`]; nothing droppable is alive.
unsafe fn cast_to(call: Call, class: impl Fn(Call) -> Result<Option<DType>, Fault>) -> c_int {
    // SAFETY: nothing droppable is alive, and no argument has been read.
    unsafe { pressure::relieve(call.state()) };
    // SAFETY: nothing droppable is alive.
    match unsafe { entry::run(call, |call| call.this().and_then(|_| class(call))) } {
        Some(dtype) if dtype != call.dtype() => {
            // SAFETY: nothing droppable is alive.
            unsafe { entry::construct_as(call, dtype, |call| converted(call, dtype)) }
        }
        Some(_) => {
            call.state().push_value(1);
            1
        }
        None => {
            // SAFETY: constants stay; nothing droppable is alive.
            unsafe { call.state().push_bytes(call.dtype().class_name().as_bytes()) };
            1
        }
    }
}

/// `s:view(class [, byteoffset [, size]])`: the same bytes as elements of another class. The offset is in bytes, from 0; the size in
/// elements of that class, without it all of the rest, which has to be a whole number of them. PyTorch's `view(dtype)`.
unsafe extern "C-unwind" fn view(state: *mut lua_State) -> c_int {
    let class = |call: Call| {
        call.this()?;
        call.class(2)
    };
    let body = |call: Call| {
        let dtype = call.class(2)?;
        // The numbers first: reading an FFI value runs Lua code.
        let offset = if call.is_absent(3) { 0 } else { call.bytes(3)? };
        let size = if call.is_absent(4) { None } else { Some(call.size(4)?) };
        let this = call.this()?;
        let (available, width) = (this.nbytes(), dtype.width());
        let rest = available.checked_sub(offset).ok_or_else(|| {
            Fault::argument(3, format!("byte offset {offset} is beyond the end of a storage of {available} bytes"))
        })?;
        let size = match size {
            Some(size) if size.checked_mul(width).is_none_or(|bytes| bytes > rest) => {
                let name = dtype.class_name();
                return Err(Fault::argument(
                    4,
                    format!(
                        "{size} elements of {width} bytes ({name}) are not in the {rest} bytes from byte offset {offset} on: the \
                         storage has {available} bytes"
                    ),
                ));
            }
            Some(size) => size,
            None => whole(&this, dtype, offset, rest)?,
        };
        Ok(this.reinterpret(dtype, offset, size)?)
    };
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::construct(state, class, body) }
}

/// How many elements the rest of a storage is, from a byte on.
fn whole(this: &Storage, dtype: DType, offset: usize, rest: usize) -> Result<usize, Fault> {
    let (from, to) = (this.dtype(), dtype);
    if rest.is_multiple_of(to.width()) {
        return Ok(rest / to.width());
    }
    let part = if offset == 0 {
        format!("its {} elements of {} bytes are {rest} bytes", this.size(), from.width())
    } else {
        format!("{rest} bytes from byte offset {offset} on")
    };
    Err(Fault::argument(
        2,
        format!(
            "cannot view a {} as a {}: {part}, no whole number of elements of {} bytes; give an offset and a size to view a part",
            from.class_name(),
            to.class_name(),
            to.width()
        ),
    ))
}
