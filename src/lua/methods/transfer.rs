//! Turns elements into Lua values and back: strings, tables, results, iteration.

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
use crate::lua::state::Raising;
use crate::lua::steps::{changed, in_steps};
use crate::storage::Storage;
use mlua_sys as ffi;

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"totable", to_table), (c"unpack", unpack), (c"iter", iterate), (c"string", string)];

/// The elements of a storage as Lua numbers, in order. It is used while no Lua code runs, and has no destructor.
#[derive(Clone, Copy)]
struct Elements {
    data: *const u8,
    dtype: DType,
    size: usize,
    index: usize,
}

impl Elements {
    fn of_this(call: Call) -> Result<Self, Fault> {
        let this = call.this()?;
        Ok(Self { data: this.data(), dtype: this.dtype(), size: this.size(), index: 0 })
    }
}

impl Iterator for Elements {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        // SAFETY: [live] [in-bounds] [alias] the storage is on the stack, and no Lua code runs while this is used.
        let elements = unsafe { Readable::new(self.data, self.dtype, self.size) };
        let element = elements.get(self.index)?;
        self.index += 1;
        Some(element)
    }

    fn nth(&mut self, n: usize) -> Option<f64> {
        self.index = self.index.saturating_add(n);
        self.next()
    }
}

/// Pushes an element of the storage at argument 1. This runs Lua code, so the storage is looked up for every element.
fn push_complex_element(lua: Raising, call: Call, index: usize) {
    let element = entry::run(lua, call, |call| call.this()?.get_scalar(index).ok_or_else(changed));
    complex::push(lua, element);
}

/// Pushes the bytes that `find` gives of the storage at argument 1, or nil. Finalizers may free or resize that storage while the
/// string is made, so a view that no Lua code can reach holds the memory meanwhile.
pub fn push_pinned(lua: Raising, call: Call, find: impl Fn(&Storage) -> Result<Option<*const [u8]>, Fault>) -> c_int {
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
    push_bytes_of(lua, call, body)
}

/// Pushes a string of bytes that `body` holds, by the function that `body` gets. Pushing a string may collect garbage, and may
/// raise, so it is done in a protected call; an error is raised again when `body` has dropped what it held.
pub fn push_bytes_of(
    lua: Raising,
    call: Call,
    body: impl Fn(Call, &dyn Fn(*const [u8]) -> bool) -> Result<bool, Fault>,
) -> c_int {
    let state = lua.state();
    Context::push_own(state);
    lua.push_function(push_pending, UPVALUES);
    let call = call.with_frame(lua.top());
    let push = |bytes: *const [u8]| {
        let pending = &Context::of(state).shared().pending;
        state.push_value(call.frame());
        // A hook may run before the function takes the bytes, and make another string meanwhile.
        let outer = pending.replace(Some(bytes));
        let done = state.protected_call(0, 1);
        pending.set(outer);
        done
    };
    if !entry::run(lua, call, |call| body(call, &push)) {
        lua.raise_top();
    }
    1
}

/// `totable` and `unpack` read arguments 2 and 3 as a range: the offset of the first element, and how many there are.
fn range_of_this(call: Call) -> Result<(usize, usize), Fault> {
    call.this()?;
    let range = call.range(2)?;
    range.of(call.this()?.size())
}

functions! {
    /// The step of `s:iter()`: from `(s, i)` to `i + 1` and its element, or nothing after the last.
    fn next(call) {
        // Elements up to number `done` have been given.
        let done = call.scalar(2);
        let this = call.this()?;
        let index = crate::convert::truncate(done?).and_then(|done| usize::try_from(done).ok());
        let found = index.and_then(|index| Some((index, this.get_scalar(index)?)));
        Ok(found.map_or(Answer::Nil, |(index, element)| Answer::IndexAnd(count(index + 1), element)))
    }

    /// Pushes the pending bytes as a string. They are taken, so whoever gets hold of this function can have no others.
    raising fn push_pending(lua) {
        match Context::of(lua.state()).shared().pending.take() {
            // SAFETY: [live] the body of `push_bytes_of` holds their memory until this call ends.
            Some(bytes) => unsafe { lua.push_bytes(bytes) },
            None => lua.push_nil(),
        }
        1
    }

    /// `s:iter()`: for `for i, v in s:iter() do`. Elements are read as the loop goes: the storage may change its size meanwhile.
    raising fn iterate(lua) {
        entry::run(lua, Call::new(lua), |call| call.this().map(|_| ()));
        Context::push_own(lua.state());
        lua.push_function(next, UPVALUES);
        lua.push_value(1);
        lua.push_number(0.0);
        3
    }

    /// `s:totable([i [, j]])`: a new table of the elements, or of those from `i` to `j`. Torch7, which has no range.
    raising fn to_table(lua) {
        let call = Call::new(lua);
        let range = |call: Call| {
            let (first, count) = range_of_this(call)?;
            let count =
                c_int::try_from(count).map_err(|_| Fault::argument(1, format!("{count} elements are more than a table can hold")))?;
            Ok((first, count))
        };
        let (first, count) = entry::run(lua, call, range);
        let table = lua.push_table(count);
        // Making the table may have run finalizers, so the storage is looked up again; once, because the loop runs no Lua code.
        let elements = entry::run(lua, call, Elements::of_this);
        if call.dtype().is_complex() {
            for (n, index) in (1..=count).zip(first..) {
                push_complex_element(lua, call, index);
                lua.raw_set(table, n);
            }
            return 1;
        }
        for (n, element) in (1..=count).zip(elements.skip(first)) {
            lua.push_number(element);
            // The table has room, so this runs no finalizer.
            lua.raw_set(table, n);
        }
        1
    }

    /// `s:unpack([i [, j]])`: the elements from `i` (1) to `j` (the last) as results, as Lua's `unpack`.
    raising fn unpack(lua) {
        let call = Call::new(lua);
        let (first, count) = entry::run(lua, call, range_of_this);
        let results = c_int::try_from(count).unwrap_or(c_int::MAX);
        // The limit comes first: asking Lua for an absurd number of slots can overflow inside the host.
        if results > MOST_RESULTS || !lua.check_stack(results + ffi::LUA_MINSTACK) {
            let message = format!("too many results to unpack: {results} elements; totable() has no such limit");
            raise(lua, Fault::new(message));
        }
        let elements = entry::run(lua, call, Elements::of_this);
        if call.dtype().is_complex() {
            for index in first..first + count {
                push_complex_element(lua, call, index);
            }
            return results;
        }
        elements.skip(first).take(count).for_each(|element| lua.push_number(element));
        lua.top() - call.frame()
    }

    /// `s:string([i, j])`: the bytes of the elements, or of those from `i` to `j`, as a Lua string. `s:string(str)`: resizes to the
    /// length of the string and copies its bytes; returns s. Differs from Torch7: every class has it, it looks at its first
    /// argument, takes a range of two indices, and raises for an argument that is neither a string nor a number nor nil. One number is
    /// a string, as in Torch7.
    raising fn string(lua) {
        let call = Call::new(lua);
        if call.is_absent(2) || !call.is_absent(3) {
            let range = |call: Call| {
                call.this()?;
                call.range(2)
            };
            let range = entry::run(lua, call, range);
            return push_pinned(lua, call, |storage| range_bytes(storage, range).map(Some));
        }
        pressure::relieve(lua);
        if call.kind(2) == ffi::LUA_TNUMBER {
            lua.number_to_string(2);
        }
        entry::enter(lua, set_bytes)
    }
}

/// Lua's own limit of values on the C stack is about this.
const MOST_RESULTS: c_int = 7900;

/// `s:string(str)`.
fn set_bytes(call: Call) -> Result<Answer, Fault> {
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
    Err(Fault::new(format!("{length} bytes is not a multiple of the {width}-byte element size ({})", dtype.class_name())))
}
