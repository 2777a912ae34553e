//! Elements with all their bits: `s:exact(i)` and `s:decimal(i)`. A Lua number rounds 64-bit integers beyond 2^53.

use std::ffi::c_int;
use std::io::Write;

use super::Method;
use super::element::element;
use crate::convert::{Scalar, split_words};
use crate::element::{DType, Kind};
use crate::fallible::{self, NoMemory};
use crate::lua::args::Call;
use crate::lua::complex;
use crate::lua::context::Context;
use crate::lua::entry::{self, raising};
use crate::lua::fault::{Fault, raise};
use crate::lua::state::{HAS_INTEGERS, Raising};
use crate::t7::ascii::{LONGEST, put_f64};

pub const METHODS: &[Method] = &[(c"exact", raising(exact)), (c"decimal", raising(decimal))];

/// `s:exact(i)`: the element with all its bits. For a class of 64-bit integers this is an `int64_t` or `uint64_t` of the FFI on LuaJIT,
/// the integer from Lua 5.3 on, and decimal text elsewhere. For any other class that is not complex it is the number that `s[i]` gives.
fn exact(lua: Raising) -> c_int {
    exact_of(lua, real_element)
}

/// `s:decimal(i)`: the element as decimal text, the same in every Lua: an integer with all its digits, a float as C's `printf`
/// writes it with `%.17g`, every NaN as `nan`.
fn decimal(lua: Raising) -> c_int {
    decimal_of(lua, real_element)
}

/// Pushes the element that the arguments select, which is not complex, with all its bits.
pub fn exact_of(lua: Raising, element: fn(Call) -> Result<Scalar, Fault>) -> c_int {
    let call = Call::new(lua);
    push_exact(lua, call.dtype(), entry::run(lua, call, element))
}

/// Pushes an element of a dtype, which is not complex, with all its bits. Returns the number of values, 1.
pub fn push_exact(lua: Raising, dtype: DType, element: Scalar) -> c_int {
    let is_wide = matches!(dtype.kind(), Kind::Unsigned | Kind::Signed) && dtype.width() == 8;
    if HAS_INTEGERS {
        return complex::push(lua, element);
    }
    let make = Context::of(lua.state()).shared().integers.get();
    let (bits, is_unsigned) = match element {
        Scalar::Signed(number) if is_wide => (number, false),
        Scalar::Unsigned(number) if is_wide => (number.cast_signed(), true),
        number => return complex::push(lua, number),
    };
    let Some(make) = make else { return push_decimal(lua, element) };
    let (high, low) = split_words(bits);
    lua.push_referenced(make);
    lua.push_number(high);
    lua.push_number(low);
    lua.push_boolean(is_unsigned);
    lua.call(3, 1);
    1
}

/// Pushes the element that the arguments select, which is not complex, as decimal text.
pub fn decimal_of(lua: Raising, element: fn(Call) -> Result<Scalar, Fault>) -> c_int {
    push_decimal(lua, entry::run(lua, Call::new(lua), element))
}

fn push_decimal(lua: Raising, element: Scalar) -> c_int {
    match Text::of(element) {
        Ok(text) => push_text(lua, text),
        Err(error) => raise(lua, error.into()),
    }
}

/// The element that argument 2 selects. Complex numbers are refused.
fn real_element(call: Call) -> Result<Scalar, Fault> {
    call.this()?;
    if call.dtype().is_complex() {
        let (class, part) = (call.dtype().class_name(), call.dtype().part().class_name());
        return Err(Fault::new(format_args!(
            "elements of a {class} have two parts: s:get(i) returns both, exactly, and s:view('{part}') has them as elements"
        )));
    }
    element(call)?.ok_or_else(|| call.mismatch(2, "number"))
}

/// The decimal text of a number. It has no destructor, so it may be alive while Lua raises an error.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Text {
    fn of(value: Scalar) -> Result<Self, NoMemory> {
        let mut text = Vec::new();
        fallible::reserve(&mut text, LONGEST)?;
        // Writing to a vector does not fail.
        let _ = match value {
            Scalar::Signed(number) => write!(text, "{number}"),
            Scalar::Unsigned(number) => write!(text, "{number}"),
            Scalar::Float(number) | Scalar::Complex(number, _) => {
                // `printf` also writes the sign of a NaN, which depends on the processor.
                put_f64(if number.is_nan() { f64::NAN } else { number }, &mut text);
                Ok(())
            }
        };
        let mut bytes = [0; LONGEST];
        let length = text.len().min(LONGEST);
        bytes[..length].copy_from_slice(&text[..length]);
        Ok(Self { bytes, length })
    }
}

fn push_text(lua: Raising, text: Text) -> c_int {
    // SAFETY: [live] the text is on the stack of this function.
    unsafe { lua.push_bytes(&raw const text.bytes[..text.length]) };
    1
}
