//! `x[i]`, `x[{...}]` and `x[torch.LongStorage{...}]`, also on the left of `=`.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::contents::{copy_into, fill};
use super::element::{element_at, quick};
use super::making::push_part;
use super::payload::class;
use crate::bulk;
use crate::convert::truncate;
use crate::element::{DType, Element, with_element};
use crate::error::{Error, ShapeError};
use crate::fallible::collected;
use crate::lua::args::{Call, show};
use crate::lua::complex;
use crate::lua::context::{Context, Place};
use crate::lua::entry::{self, Answer, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::state::{CDATA, Raising};
use crate::tensor::Layout;

/// The methods of a class that are made for its element type.
pub fn methods(dtype: DType) -> [Method; 2] {
    with_element!(dtype, T => [(c"__index", raising(index::<T>)), (c"__newindex", raising(set_index::<T>))])
}

/// `x[i]`: the element with index `i` of a tensor of one dimension, or a view without the first dimension. A negative index counts
/// from the end. `x[{...}]`: a list for the first dimensions, in which a number selects an index, `{a, b}` a range, `{a}` a range
/// of one, and `{}` all. `x[torch.LongStorage{...}]`: an element. Any other key is the name of a method. Torch7.
fn index<T: Element>(lua: Raising) -> c_int {
    match lua.kind(2) {
        ffi::LUA_TNUMBER => {
            if lua.top() == 2
                && let Some((element, limits)) = quick(lua.state(), T::DTYPE, 1)
                && element < limits.size
            {
                // SAFETY: [live] [in-bounds] [alias] the index is below the size of the storage, which the tensor holds.
                return complex::push(lua, unsafe { bulk::get_as::<T>(limits.data, element) }.to_scalar());
            }
        }
        ffi::LUA_TSTRING => {
            if !Context::push_method(lua.state(), Place::tensor_metatable(T::DTYPE)) {
                entry::run(lua, Call::new(lua), check_this);
                lua.push_nil();
            }
            return 1;
        }
        ffi::LUA_TTABLE | ffi::LUA_TUSERDATA | CDATA => {}
        _ => {
            lua.push_nil();
            return 1;
        }
    }
    push_part(lua, selected)
}

/// `x[k] = v`, for the keys of `x[k]`: sets the elements to a number, or copies those of a tensor of any class with as many
/// elements. Torch7.
fn set_index<T: Element>(lua: Raising) -> c_int {
    if lua.kind(2) == ffi::LUA_TNUMBER
        && let Some(value) = lua.quick_element::<T>(3)
        && let Some((element, limits)) = quick(lua.state(), T::DTYPE, 1)
        && element < limits.writable
    {
        // SAFETY: [live] [in-bounds] [alias] the index is below the size of the storage, which the tensor holds, and its memory is
        // writable.
        unsafe { bulk::set_as::<T>(limits.data, element, value) };
        return 0;
    }
    entry::answer(lua, set_selected)
}

fn check_this(call: Call) -> Result<(), Fault> {
    if class(call.state(), 1) == Some(call.dtype()) { Ok(()) } else { Err(call.mismatch(1, call.dtype().tensor_class_name())) }
}

/// An entry of the list in `x[{...}]`, with numbers that count from 1, or from the end if they are negative.
#[derive(Clone, Copy)]
enum Entry {
    Index(i64),
    Range(i64, i64),
    All,
}

/// The part of the tensor that the key at argument 2 selects. It has no dimension if it is an element. `None` if the key is none.
fn selected(call: Call) -> Result<Option<Layout>, Fault> {
    if call.is_list(2) {
        if call.kind(2) == ffi::LUA_TUSERDATA {
            let numbers = call.list(2)?;
            let this = call.this_tensor()?.layout;
            let element = element_at(this, &numbers, Layout::index_from_either_end)?;
            return Ok(Some(Layout::strided(element, &[], &[])?));
        }
        let entries = read_entries(call)?;
        return select_entries(call.this_tensor()?.layout, &entries).map(Some);
    }
    // The key is read first, because reading an FFI value runs Lua code.
    let key = if call.kind(2) == ffi::LUA_TSTRING { None } else { call.scalar_at(2)? };
    let this = call.this_tensor()?.layout;
    let Some(key) = key else { return Ok(None) };
    let number = truncate(key).ok_or_else(|| Fault::new(format_args!("an index is a whole number, got {}", show(key))))?;
    if this.dimensions() == 0 {
        return Err(Error::from(ShapeError::IndexCount { indices: 1, dimensions: 0 }).into());
    }
    let index = this.index_from_either_end(0, number)?;
    Ok(Some(this.select(0, index)?))
}

/// The entries of the table at argument 2.
fn read_entries(call: Call) -> Result<Vec<Entry>, Fault> {
    let state = call.state();
    let Some(table) = state.table(2) else { return Err(call.mismatch(2, "table")) };
    let count = state.length(2);
    let dimensions = call.this_tensor()?.layout.dimensions();
    if count > dimensions {
        return Err(Error::from(ShapeError::IndexCount { indices: count, dimensions }).into());
    }
    let top = state.top();
    collected((1..=c_int::try_from(count).unwrap_or(0)).map(|k| {
        state.raw_get(table, k);
        let entry = read_entry(call, k, top + 1);
        state.set_top(top);
        entry
    }))
}

/// Entry `k` of the list, which is at a stack index.
fn read_entry(call: Call, k: c_int, index: c_int) -> Result<Entry, Fault> {
    let state = call.state();
    let expected =
        |what: &str, index| Fault::new(format_args!("entry {k} of the indices: {what} expected, got {}", call.name_of(index)));
    let number = |index| {
        let number = if state.kind(index) == ffi::LUA_TSTRING { None } else { call.scalar_at(index)? };
        let number = number.ok_or_else(|| expected("number, {first, last}, {index} or {}", index))?;
        truncate(number)
            .ok_or_else(|| Fault::new(format_args!("entry {k} of the indices: a whole number is needed, got {}", show(number))))
    };
    let Some(range) = state.table(index) else { return number(index).map(Entry::Index) };
    let mut bounds = [0; 2];
    let count = state.length(index);
    if count > 2 {
        return Err(Fault::new(format_args!("entry {k} of the indices: a range is {{first, last}}, got {count} values")));
    }
    for (n, bound) in (1..).zip(bounds.iter_mut().take(count)) {
        state.raw_get(range, n);
        *bound = number(index + 1)?;
        state.set_top(index);
    }
    Ok(match count {
        0 => Entry::All,
        1 => Entry::Range(bounds[0], bounds[0]),
        _ => Entry::Range(bounds[0], bounds[1]),
    })
}

/// The part of a tensor that the entries select. Dimensions without an entry are kept.
fn select_entries(layout: &Layout, entries: &[Entry]) -> Result<Layout, Fault> {
    let mut selected = layout.try_clone()?;
    // From the last entry on, so that the dimensions before it keep their numbers.
    for (dimension, &entry) in entries.iter().enumerate().rev() {
        selected = match entry {
            Entry::All => continue,
            Entry::Index(number) => selected.select(dimension, layout.index_from_either_end(dimension, number)?)?,
            Entry::Range(first, last) => {
                let range = layout.range(dimension, first, last)?;
                selected.narrow(dimension, range.start, range.len())?
            }
        };
    }
    Ok(selected)
}

/// `x[k] = v` with any key and value.
fn set_selected(call: Call) -> Result<Answer, Fault> {
    let is_tensor = class(call.state(), 3).is_some();
    // The value is read before the tensor is looked up, because reading an FFI value runs Lua code.
    let value = if is_tensor { None } else { call.element_at(3)? };
    let Some(part) = selected(call)? else { return Err(no_such_key(call)) };
    if let Some(value) = value {
        return fill(call, &part, value);
    }
    let is_element = part.dimensions() == 0 && call.is_list(2);
    if !is_tensor || is_element {
        let (class, kind, got) = (call.dtype().tensor_class_name(), call.element_kind(), call.type_name(3));
        let what = if call.dtype().is_complex() { "complex number" } else { kind };
        return Err(if is_element {
            Fault::new(format_args!("an element of a {class} is a {what}: {kind} expected, got {got}"))
        } else {
            Fault::new(format_args!(
                "elements of a {class} are set to a {what}, or copied from a tensor: {kind} or torch.*Tensor expected, got {got}"
            ))
        });
    }
    copy_into(call, &part, 3)
}

fn no_such_key(call: Call) -> Fault {
    let (key, class) = (call.show_key(), call.dtype().tensor_class_name());
    Fault::new(format_args!(
        "the keys of a {class} are numbers, lists and LongStorages, got {key}; a method is added to its class: function {class}:name()"
    ))
}
