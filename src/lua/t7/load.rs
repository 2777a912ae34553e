//! Loading: Lua values from an open file.

mod storages;
mod tables;

use std::ffi::c_int;

use mlua_sys as ffi;

use super::block::{Block, FILE, OBJECTS, Open, VALUES, guard, guarded, step, values};
use super::frames::{CONTAINER, KEY, ORDER, ascend, call_outside, descend, expect_tables, lay_out, leave_to, message, path};
use super::pace::keep_pace;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::state::{State, lua_State};
use crate::t7::{Delivery, Event, Kind, Problem, Reader};
pub(super) use storages::{fill, push_storage};
use tables::{take_key, take_value};

/// [`Event`], with the strings where they are in the reader's buffer: it keeps them until it is called again.
#[derive(Clone, Copy)]
enum Next {
    Nil,
    Boolean(bool),
    Number(f64),
    String(*const [u8]),
    Known(c_int),
    Table {
        index: c_int,
        count: usize,
        room: c_int,
        is_array: bool,
    },
    Storage {
        index: c_int,
        dtype: DType,
        count: usize,
    },
    Object {
        index: c_int,
        class: *const [u8],
        version: Option<*const [u8]>,
    },
    Function {
        tag: c_int,
        index: Option<c_int>,
        code: *const [u8],
    },
    /// Pairs of the table in hand, but not its last.
    Pairs(*const [(c_int, f64)]),
}

/// `core.t7load(file)`: the next object, for the Lua side.
pub unsafe extern "C-unwind" fn load(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, inner, 1, true) }
}

/// `file:readObject()`: the next object, for `read` of a class.
pub unsafe extern "C-unwind" fn read_object(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, inner, 1, false) }
}

unsafe extern "C-unwind" fn inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below: what is kept on the Rust side is in the file's block.
    let block = unsafe { entry::run(call, guarded) };
    let prepare = |open: &mut Open| {
        open.reader()?;
        lay_out(call)
    };
    // SAFETY: see above.
    unsafe { step(call, block, prepare) };
    loop {
        // SAFETY: see above.
        let is_whole = unsafe { begin(call, block) };
        // SAFETY: see above.
        if is_whole && unsafe { deliver(call, block) } {
            return 1;
        }
        // SAFETY: see above.
        unsafe { keep_pace(call, block) };
    }
}

/// Reads the beginning of a value. True if that is all of it: the value is on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn begin(call: Call, block: &Block) -> bool {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    match unsafe { step(call, block, |open| next(call, open)) } {
        Next::Nil => lua.push_nil(),
        Next::Boolean(value) => lua.push_boolean(value),
        Next::Number(number) => lua.push_number(number),
        Next::Pairs(pairs) => {
            // SAFETY: see above.
            unsafe { expect_tables(call, block, false) };
            // SAFETY: they are in the open file, which stays, for it is busy.
            for &(key, value) in unsafe { &*pairs } {
                lua.push_number(value);
                // SAFETY: see above; `CONTAINER` is the table in hand.
                unsafe { lua.raw_set(CONTAINER, key) };
            }
            return false;
        }
        // SAFETY: see above; the bytes stay, for the file is busy.
        Next::String(bytes) => unsafe { lua.push_bytes(bytes) },
        Next::Known(index) => {
            lua.raw_get(OBJECTS, index);
            if lua.kind(-1) == ffi::LUA_TNIL {
                // SAFETY: see above.
                unsafe { step(call, block, |open| wrong_object::<()>(call, open, Problem::Unfinished { index })) };
            }
        }
        Next::Table { index, count, room, is_array } => {
            let (array, others) = if is_array { (room, 0) } else { (0, room) };
            // SAFETY: see above.
            unsafe { lua.push_table_for(array, others) };
            // SAFETY: see above.
            unsafe { remember(lua, index) };
            if count > 0 {
                // SAFETY: see above.
                unsafe { enter(call, block) };
                lua.replace(CONTAINER);
                return false;
            }
        }
        Next::Storage { index, dtype, count } => {
            // SAFETY: see above.
            let remember = |lua| unsafe { remember(lua, index) };
            // SAFETY: see above.
            unsafe { push_storage(call, block, dtype, count, remember) };
        }
        // SAFETY: see above.
        Next::Object { index, class, version } => return unsafe { meet(call, block, Ok(class), version, Some(index)) },
        // SAFETY: see above.
        Next::Function { tag, index, code } => return unsafe { meet(call, block, Err(tag), Some(code), index) },
    }
    true
}

/// The beginning of the next value.
fn next(call: Call, open: &mut Open) -> Result<Next, Fault> {
    let own_ways = open.own_ways;
    read_next(open.reader()?, own_ways).map_err(|error| located(call, open, error))
}

fn read_next(reader: &mut Reader, own_ways: u32) -> Result<Next, Error> {
    Ok(match reader.next()? {
        Event::Nil => Next::Nil,
        Event::Boolean(value) => Next::Boolean(value),
        Event::Number(number) => Next::Number(number),
        Event::String(bytes) => Next::String(bytes),
        Event::Known(index) => Next::Known(index),
        Event::Pairs(pairs) => Next::Pairs(pairs),
        Event::Function { tag, index, code } => Next::Function { tag, index, code },
        Event::Table { index, count, room, is_array } => {
            Next::Table { index, count, room: c_int::try_from(room).unwrap_or(c_int::MAX), is_array }
        }
        Event::Object { index, kind: Kind::Storage(dtype), .. } if own_ways & (1 << dtype.number()) == 0 => {
            Next::Storage { index, dtype, count: reader.size(dtype)? }
        }
        Event::Object { index, class, version, .. } => Next::Object { index, class, version: version.map(std::ptr::from_ref) },
    })
}

/// The slots are those of the table or object that was entered last, and empty.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn enter(call: Call, block: &Block) {
    // SAFETY: as the caller says, here and below.
    let depth = unsafe { step(call, block, |open| Ok(open.depth())) };
    // SAFETY: see above.
    unsafe { descend(call.state(), depth - 1) };
}

/// The value on the top is object number `index` from now on.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn remember(lua: State, index: c_int) {
    lua.push_value(-1);
    // SAFETY: `OBJECTS` is a table; as the caller says.
    unsafe { lua.raw_set(OBJECTS, index) };
}

/// An error at the place where the reader is.
fn wrong<R>(call: Call, open: &mut Open, problem: Problem) -> Result<R, Fault> {
    let error = open.reader()?.malformed(problem);
    Err(located(call, open, error))
}

/// An error at the object that was met last.
fn wrong_object<R>(call: Call, open: &mut Open, problem: Problem) -> Result<R, Fault> {
    let error = open.reader()?.malformed_object(problem);
    Err(located(call, open, error))
}

/// An error of the engine, with the way to the value in hand.
pub(super) fn located(call: Call, open: &Open, error: Error) -> Fault {
    match error {
        Error::Malformed(malformed) => {
            let path = path(call, open);
            let path = if path.is_empty() { path } else { format!(" ({path})") };
            Fault::new(format!("at byte {}{path}: {malformed}", malformed.offset))
        }
        error => error.into(),
    }
}

/// Asks the Lua side about an object of a class (its name, version and index) or a function (its tag, code and index). True if the
/// object is whole: it is on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive. The bytes are the reader's.
unsafe fn meet(
    call: Call,
    block: &Block,
    class: Result<*const [u8], c_int>,
    text: Option<*const [u8]>,
    index: Option<c_int>,
) -> bool {
    let lua = call.state();
    lua.raw_get(VALUES, values::CLASSES);
    match class {
        // SAFETY: as the caller says, here and below; the bytes stay, for the file is busy.
        Ok(class) => unsafe { lua.push_bytes(class) },
        Err(tag) => lua.push_number(f64::from(tag)),
    }
    match text {
        // SAFETY: see above.
        Some(text) => unsafe { lua.push_bytes(text) },
        None => lua.push_nil(),
    }
    match index {
        Some(index) => lua.push_number(f64::from(index)),
        None => lua.push_nil(),
    }
    lua.push_value(FILE);
    lua.push_value(OBJECTS);
    // SAFETY: see above.
    unsafe { call_outside(call, block, 5, 3) };
    // The object, what to give the next value to, and that value's name; or nil and what is wrong.
    if lua.kind(-3) == ffi::LUA_TNIL {
        lua.set_top(lua.top() - 1);
        // SAFETY: see above.
        unsafe { refuse(call, block) };
        let nothing = |open: &mut Open| wrong::<()>(call, open, Problem::Refused { why: "its class makes no object".to_owned() });
        // SAFETY: see above.
        unsafe { step(call, block, nothing) };
    }
    if lua.kind(-2) != ffi::LUA_TFUNCTION {
        lua.set_top(lua.top() - 2);
        return true;
    }
    // SAFETY: see above.
    unsafe { step(call, block, |open| Ok(open.reader()?.expect_value()?)) };
    // SAFETY: see above.
    unsafe { enter(call, block) };
    lua.replace(ORDER);
    lua.replace(KEY);
    lua.replace(CONTAINER);
    false
}

/// What the Lua side finds wrong with an object is a string on the top.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn refuse(call: Call, block: &Block) {
    let lua = call.state();
    if lua.kind(-1) == ffi::LUA_TSTRING {
        let refusal = |open: &mut Open| {
            let why = message(lua.string(-1).unwrap_or_default());
            wrong::<()>(call, open, Problem::Refused { why })
        };
        // SAFETY: as the caller says.
        unsafe { step(call, block, refusal) };
    }
}

/// Gives the value on the top to the frame that waits for it, and what becomes whole by that to the next, and so on. True if what
/// was asked for is whole: it is on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn deliver(call: Call, block: &Block) -> bool {
    let lua = call.state();
    loop {
        // SAFETY: as the caller says, here and below.
        let (delivery, depth) = unsafe { step(call, block, |open| Ok((open.reader()?.deliver(), open.depth()))) };
        match delivery {
            Delivery::Root => return true,
            Delivery::Key { number } => {
                // SAFETY: see above.
                unsafe { take_key(call, block, number) };
                return false;
            }
            Delivery::Value { key, last } => {
                // SAFETY: see above.
                unsafe { take_value(call, block, key, last) };
                if !last {
                    return false;
                }
            }
            Delivery::Rest => {
                lua.push_value(KEY);
                lua.push_value(CONTAINER);
                lua.push_value(-3);
                // SAFETY: see above.
                unsafe { call_outside(call, block, 2, 1) };
                // SAFETY: see above.
                unsafe { refuse(call, block) };
            }
        }
        lua.set_top(ORDER);
        lua.push_value(CONTAINER);
        ascend(lua, depth - 1);
        // SAFETY: see above.
        unsafe { leave_to(call, block, depth - 1) };
    }
}
