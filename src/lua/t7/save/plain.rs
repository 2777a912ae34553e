//! Saves plain values, which have no other values in them: nil, booleans, numbers and strings.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::convert::{Number, Scalar, exact_double};
use crate::error::Error;
use crate::lua::fault::Fault;
use crate::lua::state::State;
use crate::lua::t7::open::{Open, Work};
use crate::lua::t7::path::refuse;
use crate::t7::Writer;

/// Writes nil, a boolean, a number or a string. Returns false if the value at a stack index is something else.
pub(super) fn write_plain(lua: State, writer: &mut Writer, index: c_int) -> Result<bool, Error> {
    match lua.kind(index) {
        ffi::LUA_TNIL => writer.nil_object()?,
        ffi::LUA_TBOOLEAN => writer.boolean_object(lua.boolean(index))?,
        ffi::LUA_TNUMBER => write_number(writer, lua.raw_scalar(index))?,
        // SAFETY: [live] the string stays in its slot while it is written.
        ffi::LUA_TSTRING => writer.string_object(unsafe { lua.string(index) }.unwrap_or_default())?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes a number. In a file all numbers are doubles.
fn write_number(writer: &mut Writer, number: Scalar) -> Result<(), Error> {
    match number {
        Scalar::Signed(integer) => writer.number_object(exact_double(integer).ok_or(Error::InexactInteger { integer })?),
        number => writer.number_object(f64::from_scalar(number)),
    }
}

/// Makes a fault of an error while the current value is written. An error about the value gets the path to it.
pub(super) fn at_path(work: &Work<'_>, open: &Open, error: Error) -> Fault {
    match error {
        error @ (Error::StringTooLong { .. } | Error::InexactInteger { .. }) => {
            let what = if matches!(error, Error::StringTooLong { .. }) { "a string" } else { "a number" };
            refuse::<()>(work, open, what, error).err().unwrap_or_else(Fault::no_memory)
        }
        error => error.into(),
    }
}
