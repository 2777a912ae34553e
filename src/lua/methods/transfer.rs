//! Turns elements into Lua values and back: strings, tables, results, iteration.

use std::ffi::c_int;

use super::Method;
use super::from_table::table_size;
use super::references::give_back_anchor;
use crate::bulk::Readable;
use crate::element::DType;
use crate::lua::args::{Call, Range};
use crate::lua::complex;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{self, Answer, function, raising};
use crate::lua::fault::{Fault, raise};
use crate::lua::pressure;
use crate::lua::state::{HAS_INTEGERS, Raising, Real, real_at};
use crate::lua::steps::{changed, in_steps};
use crate::storage::Storage;
use crate::system::{files, names};
use mlua_sys as ffi;

pub const METHODS: &[Method] =
    &[(c"totable", raising(to_table)), (c"unpack", raising(unpack)), (c"iter", raising(iterate)), (c"string", raising(string))];

/// The metamethods by which `pairs(s)` and, before Lua 5.3, `ipairs(s)` iterate as `s:iter()` does. Lua 5.1 does not call them; LuaJIT
/// does if it was built for that.
pub const PAIRS: [Option<Method>; 2] =
    [Some((c"__pairs", raising(iterate))), if HAS_INTEGERS { None } else { Some((c"__ipairs", raising(iterate))) }];

/// The elements of a storage as Lua numbers. No Lua code may run while it is used. It has no destructor.
#[derive(Clone, Copy)]
struct Elements {
    data: *const u8,
    dtype: DType,
    size: usize,
}

impl Elements {
    fn of_this(call: Call) -> Result<Self, Fault> {
        let this = call.this()?;
        Ok(Self { data: this.data(), dtype: this.dtype(), size: this.size() })
    }

    /// Those from an index (from 0) on.
    fn skip(self, first: usize) -> impl Iterator<Item = Real> {
        // SAFETY: [live] [in-bounds] [alias] the storage is on the stack, and no Lua code runs while this is used.
        let elements = unsafe { Readable::new(self.data, self.dtype, self.size) };
        (first..).map_while(move |index| real_at(elements, index))
    }
}

/// Pushes an element of a complex class. Making a complex number runs Lua code, so the storage at argument 1 is looked up for
/// every element.
fn push_complex_element(lua: Raising, call: Call, index: usize) {
    let element = entry::run(lua, call, |call| call.this()?.get_scalar(index).ok_or_else(changed));
    complex::push(lua, element);
}

/// Pushes the bytes that `find` returns for the storage at argument 1 as a string, or nil if it returns `None`. Finalizers may
/// free or resize that storage while the string is made. So a view that no Lua code can reach holds the memory until then.
pub fn push_pinned(lua: Raising, call: Call, find: impl Fn(&Storage) -> Result<Option<*const [u8]>, Fault>) -> c_int {
    push_found(lua, call, find, |bytes, push| push(bytes))
}

/// Does the same for the encoded bytes of a name, as Lua programs have it.
pub fn push_name(lua: Raising, call: Call, find: impl Fn(&Storage) -> Result<Option<*const [u8]>, Fault>) -> c_int {
    push_found(lua, call, find, |name, push| {
        // SAFETY: [live] `push_found` holds the memory that the name is a part of. [alias] nobody changes it.
        let name = unsafe { &*name };
        push(names::for_lua(name, &mut [0; files::LONGEST]))
    })
}

fn push_found(
    lua: Raising,
    call: Call,
    find: impl Fn(&Storage) -> Result<Option<*const [u8]>, Fault>,
    show: impl Fn(*const [u8], &dyn Fn(*const [u8]) -> bool) -> bool,
) -> c_int {
    let body = |call: Call, push: &dyn Fn(*const [u8]) -> bool| {
        let this = call.this()?;
        let view = this.view(0, this.size())?;
        let done = find(&view).map(|bytes| match bytes {
            Some(bytes) => show(bytes, push),
            None => {
                call.state().push_nil();
                true
            }
        });
        give_back_anchor(call.state(), view.release(call.state_id()));
        done
    };
    push_bytes_of(lua, call, body)
}

/// Pushes bytes as a string. `body` holds the bytes, passes them to the function that it gets, and returns what that function
/// returns.
///
/// Pushing a string may run finalizers and may raise, so the function does it in a protected call, and returns false if that
/// fails. The error is raised again after `body` has dropped what it held.
pub fn push_bytes_of(
    lua: Raising,
    call: Call,
    body: impl Fn(Call, &dyn Fn(*const [u8]) -> bool) -> Result<bool, Fault>,
) -> c_int {
    let state = lua.state();
    Context::push_own(state);
    lua.push_function(raising(push_pending), UPVALUES);
    let call = call.with_frame(lua.top());
    let push = |bytes: *const [u8]| {
        let pending = &Context::of(state).shared().pending;
        state.push_value(call.frame());
        // A hook may run before `push_pending` takes the bytes, and may push other bytes in this way. So the field is restored.
        let outer = pending.replace(Some(bytes));
        let done = state.protected_call_for_string(bytes.len(), 0, 1);
        pending.set(outer);
        done
    };
    if !entry::run(lua, call, |call| body(call, &push)) {
        lua.raise_top();
    }
    1
}

/// Arguments 2 and 3 of `totable` and `unpack` as a range: the index of its first element, counted from 0, and its length.
fn range_of_this(call: Call) -> Result<(usize, usize), Fault> {
    call.this()?;
    let range = call.range(2)?;
    range.of(call.this()?.size())
}

/// The function that `s:iter()` gives to the loop. For `(s, i)` it gives `i + 1` and the element at that index, or nil after
/// the last element.
fn next(call: Call) -> Result<Answer, Fault> {
    // `done` is the index, counted from 1, of the element that was given last.
    let done = call.scalar(2);
    let this = call.this()?;
    let index = crate::convert::truncate(done?).and_then(|done| usize::try_from(done).ok());
    let found = index.and_then(|index| Some((index, this.get_scalar(index)?)));
    Ok(found.map_or(Answer::Nil, |(index, element)| Answer::IndexAnd(index + 1, element)))
}

/// Pushes the pending bytes as a string, and forgets them. So Lua code that gets hold of this function and calls it gets nil.
fn push_pending(lua: Raising) -> c_int {
    match Context::of(lua.state()).shared().pending.take() {
        // SAFETY: [live] the body of `push_bytes_of` holds their memory until this call ends.
        Some(bytes) => unsafe { lua.push_bytes(bytes) },
        None => lua.push_nil(),
    }
    1
}

/// `s:iter()`: iterates over indices and elements, as in `for i, v in s:iter() do`. Each step reads one element, so the loop
/// may change the size of the storage.
fn iterate(lua: Raising) -> c_int {
    entry::run(lua, Call::new(lua), |call| call.this().map(|_| ()));
    Context::push_own(lua.state());
    lua.push_function(function(next), UPVALUES);
    lua.push_value(1);
    lua.push_count(0);
    3
}

/// `s:totable([i [, j]])`: a new table of the elements, or of those from `i` to `j`. Torch7, without the range.
fn to_table(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let range = |call: Call| {
        let (first, count) = range_of_this(call)?;
        Ok((first, table_size(count, format_args!("there are {count} elements"))?))
    };
    let (first, count) = entry::run(lua, call, range);
    let table = lua.push_table(count);
    // Making the table may have run finalizers, so the storage is looked up again. Once is enough for real numbers, because
    // the loop over them runs no Lua code.
    let elements = entry::run(lua, call, Elements::of_this);
    if call.dtype().is_complex() {
        for (n, index) in (1..=count).zip(first..) {
            push_complex_element(lua, call, index);
            lua.raw_set(table, n);
        }
        return 1;
    }
    for (n, element) in (1..=count).zip(elements.skip(first)) {
        lua.push_real(element);
        // The table has room, so this runs no finalizer.
        lua.raw_set(table, n);
    }
    1
}

/// `s:unpack([i [, j]])`: the elements, or those from `i` to `j`, as results, like Lua's `unpack`.
fn unpack(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let (first, count) = entry::run(lua, call, range_of_this);
    let results = c_int::try_from(count).unwrap_or(c_int::MAX);
    // Our own limit is checked first, because asking Lua for a huge number of stack slots can overflow inside the host.
    if results > MOST_RESULTS || !lua.check_stack(results + ffi::LUA_MINSTACK) {
        let message = format_args!("too many results to unpack: {results} elements; totable() has no such limit");
        raise(lua, Fault::new(message));
    }
    let elements = entry::run(lua, call, Elements::of_this);
    if call.dtype().is_complex() {
        for index in first..first + count {
            push_complex_element(lua, call, index);
        }
        return results;
    }
    elements.skip(first).take(count).for_each(|element| lua.push_real(element));
    lua.top() - call.frame()
}

/// `s:string([i [, j]])`: the bytes of the elements, or of those from `i` to `j`, as a Lua string.
///
/// `s:string(str)`: resizes the storage to the length of the string and copies its bytes; returns s. A second argument is an error
/// then: it is usually the second result of a call such as `gsub`.
///
/// Differs from Torch7: every class has this method, and it takes a range. Torch7 looked at the last argument, and this looks
/// at the first. A number is an index, where Torch7 stored its digits.
fn string(lua: Raising) -> c_int {
    let call = Call::new(lua);
    if call.kind(2) != ffi::LUA_TSTRING {
        let range = |call: Call| {
            call.this()?;
            if !call.is_absent(2) && call.scalar_at(2)?.is_none() {
                return Err(call.mismatch(2, "string or number"));
            }
            call.range(2)
        };
        let range = entry::run(lua, call, range);
        return push_pinned(lua, call, |storage| range_bytes(storage, range).map(Some));
    }
    pressure::relieve(lua);
    entry::answer(lua, set_bytes)
}

/// The largest number of results of `unpack`. Lua allows about this many values on the stack of a C function.
const MOST_RESULTS: c_int = 7900;

/// `s:string(str)`.
fn set_bytes(call: Call) -> Result<Answer, Fault> {
    let bytes = call.string(2)?;
    let this = call.this()?;
    if !call.is_absent(3) {
        let got = call.type_name(3);
        return Err(Fault::argument(
            3,
            format_args!(
                "nothing expected after the text, got {got}; a call with several results, such as gsub, needs parentheses"
            ),
        ));
    }
    let size = elements_in(bytes, call.dtype()).map_err(|fault| fault.at(2))?;
    if !this.is_resizable() || this.size() != size {
        this.resize(size, call.state_id())?;
    }
    in_steps(call, bytes.len(), 1, |done, now| {
        let (this, bytes) = (call.this()?, call.string(2)?);
        if this.size() == size { Ok(this.write_bytes_at(done, &bytes[done..done + now])?) } else { Err(changed()) }
    })?;
    Ok(Answer::Value(1))
}

fn range_bytes(storage: &Storage, range: Range) -> Result<*const [u8], Fault> {
    let (first, count) = range.of(storage.size())?;
    let width = storage.dtype().width();
    Ok(std::ptr::slice_from_raw_parts(storage.data().wrapping_add(first * width).cast_const(), count * width))
}

/// The number of elements that the bytes of a string make.
pub fn elements_in(bytes: &[u8], dtype: DType) -> Result<usize, Fault> {
    let (length, width) = (bytes.len(), dtype.width());
    if length % width == 0 {
        return Ok(length / width);
    }
    Err(Fault::new(format_args!("{length} bytes is not a multiple of the {width}-byte element size ({})", dtype.class_name())))
}
