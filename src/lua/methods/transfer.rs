//! Elements as Lua values and back: strings, tables, results, iteration.

use std::ffi::c_int;

use super::Method;
use super::references::give_back_anchor;
use crate::bulk::Readable;
use crate::element::DType;
use crate::lua::args::{Call, Range, count};
use crate::lua::complex;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{self, Answer, functions};
use crate::lua::fault::{Fault, raise};
use crate::lua::pressure;
use crate::lua::state::{State, lua_State};
use crate::lua::steps::{changed, in_steps};
use crate::storage::Storage;
use mlua_sys as ffi;

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"totable", to_table), (c"unpack", unpack), (c"iter", iterate), (c"string", string)];

functions! {
    /// The step of `s:iter()`: from `(s, i)` to `i + 1` and its element, or nothing after the last.
    fn next(call) {
        let index = call.scalar(2);
        let this = call.this()?;
        let place = crate::convert::truncate(index?).and_then(|index| usize::try_from(index).ok());
        let found = place.and_then(|place| Some((place, this.get_scalar(place)?)));
        Ok(found.map_or(Answer::Nil, |(place, element)| Answer::IndexAnd(count(place + 1), element)))
    }
}

/// The elements of a storage as Lua numbers, one after the other, while no Lua code runs. Nothing in it needs dropping.
#[derive(Clone, Copy)]
struct Elements {
    data: *const u8,
    dtype: DType,
    size: usize,
    place: usize,
}

impl Elements {
    fn of_this(call: Call) -> Result<Self, Fault> {
        let this = call.this()?;
        Ok(Self { data: this.data(), dtype: this.dtype(), size: this.size(), place: 0 })
    }
}

impl Iterator for Elements {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        if self.place >= self.size {
            return None;
        }
        // SAFETY: the place is inside the storage, which is on the stack and which nobody changes: no Lua code runs.
        let elements = unsafe { Readable::new(self.data, self.dtype, self.size) };
        self.place += 1;
        elements.get(self.place - 1)
    }

    fn nth(&mut self, n: usize) -> Option<f64> {
        self.place = self.place.saturating_add(n);
        self.next()
    }
}

/// Pushes the element at a place of the storage at argument 1. That runs Lua code for every one: the storage is looked up anew.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed.
unsafe fn push_complex_element(call: Call, place: usize) {
    let find = |call: Call| call.this()?.get_scalar(place).ok_or_else(changed);
    // SAFETY: nothing droppable is alive, as the caller says.
    let element = unsafe { entry::run(call, find) };
    // SAFETY: as the caller says.
    unsafe { complex::push(call.state(), element) };
}

/// Pushes the bytes that `find` gives of the storage at argument 1, or nil. Finalizers may free or resize that storage while the
/// string is made: a view that no Lua code can come by holds the memory meanwhile.
///
/// # Safety
/// As [`push_bytes_of`].
pub unsafe fn push_pinned(call: Call, find: impl Fn(&Storage) -> Result<Option<*const [u8]>, Fault>) -> c_int {
    let body = |call: Call, push: &dyn Fn(*const [u8]) -> bool| {
        let this = call.this()?;
        let view = this.view(0, this.size())?;
        let done = find(&view).map(|bytes| match bytes {
            Some(bytes) => push(bytes),
            None => {
                call.state().push_nil();
                true
            }
        });
        give_back_anchor(call.state(), view.release(call.state_id()));
        done
    };
    // SAFETY: as the caller says.
    unsafe { push_bytes_of(call, body) }
}

/// Pushes a string of bytes that `body` holds, by the function that it is given. Pushing a string may collect garbage first, and
/// may raise: so it is done in a protected call, and the error raised when `body` has let go.
///
/// # Safety
/// As [`entry::enter`], with the call of that function; nothing droppable is alive.
pub unsafe fn push_bytes_of(call: Call, body: impl Fn(Call, &dyn Fn(*const [u8]) -> bool) -> Result<bool, Fault>) -> c_int {
    let lua = call.state();
    Context::push_own(lua);
    // SAFETY: nothing droppable is alive.
    unsafe { lua.push_function(push_pending, UPVALUES) };
    let call = call.with_frame(lua.top());
    let push = |bytes: *const [u8]| {
        let pending = &Context::of(lua).shared().pending;
        lua.push_value(call.frame());
        // A hook may come before the function takes it, and make another string meanwhile.
        let outer = pending.replace(Some(bytes));
        let done = lua.protected_call(0, 1);
        pending.set(outer);
        done
    };
    // SAFETY: nothing droppable is alive: a function's body is plain data.
    if !unsafe { entry::run(call, |call| body(call, &push)) } {
        // SAFETY: nothing droppable is alive.
        unsafe { lua.raise_top() };
    }
    1
}

/// Pushes the bytes that are pending as a string: once, so nobody who comes by this function can have others.
unsafe extern "C-unwind" fn push_pending(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let lua = unsafe { State::new(state) };
    match Context::of(lua).shared().pending.take() {
        // SAFETY: the body of `push_bytes_of` holds their memory until this call ends; nothing droppable is alive.
        Some(bytes) => unsafe { lua.push_bytes(bytes) },
        None => lua.push_nil(),
    }
    1
}

/// `s:iter()`: for `for i, v in s:iter() do`. Elements are read as the loop goes: the storage may change its size meanwhile.
unsafe extern "C-unwind" fn iterate(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::run(call, |call| call.this().map(|_| ())) };
    let lua = call.state();
    Context::push_own(lua);
    // SAFETY: nothing droppable is alive.
    unsafe { lua.push_function(next, UPVALUES) };
    lua.push_value(1);
    lua.push_number(0.0);
    3
}

/// `s:totable([i [, j]])`: a new table of the elements, or of those from `i` to `j`. Torch7, which has no range.
unsafe extern "C-unwind" fn to_table(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let range = |call: Call| {
        call.this()?;
        let range = call.range(2)?;
        let (first, count) = range.of(call.this()?.size())?;
        let count =
            c_int::try_from(count).map_err(|_| Fault::argument(1, format!("{count} elements are more than a table can hold")))?;
        Ok((first, count))
    };
    // SAFETY: nothing droppable is alive.
    let (first, count) = unsafe { entry::run(call, range) };
    let lua = call.state();
    // SAFETY: nothing droppable is alive.
    unsafe { lua.push_table(count) };
    let table = lua.top();
    // Making the table may have run finalizers: the storage is looked up anew, once, for the loop runs no Lua code.
    // SAFETY: nothing droppable is alive.
    let elements = unsafe { entry::run(call, Elements::of_this) };
    if call.dtype().is_complex() {
        for (n, place) in (1..=count).zip(first..) {
            // SAFETY: nothing droppable is alive.
            unsafe { push_complex_element(call, place) };
            // SAFETY: the table has room, and nothing droppable is alive.
            unsafe { lua.raw_set(table, n) };
        }
        return 1;
    }
    for (n, element) in (1..=count).zip(elements.skip(first)) {
        lua.push_number(element);
        // SAFETY: the table has room, and nothing droppable is alive.
        unsafe { lua.raw_set(table, n) };
    }
    1
}

/// `s:unpack([i [, j]])`: the elements from `i` (1) to `j` (the last) as results, as Lua's `unpack`.
unsafe extern "C-unwind" fn unpack(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let range = |call: Call| {
        call.this()?;
        let range = call.range(2)?;
        let (first, count) = range.of(call.this()?.size())?;
        Ok((first, c_int::try_from(count).unwrap_or(c_int::MAX)))
    };
    // SAFETY: nothing droppable is alive.
    let (first, results) = unsafe { entry::run(call, range) };
    let lua = call.state();
    // Room first: asking for an absurd amount can overflow inside the host.
    // SAFETY: nothing droppable is alive.
    if results > MOST_RESULTS || !unsafe { lua.check_stack(results + ffi::LUA_MINSTACK) } {
        let message = format!("too many results to unpack: {results} elements; totable() has no such limit");
        // SAFETY: the fault is moved, and nothing else is droppable.
        unsafe { raise(lua, Fault::new(message)) };
    }
    // SAFETY: nothing droppable is alive.
    let elements = unsafe { entry::run(call, Elements::of_this) };
    let count = usize::try_from(results).unwrap_or(0);
    if call.dtype().is_complex() {
        for place in first..first + count {
            // SAFETY: nothing droppable is alive.
            unsafe { push_complex_element(call, place) };
        }
        return results;
    }
    elements.skip(first).take(count).for_each(|element| lua.push_number(element));
    lua.top() - call.frame()
}

/// Lua's own limit of values on the C stack is about this.
const MOST_RESULTS: c_int = 7900;

/// `s:string([i, j])`: the bytes of the elements, or of those from `i` to `j`, as a Lua string. `s:string(str)`: resizes to what the
/// string holds and copies its bytes; returns s. Differs from Torch7: every class has it, looks at its first argument, takes a
/// range of two indices, and what is neither a string nor a number nor nil is an error. One number is a string, as in Torch7.
unsafe extern "C-unwind" fn string(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    if call.is_absent(2) || !call.is_absent(3) {
        let range = |call: Call| {
            call.this()?;
            call.range(2)
        };
        // SAFETY: nothing droppable is alive.
        let range = unsafe { entry::run(call, range) };
        // SAFETY: nothing droppable is alive.
        return unsafe { push_pinned(call, move |storage| range_bytes(storage, range).map(Some)) };
    }
    // SAFETY: nothing droppable is alive, and no argument has been read.
    unsafe { pressure::relieve(call.state()) };
    if call.kind(2) == ffi::LUA_TNUMBER {
        // SAFETY: nothing droppable is alive.
        unsafe { call.state().number_to_string(2) };
    }
    let body = |call: Call| {
        let bytes = call.string(2)?;
        let this = call.this()?;
        let size = elements_in(bytes, call.dtype()).map_err(|fault| fault.at(2))?;
        if !this.is_resizable() || this.size() != size {
            this.resize(size, call.state_id())?;
        }
        in_steps(call, bytes.len(), 1, |done, now| {
            let (this, bytes) = (call.this()?, call.string(2)?);
            if this.size() == size { Ok(this.write_bytes_at(done, &bytes[done..done + now])?) } else { Err(changed()) }
        })?;
        Ok(Answer::Value(1))
    };
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::enter(state, body) }
}

fn range_bytes(storage: &Storage, range: Range) -> Result<*const [u8], Fault> {
    let (first, count) = range.of(storage.size())?;
    let width = storage.dtype().width();
    Ok(std::ptr::slice_from_raw_parts(storage.data().wrapping_add(first * width).cast_const(), count * width))
}

/// How many elements the bytes of a string are.
pub fn elements_in(bytes: &[u8], dtype: DType) -> Result<usize, Fault> {
    let (length, width) = (bytes.len(), dtype.width());
    if length % width == 0 {
        return Ok(length / width);
    }
    Err(Fault::new(format!("{length} bytes are no whole number of elements of {width} bytes ({})", dtype.class_name())))
}
