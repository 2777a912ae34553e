//! Access to elements and the size: `s[i]`, `s[i] = v`, `get`, `set`, `#s`, `s:size()`. Each class has its own functions, so that
//! the common case makes only the checks that safety needs.

use mlua_sys as ffi;

use super::Method;
use crate::bulk;
use crate::convert::{Number, Scalar, truncate, zero_based_index};
use crate::element::{DType, Element, with_element};
use crate::lua::args::{Call, show, show_range};
use crate::lua::complex;
use crate::lua::context::Context;
use crate::lua::entry::{self, Answer, functions};
use crate::lua::fault::Fault;
use crate::lua::state::{CDATA, State};
use crate::lua::userdata;

/// The methods of a class that are made for its element type.
pub fn methods(dtype: DType) -> [Method; 9] {
    with_element!(dtype, T => [
        (c"__index", index::<T>),
        (c"__newindex", set_index::<T>),
        (c"__len", size::<T>),
        (c"size", size::<T>),
        (c"get", get::<T>),
        (c"set", set::<T>),
        (c"__index__", raw_index),
        (c"__newindex__", raw_set_index),
        (c"__len__", size::<T>),
    ])
}

functions! {
    /// `s[k]`: an element for a number, a numeric string or a 64-bit FFI integer; a method for its name; nil for other keys. Torch7.
    raising fn index<T: Element>(lua) {
        let kind = lua.kind(2);
        if kind == ffi::LUA_TNUMBER
            && let Some(header) = userdata::header(lua.state(), 1, T::DTYPE)
            && let Some(index) = zero_based_index(lua.raw_number(2), header.read_limit())
        {
            // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header.
            let element = unsafe { bulk::get_as::<T>(header.data(), index) };
            complex::push(lua, element.to_scalar());
            return 1;
        }
        if kind == ffi::LUA_TSTRING
            && userdata::header(lua.state(), 1, T::DTYPE).is_some()
            && push_method(lua.state(), T::DTYPE)
        {
            return 1;
        }
        entry::enter(lua, index_any)
    }

    /// `s[k] = v`: `v` is a number, a numeric string or a 64-bit FFI integer, and is converted by the rules of `convert.rs`. A
    /// Bool takes booleans too, and a complex class complex numbers. Torch7. Differs from Torch7: Lua's rules decide which
    /// strings are numeric, and any other string is an error.
    raising fn set_index<T: Element>(lua) {
        let value = match lua.kind(3) {
            ffi::LUA_TNUMBER => Some(<T as Number>::from_f64(lua.raw_number(3))),
            ffi::LUA_TBOOLEAN if T::DTYPE == DType::Bool => Some(<T as Number>::from_i64(lua.boolean(3).into())),
            _ => None,
        };
        if lua.kind(2) == ffi::LUA_TNUMBER
            && let Some(element) = value
            && let Some(header) = userdata::header(lua.state(), 1, T::DTYPE)
            && let Some(index) = zero_based_index(lua.raw_number(2), header.write_limit())
        {
            // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header, and the memory is writable.
            unsafe { bulk::set_as::<T>(header.data(), index, element) };
            return 0;
        }
        entry::enter(lua, |call| if set_any(call, value_of_key)? { Ok(Answer::Nothing) } else { Err(no_such_key(call)) })
    }

    /// `#s`, `s:size()`: the number of elements. Torch7.
    raising fn size<T: Element>(lua) {
        if let Some(header) = userdata::header(lua.state(), 1, T::DTYPE).filter(|header| !header.is_dead()) {
            lua.push_number(header.read_limit());
            return 1;
        }
        entry::enter(lua, |call| call.this().map(|this| Answer::Number(this.read_limit())))
    }

    /// `s:get(i)`: the element. For a complex class it gives the real and the imaginary part as two numbers, so that nothing is
    /// allocated.
    raising fn get<T: Element>(lua) {
        let element = if lua.kind(2) == ffi::LUA_TNUMBER
            && let Some(header) = userdata::header(lua.state(), 1, T::DTYPE)
            && let Some(index) = zero_based_index(lua.raw_number(2), header.read_limit())
        {
            // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header.
            unsafe { bulk::get_as::<T>(header.data(), index) }.to_scalar()
        } else {
            entry::run(lua, Call::new(lua), |call| element(call)?.ok_or_else(|| call.mismatch(2, "number")))
        };
        match element {
            Scalar::Complex(re, im) => {
                lua.push_number(re);
                lua.push_number(im);
                2
            }
            number => {
                lua.push_number(f64::from_scalar(number));
                1
            }
        }
    }

    /// `s:set(i, v)`: does the same as `s[i] = v`, and returns s. `s:set(i, re, im)`: sets both parts of an element of a complex
    /// class without an allocation, and returns s.
    raising fn set<T: Element>(lua) {
        let (wanted, is_complex) = if T::DTYPE.is_complex() { (4, true) } else { (3, false) };
        if lua.top() == wanted
            && (2..=wanted).all(|n| lua.kind(n) == ffi::LUA_TNUMBER)
            && let Some(header) = userdata::header(lua.state(), 1, T::DTYPE)
            && let Some(index) = zero_based_index(lua.raw_number(2), header.write_limit())
        {
            let element = if is_complex {
                <T as Number>::from_parts(lua.raw_number(3), lua.raw_number(4))
            } else {
                <T as Number>::from_f64(lua.raw_number(3))
            };
            // SAFETY: [live] [in-bounds] [alias] the index is below the size in the live header, and the memory is writable.
            unsafe { bulk::set_as::<T>(header.data(), index, element) };
            lua.set_top(1);
            return 1;
        }
        let body = |call: Call| {
            if set_any(call, value_or_parts)? { Ok(Answer::Value(1)) } else { Err(call.mismatch(2, "number")) }
        };
        entry::enter(lua, body)
    }

    /// `mt.__index__(s, k)`: the element and true, or false for a key that is not a number. This is Torch7's own protocol.
    fn raw_index(call) {
        match element(call)? {
            Some(element) => Ok(Answer::ElementAnd(element, true)),
            None => Ok(Answer::Boolean(false)),
        }
    }

    /// `mt.__newindex__(s, k, v)`: sets the element and answers true, or answers false for a key that is not a number. This is
    /// Torch7's own protocol.
    fn raw_set_index(call) {
        Ok(Answer::Boolean(set_any(call, value_of_key)?))
    }
}

/// Pushes the method whose name is argument 2. If the class has none of that name, pushes nothing and answers false.
fn push_method(lua: State, dtype: DType) -> bool {
    let Some(metatable) = Context::push_metatable(lua, dtype) else { return false };
    lua.push_value(2);
    lua.raw_get_top(metatable);
    let found = lua.kind(-1) != ffi::LUA_TNIL;
    if !found {
        lua.set_top(metatable.index() - 1);
    }
    found
}

/// `s[k]` for every `k` that is not the name of a method.
fn index_any(call: Call) -> Result<Answer, Fault> {
    let state = call.state();
    if !matches!(userdata::payload(state, 1), Some((_, dtype)) if dtype == call.dtype()) {
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
    from_zero(key, this.read_limit()).and_then(|index| this.get_scalar(index)).map(Some).ok_or_else(|| outside(key, this.size()))
}

/// The value that an element is set to; `None` if an element cannot be set to the argument.
type Value = Result<Option<Scalar>, Fault>;

/// Sets the element whose index is argument 2, the key. Answers false if the key is not a number.
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
        Fault::new(format!("an element of a {class} is a {what}: {kind} expected, got {got}"))
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
        return Err(Fault::argument(4, format!("elements of a {class} have no imaginary part")));
    }
    Ok(Some(Scalar::Complex(call.complex_part(3)?, call.complex_part(4)?)))
}

/// Turns a key, an index counted from 1, into an index counted from 0. `None` if it is not within the limit `bound`.
fn from_zero(key: Scalar, bound: f64) -> Option<usize> {
    match key {
        Scalar::Float(index) => zero_based_index(index, bound),
        exact => {
            let index = usize::try_from(truncate(exact)?).ok()?;
            (index >= 1 && crate::lua::args::count(index) <= bound).then(|| index - 1)
        }
    }
}

/// The fault for an index out of range. Programmers of other languages count from 0, or from the end by negative indices.
fn outside(key: Scalar, size: usize) -> Fault {
    let advice = match truncate(key) {
        _ if size == 0 => String::new(),
        Some(0) => "; indices begin at 1".to_owned(),
        Some(-1) => "; write s[#s] for the last element".to_owned(),
        Some(index @ ..-1) if index.unsigned_abs() <= size as u64 => {
            format!("; write s[#s - {}] to count from the end", -(index + 1))
        }
        Some(..0) => "; negative indices do not count from the end".to_owned(),
        _ => String::new(),
    };
    Fault::new(format!("index {} is out of range: {}{advice}", show(key), show_range(size)))
}

fn no_such_key(call: Call) -> Fault {
    let state = call.state();
    let key = match state.string(2) {
        Some(name) => format!("'{}'", String::from_utf8_lossy(name)),
        None if state.kind(2) == CDATA => "a cdata".to_owned(),
        None => format!("a {}", call.type_name(2)),
    };
    let class = call.dtype().class_name();
    Fault::new(format!("the keys of a {class} are numbers, got {key}; a method is added to its class: function {class}:name()"))
}
