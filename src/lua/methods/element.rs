//! Access to elements and the size: `s[i]`, `s[i] = v`, `get`, `set`, `#s`, `s:size()`. Each class has its own functions, so that
//! the common case makes only the checks that safety needs.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use crate::bulk;
use crate::convert::{Number, Scalar, truncate, zero_based_index, zero_based_integer};
use crate::element::{DType, Element, with_element};
use crate::lua::args::{Call, show, show_range};
use crate::lua::complex;
use crate::lua::context::{Context, Place};
use crate::lua::entry::{self, Answer, function, raising};
use crate::lua::fault::{Fault, written};
use crate::lua::state::{HAS_INTEGERS, Key, Raising, State};
use crate::lua::userdata;

/// The methods of a class that are made for its element type.
pub fn methods(dtype: DType) -> [Method; 9] {
    with_element!(dtype, T => [
        (c"__index", raising(index::<T>)),
        (c"__newindex", raising(set_index::<T>)),
        (c"__len", raising(size::<T>)),
        (c"size", raising(size::<T>)),
        (c"get", raising(get::<T>)),
        (c"set", raising(set::<T>)),
        (c"__index__", function(raw_index)),
        (c"__newindex__", function(raw_set_index)),
        (c"__len__", raising(size::<T>)),
    ])
}

/// `s[k]`: an element for a number, a numeric string or a 64-bit FFI integer; a method for its name; nil for other keys. Torch7.
fn index<T: Element>(lua: Raising) -> c_int {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    if let Some(header) = unsafe { userdata::header(lua.state(), 1, T::DTYPE) } {
        match lua.quick_key(2, header.read_limit()) {
            Key::Index(index) => {
                // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header.
                return complex::push(lua, unsafe { bulk::get_as::<T>(header.data(), index) }.to_scalar());
            }
            Key::Name if Context::push_method(lua.state(), Place::metatable(T::DTYPE)) => return 1,
            _ => {}
        }
    }
    entry::answer(lua, index_any)
}

/// `s[k] = v`: `v` is a number, a numeric string or a 64-bit FFI integer, and is converted by the rules of `convert.rs`. A
/// Bool takes booleans too, and a complex class complex numbers. Torch7. Differs from Torch7: Lua's rules decide which
/// strings are numeric, and any other string is an error.
fn set_index<T: Element>(lua: Raising) -> c_int {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    if let Some(header) = unsafe { userdata::header(lua.state(), 1, T::DTYPE) }
        && let Some(index) = lua.quick_index(2, header.write_limit())
        && let Some(element) = quick_value::<T>(lua.state(), 3)
    {
        // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header, and the memory is writable.
        unsafe { bulk::set_as::<T>(header.data(), index, element) };
        return 0;
    }
    entry::answer(lua, |call| if set_any(call, value_of_key)? { Ok(Answer::Nothing) } else { Err(no_such_key(call)) })
}

/// `#s`, `s:size()`: the number of elements. Torch7.
fn size<T: Element>(lua: Raising) -> c_int {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    if let Some(header) = unsafe { userdata::header(lua.state(), 1, T::DTYPE) }.filter(|header| !header.is_dead()) {
        if HAS_INTEGERS {
            lua.push_count(header.size());
        } else {
            lua.push_number(header.read_limit());
        }
        return 1;
    }
    entry::answer(lua, |call| call.this().map(|this| Answer::Count(this.size())))
}

/// `s:get(i)`: the element. For a complex class it gives the real and the imaginary part as two numbers, so that nothing is
/// allocated.
fn get<T: Element>(lua: Raising) -> c_int {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    let element = if let Some(header) = unsafe { userdata::header(lua.state(), 1, T::DTYPE) }
        && let Some(index) = lua.quick_index(2, header.read_limit())
    {
        // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header.
        unsafe { bulk::get_as::<T>(header.data(), index) }.to_scalar()
    } else {
        entry::run(lua, Call::new(lua), |call| element(call)?.ok_or_else(|| call.mismatch(2, "number")))
    };
    complex::push_parts(lua, element)
}

/// `s:set(i, v)`: does the same as `s[i] = v`, and returns s. `s:set(i, re, im)`: sets both parts of an element of a complex
/// class without an allocation, and returns s.
fn set<T: Element>(lua: Raising) -> c_int {
    let (wanted, is_complex) = if T::DTYPE.is_complex() { (4, true) } else { (3, false) };
    let element = || {
        if !is_complex {
            return lua.quick_element(3);
        }
        let are_numbers = (3..=4).all(|n| lua.kind(n) == ffi::LUA_TNUMBER);
        are_numbers.then(|| <T as Number>::from_parts(lua.raw_number(3), lua.raw_number(4)))
    };
    if lua.top() == wanted
        // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
        && let Some(header) = unsafe { userdata::header(lua.state(), 1, T::DTYPE) }
        && let Some(index) = lua.quick_index(2, header.write_limit())
        && let Some(element) = element()
    {
        // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header, and the memory is writable.
        unsafe { bulk::set_as::<T>(header.data(), index, element) };
        lua.set_top(1);
        return 1;
    }
    let body = |call: Call| {
        if set_any(call, value_or_parts)? { Ok(Answer::Value(1)) } else { Err(call.mismatch(2, "number")) }
    };
    entry::answer(lua, body)
}

/// `mt.__index__(s, k)`: the element and true, or false for a key that is not a number. This is Torch7's own protocol.
fn raw_index(call: Call) -> Result<Answer, Fault> {
    match element(call)? {
        Some(element) => Ok(Answer::ElementAnd(element, true)),
        None => Ok(Answer::Boolean(false)),
    }
}

/// `mt.__newindex__(s, k, v)`: sets the element and returns true, or returns false for a key that is not a number. This is
/// Torch7's own protocol.
fn raw_set_index(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(set_any(call, value_of_key)?))
}

/// The element that a number becomes, and for a Bool also a boolean.
#[inline]
fn quick_value<T: Element>(lua: State, n: c_int) -> Option<T> {
    if T::DTYPE == DType::Bool && lua.kind(n) == ffi::LUA_TBOOLEAN {
        return Some(<T as Number>::from_i64(lua.boolean(n).into()));
    }
    lua.quick_element(n)
}

/// `s[k]` for every `k` that is not the name of a method.
fn index_any(call: Call) -> Result<Answer, Fault> {
    let state = call.state();
    if userdata::class(state, 1) != Some(call.dtype()) {
        return Err(call.mismatch(1, call.dtype().class_name()));
    }
    Ok(element(call)?.map_or(Answer::Nil, Answer::Element))
}

/// The element whose index is argument 2, the key; `None` if the key is not a number.
pub fn element(call: Call) -> Result<Option<Scalar>, Fault> {
    // The key is read first, because reading an FFI value runs Lua code, which could free the storage.
    let key = call.scalar_at(2)?;
    let this = call.this()?;
    let Some(key) = key else { return Ok(None) };
    let found = from_zero(key, this.read_limit()).and_then(|index| this.get_scalar(index));
    found.map(Some).ok_or_else(|| if HAS_INTEGERS { past_end(key, this.size()) } else { outside(key, this.size()) })
}

/// The value that an element is set to; `None` if an element cannot be set to the argument.
type Value = Result<Option<Scalar>, Fault>;

/// Sets the element whose index is argument 2, the key. Returns false if the key is not a number.
fn set_any(call: Call, value: fn(Call) -> Value) -> Result<bool, Fault> {
    // Key and value are read first, because reading an FFI value runs Lua code, which could free the storage.
    let key = call.scalar_at(2)?;
    let value = value(call)?;
    let this = call.this()?;
    let Some(key) = key else { return Ok(false) };
    // This compares with the read limit, so that an index of a read-only storage is not reported as out of range. The engine then
    // refuses the write, and reports that the storage is read-only.
    let index = from_zero(key, this.read_limit()).ok_or_else(|| outside(key, this.size()))?;
    let value = value.ok_or_else(|| {
        let (class, kind, got) = (call.dtype().class_name(), call.element_kind(), call.type_name(3));
        let what = if call.dtype().is_complex() { "complex number" } else { kind };
        Fault::new(format_args!("an element of a {class} is a {what}: {kind} expected, got {got}"))
    })?;
    Ok(this.set(index, value)?)
}

/// The value of `s[k] = v`. Further arguments are ignored.
fn value_of_key(call: Call) -> Value {
    call.element_at(3)
}

/// The value of `s:set(k, v)`, or the complex number of `s:set(k, re, im)`.
fn value_or_parts(call: Call) -> Value {
    if call.is_absent(4) {
        return call.element_at(3);
    }
    if !call.dtype().is_complex() {
        let class = call.dtype().class_name();
        return Err(Fault::argument(4, format_args!("elements of a {class} have no imaginary part")));
    }
    Ok(Some(Scalar::Complex(call.complex_part(3)?, call.complex_part(4)?)))
}

/// Turns a key, an index counted from 1, into an index counted from 0. `None` if it is not within the limit `bound`.
pub fn from_zero(key: Scalar, bound: f64) -> Option<usize> {
    match key {
        Scalar::Float(index) => zero_based_index(index, bound),
        exact => zero_based_integer(truncate(exact)?, bound),
    }
}

/// The fault for an index out of range that is read. `ipairs` reads the index behind the last element, from Lua 5.3 on.
fn past_end(key: Scalar, size: usize) -> Fault {
    let fault = outside(key, size);
    if truncate(key).and_then(|index| usize::try_from(index).ok()) == size.checked_add(1) {
        fault.and("; ipairs does not stop at the end of a storage: use s:iter()")
    } else {
        fault
    }
}

/// The fault for an index out of range. Programmers of other languages count from 0, or from the end by negative indices.
pub fn outside(key: Scalar, size: usize) -> Fault {
    let advice = written(|f| match truncate(key) {
        _ if size == 0 => Ok(()),
        Some(0) => f.write_str("; indices begin at 1"),
        Some(-1) => f.write_str("; write s[#s] for the last element"),
        Some(index @ ..-1) if index.unsigned_abs() <= size as u64 => {
            write!(f, "; write s[#s - {}] to count from the end", -(index + 1))
        }
        Some(..0) => f.write_str("; negative indices do not count from the end"),
        _ => Ok(()),
    });
    Fault::new(format_args!("index {} is out of range: {}{advice}", show(key), show_range(size)))
}

fn no_such_key(call: Call) -> Fault {
    let (key, class) = (call.show_key(), call.dtype().class_name());
    Fault::new(format_args!(
        "the keys of a {class} are numbers, got {key}; a method is added to its class: function {class}:name()"
    ))
}
