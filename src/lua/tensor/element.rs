//! Access to one element: get, set, exact, decimal. Each class has its own functions, so that the common case makes only the checks
//! that safety needs.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::arguments::BorrowedTensor;
use super::payload::payload;
use crate::bulk;
use crate::convert::Scalar;
use crate::element::{DType, Element, with_element};
use crate::error::{Error, ShapeError};
use crate::fallible::collected;
use crate::lua::args::Call;
use crate::lua::complex;
use crate::lua::entry::{self, Answer, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::methods::exact::{decimal_of, exact_of};
use crate::lua::state::{Raising, State};
use crate::lua::steps::changed;
use crate::tensor::Layout;

/// The methods of a class that are made for its element type.
pub fn methods(dtype: DType) -> [Method; 4] {
    with_element!(dtype, T => [
        (c"decimal", raising(decimal)),
        (c"exact", raising(exact)),
        (c"get", raising(get::<T>)),
        (c"set", raising(set::<T>)),
    ])
}

/// `x:get(i, j, ...)`: the element with these indices, one for each dimension, from 1. For a complex class it gives the real and
/// the imaginary part as two numbers, so that nothing is allocated.
fn get<T: Element>(lua: Raising) -> c_int {
    let element = if let Some((element, limits)) = quick(lua.state(), T::DTYPE, lua.top() - 1)
        && element < limits.size
    {
        // SAFETY: [live] [in-bounds] [alias] the index is below the size of the storage, which the tensor holds.
        unsafe { bulk::get_as::<T>(limits.data, element) }.to_scalar()
    } else {
        entry::run(lua, Call::new(lua), |call| element(call, 2..=call.count()))
    };
    complex::push_parts(lua, element)
}

/// `x:set(i, j, ..., v)`: sets the element with these indices to `v`, which is converted as in `s[i] = v`; returns x. For a complex
/// class also `x:set(i, j, ..., re, im)`.
///
/// Differs from Torch7, where `x:set(...)` makes a tensor show another storage.
fn set<T: Element>(lua: Raising) -> c_int {
    let last = lua.top();
    if let Some(value) = lua.quick_element::<T>(last)
        && let Some((element, limits)) = quick(lua.state(), T::DTYPE, last - 2)
        && element < limits.writable
    {
        // SAFETY: [live] [in-bounds] [alias] the index is below the size of the storage, which the tensor holds, and its memory is
        // writable.
        unsafe { bulk::set_as::<T>(limits.data, element, value) };
        lua.set_top(1);
        return 1;
    }
    entry::answer(lua, |call| set_any(call).map(|()| Answer::Value(1)))
}

/// `x:exact(i, j, ...)`: the element with all its bits, as `s:exact(i)` of storages.
fn exact(lua: Raising) -> c_int {
    exact_of(lua, real_element)
}

/// `x:decimal(i, j, ...)`: the element as decimal text, as `s:decimal(i)` of storages.
fn decimal(lua: Raising) -> c_int {
    decimal_of(lua, real_element)
}

/// The memory of a storage, and how many of its elements can be read and written.
#[derive(Clone, Copy)]
pub struct Limits {
    pub data: *mut u8,
    pub size: usize,
    pub writable: usize,
}

/// The index in the storage of an element of the tensor at argument 1, whose indices are the `count` arguments from 2 on. `None` if
/// anything is not as usual. Whether the storage has the element is for the caller to check.
#[inline]
pub fn quick(lua: State, dtype: DType, count: c_int) -> Option<(usize, Limits)> {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs here; the callers use the limits at once.
    let (payload, class) = unsafe { payload(lua, 1) }?;
    let (storage, layout) = payload.parts()?;
    if class != dtype || usize::try_from(count) != Ok(layout.dimensions()) {
        return None;
    }
    let mut element = layout.offset();
    for (n, (&size, &stride)) in (2..).zip(layout.sizes().iter().zip(layout.strides())) {
        // What is not a number gives 0, which is not an index.
        let index = lua.quick_number(n, size)?;
        element = element.wrapping_add_signed(stride.wrapping_mul(index.cast_signed()));
    }
    let writable = if storage.write_limit() > 0.0 { storage.size() } else { 0 };
    Some((element, Limits { data: storage.data(), size: storage.size(), writable }))
}

/// The element whose indices are these arguments, one for each dimension.
fn element(call: Call, arguments: std::ops::RangeInclusive<c_int>) -> Result<Scalar, Fault> {
    let indices = collected(arguments.map(|n| call.whole(n)))?;
    let this = call.this_tensor()?;
    let element = element_at(this.layout, &indices, Layout::index)?;
    stored(&this, element)
}

/// The element of the tensor at an index in its storage. If the storage has become too small, the fault names the tensor's shape.
pub fn stored(this: &BorrowedTensor<'_>, index: usize) -> Result<Scalar, Fault> {
    let element = this.storage.get_scalar(index);
    element.ok_or_else(|| this.elements().check().map_or_else(Fault::from, |()| changed()))
}

/// The index in the storage of the element with these numbers as indices. `index` turns a number into an index.
pub fn element_at(
    layout: &Layout,
    numbers: &[i64],
    index: impl Fn(&Layout, usize, i64) -> Result<usize, Error>,
) -> Result<usize, Fault> {
    if numbers.len() != layout.dimensions() {
        return Err(Error::from(ShapeError::IndexCount { indices: numbers.len(), dimensions: layout.dimensions() }).into());
    }
    let indices = numbers.iter().enumerate().map(|(dimension, &number)| index(layout, dimension, number));
    Ok(layout.element(&collected(indices)?)?)
}

/// `x:set(...)` with any arguments.
fn set_any(call: Call) -> Result<(), Fault> {
    let dimensions = {
        let this = call.this_tensor()?;
        c_int::try_from(this.layout.dimensions()).unwrap_or(c_int::MAX)
    };
    let given = call.count() - 1;
    if call.kind(2) == ffi::LUA_TUSERDATA && call.tensor(2).is_ok() | call.storage(2).is_ok() {
        return Err(Fault::new(
            "set stores an element here, as in x:set(i, j, v); a tensor on another storage is made by torch.TYPETensor(storage, ...)",
        ));
    }
    let has_parts = call.dtype().is_complex() && given == dimensions + 2;
    if given != dimensions + 1 && !has_parts {
        let what = if dimensions == 1 { "dimension" } else { "dimensions" };
        return Err(Fault::new(format_args!(
            "set needs an index for each dimension and a value: the tensor has {dimensions} {what}, got {given} arguments"
        )));
    }
    let value = if has_parts {
        Scalar::Complex(call.complex_part(dimensions + 2)?, call.complex_part(dimensions + 3)?)
    } else {
        call.element(dimensions + 2)?
    };
    let indices = collected((2..2 + dimensions).map(|n| call.whole(n)))?;
    let this = call.this_tensor()?;
    let element = element_at(this.layout, &indices, Layout::index)?;
    stored(&this, element)?;
    this.storage.set(element, value)?;
    Ok(())
}

/// The element that the arguments select. Complex numbers are refused.
fn real_element(call: Call) -> Result<Scalar, Fault> {
    call.this_tensor()?;
    if call.dtype().is_complex() {
        let class = call.dtype().tensor_class_name();
        return Err(Fault::new(format_args!("elements of a {class} have two parts: x:get(i, j, ...) returns both, exactly")));
    }
    element(call, 2..=call.count())
}
