//! A number that is compared with elements, exactly.

use mlua_sys as ffi;

use crate::convert::Scalar;
use crate::lua::args::Call;
use crate::lua::fault::Fault;

/// Argument 2 as a number, for Bool also a boolean. `expected` says in the fault what is allowed.
pub fn number(call: Call, expected: &str) -> Result<Scalar, Fault> {
    let found = match call.kind(2) {
        ffi::LUA_TNONE => None,
        ffi::LUA_TSTRING => whole_in(call.string(2)?).map_or_else(|| call.scalar_at(2), |whole| Ok(Some(whole)))?,
        _ => call.element_at(2)?,
    };
    found.ok_or_else(|| call.mismatch(2, expected))
}

/// The integer that a text is, exactly, if it has at most 64 bits. An element that is set to the text would have its low bits.
fn whole_in(text: &[u8]) -> Option<Scalar> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii();
    text.parse().map(Scalar::Signed).or_else(|_| text.parse().map(Scalar::Unsigned)).ok()
}
