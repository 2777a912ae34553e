//! What a storage is: class, sizes, kind of memory.

use std::ffi::c_int;

use super::Method;
use super::construct::converted;
use crate::lua::args::{Call, count};
use crate::lua::entry::{self, Answer, functions};
use crate::lua::pressure;
use crate::lua::state::lua_State;

/// The methods of this file.
pub const METHODS: &[Method] = &[
    (c"type", type_or_cast),
    (c"elementSize", element_size),
    (c"nbytes", nbytes),
    (c"resizable", resizable),
    (c"isView", is_view),
    (c"data", data),
];

functions! {
    /// `s:data()`: the address of the first element as a light userdata; `s:data(true)`: as a number. Nothing keeps the storage
    /// alive for it. On LuaJIT the FFI side puts a pointer of the right type in its place.
    fn data(call) {
        let data = call.this()?.data();
        let as_number = call.flag(2)?;
        Ok(if as_number { Answer::Number(count(data.expose_provenance())) } else { Answer::Light(data) })
    }

    /// `s:elementSize()`, `torch.TYPEStorage.elementSize()`: bytes of an element; arguments are not looked at. Torch7.
    fn element_size(call) {
        Ok(Answer::Number(count(call.dtype().width())))
    }

    /// `s:nbytes()`: the length in bytes.
    fn nbytes(call) {
        Ok(Answer::Number(count(call.this()?.nbytes())))
    }

    /// `s:resizable()`: whether the size can change.
    fn resizable(call) {
        Ok(Answer::Boolean(call.this()?.is_resizable()))
    }

    /// `s:isView()`: whether the storage is a part of another.
    fn is_view(call) {
        Ok(Answer::Boolean(call.this()?.is_view()))
    }
}

/// `s:type()`: the name of the class. `s:type(name)`: a heap storage of that class with the elements converted, or s itself if
/// it is of that class.
unsafe extern "C-unwind" fn type_or_cast(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, and no argument has been read.
    unsafe { pressure::relieve(call.state()) };
    let wanted = |call: Call| {
        call.this()?;
        if call.is_absent(2) { Ok(None) } else { call.class(2).map(Some) }
    };
    // SAFETY: nothing droppable is alive.
    match unsafe { entry::run(call, wanted) } {
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
