//! Complex numbers in Lua are FFI values on LuaJIT and tables elsewhere. Lua functions in `lua/torch/complex.lua` make them and
//! take them apart, because C functions cannot make FFI values.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::context::Context;
use super::fault::{Fault, raise};
use super::state::{CDATA, Raising, State};
use crate::convert::Scalar;

/// Pushes an element: a Lua number, or a complex number, which runs Lua code. Returns the number of values, 1.
#[inline(always)]
pub fn push(lua: Raising, element: Scalar) -> c_int {
    match element {
        Scalar::Complex(re, im) => push_complex(lua, re, im),
        number => lua.push_scalar(number),
    }
    1
}

/// Pushes an element as `get` returns it: a number, or the two parts of a complex number, so that nothing is allocated. Returns how many
/// values these are.
#[inline]
pub fn push_parts(lua: Raising, element: Scalar) -> c_int {
    match element {
        Scalar::Complex(re, im) => {
            lua.push_number(re);
            lua.push_number(im);
            2
        }
        number => {
            lua.push_scalar(number);
            1
        }
    }
}

fn push_complex(lua: Raising, re: f64, im: f64) {
    let Some(make) = Context::of(lua.state()).shared().complex_maker.get() else {
        raise(lua, Fault::new("complex numbers are made by torch.complex: require 'torch' first"))
    };
    lua.push_referenced(make);
    lua.push_number(re);
    lua.push_number(im);
    lua.call(2, 1);
}

/// The value at a stack index as a complex number, or `None` if it is not a table or FFI value that stands for one. This runs Lua
/// code, and so perhaps finalizers: callers look their storages up again.
pub fn read(lua: State, index: c_int) -> Result<Option<Scalar>, Fault> {
    let Some(read) = Context::of(lua).shared().complex_reader.get() else { return Ok(None) };
    if !matches!(lua.kind(index), ffi::LUA_TTABLE | CDATA) {
        return Ok(None);
    }
    let (top, index) = (lua.top(), lua.absolute(index));
    lua.push_referenced(read);
    lua.push_value(index);
    let result = if lua.protected_call(1, 2) {
        let parts = lua.number(top + 1).zip(lua.number(top + 2));
        Ok(parts.map(|(re, im)| Scalar::Complex(re, im)))
    } else {
        Err(Fault::on_top(lua))
    };
    lua.set_top(top);
    result
}
