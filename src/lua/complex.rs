//! Complex numbers in Lua: FFI values on LuaJIT, tables elsewhere. Lua functions make them and take them apart
//! (`lua/torch/complex.lua`): C can make no FFI value.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::context::Context;
use super::fault::{Fault, raise};
use super::state::{CDATA, State};
use crate::convert::{Number, Scalar};

/// Pushes an element: a Lua number, or a complex one.
///
/// # Safety
/// May raise, and runs Lua code for a complex number: nothing droppable is alive, no storage is borrowed.
#[inline]
pub unsafe fn push(lua: State, element: Scalar) {
    match element {
        // SAFETY: as the caller says.
        Scalar::Complex(re, im) => unsafe { push_complex(lua, re, im) },
        number => lua.push_number(f64::from_scalar(number)),
    }
}

/// # Safety
/// As [`push`].
unsafe fn push_complex(lua: State, re: f64, im: f64) {
    let Some((make, _)) = Context::of(lua).shared().complex.get() else {
        // SAFETY: the fault is moved, and as the caller says nothing else is droppable.
        unsafe { raise(lua, Fault::new("complex numbers are made by torch.complex: require 'torch' first")) }
    };
    lua.push_referenced(make);
    lua.push_number(re);
    lua.push_number(im);
    // SAFETY: as the caller says.
    unsafe { lua.call(2, 1) };
}

/// The value at a stack index as a complex number; `None` if it is no table or FFI value that stands for one. Runs Lua code, which
/// may run finalizers: no storage is borrowed.
pub fn read(lua: State, index: c_int) -> Result<Option<Scalar>, Fault> {
    let Some((_, read)) = Context::of(lua).shared().complex.get() else { return Ok(None) };
    if !matches!(lua.kind(index), ffi::LUA_TTABLE | CDATA) {
        return Ok(None);
    }
    let top = lua.top();
    let index = if index < 0 { top + 1 + index } else { index };
    lua.push_referenced(read);
    lua.push_value(index);
    let answer = if lua.protected_call(1, 2) {
        let parts = lua.number(top + 1).zip(lua.number(top + 2));
        Ok(parts.map(|(re, im)| Scalar::Complex(re, im)))
    } else {
        Err(Fault::on_top(lua))
    };
    lua.set_top(top);
    answer
}
